"""What a field of a tree is made of: one raw field, as it is, through a monotone function, or value by value.

A test on the field becomes the test on the raw field that says the same.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
)

Value = str | float
Function = Callable[[float], float]
"""From a number to a number; NaN where there is none."""

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lessThan": lambda value, end: value < end,
    "lessOrEqual": lambda value, end: value <= end,
    "greaterThan": lambda value, end: value > end,
    "greaterOrEqual": lambda value, end: value >= end,
    "equal": lambda value, end: value == end,
    "notEqual": lambda value, end: value != end,
}
INTERVALS: dict[str, Callable[[str, float], Predicate]] = {
    "lessThan": lambda name, end: NumericTest(name, high=end),
    "lessOrEqual": lambda name, end: NumericTest(name, high=end, high_closed=True),
    "greaterThan": lambda name, end: NumericTest(name, low=end),
    "greaterOrEqual": lambda name, end: NumericTest(name, low=end, low_closed=True),
    "equal": lambda name, end: NumericTest(name, end, end, low_closed=True, high_closed=True),
    "notEqual": lambda name, end: AnyOf((NumericTest(name, high=end), NumericTest(name, low=end))),
}


@dataclass(frozen=True, slots=True)
class Raw:
    """The raw field itself; ``missing`` is what stands in for a missing value."""

    feature: str
    missing: Value | None = None


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number of a raw field put through a function that never falls (or, not ``rising``, never rises).

    ``low`` and ``high`` are the ends of the raw numbers that the function takes; others count as missing.
    """

    feature: str
    function: Function
    rising: bool = True
    low: float = -math.inf
    high: float = math.inf
    missing: Value | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """One value per case of a raw field: tests that exclude each other, and what each gives (None: missing)."""

    feature: str
    cases: tuple[tuple[Predicate, Value | None], ...]
    missing: Value | None = None


Source = Raw | Scaled | Mapped


def as_number(value: Value | None) -> float | None:
    """Return a value as a number; None where it is not one."""
    if value is None or isinstance(value, float):
        return value
    try:
        return float(value)
    except ValueError:
        return None


def holds(value: Value, operator: str, other: Value) -> bool:
    """Whether a comparison is true of two values: of numbers where both are, else of texts."""
    one, two = as_number(value), as_number(other)
    if one is not None and two is not None:
        return COMPARISONS[operator](one, two)
    if operator == "equal":
        return value == other
    return operator == "notEqual" and value != other


def compared(source: Scaled | Mapped, operator: str, other: Value) -> Predicate | None:
    """Return the test on the raw field that a comparison makes; None where it cannot be said."""
    if isinstance(source, Mapped):
        test = _any(
            [
                case
                for case, value in source.cases
                if value is not None and holds(value, operator, other)
            ]
        )
    else:
        end = as_number(other)
        if end is None:
            return None
        test = _inverse(source, operator, end)
    return with_missing(source, test, lambda value: holds(value, operator, other))


def with_missing(source: Source, test: Predicate, takes: Callable[[Value], bool]) -> Predicate:
    """Return a test that sends a missing value where its replacement goes."""
    if source.missing is None:
        return test
    if takes(source.missing):
        return (
            test
            if isinstance(test, Always)
            else AnyOf((MissingTest(source.feature), *_parts(test)))
        )
    return AllOf((MissingTest(source.feature, negated=True), test))


def is_missing(source: Source) -> Predicate:
    """Return the test that the field has no value."""
    gaps: list[Predicate] = []
    if isinstance(source, Mapped):
        gaps = [case for case, value in source.cases if value is None]
    if isinstance(source, Scaled) and source.low > -math.inf:
        gaps = [NumericTest(source.feature, high=source.low, high_closed=True)]
    if source.missing is None:
        gaps.insert(0, MissingTest(source.feature))
    return _any(gaps)


def is_present(source: Source) -> Predicate:
    """Return the test that the field has a value."""
    if isinstance(source, Mapped) and any(value is None for _, value in source.cases):
        said = _any([case for case, value in source.cases if value is not None])
    elif isinstance(source, Scaled) and source.low > -math.inf:
        said = NumericTest(source.feature, low=source.low)
    else:
        return Always() if source.missing is not None else MissingTest(source.feature, negated=True)
    said = AllOf((MissingTest(source.feature, negated=True), said))
    return said if source.missing is None else AnyOf((MissingTest(source.feature), said))


def through(source: Source, function: Function, rising: bool = True) -> Source | None:
    """Return a field put through a monotone function; None where it holds no numbers."""
    missing = _put(function, source.missing)
    if source.missing is not None and missing is None:
        return None
    if isinstance(source, Raw):
        return Scaled(source.feature, function, rising, missing=missing)
    if isinstance(source, Scaled):
        before = source.function
        return Scaled(
            source.feature,
            lambda value: function(before(value)),
            source.rising == rising,
            source.low,
            source.high,
            missing,
        )
    cases = tuple((case, _put(function, value)) for case, value in source.cases)
    if any(
        old is not None and new is None
        for (_, old), (_, new) in zip(source.cases, cases, strict=True)
    ):
        return None
    return Mapped(source.feature, cases, missing)


def _put(function: Function, value: Value | None) -> float | None:
    given = as_number(value)
    found = math.nan if given is None else function(given)
    return found if math.isfinite(found) else None


def _any(tests: Sequence[Predicate]) -> Predicate:
    """Return what holds where one of the tests does, sets of one field joined."""
    if not tests:
        return Never()
    plain = [test for test in tests if isinstance(test, CategoryTest) and not test.negated]
    rest = [test for test in tests if test not in plain]
    if len(plain) > 1:
        values = tuple(value for test in plain for value in test.values)
        rest.insert(0, CategoryTest(plain[0].feature, values))
    else:
        rest = list(tests)
    negated = [test for test in rest if isinstance(test, CategoryTest) and test.negated]
    if len(rest) == 2 and len(negated) == 1 and plain:
        kept = set(negated[0].values) - {value for test in plain for value in test.values}
        if kept:
            return CategoryTest(negated[0].feature, tuple(kept), negated=True)
    return rest[0] if len(rest) == 1 else AnyOf(tuple(rest))


def _parts(test: Predicate) -> tuple[Predicate, ...]:
    return test.parts if isinstance(test, AnyOf) else (test,)


def _inverse(source: Scaled, operator: str, end: float) -> Predicate:
    """Return where a monotone function compares so."""
    if operator == "equal":
        lower, upper = _side(source, "greaterOrEqual", end), _side(source, "lessOrEqual", end)
        return _common(lower, upper)
    if operator == "notEqual":
        sides = [_side(source, less_or_more, end) for less_or_more in ("lessThan", "greaterThan")]
        sides = [side for side in sides if not isinstance(side, Never)]
        return AnyOf(tuple(sides)) if len(sides) == 2 else (sides[0] if sides else Never())
    return _side(source, operator, end)


def _common(one: Predicate, two: Predicate) -> Predicate:
    if isinstance(one, MissingTest) or isinstance(two, Never):
        return two
    if isinstance(two, MissingTest) or isinstance(one, Never):
        return one
    assert isinstance(one, NumericTest)
    assert isinstance(two, NumericTest)
    lower, upper = (one, two) if one.low > two.low or two.high < one.high else (two, one)
    at = [lower.low, upper.high]
    if at[0] > at[1] or (at[0] == at[1] and not (lower.low_closed and upper.high_closed)):
        return Never()
    return NumericTest(one.feature, at[0], at[1], lower.low_closed, upper.high_closed)


def _side(source: Scaled, operator: str, end: float) -> Predicate:
    """Return the raw numbers on one side of an end: found by halving among all 64-bit numbers."""
    compare = COMPARISONS[operator]
    takes_lower = (operator in ("lessThan", "lessOrEqual")) == source.rising
    least = -sys.float_info.max if source.low == -math.inf else math.nextafter(source.low, math.inf)
    most = sys.float_info.max if source.high == math.inf else source.high
    first, last = _rank(least), _rank(most) + 1  # the first rank on the upper side is within
    while first < last:
        middle = (first + last) // 2
        if compare(source.function(_ranked(middle)), end) == takes_lower:
            first = middle + 1
        else:
            last = middle
    is_none, is_all = first == _rank(least), first > _rank(most)
    if not takes_lower:
        is_none, is_all = is_all, is_none
    if is_none:
        return Never()
    if is_all and source.low == -math.inf and source.high == math.inf:
        return MissingTest(source.feature, negated=True)
    if is_all:
        return NumericTest(source.feature, source.low, source.high, False, source.high < math.inf)
    end_of = _ranked(first)
    closed = compare(source.function(end_of), end)
    if takes_lower:
        return NumericTest(source.feature, source.low, end_of, False, closed)
    return NumericTest(source.feature, end_of, source.high, closed, source.high < math.inf)


def _rank(value: float) -> int:
    """Return the place of a number among all 64-bit numbers."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _ranked(rank: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return math.copysign(value, rank) if rank else 0.0
