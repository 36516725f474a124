"""Thresholds in as few digits as reading needs: six, and as many more as tell those apart that stand together.

Learners write the middle between two values with all digits that a number has: 2.449999988079071 for 2.45. Rounded text
is for people; a program takes the number itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    AnyOf,
    NumericTest,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
)

FEWEST_DIGITS = 6
MOST_DIGITS = 17
NOTHING = 1e-34
"""An end this near to 0 is 0 to who reads it, unless there are several: LightGBM writes 1e-35 for it."""
KEPT = 50_000
"""Numbers that are kept in digits: paths of a tree say the same ones again and again."""

Say = Callable[[str, float], str]
"""How a threshold of a feature is said."""


def rounded(tests: Iterable[Predicate]) -> Say:
    """Return how to say the thresholds of tests that are read together: different ones never look the same."""
    ends: dict[str, set[float]] = {}
    for test in tests:
        for name, value in _ends(test):
            ends.setdefault(name, set()).add(value)
    said: dict[tuple[str, float], str] = {}
    for name, values in ends.items():
        ordered = sorted(values)
        apart = [_digits_apart(low, high) for low, high in zip(ordered, ordered[1:], strict=False)]
        for value, below, above in zip(ordered, [0, *apart], [*apart, 0], strict=True):
            said[name, value] = _in_digits(value, max(FEWEST_DIGITS, below, above))
        nothing = [value for value in values if abs(value) <= NOTHING]
        if len(nothing) == 1:
            said[name, nothing[0]] = "0"
    return lambda name, value: said.get((name, value)) or number_text(value)


def _ends(test: Predicate) -> Iterator[tuple[str, float]]:
    if isinstance(test, NumericTest):
        for end in (test.low, test.high):
            if math.isfinite(end):
                yield test.feature, end
    elif isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        for part in test.parts:
            yield from _ends(part)
    elif isinstance(test, Refusal):
        yield from _ends(test.when)


@lru_cache(KEPT)
def _digits_apart(low: float, high: float) -> int:
    """Return with how many digits two numbers differ."""
    digits = FEWEST_DIGITS
    while digits < MOST_DIGITS and _in_digits(low, digits) == _in_digits(high, digits):
        digits += 1
    return digits


@lru_cache(KEPT)
def _in_digits(value: float, digits: int) -> str:
    """Return a number in so many significant digits, never fewer than stand before its point."""
    before = len(str(int(abs(value)))) if abs(value) < 1e15 else MOST_DIGITS
    return number_text(float(f"{value:.{max(digits, before)}g}"))
