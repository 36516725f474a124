"""``treewarden list``: everything that is one file in a folder, with the first line of its documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

import audit.constraints
from audit.constraints import Constraint
from audit.measures import measures
from policies.pack import load_pack, shipped_packs
from policies.remedies import remedies
from policies.rules import rules
from ppdm_models.files.load import formats
from ppdm_models.plugins import discover, summary
from reports.renderers import names, renderer


def _constraints() -> Mapping[str, object]:
    return discover(audit.constraints, "CONSTRAINT", Constraint)


def _renderers() -> Mapping[str, object]:
    return {name: renderer(name) for name in names()}


PLUGINS: Mapping[str, Callable[[], Mapping[str, object]]] = {
    "formats": formats,
    "constraints": _constraints,
    "measures": measures,
    "rules": rules,
    "remedies": remedies,
    "renderers": _renderers,
}
KINDS = (*PLUGINS, "packs")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
def list_command(kind: str | None) -> None:
    """List what there is, of one KIND or of all."""
    for each in [kind] if kind else KINDS:
        click.echo(each)
        catalogue = _catalogue(each)
        width = max(map(len, catalogue), default=0)
        for name, about in catalogue.items():
            click.echo(f"  {name:{width}}  {about}")


def _catalogue(kind: str) -> dict[str, str]:
    if kind == "packs":
        return {name: load_pack(name).title for name in shipped_packs()}
    return {name: summary(plugin) for name, plugin in PLUGINS[kind]().items()}


COMMAND = list_command
