"""Writes the reference from the code before Sphinx reads the pages: it cannot say what the program does not do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from docs._ext.packs import packs_page
from docs._ext.plugins import (
    constraints_page,
    formats_page,
    measures_page,
    remedies_page,
    renderers_page,
    rules_page,
)
from docs._ext.schema import schema_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path("reference") / "_generated"
PAGES = {
    "packs": packs_page,
    "measures": measures_page,
    "rules": rules_page,
    "remedies": remedies_page,
    "constraints": constraints_page,
    "formats": formats_page,
    "renderers": renderers_page,
    "schema": schema_page,
}


def write_pages(docs: Path) -> None:
    """Write every page; one that says what it said stays as it is, so that Sphinx need not read it again."""
    folder = docs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        file = folder / f"{name}.md"
        text = page().rstrip() + "\n"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
