"""Who is alone in a leaf, and whether the leaf then says that person's value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.people.target import label_of
from treewarden.audit.reading import Undetermined
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
    before = _Sums(evidence)
    for index, (tree, stop) in enumerate(zip(evidence.trees, evidence.stops, strict=True)):
        inside = stop >= 0
        size = np.bincount(stop[inside], counts[inside], minlength=len(tree.nodes))
        profiles = np.flatnonzero(inside & (size[stop] == 1) & (counts == 1))
        if len(profiles):
            nodes = stop[profiles]
            told = _told(evidence, before, index, tree, profiles, nodes)
            yield Alone(index, profiles, nodes, told)
        before.add(index, tree, stop)


class _Sums:
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


def _told(
    evidence: Evidence,
    before: _Sums,
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


def _class(evidence: Evidence, before: _Sums, index: int, tree: Tree, node: Node) -> int:
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
