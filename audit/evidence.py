"""Everything the measures may look at: the tree, the people, what the adversary knew before and knows now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.knowledge import Knowledge
from audit.population import Population
from audit.posterior import FloatArray, Posterior
from audit.reading import Undetermined
from ppdm_models.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one audit knows. ``prior`` is the adversary's estimate before the tree, ``posterior`` with it.

    ``knowledge`` is resolved: no level in it says "as published".
    """

    tree: Tree
    population: Population
    knowledge: Knowledge
    prior: Posterior | Undetermined
    posterior: Posterior | Undetermined


@dataclass(frozen=True, slots=True)
class LeafRecords:
    """The records that stop at one node: how many, and how many of each class (None where that is not known)."""

    node: Node
    records: float
    classes: FloatArray | None


def leaf_records(evidence: Evidence) -> tuple[LeafRecords, ...]:
    """Return the nodes where records stop, in document order, with the owner's real counts."""
    population = evidence.population
    found = []
    for index in np.unique(population.leaf):
        here = population.leaf == index
        truth = population.truth
        classes = None if isinstance(truth, Undetermined) else truth[here].sum(axis=0)
        found.append(
            LeafRecords(evidence.tree.nodes[index], float(population.counts[here].sum()), classes)
        )
    return tuple(found)
