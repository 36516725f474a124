"""Reports of an ensemble: which tree is meant, which is drawn, and what the file gives away beside them."""

from __future__ import annotations

import pytest

from tests.kit.forests import forest, stump
from tests.kit.small_audits import pack_of
from tests.reports.forms import FULL
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.reports.building.adversaries import leaf_cases
from treewarden.reports.renderers import renderer


def shown(document, form):
    return renderer(form).render(document).decode()


def test_a_place_names_its_tree(several_trees):
    places = several_trees.findings[0].where
    assert [(place.tree, place.node) for place in places] == [
        (1, "tree 2: 2"),
        (0, "tree 1: 1"),
        (0, "tree 1: 2"),
        (1, "tree 2: 1"),
    ]
    assert places[0].path == "age ≥ 70"


def test_the_tree_with_the_smallest_leaf_is_drawn_and_only_its_leaves_are_marked(several_trees):
    assert (
        several_trees.model.drawn
        == "The picture shows tree 2 of 2, the one with the smallest leaf."
    )
    assert [node.risk for node in several_trees.tree] == ["none", "fail", "fail"]
    assert several_trees.model.drawn in shown(several_trees, "html")


def test_the_model_is_counted_with_all_its_trees(several_trees):
    model = several_trees.model
    assert (model.trees, model.nodes, model.leaves) == (2, 6, 4)
    assert model.combination == "majority-vote"
    assert "by 2 trees (majority-vote)" in shown(several_trees, "html")


def test_a_leak_stands_with_its_place_in_the_file(several_trees):
    place = several_trees.findings[1].where[0]
    assert (place.kind, place.node, place.path) == ("file", "person", "line 2")
    assert "person, line 2: the login name of its author" in shown(several_trees, "text")


@pytest.mark.parametrize("form", FULL)
def test_what_is_not_computed_is_said(several_trees, form):
    assert "its trees could not be combined" in " ".join(shown(several_trees, form).split())


def test_how_often_all_trees_together_are_right_is_a_fact(several_trees):
    rows = {row.name: row.text for row in several_trees.population.shares}
    assert rows["Predicted right by all trees together"].endswith(" %")


def test_repairing_an_ensemble_is_advised_before_training_it_anew(several_trees):
    said = " ".join(several_trees.next_steps)
    assert "treewarden repair" in said
    assert "larger leaves" in said


def test_the_worst_leaves_are_of_different_people_though_trees_have_the_same_leaf():
    ensemble = forest(stump(70.0, "no", "yes"), stump(70.0, "no", "yes"), stump(40.0, "no", "yes"))
    columns = {"age": [20, 30, 50, 60, 80], "sex": list("FMFMF"), "flu": ["no", "yes"] * 2 + ["no"]}
    people = build_population(ensemble, table_of(columns), sensitive="flu")
    pack = pack_of(("k_anonymity", "at_least", 5))
    audit = run(ensemble, people, Knowledge(), calls(pack))
    cases = leaf_cases(audit.full.evidence, judge(audit, pack)).told
    assert [case.path for case in cases[:3]] == ["age ≥ 70", "age < 40", "age ≥ 40"]
    assert sorted(case.path for case in cases[3:]) == ["age < 70", "age < 70", "age ≥ 70"]
