"""Spark's boosted trees: a leaf's value is the average of its records' residuals, and the file holds their sum too.

See ``GradientBoostedTrees.scala`` and ``LogLoss.scala``: labels y are -1 and 1, the first tree is grown on them, and
each later one on r = 4 y / (1 + exp(2 y F)). With s = 1 / (1 + exp(-2 F)) that is 4 (1 - s) where y is 1 and -4 s where
it is -1, so that the number of labels 1 is the sum of r / 4 plus the sum of s. Where a number is predicted
(``SquaredError.scala``) r = 2 (y - F), but for the first tree, which is grown on y itself.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters import GrownCase, Inverter, LeafSums, MemberSums, ValueSums
from treewarden.audit.inverters._bounds import NumberBounds, exactly, logistic, rounded_by
from treewarden.audit.inverters._newton import Squares, square_sums
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    ClassTotals,
    Gathered,
    Leafs,
    counted_members,
    differing,
    not_turned_back,
    rounds,
    unreached,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import GrownTree

ROOM = 2.0**-46
"""How far the library's own probability, in 64 bits, may be off."""
TWO_SUMS = "tree {tree} has a leaf whose value and sum of residuals contradict each other: one of them was changed"
NO_WEIGHT = "a tree has a weight of 0 or less, so its values are not those of the training"


class Spark(Inverter):
    """Two classes by the logistic loss, numbers by the squared error; the file says all settings."""

    reads_cut = True  # sums of residuals stand beside the values, and both are used

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective != "logistic" or case.classes != 2:
            return not_turned_back("loss", growth.objective)
        if not _counts(case):
            return Undetermined(NO_WEIGHT)
        gathered, totals = Gathered(case, []), ClassTotals()
        sums = [np.zeros(0) if tree.weights is None else tree.weights for tree in growth.trees]
        cut = np.split(rounded_by(np.concatenate(sums)), np.cumsum([len(each) for each in sums]))
        for scores, (leaves,) in rounds(case, exactly(np.zeros(1))):
            shares = logistic(NumberBounds(scores.low[:, 0], scores.high[:, 0]), ROOM)
            problem = self._tree(case, leaves, shares, cut[leaves.tree], gathered, totals)
            if problem is not None:
                return problem
        return gathered.sums(dict(growth.facts))

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        return counted_members(case)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective != "squared":
            return not_turned_back("loss", growth.objective)
        if not _counts(case):
            return Undetermined(NO_WEIGHT)

        def step(leaves: Leafs) -> NumberBounds:
            rate = growth.trees[leaves.tree].rate
            assert rate is not None
            part = 1.0 if leaves.tree == 0 else 0.5
            return leaves.values.times(part / rate) * exactly(leaves.people)

        how = Squares(step, spread=_spread)
        return square_sums(
            case,
            how,
            exactly(np.zeros(1)),
            values=None,
            facts=dict(growth.facts),
            statements=(),
            largest=largest,
        )

    def _tree(
        self,
        case: GrownCase,
        leaves: Leafs,
        shares: NumberBounds,
        cut: FloatArray,
        gathered: Gathered,
        totals: ClassTotals,
    ) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be had."""
        tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
        problem = unreached(case, leaves) or differing(
            case, leaves, tree.counts, exactly(leaves.people), "a number of records"
        )
        if problem is not None:
            return problem
        room = 64 * DOUBLE * everybody * (everybody + 1000)
        residuals = _residuals(case, leaves, cut, room)
        if (residuals.low > residuals.high).any():
            return Undetermined(TWO_SUMS.format(tree=leaves.tree + 1))
        is_first = leaves.tree == 0
        chances = leaves.summed(shares, case.people)
        sums = residuals.times(0.5 if is_first else 0.25) + chances
        if len(tree.values) == 1:  # it tells nobody apart
            return totals.differing(leaves, sums)
        if tree.second is not None and not is_first:
            squares = exactly(tree.second[leaves.nodes]).wider(4 * room)
            _weigh_squares(case, leaves, shares, squares.times(1 / 16), gathered)
        return gathered.add(leaves, 1, sums) or totals.differing(leaves, sums)


def _counts(case: GrownCase) -> bool:
    """Whether each tree counts something in the model."""
    return all(tree.rate is not None and tree.rate > 0 for tree in case.growth.trees)


def _spread(number: int, tree: GrownTree) -> FloatArray | None:
    """Return the mean square of y - F about its mean, by node, from the sums of r and of r^2."""
    if tree.second is None or tree.weights is None or tree.counts is None:
        return None
    people = np.maximum(tree.counts, 1.0)
    variance = tree.second / people - (tree.weights / people) ** 2
    return np.asarray(variance * (1.0 if number == 0 else 0.25))


def _weigh_squares(
    case: GrownCase, leaves: Leafs, shares: NumberBounds, squares: NumberBounds, gathered: Gathered
) -> None:
    """Take what sums of squares (r / 4)^2 say: whoever has the label 1 adds 1 - 2 s to the sum of s^2."""
    number_bounds = squares - leaves.summed(shares * shares, case.people)
    gathered.weigh(leaves, 1, NumberBounds(1 - 2 * shares.high, 1 - 2 * shares.low), number_bounds)


def _residuals(case: GrownCase, leaves: Leafs, cut: FloatArray, room: float) -> NumberBounds:
    """Return the sums of residuals, of labels in the first tree, by the leaf values and as the file says them."""
    tree = case.growth.trees[leaves.tree]
    assert tree.rate is not None
    number_bounds = (exactly(leaves.people) * leaves.values.times(1 / tree.rate)).wider(room)
    if tree.weights is None:
        return number_bounds
    there = tree.weights[leaves.nodes]
    return number_bounds.both(
        exactly(there).wider(cut[leaves.nodes] + 8 * DOUBLE * np.abs(there) + room)
    )


INVERTER = Spark()
