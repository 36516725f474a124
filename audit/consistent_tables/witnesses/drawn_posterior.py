"""What tables that fit say of each record when every data set is equally likely, estimated from draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betainccinv, betaincinv

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.witnesses.exact_posterior import ExactPosterior
from treewarden.ppdm_models.arrays import IntArray

ERROR = 0.01
"""The chance that any of the intervals misses."""


def drawn_posterior(
    facts: Facts, tables: Sequence[IntArray], low: IntArray, high: IntArray, seed: int = 1
) -> ExactPosterior:
    """Return estimates from K independent draws (P, m) with Clopper-Pearson intervals, Bonferroni over open cells.

    One record of each profile is picked in each draw, so that the counts are binomial whatever the profile's size.
    ``low`` and ``high`` are the proved ends of each cell.
    """
    number = len(tables)
    size = np.maximum(facts.counts, 1)[:, None]
    sums, picked = (np.zeros((len(size), facts.classes), dtype=np.int64) for _ in range(2))
    draw, positions = np.random.default_rng(seed), np.flatnonzero(facts.counts)
    for table in tables:
        sums += table
        record = draw.integers(size)
        klass = (np.cumsum(table, axis=1) <= record).sum(axis=1)
        picked[positions, klass[positions]] += 1
    open_cells = max(int((low < high).sum()), 1)
    part = ERROR / open_cells / 2
    with np.errstate(invalid="ignore"):
        least = np.where(picked > 0, betaincinv(picked, number - picked + 1, part), 0.0)
        most = np.where(picked < number, betainccinv(picked + 1, number - picked, part), 1.0)
    least, most = np.maximum(least, low / size), np.minimum(most, high / size)
    most = np.maximum(most, least)
    means = np.clip(sums / (number * size), least, most)
    return ExactPosterior(means, np.asarray(least), np.asarray(most), number)
