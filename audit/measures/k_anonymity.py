"""Size of the smallest leaf: how few people a path through the tree can single out.

The k of k-anonymity as far as the leaves show it: every leaf stands for at least k records (Sharkey et al. 2008,
section 3.1: hit + miss >= k). Counted on the owner's records, whatever the file publishes: people, whatever sampling
weights they carry, as a weight hides nobody.
"""

from __future__ import annotations

import math

from treewarden.audit.measures import EvidenceSource, LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.ppdm_models.arrays import FloatArray


class SmallestLeaf(LeafMeasure):
    """The fewest records that stop in one leaf; leaves without records single out nobody and are left out."""

    unit = "records"
    plain = "fewest people in a leaf"
    short = "people in the smallest leaf"
    risk = "low"
    limits = (1.0, math.inf)
    reads = frozenset({EvidenceSource.LEAVES})

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray:
        return leaves.records


MEASURE = SmallestLeaf()
