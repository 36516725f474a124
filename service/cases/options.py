"""The options of an audit as somebody submits them, in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from sqlalchemy import Row

from treewarden.audit.options import AuditOptions
from treewarden.jobs.gate.auditing import KINDS
from treewarden.ppdm_models.tables.matching import are_alike
from treewarden.service.cases.refusing import is_text
from treewarden.service.errors import InvalidError

NOT_HERE = frozenset({"jobs", "solver", "levels"})
"""Options that are not for who submits: the service says how many processes an audit has, and with which solver."""
NAMES = tuple(each.name for each in fields(AuditOptions) if each.name not in NOT_HERE)
MOST_BUDGET = 600.0
"""Seconds that whole records may have at most: the processors are everybody's."""
COLUMNS = ("sensitive", "qi", "weights", "secret")
"""Options that name columns of the table."""
NEAREST = 3
MOST = 1e9
"""No number is larger, also not without end."""


def audit_options(said: Mapping[str, Any]) -> AuditOptions:
    """Return how an audit is done: in one process, as others have the other processors.

    Raises:
        InvalidError: an option is unknown, or cannot be.
    """
    for name, value in said.items():
        if name not in NAMES:
            raise InvalidError(f"options: {name[:80]!a}", f"unknown; have {', '.join(NAMES)}")
        _check(name, value)
    budget = said.get("worlds_budget")
    if isinstance(budget, int | float) and budget > MOST_BUDGET:
        problem = f"{budget:g} is too much; a service gives {MOST_BUDGET:g} seconds at most"
        raise InvalidError("options: worlds_budget", problem)
    try:
        values: dict[str, Any] = {name: _value(name, value) for name, value in said.items()}
        return AuditOptions(**values, jobs=1)
    except (TypeError, ValueError) as error:
        raise InvalidError("options", str(error)) from error


def check_columns(table: Row[Any], said: Mapping[str, Any]) -> None:
    """Check that the columns which options name are those of a table, as far as it was read.

    Raises:
        InvalidError: one is not; the message says which names come nearest.
    """
    if table.columns is None:
        return
    names = [each["name"] for each in table.columns]
    for option in COLUMNS:
        value = said.get(option)
        for name in value if isinstance(value, list) else () if value is None else (value,):
            if name not in names and not any(are_alike(name, each) for each in names):
                near = get_close_matches(name, names, NEAREST, cutoff=0.5) or names[:NEAREST]
                problem = (
                    f"the table has no column {name[:80]!r}; the nearest are {', '.join(near)}"
                )
                raise InvalidError(f"options: {option}", problem)


def _check(name: str, value: Any) -> None:  # noqa: ANN401  # whatever JSON holds
    """Refuse what can be neither a column nor a number nor kept, before anything repeats it."""
    place = f"options: {name}"
    if isinstance(value, int | float) and abs(value) > MOST:
        raise InvalidError(place, f"is more than {MOST:g} or less than -{MOST:g}; give another")
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    for each in texts:
        if not isinstance(each, str) or not each or not is_text(each):
            raise InvalidError(place, "holds what is no text, or an empty one; give names")


def _value(name: str, value: Any) -> Any:  # noqa: ANN401  # checked by the options
    if name in KINDS and value is not None:
        return KINDS[name](value)
    return tuple(value) if isinstance(value, list) else value
