"""R's gbm: a leaf's value is shrinkage * G / H, written by jsonlite with fifteen digits.

See ``bernoulli.cpp`` and ``gaussian.cpp`` of gbm 2.1, ``FitBestConstant``: a leaf's value is sum w (y - p) over
sum w p (1 - p), or the mean of y - F, and the start is the log-odds or the mean of all.
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

WRITTEN = 5.1e-15
"""How far a number with fifteen significant digits may be off, relative to it."""


class Gbm(Inverter):
    """Two classes by the logistic loss, numbers by the squared error; the file says all settings."""

    sampling = ("bag.fraction",)

    def is_sampled(self, growth: EnsembleGrowth) -> bool | None:
        share = growth.fact("bag.fraction").value
        return None if share is None else share != 1.0

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_sums(case, steps)

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        steps = _steps(case)
        return steps if isinstance(steps, Undetermined) else newton_members(case, steps)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective != "gaussian":
            return Undetermined(f"leaf values of the loss {growth.objective!r} are not inverted")
        rate = _rate(growth)
        if isinstance(rate, Undetermined):
            return rate

        def step(leaves: Leafs) -> NumberBounds:
            far = np.maximum(np.abs(leaves.values.low), np.abs(leaves.values.high))
            return leaves.values.wider(WRITTEN * far).times(1 / rate) * exactly(leaves.people)

        assert growth.start is not None
        begin = np.array(growth.start)
        return square_sums(
            case,
            Squares(step),
            exactly(begin).wider((WRITTEN + 4 * DOUBLE) * np.abs(begin)),
            values=[
                bounds.wider(WRITTEN * np.abs(tree.values))
                for bounds, tree in zip(value_bounds(case), growth.trees, strict=True)
            ],
            facts=dict(growth.facts),
            statements=(),
            largest=largest,
        )


def _steps(case: GrownCase) -> NewtonSteps | Undetermined:
    """Return how leaf values of classes were made."""
    growth = case.growth
    if growth.objective != "bernoulli" or case.classes != 2:
        return not_turned_back("loss", growth.objective)
    rate = _rate(growth)
    return rate if isinstance(rate, Undetermined) else NewtonSteps(rate, written=WRITTEN)


def _rate(growth: EnsembleGrowth) -> float | Undetermined:
    """Return how much each tree was shrunk by, as the file says it."""
    rate = growth.fact("shrinkage").value
    return Undetermined("the file withholds shrinkage") if rate is None or not rate > 0 else rate


INVERTER = Gbm()
