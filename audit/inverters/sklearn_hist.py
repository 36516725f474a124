"""scikit-learn's HistGradientBoosting: leaf values are -eta * G / (H + l2), of gradients that are kept in 32 bits.

See ``sklearn/ensemble/_hist_gradient_boosting/splitting.pyx``, ``compute_node_value``. Second derivatives are p (1 - p)
for two classes and for several.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters import GrownCase, Inverter, LeafSums, MemberSums, ValueSums
from treewarden.audit.inverters._bounds import NumberBounds, exactly
from treewarden.audit.inverters._newton import (
    NewtonSteps,
    Squares,
    newton_members,
    newton_sums,
    square_sums,
)
from treewarden.audit.inverters._rounds import DOUBLE, Leafs, not_turned_back
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth


class SklearnHist(Inverter):
    """Two classes by the logistic loss, several by softmax, numbers by the squared error: the file says all."""

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_sums(case, steps)

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_members(case, steps)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective != "squared_error":
            return Undetermined(f"leaf values of the loss {growth.objective!r} are not inverted")
        told = _settings(growth)
        if isinstance(told, Undetermined):
            return told
        rate, ridge = told

        def step(leaves: Leafs) -> NumberBounds:
            return leaves.values.times(1 / rate) * exactly(leaves.people).plus(ridge)

        assert growth.start is not None
        begin = np.array(growth.start)
        start = exactly(begin).wider(4 * DOUBLE * np.abs(begin))
        how = Squares(step, single=True)
        return square_sums(
            case, how, start, values=None, facts=dict(growth.facts), statements=(), largest=largest
        )


def _steps(case: GrownCase) -> NewtonSteps | Undetermined:
    """Return how leaf values of classes were made."""
    growth = case.growth
    if growth.objective != "log_loss" or case.classes < 2:
        return not_turned_back("loss", growth.objective)
    told = _settings(growth)
    return told if isinstance(told, Undetermined) else NewtonSteps(*told, single=True)


def _settings(growth: EnsembleGrowth) -> tuple[float, float] | Undetermined:
    """Return eta and l2, as the file says them."""
    eta, ridge = growth.fact("learning_rate").value, growth.fact("l2_regularization").value
    if eta is None or ridge is None or not eta > 0 or not ridge >= 0:
        return Undetermined("the file withholds learning_rate or l2_regularization")
    return eta, ridge


INVERTER = SklearnHist()
