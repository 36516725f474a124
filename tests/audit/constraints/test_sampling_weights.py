"""Survey weights: people are counted as people, and what the file publishes as sums of their weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.weighed_trees import (
    fitting_columns,
    leads,
    people_forced,
    people_of,
    weighed_tree,
)
from tests.kit.tiers import seeds
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.leaves import leaves_of
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)

LEAVES = Knowledge(split="none")
QUICK = AuditOptions(worlds_budget=5.0, jobs=1)
CALLS = tuple(
    MeasureCall(name) for name in ("k_anonymity", "certain_disclosure", "label_disclosure")
)


def audit_of(tree, people, knowledge=LEAVES, calls=CALLS):
    return run(tree, people, knowledge, calls, QUICK)


def reading(audit, name):
    return audit.full.readings[MeasureCall(name)].reading


def drawn(seed, choices):
    """Return ages, classes and weights of nine people."""
    draw = np.random.default_rng(seed)
    ages = draw.integers(20, 26, 9).astype(float).tolist()
    classes = ["no", "yes", *draw.choice(["no", "yes"], 7).tolist()]
    return ages, classes, draw.choice(choices, 9).tolist()


@pytest.mark.parametrize("choices", [[50.0, 20.0, 30.0], [1.5, 0.7, 2.25, 3.1], [1 / 3, 0.1, 0.7]])
@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_who_is_certain_is_who_has_one_class_in_every_table_that_fits(seed, choices):
    ages, classes, weights = drawn(seed, choices)
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
    columns = fitting_columns(tree, ages, weights)
    audit = audit_of(tree, people_of(tree, table))
    forced = people_forced(columns, ages, weights)
    assert reading(audit, "certain_disclosure") == Interval(forced, forced)
    assert not audit.full.dropped


@pytest.mark.parametrize("seed", range(4))
def test_a_label_leads_by_weight(seed):
    ages, classes, weights = drawn(seed, [1.5, 0.7, 2.25, 3.1])
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
    columns = fitting_columns(tree, ages, weights, leads)
    audit = audit_of(tree, people_of(tree, table), Knowledge(leaf="labels", split="none"))
    forced = people_forced(columns, ages, weights)
    assert reading(audit, "certain_disclosure") == Interval(forced, forced)


@pytest.mark.parametrize("known", [{"marginal": True}, {"accuracy": True}])
def test_what_is_known_over_all_is_known_of_people_and_of_weights(known):
    ages, classes, weights = drawn(3, [1.5, 0.7, 2.25])
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=2)
    people = people_of(tree, table)
    knowledge = Knowledge(leaf="labels", split="none", **known)
    case = Case(tree, people, members(tree, people.leaf), knowledge)
    rows = [row for row in build_system(case).rows if row.origin.constraint in known]
    assert [row.slack is None for row in rows] == [True, False]


OF_WHOLE_ROWS = {"records_rebuilt", "rebuilt_linkable", "columns_rebuilt"}
"""What these read is not told of a table with sampling weights, whatever they are."""


def test_equal_weights_prove_what_no_weights_prove():
    ages, classes, _ = drawn(5, [1.0])
    heavy, table = weighed_tree(ages, classes, [2.5] * 9, max_leaf_nodes=3)
    plain, _ = weighed_tree(ages, classes, [1.0] * 9, max_leaf_nodes=3)
    weighed = audit_of(heavy, people_of(heavy, table), Knowledge())
    bare = audit_of(plain, build_population(plain, table, sensitive="ill"), Knowledge())
    for asked, measured in bare.full.readings.items():
        if asked.measure not in OF_WHOLE_ROWS:
            assert weighed.full.readings[asked] == measured, asked
    assert weighed.full.solver.rows == bare.full.solver.rows


def test_splits_under_unequal_weights_are_not_used_and_the_audit_says_so():
    ages, classes, weights = drawn(0, [50.0, 20.0, 30.0])
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
    audit = audit_of(tree, people_of(tree, table), Knowledge())
    assert any("where sampling weights differ" in warning for warning in audit.warnings)


@pytest.mark.parametrize(
    "drawn_by", [range(3), pytest.param(range(3, 12), marks=pytest.mark.more_seeds)], ids=str
)
def test_what_splits_under_unequal_weights_may_prove_leaves_certainty_open_never_lower(drawn_by):
    settled = 0
    for seed in drawn_by:
        ages, classes, weights = drawn(seed, [1.0, 2.0, 2.0])
        tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
        people = people_of(tree, table)
        blind = reading(audit_of(tree, people, Knowledge(split="none")), "certain_disclosure")
        known = reading(audit_of(tree, people, Knowledge()), "certain_disclosure")
        assert known.low == blind.low
        assert known.high >= blind.high
        settled += known.high < people.records
    assert settled > 0


def test_shares_span_people_and_their_weights():
    tree, table = weighed_tree([20.0] * 4, ["no", "no", "no", "yes"], [1.0, 1.0, 1.0, 7.0])
    audit = audit_of(tree, people_of(tree, table))
    assert reading(audit, "k_anonymity") == Interval(4, 4)
    assert reading(audit, "label_disclosure") == Interval(0.25, 0.7)


def test_people_of_unequal_weight_are_told_apart():
    tree, table = weighed_tree([20.0] * 4, ["no", "no", "yes", "yes"], [1.0, 1.0, 1.0, 7.0])
    people = people_of(tree, table)
    assert people.counts.tolist() == [3, 1]
    assert people.describe(1) == "age = 20, sampling weight = 7"


def test_a_weighed_file_names_the_column_that_it_is_weighed_by():
    tree, table = weighed_tree([20.0, 30.0], ["no", "yes"], [1.5, 7.25])
    people = build_population(tree, table, sensitive="ill")
    assert any("--sampling-weights w" in warning for warning in people.warnings)


def test_sums_that_are_printed_with_few_digits_still_fit():
    ages, classes, weights = drawn(2, [1 / 3, 0.1234, 0.7])
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
    counts = [tuple(round(count, 2) for count in node.class_counts) for node in tree.nodes]
    nodes = [
        replace(node, class_counts=each, records=sum(each))
        for node, each in zip(tree.nodes, counts, strict=True)
    ]
    printed = replace(tree, nodes=tuple(nodes))
    audit = audit_of(printed, people_of(printed, table))
    assert not audit.full.dropped


def test_the_trees_of_an_ensemble_are_held_against_the_weights():
    tree, table = weighed_tree([20.0, 30.0, 30.0], ["no", "yes", "yes"], [1.5, 7.25, 2.0])
    ensemble = Ensemble(
        (Member(tree),),
        Combination.AVERAGE,
        tree.features,
        "ill",
        tree.classes,
        sampling=TreeSampling(resampled=False),
    )
    people = build_population(ensemble, table, sensitive="ill", sampling_weights="w")
    assert forest_of(ensemble, people, "table").leaves.records.tolist() == [1, 2]
    others = replace(people, weight=people.weight + 1.0)
    with pytest.raises(TableError, match="The model was trained with other weights"):
        forest_of(ensemble, others, "table")


def test_the_people_and_not_their_weights_are_what_a_leaf_holds():
    tree, table = weighed_tree([20.0, 20.0, 30.0], ["no", "yes", "yes"], [100.0, 90.0, 10.0])
    leaves = leaves_of(tree, people_of(tree, table))
    assert leaves.records.tolist() == [2, 1]
    assert np.array_equal(leaves.weighed, [[100, 90], [0, 10]])
    assert isinstance(leaves.published, Undetermined)
