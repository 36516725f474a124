"""Cuts words to the room there is in a picture."""

from __future__ import annotations

import re
import unicodedata

from treewarden.reports.document.words import printable

SIGN = 6.2
"""Width in px of a character of the picture's font at its size; a little too much rather than too little."""
FEWEST_SIGNS = 4
_SIGN = re.compile(r" (?:[<>=≤≥≠]|in|not in) ")


def short(text: str, most: int) -> str:
    """Return the text cut to a number of character cells, its control characters escaped."""
    clean = printable(text)
    if _cells_in(clean) <= most:
        return clean
    while _cells_in(clean) >= most:
        clean = clean[: max(len(clean) // 2, most)] if len(clean) > 2 * most else clean[:-1]
    return f"{clean}…"


def mid_cut(text: str, most: int) -> str:
    """Return a test cut in its name, so that it keeps its threshold: ``years_m… ≤ 4.25``."""
    clean = printable(text)
    sign = _SIGN.search(clean)
    tail = clean[sign.start() :] if sign else ""
    if _cells_in(clean) <= most or not 0 < _cells_in(tail) <= most - FEWEST_SIGNS:
        return short(clean, most)
    return short(clean[: -len(tail)], most - _cells_in(tail)) + tail


def width(text: str) -> float:
    """Return the room a text takes, in px."""
    return SIGN * _cells_in(text)


def _cells_in(text: str) -> int:
    """Return the room a text takes; East Asian signs take two cells."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
