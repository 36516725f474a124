"""The command line as a user runs it, in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from treewarden.cli import cli


def run_command(*words: object) -> Result:
    """Run ``treewarden`` with these words; paths and numbers are written as text."""
    return CliRunner().invoke(cli, [str(word) for word in words])


def on_one_line(outcome: Result) -> str:
    """Return what a command printed and told, without the breaks of its lines."""
    return " ".join(outcome.output.split())
