"""The table as a remedy: proposed only with the records, and only for a tree that grows from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kit.small_audits import pack_of
from tests.ppdm_models.methods.tpp.tpp_strategies import categories, numbers
from treewarden.audit.population.population import build_population
from treewarden.policies.judging.clause_evaluation import Clauses, leaves_of
from treewarden.policies.remedies import NoProposal, UsesTable, remedies
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.methods.tpp.sanitise import grouped
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.tree import Feature

REMEDY = remedies()["sanitize_tpp"]
RECORDS = {
    "age": [20, 22, 24, 26, 40, 42, 44, 46, 60, 62, 64, 66],
    "sex": list("fmfmfmfmfmfm"),
    "flu": ["no", "no", "no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes"],
}
TABLE = table_of(RECORDS)
THREE = pack_of(("k_anonymity", "at_least", 3))


def grown(splits=3):
    flu = TABLE.column(Feature("flu", numeric=False))
    columns = {
        "age": TABLE.column(Feature("age", True)),
        "sex": TABLE.column(Feature("sex", False)),
    }
    response = of_classes("flu", flu.codes, flu.categories)
    return BestFirst().growth(columns, response, splits).tree(splits)


def proposed(tree, pack=THREE, remedy=REMEDY):
    people = build_population(tree, TABLE, sensitive="flu")
    return list(remedy.propose(tree, people, pack))


def test_it_asks_for_the_table_and_proposes_nothing_without():
    assert isinstance(REMEDY, UsesTable)
    assert proposed(grown()) == []


def test_the_smaller_tree_comes_with_a_table_whose_groups_meet_the_clauses():
    tree = grown()
    (found,) = proposed(tree, remedy=REMEDY.using_table(TABLE))
    assert found.sanitised.groups.k >= 3
    assert found.sanitised.step.problems == ()
    assert len(found.model.leaves) < len(tree.leaves)
    kept = [(node.test, node.score, node.class_counts) for node in found.model.nodes]
    assert kept == [(n.test, n.score, n.class_counts) for n in found.sanitised.trees[0].nodes]


def test_a_tree_that_does_not_name_its_target_grows_again_for_the_sensitive_column():
    tree = replace(grown(), target="")
    (found,) = proposed(tree, remedy=REMEDY.using_table(TABLE))
    assert found.model.target == ""
    assert found.sanitised.trees[0].target == "flu"


def test_a_tree_whose_target_nobody_names_is_not_sanitised():
    tree = replace(grown(), target="")
    people = build_population(tree, TABLE, sensitive=None)
    (found,) = REMEDY.using_table(TABLE).propose(tree, people, THREE)
    assert "needs a target" in found.reason


def test_every_node_of_the_original_is_mapped_to_where_its_records_are_now():
    tree = grown()
    (found,) = proposed(tree, remedy=REMEDY.using_table(TABLE))
    people = build_population(tree, TABLE, sensitive="flu")
    now = route(found.model, people.columns)
    assert [found.node_map[leaf] for leaf in people.leaf] == now.tolist()


@pytest.mark.parametrize(
    ("change", "pack", "reason"),
    [
        ({"learner": replace(grown().learner, criterion=None)}, THREE, "names its criterion"),
        (
            {"learner": replace(grown().learner, min_leaf_records=5)},
            THREE,
            "gives another tree",
        ),
        ({}, pack_of(("k_anonymity", "at_least", 12)), "no split can be kept"),
    ],
)
def test_it_says_why_it_cannot_help(change, pack, reason):
    (found,) = proposed(replace(grown(), **change), pack, REMEDY.using_table(TABLE))
    assert isinstance(found, NoProposal)
    assert reason in found.reason


def test_rows_with_weights_are_not_sanitised():
    tree, rows = grown(), REMEDY.using_table(TABLE)
    people = build_population(tree, TABLE, sensitive="flu")
    (found,) = rows.propose(tree, replace(people, counts=2 * people.counts), THREE)
    assert "does not support weights" in found.reason


@pytest.mark.parametrize(
    ("clause", "lacks"),
    [
        (("k_anonymity", "at_least", 2), False),
        (("k_anonymity", "at_least", 3), True),
        (("distinct_diversity", "at_least", 2), True),
        (("label_disclosure", "at_most", 1.0), False),
        (("label_disclosure", "at_most", 0.9), True),
    ],
)
def test_clauses_about_leaves_are_held_against_groups(clause, lacks):
    groups = grouped({"n": numbers([1, 1, 2, 2, 2])}, categories("ppqpq"))
    assert bool(Clauses(pack_of(clause)).lack(groups)) is lacks


def test_groups_know_the_whole_table():
    groups = grouped({"n": numbers([1, 1, 2, 2, 2])}, categories("ppqpq"))
    assert leaves_of(groups).whole.tolist() == [3, 2]


def test_clauses_about_the_tree_as_a_whole_are_not_judged():
    clauses = Clauses(pack_of(("k_anonymity", "at_least", 2), ("confidence", "at_most", 0.5)))
    assert ([clause.measure for clause in clauses.judged], len(clauses.not_judged)) == (
        ["k_anonymity"],
        1,
    )
