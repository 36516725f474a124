"""scikit-learn's GradientBoosting: a leaf's value is G / H, which is shrunk only when it is added.

See ``sklearn/ensemble/_gb.py``, ``_update_terminal_regions``. With K classes G is multiplied by (K - 1) / K.
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
from treewarden.audit.inverters._rounds import DOUBLE, Leafs, not_turned_back, value_bounds
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth

LOGARITHMIC = ("log_loss", "deviance")
"""The logistic loss, and what it was called before scikit-learn 1.1."""
SQUARED = ("squared_error", "ls")
"""The squared error, and what it was called before scikit-learn 1.0."""


class SklearnBoosting(Inverter):
    """Two classes by the logistic loss, several by softmax, numbers by the squared error: the file says all."""

    sampling = ("subsample",)

    def is_sampled(self, growth: EnsembleGrowth) -> bool | None:
        return growth.fact("subsample").value not in (None, 1.0)

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_sums(case, steps)

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_members(case, steps)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective not in SQUARED:
            return Undetermined(f"leaf values of the loss {growth.objective!r} are not inverted")
        rate = _eta(growth)
        if isinstance(rate, Undetermined):
            return rate

        def step(leaves: Leafs) -> NumberBounds:
            return leaves.values.times(1 / rate) * exactly(leaves.people)

        assert growth.start is not None
        has_spread = any(tree.second is not None for tree in growth.trees)
        begin = np.array(growth.start)
        return square_sums(
            case,
            Squares(step, spread=(lambda _, tree: tree.second) if has_spread else None),
            exactly(begin).wider(4 * DOUBLE * np.abs(begin)),
            values=[number_bounds.times(rate) for number_bounds in value_bounds(case)],
            facts=dict(growth.facts),
            statements=(),
            largest=largest,
        )


def _steps(case: GrownCase) -> NewtonSteps | Undetermined:
    """Return how leaf values of classes were made."""
    growth = case.growth
    if growth.objective not in LOGARITHMIC or case.classes < 2:
        return not_turned_back("loss", growth.objective)
    eta = _eta(growth)
    if isinstance(eta, Undetermined):
        return eta
    outputs = growth.outputs
    assert growth.start is not None
    return NewtonSteps(
        eta,
        factor=outputs / (outputs - 1) if outputs > 1 else 1.0,
        unshrunk=True,
        squares=True,
        is_average=any(growth.start),  # a start of 0 may have been asked for
    )


def _eta(growth: EnsembleGrowth) -> float | Undetermined:
    """Return how much each tree was shrunk by, as the file says it."""
    eta = growth.fact("learning_rate").value
    return Undetermined("the file withholds learning_rate") if eta is None or not eta > 0 else eta


INVERTER = SklearnBoosting()
