"""Sets of categories that rpart and Spark compare only as cuts of an order, which another table may change."""

import json
from dataclasses import replace
from pickle import dumps, loads

import numpy as np
import pytest

import treewarden as tw
from tests.kit.order_learner import OrderedTree, OrderLearner, drawn_tree
from tests.kit.tiers import cases
from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.facts.category_orders import (
    CategoryOrder,
    OrderedSets,
    OrderRule,
)
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.portions import start_of
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.ordered_sets import ordered_sets
from treewarden.audit.consistent_tables.witnesses.witness_pool import TableChanges, WitnessPool
from treewarden.audit.progress import FOREVER
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion

FRAME = {
    "frame": [
        {"var": "a", "n": 7, "wt": 7, "dev": 3, "yval": 2, "complexity": 0, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [2, 3, 4, 3 / 7, 4 / 7, 1]},
        {"var": "<leaf>", "n": 4, "wt": 4, "dev": 2, "yval": 1, "complexity": -1, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [1, 2, 2, 0.5, 0.5, 4 / 7]},
        {"var": "<leaf>", "n": 3, "wt": 3, "dev": 1, "yval": 2, "complexity": -1, "ncompete": 0}
        | {"nsurrogate": 0, "yval2": [2, 1, 2, 1 / 3, 2 / 3, 3 / 7]},
    ],
    "csplit": [[3, 3, 1]],
    "method": ["class"],
    "parms": {"prior": [3 / 7, 4 / 7], "loss": [[0, 1], [1, 0]], "split": [1]},
    "control": {"minsplit": [2], "minbucket": [3], "cp": [-1], "maxcompete": [0]}
    | {
        "maxsurrogate": [0],
        "usesurrogate": [2],
        "surrogatestyle": [0],
        "maxdepth": [1],
        "xval": [0],
    },
    "splits": [{"var": "a", "count": 7, "ncat": 3, "improve": 2 / 21, "index": 1, "adj": 0}],
    "xlevels": {"a": ["v2", "v3", "v4"]},
    "ylevels": ["k0", "k1"],
}
"""A tree of rpart: all twelve tables that rpart makes this of have the class k1 for v3."""
PEOPLE = ("v3,k1", "v4,k1", "v2,k0", "v4,k1", "v2,k1", "v4,k0", "v4,k0")
NOBODY = {
    "name": "nobody",
    "version": "1",
    "title": "Nobody",
    "check": [{"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0.0}],
}


@pytest.mark.parametrize("more", [{}, {"split": "gini"}])
def test_a_table_in_which_rpart_does_not_compare_the_set_shows_nothing(more, tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(FRAME), encoding="utf-8")
    table = "\n".join(("a,cls", *PEOPLE, ""))
    (tmp_path / "people.csv").write_text(table, encoding="utf-8")
    found = tw.audit(
        tmp_path / "tree.json",
        tmp_path / "people.csv",
        sensitive="cls",
        policy=NOBODY,
        jobs=1,
        **more,
    )
    assert found.verdict is tw.Verdict.UNDETERMINED


RULE = OrderRule(CategoryOrder.SHARE, (), smallest=1)
IS_LEFT = np.array([False, False, True])
SETS = OrderedSets(
    span=slice(0, 3),
    category=np.arange(3),
    records=np.array([2, 1, 4]),
    is_left=IS_LEFT,
    left_records=4,
    own=IS_LEFT,
    rule=RULE,
)
FIRST = np.array([[1, 0, 2], [2, 1, 2], [0, 0, 2], [1, 1, 2], [2, 0, 2]])
TABLES = np.stack([FIRST, np.array([2, 1, 4]) - FIRST], axis=2)


def by(order, *criteria):
    return replace(SETS, rule=OrderRule(order, criteria, smallest=1))


def test_a_set_is_a_cut_of_the_order_or_it_is_not():
    # The shares of v4 are 1/2 throughout: a cut parts them from those of v2 and v3, on the same side of both.
    assert SETS.allows(TABLES).tolist() == [False, True, True, False, False]
    # Of the second class v4 has two records throughout, v2 and v3 have fewer, or v2 as many.
    assert by(CategoryOrder.RECORDS).allows(TABLES).tolist() == [True, True, False, True, True]
    assert not by(CategoryOrder.UNKNOWN).allows(TABLES).any()


def test_no_other_cut_is_as_good_as_the_chosen_set():
    # Shares 0, 1/8 and 1/2: the cut below v4 is chosen, the one below v3 is worse.
    sets = replace(by(CategoryOrder.SHARE, Criterion.GINI), records=np.array([2, 8, 4]))
    first = np.array([[0, 1, 2], [0, 4, 2], [2, 0, 2], [0, 0, 2]])
    tables = np.stack([first, sets.records - first], axis=2)
    # Then v3 is as often of the first class as v4 (a tie), v4 lies between, and nobody else is of the first class.
    assert sets.allows(tables).tolist() == [True, False, False, True]
    # The other cut, with two records on one side, is better in this table, and too small for leaves of three.
    better = np.array([[[2, 0], [3, 5], [1, 3]]])
    small = replace(sets, rule=replace(sets.rule, smallest=3))
    assert not sets.allows(better).any()
    assert small.allows(better).all()


@pytest.mark.parametrize("order", CategoryOrder)
@pytest.mark.parametrize("number", range(len(TABLES)))
def test_changes_of_a_table_are_judged_as_the_changed_tables_are(order, number):
    sets = by(order, Criterion.ENTROPY)
    table = TABLES[number]
    wholes = np.indices((3, 2, 3, 2, 2)).reshape(5, -1)
    # A record that changes alone is its own partner, and has one class.
    alone = wholes[0] == wholes[2]
    every = TableChanges(*np.where(alone, wholes[[0, 1, 0, 1, 4]], wholes))
    tables = np.array([every.applied(k, table) for k in range(len(every))])
    is_table = (tables >= 0).all(axis=(1, 2))
    every, tables = every.select(is_table), tables[is_table]
    judged = sets.allows_moves(table, every.moves())
    assert judged.tolist() == sets.allows(tables).tolist()
    assert len(sets.allows_moves(table, every.select(np.zeros(0, dtype=int)).moves())) == 0


def shown_facts(tree):
    facts = facts_of(build_system(tree.case()))
    return replace(facts, sets=ordered_sets(facts))


def test_no_change_leads_to_a_table_in_which_the_set_is_not_compared():
    records = [("v0",)] * 2 + [("v1",)] * 2 + [("v2",)] * 4
    tree = OrderedTree(OrderLearner(Tool.RPART, smallest=3), records, [1, 0, 1, 0, 0, 0, 0, 0], 1)
    facts = shown_facts(tree)
    table = facts.arranged(tree.case().population.truth)
    # The record of class b in v1 gets the class a: then v1 is as v2 in the order, where v0 is on the side of v1.
    one = np.array([1])
    change = TableChanges(first=one, own=one, second=one, other=one, to=one - 1)
    free = with_free_leaves(facts)
    assert not len(ChangeChecker(free, table).allowed(change, FOREVER))
    assert len(ChangeChecker(replace(free, sets=()), table).allowed(change, FOREVER))
    pool = WitnessPool(free)
    pool.add(np.array([table, change.applied(0, table)]))
    assert np.array_equal(pool.tables, [table])
    assert pool.unsure.any() or np.array_equal(pool.low, pool.high)


def with_free_leaves(facts):
    """Return facts of which no leaf says how many people of each class it has."""
    low, high = np.zeros_like(facts.problem.low), np.full_like(facts.problem.high, 8)
    return replace(facts, problem=replace(facts.problem, low=low, high=high))


def test_what_other_processes_know_of_ordered_sets_is_what_is_known_here():
    facts = shown_facts(drawn_tree(4, Tool.SPARK))
    bounds, pool = closed_form(facts), WitnessPool(facts)
    pool.add_truth(facts.arranged(facts.case.population.truth))
    start = loads(dumps(start_of(facts, bounds, pool)))
    _, there, _ = start.since(bounds, pool, {}, {}).over(start)
    others = np.stack([pool.tables[0], pool.tables[0][:, ::-1]])
    assert facts.sets
    assert there.has_compared(others).tolist() == pool.has_compared(others).tolist()


def test_columns_that_the_file_does_not_list_are_looked_at_too():
    records = [("v0", "w0")] * 2 + [("v1", "w1")] * 2 + [("v2", "w2")] * 4
    tree = OrderedTree(OrderLearner(Tool.RPART, smallest=3), records, [1, 0, 1, 0, 0, 0, 0, 0], 1)
    facts = facts_of(build_system(tree.case()))
    listed = tuple(feature for feature in facts.tree.features if feature.name == "x0")
    for tool, columns in ((Tool.RPART, 2), (Tool.UNKNOWN, 1)):
        learner = replace(facts.tree.learner, tool=tool)
        case = replace(facts.case, tree=replace(facts.tree, features=listed, learner=learner))
        assert len(ordered_sets(replace(facts, case=case))) == columns


TOOLS = (Tool.RPART, Tool.SPARK, Tool.UNKNOWN)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("first", cases(range(0, 400, 20), quick=3))
def test_no_proof_and_no_table_shown_is_wrong_where_sets_are_compared_by_order(first, tool):
    for seed in range(first, first + 20):
        tree = drawn_tree(seed, tool)
        if tree.is_sure:
            check_against_all(tree, reason_in_doubt(build_system(tree.case()), budget_seconds=60))


def check_against_all(tree, told):
    people = tree.case().population
    columns = [people.columns[f"x{k}"] for k in range(len(tree.records[0]))]
    values = [[column.categories[code] for code in column.codes] for column in columns]
    profiles = list(zip(*values, strict=True))
    of = [profiles.index(record) for record in tree.records]
    ones = np.array([np.bincount(of, labels, len(people.counts)) for labels in tree.tables()])
    least, most = ones.min(axis=0), ones.max(axis=0)
    assert (told.low[:, 1] <= least).all()
    assert (told.high[:, 1] >= most).all()
    assert (told.reached_low[:, 1] >= least).all()
    assert (told.reached_high[:, 1] <= most).all()


@pytest.mark.parametrize("tool", [Tool.RPART, Tool.SPARK])
def test_no_proof_rests_on_sets_that_an_order_names_and_the_estimate_of_rpart_does(tool):
    system = build_system(drawn_tree(4, tool).case())
    assert not system.families
    assert any("sets of values" in one.why for one in system.left_out)
    assert bool(system.estimated.families) is (tool is Tool.RPART)
