"""What leaves of boosted models say where it is not known who was in the table: sums over those who were.

What a model said of somebody before a tree follows from the published trees alone, whoever they were grown on. So each
person of a register has a known first and second derivative, by class, and each leaf says what those of its members add
up to (Chen & Guestrin 2016, equation 5, read the other way round).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import NO_MEMBERS, GrownCase, MemberSums
from treewarden.audit.inverters._bounds import NumberBounds, exactly, variance
from treewarden.audit.inverters._rounds import DOUBLE, Leafs, leaves_in, value_bounds
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class MemberDerivatives:
    """The derivatives of one tree's output for everybody, (P,): ``shares`` less labels, and ``curves``.

    ``of_class`` (m,) is 1 for the class that the output is of.
    """

    shares: NumberBounds
    curves: NumberBounds
    of_class: FloatArray

    def curve_sums(self, leaves: Leafs, total: NumberBounds) -> MemberSums:
        """Return the sums of second derivatives, which are the same whatever the class."""
        return self._sums(leaves, self.curves, np.zeros_like(self.of_class), total)

    def gradient_sums(self, leaves: Leafs, total: NumberBounds) -> MemberSums:
        """Return the sums of labels less probabilities, where these are told."""
        return self._sums(leaves, self._negative_shares, self.of_class, total)

    def step_sums(self, leaves: Leafs, steps: NumberBounds, total: NumberBounds) -> MemberSums:
        """Return the sums of labels less probabilities less the leaf's step, (L,), times the second derivative.

        That is what a leaf's value says where its sum of second derivatives is withheld.
        """
        each = self._negative_shares - steps.at(leaves.place) * self.curves
        return self._sums(leaves, each, self.of_class, total)

    @property
    def _negative_shares(self) -> NumberBounds:
        return NumberBounds(-self.shares.high, -self.shares.low)

    def _sums(
        self, leaves: Leafs, numbers: NumberBounds, of_class: FloatArray, total: NumberBounds
    ) -> MemberSums:
        # A library's additions in 64 bits round too.
        total = total.wider(4 * DOUBLE * (1 + leaves.people.sum()) ** 2)
        return MemberSums(leaves.tree, leaves.nodes, leaves.place, numbers, of_class, total)


def derivatives(
    shares: NumberBounds, of_class: FloatArray, factor: float, rounding: float
) -> MemberDerivatives:
    """Return them by the probabilities before the tree; second derivatives are rounded by so much of their size."""
    curves = variance(shares).times(factor)
    return MemberDerivatives(shares, curves.wider(rounding * curves.high), of_class)


def counted_members(case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
    """Return what the numbers of records of all leaves say, where the file has them."""
    values = value_bounds(case)
    found = [
        record_sums(case, leaves_in(case, tree, values[tree])) for tree in range(len(case.trees))
    ]
    told = tuple(sums for sums in found if sums is not None)
    return told or Undetermined(NO_MEMBERS)


def record_sums(case: GrownCase, leaves: Leafs) -> MemberSums | None:
    """Return how many members the leaves of a tree have, as the file counts them; None where it does not."""
    counts = case.growth.trees[leaves.tree].counts
    if counts is None or np.isnan(counts[leaves.nodes]).any():
        return None
    everybody = exactly(np.ones(len(case.people)))
    total = exactly(counts[leaves.nodes])
    return MemberSums(
        leaves.tree, leaves.nodes, leaves.place, everybody, np.zeros(case.classes), total
    )
