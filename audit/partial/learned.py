"""What somebody who knows only some columns learns of people's classes: by the greatest entropy, and for certain.

Where the sizes of leaves are published and no fact parts the people of a leaf, the maximum-entropy estimate of a
profile's class is the average of the leaves' own estimates over where such a person is likely to be: the entropy of a
table is at most that of its spread over leaves and that of the leaves' classes, and the product attains it. A class is
possible for a person exactly where some leaf that can hold such a person can hold the class: put one on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.partial.network import Network
from treewarden.audit.partial.scaling import GAP, Spread
from treewarden.ppdm_models.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Proofs:
    """What is proved of each lump and class, (S, m) each: ``certain`` for all people of the lump, ``excluded`` for all.

    ``possible`` is what some table shows; where leaves leave nothing open, what is not excluded is possible.
    """

    certain: BoolArray
    excluded: BoolArray
    possible: BoolArray


def shares(net: Network, found: Spread, leaf_shares: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the estimate of each lump, (S, m), given that of each leaf, (L, m), and the leaves' sizes (L,), people.

    Lumps whose block was not brought near enough to the optimum are not a number.
    """
    total = net.over_groups(sizes[:, None])
    of_group = net.over_groups(leaf_shares * sizes[:, None]) / total
    estimate = np.asarray(found.people @ of_group) / net.supply[:, None]
    estimate[found.gap > GAP] = np.nan
    return estimate


def proofs(net: Network, most: FloatArray, reached: FloatArray) -> Proofs:
    """Return what follows for each lump from how many people of each class a leaf can hold, (L, m) each.

    ``most`` is proved of every table that fits, ``reached`` is what some table has.
    """
    can = net.movable > 0
    excluded = ~_any(can, _any_of(net, most > 0))
    possible = _any(can, _any_of(net, reached > 0))
    # Certain are those of whom every leaf that can hold them holds this class alone, in every table.
    others = most.sum(axis=1, keepdims=True) - most
    certain = ~_any(can, _any_of(net, others > 0))
    return Proofs(certain, excluded, possible)


def _any_of(net: Network, leaves: BoolArray) -> BoolArray:
    """Return whether something is so of some leaf of each group, (G, m)."""
    return net.over_groups(leaves.astype(np.float64)) > 0


def _any(can: sparse.csr_array, groups: BoolArray) -> BoolArray:
    return np.asarray(can.astype(np.float64) @ groups.astype(np.float64)) > 0
