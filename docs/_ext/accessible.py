"""Mends what the theme leaves out for readers who use a keyboard or hear the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCROLLS = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
"""What may be wider than the screen, and how a keyboard gets there to scroll it."""


def mended(body: str) -> str:
    """Return a page's body in which everything that scrolls can be reached."""
    for plain, reachable in SCROLLS.items():
        body = body.replace(plain, reachable)
    return body


def levelled(navigation: str) -> str:
    """Return the list of pages with a level for its captions, which the theme calls headings of none."""
    return navigation.replace('role="heading"', 'role="heading" aria-level="2"')


def _mend(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    if "body" in context:
        context["body"] = mended(context["body"])
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = levelled(context["furo_navigation_tree"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx; after the theme, which makes the list of pages."""
    app.connect("html-page-context", _mend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
