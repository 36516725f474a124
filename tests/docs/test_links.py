"""Links of the documentation lead somewhere, in the repository and in the site."""

from __future__ import annotations

import pytest

from docs._ext.reference import FOLDER, PAGES
from tests.docs import pages

GENERATED = {pages.DOCS / FOLDER / f"{each}.md" for each in PAGES}


@pytest.mark.parametrize("page", pages.WRITTEN, ids=pages.name)
def test_links_lead_to_files_that_are_there_or_are_generated(page):
    targets = [link.split("#")[0] for link in pages.links(page.read_text("utf-8"))]
    files = {target: (page.parent / target).resolve() for target in targets if target}
    assert [to for to, file in files.items() if not (file.exists() or file in GENERATED)] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_of_generated_pages_lead_to_pages(page):
    targets = [link.split("#")[0] for link in pages.links(PAGES[page]())]
    files = {to: (pages.DOCS / FOLDER / to).resolve() for to in targets if to}
    assert [to for to, file in files.items() if not (file.exists() or file in GENERATED)] == []
