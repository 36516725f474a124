"""How pages are put together from templates: what a file contains is text that strangers wrote, and is escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treewarden.ppdm_models.tree.column import brief
from treewarden.reports.document.words import is_command, printable
from treewarden.reports.figures.finding_rows import (
    lack_rows,
    told_apart,
    told_once,
    untold_together,
)


@cache
def environment() -> Environment:
    """Return what finds the templates, and prints every name escaped; a template that asks for nothing known fails.

    There is one in a process: compiling a template takes longer than filling it.
    """
    found = Environment(
        loader=PackageLoader("treewarden.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escape_names,
    )
    found.filters["told_once"] = told_once
    found.filters["lack_rows"] = lack_rows
    found.filters["brief"] = brief
    found.filters["told_apart"] = told_apart
    found.filters["untold_together"] = untold_together
    found.tests["command"] = is_command
    return found


def _escape_names(value: Any) -> Any:  # noqa: ANN401  # whatever a template prints
    """Escape control and direction-changing characters in every name that is printed."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
