"""What neither a proof nor a world has decided so far, as cells (P, m): by what it would mean for a person."""

from __future__ import annotations

import numpy as np

from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.pool import Pool
from treewarden.audit.worlds.proofs.bounds import Bounds
from treewarden.ppdm_models.arrays import BoolArray


def may_be_certain(facts: Facts, bounds: Bounds, pool: Pool) -> BoolArray:
    """Return the cells that hold all of their profile's records in every world so far, where that is not proved."""
    size = facts.counts[:, None]
    is_certain = (bounds.low == size).any(axis=1, keepdims=True)
    holds_all = np.minimum(pool.low, bounds.high) == size
    return np.asarray(holds_all & ~is_certain & (size > 0))


def not_moved(facts: Facts, bounds: Bounds, pool: Pool) -> BoolArray:
    """Return the cells that no world moves, where it is not proved that none does: values that may be ruled out too."""
    return np.asarray(pool.stuck(bounds.low, bounds.high) & (facts.counts > 0)[:, None])
