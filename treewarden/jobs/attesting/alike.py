"""How one thing that a report says compares with what an audit done again says: it agrees, differs, or is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from treewarden.reports.document.parts import Number, Value

TOLERANCE = 1e-5
"""Relative to the larger of the two (and to 1): what the solver may leave between two runs."""
OTHERWISE = "the report states something else"


class ComparisonOutcome(StrEnum):
    """What came of one thing that a report says."""

    AGREES = "agrees"
    DIFFERS = "differs"
    OPEN = "could not tell"


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """One thing that a report says, and what came of it."""

    name: str
    outcome: ComparisonOutcome
    detail: str = ""


def overall(compared_items: list[ComparedItem]) -> ComparisonOutcome:
    """Return the worst of all: a difference, else what could not be told."""
    outcomes = {compared_item.outcome for compared_item in compared_items}
    for outcome in (ComparisonOutcome.DIFFERS, ComparisonOutcome.OPEN):
        if outcome in outcomes:
            return outcome
    return ComparisonOutcome.AGREES if compared_items else ComparisonOutcome.OPEN


def same(
    name: str, is_same: bool, otherwise: ComparisonOutcome = ComparisonOutcome.DIFFERS
) -> ComparedItem:
    """Return that something agrees, or what it is where it does not."""
    if is_same:
        return ComparedItem(name, ComparisonOutcome.AGREES)
    return ComparedItem(name, otherwise, OTHERWISE)


def missing(
    name: str, *, in_report: bool, outcome: ComparisonOutcome = ComparisonOutcome.DIFFERS
) -> ComparedItem:
    """Return that only the report has something, or only the audit."""
    has, lacks = ("report", "audit") if in_report else ("audit", "report")
    return ComparedItem(name, outcome, f"only the {has} contains it, not the {lacks}")


def verdicts(old: str, new: str) -> tuple[ComparisonOutcome, str]:
    """Return how two verdicts compare; where one could not be told, that is open."""
    if old == new:
        return ComparisonOutcome.AGREES, old
    said = f"the report says {old}, the audit {new}"
    return (
        ComparisonOutcome.OPEN if "UNDETERMINED" in (old, new) else ComparisonOutcome.DIFFERS
    ), said


def values(old: Value, new: Value) -> tuple[ComparisonOutcome, str]:
    """Return how two intervals compare: they agree where they overlap, and are open where one could not be told."""
    if old.low is None or new.low is None:
        is_same = (old.low, old.text, old.reason) == (new.low, new.text, new.reason)
        return (
            ComparisonOutcome.AGREES if is_same else ComparisonOutcome.OPEN
        ), f"{old.text}; {new.text}"
    a, b, c, d = (_float(end) for end in (old.low, old.high, new.low, new.high))
    if (a, b) == (c, d) and old.text != new.text:
        return ComparisonOutcome.DIFFERS, f"the report states {old.text}, the audit {new.text}"
    finite = [abs(end) for end in (a, b, c, d) if abs(end) != float("inf")]
    close = TOLERANCE * max([1.0, *finite])
    overlap = a <= d + close and c <= b + close
    detail = old.text if old.text == new.text else f"{old.text}; {new.text}"
    return (ComparisonOutcome.AGREES if overlap else ComparisonOutcome.DIFFERS), detail


def is_close(old: object, new: object) -> bool:
    """Return whether two parts of documents, as JSON, are the same but for what a solver may leave."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(old - new) <= TOLERANCE * max(1.0, abs(old), abs(new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(is_close(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(is_close, old, new))
    return old == new


def _float(end: Number | None) -> float:
    assert end is not None
    return float(end)
