"""The rows of a case once more, straight from the papers' definitions: what the product's answers are judged by.

Shares no arithmetic with the product: members of a node come from the tree's parents, candidates from the values at the
node, impurities from shares. ``mass`` has shape (P, m), records per profile and class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.judges.estimate.cases import Sample, matching
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Node

SURE = 1e-10
"""A row that the truth misses by less than this is kept by every implementation."""


@dataclass(frozen=True)
class LinearRow:
    """``low <= sum(weights * mass) <= high``, with the records it speaks of."""

    weights: np.ndarray
    low: float
    high: float
    records: float
    name: str

    def broken(self, mass: np.ndarray) -> float:
        """Return by how much the row is broken, as a share of its records."""
        total = float((self.weights * mass).sum())
        return max(self.low - total, total - self.high, 0.0) / self.records


@dataclass(frozen=True)
class SplitRow:
    """At a node, the chosen split is no worse than another; ``chosen`` and ``other`` (K,) are branches."""

    inside: np.ndarray
    chosen: np.ndarray
    other: np.ndarray
    criterion: str
    name: str

    def gap(self, mass: np.ndarray) -> tuple[float, np.ndarray]:
        """Return by how much the chosen split is better, per record, and the slope in the masses inside (K, m).

        For the gain ratio both sides are multiplied by the other's split information, a constant.
        """
        here = mass[self.inside]
        records = here.sum()
        after_chosen, si_chosen, slope_chosen = after(here, self.chosen, self.criterion)
        after_other, si_other, slope_other = after(here, self.other, self.criterion)
        if self.criterion != "gain-ratio":
            slope = (slope_other - slope_chosen) / records
            return (after_other - after_chosen) / records, slope
        before, _, slope_before = after(here, np.zeros_like(self.chosen), self.criterion)
        a = si_other / si_chosen
        gap = a * (before - after_chosen) - (before - after_other)
        slope = a * (slope_before - slope_chosen) - (slope_before - slope_other)
        return gap / records, slope / records

    def broken(self, mass: np.ndarray) -> float:
        """Return by how much the other split is better, per record."""
        return max(-self.gap(mass)[0], 0.0)


Row = LinearRow | SplitRow


def after(here: np.ndarray, branch: np.ndarray, criterion: str) -> tuple[float, float, np.ndarray]:
    """Return the sum of n_b * I(b), the split information, and the slope of the former at fixed branch sizes."""
    total, sizes, slope = 0.0, [], np.zeros_like(here)
    for b in np.unique(branch):
        u = np.maximum(here[branch == b].sum(axis=0), 0.0)
        n = float(u.sum())
        p = np.maximum(u / n, 1e-12)
        sizes.append(n / here.sum())
        total += n * (1 - (p**2).sum() if criterion == "gini" else -(p * np.log(p)).sum())
        slope[branch == b] = -2 * p if criterion == "gini" else -(np.log(p) + 1)
    shares = np.array(sizes)
    return total, float(-(shares * np.log(shares)).sum()), slope


def rows(sample: Sample) -> list[Row]:
    """Return every row that the truth keeps beyond doubt; each profile's own total comes first."""
    found: list[Row] = [*_totals(sample), *_leaf_rows(sample), *_global_rows(sample)]
    found += [*_fact_rows(sample), *_split_rows(sample)]
    return [row for row in found if row.broken(sample.population.truth) <= SURE]


def mass_is_known(sample: Sample) -> bool:
    """Whether every leaf's class masses are known, so that the problem is convex whatever splits say."""
    leaf = sample.knowledge.leaf
    return leaf == "counts" or (leaf == "rates" and len(sample.tree.classes) == 2)


def is_convex(sample: Sample) -> bool:
    """Whether a local optimum is the optimum."""
    return sample.knowledge.split == "none" or mass_is_known(sample)


def _totals(sample: Sample) -> Iterator[LinearRow]:
    counts = sample.population.counts
    for q, count in enumerate(counts):
        weights = np.zeros(sample.population.truth.shape)
        weights[q] = 1.0
        yield LinearRow(weights, count, count, count, f"profile {q}")


def _leaf_rows(sample: Sample) -> Iterator[LinearRow]:
    truth, counts = sample.population.truth, sample.population.counts
    margin = 1.0 if sample.knowledge.strict_labels else 0.0
    for node in sample.tree.leaves:
        here = sample.population.leaf == node.index
        label = sample.tree.classes.index(str(node.score))
        known: list[int] = []
        if sample.knowledge.leaf == "rates":
            known = [label]
        elif sample.knowledge.leaf == "counts":
            known = list(range(truth.shape[1]))
        for klass in known:
            weights = np.zeros(truth.shape)
            weights[here, klass] = 1.0
            total = float(truth[here, klass].sum())
            yield LinearRow(weights, total, total, counts[here].sum(), f"leaf {node.name} {klass}")
        leads = truth[here].sum(axis=0)[label] - np.delete(truth[here].sum(axis=0), label)
        if sample.knowledge.leaf == "counts" or leads.min() < margin:
            continue
        for klass in set(range(truth.shape[1])) - {label}:
            weights = np.zeros(truth.shape)
            weights[here, label], weights[here, klass] = 1.0, -1.0
            name = f"label {node.name} {klass}"
            yield LinearRow(weights, margin, np.inf, counts[here].sum(), name)


def _global_rows(sample: Sample) -> Iterator[LinearRow]:
    truth, records = sample.population.truth, sample.population.records
    if sample.knowledge.marginal:
        for klass in range(truth.shape[1]):
            weights = np.zeros(truth.shape)
            weights[:, klass] = 1.0
            total = float(truth[:, klass].sum())
            yield LinearRow(weights, total, total, records, f"total {klass}")
    if sample.knowledge.accuracy:
        weights = np.zeros(truth.shape)
        for q, leaf in enumerate(sample.population.leaf):
            weights[q, sample.tree.classes.index(str(sample.tree.nodes[leaf].score))] = 1.0
        hits = float((weights * truth).sum())
        yield LinearRow(weights, hits, hits, records, "accuracy")


def _fact_rows(sample: Sample) -> Iterator[LinearRow]:
    for fact in sample.facts:
        inside = matching(sample.population, fact.conditions)
        records = float(sample.population.counts[inside].sum())
        weights = np.zeros(sample.population.truth.shape)
        weights[inside, sample.tree.classes.index(fact.klass)] = 1.0
        ends = (1.0, np.inf) if fact.is_record else (fact.low * records, fact.high * records)
        yield LinearRow(weights, *ends, records, str(fact))


def _split_rows(sample: Sample) -> Iterator[SplitRow]:
    criterion = str(sample.knowledge.split)
    if criterion == "none":
        return
    lineage = [_lineage(sample, int(leaf)) for leaf in sample.population.leaf]
    for node in sample.tree.nodes:
        if node.is_leaf:
            continue
        inside = np.array([q for q, line in enumerate(lineage) if node.index in line], dtype=int)
        chosen = np.array([lineage[q][lineage[q].index(node.index) + 1] for q in inside])
        seen = {_partition(chosen)}
        for name, other in _others(sample, node, inside):
            if _partition(other) not in seen:
                seen.add(_partition(other))
                yield SplitRow(inside, chosen, other, criterion, f"node {node.name}: {name}")


def _lineage(sample: Sample, leaf: int) -> list[int]:
    line = [leaf]
    while (parent := sample.tree.nodes[line[0]].parent) is not None:
        line.insert(0, parent)
    return line


def _partition(branch: np.ndarray) -> tuple[int, ...]:
    """Return the branches numbered in order of appearance, so that equal partitions are equal."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(int(b), len(numbers)) for b in branch)


def _others(sample: Sample, node: Node, inside: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    tree, population = sample.tree, sample.population
    used = {
        step.test.feature
        for step in tree.path(node.index)
        if isinstance(step.test, CategoryTest | NumericTest)
    }
    for feature in tree.features:
        column = population.columns[feature.name]
        here = (column.numbers if feature.numeric else column.codes)[inside]
        values = np.unique(here)
        if len(values) < 2 or (tree.learner.multiway and feature.name in used):
            continue
        if tree.learner.multiway:
            yield feature.name, here
            continue
        for left in _sides(sample, values, feature.numeric):
            side = np.isin(here, left).astype(int)
            sizes = np.bincount(side, weights=population.counts[inside], minlength=2)
            if sizes.min() >= tree.learner.min_leaf_records:
                yield f"{feature.name} in {left}", side


def _sides(sample: Sample, values: np.ndarray, is_numeric: bool) -> Iterator[list[float]]:
    if is_numeric:
        yield from (values[: i + 1].tolist() for i in range(len(values) - 1))
    elif _takes_sets(sample):
        for number in range(1, 2 ** (len(values) - 1)):
            yield [v for bit, v in enumerate(values) if number >> bit & 1]
    else:
        yield from ([v] for v in values)


def _takes_sets(sample: Sample) -> bool:
    """Whether the learner compared sets of categories: the one of `tests.judges.estimate.binary_learner` does."""
    return sample.learner == "mixed"
