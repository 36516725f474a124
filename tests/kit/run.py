"""The command line as a user runs it, in this process."""

from __future__ import annotations

from collections.abc import Iterable

from click.testing import CliRunner, Result

from treewarden.cli import cli


def run_command(*words: object) -> Result:
    """Run ``treewarden`` with these words; paths and numbers are written as text."""
    return CliRunner().invoke(cli, [str(word) for word in words])


def audit_files(
    models: Iterable[object],
    tables: Iterable[object],
    sensitive: str,
    policy: object,
    *words: object,
) -> Result:
    """Run ``treewarden audit`` on models and the tables of each."""
    data = [word for table in tables for word in ("--data", table)]
    asked = ["--sensitive", sensitive, "--policy", policy]
    return run_command("audit", *models, *data, *asked, *words)


def on_one_line(outcome: Result) -> str:
    """Return what a command printed and told, without the breaks of its lines."""
    return " ".join(outcome.output.split())
