"""One thing that a PMML file gives away, and the edits that take it out."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.codecs.common.xml_edit import Document, Edit, Span
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind


@dataclass(frozen=True, slots=True)
class Found:
    """A leak, and the edits that take it out; none where that would change the model."""

    leak: Leak
    edits: tuple[Edit, ...] = ()


def where_of(span: Span) -> str:
    """Return the place of an element in words."""
    return f"line {span.line}"


def removed(
    document: Document, kind: LeakKind, span: Span, what: str, records: int | None = None
) -> Found:
    """Return a leak that goes with its element."""
    return Found(Leak(kind, where_of(span), what, records, True), (document.removal(span),))


def without_attributes(
    document: Document, kind: LeakKind, span: Span, names: tuple[str, ...], what: str
) -> Found:
    """Return a leak that goes with some attributes of its element."""
    edits = (document.attribute(span, name, None) for name in names)
    return Found(
        Leak(kind, where_of(span), what, None, True),
        tuple(edit for edit in edits if edit is not None),
    )
