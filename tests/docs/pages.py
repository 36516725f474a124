"""The pages of the documentation, and what stands in them."""

import re
from functools import cache

from docs._ext import reference
from tests.kit import places

DOCS = places.ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md")) + [places.ROOT / "README.md", places.ROOT / "CONTRIBUTING.md"]
WRITTEN = [page for page in PAGES if "_generated" not in page.parts]
FENCED = re.compile(r"^([`~:]{3,}).*?\n(.*?)^\1\s*$", re.DOTALL | re.MULTILINE)
MADE_BY = dict(reference.PAGES)  # as they are, whatever a test puts in their place
INDENTED = re.compile(r"^(?: {4,}\S.*\n?)+", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def name(page):
    return str(page.relative_to(places.ROOT))


@cache
def generated(page):
    """What a page says that is written from the code, made once."""
    return MADE_BY[page]()


def code(text):
    """What a page sets as code: blocks with continued lines joined, then spans."""
    blocks = [found[2] for found in FENCED.finditer(text)]
    rest = FENCED.sub("", text)
    blocks += [found[0] for found in INDENTED.finditer(rest)]
    joined = [re.sub(r"\s*\\\n\s+|\n\s+(?=--)", " ", block) for block in blocks]
    return "\n".join([*joined, *INLINE.findall(rest)])


def links(text):
    """The targets of a page's relative links, pictures too; what code looks like is none."""
    prose = INLINE.sub("", FENCED.sub("", text))
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
