"""The columns that were assumed known and not judged, as lines and items that every form shows alike."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.reports.document.document import Document
from treewarden.reports.document.gate import Entry
from treewarden.reports.document.words import wrapped

MOST_PROVED = 10
"""So many columns that sizes prove are told in text; the other forms have all."""
LABEL = "Assumed known, not judged"


def summary_of(document: Document) -> str:
    """Return in one line which columns were assumed known; "" of documents that do not tell."""
    found = document.assumed_known
    return "" if found is None else f"{found.summary[:1].upper()}{found.summary[1:]}"


def assumed_words(entry: Entry) -> str:
    """Return the same of a model in a gate."""
    return entry.assumed_known


def assumed_items(document: Document) -> Iterator[str]:
    """Yield all columns that were assumed known, what sizes of nodes prove of them, and why there may be more."""
    found = document.assumed_known
    if found is None:
        return
    yield f"{LABEL}: {', '.join(found.columns) or 'nothing, as the model tests no column'}."
    for each in found.proved:
        yield f"Follows from the sizes of leaves: {each.text}."
    for why in found.incomplete:
        yield f"Whether more follows from the sizes of leaves was not worked out: {why}."


def assumed_lines(document: Document) -> Iterator[str]:
    """Yield the same as lines of text; of the columns that sizes prove the first ones."""
    found = document.assumed_known
    if found is None:
        return
    first, *others = assumed_items(document)
    yield from wrapped(first, "  ")
    more = len(found.proved) - MOST_PROVED
    shown = others[:MOST_PROVED] if more > 0 else others
    for each in shown:
        yield from wrapped(f"- {each}", "  ", "    ")
    if more > 0:
        yield from wrapped(
            f"- and {more:,} more columns follow; the other forms name them", "  ", "    "
        )
        for each in others[len(found.proved) :]:
            yield from wrapped(f"- {each}", "  ", "    ")
