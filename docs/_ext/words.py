"""Docstrings and data as Markdown: what they say is kept to the letter, nothing in it becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
MARKUP = re.compile(r"([\\*_<>\[\]#|~])")


def escaped(text: str) -> str:
    """Return the text with all that Markdown would act on escaped, except in code."""
    parts = CODE.split(text)
    return "".join(
        part if place % 2 else MARKUP.sub(r"\\\1", part) for place, part in enumerate(parts)
    )


def paragraphs(docstring: str | None) -> str:
    """Return a docstring's paragraphs, escaped; lists stay lists."""
    lines = [line.strip() for line in (docstring or "").strip().splitlines()]
    return "\n".join(escaped(line) for line in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown already, and stay on one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()) or " "
