"""What tables that fit say of each record when every data set is equally likely, counted over all of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from treewarden.audit.clock import FOREVER, Clock
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.witnesses.enumerate import data_sets
from treewarden.audit.consistent_tables.witnesses.exact_posterior import ExactPosterior
from treewarden.ppdm_models.arrays import IntArray


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
