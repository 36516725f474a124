"""Sets of categories as R prints them: separated by commas, though a category may hold commas itself."""

from __future__ import annotations

import re

INTERVAL = re.compile(r"[\[(][^,\[\]()]*,[^,\[\]()]*[\])]")


def printed_set(text: str, separator: str) -> tuple[str, ...]:
    """Return the values of a set; an interval, ``(20,30]`` as R's cut names them, is one value."""
    found: list[str] = []
    start = 0
    place = 0
    while place < len(text):
        interval = INTERVAL.match(text, place) if text[place] in "[(" else None
        if interval and (place == start) and _ends(text, interval.end(), separator):
            place = interval.end()
        elif text.startswith(separator, place) and _separates(text, place, separator):
            found.append(text[start:place])
            place = start = place + len(separator)
        else:
            place += 1
    return tuple(value for value in (*found, text[start:]) if value)


def _separates(text: str, place: int, separator: str) -> bool:
    """Whether a separator stands here: a comma before a blank is one only where all separators have the blank."""
    return separator != "," or not text.startswith(", ", place)


def _ends(text: str, place: int, separator: str) -> bool:
    return place == len(text) or text.startswith(separator, place)
