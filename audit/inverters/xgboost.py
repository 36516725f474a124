"""XGBoost: G = sum p - labels of a leaf, and its value is -eta * G / (H + lambda) (Chen & Guestrin 2016, equation 5).

A model file as ``save_model`` writes it says neither eta nor lambda. Both follow from it: see ``_xgboost_rates``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.inverters import (
    Draws,
    GrownCase,
    Inverter,
    LeafSums,
    MemberSums,
    ValueSums,
)
from treewarden.audit.inverters._bounds import (
    NumberBounds,
    exactly,
    logistic,
    rounded_by,
    softmax,
    variance,
)
from treewarden.audit.inverters._draws import NO_COUNTS, NOT_FROM_HERE, drawn, drawn_first, extremes
from treewarden.audit.inverters._newton import Squares, numbers_that_add, square_sums
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    SINGLE,
    Gathered,
    Leafs,
    MemberDerivatives,
    derivatives,
    differing,
    narrow,
    not_turned_back,
    rounds,
    value_bounds,
)
from treewarden.audit.inverters._xgboost_rates import XgboostRates, may_be, rates_of
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, FactSource
from treewarden.ppdm_models.tree.tree import Tree

LOGISTIC, SOFTMAX = ("binary:logistic",), ("multi:softprob", "multi:softmax")
SQUARED = ("reg:squarederror", "reg:linear")
ROOM = 2.0**-21
"""How far the library's own probability, in 32 bits from an exponential in 32 bits, may be off."""


CUT_BUT_TOLD = (
    "leaf values are rounded, but sums of second derivatives, gains or node weights in the "
    "file reveal the removed digits; remove them too"
)


CUT_AND_MAYBE_SAMPLED = (
    "leaf values are rounded, and the file does not show whether each round used all "
    "records; give subsample under [training] in a knowledge file, if you know it"
)


class Xgboost(Inverter):
    """Two classes by the logistic loss, several by softmax, and numbers by the squared error."""

    reads_cut = True
    says_bounds = False
    defaults = {"eta": 0.3, "lambda": 1.0, "alpha": 0.0, "max_delta_step": 0.0, "subsample": 1.0}
    number_defaults = {"eta": 0.3, "lambda": 1.0, "alpha": 0.0, "max_delta_step": 0.0}
    sampling = ("subsample", "seed")
    seed = "seed"

    def is_sampled(self, growth: EnsembleGrowth) -> bool | None:
        share = growth.fact("subsample").value
        return None if share is None else share != 1.0

    def is_of(self, growth: EnsembleGrowth, people: float) -> bool:
        first = drawn_first(growth)
        return first is None or first == people

    def seen_whole(self, growth: EnsembleGrowth, people: float) -> Mapping[str, Fact]:
        is_whole = drawn_first(growth) == people
        return {"subsample": Fact(1.0, FactSource.DERIVED)} if is_whole else {}

    def draws(self, case: GrownCase, seed: int) -> Iterator[Draws]:
        return drawn(case, seed)

    def facts(self, growth: EnsembleGrowth, trees: Sequence[Tree]) -> Mapping[str, Fact]:
        rates = rates_of(growth, trees)
        return growth.facts if isinstance(rates, Undetermined) else rates.facts

    def may_be(
        self, growth: EnsembleGrowth, trees: Sequence[Tree], stated_settings: Mapping[str, float]
    ) -> bool:
        return may_be(growth, trees, stated_settings)

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective not in (*LOGISTIC, *SOFTMAX):
            return not_turned_back("objective", growth.objective)
        rates = rates_of(growth, case.trees)
        if isinstance(rates, Undetermined):
            return rates
        if _tells_digits(growth):
            return Undetermined(CUT_BUT_TOLD)
        if self.is_sampled(growth) is None and _is_cut(growth):
            return Undetermined(CUT_AND_MAYBE_SAMPLED)
        assert growth.start is not None
        begin = np.array(growth.start)
        # The start is a logarithm taken in 32 bits.
        start = exactly(begin).wider(8 * SINGLE * (1 + np.abs(begin)))
        gathered = Gathered(case, [])
        is_logistic = growth.objective in LOGISTIC
        values = value_bounds(case)
        for scores, leaves in rounds(case, start, values):
            shares = logistic(scores, ROOM) if is_logistic else softmax(scores, ROOM)
            for leaf in leaves:
                column = NumberBounds(shares.low[:, leaf.output], shares.high[:, leaf.output])
                problem = self._tree(
                    case,
                    leaf,
                    column,
                    rates=rates,
                    gathered=gathered,
                    values=values,
                    factor=1.0 if is_logistic else 2.0,
                )
                if problem is not None:
                    return problem
        sums = gathered.sums(rates.facts, rates.said)
        if isinstance(sums, Undetermined):
            return sums
        totals = _totals(case, sums) if is_logistic and not case.is_sampled else {}
        return replace(sums, is_complete=not case.is_sampled, totals=totals)

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        growth = case.growth
        if growth.objective not in (*LOGISTIC, *SOFTMAX):
            return not_turned_back("objective", growth.objective)
        rates = rates_of(growth, case.trees)
        if isinstance(rates, Undetermined):
            return rates
        is_logistic = growth.objective in LOGISTIC
        weighs = rates.positive_weight
        if weighs != 1.0 and not (is_logistic and 0 < weighs < np.inf):
            return Undetermined("records with the second class weigh more (scale_pos_weight)")
        times = None if weighs == 1.0 else np.array([1.0, np.float32(weighs)], dtype=np.float64)
        assert growth.start is not None
        begin = np.array(growth.start)
        start = exactly(begin).wider(8 * SINGLE * (1 + np.abs(begin)))
        found: list[MemberSums] = []
        for scores, leaves in rounds(case, start):
            shares = logistic(scores, ROOM) if is_logistic else softmax(scores, ROOM)
            for leaf in leaves:
                own = NumberBounds(shares.low[:, leaf.output], shares.high[:, leaf.output])
                of_class = np.zeros(case.classes)
                of_class[1 if is_logistic else leaf.output] = 1.0
                factor = 1.0 if is_logistic else 2.0
                known = derivatives(own, of_class, factor, 4 * SINGLE, single=True)
                known = replace(known, times=times)
                found += _member_sums(case, leaf, known, rates)
        return tuple(found)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective not in SQUARED:
            return Undetermined(
                f"leaf values of the objective {growth.objective!r} are not inverted"
            )
        rates = rates_of(growth, case.trees)
        if isinstance(rates, Undetermined):
            return rates
        if rates.positive_weight != 1.0:
            return Undetermined("records with the value 1 weigh more (scale_pos_weight)")

        def step(leaves: Leafs) -> NumberBounds:
            return _gradient(leaves.values, exactly(leaves.people), rates)

        assert growth.start is not None
        begin = np.array(growth.start)
        start = exactly(begin).wider(2 * SINGLE * np.abs(begin))
        how = Squares(step, single=True, skips=False)
        return square_sums(
            case, how, start, values=None, facts=rates.facts, statements=rates.said, largest=largest
        )

    def _tree(
        self,
        case: GrownCase,
        leaves: Leafs,
        shares: NumberBounds,
        rates: XgboostRates,
        gathered: Gathered,
        values: list[NumberBounds],
        factor: float,
    ) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be had."""
        if case.is_sampled:
            return _sampled(case, leaves, shares, rates, gathered, factor)
        hessians = leaves.summed(variance(shares).times(factor), case.people)
        # Each record's second derivative is rounded to 32 bits, and then their sum is.
        hessians = hessians.wider(4 * SINGLE * hessians.high)
        published = case.growth.trees[leaves.tree].hessians
        labels = leaves.summed(shares, case.people)
        weighs = rates.positive_weight
        if weighs == 1.0:
            problem = differing(case, leaves, published, hessians, "a sum of second derivatives of")
            if problem is not None:
                return problem
        elif published is None:
            return Undetermined(
                "records of the second class weigh more, and the sums of second derivatives are withheld"
            )
        if published is not None:
            hessians = _published(published[leaves.nodes], hessians, is_weighed=weighs != 1.0)
        sums = labels + _gradient(leaves.values, hessians, rates)
        if weighs != 1.0:
            sums = _second_class(case, leaves, shares, weighs, sums, gathered)
        problem = gathered.add(leaves, 1 if factor == 1.0 else leaves.output, sums)
        if problem is None and weighs == 1.0 and _is_cut(case.growth):
            narrow(values, leaves, _values(gathered.last - labels, hessians, rates))
        return problem


def _member_sums(
    case: GrownCase, leaves: Leafs, derivative: MemberDerivatives, rates: XgboostRates
) -> list[MemberSums]:
    """Return what one tree's leaves say of those of their people who were there."""
    published = case.growth.trees[leaves.tree].hessians
    said = np.full(len(leaves.nodes), np.nan) if published is None else published[leaves.nodes]
    if not np.isnan(said).any():
        hessians = exactly(said).wider(2 * SINGLE * np.abs(said))
        gradients = _gradient(leaves.values, hessians, rates)
        return [
            derivative.curve_sums(leaves, hessians),
            derivative.gradient_sums(leaves, gradients),
        ]
    nobody = exactly(np.zeros(len(leaves.nodes)))
    ends = _gradient(leaves.values, nobody, rates)
    return [derivative.step_sums(leaves, leaves.values.times(1 / rates.eta), ends)]


def _sampled(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    rates: XgboostRates,
    gathered: Gathered,
    factor: float,
) -> Undetermined | None:
    """Take the sums of one tree's leaves over a sample of which only the sums of second derivatives are known.

    Of each leaf as many people may have been drawn as these allow.
    """
    said = case.growth.trees[leaves.tree].hessians
    if said is None or np.isnan(said[leaves.nodes]).any() or rates.positive_weight != 1.0:
        return Undetermined(NO_COUNTS)
    number_bounds = exactly(said[leaves.nodes]).wider(2 * SINGLE * np.abs(said[leaves.nodes]))
    gradients = _gradient(leaves.values, number_bounds, rates)
    each = variance(shares).times(factor)
    curves = extremes(case, leaves, each.wider(4 * SINGLE * each.high))
    labels = extremes(case, leaves, shares)
    low, high = np.zeros(len(leaves.nodes)), np.zeros(len(leaves.nodes))
    for leaf in range(len(leaves.nodes)):
        curve, label = curves.sums_of(leaf), labels.sums_of(leaf)
        room = DOUBLE * len(curve.low) * curve.high[-1]
        fits = (curve.low - room <= number_bounds.high[leaf]) & (
            number_bounds.low[leaf] <= curve.high + room
        )
        size = np.arange(len(curve.low))
        least = np.maximum(np.ceil(label.low + gradients.low[leaf]), 0.0)
        most = np.minimum(np.floor(label.high + gradients.high[leaf]), size)
        fits &= least <= most
        if not fits.any():
            return Undetermined(NOT_FROM_HERE)
        low[leaf] = least[fits].min()
        high[leaf] = (most - size)[fits].max() + leaves.members[leaf]
    output = 1 if factor == 1.0 else leaves.output
    gathered.parts.append((leaves, output, NumberBounds(low, high), high - low))
    return None


def _is_cut(growth: EnsembleGrowth) -> bool:
    """Return whether leaf values were cut to few digits."""
    return bool(rounded_by(np.concatenate([tree.values for tree in growth.trees])).any())


def _totals(case: GrownCase, sums: LeafSums) -> dict[int, tuple[int, int]]:
    """Return how many of all people have the second class, where the file says that it starts from their share.

    Where leaves leave only bounds this says more than they do.
    """
    assert case.growth.start is not None
    people, start = float(case.people.sum()), case.growth.start[0]
    is_average = case.growth.fact("boost_from_average").value == 1.0
    if case.draws is not None or not is_average or (sums.low == sums.high).all():
        return {}
    told = people / (1.0 + np.exp(-start))
    whole = round(told)
    trees = np.unique(sums.trees, return_inverse=True)[1].reshape(-1)
    fits = (np.bincount(trees, sums.low) <= whole) & (whole <= np.bincount(trees, sums.high))
    is_share = abs(told - whole) <= 4 * SINGLE * people and bool(fits.all())
    return {1: (whole, whole)} if is_share else {}


def _tells_digits(growth: EnsembleGrowth) -> bool:
    """Return whether leaf values were cut while other numbers of the file, which are made of them, were not."""
    if not _is_cut(growth):
        return False
    for tree in growth.trees:
        weights = np.nan_to_num(tree.weights if tree.weights is not None else np.zeros(1))
        own = np.nan_to_num(tree.values) if tree.weights is not None else np.zeros(1)
        if (
            tree.hessians is not None
            or tree.gains is not None
            or (weights[weights != own] != 0).any()
        ):
            return True
    return False


def _published(
    published: FloatArray, number_bounds: NumberBounds, *, is_weighed: bool
) -> NumberBounds:
    """Return the sums of second derivatives as the file has them, in 32 bits; where it has none, as they were found."""
    there = exactly(published).wider(2 * SINGLE * np.abs(published))
    told = ~np.isnan(published)
    both = there if is_weighed else there.both(number_bounds)
    return NumberBounds(
        np.where(told, both.low, number_bounds.low), np.where(told, both.high, number_bounds.high)
    )


def _gradient(values: NumberBounds, hessians: NumberBounds, rates: XgboostRates) -> NumberBounds:
    """Return -G, the labels less the probabilities: (v / eta) (H + lambda), moved away from 0 by alpha."""
    number_bounds = values.times(1 / rates.eta) * hessians.plus(rates.ridge)
    if rates.lasso:
        low = np.where(
            values.low > 0, number_bounds.low + rates.lasso, number_bounds.low - rates.lasso
        )
        high = np.where(
            values.high < 0, number_bounds.high - rates.lasso, number_bounds.high + rates.lasso
        )
        number_bounds = NumberBounds(low, high)
    if rates.clip:
        edge = rates.eta * rates.clip * (1 - 16 * SINGLE)
        number_bounds = NumberBounds(
            np.where(values.low <= -edge, -np.inf, number_bounds.low),
            np.where(values.high >= edge, np.inf, number_bounds.high),
        )
    return number_bounds


def _values(gradients: NumberBounds, hessians: NumberBounds, rates: XgboostRates) -> NumberBounds:
    """Return the values of leaves whose labels less their probabilities are known: what ``_gradient`` turns back."""
    divisor = hessians.plus(rates.ridge)
    low, high = (
        np.sign(ends) * np.maximum(np.abs(ends) - rates.lasso, 0.0)
        for ends in (gradients.low, gradients.high)
    )
    known = divisor.low > 0
    divisor = NumberBounds(np.where(known, divisor.low, 1.0), np.where(known, divisor.high, 1.0))
    number_bounds = NumberBounds(low, high).times(rates.eta).over(divisor)
    if rates.clip:
        edge = rates.eta * rates.clip
        number_bounds = NumberBounds(
            np.clip(number_bounds.low, -edge, edge), np.clip(number_bounds.high, -edge, edge)
        )
    room = 8 * SINGLE * np.maximum(np.abs(number_bounds.low), np.abs(number_bounds.high))
    return NumberBounds(
        np.where(known, number_bounds.low - room, -np.inf),
        np.where(known, number_bounds.high + room, np.inf),
    )


def _second_class(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    weighs: float,
    gradients: NumberBounds,
    gathered: Gathered,
) -> NumberBounds:
    """Return how many people have the second class, of whom each counts s - (s - 1) p in the sum of gradients.

    In that of second derivatives each counts (s - 1) p (1 - p) more than others do.
    """
    ends = (weighs - (weighs - 1) * shares.low, weighs - (weighs - 1) * shares.high)
    added = NumberBounds(np.minimum(*ends), np.maximum(*ends))
    spread = variance(shares)
    number_bounds = spread * exactly(np.full_like(spread.low, weighs - 1))
    published = case.growth.trees[leaves.tree].hessians
    given = [(added, gradients)]
    if published is not None:
        said = published[leaves.nodes]
        # A withheld sum says nothing; the library never takes a second derivative below 1e-16.
        told = ~np.isnan(said)
        there = exactly(said).wider(
            8 * SINGLE * np.abs(said) + 1e-16 * (1 + weighs) * leaves.people
        ) - leaves.summed(spread, case.people)
        given.append(
            (
                number_bounds,
                NumberBounds(
                    np.where(told, there.low, -np.inf), np.where(told, there.high, np.inf)
                ),
            )
        )
    for each, sums in given:
        gathered.weigh(leaves, 1, each, sums)
    return numbers_that_add(leaves, case.people, given)


INVERTER = Xgboost()
