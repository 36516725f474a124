"""Links of the documentation lead somewhere, in the repository and in the site."""

from __future__ import annotations

import re

from docs._ext.reference import FOLDER, PAGES
from tests.docs import pages
from tests.kit.rows import rows

GENERATED = {pages.DOCS / FOLDER / f"{each}.md" for each in PAGES}


@rows("page", pages.WRITTEN)
def test_links_lead_to_files_that_are_there_or_are_generated(page):
    targets = [link.split("#")[0] for link in pages.links(page.read_text("utf-8"))]
    files = {target: (page.parent / target).resolve() for target in targets if target}
    assert [to for to, file in files.items() if not (file.exists() or file in GENERATED)] == []


@rows("page", PAGES)
def test_links_of_generated_pages_lead_to_pages(page):
    targets = [link.split("#")[0] for link in pages.links(pages.generated(page))]
    files = {to: (pages.DOCS / FOLDER / to).resolve() for to in targets if to}
    assert [to for to, file in files.items() if not (file.exists() or file in GENERATED)] == []


def anchors(text):
    """The names of a page's headings, as MyST makes them."""
    titles = re.findall(r"^#+ (.*)$", pages.FENCED.sub("", text), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@rows("page", pages.WRITTEN)
def test_links_to_headings_lead_to_headings(page):
    links = [link.split("#", 1) for link in pages.links(page.read_text("utf-8")) if "#" in link]
    targets = [((page.parent / path).resolve() if path else page, name) for path, name in links]
    headings = {file: anchors(file.read_text("utf-8")) for file, _ in targets if file.is_file()}
    assert [name for file, name in targets if name not in headings.get(file, {name})] == []
