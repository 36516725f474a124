"""Numbers known to lie between two ends, by array: what arithmetic leaves of certainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray

TINY = 2.0**-48
"""Relative rounding of our own sums and products of doubles, with room to spare."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberBounds:
    """Ends of numbers, arrays of one shape; low <= number <= high."""

    low: FloatArray
    high: FloatArray

    def __add__(self, operand: NumberBounds) -> NumberBounds:
        return _widened(self.low + operand.low, self.high + operand.high)

    def __sub__(self, operand: NumberBounds) -> NumberBounds:
        return _widened(self.low - operand.high, self.high - operand.low)

    def __mul__(self, operand: NumberBounds) -> NumberBounds:
        ends = [one * two for one in (self.low, self.high) for two in (operand.low, operand.high)]
        return _widened(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def over(self, divisor: NumberBounds) -> NumberBounds:
        """Return the quotient; the divisor is above 0."""
        ends = [one / two for one in (self.low, self.high) for two in (divisor.low, divisor.high)]
        return _widened(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def times(self, factor: float) -> NumberBounds:
        """Return the product with a number that is at least 0."""
        return _widened(self.low * factor, self.high * factor)

    def plus(self, number: float) -> NumberBounds:
        """Return the sum with a number."""
        return _widened(self.low + number, self.high + number)

    def wider(self, by: FloatArray | float) -> NumberBounds:
        """Return the ends moved apart."""
        return NumberBounds(self.low - by, self.high + by)

    def both(self, number_bounds: NumberBounds) -> NumberBounds:
        """Return what lies between the ends of both; the ends are crossed where nothing does."""
        return NumberBounds(
            np.maximum(self.low, number_bounds.low), np.minimum(self.high, number_bounds.high)
        )

    def at(self, places: IndexArray) -> NumberBounds:
        """Return the numbers at some places."""
        return NumberBounds(self.low[places], self.high[places])

    def summed(self, groups: IndexArray, weight: FloatArray, size: int) -> NumberBounds:
        """Return the weighed sum over each group, shape (size,); weights are at least 0."""
        low = np.bincount(groups, self.low * weight, size)
        high = np.bincount(groups, self.high * weight, size)
        room = TINY * np.bincount(groups, np.maximum(-self.low, self.high) * weight, size)
        # Every addition rounds once: so many records may make as many roundings.
        room *= np.maximum(1.0, np.bincount(groups, minlength=size) / 16)
        return NumberBounds(low - room, high + room)


def exactly(values: FloatArray) -> NumberBounds:
    """Return numbers that are known."""
    return NumberBounds(values, values)


def _widened(low: FloatArray, high: FloatArray) -> NumberBounds:
    return NumberBounds(low - TINY * np.abs(low), high + TINY * np.abs(high))


def logistic(scores: NumberBounds, room: float) -> NumberBounds:
    """Return 1 / (1 + exp(-score)); ``room`` is how far off the library's own may be."""
    return _shares(_sigmoid(scores.low), _sigmoid(scores.high), room)


def _sigmoid(scores: FloatArray) -> FloatArray:
    grown = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, grown) / (1.0 + grown)


def softmax(scores: NumberBounds, room: float) -> NumberBounds:
    """Return each column's share of the exponentials, shape (P, K): least where it is low and all others are high."""
    top = scores.high.max(axis=1, keepdims=True)
    low, high = np.exp(scores.low - top), np.exp(scores.high - top)
    others_low = low.sum(axis=1, keepdims=True) - low
    others_high = high.sum(axis=1, keepdims=True) - high
    # Where all but one are known so little that they come to nothing, a share may be anything.
    least = np.divide(low, low + np.maximum(others_high, 0), out=np.zeros_like(low), where=low > 0)
    most = np.divide(high, high + np.maximum(others_low, 0), out=np.ones_like(high), where=high > 0)
    return _shares(least, most, room)


def _shares(low: FloatArray, high: FloatArray, room: float) -> NumberBounds:
    room = room + TINY
    return NumberBounds(np.clip(low - room, 0.0, 1.0), np.clip(high + room, 0.0, 1.0))


def variance(shares: NumberBounds) -> NumberBounds:
    """Return p (1 - p): largest at a half, which may lie between the ends."""
    ends = shares.low * (1 - shares.low), shares.high * (1 - shares.high)
    holds_half = (shares.low <= 0.5) & (shares.high >= 0.5)
    return _widened(np.minimum(*ends), np.where(holds_half, 0.25, np.maximum(*ends)))


def rounded_by(values: FloatArray) -> FloatArray:
    """Return how far numbers may lie from what they were before all were cut to a few binary digits.

    Where every number has at most 16 binary digits after its leading one, though single precision has 23, they were
    rounded: to the digits of the one with the most, and each by half a unit of the last at most. 0 where they were not.
    """
    there = values[np.isfinite(values) & (values != 0)]
    if not len(there):
        return np.zeros_like(values)
    digits = int(_digits(there).max())
    if digits > MOST_ROUNDED:
        return np.zeros_like(values)
    _, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    return np.where(values == 0, 0.0, np.ldexp(0.5, exponents - 1 - digits))


def before_rounding(values: FloatArray) -> NumberBounds:
    """Return what numbers were before all were cut to a few binary digits, each to the nearest; see ``rounded_by``.

    Next to a power of two the numbers nearer to 0 lie twice as close, so that less of them was rounded up to it.
    """
    room = rounded_by(values)
    mantissas, _ = np.frexp(values)
    inward = np.where(np.abs(mantissas) == 0.5, room / 2, room)
    is_below = values < 0
    return NumberBounds(
        values - np.where(is_below, room, inward), values + np.where(is_below, inward, room)
    )


MOST_ROUNDED = 16


def _digits(values: FloatArray) -> IndexArray:
    """Return how many binary digits follow the leading one of each number that is not 0."""
    mantissas, _ = np.frexp(np.abs(values))
    whole = np.asarray(np.ldexp(mantissas, 53), dtype=np.int64)
    lowest = whole & -whole
    return np.asarray(52 - np.log2(lowest.astype(np.float64)).astype(np.intp), dtype=np.intp)
