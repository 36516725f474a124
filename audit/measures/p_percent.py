"""Margin of the p % rule: how far off the second largest contributor is about the largest, at least, over all leaves.

(X - x_1 - x_2) / x_1, where x_1 >= x_2 >= ... are the contributions to a leaf's total X, its mean times its people: by
that share of x_1 the second largest contributor overestimates it, who subtracts its own part from the total. The p %
rule calls a cell of a table sensitive where this is less than p % (Hundepool et al., Handbook on Statistical Disclosure
Control, section 4.2.1, and sdcTable, rule "p"), so a policy says at_least p / 100. With ``q`` below 1 it is the (p, q)
rule: others are known to within q beforehand. It is read off the owner's true table, without any estimate. Several
records of one contributor (--id) are one contribution. Where all add 0 the reading is 0: the total says so of each,
which sdcTable does not look at. Negative contributions have no such reading.

Where the file also publishes the variance of a leaf, each contributor can subtract their own part of the sum of squares
too. Of the n others, with mean m and standard deviation s, nobody adds more than m + s * sqrt(n - 1) (Samuelson 1968),
and that takes the place of what the total allows. It is the high end: where the numbers are known to be multiples of a
step, or are of weights or of several records, less may be possible, so that the low end is 0. The same holds where the
file publishes other numbers that no rule uses, and of several trees whose leaves overlap: they are linked cells, which
cell_protection judges together where a table of totals is given.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.measures import Parameter, Parameters
from treewarden.audit.measures._shared import (
    WEIGHTS,
    LeafTotalMeasure,
    contributors_in_words,
)
from treewarden.audit.population.target import RankedContributions
from treewarden.ppdm_models.arrays import FloatArray

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.totals import LeafTotals


class PPercent(LeafTotalMeasure):
    """The least margin over leaves."""

    plain = "how closely one contributor can estimate the largest contributor's amount (worst leaf)"
    short = "margin of error about the largest contributor"
    risk = "low"
    limits = (0.0, math.inf)
    is_of_attackers = True
    parameters = {
        "q": Parameter(1.0, "the margin within which all other contributions are known beforehand"),
        "weights": WEIGHTS,
    }

    def values(self, ranked: RankedContributions, parameters: Parameters) -> FloatArray:
        largest = ranked.largest(1)
        other_total = float(parameters["q"]) * ranked.without_largest(2)
        return np.where(largest > 0, other_total / np.where(largest > 0, largest, 1.0), 0.0)

    def ends(self, leaves: LeafTotals, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        low, high = super().ends(leaves, parameters)
        if leaves.tells_spread:
            margins = float(parameters["q"]) * _margins_beside_variance(leaves.readings[0])
            low, high = np.minimum(low, margins), np.minimum(high, margins)
        return np.zeros_like(low) if leaves.is_open or leaves.is_linked else low, high

    def note(self, contributors: float, value: float, parameters: Parameters) -> str:
        return f"{contributors_in_words(contributors)}; the largest can be estimated to within {100 * value:.4g} %"


def _margins_beside_variance(ranked: RankedContributions) -> FloatArray:
    """Return how far off anybody stays about the largest of the others who knows total and variance, (cells,)."""
    people, cell = ranked.contributors, ranked.cell
    means = ranked.totals / np.maximum(people, 1.0)
    aside = ranked.amounts - means[cell]
    squares = np.bincount(cell, ranked.units * aside**2, ranked.cells).astype(np.float64)
    first = ranked.largest(1)
    second = ranked.largest(2) - first
    # Outsiders subtract nothing; contributors (R,) their own part.
    outside = _beyond(people, means, squares, first)
    others = people[cell] - 1.0
    rest = np.maximum(others, 1.0)
    is_largest = (ranked.before == 0) & (ranked.units <= 1)
    inside = _beyond(
        others,
        means[cell] - aside / rest,
        squares[cell] - aside**2 * (1.0 + 1.0 / rest),
        np.where(is_largest, second[cell], first[cell]),
    )
    np.minimum.at(outside, cell, inside)
    return outside


def _beyond(
    people: FloatArray, means: FloatArray, squares: FloatArray, largest: FloatArray
) -> FloatArray:
    """Return by which share of the largest the most that one of ``people`` can add is more than that."""
    spread = np.sqrt(np.maximum(squares, 0.0) / np.maximum(people, 1.0))
    most = means + spread * np.sqrt(np.maximum(people - 1.0, 0.0))
    over = np.maximum(most - largest, 0.0)
    return np.where(largest > 0, over / np.where(largest > 0, largest, 1.0), 0.0)


MEASURE = PPercent()
