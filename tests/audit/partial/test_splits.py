"""Candidate splits on known columns, held against an estimate: as a slow count of each candidate says."""

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.special import entr

from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.fitting.flows import AdversaryBudget
from treewarden.audit.partial.fitting.splits import PlacedEstimate, SplitChoiceView, compared
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.nodes import Criterion, impurity_of
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Tree,
)


def binary_tree(rng):
    """Return a tree of three tests on h, which is hidden, with four leaves."""
    cuts = np.sort(rng.choice(np.arange(1, 9), 3, replace=False)).astype(float)
    low, middle, high = cuts.tolist()
    counts = rng.integers(0, 6, (4, 2)) + np.eye(2, dtype=int)[[0, 1, 0, 1]]
    below, above = counts[:2].sum(axis=0), counts[2:].sum(axis=0)

    def node(index, name, parent, children, test, held):
        return Node(
            index,
            name,
            parent,
            children,
            test,
            "0",
            float(sum(held)),
            tuple(map(float, held)),
        )

    nodes = (
        node(0, "r", None, (1, 4), Always(), below + above),
        node(1, "b", 0, (2, 3), NumericTest("h", high=middle, high_closed=True), below),
        node(2, "bl", 1, (), NumericTest("h", high=low, high_closed=True), counts[0]),
        node(3, "bh", 1, (), NumericTest("h", low=low), counts[1]),
        node(4, "a", 0, (5, 6), NumericTest("h", low=middle), above),
        node(5, "al", 4, (), NumericTest("h", high=high, high_closed=True), counts[2]),
        node(6, "ah", 4, (), NumericTest("h", low=high), counts[3]),
    )
    features = (Feature("h", True), Feature("age", True), Feature("town", False, ("n", "s", "w")))
    return Tree(nodes, features, "y", ("0", "1"), quality=Quality.EXACT), counts


@pytest.mark.parametrize(("least", "at_once"), [(1.0, 4_000_000), (1.0, 1), (2.5, 100)])
@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
@pytest.mark.parametrize("seed", seeds(20, quick=4))
def test_each_candidate_is_counted_as_by_hand(monkeypatch, seed, criterion, least, at_once):
    monkeypatch.setattr(
        import_module("treewarden.audit.partial.fitting.splits"), "MOST_AT_ONCE", at_once
    )
    rng = np.random.default_rng(seed)
    tree, counts = binary_tree(rng)
    size = 7
    columns = {
        "age": NumericColumn(rng.integers(20, 25, size).astype(float)),
        "town": CategoricalColumn(rng.integers(0, 3, size), ("n", "s", "w")),
    }
    places = [rng.random((size, 4)) * (rng.random((size, 4)) < 0.7) for _ in range(2)]
    places = [
        each / np.maximum(each.sum(axis=0), 1e-9) * counts[:, k] for k, each in enumerate(places)
    ]
    # People of each profile are told apart by their class: each class has places of its own.
    over = [
        sparse.csr_array((np.ones(4), (np.arange(4), 2 * np.arange(4) + k)), shape=(4, 8))
        for k in range(2)
    ]
    held = PlacedEstimate(
        np.ones(2 * size),
        np.arange(2 * size),
        sparse.csr_array(sparse.block_diag(places)),
        sparse.csr_array(sparse.vstack(over)),
    )
    nodes, ages = np.array([2, 3, 5, 6]), np.unique(columns["age"].numbers)
    # Of all values the last cut does not bind, and nothing does at the last node.
    sure = {(node, "age"): np.arange(len(ages) - 1) < len(ages) - 2 for node in (0, 1)}
    sure |= {(node, "town"): np.ones(1, dtype=bool) for node in (0, 1)}
    choice = SplitChoiceView(tree, nodes, columns, criterion, least, sure)
    found = compared(choice.take(np.tile(np.arange(size), 2)), held)
    rows = broken = 0
    for here, parts in (
        ([0, 1, 2, 3], [[0, 1], [2, 3]]),
        ([0, 1], [[0], [1]]),
    ):
        total = np.stack([each.sum(axis=0) for each in places], axis=1)
        chosen = sum(_mass(total[part].sum(axis=0), criterion) for part in parts)
        people = np.stack([each[:, here].sum(axis=1) for each in places], axis=1)
        ages = columns["age"].numbers
        last = np.unique(ages)[-2:].tolist()
        there = np.unique(ages[people.sum(axis=1) > 0])
        for low, high in pairwise(there.tolist()):
            sides = [people[ages <= low].sum(axis=0), people[ages >= high].sum(axis=0)]
            if [low, high] == last or (least > 1 and min(map(np.sum, sides)) < least):
                continue
            rows += 1
            left = sum(_mass(side, criterion) for side in sides)
            broken += left < chosen - 1e-9 * people.sum()
        towns = [people[columns["town"].codes == code].sum(axis=0) for code in range(3)]
        towns = [each for each in towns if each.sum() > 0]
        if len(towns) > 1:
            rows += 1
            broken += sum(_mass(each, criterion) for each in towns) < chosen - 1e-9 * people.sum()
    assert (found.rows, found.broken) == (rows, broken)


def _mass(counts, criterion):
    return (
        float(counts.sum()) * impurity_of(criterion, counts.tolist()) if counts.sum() > 0 else 0.0
    )


def by_age():
    """Return a tree that asks about h first, and about age of those above; and its people.

    Below are four young and four old, six of class 0 in all; above two young of class 0 and six old of class 1.
    """
    table = table_of(
        {
            "h": [1] * 8 + [9] * 8,
            "age": [20] * 4 + [30] * 4 + [20] * 2 + [30] * 6,
            "y": ["0", "0", "1", "1"] + ["0"] * 4 + ["0"] * 2 + ["1"] * 6,
        }
    )
    nodes = (
        Node(0, "r", None, (1, 2), Always(), "0", 16.0, (8.0, 8.0)),
        Node(1, "l", 0, (), NumericTest("h", high=5.0, high_closed=True), "0", 8.0, (6.0, 2.0)),
        Node(2, "a", 0, (3, 4), NumericTest("h", low=5.0), "1", 8.0, (2.0, 6.0)),
        Node(3, "al", 2, (), NumericTest("age", high=25.0, high_closed=True), "0", 2.0, (2.0, 0.0)),
        Node(4, "ah", 2, (), NumericTest("age", low=25.0), "1", 6.0, (0.0, 6.0)),
    )
    features = (Feature("h", True), Feature("age", True))
    tree = Tree(nodes, features, "y", ("0", "1"), quality=Quality.EXACT)
    return tree, build_population(tree, table, sensitive="y")


def test_an_estimate_that_a_better_split_on_a_known_column_refutes_is_sought_again():
    tree, population = by_age()
    without = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel.NONE)), ["age"], clock(5.0)
    )
    assert without.posterior.values[:, 0] == pytest.approx([5 / 6, 3 / 10])
    seen = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel.GINI)), ["age"], clock(5.0)
    )
    # With a of the four young below of class 0, age would leave this much at the root; the chosen split leaves 6.
    a = np.linspace(2, 3, 1_000_001)
    left = 6 - ((a + 2) ** 2 + (4 - a) ** 2) / 6 + 10 - ((6 - a) ** 2 + (a + 4) ** 2) / 10
    best = a[left >= 6].max()
    assert seen.posterior.values[:, 0] == pytest.approx([(best + 2) / 6, (6 - best) / 10], abs=1e-4)
    assert (seen.posterior.low <= seen.posterior.values).all()
    assert (seen.posterior.high - seen.posterior.low < 2e-3).all()
    no_time = AuditOptions(time_limit=1e-9)
    seen = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel.GINI)),
        ["age"],
        clock(5.0),
        no_time,
    )
    assert "1 of 2 other splits on known columns would be better" in seen.posterior.reason
    gini = Knowledge(split=SplitLevel.GINI)
    little = infer_target(
        TreeContext(tree, population, gini),
        ["age"],
        clock(5.0),
        effort=AdversaryBudget(enforcing=1e4),
    )
    assert little.posterior == seen.posterior
    enough = infer_target(
        TreeContext(tree, population, gini),
        ["age"],
        clock(5.0),
        effort=AdversaryBudget(enforcing=1e8),
    )
    assert enough.posterior.values[:, 0] == pytest.approx(
        [(best + 2) / 6, (6 - best) / 10], abs=1e-4
    )
    nobody = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel.GINI)), [], clock(5.0)
    )
    assert nobody.posterior.values == pytest.approx(np.array([[0.5, 0.5]]))


def test_a_ratio_of_gains_and_missing_values_are_not_compared():
    tree, population = by_age()
    ratio = Knowledge(split=SplitLevel.GAIN_RATIO)
    seen = infer_target(TreeContext(tree, population, ratio), ["age"], clock(5.0))
    assert "is not used" in seen.posterior.reason


def by_age_below():
    """Return a tree that asks about h first, and about g of those below; and its people: of each age eight.

    Below are four young and two old of class 0, and one of each age of class 1.
    """
    groups = (
        (1, 1, 20, "0", 3),
        (1, 1, 30, "0", 1),
        (1, 1, 20, "1", 1),
        (1, 9, 20, "0", 1),
        (1, 9, 30, "0", 1),
        (1, 9, 30, "1", 1),
        (9, 1, 20, "0", 1),
        (9, 1, 30, "0", 1),
        (9, 9, 20, "1", 2),
        (9, 9, 30, "1", 4),
    )
    rows = [each[:4] for each in groups for _ in range(each[4])]
    table = table_of(
        {name: [row[at] for row in rows] for at, name in enumerate(("h", "g", "age", "y"))}
    )
    nodes = (
        Node(0, "r", None, (1, 4), Always(), "0", 16.0, (8.0, 8.0)),
        Node(1, "l", 0, (2, 3), NumericTest("h", high=5.0, high_closed=True), "0", 8.0, (6.0, 2.0)),
        Node(2, "ll", 1, (), NumericTest("g", high=5.0, high_closed=True), "0", 5.0, (4.0, 1.0)),
        Node(3, "lh", 1, (), NumericTest("g", low=5.0), "0", 3.0, (2.0, 1.0)),
        Node(4, "a", 0, (), NumericTest("h", low=5.0), "1", 8.0, (2.0, 6.0)),
    )
    features = tuple(Feature(name, numeric=True) for name in ("h", "g", "age"))
    tree = Tree(nodes, features, "y", ("0", "1"), quality=Quality.EXACT)
    return tree, build_population(tree, table, sensitive="y")


def test_what_is_believed_of_a_secret_column_heeds_better_splits_on_known_ones():
    tree, population = by_age_below()
    secret = secret_of(population, "h", [6.0], "secret")

    def seen(split, **more):
        knowledge, until = Knowledge(split=split, min_leaf=1), clock(5.0)
        more |= {"knows_target": True, "until": until}
        return infer_attribute(
            TreeContext(tree, population, knowledge), secret, ["age"], **more
        ).posterior

    # Of a young ones of class 0 below and b of class 1, age would leave this much there; the chosen split leaves 44/15.
    a, b = np.meshgrid(np.linspace(1, 5, 2001), np.linspace(0, 2, 1001))
    left = a + b - (a**2 + b**2) / (a + b)
    left += 8 - a - b - ((6 - a) ** 2 + (2 - b) ** 2) / (8 - a - b)
    # In each leaf below the ages of a class are as in all of them: that says nothing of how many are below.
    entropy = sum(map(entr, (a, 6 - a, 5 - a, a - 3, b, 2 - b, 3 - b, 3 + b)))
    at = np.unravel_index(np.where(left >= 44 / 15, entropy, -np.inf).argmax(), entropy.shape)
    found, without = seen(SplitLevel.GINI), seen(SplitLevel.NONE)
    assert found.values[:, 0] == pytest.approx(
        [a[at] / 5, (6 - a[at]) / 3, b[at] / 3, (2 - b[at]) / 5], abs=3e-3
    )
    assert without.values[:, 0] == pytest.approx([6 / 8, 6 / 8, 2 / 8, 2 / 8])
    assert (found.high - found.low < 2e-3).all()
    little = seen(SplitLevel.GINI, effort=AdversaryBudget(enforcing=1e4))
    assert "other splits on known columns would be better" in little.reason
