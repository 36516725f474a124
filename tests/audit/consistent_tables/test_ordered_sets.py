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
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.portions import start_of
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.witnesses.ordered_sets import (
    CategoryOrder,
    OrderedSets,
    ordered_sets,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import TableChanges, WitnessPool
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tool import Tool

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


HAS = np.eye(3, dtype=np.int64)
SETS = OrderedSets(slice(0, 3), HAS, np.array([2, 1, 4]), np.array([False, False, True]))
FIRST = np.array([[1, 0, 2], [2, 1, 2], [0, 0, 2], [1, 1, 2], [2, 0, 2]])
TABLES = np.stack([FIRST, np.array([2, 1, 4]) - FIRST], axis=2)


def test_a_set_is_a_cut_of_the_order_or_it_is_not():
    # The shares of v4 are 1/2 throughout: a cut parts them from those of v2 and v3, on the same side of both.
    assert SETS.allows(TABLES).tolist() == [False, True, True, False, False]
    # Of the second class v4 has two records throughout, v2 and v3 have fewer, or v2 as many.
    by_records = replace(SETS, order=CategoryOrder.RECORDS)
    assert by_records.allows(TABLES).tolist() == [True, True, False, True, True]
    assert not replace(SETS, order=CategoryOrder.UNKNOWN).allows(TABLES).any()


@pytest.mark.parametrize("order", CategoryOrder)
@pytest.mark.parametrize("number", range(len(TABLES)))
def test_changes_of_a_table_are_judged_as_the_changed_tables_are(order, number):
    sets = replace(SETS, order=order)
    table = TABLES[number]
    wholes = np.indices((3, 2, 3, 2, 2)).reshape(5, -1)
    # A record that changes alone is its own partner, and has one class.
    alone = wholes[0] == wholes[2]
    every = TableChanges(*np.where(alone, wholes[[0, 1, 0, 1, 4]], wholes))
    tables = np.array([every.applied(k, table) for k in range(len(every))])
    judged = sets.allows_moves(table, every.moves())
    assert judged.tolist() == sets.allows(tables).tolist()
    assert len(sets.allows_moves(table, every.select(np.zeros(0, dtype=int)).moves())) == 0


def test_a_pool_takes_no_change_after_which_the_set_is_not_compared():
    records = [("v0",)] * 2 + [("v1",)] * 2 + [("v2",)] * 4
    tree = OrderedTree(OrderLearner(Tool.RPART, smallest=3), records, [1, 0, 1, 0, 0, 0, 0, 0], 1)
    facts = facts_of(build_system(tree.case()))
    (sets,) = ordered_sets(facts)
    table = facts.arranged(tree.case().population.truth)
    pool = WitnessPool(facts, sets=(sets,))
    pool.add(table[None])
    # The record of class b in v1 changes with one of v2: then v2 lies between v1 and v0 in the order.
    one = np.array([1])
    change = TableChanges(first=one, own=one, second=one + 1, other=one - 1, to=one - 1)
    assert not sets.allows(change.applied(0, table)[None]).any()
    pool.add_changes(0, change)
    assert np.array_equal(pool.low, pool.high)
    assert pool.unsure[1:].all()
    assert not pool.swaps
    pool.sets = ()
    pool.add_changes(0, change)
    assert (pool.low[1:] < pool.high[1:]).all()


def test_what_other_processes_know_of_ordered_sets_is_what_is_known_here():
    facts = facts_of(build_system(drawn_tree(4, Tool.SPARK).case()))
    bounds, pool = closed_form(facts), WitnessPool(facts, sets=ordered_sets(facts))
    pool.add_truth(facts.arranged(facts.case.population.truth))
    start = loads(dumps(start_of(facts, bounds, pool)))
    _, there, _ = start.since(bounds, pool, {}, {}).over(start)
    others = np.stack([pool.tables[0], pool.tables[0][:, ::-1]])
    assert pool.sets
    assert there.has_compared(others).tolist() == pool.has_compared(others).tolist()


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
