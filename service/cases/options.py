"""The options of an audit as somebody submits them, in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from audit.options import AuditOptions
from service.cases.refusing import is_text
from service.errors import InvalidError
from treewarden.jobs.gate.auditing import KINDS

NOT_HERE = frozenset({"jobs", "solver", "levels"})
"""Options that are not for who submits: the service says how many processes an audit has, and with which solver."""
NAMES = tuple(each.name for each in fields(AuditOptions) if each.name not in NOT_HERE)
MOST_BUDGET = 600.0
"""Seconds that whole records may have at most: the processors are everybody's."""
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
