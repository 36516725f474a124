"""Quantities in words: enough digits to tell a reading from the limit it is held against."""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.reading import Interval

FEWEST_DIGITS = 3
MOST_DIGITS = 17
SINGULAR = {"leaves": "leaf"}
ONE_LESS_LETTER = ("profiles", "trees", "models", "records", "times", "values", "leaks", "waivers")


def figure(value: float, unit: str, beside: float | None = None) -> str:
    """Return a quantity as people write it: ``12 records``, ``93.5 %``, ``4.67``; other than ``beside`` if it is."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        said = _number_words(value, unit, digits)
        if beside is None or value == beside or said != _number_words(beside, unit, digits):
            break
    return said


def span(reading: Interval, unit: str, beside: float | None = None) -> str:
    """Return a reading as people write it; both ends where they differ."""
    low, high = figure(reading.low, unit, beside), figure(reading.high, unit, beside)
    if unit.startswith("in "):  # said once, behind both
        low = low.removesuffix(f" {unit}") if low != high else low
    return low if low == high else f"between {low} and {high}"


def _number_words(value: float, unit: str, digits: int) -> str:
    if math.isinf(value):
        return "beyond all bounds" if value > 0 else "below all bounds"
    if unit == "share":
        return f"{_plain(100 * value, digits)} %"
    name = unit[:-1] if value == 1 and unit in ONE_LESS_LETTER else unit
    name = SINGULAR.get(unit, name) if value == 1 else name
    return f"{_plain(value, digits)} {name}"


def _plain(value: float, digits: int) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    digits = max(digits, len(str(int(abs(value)))))
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


# How a sentence begins.
