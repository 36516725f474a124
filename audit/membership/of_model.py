"""Membership inference by a model of any kind, with the reason where it is left undecided.

Leaf values of boosted models give rows over a register. Their thresholds prove things of members whatever leaf values
say and whatever records the trees saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.real_rows import MOST_UNKNOWNS, RealRows, tighten
from treewarden.audit.inverters import (
    GrownCase,
    MemberSums,
    inverters,
    knowing,
    member_sums,
    taking_defaults,
)
from treewarden.audit.membership.candidates import Candidates, MembershipInference, find_candidates
from treewarden.audit.membership.cuts import (
    Buckets,
    ComparedNumbers,
    CutFact,
    CutRule,
    MemberBounds,
    MemberCut,
    find_rule,
    numeric_cuts,
    read_cut,
)
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.membership.learners import LearnerCuts, cuts_of_library
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tables.routing import SEVERAL, route
from treewarden.ppdm_models.tree.ensemble import Ensemble, EnsembleGrowth
from treewarden.ppdm_models.tree.plain_splits import is_inner
from treewarden.ppdm_models.tree.tree import Task, Tree

OF_NUMBERS = Undetermined("membership is not computed for models that predict a number")
NOISY = Undetermined("its numbers or labels are random, so they prove nobody's membership")
SAMPLED = Undetermined(
    "each tree used, or may have used, an unknown sample of the records: its counts are "
    "not numbers of people in the table"
)
NO_NAMES = Undetermined(
    "the file names no class, so its counts cannot be compared with the register"
)
SPREAD = Undetermined("people in the register who lack a value are spread over several leaves")
ELSEWHERE = Undetermined(
    "some people in the table reach no leaf, so the counts in the file differ from those "
    "of the table"
)
NO_WAY = (
    "{:,} people in the register lack a value and reach no leaf, and the file does not say "
    "where training put them; remove them from the register, or fill in their values"
)
OTHER_ORDER = Undetermined("its trees name their classes in different orders")


def infer_membership(
    forest: Forest,
    table: Population,
    register: Population,
    until: Clock,
    training: Mapping[str, float] = MappingProxyType({}),
) -> MembershipInference | Undetermined:
    """Return what a model proves of who of a register is in its table, or why that cannot be told.

    ``training`` are settings that the file may withhold and the adversary knows. Nothing is looked for after ``until``.
    """
    reason = _why_not(forest)
    if reason is not None:
        return reason
    candidates = find_candidates(table, register, forest.model.classes)
    if isinstance(candidates, Undetermined):
        return candidates
    stops = np.stack([route(tree, candidates.columns) for tree in forest.trees])
    if (stops == SEVERAL).any():
        return SPREAD
    at_leaves = [~is_inner(tree)[stop] for tree, stop in zip(forest.trees, stops, strict=True)]
    is_there: BoolArray = np.asarray(((stops >= 0) & np.stack(at_leaves)).all(axis=0))
    if candidates.members[~is_there].any():
        return ELSEWHERE
    if not is_there.all():
        return Undetermined(NO_WAY.format(int(candidates.sizes[~is_there].sum())))
    return _inferred(forest, stops, candidates, until, training)


def _inferred(
    forest: Forest,
    stops: IndexArray,
    candidates: Candidates,
    until: Clock,
    training: Mapping[str, float],
) -> MembershipInference | Undetermined:
    model = forest.model
    if not isinstance(model, Ensemble) or model.growth is None:
        return infer_members(forest.trees, stops, candidates, until)

    growth = knowing(model.growth, training)
    return infer_boosted_members(growth, forest.trees, stops, candidates, until)


def _why_not(forest: Forest) -> Undetermined | None:
    model = forest.model
    if model.task is Task.REGRESSION:
        return OF_NUMBERS
    if not model.classes:
        return NO_NAMES
    if any(tree.learner.saw_noise for tree in forest.trees):
        return NOISY
    is_counted = not isinstance(model, Ensemble) or model.growth is None
    if is_counted and any(tree.classes != model.classes for tree in forest.trees):
        return OTHER_ORDER
    if isinstance(model, Ensemble) and model.growth is None:
        is_sampled = forest.draws or model.sampling.resampled is not False
        return SAMPLED if is_sampled else None
    return None


NOT_ESTIMATED = Undetermined(
    "for people whose membership is not proved or excluded by leaf values, no probability is computed"
)
OTHER_PEOPLE = (
    "the people in the table do not have the sums of its leaves: the model was trained on "
    "other people, on a sample, or with weights"
)
OTHER_CUTS = "how its thresholds were made is not known, so what they say of members is left open"
TOO_MANY = (
    "{:,} people in the register are open by single leaf values, and combinations of leaf "
    "values are tried for at most {:,}"
)
OPEN_MEMBERS = (
    "no other set of members with the same sums was found, so people without a proof are "
    "not decided"
)


def infer_boosted_members(
    growth: EnsembleGrowth,
    trees: Sequence[Tree],
    stops: IndexArray,
    candidates: Candidates,
    until: Clock,
) -> MembershipInference | Undetermined:
    """Return what leaf values and thresholds say of who of a register is in the table.

    ``stops`` (T, G) is where groups stop.
    """
    sizes = candidates.sizes
    case = GrownCase(growth, tuple(trees), stops, sizes.astype(np.float64), len(candidates.classes))
    rows = _told_rows(case, candidates)
    cuts = known_cuts(case, candidates)
    if isinstance(rows, Undetermined) and cuts is None:
        return rows
    try:
        low, high = _tighten(rows, cuts, candidates, until)
    except ContradictionError as error:
        return Undetermined(str(error))
    inside = candidates.members.sum(axis=1)
    low, high = low[: len(sizes)], high[: len(sizes)]
    is_decided = bool((low == high).all())
    return MembershipInference(
        candidates=candidates,
        low=low,
        high=high,
        reached_low=inside,
        reached_high=inside,
        probability=low / sizes if is_decided else NOT_ESTIMATED,
        left=() if is_decided else _left_open(rows, cuts, int((low < high).sum())),
    )


def _left_open(
    rows: RealRows | Undetermined, cuts: BoostedCuts | None, still_open: int
) -> tuple[str, ...]:
    left = [OPEN_MEMBERS]
    if still_open > MOST_UNKNOWNS:
        left.append(TOO_MANY.format(still_open, MOST_UNKNOWNS))
    if isinstance(rows, Undetermined):
        left.append(rows.reason)
    if cuts is None:
        left.append(OTHER_CUTS)
    return tuple(left)


def _told_rows(case: GrownCase, candidates: Candidates) -> RealRows | Undetermined:
    """Return what leaf values say of the register; where the file is silent, by the settings of the library.

    Enclosures are narrow where scores were added up as the library usually does, and are wider where the true members
    show that they were not.
    """
    rows = _rows_of_true(case, candidates)
    taken = taking_defaults(case) if isinstance(rows, Undetermined) else None
    by_default = rows if taken is None else _rows_of_true(taken, candidates)
    return rows if isinstance(by_default, Undetermined) else by_default


def _rows_of_true(case: GrownCase, candidates: Candidates) -> RealRows | Undetermined:
    """Return rows that the true members fulfil, by the narrower enclosures if these do."""
    if case.growth.single:
        rows = _true_rows(replace(case, in_order=True), candidates)
        if isinstance(rows, RealRows):
            return rows
    return _true_rows(case, candidates)


def _tighten(
    rows: RealRows | Undetermined,
    cuts: BoostedCuts | None,
    candidates: Candidates,
    until: Clock,
) -> tuple[IntArray, IntArray]:
    """Return between which ends the unknowns lie, by all rows and cuts until neither adds anything to the other.

    Raises:
        ContradictionError: no part of the register fits.
    """
    low, high = _start(candidates)
    size = len(candidates.sizes)
    if isinstance(rows, Undetermined):
        rows = _rows((), candidates)
    seen: set[bytes] = set()
    while not until.is_over:
        before = int((high - low).sum())
        present: list[IndexArray] = []
        for fact in () if cuts is None else cuts.read(low[:size], high[:size]):
            high[fact.out] = 0
            present += [groups for groups in fact.present if groups.tobytes() not in seen]
            seen.update(groups.tobytes() for groups in fact.present)
        rows = _with_presence(rows, present)
        low, high = tighten(rows, low, high, until)
        if cuts is None or (int((high - low).sum()) == before and not present):
            break
    return low, high


def _with_presence(rows: RealRows, present: Sequence[IndexArray]) -> RealRows:
    """Return rows, and of each of some sets of groups that somebody is a member."""
    if not present:
        return rows
    owner = np.repeat(np.arange(len(present)), [len(groups) for groups in present])
    shape = (len(present), rows.matrix.shape[1])
    ones = sparse.csr_array((np.ones(len(owner)), (owner, np.concatenate(present))), shape=shape)
    none = sparse.csr_array((np.zeros(ones.nnz), ones.indices, ones.indptr), shape=shape)
    return RealRows(
        sparse.csr_array(sparse.vstack([rows.matrix, ones], format="csr")),
        sparse.csr_array(sparse.vstack([rows.spread, none], format="csr")),
        np.concatenate([rows.low, np.ones(len(present))]),
        np.concatenate([rows.high, np.full(len(present), np.inf)]),
    )


def _true_rows(case: GrownCase, candidates: Candidates) -> RealRows | Undetermined:
    """Return what leaf values say of the register, if the true members fulfil it; else why nothing is said."""
    sums = member_sums(case)
    if isinstance(sums, Undetermined):
        return sums
    if any(one.times is not None for one in sums):
        return Undetermined("records of one class weigh more (scale_pos_weight, is_unbalance)")
    rows = _rows(sums, candidates)
    is_true = rows.holds(_true_unknowns(candidates)).all()
    return rows if is_true else Undetermined(OTHER_PEOPLE)


def _start(candidates: Candidates) -> tuple[IntArray, IntArray]:
    """Return the boxes of the unknowns: the members of each group, then those who have each class but the first."""
    high = candidates.sizes.copy()
    if not candidates.is_labelled:
        high = np.tile(high, len(candidates.classes))
    return np.zeros_like(high), high


def _true_unknowns(candidates: Candidates) -> IntArray:
    inside = np.asarray(candidates.members.sum(axis=1))
    if candidates.is_labelled:
        return inside
    return np.concatenate([inside, *candidates.members[:, 1:].T])


def _rows(sums: Sequence[MemberSums], candidates: Candidates) -> RealRows:
    """Return all sums as rows over the unknowns.

    Where the register says no classes a member of the class k adds what the first class does and the difference, so
    that the unknowns are the members of a group and, of these, those with each class but the first.
    """
    size = len(candidates.sizes)
    unknowns = size if candidates.is_labelled else size * len(candidates.classes)
    parts, spreads = [sparse.csr_array((0, unknowns))], [sparse.csr_array((0, unknowns))]
    low, high = [np.zeros(0)], [np.zeros(0)]
    groups = np.arange(size)
    for one in sums:
        shape = (len(one.nodes), size)
        half = (one.each.high - one.each.low) / 2
        middle = one.each.low + half
        half = half + 4 * 2.0**-53 * (np.abs(middle) + 1)
        if candidates.class_of is not None:
            middle = middle + one.of_class[candidates.class_of]
            blocks, widths = [middle], [half]
        else:
            steps = one.of_class[1:] - one.of_class[0]
            blocks = [middle + one.of_class[0], *(np.full(size, step) for step in steps)]
            widths = [half, *(np.zeros(size) for _ in steps)]
        made = [
            [sparse.csr_array((numbers, (one.place, groups)), shape=shape) for numbers in each]
            for each in (blocks, widths)
        ]
        parts.append(sparse.hstack(made[0], format="csr"))
        spreads.append(sparse.hstack(made[1], format="csr"))
        low.append(one.total.low)
        high.append(one.total.high)
    if not candidates.is_labelled:
        matrix = _classes_within(size, len(candidates.classes))
        parts.append(matrix)
        spreads.append(
            sparse.csr_array(
                (np.zeros(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
            )
        )
        low.append(np.zeros(size))
        high.append(candidates.sizes.astype(np.float64))
    return RealRows(
        sparse.csr_array(sparse.vstack(parts, format="csr")),
        sparse.csr_array(sparse.vstack(spreads, format="csr")),
        np.concatenate(low),
        np.concatenate(high),
    )


def _classes_within(size: int, classes: int) -> sparse.csr_array:
    """Return rows of the members of each group less those with each class but the first, which are no fewer than 0."""
    one = sparse.eye_array(size, format="csr")
    return sparse.csr_array(sparse.hstack([one, *(-one for _ in range(classes - 1))], format="csr"))


@dataclass(frozen=True, slots=True, eq=False)
class BoostedCuts:
    """The different cuts of all trees over a register, and how they were made."""

    cuts: tuple[MemberCut, ...]
    rule: CutRule

    def read(self, low: IntArray, high: IntArray) -> Iterator[CutFact]:
        """Yield what cuts prove beyond bounds of the members of each group, (G,) each."""
        bounds = MemberBounds(low, high)
        # Trees may have seen samples: no leaf needs anybody. What counts say stands in rows of their own.
        nobody = Buckets(np.zeros(len(low), dtype=np.intp), np.zeros(1, dtype=np.int64))
        room = nobody.room(bounds)
        for cut in self.cuts:
            fact = read_cut(cut, bounds, nobody, room, self.rule)
            if fact is not None:
                yield fact


def known_cuts(case: GrownCase, candidates: Candidates) -> BoostedCuts | None:
    """Return the cuts of a boosted model, if it is known how they were made and the true members make them so.

    Of a node's own records nothing is known where trees saw samples of the table, or may have: where the file does not
    say it, the sum of second derivatives of the first tree's root tells how many records it saw.
    """
    members = np.asarray(candidates.members.sum(axis=1))
    inverter, growth = inverters()[case.growth.library], case.growth
    is_sampled = inverter.is_sampled(growth)
    if is_sampled is None:
        is_sampled = not inverter.seen_whole(growth, float(members.sum()))
    for learner in cuts_of_library(case.growth.library):
        if is_sampled and not learner.is_of_table:
            continue
        cuts = tuple(_different_cuts(case, candidates, learner))
        rule = find_rule(cuts, members, learner) if cuts else None
        if rule is not None:
            return BoostedCuts(cuts, rule)
    return None


def _different_cuts(
    case: GrownCase, candidates: Candidates, learner: LearnerCuts
) -> Iterator[MemberCut]:
    """Yield the cuts of all trees; those of the whole table once for each threshold."""
    seen: set[tuple[str, float]] = set()
    numbers = ComparedNumbers(candidates, learner)
    for number, tree in enumerate(case.trees):
        groups = NodeGroups(tree, case.stops[number])
        yield from numeric_cuts(tree, number, groups, numbers, seen)
