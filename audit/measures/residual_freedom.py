"""Residual degrees of freedom: number of people minus number of fitted parameters.

n - p for n people in the table and p parameters. A split into b branches has b: which feature, and the b - 1 places
where its values are parted. A leaf has m - 1 for m classes, the shares that are free, or 1 where it predicts a
number. An ensemble has those of all its trees, and one more, its weight, for each tree that predicts a number. What
is withheld from the file counts all the same: it was fitted. At 0 or below, the model may hold as much as the table
does.

Output checks ask for it of regressions (ACRO, safe_dof_threshold). That of SACRO-ML for trees is the same number for
binary classification trees and for forests of them. Theirs differs for XGBoost with m > 2 classes, where a leaf holds
one number and they count m - 1; and it is not there for regression trees, where this one is. Their n is the number of
training rows, this one the number of people in the table that was given.
"""

from __future__ import annotations

import math

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Measurement, Undetermined, exactly
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.plain_splits import is_inner
from treewarden.ppdm_models.tree.tree import Task, Tree

NOT_TREES = Undetermined(
    "the model has parts that are not trees, whose fitted numbers are not counted"
)


class ResidualFreedom(Measure):
    """People less parameters; below 0 where more was fitted than there are people."""

    unit = "degrees of freedom"
    plain = "people minus fitted numbers"
    short = "people minus published numbers"
    risk = "low"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.SHAPE})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        people = float(evidence.population.counts.sum())
        if people <= 0:
            return Measurement(Undetermined("the table has no records"))
        model = evidence.model
        if isinstance(model, Ensemble) and (model.is_additive or any(model.others)):
            return Measurement(NOT_TREES)
        fitted = sum(_fitted(tree) for tree in evidence.trees)
        if evidence.forest.is_ensemble:
            fitted += sum(tree.task is Task.REGRESSION for tree in evidence.trees)
        return Measurement(exactly(people - fitted))


def _fitted(tree: Tree) -> int:
    in_leaf = 1 if tree.task is Task.REGRESSION else max(len(tree.classes) - 1, 1)
    is_leaf = ~is_inner(tree)
    return in_leaf * int(is_leaf.sum()) + len(is_leaf) - 1  # every node but the root is a branch


MEASURE = ResidualFreedom()
