"""Changes of a table held against linear rows: a change is allowed where the changed table keeps every row."""

import tracemalloc

import numpy as np
import pytest

from tests.audit.weighed_trees import people_of, weighed_tree
from tests.kit.cases import multiway_case
from treewarden.audit.consistent_tables.facts.facts import IntegerRow, facts_of
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.changes import _alone, _paired
from treewarden.audit.facts.rows import Case, Origin
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.target import members
from treewarden.audit.progress import FOREVER
from treewarden.audit.system.system import build_system


@pytest.mark.parametrize("marginal", [False, True])
@pytest.mark.parametrize("leaf", ["labels", "counts"])
@pytest.mark.parametrize("decimals", [0, 2, 12])
def test_a_change_is_allowed_where_every_row_of_weights_holds_after_it(decimals, leaf, marginal):
    draw = np.random.default_rng(decimals)
    ages, ill = draw.integers(20, 26, 60).astype(float), draw.choice(["no", "yes"], 60)
    weights = draw.choice((draw.gamma(4, 2.5, 5) + 1).round(decimals), 60)
    tree, table = weighed_tree(ages.tolist(), ill.tolist(), weights.tolist(), max_leaf_nodes=4)
    people = people_of(tree, table)
    knowledge = Knowledge(leaf=leaf, split="none", marginal=marginal)
    system = build_system(Case(tree, people, members(tree, people.leaf), knowledge))
    facts = facts_of(system)
    true_table = facts.arranged(people.truth)
    cells = np.argwhere(np.ones(true_table.shape, dtype=bool))
    lines = [line for lines in facts.lines.values() for line in lines]
    assert lines
    for changes in (_alone(true_table, cells), _paired(facts, true_table, cells, draw)):
        good = np.ones(len(changes), dtype=bool)
        ChangeChecker(facts, true_table)._lines_hold(changes, good, FOREVER)
        for number in range(len(changes)):
            after = changes.applied(number, true_table)
            assert good[number] == all(line.holds(after) for line in lines)
    assert set(ChangeChecker(facts, true_table).allowed(changes, FOREVER)) <= set(
        np.flatnonzero(good)
    )


@pytest.mark.parametrize("leaf", ["labels", "rates", "counts"])
def test_a_change_is_allowed_where_the_numbers_of_its_leaf_hold_after_it(leaf):
    case = multiway_case(4, Knowledge(leaf=leaf, split="none"), records=30)
    facts = facts_of(build_system(case))
    true_table, draw = facts.arranged(case.population.truth), np.random.default_rng(0)
    cells = np.argwhere(np.ones(true_table.shape, dtype=bool))
    allowed = 0
    for changes in (_alone(true_table, cells), _paired(facts, true_table, cells, draw)):
        good = ChangeChecker(facts, true_table)._places_hold(changes)
        for number in range(len(changes)):
            after = changes.applied(number, true_table)
            is_good = all(
                place.holds(after[place.start : place.end].sum(axis=0))
                for place in facts.places.values()
            )
            assert good[number] == is_good
        allowed += int(good.sum())
    assert allowed


@pytest.mark.parametrize("split", ["gini", "entropy", "gain-ratio"])
@pytest.mark.parametrize("leaf", ["labels", "rates"])
def test_a_change_is_allowed_where_each_row_of_each_split_holds_after_it(leaf, split):
    facts = facts_of(build_system(multiway_case(4, Knowledge(leaf=leaf, split=split), records=30)))
    table, draw = facts.arranged(facts.case.population.truth), np.random.default_rng(0)
    cells = np.argwhere(np.ones(table.shape, dtype=bool))
    splits = [each for splits in facts.splits.values() for each in splits]
    assert len(splits) > len(facts.splits)
    for changes in (_alone(table, cells), _paired(facts, table, cells, draw)):
        checker = ChangeChecker(facts, table)
        good = set(checker.allowed(changes, FOREVER).tolist())
        for number in np.flatnonzero(checker._places_hold(changes)).tolist():
            after = changes.applied(number, table)
            holds = (each.holds(after[None, each.start : each.end])[0] for each in splits)
            lines = (line for lines in facts.lines.values() for line in lines)
            assert (number in good) == (all(holds) and all(line.holds(after) for line in lines))


def test_changes_of_many_classes_are_found_in_blocks_that_bound_the_memory():
    """Of 2,000 people with 60 classes there are 7 million pairs of classes, and 118,000 changes of one record."""
    people, classes = 2_000, 60
    table = np.eye(classes, dtype=np.int64)[np.arange(people) % classes]
    cells = np.argwhere(np.ones_like(table, dtype=bool))
    tracemalloc.start()
    found = _alone(table, cells)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == people * (classes - 1)
    assert len(set(zip(found.first, found.own, found.to, strict=True))) == len(found)
    assert (table[found.first, found.own] == 1).all()
    assert (found.own != found.to).all()
    assert peak < 200_000_000


def test_what_a_table_has_at_a_split_is_counted_once():
    draw = np.random.default_rng(3)
    ages, ill = draw.integers(20, 26, 60).astype(float), draw.choice(["no", "yes"], 60)
    tree, table = weighed_tree(ages.tolist(), ill.tolist(), [1.0] * 60, max_leaf_nodes=4)
    people = people_of(tree, table)
    knowledge = Knowledge(leaf="counts", split="gini")
    facts = facts_of(build_system(Case(tree, people, members(tree, people.leaf), knowledge)))
    checker = ChangeChecker(facts, facts.arranged(people.truth))
    splits = [split for splits in facts.splits.values() for split in splits]
    assert splits
    for split in splits:
        assert checker._counts(split) is checker._counts(split)


@pytest.mark.parametrize("largest", [3, 2**40, 2**70])
def test_a_row_holds_of_many_tables_where_it_holds_of_each(largest):
    draw = np.random.default_rng(8)
    tables = draw.integers(0, 9, (40, 5, 3))
    weights = (largest, 1, -largest, 2)
    row = IntegerRow(
        node=0,
        positions=np.array([3, 4, 6, 7]),
        classes=np.array([0, 2, 1, 1]),
        weights=weights,
        low=-2 * largest,
        high=2 * largest,
        origin=Origin("leaf", "a sum"),
    )
    assert row.holds_each(tables, 3).tolist() == [row.holds(table, 3) for table in tables]
    assert 0 < row.holds_each(tables, 3).sum() < 40
    assert row.holds_each(tables[:0], 3).shape == (0,)
