"""LightGBM: a leaf's value is -eta * G / (H + lambda) (Ke et al. 2017), with G = sum p - labels in a leaf.

The start stands in the leaves of the first trees, the rate beside each tree, and the other settings behind all trees:
see ``_lightgbm_rates``.

Training does not read columns but bundles of them (``enable_bundle``, on unless it is said otherwise; see
``_lightgbm_bundles``). A record whose value a bundle hides counts in that column as having the most frequent value, so
that it may take another branch than the file says.

Labels are inverted all the same where the file says how many records each leaf has, and the table agrees. At a node
such records only move towards the branch of the most frequent value, never away from it. So if the root holds the
right records and both its branches have as many as the file's tests send there, nobody moved there, and so on down to
the leaves. Which bundles there are follows from the columns alone, not from labels, so that this holds of every
consistent table. Where counts are not published, or trees saw samples, and the columns may hide a value, whoever is not
certain stays open (``UNSEEN_BUNDLES``). Of members other bundles may be consistent with the same file, so that leaf
values are used only of files that say ``enable_bundle: 0``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from treewarden.audit.inverters import Draws, GrownCase, Inverter, LeafSums, MemberSums, ValueSums
from treewarden.audit.inverters._bounds import NumberBounds, exactly
from treewarden.audit.inverters._draws import (
    NO_COUNTS,
    NOT_FROM_HERE,
    SHARES,
    add_sampled,
    bagged,
    extremes,
    is_bagged,
    is_from_sample,
)
from treewarden.audit.inverters._lightgbm_rates import (
    LOGISTIC,
    NO_SETTINGS,
    SOFTMAX,
    LightgbmRates,
    either,
    printed,
    rates_of,
)
from treewarden.audit.inverters._lightgbm_start import (
    ClassWeighing,
    averaged,
    beside_steps,
    leaf_values,
    started,
    started_by_counts,
)
from treewarden.audit.inverters._lightgbm_truncated import cut_of, is_cut, with_ridge
from treewarden.audit.inverters._newton import Squares, square_sums
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    SINGLE,
    ClassTotals,
    Gathered,
    Leafs,
    MemberDerivatives,
    column,
    counted_members,
    differing,
    leaves_in,
    narrow,
    not_turned_back,
    record_sums,
    rounding,
    rounds,
    unreached,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth

FREQUENT = 0.7
"""From such a share on the most frequent value of a column may be another than 0."""
LARGEST_ZERO = 2e-35
SHARED_BY = 10_000
"""One in so many records may have rare values in both columns of a bundle."""
MOST_COUNTED = 200_000
"""Of more records a sample is counted (``bin_construct_sample_cnt``): then one in ``SHARED_BY_SAMPLE`` may."""
SHARED_BY_SAMPLE = 100
BINNING = ("max_bin", "min_data_in_bin")
"""The settings that say which values are one to LightGBM."""


@dataclass(frozen=True, slots=True, eq=False)
class _RareValues:
    """The records, by profile, that may have a rare value of a column, (P,), and the least number of them.

    ``is_counted`` says that LightGBM counts them rightly: then they all have a rare value.
    """

    records: BoolArray
    least: float
    is_counted: bool


def may_hide(
    columns: Mapping[str, Column], people: FloatArray, names: Sequence[str], growth: EnsembleGrowth
) -> bool:
    """Whether a bundle of these columns, by profile of so many ``people`` (P,), may hide a value of a record."""
    if any(name not in columns for name in names):
        return True
    total = float(people.sum())
    rare = list(_rare_values(columns, people, names, growth))
    return any(_may_share(first, second, people, total) for first, second in combinations(rare, 2))


def _rare_values(
    columns: Mapping[str, Column], people: FloatArray, names: Sequence[str], growth: EnsembleGrowth
) -> Iterator[_RareValues]:
    """Yield the rare values of each column."""
    total, everybody = float(people.sum()), np.ones(len(people), dtype=bool)
    max_bin, least_in_bin = (growth.fact(name).value for name in BINNING)
    for name in names:
        column = columns[name]
        if not isinstance(column, NumericColumn):
            most = float(np.bincount(column.codes + 1, people).max())
            yield _RareValues(everybody, total - most, is_counted=False)
            continue
        is_zero = np.abs(column.numbers) <= LARGEST_ZERO
        of = np.unique(column.numbers[~is_zero], return_inverse=True)[1].reshape(-1)
        most = float(np.bincount(of, people[~is_zero], 1).max()) if len(of) else 0.0
        if max_bin is None or least_in_bin is None or max_bin < 3:
            most = total
        else:  # a bin ends once it has enough records, so that it may hold so many beside its last value
            most = min(total, most + least_in_bin + 2 * np.ceil(total / max_bin))
        zeros = float(people[is_zero].sum())
        if most < FREQUENT * total:
            yield _RareValues(~is_zero, total - zeros, is_counted=not column.missing.any())
        else:
            yield _RareValues(everybody, total - max(most, zeros), is_counted=False)


def _may_share(first: _RareValues, second: _RareValues, people: FloatArray, total: float) -> bool:
    """Whether two columns may be in one bundle, and a record have a rare value in both."""
    divisor = SHARED_BY if total <= MOST_COUNTED else SHARED_BY_SAMPLE
    allowed = total // divisor
    if total <= MOST_COUNTED and first.least + second.least > total + allowed:
        return False
    both = float(people[first.records & second.records].sum())
    if first.is_counted and second.is_counted:
        return 0 < both <= allowed
    return both > 0


NO_HESSIANS = (
    "steps were limited (lambda_l1, max_delta_step) and sums of second derivatives are "
    "missing, so the training table cannot be confirmed"
)


BUNDLED = (
    "LightGBM trains on bundles of features, in which records may take another branch than the file says, so its "
    "counts and leaf values are not used for membership; with enable_bundle=false they are"
)
UNSEEN_BUNDLES = (
    "LightGBM trains on bundles of features (enable_bundle), and the numbers in the file do not show whether all "
    "records took the branches that it says; train with enable_bundle=false to decide it"
)
SQUARED = ("regression", "regression_l2", "l2", "mean_squared_error", "mse")
TRANSFORMED = "the model was trained on the square root of what it predicts (reg_sqrt)"
CLIPPED = "steps were limited (max_delta_step)"


class Lightgbm(Inverter):
    """Two classes by the logistic loss; several by softmax, or each against the rest; numbers by the squared error."""

    number_defaults = {"lambda_l2": 0.0, "lambda_l1": 0.0, "max_delta_step": 0.0, "cat_l2": 10.0}

    reads_cut = True
    sampling = (*SHARES, "bagging_freq", "bagging_seed")
    seed = "bagging_seed"
    default_seed = 3

    def is_sampled(self, growth: EnsembleGrowth) -> bool | None:
        return is_bagged(growth)

    def is_cut(self, case: GrownCase) -> bool:
        rates = rates_of(case)
        if isinstance(rates, Undetermined) or case.growth.objective not in (*LOGISTIC, *SOFTMAX):
            return is_cut(case.growth)
        return cut_of(case, rates) is not None

    def beside_steps(self, case: GrownCase) -> FloatArray | Undetermined:
        rates = rates_of(case)
        return rates if isinstance(rates, Undetermined) else beside_steps(case, rates)

    def draws(self, case: GrownCase, seed: int) -> Iterator[Draws]:
        found = bagged(case, seed)
        if found is not None:
            yield Draws(found)

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective not in (*LOGISTIC, *SOFTMAX):
            return not_turned_back("objective", growth.objective)
        rates = rates_of(case)
        if isinstance(rates, Undetermined):
            return rates
        cut = cut_of(case, rates)
        if isinstance(cut, Undetermined):
            return cut
        # Of whole values a wrong setting fits no sum; of values that were cut it may.
        if cut is not None and any(
            growth.fact(name).value is None for name in self.number_defaults
        ):
            return Undetermined(NO_SETTINGS)
        if growth.fact("lambda_l2").value is None:
            rates = with_ridge(case, rates)
            if isinstance(rates, Undetermined):
                return rates
        found = started(case, rates) if cut is None else (cut.start, cut.values)
        if isinstance(found, Undetermined):
            return found
        start, values = found
        gathered, totals = Gathered(case, []), _totals(case, start, rates)
        if cut is not None:
            totals.ends |= {each: (float(n), float(n)) for each, n in cut.people.items()}
        for scores, leaves in rounds(case, start, values):
            shares = rates.shares(scores)
            for leaf in leaves:
                own = column(shares, leaf.output)
                number_bounds = None if cut is None else values
                problem = self._tree(
                    case,
                    leaf,
                    own,
                    rates=rates,
                    gathered=gathered,
                    totals=totals,
                    cut=number_bounds,
                )
                if problem is not None:
                    return problem
        sums = gathered.sums(rates.facts)
        if isinstance(sums, Undetermined):
            return sums
        if _may_misread(case):
            sums = replace(sums, is_complete=False, missing=UNSEEN_BUNDLES)
        is_drawn = case.is_sampled or case.draws is not None
        if not (is_drawn or cut is not None):
            return sums
        if sums.missing:
            return replace(sums, totals=totals.whole(growth.outputs))
        return replace(sums, is_complete=not case.is_sampled, totals=totals.whole(growth.outputs))

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        growth = case.growth
        if _has_bundles(case):
            return Undetermined(BUNDLED)
        if growth.objective not in (*LOGISTIC, *SOFTMAX):
            return counted_members(case)
        rates = rates_of(case)
        if isinstance(rates, Undetermined) or growth.fact("lambda_l2").value is None:
            return counted_members(case)
        is_weighed = ClassWeighing.of_growth(growth) is not None
        if is_weighed and growth.objective != LOGISTIC[0]:
            return counted_members(case)
        found = started_by_counts(case, rates)
        if isinstance(found, Undetermined):
            return counted_members(case)
        start, values, times = found
        sums: list[MemberSums] = []
        for scores, leaves in rounds(case, start, values):
            shares = rates.shares(scores)
            for leaf in leaves:
                of_class = np.zeros(case.classes)
                of_class[1 if growth.outputs == 1 else leaf.output] = 1.0
                own = column(shares, leaf.output)
                sums += _member_sums(case, leaf, own, of_class, rates=rates, times=times)
        return tuple(sums)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective not in SQUARED:
            return Undetermined(
                f"leaf values of the objective {growth.objective!r} are not inverted"
            )
        if growth.fact("sqrt").value is not None:
            return Undetermined(TRANSFORMED)
        rates = rates_of(case)
        if isinstance(rates, Undetermined):
            return rates
        if growth.fact("lambda_l2").value is None:
            return Undetermined(NO_SETTINGS)
        if rates.clip:
            return Undetermined(CLIPPED)
        found = _mean_start(case, rates, largest)
        if isinstance(found, Undetermined):
            return found
        start, values = found

        def step(leaves: Leafs) -> NumberBounds:
            one, other = (
                rates.step(leaves.values, exactly(leaves.people), ridge)
                for ridge in rates.ridges(case, leaves)
            )
            return NumberBounds(np.minimum(one.low, other.low), np.maximum(one.high, other.high))

        how = Squares(step, single=True)
        return square_sums(
            case, how, start, values=values, facts=dict(rates.facts), statements=(), largest=largest
        )

    def _tree(
        self,
        case: GrownCase,
        leaves: Leafs,
        shares: NumberBounds,
        rates: LightgbmRates,
        gathered: Gathered,
        totals: ClassTotals,
        cut: list[NumberBounds] | None,
    ) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be had. Values that were ``cut`` are narrowed."""
        tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
        problem = unreached(case, leaves) or differing(
            case, leaves, tree.counts, exactly(leaves.people), "a number of records"
        )
        if problem is not None:
            return problem
        if len(tree.values) == 1:  # what stands in a tree without a split is no step
            return None
        if case.is_sampled:
            return _sampled(case, leaves, shares, rates, gathered, totals)
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
        ridges = rates.ridges(case, leaves)
        steps = [rates.step(leaves.values, hessians, ridge) for ridge in ridges]
        sums = either(*(labels + step for step in steps), people=leaves.people)
        problem = gathered.add(leaves, 1 if case.growth.outputs == 1 else leaves.output, sums)
        if problem is None and cut is not None:
            narrow(cut, leaves, rates.values(gathered.last - labels, hessians, ridges))
        return problem or totals.differing(leaves, sums)


def _has_bundles(case: GrownCase) -> bool:
    """Whether training may have read several columns as one."""
    return len(case.trees[0].features) > 1 and case.growth.fact("enable_bundle").value != 0.0


def _may_misread(case: GrownCase) -> bool:
    """Whether a record may have taken another branch in training though all numbers of the file are the table's."""
    if not _has_bundles(case):
        return False
    is_counted = all(
        tree.counts is not None and not np.isnan(tree.counts[tree.is_leaf]).any()
        for tree in case.growth.trees
        if len(tree.values) > 1
    )
    if is_counted and not case.is_sampled and case.draws is None:
        return False
    names = [feature.name for feature in case.trees[0].features]
    return case.columns is None or may_hide(case.columns, case.people, names, case.growth)


def _member_sums(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    of_class: FloatArray,
    rates: LightgbmRates,
    times: FloatArray | None,
) -> list[MemberSums]:
    """Return what one tree's leaves say of those of their people who were there."""
    counted = record_sums(case, leaves)
    found = [] if counted is None else [counted]
    tree = case.growth.trees[leaves.tree]
    if len(tree.values) == 1:  # what stands in a tree without a split is no step
        return found
    known = MemberDerivatives(
        shares.wider(1.25 * SINGLE), rates.hessian(shares), of_class, times=times
    )
    ridges = rates.ridges(case, leaves)
    if tree.hessians is None or np.isnan(tree.hessians[leaves.nodes]).any():
        if rates.clip or rates.lasso.high[0]:
            return found
        # In a leaf with the step w a member adds label - p - w h, and all of them together w lambda.
        moved = leaves.values.over(rates.eta).over(rates.sigmoid)
        total = _spanning(moved * ridge for ridge in ridges)
        return [*found, known.step_sums(leaves, moved, total)]
    told = tree.hessians[leaves.nodes]
    hessians = exactly(told).wider(printed(told) + 4 * DOUBLE * told)
    total = _spanning(rates.step(leaves.values, hessians, ridge) for ridge in ridges)
    return [*found, known.curve_sums(leaves, hessians), known.gradient_sums(leaves, total)]


def _spanning(several: Iterator[NumberBounds]) -> NumberBounds:
    """Return the ends between which all of several numbers lie, whichever is the right one."""
    ends = list(several)
    return NumberBounds(
        np.minimum.reduce([one.low for one in ends]), np.maximum.reduce([one.high for one in ends])
    )


def _totals(case: GrownCase, start: NumberBounds, rates: LightgbmRates) -> ClassTotals:
    """Return the numbers of people with each class that the start says; samples do not, and it is of all people."""
    totals, everybody = ClassTotals(), float(case.people.sum())
    if not case.is_sampled and case.draws is None:
        return totals
    shares, room = rates.shares(NumberBounds(start.low[None, :], start.high[None, :])), 2.0**-40
    for output in np.flatnonzero((start.low > 0) | (start.high < 0)).tolist():
        low, high = (everybody * float(ends[0, output]) for ends in (shares.low, shares.high))
        totals.ends[output] = low - room * everybody, high + room * everybody
    return totals


def _sampled(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    rates: LightgbmRates,
    gathered: Gathered,
    totals: ClassTotals,
) -> Undetermined | None:
    """Take the sums of one tree's leaves over a sample of their people that nobody knows."""
    tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
    if tree.hessians is None or tree.counts is None or np.isnan(tree.hessians[leaves.nodes]).any():
        return Undetermined(NO_COUNTS)
    drawn = leaves.people
    if not is_from_sample(leaves, drawn):
        return Undetermined(NOT_FROM_HERE)
    possible = extremes(case, leaves, rates.hessian(shares)).at(drawn)
    possible = possible.wider(DOUBLE * everybody**2 * float(rates.sigmoid.high[0]) ** 2)
    said = tree.hessians[leaves.nodes]
    number_bounds = exactly(said).wider(printed(said) + 4 * SINGLE * said).both(possible)
    if (number_bounds.low > number_bounds.high).any():
        return Undetermined(NOT_FROM_HERE)
    labels = extremes(case, leaves, shares).at(drawn).wider(rounding(drawn, everybody))
    steps = (
        labels + rates.step(leaves.values, number_bounds, ridge)
        for ridge in rates.ridges(case, leaves)
    )
    sums = either(*steps, people=drawn)
    output = 1 if case.growth.outputs == 1 else leaves.output
    return add_sampled(gathered, leaves, output, sums, drawn) or totals.differing(leaves, sums)


def _mean_start(
    case: GrownCase, rates: LightgbmRates, largest: float
) -> tuple[NumberBounds, list[NumberBounds]] | Undetermined:
    """Return the mean that the model starts from, shape (1,), and the values of each tree's leaves without it.

    All residuals about the mean together are 0, so that the first tree's values (start + step), weighed with
    m + lambda, have the start as their mean, but for what single precision leaves of that sum. An L1 penalty would
    move each step by itself.
    """
    values, says = leaf_values(case), averaged(case, rates)
    if isinstance(says, Undetermined):
        return says
    if not says[0]:
        return exactly(np.zeros(1)), values
    leaves = leaves_in(case, 0, values[0])
    if rates.lasso.high[0]:
        return Undetermined("the start value is not known under lambda_l1")
    ends = []
    for ridge in rates.ridges(case, leaves):
        weight = exactly(leaves.people) + ridge
        low, high = weight.low[:, None], weight.high[:, None]
        top = NumberBounds(low[:, 0], high[:, 0]) * leaves.values
        total = NumberBounds(np.array([top.low.sum()]), np.array([top.high.sum()]))
        all_weight = NumberBounds(np.array([low.sum()]), np.array([high.sum()]))
        room = 8 * DOUBLE * len(leaves.people) * (np.abs(top.low).sum() + np.abs(top.high).sum())
        ends.append(total.wider(room).over(all_weight))
    one, other = ends
    start = NumberBounds(np.minimum(one.low, other.low), np.maximum(one.high, other.high))
    start = start.wider(4 * SINGLE * 2 * largest)
    values[0] = values[0] - start
    return start, values


INVERTER = Lightgbm()
