"""Means, variances and quantiles of numbers that several people each have, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from treewarden.ppdm_models.outputs.published import PrintedNumber


def end_of(end: Fraction | None) -> Fraction:
    """Return an end of a measured number, which has two."""
    assert end is not None, "a measured number has two ends"
    return end


def mean_of(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction | None:
    """Return the mean, None where there is nobody."""
    size = sum(weights)
    total = sum((v * w for v, w in zip(values, weights, strict=True) if w), Fraction(0))
    return total / size if size else None


def square_of(values: Sequence[Fraction], weights: Sequence[int], less: int) -> Fraction | None:
    """Return the variance, None where nobody has one."""
    mean, size = mean_of(values, weights), sum(weights)
    if mean is None or size <= less:
        return None
    return sum(
        ((v - mean) ** 2 * w for v, w in zip(values, weights, strict=True) if w), Fraction(0)
    ) / (size - less)


def has_deviation(
    values: Sequence[Fraction], weights: Sequence[int], printed: PrintedNumber, less: int
) -> bool:
    """Whether the standard deviation may be printed so; ``less`` is taken off the number of people."""
    square = square_of(values, weights, less)
    if square is None:
        return False
    low, high = max(end_of(printed.low), Fraction(0)), end_of(printed.high)
    return high >= 0 and low**2 <= square <= high**2


def _sorted(values: Sequence[Fraction], weights: Sequence[int]) -> list[tuple[Fraction, int]]:
    held: dict[Fraction, int] = {}
    for value, weight in zip(values, weights, strict=True):
        if weight:
            held[value] = held.get(value, 0) + weight
    return sorted(held.items())


def _at(ordered: Sequence[tuple[Fraction, int]], place: int) -> Fraction:
    """Return the value at a place, from 0, among all people in order."""
    for value, people in ordered:
        place -= people
        if place < 0:
            return value
    return ordered[-1][0]


def quantile_of(
    values: Sequence[Fraction], weights: Sequence[int], order: Fraction
) -> Fraction | None:
    """Return the linearly interpolated quantile (type 7 of Hyndman and Fan 1996)."""
    ordered, size = _sorted(values, weights), sum(weights)
    if not size:
        return None
    place = (size - 1) * order
    first = place.numerator // place.denominator
    low, high = _at(ordered, first), _at(ordered, min(first + 1, size - 1))
    return low + (place - first) * (high - low)


def neighbours_of(
    values: Sequence[Fraction], weights: Sequence[int], order: Fraction
) -> tuple[Fraction, Fraction] | None:
    """Return the values between which all nine definitions of a quantile lie (Hyndman and Fan 1996)."""
    ordered, size = _sorted(values, weights), sum(weights)
    if not size:
        return None
    place = int(size * order)
    return _at(ordered, max(place - 2, 0)), _at(ordered, min(place + 1, size - 1))
