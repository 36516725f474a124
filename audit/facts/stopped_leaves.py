"""Leaves that scikit-learn could have split by its settings of depth and size, and how much a split might have gained.

The rules are those of ``sklearn/tree/_tree.pyx``: a node that is not pure is split where it is above the greatest
depth, has enough records and some allowed split, unless its best split lowers the impurity by too little, others are
better and the number of leaves is limited, or it was pruned. Without these three, a leaf that could be split is pure.

The rows say of each leaf that was not split that it is pure, or that no allowed split gains enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.facts.class_facts import LeafFacts, leaf_facts
from treewarden.audit.facts.grower import (
    Grower,
    grower,
    incomplete_records,
    most_people_per_row,
)
from treewarden.audit.facts.impurity_rows import branch_impurity, by_bin, candidate_branches
from treewarden.audit.facts.node_candidates import Listing, compared_at, listing_of
from treewarden.audit.facts.rows import (
    TRUTH_TOLERANCE_SHARE,
    Case,
    Grouping,
    LeafMass,
    LeftOut,
    Linear,
    Origin,
    Row,
    SplitFamily,
    WholeRecords,
    branch_of_bins,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Node, Stopping

BITS = math.log(2)


def settings_in_force(case: Case) -> tuple[str, ...]:
    """Return the settings, in words, that may have stopped a node though it was not pure and could be split."""
    stopping = case.tree.learner.stopping
    if stopping is None:
        return ()
    if case.tree.learner.tool is Tool.RPART:
        return (f"cp = {stopping.pruning_alpha:g}",)
    if case.tree.learner.tool is Tool.SPARK:
        return (
            f"minInfoGain = {stopping.min_impurity_decrease:g}, and leaves of one label are merged",
        )
    named = []
    if stopping.min_impurity_decrease > 0:
        named.append(f"min_impurity_decrease = {stopping.min_impurity_decrease:g}")
    if stopping.max_leaves is not None and (
        stopping.pruning_alpha > 0 or case.tree.leaf_count >= stopping.max_leaves
    ):
        named.append(f"max_leaf_nodes = {stopping.max_leaves}")
    if stopping.pruning_alpha > 0:
        named.append(f"ccp_alpha = {stopping.pruning_alpha:g}")
    return tuple(named)


def counted_masses(case: Case) -> FloatArray | None:
    """Return how many people of each class each leaf has, (N, m), where that is known of all; else None."""
    found = np.zeros((len(case.tree.nodes), len(case.tree.classes)))
    for facts in leaf_facts(case):
        masses = np.array([np.nan if mass is None else mass for mass in facts.masses], dtype=float)
        unknown = np.isnan(masses)
        rest = facts.records - masses[~unknown].sum()
        if unknown.sum() > 1 and rest > 0:
            return None
        masses[unknown] = rest
        if (masses != np.rint(masses)).any() or not facts.node.is_leaf:
            return None
        found[facts.node.index] = masses
    return found


def is_of_people(case: Case) -> bool:
    """Whether the learner saw the records of the table, one each, and all of them stop in leaves."""
    stops = np.unique(case.population.leaf)
    inside = all(case.tree.nodes[stop].is_leaf for stop in stops.tolist())
    is_plain = case.population.weight is None and case.tree.has_people
    return inside and is_plain and not incomplete_records(case).any()


@dataclass(frozen=True)
class StoppedLeaves:
    """The leaves of a case that could have been split by depth and size."""

    case: Case
    stopping: Stopping
    by: Grower
    listing: Listing

    @classmethod
    def from_case(cls, case: Case) -> StoppedLeaves:
        """Return the leaves of a case whose learner's settings are known."""
        stopping, by = case.tree.learner.stopping, grower(case)
        assert stopping is not None
        by = replace(by, smallest=math.ceil(max(by.smallest, by.surely)))
        return cls(case, stopping, by, listing_of(case))

    def splittable(self) -> Iterator[LeafFacts]:
        """Yield the leaves that are above the greatest depth and have enough records."""
        depth = _depths(self.case)
        asked = self.stopping.min_split_records * most_people_per_row(self.case.population)
        fewest = max(asked, 2 * self.by.smallest)
        for facts in leaf_facts(self.case):
            index = facts.node.index
            people = float(self.case.population.counts[self.case.members.stops(index)].sum())
            deepest = self.stopping.max_depth
            if (
                facts.node.is_leaf
                and people >= fewest
                and (deepest is None or depth[index] < deepest)
            ):
                yield facts

    def candidates(self, node: Node) -> Iterator[SplitFamily | LeftOut]:
        """Yield what could have split a leaf, as far as the adversary knows the columns."""
        criterion = self.case.tree.learner.criterion or Criterion.GINI
        return compared_at(self.case, node, self.listing, self.by, criterion)


def _depths(case: Case) -> IntArray:
    parents = parents_of(case.tree.nodes)
    depth = np.zeros(len(parents), dtype=np.int64)
    for index in range(1, len(parents)):
        depth[index] = depth[parents[index]] + 1
    return depth


def decrease(criterion: Criterion, parts: FloatArray, records: float) -> FloatArray:
    """Return by how much splits lower the impurity, as scikit-learn says it, from masses (..., branches, m).

    It is of all ``records``; entropy is in bits.
    """
    before = branch_impurity(criterion, parts.sum(axis=-2))
    after = branch_impurity(criterion, parts).sum(axis=-1)
    unit = BITS if criterion is Criterion.ENTROPY else 1.0
    return np.asarray((before - after) / (records * unit))


def most_of_best_first(case: Case, masses: FloatArray, criterion: Criterion) -> FloatArray | None:
    """Return what the best split of each leaf may gain at most where the number of leaves is limited, (N,).

    A node is split while no leaf that waits gains more. scikit-learn numbers both children of a node when it splits it,
    so that the names of nodes tell the order; None where they are no such numbers.
    """
    parents, order = parents_of(case.tree.nodes), _order(case)
    if order is None:
        return None
    inner = np.flatnonzero(order >= 0)
    totals = masses.copy()
    for index in range(len(parents) - 1, 0, -1):
        totals[parents[index]] += totals[index]
    gains = np.full(len(inner) + 1, np.inf)
    for node in inner.tolist():
        parts = totals[list(case.tree.nodes[node].children)]
        gains[order[node]] = decrease(criterion, parts, float(totals[0].sum()))
    # What waits since step s is no better than all that was split from step s + 1 on.
    later = np.minimum.accumulate(gains[::-1])[::-1]
    most = np.full(len(parents), np.inf)
    for index in range(1, len(parents)):
        most[index] = later[order[parents[index]] + 1]
    return most


def _order(case: Case) -> IntArray | None:
    """Return at which step each inner node was split, -1 for leaves; None where names of nodes do not tell it."""
    nodes = case.tree.nodes
    names = [node.name for node in nodes]
    if not all(name.isascii() and name.isdigit() and len(name) < 10 for name in names):
        return None
    numbers = np.array([int(name) for name in names])
    if numbers[0] != 0 or not np.array_equal(np.sort(numbers), np.arange(len(nodes))):
        return None
    order = np.full(len(nodes), -1, dtype=np.int64)
    for node in nodes:
        if node.is_leaf:
            continue
        children = sorted(numbers[list(node.children)].tolist())
        if len(children) != 2 or children[0] % 2 == 0 or children[1] != children[0] + 1:
            return None
        order[node.index] = children[0] // 2
        if node.parent is not None and order[node.parent] >= order[node.index]:
            return None
    return order


# Rows that no candidate at a leaf gains more than a known amount, where the leaf's class counts are known.
#
# With two classes what a split gains is convex in the count of the first class on its left, so that this is an
# interval. With more classes, or too many candidates, all is left out.

MOST_CELLS = 200_000
"""The most cells of rows, or counts that are tried, at one leaf; beyond that all is left open there."""
SLACK = 1e-9
"""How far the learner's floating point may be from what is computed here, in decrease of impurity."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """No split of ``records`` people in all, of which a leaf has ``masses`` (m,), gains more than ``most``."""

    masses: FloatArray
    most: float
    records: float


def unsplit_rows(
    case: Case,
    node: Node,
    candidates: tuple[SplitFamily | LeftOut, ...],
    masses: FloatArray,
    most: float,
    records: float,
    why: str,
) -> Iterator[WholeRecords | LeftOut]:
    """Yield that no candidate at a leaf gains more than ``most``; what may have been compared is left out."""
    bound = _Bound(masses, most, records)
    families = [each for each in candidates if isinstance(each, SplitFamily)]
    cells = sum(
        len(split_family.admissible) * (len(split_family.profiles) + masses.sum())
        for split_family in families
    )
    is_plain = all(split_family.grouping is Grouping.THRESHOLD for split_family in families)
    if cells > MOST_CELLS or not is_plain or len(families) < len(candidates) or len(masses) != 2:
        yield LeftOut(node.index, "", why, is_open=True)
        return
    said = f"{case.tree.where(node)} was not split, so that no split gains more than {most:.6g}"
    origin = Origin("stopped_leaf", said, node.index)
    narrow = []
    for family in families:
        counts = case.population.counts[family.profiles]
        for code in family.admissible.tolist():
            on_left = branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins] == 0
            count = _reachable(float(counts[on_left].sum()), masses)
            gains = _gains(family, count, float(counts[on_left].sum()), bound)
            wide, strict = gains <= most + SLACK, gains <= most - SLACK
            if wide.all() and strict.all():
                continue
            here = family.profiles[on_left]
            if not strict.any():
                yield LeftOut(node.index, "", why, is_open=True)
                return
            if not wide.all():
                yield WholeRecords(_row(here, count, wide, origin))
            if (strict != wide).any():
                narrow.append(_row(here, count, strict, origin))
    if narrow:
        yield LeftOut(node.index, "", why, lines=tuple(narrow))


def gains_more(
    case: Case, candidates: tuple[SplitFamily | LeftOut, ...], most: float, records: float
) -> bool:
    """Whether a candidate that was compared gains more than ``most`` in the true table, as far as that is known."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    families = (each for each in candidates if isinstance(each, SplitFamily))
    gains = (
        decrease(family.criterion, candidate_branches(family, by_bin(family, truth)), records)
        for family in families
    )
    return any(gain.max() > most + SLACK for gain in gains)


def _reachable(left: float, masses: FloatArray) -> FloatArray:
    """Return the counts of the first class that so many people on the left can have."""
    least = max(0.0, left - masses[1])
    return np.arange(least, min(left, masses[0]) + 1)


def _gains(family: SplitFamily, count: FloatArray, left: float, bound: _Bound) -> FloatArray:
    one = np.stack([count, left - count], axis=1)
    parts = np.stack([one, bound.masses - one], axis=1)
    return decrease(family.criterion, parts, bound.records)


def _row(profiles: IndexArray, count: FloatArray, allowed: BoolArray, origin: Origin) -> Linear:
    low, high = count[allowed][[0, -1]].tolist()
    classes, ones = np.zeros(len(profiles), dtype=np.intp), np.ones(len(profiles))
    return Linear(profiles, classes, ones, low, high, origin)


WHY = "why leaves were not split ({}), which is not modelled here"
REFUTED = "why leaves were not split, as {} would not have stopped some of them in the true table"


def unsplit_leaf_rows(case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
    """Yield what the settings of a known learner prove of leaves that were not split, and what is left out of that."""
    masses, settings = counted_masses(case), settings_in_force(case)
    if masses is not None and not settings:
        return  # whether a leaf is pure is known, and nothing else stopped one
    others, is_plain = case.tree.learner.unmodelled, is_of_people(case)
    if others or not is_plain:
        named = (*settings, *others) or ("the settings of scikit-learn",)
        yield LeftOut(0, "", WHY.format(", ".join(named)), is_open=True)
    elif masses is None and settings:
        yield LeftOut(0, "", WHY.format(", ".join(settings)), is_open=True)
    elif masses is None:
        yield from _pure_leaves(case)
    else:
        yield from _weak_splits(case, masses, settings)


def _pure_leaves(case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
    """Yield that every leaf that could be split is pure; with parts of the columns, only where leaves of one count."""
    leaves = StoppedLeaves.from_case(case)
    is_sure = case.tree.learner.all_features or leaves.by.smallest <= 1
    found = [facts for facts in leaves.splittable() if any(leaves.candidates(facts.node))]
    if any(_is_mixed(case, facts) for facts in found):
        return
    for facts in found:
        if facts.label is None or facts.masses[facts.label] is not None:
            continue
        here, index = case.members.stops(facts.node.index), facts.node.index
        people = float(case.population.counts[here].sum())
        said = f"{case.tree.where(facts.node)} could be split and was not, so that it is pure"
        origin, classes = Origin("stopped_leaf", said, index), np.full(len(here), facts.label)
        line = Linear(here, classes.astype(np.intp), np.ones(len(here)), people, people, origin)
        known = is_sure and any(
            isinstance(each, SplitFamily) for each in leaves.candidates(facts.node)
        )
        if not known:
            yield LeftOut(index, "", "that leaves which could be split are pure", lines=(line,))
        elif not case.knowledge.split.is_criterion:
            yield WholeRecords(line)
        else:
            yield LeafMass(index, facts.label, people, people, origin)


def _is_mixed(case: Case, facts: LeafFacts) -> bool:
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    classes = truth[case.members.stops(facts.node.index)].sum(axis=0)
    return int((classes > 0).sum()) > 1


def _weak_splits(
    case: Case, masses: FloatArray, settings: tuple[str, ...]
) -> Iterator[WholeRecords | LeftOut]:
    """Yield, of leaves with known counts, that no split gains more than the settings allow; else what is left out."""
    learner, leaves = case.tree.learner, StoppedLeaves.from_case(case)
    stopping, records = leaves.stopping, float(masses.sum())
    is_sklearn = learner.tool is Tool.SCIKIT_LEARN
    criterion = learner.criterion or (None if is_sklearn else Criterion.GINI)
    why = WHY.format(", ".join(settings))
    is_limited = any("max_leaf_nodes" in setting for setting in settings)
    most: FloatArray | None = np.full(len(masses), stopping.min_impurity_decrease)
    if criterion is None or (is_limited and stopping.pruning_alpha > 0):
        yield LeftOut(0, "", why, is_open=True)  # pruned leaves counted when the tree was full
        return
    if is_limited:
        most = most_of_best_first(case, masses, criterion)
    for facts in leaves.splittable():
        index = facts.node.index
        everything = np.diag(masses[index])[None]
        greatest = float(decrease(criterion, everything, records)[0])
        least = stopping.pruning_alpha or (0.0 if most is None else float(most[index]))
        if not is_sklearn:
            least = 0.0  # rpart prunes by errors, and Spark by labels
        if greatest <= least * (1 - TRUTH_TOLERANCE_SHARE) or not any(
            leaves.candidates(facts.node)
        ):
            continue  # pure, or no split gains as much
        is_modelled = is_sklearn and learner.all_features
        if stopping.pruning_alpha > 0 or most is None or not is_modelled:
            yield LeftOut(index, "", why, is_open=True)
            continue
        found = tuple(leaves.candidates(facts.node))
        if gains_more(case, found, least, records):
            yield LeftOut(0, "", REFUTED.format(", ".join(settings)), is_open=True)
            return
        yield from unsplit_rows(
            case, facts.node, found, masses=masses[index], most=least, records=records, why=why
        )
