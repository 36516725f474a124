"""Names from files in Markdown: shown as they are, whatever they contain."""

from __future__ import annotations

from treewarden.reports.document.words import printable

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;", "$": "&#36;"}
MARKS = "\\`*_[]|~"


def marked(said: str) -> str:
    """Return a text that Markdown shows as it is: no mark, table, HTML, link, mention or formula comes of it."""
    signs = (
        ENTITIES.get(each) or (f"\\{each}" if each in MARKS else each) for each in printable(said)
    )
    return "".join(signs).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
