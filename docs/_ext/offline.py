"""Warns of every built page that loads something from elsewhere: the site needs no network, and tells nobody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lxml import html

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOADING = {
    "audio",
    "embed",
    "iframe",
    "img",
    "link",
    "object",
    "script",
    "source",
    "style",
    "video",
}
"""Elements that a browser fetches something for; of others it fetches what a reader follows."""


def loads(page: bytes) -> list[str]:
    """Return the addresses that a page would fetch when it is opened; links that a reader may follow are none."""
    return [
        address
        for element, _, address, _ in html.document_fromstring(page).iterlinks()
        if element.tag in LOADING
        and element.get("rel") != "canonical"
        and address.startswith(("http:", "https:", "//"))
    ]


def _look(app: Sphinx, failed: Exception | None) -> None:
    from sphinx.util import logging  # Sphinx is there when Sphinx calls

    if failed is None:
        for file in sorted(Path(app.outdir).rglob("*.html")):
            for address in loads(file.read_bytes()):
                logging.getLogger(__name__).warning("%s loads %s", file.name, address)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", _look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
