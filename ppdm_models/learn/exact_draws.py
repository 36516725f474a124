"""Draws whose probabilities are exact, from the operating system's source of secrets: no seed, and no floating point.

Noise of floating-point numbers leaks by its last digits (Mironov 2012). Here every probability is a ratio of whole
numbers, and e^(-ratio) is drawn by a game of such coins (Canonne, Kamath & Steinke 2020, algorithm 1).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

Below = Callable[[int], int]
"""Draws a whole number evenly from 0 to one less than the given."""


def flip_coin(chance: Fraction, below: Below = secrets.randbelow) -> bool:
    """Return True with this probability, from 0 to 1."""
    return below(chance.denominator) < chance.numerator


def flip_exponential(weakness: Fraction, below: Below = secrets.randbelow) -> bool:
    """Return True with the probability e^(-weakness), of a weakness of 0 or more."""
    while weakness > 1:
        if not flip_exponential(Fraction(1), below):
            return False
        weakness -= 1
    rounds = 1
    while flip_coin(weakness / rounds, below):
        rounds += 1
    return rounds % 2 == 1


def permute_and_flip(
    scores: Sequence[int], scale: Fraction, below: Below = secrets.randbelow
) -> int:
    """Return the place of one of the scores, drawn by permute-and-flip (McKenna & Sheldon 2020).

    Candidates are taken in random order, and one is chosen with the probability e^(-scale (highest - score)). Where a
    record changes every score by one at most, a scale of epsilon / 2 has epsilon-differential privacy; where it can
    only raise them, a scale of epsilon.
    """
    highest, left = max(scores), list(range(len(scores)))
    while True:
        place = below(len(left))
        left[place], left[-1] = left[-1], left[place]
        candidate = left.pop()
        if flip_exponential(scale * (highest - scores[candidate]), below):
            return candidate
