"""The command line as a user runs it, in this process."""

from __future__ import annotations

import re
import shlex
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


def shown_commands(text: str) -> list[list[str]]:
    """Return the commands that a summary shows as next steps, in words as a shell takes them."""
    steps = text.partition("\nNext\n")[2]
    found = re.findall(r"^ +(?:\d\. .*: )?(treewarden .*)$", steps, re.MULTILINE)
    return [shlex.split(command) for command in found]


def on_one_line(outcome: Result) -> str:
    """Return what a command printed and told, without the breaks of its lines."""
    return " ".join(outcome.output.split())
