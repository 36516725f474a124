"""LightGBM: a leaf's value is -eta * G / (H + lambda) (Ke et al. 2017), with G = sum p - labels in a leaf.

The start stands in the leaves of the first trees, the rate beside each tree, and the other settings behind all trees:
see ``_lightgbm_start`` and ``_lightgbm_rates``.
"""

from __future__ import annotations

from audit.inverters import GrownCase, Inverter, LeafSums
from audit.inverters._bounds import Bounds, exactly
from audit.inverters._lightgbm_rates import (
    LOGISTIC,
    SOFTMAX,
    Rates,
    either,
    printed,
    rates_of,
)
from audit.inverters._lightgbm_ridge import with_ridge
from audit.inverters._lightgbm_start import started
from audit.inverters._refusing import not_turned_back
from audit.inverters._rounds import DOUBLE, Gathered, Leafs, differing, rounding, rounds
from audit.inverters._totals import Totals, unreached
from audit.reading import Undetermined

NO_HESSIANS = (
    "steps were limited (lambda_l1, max_delta_step) and the sums of second derivatives are withheld, so nothing shows "
    "that the table is that of the training"
)


class Lightgbm(Inverter):
    """Two classes by the logistic loss; several by softmax, or each against the rest."""

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective not in (*LOGISTIC, *SOFTMAX):
            return not_turned_back("objective", growth.objective)
        rates = rates_of(case)
        if not isinstance(rates, Undetermined) and growth.fact("lambda_l2").value is None:
            rates = with_ridge(case, rates)
        if isinstance(rates, Undetermined):
            return rates
        found = started(case, rates)
        if isinstance(found, Undetermined):
            return found
        start, values = found
        gathered, totals = Gathered(case, []), Totals()
        for scores, leaves in rounds(case, start, values):
            shares = rates.shares(scores)
            for each in leaves:
                column = Bounds(shares.low[:, each.output], shares.high[:, each.output])
                problem = self._tree(case, each, column, rates, gathered, totals)
                if problem is not None:
                    return problem
        return gathered.sums(rates.facts)

    def _tree(
        self,
        case: GrownCase,
        leaves: Leafs,
        shares: Bounds,
        rates: Rates,
        gathered: Gathered,
        totals: Totals,
    ) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be had."""
        tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
        problem = unreached(case, leaves) or differing(
            case, leaves, tree.counts, exactly(leaves.people), "a number of records"
        )
        if problem is not None:
            return problem
        if len(tree.values) == 1:  # what stands in a tree without a split is no step
            return None
        hessians = leaves.summed(rates.hessian(shares), case.people)
        hessians = hessians.wider(DOUBLE * everybody**2 * float(rates.sigmoid.high[0]) ** 2)
        if tree.hessians is None and (rates.clip or rates.lasso.high[0]):
            return Undetermined(NO_HESSIANS)
        if tree.hessians is not None:
            room = printed(tree.hessians)[leaves.nodes]
            problem = differing(
                case, leaves, tree.hessians, hessians.wider(room), "a sum of second derivatives of"
            )
            if problem is not None:
                return problem
        labels = leaves.summed(shares, case.people).wider(rounding(leaves.people, everybody))
        sums = either(
            *(
                labels + rates.step(leaves.values, hessians, ridge)
                for ridge in rates.ridges(case, leaves)
            ),
            people=leaves.people,
        )
        problem = gathered.add(leaves, 1 if case.growth.outputs == 1 else leaves.output, sums)
        return problem or totals.differing(leaves, sums)


INVERTER = Lightgbm()
