"""One line that says which columns were assumed known and not judged: names first, the rest of many counted."""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.reports.document.parts import AssumedKnown

NONE_TESTED = "nothing: the model tests no column"
MOST_IN_A_LINE = 5
LONGEST_NAME = 60


def one_line(names: Sequence[str], proved: Sequence[str] = ()) -> str:
    """Return in one line which columns were assumed known, and of which sizes prove something; the first of many."""
    said = f"assumed known, not judged: {_some(names) if names else NONE_TESTED}"
    return f"{said}; follows from the sizes of leaves: {_some(proved)}" if proved else said


def without_counts(found: AssumedKnown | None) -> str:
    """Return the same line without a count of people."""
    if found is None:
        return ""
    return one_line(found.columns, list(dict.fromkeys(each.column for each in found.proved)))


def _some(names: Sequence[str]) -> str:
    shown = [
        each if len(each) <= LONGEST_NAME else f"{each[: LONGEST_NAME - 1]}…"
        for each in names[:MOST_IN_A_LINE]
    ]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
