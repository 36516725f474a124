"""Training under a policy, with random cut points: what gives each leaf the same people and classes yields the tree.

``treewarden.learn`` takes a split only if both children meet the policy, and looks at each cut with a probability
below 1 (``treewarden.ppdm_models.learn.drawn_cuts``). Which cuts were drawn nobody knows. In every table whose leaves
hold the same people and as many of each class, every inner node has the same children, which meet the policy there too,
and all better cuts may not have been drawn; at a leaf no cut may have been. Nothing is pruned where the folds of the
cross-validation drew no cut (``treewarden.ppdm_models.learn.drawn_cuts``). So neither the splits that were taken,
nor those that were refused, nor where it stopped prove anything beyond the counts of the leaves. Where the adversary
does not know these counts, other tables may be refused: then only tables with the same counts show what is possible.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Node

SEEDED = (
    "which splits the policy allowed, because the seed is a fixed number: an adversary who "
    "knows or guesses it can repeat the training on guessed records; train again with "
    "random_state=None"
)
UNCOUNTED = "that every node met a policy, if the weighted class counts of its leaves are not known"
INCOMPLETE = "which splits a policy allowed, as records lack values, or their classes are not known"


class PolicyGrowth(Constraint):
    """Yields nothing where the counts are known; else it leaves out tables with other counts, or everything."""

    def rows(self, case: Case) -> Iterator[LeftOut]:
        if case.tree.learner.tool is not Tool.POLICY_TREE:
            return
        from treewarden.audit.facts.stopped_leaves import counted_masses, is_of_people  # heavy

        truth = case.population.truth
        leaves = [leaf for leaf in case.tree.leaves if len(case.members.stops(leaf.index))]
        inside = sum(len(case.members.stops(leaf.index)) for leaf in leaves)
        if case.tree.learner.unmodelled:
            yield LeftOut(0, "", SEEDED, is_open=True)
        elif is_of_people(case) and counted_masses(case) is not None:
            return
        elif (
            isinstance(truth, Undetermined)
            or incomplete_records(case).any()
            or inside < len(case.population.counts)
        ):
            yield LeftOut(0, "", INCOMPLETE, is_open=True)
        else:
            for leaf in leaves:
                lines = tuple(_same_counts(case, leaf, truth))
                yield LeftOut(leaf.index, "", UNCOUNTED, lines=lines)


def _same_counts(case: Case, leaf: Node, truth: FloatArray) -> Iterator[Linear]:
    """Yield that a leaf holds as many of each class as it truly does, among people of the same sampling weight."""
    here, weight = case.members.stops(leaf.index), case.population.weight
    weights = np.ones(len(here)) if weight is None else weight[here]
    origin = Origin("policy_growth", case.tree.where(leaf), leaf.index)
    for each in np.unique(weights):
        people = here[weights == each]
        for klass, total in enumerate(truth[people].sum(axis=0).tolist()):
            classes = np.full(len(people), klass, dtype=np.intp)
            yield Linear(people, classes, np.ones(len(people)), total, total, origin)


CONSTRAINT = PolicyGrowth()
