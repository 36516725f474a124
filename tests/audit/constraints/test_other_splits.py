"""What rpart prints of splits that it did not take: true of the table, and of every table that has that improvement."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.kit import places
from tests.kit.tiers import seeds
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.constraints.other_split import CONSTRAINT
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.nodes import OtherSplit
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, LearnerFigures, Node, Tree

RPART = places.DATA / "formats" / "rpart_json" / "good"
SIDES = ("l", "r")


def improvement(totals, left):
    rest = totals - left
    return impure(totals) - impure(left) - impure(rest)


def impure(counts):
    return counts.sum() - (counts**2).sum() / counts.sum()


def random_case(seed):
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 4, size=4)
    return case_of([draw.integers(0, n + 1) for n in counts], counts)


def case_of(first, counts):
    """Return a split of four groups by x, its counts told at the root, and a split by z that was not taken.

    ``first`` of the ``counts`` of each group have the first class.
    """
    first, counts = np.array(first), np.array(counts)
    truth = np.stack([first, counts - first], axis=1).astype(float)
    x, z = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    root = truth.sum(axis=0)
    value = improvement(root, truth[z == 0].sum(axis=0))
    tests = [[CategoryTest(name, (side,)) for side in SIDES] for name in ("x", "z")]
    other = OtherSplit(*tests[1], value - 1e-6, value + 1e-6)
    nodes = (
        Node(0, "0", None, (1, 2), class_counts=tuple(root), figures=LearnerFigures((other,))),
        Node(1, "1", 0, test=tests[0][0]),
        Node(2, "2", 0, test=tests[0][1]),
    )
    features = (Feature("x", False, SIDES), Feature("z", False, SIDES))
    tree = Tree(nodes, features, "class", ("a", "b"))
    columns = {
        "x": CategoricalColumn(codes=x, categories=SIDES),
        "z": CategoricalColumn(codes=z, categories=SIDES),
    }
    people = Population(("x", "z"), columns, counts.astype(float), x + 1, truth)
    return Case(tree, people, members(tree, people.leaf), Knowledge(split="none"))


def all_tables(case):
    """Return the tables whose root has its counts, and whose split by z improves it as printed."""
    counts = case.population.counts.astype(int)
    root, (other,) = np.array(case.tree.root.class_counts), case.tree.root.figures.other_splits
    found = []
    for first in itertools.product(*(range(n + 1) for n in counts)):
        table = np.stack([first, counts - np.array(first)], axis=1)
        left = table[case.population.columns["z"].codes == 0].sum(axis=0)
        if (table.sum(axis=0) == root).all():
            found += [table] if other.low <= improvement(root, left) <= other.high else []
    return np.array(found)


@pytest.mark.parametrize("seed", seeds(60, quick=12))
def test_what_is_proved_holds_in_every_table_that_has_the_improvement(seed):
    case = random_case(seed)
    system, tables = build_system(case), all_tables(case)
    assert system.dropped == ()
    worlds = reason(system)
    assert (worlds.low <= tables.min(axis=0)).all()
    assert (worlds.high >= tables.max(axis=0)).all()


def test_an_improvement_that_one_count_alone_gives_tells_it():
    rows = [
        row
        for seed in range(60)
        for row in build_system(random_case(seed)).rows
        if row.origin.constraint == "other_split"
    ]
    assert any(row.low == row.high for row in rows)


def test_a_split_on_what_the_adversary_does_not_know_says_nothing():
    case = random_case(1)
    blind = replace(case, population=replace(case.population, qi=("x",)))
    assert [r for r in build_system(blind).rows if r.origin.constraint == "other_split"] == []


def test_a_split_whose_right_side_asks_what_the_adversary_does_not_know_says_nothing():
    # z is the same as x here: 3 of the 5 records on the left have the first class, and 1 of the 5 on the right.
    case = case_of([2, 1, 1, 0], [2, 3, 2, 3])
    value = improvement(np.array([4.0, 6.0]), np.array([3.0, 2.0]))
    left, right = (CategoryTest(name, (side,)) for name, side in zip("xz", SIDES, strict=True))
    figures = LearnerFigures((OtherSplit(left, right, value - 1e-6, value + 1e-6),))
    nodes = (replace(case.tree.root, figures=figures), *case.tree.nodes[1:])
    columns = dict.fromkeys(("x", "z"), case.population.columns["x"])
    people = replace(case.population, columns=columns)
    told = replace(case, tree=replace(case.tree, nodes=nodes), population=people)
    assert [(row.low, row.high) for row in CONSTRAINT.rows(told)] == [(1, 3)]
    blind = replace(told, population=replace(people, qi=("x",)))
    assert list(CONSTRAINT.rows(blind)) == []


def test_an_improvement_tells_the_most_and_the_least_that_may_be_on_its_left():
    # Of 10 records 4 have the class. Of the 4 on the left 3 have it: as far from chance as nothing else that is whole.
    (row,) = CONSTRAINT.rows(case_of([2, 1, 1, 0], [2, 3, 2, 3]))
    assert (row.low, row.high) == (3, 3)
    assert row.profiles.tolist() == [0, 2]
    assert "lets 3 to 3 of the 4 records on its left have class 'a'" in row.origin.where


def test_whoever_is_not_told_what_is_published_is_told_nothing_by_an_improvement():
    case = case_of([2, 1, 1, 0], [2, 3, 2, 3])
    told = replace(case, knowledge=Knowledge(leaf="counts", split="none"))
    assert list(CONSTRAINT.rows(told)) == []


def test_an_improvement_of_three_classes_tells_nothing():
    case = case_of([2, 1, 1, 0], [2, 3, 2, 3])
    root = replace(case.tree.root, class_counts=(4.0, 6.0, 0.0))
    tree = replace(case.tree, nodes=(root, *case.tree.nodes[1:]), classes=("a", "b", "c"))
    assert list(CONSTRAINT.rows(replace(case, tree=tree))) == []


def test_a_node_without_counts_of_its_classes_says_nothing_by_a_split_that_was_not_taken():
    case = case_of([2, 1, 1, 0], [2, 3, 2, 3])
    bare = replace(case.tree.root, class_counts=None)
    tree = replace(case.tree, nodes=(bare, *case.tree.nodes[1:]))
    assert list(CONSTRAINT.rows(replace(case, tree=tree))) == []


def test_a_side_that_holds_parts_of_records_says_nothing():
    case = case_of([2, 1, 1, 0], [2.5, 2.5, 2, 3])
    assert case.tree.root.class_counts == (4, 6)
    assert list(CONSTRAINT.rows(case)) == []


def test_improvements_are_read_in_the_unit_that_is_used_here():
    tree = load_tree((RPART / "plain.json").read_bytes(), "plain.json")
    left, right = (np.array(tree.nodes[child].class_counts) for child in tree.root.children)
    assert improvement(left + right, left) == pytest.approx(58.6104492753623)
    assert len(tree.root.figures.other_splits) == 3


@pytest.mark.parametrize("name", ["prior.json", "weighted.json", "costs.json"])
def test_improvements_of_weights_and_of_numbers_are_left_alone(name):
    tree = load_tree((RPART / name).read_bytes(), name)
    assert [node for node in tree.nodes if node.figures.other_splits] == []
