"""Forests whose leaves count people: what their counts prove together."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import FEATURES, by_sex, forest, stump
from tests.kit.small_audits import audit_model, read
from treewarden.audit.joint.leaf_facts import counted_sums
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Interval, Undetermined
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Node, Quality, Tree

AGES, SEX = [20, 20, 60, 60], list("FMFM")


def split_by_sex(female, male):
    """Return a tree on ``sex`` whose leaves hold these counts of no and yes."""
    leaves = [
        Node(i, str(i), 0, (), CategoryTest("sex", (sex,)), "no", float(sum(counts)), counts)
        for i, (sex, counts) in enumerate((("F", female), ("M", male)), 1)
    ]
    total = tuple(float(a + b) for a, b in zip(female, male, strict=True))
    root = Node(0, "0", None, (1, 2), records=sum(total), class_counts=total)
    return Tree((root, *leaves), FEATURES, "flu", ("no", "yes"), quality=Quality.EXACT)


def split_by_age(young, old):
    """Return a tree on ``age`` whose leaves hold these counts of no and yes."""
    tree = stump(40.0, "no", "no", counts=(2.0, 2.0))
    nodes = list(tree.nodes)
    for at, counts in ((1, young), (2, old)):
        nodes[at] = Node(at, str(at), 0, (), nodes[at].test, "no", 2.0, counts)
    return Tree(tuple(nodes), FEATURES, "flu", ("no", "yes"), quality=Quality.EXACT)


def audited(flu, *trees):
    table = table_of({"age": AGES, "sex": SEX, "flu": flu})
    model = forest(*trees)
    return audit_model(model, table, "flu", options=AuditOptions(worlds_budget=5.0)).full.evidence


def by_person(evidence, values):
    columns = evidence.population.columns
    return {
        (columns["age"].text(row), columns["sex"].text(row)): values[row]
        for row in range(len(evidence.population.counts))
    }


def test_counts_that_leave_everything_open_leave_a_half_each():
    flu = ["yes", "no", "no", "yes"]
    evidence = audited(flu, split_by_age((1, 1), (1, 1)), split_by_sex((1, 1), (1, 1)))
    assert evidence.posterior.values == pytest.approx(0.5, abs=1e-6)
    assert not evidence.worlds.certain.any()
    assert not evidence.worlds.open_profiles.any()


def test_two_trees_prove_what_neither_does_alone():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((1, 1), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert evidence.worlds.certain.all()
    said = by_person(evidence, evidence.worlds.certain_class)
    assert said == {("20", "F"): 1, ("20", "M"): 0, ("60", "F"): 0, ("60", "M"): 0}
    assert evidence.together.recovered_share == 1.0
    assert by_person(evidence, evidence.together.by_leaf)["20", "F"] == np.False_


def test_labels_of_several_trees_are_believed_as_those_of_one_are():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((1, 1), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert not isinstance(evidence.together, Undetermined)
    taken = read("label_disclosure", evidence)
    assert taken.reading == Interval(1, 1)
    assert [spot.low for spot in taken.spots] == [1, 1, 0.5, 0.5]


def test_a_withheld_count_is_bounded_by_the_rest():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((None, None), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert evidence.together.recovered_share == 0.75
    assert evidence.worlds.certain.all()


@pytest.mark.parametrize(
    ("trees", "reason"),
    [
        ((by_sex("yes", "no"),), "class counts of leaves"),
        ((stump(40.0, "no", "yes", counts=(2.0, 2.0)),), "class counts of leaves"),
    ],
)
def test_labels_alone_are_no_counts(trees, reason):
    table = table_of({"age": AGES, "sex": SEX, "flu": ["yes", "no", "no", "no"]})
    model = forest(*trees)
    people = build_population(model, table, sensitive="flu")
    found = counted_sums(forest_of(model, people), people)
    assert isinstance(found, Undetermined)
    assert reason in found.reason


@pytest.mark.parametrize(("above", "is_complete"), [((2.0, 2.0), False), (None, True)])
def test_counts_above_withheld_ones_may_tell_more_than_is_used(above, is_complete):
    table = table_of({"age": AGES, "sex": SEX, "flu": ["yes", "no", "no", "yes"]})
    tree = split_by_sex((1, 1), (1, 1))
    root, first, second = tree.nodes
    hidden = replace(first, class_counts=(None, None))
    model = forest(replace(tree, nodes=(replace(root, class_counts=above), hidden, second)))
    people = build_population(model, table, sensitive="flu")
    found = counted_sums(forest_of(model, people), people)
    assert (found.low < found.high).any()
    assert found.is_complete is is_complete
