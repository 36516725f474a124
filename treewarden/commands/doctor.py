"""``treewarden doctor``: do the solvers work on this machine?"""

from __future__ import annotations

import platform
from importlib import metadata

import click

import treewarden
from treewarden.audit.consistent_tables.proofs import solver_module
from treewarden.audit.ipopt.backends import doors
from treewarden.reports.document.words import printable
from treewarden.terminal.exits import NO_AUDIT, PASS

PACKAGES = (
    *("casadi", "click", "cyipopt", "jinja2", "lxml", "matplotlib", "numpy", "ortools", "pyarrow"),
    *("pydantic", "pyomo", "qdldl", "scikit-learn", "scipy", "statsmodels"),
    *("openpyxl", "pyreadstat", "xlrd"),
)


@click.command("doctor")
@click.pass_context
def doctor_command(context: click.Context) -> None:
    """Check the installation by solving a small problem with each solver, and print the versions in use."""
    machine = f"{platform.system()} {platform.machine()}"
    click.echo(
        f"treewarden {treewarden.__version__}, Python {platform.python_version()}, {machine}"
    )
    probes = {name: door.probe() for name, door in doors().items()}
    for name, probe in probes.items():
        said = f"works: {probe.version}" if probe.works else f"left out: {probe.reason}"
        click.echo(f"solver {name:13} {printable(said)}")
    click.echo(f"exact proofs     {printable(_exact())}")
    click.echo("packages: " + ", ".join(f"{name} {_version(name)}" for name in PACKAGES))
    context.exit(PASS if any(probe.works for probe in probes.values()) else NO_AUDIT)


def _exact() -> str:
    """Say whether the solver of the reasoning over whole records loads."""
    try:
        solver_module()
    except ImportError as error:
        return f"OR-Tools does not load: {error}"
    return f"works: OR-Tools {_version('ortools')}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


COMMAND = doctor_command
