"""Colours on a terminal: the verdict only, and never as what alone tells it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

COLOURS = {"PASS": "green", "FAIL": "red", "UNDETERMINED": "yellow", "NO AUDIT": "red"}


def with_coloured_verdict(line: str) -> str:
    """Return a line for stdout that begins with a verdict, the verdict in colour where that is wanted."""
    return line_for(line, is_terminal=sys.stdout.isatty(), environment=os.environ)


def line_for(line: str, *, is_terminal: bool, environment: Mapping[str, str]) -> str:
    """Return the line; in colour on a terminal only, unless ``NO_COLOR`` is set or the terminal is a dumb one."""
    verdict = next((word for word in COLOURS if line.startswith(word)), "")
    is_plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    if not verdict or not is_terminal or is_plain:
        return line
    return f"{click.style(verdict, fg=COLOURS[verdict], bold=True)}{line.removeprefix(verdict)}"
