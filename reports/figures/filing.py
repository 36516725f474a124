"""What a report that is filed consists of: sections of words, lists, tables and lines to fill in, whatever its form.

A page and a PDF are both made of these, so that they cannot say different things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from treewarden.reports.document.words import Word


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: what it says, an aside to it, and a note under it; a code is not broken at its spaces."""

    text: str
    note: str = ""
    aside: str = ""
    kind: Literal["words", "verdict", "code"] = "words"


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str
    kind: Literal["words", "note", "strong"] = "words"


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]
    kind: Literal["items"] = "items"


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first cells name the rows; ``shares`` are the widths of its columns, in parts of their sum."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shares: tuple[int, ...]
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Blanks:
    """Lines that somebody fills in by hand, each with its label."""

    labels: tuple[str, ...]
    kind: Literal["blanks"] = "blanks"


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of which somebody ticks one."""

    labels: tuple[str, ...]
    kind: Literal["boxes"] = "boxes"


Block = Words | Items | Table | Blanks | Boxes


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report under its own heading."""

    ident: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Filing:
    """A report as it is filed. ``banner`` says who may read it, ``running`` the same on top of each printed page."""

    title: str
    banner: str
    running: str
    verdict: Word
    headline: str
    meaning: str
    disclaimer: str
    created: str
    sections: tuple[Section, ...]
