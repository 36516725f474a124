"""The rates of a LightGBM model, and the losses whose leaf values are inverted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import NumberBounds, exactly, logistic, softmax, variance
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    SINGLE,
    Leafs,
    whole_between,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import Fact, derived, stated_fact
from treewarden.ppdm_models.tree.predicate import CategoryTest

LOGISTIC, SOFTMAX = ("binary", "multiclassova"), ("multiclass",)
PRINTED = 6
"""How many digits of a setting LightGBM writes, and of the numbers of inner nodes."""
ROOM = 2.0**-48
"""How far the library's own probability, in 64 bits, may be off."""

NO_SETTINGS = (
    "the file does not contain the training settings (lambda_l1, lambda_l2, max_delta_step)"
)
NOT_LIMITED = "some leaf values are larger than max_delta_step allows"
NO_RATE = "the file does not contain its learning rate"
OTHER_RATE = "its leaf values do not agree with the learning rate in the file"


@dataclass(frozen=True, slots=True)
class LightgbmRates:
    """What shrinks leaf values, each of shape (1,): ``ridge`` is lambda_l2, ``lasso`` lambda_l1; ``clip`` 0 is none.

    Where a split lists categories, ``extra`` is added to the ridge. ``factor`` is that of second derivatives.
    """

    eta: NumberBounds
    ridge: NumberBounds
    extra: NumberBounds
    lasso: NumberBounds
    clip: float
    sigmoid: NumberBounds
    factor: float
    is_softmax: bool
    shrinkage: float
    facts: dict[str, Fact]

    def shares(self, scores: NumberBounds) -> NumberBounds:
        """Return the probabilities of the outputs."""
        if self.is_softmax:
            return softmax(scores, ROOM)
        return logistic(scores * self.sigmoid, ROOM)

    def start(self, shares: FloatArray) -> NumberBounds:
        """Return the scores that give such a share of the records a class."""
        logs = np.log(shares) if self.is_softmax else np.log(shares / (1 - shares))
        return exactly(logs).wider(8 * DOUBLE * (1 + np.abs(logs))).over(self.sigmoid)

    def point(self, shares: FloatArray) -> FloatArray:
        """Return these scores as numbers: one way to compute them, by which a start is found again."""
        logs = np.log(shares) if self.is_softmax else np.log(shares / (1 - shares))
        return np.asarray(logs / ((self.sigmoid.low[0] + self.sigmoid.high[0]) / 2))

    def hessian(self, shares: NumberBounds) -> NumberBounds:
        """Return the second derivatives of records, each of which is rounded to 32 bits."""
        number_bounds = variance(shares).times(self.factor) * self.sigmoid * self.sigmoid
        return number_bounds.wider(2 * SINGLE * number_bounds.high)

    def step(
        self, values: NumberBounds, hessians: NumberBounds, ridge: NumberBounds
    ) -> NumberBounds:
        """Return the labels less the probabilities, (v / eta) (H + lambda), moved away from 0 by lambda_l1."""
        number_bounds = values.over(self.eta) * (hessians + ridge)
        most, least = float(self.lasso.high[0]), float(self.lasso.low[0])
        if most:
            number_bounds = NumberBounds(
                number_bounds.low + np.where(values.low > 0, least, -most),
                number_bounds.high - np.where(values.high < 0, least, -most),
            )
        if self.clip:
            edge = float(self.eta.low[0]) * self.clip * (1 - 10.0**-PRINTED)
            number_bounds = NumberBounds(
                np.where(values.low <= -edge, -np.inf, number_bounds.low),
                np.where(values.high >= edge, np.inf, number_bounds.high),
            )
        return number_bounds.over(self.sigmoid)

    def values(
        self, gradients: NumberBounds, hessians: NumberBounds, ridges: Sequence[NumberBounds]
    ) -> NumberBounds:
        """Return the values of leaves, (L,), whose labels less their probabilities are known: what ``step`` undoes.

        Any of the ``ridges`` may be the right one. Infinite where nothing follows.
        """
        pulled = gradients * self.sigmoid
        least, most = float(self.lasso.low[0]), float(self.lasso.high[0])
        pulled = NumberBounds(
            _toward_zero(pulled.low, np.where(pulled.low > 0, most, least)),
            _toward_zero(pulled.high, np.where(pulled.high > 0, least, most)),
        )
        low, high = np.full_like(pulled.low, np.inf), np.full_like(pulled.high, -np.inf)
        for ridge in ridges:
            divisor = hessians + ridge
            known = divisor.low > 0
            whole = NumberBounds(
                np.where(known, divisor.low, 1.0), np.where(known, divisor.high, 1.0)
            )
            number_bounds = (pulled * self.eta).over(whole)
            low = np.minimum(low, np.where(known, number_bounds.low, -np.inf))
            high = np.maximum(high, np.where(known, number_bounds.high, np.inf))
        if self.clip:
            edge = float(self.eta.high[0]) * self.clip * (1 + 10.0 ** (1 - PRINTED))
            low, high = np.clip(low, -edge, edge), np.clip(high, -edge, edge)
        return NumberBounds(low, high).wider(
            8
            * DOUBLE
            * np.maximum(
                np.abs(low), np.abs(high), where=np.isfinite(low + high), out=np.zeros_like(low)
            )
        )

    def ridges(self, case: GrownCase, leaves: Leafs) -> tuple[NumberBounds, NumberBounds]:
        """Return the two ridges that each leaf's value may have, shape (L,); they are the same where there is one.

        Below a split by several categories ``cat_l2`` is added to lambda_l2. Below one that parts a single category it
        is added unless the column has few of them, which the file does not say.
        """
        tree = case.trees[leaves.tree]
        listed = [tree.nodes[node].test for node in leaves.nodes.tolist()]
        sizes = np.array([len(t.values) if isinstance(t, CategoryTest) else 0 for t in listed])
        number_bounds = self.ridge + self.extra
        plain, larger = (
            (np.full(len(sizes), one.low[0]), np.full(len(sizes), one.high[0]))
            for one in (self.ridge, number_bounds)
        )
        first = [np.where(sizes > 1, b, a) for a, b in zip(plain, larger, strict=True)]
        second = [np.where(sizes > 0, b, a) for a, b in zip(plain, larger, strict=True)]
        return NumberBounds(*first), NumberBounds(*second)


def _toward_zero(numbers: FloatArray, by: FloatArray) -> FloatArray:
    return np.asarray(np.sign(numbers) * np.maximum(np.abs(numbers) - by, 0.0))


def rates_of(case: GrownCase) -> LightgbmRates | Undetermined:
    """Return the rates that the file says, 0 for those that it withholds; else why the learning rate is not known."""
    growth = case.growth
    later = [tree for trees in growth.rounds[1:] for tree in trees]
    said = [growth.trees[tree].rate for tree in later if len(growth.trees[tree].values) > 1]
    rate = growth.fact("learning_rate").value
    eta = next((one for one in said if one is not None), rate)
    if eta is None or not eta > 0:
        return Undetermined(NO_RATE)
    if rate is not None and abs(rate - eta) > 2 * _room(rate):
        return Undetermined(OTHER_RATE)
    names = ("lambda_l2", "lambda_l1", "max_delta_step")
    ridge, lasso, clip = (float(growth.fact(name).value or 0.0) for name in names)
    beyond = [np.abs(growth.trees[tree].values) for tree in later]
    largest = max((float(np.nanmax(each)) for each in beyond), default=0.0)
    if clip and largest > eta * clip * (1 + 10.0 ** (1 - PRINTED)):
        return Undetermined(NOT_LIMITED)
    sigmoid = growth.fact("sigmoid").value
    is_softmax = growth.objective in SOFTMAX
    outputs = growth.outputs
    return LightgbmRates(
        eta=_written(eta),
        ridge=_written(ridge),
        extra=_written(growth.fact("cat_l2").value or 0.0),
        lasso=_written(lasso),
        clip=clip,
        sigmoid=exactly(np.ones(1))
        if is_softmax or sigmoid in (None, 1.0)
        else _written(sigmoid or 1.0),
        factor=outputs / (outputs - 1) if is_softmax else 1.0,
        is_softmax=is_softmax,
        shrinkage=eta,
        facts={
            **growth.facts,
            "learning_rate": stated_fact(eta) if rate is not None else derived(eta),
        },
    )


def either(one: NumberBounds, second: NumberBounds, *, people: FloatArray) -> NumberBounds:
    """Return sums of which one of two is right: the one that holds a whole number, and what spans both if both do."""
    is_whole = [np.less_equal(*whole_between(sums, people)) for sums in (one, second)]
    only_other, both = ~is_whole[0] & is_whole[1], is_whole[0] & is_whole[1]
    low = np.where(both, np.minimum(one.low, second.low), one.low)
    high = np.where(both, np.maximum(one.high, second.high), one.high)
    return NumberBounds(
        np.where(only_other, second.low, low), np.where(only_other, second.high, high)
    )


def printed(values: FloatArray) -> FloatArray:
    """Return how far numbers with six digits or fewer may lie from what they were before they were written so."""
    short = np.array([float(f"{value:.{PRINTED}g}") == value for value in values.tolist()])
    return np.where(short, np.array([_room(value) for value in values.tolist()]), 0.0)


def _written(value: float) -> NumberBounds:
    """Return what a setting was before it was written with six digits, shape (1,)."""
    room = _room(value)
    return NumberBounds(np.array([value - room]), np.array([value + room]))


def _room(value: float) -> float:
    """Return half a unit of the last digit that is written."""
    if value == 0 or not np.isfinite(value):
        return 0.0
    return float(0.5 * 10.0 ** (np.floor(np.log10(abs(value))) - PRINTED + 1))
