"""Who is alone in a leaf, and whether the leaf then says that person's value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.class_facts import LeafFacts, leaf_facts
from treewarden.audit.facts.rows import Case
from treewarden.audit.population.target import label_of, members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import LeafKnowledge, closed_form, complete
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Shrinkage
from treewarden.ppdm_models.tree.tree import Node, Task, Tree

SUMS = (Combination.SUM, Combination.WEIGHTED_SUM)
SINGLE_PRECISION = 2e-6
"""How far a number in a file may be from the one it stands for, relative to it: what 32 bits lose."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The people who are alone in a leaf of one tree: profiles and nodes, shape (K,) each.

    ``told`` says of whom the leaf's number or label is provably the true value.
    """

    tree: int
    profiles: IndexArray
    nodes: IndexArray
    told: BoolArray


def alone(evidence: Evidence) -> Iterator[Alone]:
    """Yield the people who are alone in a leaf, tree by tree."""
    counts = evidence.population.counts
    before = _EarlierTrees(evidence)
    for index, (tree, stop) in enumerate(zip(evidence.trees, evidence.stops, strict=True)):
        inside = stop >= 0
        size = np.bincount(stop[inside], counts[inside], minlength=len(tree.nodes))
        profiles = np.flatnonzero(inside & (size[stop] == 1) & (counts == 1))
        if len(profiles):
            nodes = stop[profiles]
            told = _disclosed_people(evidence, before, index, tree, profiles, nodes)
            yield Alone(index, profiles, nodes, told)
        before.add(index, tree, stop)


class _EarlierTrees:
    """What the trees before one add up to, per profile: NaN where their sum is not known.

    Only a flat sum of numbers that are the prediction itself is added up.
    """

    def __init__(self, evidence: Evidence) -> None:
        ensemble = evidence.model if isinstance(evidence.model, Ensemble) else None
        self.members = members_of(ensemble, evidence.trees)
        adds = (
            ensemble is not None
            and self.members is not None
            and ensemble.combination in SUMS
            and ensemble.task is Task.REGRESSION
            and ensemble.link is Link.IDENTITY
            and len(ensemble.base) <= 1
        )
        base = ensemble.base[0] if ensemble is not None and ensemble.base else 0.0
        self.total = np.full(len(evidence.population.counts), base if adds else np.nan)

    def weight(self, index: int) -> float:
        return 1.0 if self.members is None else self.members[index].weight

    def add(self, index: int, tree: Tree, stop: IndexArray) -> None:
        if np.isnan(self.total).all():
            return
        scores = np.array([number_of(node) for node in tree.nodes] + [np.nan])
        self.total = self.total + self.weight(index) * scores[np.where(stop < 0, -1, stop)]


def members_of(ensemble: Ensemble | None, trees: tuple[Tree, ...]) -> tuple[Member, ...] | None:
    """Return the member that each tree is, or None where trees are nested more deeply."""
    if ensemble is None or len(ensemble.members) != len(trees):
        return None
    pairs = zip(ensemble.members, trees, strict=True)
    return ensemble.members if all(member.model is tree for member, tree in pairs) else None


def number_of(node: Node) -> float:
    """Return the number that a node of a regression tree adds; NaN where it is none, or several."""
    if node.outputs is not None:
        return node.outputs[0] if len(node.outputs) == 1 else np.nan
    return float(node.score) if isinstance(node.score, int | float) else np.nan


def _disclosed_people(
    evidence: Evidence,
    before: _EarlierTrees,
    index: int,
    tree: Tree,
    profiles: IndexArray,
    nodes: IndexArray,
) -> BoolArray:
    """Return of whom the leaf says the true value, as far as the table can tell."""
    people = evidence.population
    there = [tree.nodes[node] for node in nodes]
    if not isinstance(people.truth, Undetermined):
        said = np.array([_class(evidence, before, index, tree, node) for node in there])
        return np.asarray(said == people.truth[profiles].argmax(axis=1))
    if isinstance(people.values, Undetermined) or tree.task is not Task.REGRESSION:
        return np.zeros(len(profiles), dtype=bool)
    numbers = np.array([number_of(node) for node in there])
    targets = people.values[profiles]
    ensemble = evidence.model if isinstance(evidence.model, Ensemble) else None
    if ensemble is None or ensemble.combination not in SUMS:
        return _same(numbers, targets, targets)
    left = targets - before.total[profiles]
    weighted = before.weight(index) * numbers
    told = _same(numbers, left, targets) | _same(weighted, left, targets)
    if ensemble.shrinkage is not None and before.weight(index) == 1.0:
        weight = np.ones(len(profiles)) if people.weight is None else people.weight[profiles]
        whole = _unshrunk(ensemble.shrinkage, index, tree, numbers, weight)
        told = told | _same(whole, left, targets)
    return np.asarray(told)


def _unshrunk(
    how: Shrinkage, index: int, tree: Tree, numbers: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return what the trees before left over of one record each, and in the first tree what the model starts from.

    ``weight`` is the sampling weight of each record.
    """
    start = _start(how, tree) if how.starts_inside and index == 0 else 0.0
    return start + (numbers - start) * (weight + how.ridge) / (weight * how.rate)


def _start(how: Shrinkage, tree: Tree) -> float:
    """Return the mean that the leaves of the first tree hold; NaN where they do not tell their records.

    All residuals together are 0, and each leaf tells its own: (number - start) * (records + ridge) / rate.
    """
    if not tree.has_people or any(leaf.records is None for leaf in tree.leaves):
        return np.nan
    sizes = np.array([leaf.records or 0.0 for leaf in tree.leaves]) + how.ridge
    values = np.array([number_of(leaf) for leaf in tree.leaves])
    return float(sizes @ values / sizes.sum()) if sizes.sum() else np.nan


def _class(evidence: Evidence, before: _EarlierTrees, index: int, tree: Tree, node: Node) -> int:
    """Return the class that a leaf with one record tells; -1 where it tells none."""
    if tree.task is Task.CLASSIFICATION:
        code = label_of(tree, node)
        name = None if code is None else tree.classes[code]
        return evidence.classes.index(name) if name in evidence.classes else -1
    ensemble = evidence.model if isinstance(evidence.model, Ensemble) else None
    number = number_of(node)
    if ensemble is None or ensemble.combination not in SUMS or np.isnan(number) or not number:
        return -1
    output = None if before.members is None else before.members[index].output
    if len(ensemble.classes) == 2:
        return int(number > 0) if output in (None, 1) else int(number < 0)
    return output if output is not None and number > 0 else -1


def _same(numbers: FloatArray, others: FloatArray, size: FloatArray) -> BoolArray:
    with np.errstate(invalid="ignore"):
        near = np.abs(numbers - others) <= SINGLE_PRECISION * np.maximum(1.0, np.abs(size))
    return np.asarray(near)


# What a leaf says of a class without one of its records, that is, what the other records tell.

ONE_TREE = Undetermined("computed for single trees only, not for several trees together")
NO_LEAVES = Undetermined("where people stop in the tree is not known")
WEIGHED_PARTS = Undetermined("with sampling weights, this needs the class counts of every leaf")

Ends = tuple[FloatArray, FloatArray]
"""The low and the high end of a share per profile and class, (P, m) each."""


@dataclass(frozen=True, slots=True)
class Others:
    """What the leaf of each profile says of each class: of all who stop there, and of the others than one such record.

    ``inferred`` is what the adversary makes of the others at the level of knowledge they have. ``counted`` is
    the share by the owner's counts of all who stop there, and ``gains`` by how much it exceeds that of the others.
    Under sampling weights the ends are those of people and of weights. Cells that no record is in mean nothing.
    """

    inferred: Ends
    counted: FloatArray
    gains: Ends


def others(evidence: Evidence) -> Others | Undetermined:
    """Return what every leaf says without one of its records; one that is then empty asks its nearest ancestor."""
    tree, population, truth = evidence.model, evidence.population, evidence.truth
    if not isinstance(tree, Tree):
        return ONE_TREE
    if isinstance(truth, Undetermined):
        return truth
    leaf, weight = population.leaf, population.weight
    if (leaf < 0).any():
        return NO_LEAVES
    case = Case(tree, population, members(tree, leaf), evidence.knowledge)
    found = leaf_facts(case)
    facts = {each.node.index: each for each in found}
    knows_counts = all(None not in fact.masses for fact in facts.values())
    if weight is not None and not knows_counts:
        return WEIGHED_PARTS
    here = _stopping(tree, leaf, truth)
    asked = _nearest_shared_node(tree, here)
    everyone, without = _shares(tree, here, leaf, asked, np.ones(len(leaf)))
    if weight is not None:
        sums = _stopping(tree, leaf, truth * weight[:, None])
        heavy, lighter = _shares(tree, sums, leaf, asked, weight)
        return Others(_ends(without, lighter), everyone, _ends(everyone - without, heavy - lighter))
    inferred = without.copy()
    for node, each in facts.items():
        if None in each.masses:
            stops = case.members.stops(node)
            inferred[stops] = _inferred(each, here[node], without[stops[0]])
    return Others((inferred, inferred), everyone, _ends(everyone - without, everyone - without))


def _ends(first: FloatArray, second: FloatArray) -> Ends:
    return np.minimum(first, second), np.maximum(first, second)


def _stopping(tree: Tree, leaf: IndexArray, mass: FloatArray) -> FloatArray:
    """Return the class masses of those who stop at each node, (N, m)."""
    here = np.zeros((len(tree.nodes), mass.shape[1]))
    np.add.at(here, leaf, mass)
    return here


def _passing(tree: Tree, here: FloatArray) -> FloatArray:
    """Return the class masses of those who stop at each node or below it, (N, m)."""
    below = here.copy()
    for node in reversed(tree.nodes):
        if node.parent is not None:
            below[node.parent] += below[node.index]
    return below


def _nearest_shared_node(tree: Tree, here: FloatArray) -> IndexArray:
    """Return, per node where one person stops alone, the nearest node above that others pass; else -1, shape (N,)."""
    people = _passing(tree, here).sum(axis=1)
    asked = np.full(len(people), -1, dtype=np.intp)
    for index in np.flatnonzero(here.sum(axis=1) == 1).tolist():
        above = tree.nodes[index]
        while above.parent is not None and people[above.index] <= 1:
            above = tree.nodes[above.parent]
        asked[index] = above.index
    return asked


def _shares(
    tree: Tree, here: FloatArray, leaf: IndexArray, groups: IndexArray, one: FloatArray
) -> Ends:
    """Return each class's share where a profile stops, (P, m): of all, and of the others than one record of it.

    ``one`` is what a record of each profile counts. Nobody else at all says nothing: all classes are equally likely.
    """
    group = np.where((groups >= 0)[:, None], _passing(tree, here)[groups], here)[leaf]
    total = here[leaf].sum(axis=1, keepdims=True)
    everyone = np.divide(here[leaf], total, out=np.zeros_like(group), where=total > 0)
    rest = group.sum(axis=1, keepdims=True) - one[:, None]
    is_anybody = rest > 1e-9 * one[:, None]  # what sums of weights lose
    equal = np.full_like(group, 1 / group.shape[1])
    without = np.divide(group - one[:, None], rest, out=equal, where=is_anybody)
    return everyone, np.clip(without, 0.0, 1.0)


def _inferred(facts: LeafFacts, counts: FloatArray, fallback: FloatArray) -> FloatArray:
    """Return what is inferred of each class from a leaf of which not every count is known, less one of that class.

    Of a leaf that is then empty nothing is published, and its ancestor may say as little: the less of the two counts.
    """
    m = len(counts)
    if counts.sum() == 1:
        return np.minimum(fallback, 1 / m)
    said = {k for k, mass in enumerate(facts.masses) if mass is not None}
    said |= {k for k, band in enumerate(facts.bands) if band is not None}
    inferred = np.zeros(m)
    silent: FloatArray | None = None
    for klass in np.flatnonzero(counts).tolist():
        if klass in said:
            inferred[klass] = _less_one(facts, counts, klass)[klass]
            continue
        if silent is None:  # of classes that nothing is said of, each leaves the same behind
            silent = _less_one(facts, counts, klass)
        inferred[klass] = silent[klass]
    return inferred


def _less_one(facts: LeafFacts, counts: FloatArray, klass: int) -> FloatArray:
    """Return the share of each class (m,) that is inferred from a leaf with one record of a class less.

    A band that the count leaves is taken to be followed by one as wide.
    """
    rest, records = counts.copy(), float(counts.sum()) - 1
    rest[klass] -= 1
    low, high = np.zeros(len(counts)), np.full(len(counts), records)
    named = np.zeros(len(counts), dtype=bool)
    for each, mass in enumerate(facts.masses):
        if mass is not None:
            low[each] = high[each] = rest[each]
            named[each] = True
    for each, band in enumerate(facts.bands):
        if band is not None and not named[each]:
            bottom, top = band
            if rest[each] < bottom:
                bottom, top = bottom - (top - bottom) - 1, bottom - 1
            low[each], high[each] = max(bottom, 0.0), min(max(top, 0.0), records)
    complete(low, high, records)
    leaf = LeafKnowledge(
        node=facts.node.index,
        records=records,
        low=low,
        high=high,
        label=None,
        margin=0.0,
        named=named,
    )
    return closed_form(leaf)
