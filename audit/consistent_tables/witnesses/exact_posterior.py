"""The exact posterior of each record over all consistent tables, where every data set is equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.witnesses.enumerate import data_sets
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ExactPosterior:
    """P(class | profile) under a uniform prior over data sets, shape (P, m) each; low == high where it is exact.

    ``draws`` is 0 where all worlds were counted; otherwise all intervals hold at once with probability 1 - ERROR.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    draws: int = 0


# The posterior of each record over all consistent tables, each equally likely: exact, or with intervals.


@dataclass(frozen=True, slots=True)
class TableNumbers:
    """How many worlds and data sets obey the facts, and how many would without the split rows (None: not counted)."""

    worlds: int
    data_sets: int
    worlds_without_splits: int | None = None
    data_sets_without_splits: int | None = None


def counted_posterior(
    facts: Facts, tables: IntArray, clock: Clock = FOREVER
) -> tuple[ExactPosterior, int]:
    """Return the exact posterior from the list of all worlds (K, P, m) in position order, and their data sets.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    ways = data_sets(facts, 0, tables, clock)
    total = sum(ways)
    means = np.zeros(tables.shape[1:])
    for position, count in enumerate(facts.counts.tolist()):
        clock.check()
        for klass in range(facts.classes):
            cells = tables[:, position, klass].tolist()
            weight = sum(way * cell for way, cell in zip(ways, cells, strict=True))
            means[position, klass] = float(Fraction(weight, total * count)) if count else 0.0
    return ExactPosterior(means, means, means), total
