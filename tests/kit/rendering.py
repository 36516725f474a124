"""Documents rendered once for all tests that look at them: a page with its figures takes a quarter of a second."""

from __future__ import annotations

from treewarden.reports.document.document import Document
from treewarden.reports.renderers import renderer

_RENDERED: dict[tuple[str, int], tuple[Document, bytes]] = {}
"""By form and identity of the document, which is held here so that no other takes its identity."""


def rendered(form: str, document: Document) -> bytes:
    """Return a document in a form; the same document is rendered once."""
    key = form, id(document)
    if key not in _RENDERED:
        _RENDERED[key] = document, renderer(form).render(document)
    return _RENDERED[key][1]
