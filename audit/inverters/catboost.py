"""CatBoost: leaf values are eta times one step or several, Newton's or gradient steps, over all records.

See ``catboost/private/libs/algo/approx_calcer.cpp``, ``CalcLeafValuesSimple``: whatever records the splits were chosen
on (bootstrap, MVS, ordered boosting), leaves are estimated on all of them. Where there are several steps, one that does
not make the loss fall is taken by half (``gradient_walker.h``), for all leaves of a tree alike: see ``_walks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase, Inverter, LeafSums, MemberSums, ValueSums
from treewarden.audit.inverters._bounds import NumberBounds, exactly, logistic, softmax, variance
from treewarden.audit.inverters._newton import Squares, gradient_step, newton_step, square_sums
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
    not_turned_back,
    rounds,
    unreached,
)
from treewarden.audit.inverters._walks import (
    MOST_SCORE,
    LeafScores,
    StepRule,
    backtracked,
    fitting,
    whole_sums,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.ensemble import Fact

ROOM = 2.0**-42
"""How far off the library's own exponential may be, relatively: one is taken in each round, and all are multiplied."""
MOST_STEPS, MOST_HALVED = 100, 10
NO_SETTINGS = (
    "the file does not contain valid values of learning_rate, l2_leaf_reg and leaf_estimation_*; give them "
    "under [training] in a knowledge file"
)
HALVED = (
    f"leaves were estimated in more than {MOST_HALVED} steps (leaf_estimation_iterations) "
    "that may have been halved (leaf_estimation_backtracking): too many possibilities to "
    "try"
)
NO_WAY = (
    "no class counts give the leaf values of tree {tree}: the model was trained on another "
    "table, with weights, or with unpublished settings"
)
JOINT = (
    "leaves were estimated in several steps (leaf_estimation_iterations) for all classes "
    "at once. This cannot be inverted"
)
MOVED = "the model's start scores were changed after the training"
HALVED_NUMBERS = (
    "leaves were estimated in several steps (leaf_estimation_iterations) that may have "
    "been halved (leaf_estimation_backtracking)"
)
TOO_LARGE = (
    "scores before tree {tree} are so large that the library's exponentials may have "
    "become infinite or 0"
)
NO_AVERAGE = (
    "the model's start value is not a class share of this table: it belongs to another "
    "table, or to weighted records"
)


@dataclass(frozen=True, slots=True)
class CatboostSteps:
    """How leaves were estimated: by so many steps, any of which may be ``halved`` where the loss does not fall."""

    eta: float
    rule: StepRule
    count: int
    halved: bool


class CatBoost(Inverter):
    """Two classes by the logistic loss, several by softmax, numbers by the squared error."""

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective == "MultiClass" and case.classes == growth.outputs > 1:
            return _class_sums(case)
        if growth.objective != "Logloss" or case.classes != 2:
            return not_turned_back("loss", growth.objective)
        steps = _steps(growth.facts)
        if isinstance(steps, Undetermined):
            return steps
        assert growth.start is not None
        begin = np.array(growth.start)
        gathered, totals = Gathered(case, []), ClassTotals()
        start = exactly(begin).wider(16 * DOUBLE * (1 + np.abs(begin)))
        if begin.any() and not _starts_whole(case, start, totals):
            return Undetermined(NO_AVERAGE)
        for before, (scores, (leaves,)) in enumerate(rounds(case, start)):
            if not _are_small(scores):
                return Undetermined(TOO_LARGE.format(tree=before + 1))
            room = ROOM * (before + 1)
            number_bounds = column(scores, 0)
            problem = self._tree(
                case,
                leaves,
                number_bounds,
                room=room,
                steps=steps,
                gathered=gathered,
                totals=totals,
            )
            if problem is not None:
                return problem
        return gathered.sums(dict(growth.facts))

    def _tree(
        self,
        case: GrownCase,
        leaves: Leafs,
        scores: NumberBounds,
        room: float,
        steps: CatboostSteps,
        gathered: Gathered,
        totals: ClassTotals,
    ) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be had."""
        problem = _other_people(case, leaves)
        if problem is not None or len(case.growth.trees[leaves.tree].values) == 1:
            return problem
        one = _one_step if steps.count == 1 else _several_steps
        sums = one(case, leaves, scores, room, steps)
        if isinstance(sums, Undetermined):
            return sums
        return gathered.add(leaves, 1, sums) or totals.differing(leaves, sums)

    def members(self, case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
        counted = counted_members(case)
        if isinstance(counted, Undetermined):
            return counted
        return counted + _step_members(case)

    def numbers(self, case: GrownCase, largest: float) -> ValueSums | Undetermined:
        growth = case.growth
        if growth.objective != "RMSE":
            return not_turned_back("loss", growth.objective)
        steps = _steps(growth.facts)
        if isinstance(steps, Undetermined):
            return steps
        if steps.halved:
            return Undetermined(HALVED_NUMBERS)
        ridge = steps.rule.ridge

        def step(leaves: Leafs) -> NumberBounds:
            """Each step leaves l2 / (m + l2) of what was left over: by Newton or gradients alike."""
            divisor = exactly(leaves.people).plus(ridge)
            if steps.count == 1:
                return leaves.values.times(1 / steps.eta) * divisor
            number_bounds = exactly(np.full(len(leaves.people), ridge)).over(divisor)
            left = exactly(np.ones(len(leaves.people)))
            for _ in range(steps.count):
                left = left * number_bounds
            done = exactly(np.ones(len(leaves.people))) - left
            return (leaves.values.times(1 / steps.eta) * exactly(leaves.people)).over(done)

        assert growth.start is not None
        return square_sums(
            case,
            Squares(step, single_labels=True, count=steps.count),
            exactly(np.array(growth.start)),
            values=None,
            facts=dict(growth.facts),
            statements=(),
            largest=largest,
        )


def _step_members(case: GrownCase) -> tuple[MemberSums, ...]:
    """Return what leaf values say of members where they are one step; nothing where they are several.

    With its leaf's step w a member adds label - p - w h, and all of them together w l2; h is p (1 - p), or 1.
    """
    growth = case.growth
    steps = _steps(growth.facts)
    is_one = not isinstance(steps, Undetermined) and steps.count == 1
    if growth.objective != "Logloss" or case.classes != 2 or not is_one or growth.start is None:
        return ()
    assert isinstance(steps, CatboostSteps)
    begin, found = np.array(growth.start), []
    start = exactly(begin).wider(16 * DOUBLE * (1 + np.abs(begin)))
    for before, (scores, (leaves,)) in enumerate(rounds(case, start)):
        if not _are_small(scores):
            break
        if len(growth.trees[leaves.tree].values) == 1:
            continue
        shares = logistic(column(scores, 0), ROOM * (before + 1)).wider(8 * DOUBLE)
        curves = exactly(np.ones(len(case.people)))
        if steps.rule.is_newton:
            curves = variance(shares).wider(8 * DOUBLE)
        known = MemberDerivatives(shares, curves, np.array([0.0, 1.0]))
        moved = leaves.values.times(1 / steps.eta)
        found.append(known.step_sums(leaves, moved, moved.times(steps.rule.ridge)))
    return tuple(found)


def _are_small(scores: NumberBounds) -> bool:
    """Whether the library's exponentials of the scores, which it keeps and multiplies, are numbers above 0."""
    return bool((np.maximum(np.abs(scores.low), np.abs(scores.high)) <= MOST_SCORE).all())


def _class_sums(case: GrownCase) -> LeafSums | Undetermined:
    """Return the sums of all leaves where each tree has the numbers of all classes, which softmax joins."""
    growth = case.growth
    steps = _steps(growth.facts)
    if isinstance(steps, Undetermined):
        return steps
    if steps.count > 1:
        return Undetermined(JOINT)
    assert growth.start is not None
    begin = np.array(growth.start)
    if begin.any():
        return Undetermined(MOVED)
    gathered, totals = Gathered(case, []), ClassTotals()
    step = newton_step if steps.rule.is_newton else gradient_step
    counted = range(case.classes) if case.classes > 2 else (1,)
    for scores, leaves in rounds(case, exactly(begin)):
        problem = _other_people(case, leaves[0])
        if problem is not None:
            return problem
        if len(growth.trees[leaves[0].tree].values) == 1:
            continue
        shares = softmax(scores, ROOM)
        sums = step(leaves, shares, case.people, steps.eta, steps.rule.ridge)
        for output in counted:
            problem = gathered.add(leaves[output], output, sums[output])
            problem = problem or totals.differing(leaves[output], sums[output])
            if problem is not None:
                return problem
    return gathered.sums(dict(growth.facts))


def _other_people(case: GrownCase, leaves: Leafs) -> Undetermined | None:
    """Return why the table is not that of the training, where the numbers of records are others."""
    counts = case.growth.trees[leaves.tree].counts
    return unreached(case, leaves) or differing(
        case, leaves, counts, exactly(leaves.people), "a number of records"
    )


def _steps(facts: Mapping[str, Fact]) -> CatboostSteps | Undetermined:
    """Return how leaves were estimated, as the file says, or why that is not known."""
    names = ("learning_rate", "l2_leaf_reg", "leaf_estimation_iterations", "leaf_estimation_method")
    eta, ridge, count, method = (facts[name].value if name in facts else None for name in names)
    if eta is None or ridge is None or count is None or method is None:
        return Undetermined(NO_SETTINGS)
    if not (eta > 0 and ridge >= 0 and count in range(1, MOST_STEPS + 1)):
        return Undetermined(NO_SETTINGS)
    fact = facts.get("leaf_estimation_backtracking")
    if count > 1 and (fact is None or fact.value is None):
        return Undetermined(NO_SETTINGS)
    is_halved = count > 1 and fact is not None and fact.value != 0
    if is_halved and count > MOST_HALVED:
        return Undetermined(HALVED)
    # A ridge of 0 is taken as 1e-20, so that nothing is divided by 0.
    return CatboostSteps(eta, StepRule(max(ridge, 1e-20), method == 1), int(count), is_halved)


def _starts_whole(case: GrownCase, start: NumberBounds, totals: ClassTotals) -> bool:
    """Whether the model starts from the share of a whole number of people, which is kept for the trees."""
    everybody = float(case.people.sum())
    shares = logistic(start, 2 * SINGLE)  # the share is rounded to 32 bits, its logarithm is not
    low, high = everybody * float(shares.low[0]), everybody * float(shares.high[0])
    totals.ends[0] = low, high
    return bool(np.ceil(low) <= np.floor(high))


def _one_step(
    case: GrownCase, leaves: Leafs, scores: NumberBounds, room: float, steps: CatboostSteps
) -> NumberBounds:
    """Return the labels less the probabilities by the step that was taken, and the probabilities added."""
    everybody = float(case.people.sum())
    shares = logistic(scores, room)
    rounded = 4 * DOUBLE * everybody**2
    divisor = exactly(leaves.people)
    if steps.rule.is_newton:
        divisor = leaves.summed(variance(shares), case.people).wider(rounded)
        divisor = NumberBounds(np.maximum(divisor.low, 0.0), divisor.high)
    labels = leaves.summed(shares, case.people).wider(rounded)
    return labels + leaves.values.times(1 / steps.eta) * divisor.plus(steps.rule.ridge)


def _several_steps(
    case: GrownCase, leaves: Leafs, scores: NumberBounds, room: float, steps: CatboostSteps
) -> NumberBounds | Undetermined:
    """Return the whole numbers that lead to the values by some way of taking the steps."""
    everybody = float(case.people.sum())
    moved = leaves.values.times(1 / steps.eta)
    leaf_scores = _alike(case, leaves, scores, moved, room + 4 * DOUBLE * everybody)
    ways = np.ones((1, steps.count))
    if steps.halved:
        ways = fitting(leaf_scores, steps.rule, backtracked(steps.count))
    number_bounds = NumberBounds(np.zeros(0), np.zeros(0))
    if len(ways):
        number_bounds = whole_sums(
            leaf_scores, steps.rule, NumberBounds(ways.min(axis=0), ways.max(axis=0))
        )
    if not len(ways) or (number_bounds.low > number_bounds.high).any():
        return Undetermined(NO_WAY.format(tree=leaves.tree + 1))
    return number_bounds


def _alike(
    case: GrownCase, leaves: Leafs, scores: NumberBounds, values: NumberBounds, room: float
) -> LeafScores:
    """Return the leaves with people of the same scores put together."""
    keys = np.stack((leaves.place.astype(np.float64), scores.low, scores.high), axis=1)
    groups, of = np.unique(keys, axis=0, return_inverse=True)
    weight = np.bincount(of.reshape(-1), case.people, len(groups)).astype(np.float64)
    return LeafScores(
        NumberBounds(groups[:, 1], groups[:, 2]),
        weight,
        groups[:, 0].astype(np.intp),
        values,
        leaves.people,
        room,
    )


INVERTER = CatBoost()
