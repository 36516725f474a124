"""The rules of official statistics on one cell, spelled out unit by unit: an independent way to the right answer.

Written after the definitions of the Handbook on Statistical Disclosure Control (2nd edition, section 4.2.1) and of the
primary suppression of sdcTable: each value stands for as many units as its weight says, and the units are looked at
one by one.
"""

from fractions import Fraction


def units_of(values, weights=None):
    """Return the contributions of a cell, largest first, each as often as its whole weight says."""
    weights = [1] * len(values) if weights is None else weights
    units = [
        Fraction(value)
        for value, weight in zip(values, weights, strict=True)
        for _ in range(weight)
    ]
    return sorted(units, reverse=True)


def breaks_dominance(values, n, k, weights=None):
    """Whether the n largest contributions add more than k % of the cell's total."""
    units = units_of(values, weights)
    return sum(units[:n]) > Fraction(k) / 100 * sum(units)


def breaks_p_percent(values, p, q=100, weights=None):
    """Whether the second largest contributor can estimate the largest to within p %, others being known within q %."""
    units = [*units_of(values, weights), Fraction(0), Fraction(0)]
    largest, second = units[:2]
    return sum(units) - largest - second < Fraction(p) / Fraction(q) * largest


def breaks_frequency(values, n, weights=None):
    """Whether fewer than n contribute."""
    return len(units_of(values, weights)) < n
