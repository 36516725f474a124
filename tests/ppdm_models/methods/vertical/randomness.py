"""Whether what somebody sees looks random, for the tests of shares."""

from collections import Counter

BOUND = 110
"""No test of so many values or fewer goes beyond this by chance once in 10^8 times (chi-square, up to 15 degrees)."""


def elements(planes, lanes):
    """Return the element in each lane."""
    return [
        sum((plane >> lane & 1) << place for place, plane in enumerate(planes))
        for lane in range(lanes)
    ]


def looks_random(found, bits):
    """Return whether all elements are there about as often."""
    times, due = Counter(found), len(found) / (1 << bits)
    return sum((times[each] - due) ** 2 / due for each in range(1 << bits)) < BOUND
