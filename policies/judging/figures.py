"""Quantities in words: enough digits to tell a reading from the limit it is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from treewarden.audit.reading import MOST_SPOTS, Interval
from treewarden.policies.verdict import NONE

FEWEST_DIGITS = 3
MOST_DIGITS = 17
SHOWN = {"records": "people", "leaks": "items", "profiles": "groups"}
"""The word for people of a unit whose name is an id: a record of the table is a person."""
SINGULAR = {"leaves": "leaf", "people": "person"}
ONE_LESS_LETTER = (
    "contributors",
    "groups",
    "items",
    "leaks",
    "models",
    "profiles",
    "records",
    "times",
    "trees",
    "values",
    "waivers",
)


def figure(value: float, unit: str, beside: float | None = None) -> str:
    """Return a quantity as people write it: ``1,200 people``, ``93.5 %``, ``4.67``; other than ``beside`` if it is."""
    return _distinct(value, unit, beside, _number_words)


class IsPlace(Protocol):
    """A place that does not pass a clause, as findings and reports hold it."""

    @property
    def kind(self) -> str:
        """What it is: "leaf", "profile" ..."""

    @property
    def index(self) -> int:
        """Which of its kind; of a leaf the index of its node."""

    @property
    def tree(self) -> int:
        """Its tree, from 0."""


def places_text(places: Sequence[IsPlace], one: str, several: str) -> str:
    """Return how many places do not pass: ``3 leaves``, ``20 or more leaves``, ``1 leaf, perhaps more``.

    The root of a tree that has leaves among the places stands for those of which nothing is known, and is none.
    """
    split = {place.tree for place in places if place.kind == "leaf" and place.index > 0}
    is_open = any(p.kind == "leaf" and p.index == 0 and p.tree in split for p in places)
    number = len(places) - is_open
    noun = one if number == 1 else several
    if is_open:
        return f"{number:,} {noun}, perhaps more"
    return f"{number:,} or more {noun}" if len(places) >= MOST_SPOTS else f"{number:,} {noun}"


def limit_text(rule_words: str, limit: float, unit: str) -> str:
    """Return a limit as people write it: ``at most 5 people``, but ``none`` where the limit is 0."""
    if rule_words == "at most" and not limit:
        return figure(limit, unit) if unit == "share" else NONE
    return f"{rule_words} {figure(limit, unit)}"


def span(reading: Interval, unit: str, beside: float | None = None) -> str:
    """Return a reading as people write it; both ends where they differ."""
    return range_text(figure(reading.low, unit, beside), figure(reading.high, unit, beside))


def range_text(low: str, high: str) -> str:
    """Return two figures as a range, with the unit once: "442 to 445 people"."""
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    is_same_unit = bool(unit) and number[-1:].isdigit() and " " in high
    return f"{number if is_same_unit else low} to {high}"


def recorded_span(reading: Interval, unit: str, beside: float | None = None) -> str:
    """Return a reading as baselines hold it: older ones are compared with it, so its words never change."""
    low, high = (_distinct(end, unit, beside, _recorded) for end in (reading.low, reading.high))
    return _between(low, high, unit)


def recorded_note(note: str) -> str:
    """Return a note of a place as baselines hold it: a number of people in the older words."""
    number, _, rest = note.partition(" ")
    word, _, more = rest.partition(" ")
    if word.rstrip(":,") not in ("person", "people"):
        return note
    records = "record" if word.startswith("person") else "records"
    return f"{number} {word.replace(word.rstrip(':,'), records)} {more}".rstrip()


def _between(low: str, high: str, unit: str) -> str:
    if low == high:
        return low
    if unit.startswith("in "):  # said once, behind both
        low = low.removesuffix(f" {unit}")
    return f"between {low} and {high}"


def _distinct(
    value: float, unit: str, beside: float | None, words: Callable[[float, str, int], str]
) -> str:
    """Return a quantity with as many digits as tell it from the other one."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        text = words(value, unit, digits)
        if beside is None or value == beside or text != words(beside, unit, digits):
            break
    return text


def _number_words(value: float, unit: str, digits: int) -> str:
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    number = _marked(100 * value if unit == "share" else value, digits)
    return _with_unit(value, SHOWN.get(unit, unit), number)


def _recorded(value: float, unit: str, digits: int) -> str:
    if math.isinf(value):
        return "beyond all bounds" if value > 0 else "below all bounds"
    return _with_unit(value, unit, _plain(100 * value if unit == "share" else value, digits))


def _with_unit(value: float, unit: str, number: str) -> str:
    if unit == "share":
        return f"{number} %"
    name = unit[:-1] if value == 1 and unit in ONE_LESS_LETTER else unit
    name = SINGULAR.get(unit, name) if value == 1 else name
    return f"{number} {name}"


def _marked(value: float, digits: int) -> str:
    """Return a number with marks between its thousands."""
    text = _plain(value, digits)
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.lstrip("-").isdigit() and whole != "-0" else text


def _plain(value: float, digits: int) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    digits = max(digits, len(str(int(abs(value)))))
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")
