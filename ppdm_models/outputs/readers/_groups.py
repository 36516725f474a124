"""Which people a column of a published table is about: one class, or all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from treewarden.ppdm_models.outputs.printed import PrintedNumber, read_count
from treewarden.ppdm_models.outputs.published import TableColumns

ALL_PEOPLE = frozenset({"total", "all", "overall", "sum", "margin"})
_SIZE = re.compile(r"(?P<name>.*?)[\s,:(]*\(?\s*[nN]\s*=\s*(?P<size>[\d,]+)\s*\)?\s*")


@dataclass(frozen=True, slots=True)
class HeadedGroup:
    """Whom a column is about: a class, or all people where ``group`` is None; and how many they are, if told."""

    group: str | None
    size: PrintedNumber | None = None


def bare(text: str) -> str:
    """Return a cell without the marks of bold and slanted text."""
    return text.replace("**", "").replace("__", "").strip()


def is_all(text: str) -> bool:
    """Whether a cell says that a number is about everybody."""
    return not text.strip() or bare(text).casefold() in ALL_PEOPLE


def group_of(header: str, columns: TableColumns) -> HeadedGroup | None:
    """Return whom a column with this header is about; None where it names no class and not all people."""
    text = " ".join(bare(header).split())
    size = None
    sized = _SIZE.fullmatch(text)
    if sized:
        text, size = sized["name"].strip(" ,:("), read_count(sized["size"])
    prefix, mark, value = text.partition("=")
    if mark and prefix.strip().casefold() == columns.target.casefold():
        text = value.strip()
    group = class_of(text, columns)
    if group is not None:
        return HeadedGroup(group, size)
    return HeadedGroup(None, size) if text and is_all(text) else None


def class_of(text: str, columns: TableColumns) -> str | None:
    """Return the class that a text names, None where it names none."""
    text = bare(text)
    if text in columns.classes:
        return text
    alike = [name for name in columns.classes if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def column_of(text: str, columns: TableColumns) -> str | None:
    """Return the column of the table that a text names, None where it names none."""
    text = bare(text)
    if text in columns.categories:
        return text
    alike = [name for name in columns.categories if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None
