"""The user's guide stays short, has an index that fits a screen, and uses the words of docs/terms.md."""

from __future__ import annotations

import re

import pytest

from tests.docs import pages

GUIDE = [
    page for page in pages.WRITTEN if pages.DOCS in page.parents and "engineering" not in page.parts
]
MOST_WORDS = 35_000
MOST_LINKS = 12
SCREEN_LINES, SCREEN_COLUMNS = 50, 100
MOST_SCREENS = 2

UNWANTED = re.compile(
    r"\b(whoever|he|him|his|himself|of whom|mends?|mended|graver|gravest|"
    r"of who knows|somebody who|what somebody|is told of|beyond all bounds|could not tell|"
    r"turned back|goes out|go out|grown anew|policy packs?|packs that ship)\b",
    re.IGNORECASE,
)


def prose(text):
    """Return what a page says outside of blocks and spans of code."""
    return pages.INLINE.sub("", pages.INDENTED.sub("", pages.FENCED.sub("", text)))


DECIDES = re.compile(r"\b(decides?|signs?|approves?)\b")


@pytest.mark.parametrize("page", [pages.DOCS.parent / "README.md", *GUIDE], ids=pages.name)
def test_an_officer_advises_and_does_not_decide(page):
    # GDPR, Articles 38 and 39: the controller decides.
    text = " ".join(prose(page.read_text("utf-8")).split())
    told = [each for each in re.split(r"(?<=[.!?]) ", text) if "protection officer" in each]
    assert [each for each in told if DECIDES.search(each) and "advi" not in each] == []


def test_the_guide_is_short():
    assert sum(len(page.read_text("utf-8").split()) for page in GUIDE) <= MOST_WORDS


def tasks():
    """The pages that lead through a task: tutorials and how-tos; what is looked up is reference."""
    index = (pages.DOCS / "index.md").read_text("utf-8")
    lists = re.findall(r":caption: (Start|How to)\n.*?\n\n(.*?)```", index, re.DOTALL)
    names = [name for _, listed in lists for name in listed.split()]
    return [pages.DOCS / f"{name}.md" for name in names if name != "notebook"]


def lines_on_a_screen(text):
    """Count the lines of a page on a screen: long lines are wrapped, comments are not shown."""
    shown = re.sub(r"<!--.*?-->\n", "", text, flags=re.DOTALL)
    return sum(max(1, -(-len(line) // SCREEN_COLUMNS)) for line in shown.splitlines())


@pytest.mark.parametrize("page", tasks(), ids=pages.name)
def test_a_how_to_has_at_most_two_screens(page):
    assert lines_on_a_screen(page.read_text("utf-8")) <= MOST_SCREENS * SCREEN_LINES


def test_the_first_screen_of_the_index_has_few_links():
    first = (pages.DOCS / "index.md").read_text("utf-8").split("```{toctree}")[0]
    assert 0 < len(pages.links(first)) <= MOST_LINKS


def test_every_page_of_the_guide_is_in_a_list_of_the_index():
    index = (pages.DOCS / "index.md").read_text("utf-8")
    listed = set(index.split())
    names = {str(page.relative_to(pages.DOCS).with_suffix("")) for page in GUIDE}
    assert names - listed == {"index"}


@pytest.mark.parametrize("page", GUIDE, ids=pages.name)
def test_a_page_uses_the_words_of_the_terms(page):
    found = [found[0] for found in UNWANTED.finditer(prose(page.read_text("utf-8")))]
    assert found == []
