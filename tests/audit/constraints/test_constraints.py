"""Rows: which candidates a family holds, what is dropped, and that every plug-in is one."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.cases import multiway_case
from treewarden.audit import constraints
from treewarden.audit.constraints import Constraint
from treewarden.audit.constraints.inner_label import CONSTRAINT as INNER_LABEL
from treewarden.audit.exposures import _empty_leaves
from treewarden.audit.facts.impurity_rows import excess
from treewarden.audit.facts.rows import Case, Grouping, LeftOut, Linear, Plurality, branch_of_bins
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.plugins import discover
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    CLASS_WEIGHT,
    NOISE,
    Criterion,
    Feature,
    Learner,
    Node,
    Tree,
)

CONSTRAINTS = discover(constraints, "CONSTRAINT", Constraint)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_constraint_says_nothing_that_the_true_table_breaks_without_it_being_dropped(name):
    known = Knowledge(leaf="counts", split="entropy", marginal=True, accuracy=True)
    case = multiway_case(1, known)
    truth = case.population.truth
    system = build_system(case)
    kept = [row for row in system.rows if row.origin.constraint == name]
    assert all(system.kind(row).broken(case, row, truth).max() <= 1e-9 for row in kept)


def stump(test: object, other: object, features: tuple[Feature, ...], **learner: object) -> Tree:
    nodes = (
        Node(0, "root", None, (1, 2)),
        Node(1, "a", 0, (), test, "no"),
        Node(2, "b", 0, (), other, "yes"),
    )
    return Tree(nodes, features, "y", ("no", "yes"), learner=Learner(Criterion.GINI, **learner))


def families(tree: Tree, columns: dict[str, list[object]]) -> dict[str, object]:
    population = build_population(tree, table_of(columns), sensitive="y")
    case = Case(tree, population, members(tree, population.leaf), Knowledge(split="gini"))
    rows = CONSTRAINTS["split_choice"].rows(case)
    return {row.attribute: row for row in rows}


def test_thresholds_lie_between_neighbouring_values_and_leave_the_chosen_one_out():
    features = (Feature("age", numeric=True), Feature("pay", numeric=True))
    tree = stump(
        NumericTest("age", high=2.5), NumericTest("age", low=2.5, low_closed=True), features
    )
    found = families(
        tree, {"age": [1, 2, 3, 4], "pay": [5, 7, 5, 9], "y": ["no", "no", "yes", "yes"]}
    )
    assert found["age"].admissible.tolist() == [0, 2]
    assert found["pay"].admissible.tolist() == [0, 1]
    assert found["pay"].grouping is Grouping.THRESHOLD


def test_candidates_respect_the_smallest_leaf():
    features = (Feature("age", numeric=True), Feature("pay", numeric=True))
    tree = stump(
        NumericTest("age", high=2.5),
        NumericTest("age", low=2.5, low_closed=True),
        features,
        min_leaf_records=2,
    )
    found = families(
        tree, {"age": [1, 2, 3, 4], "pay": [5, 9, 6, 7], "y": ["no", "no", "yes", "yes"]}
    )
    assert found["pay"].admissible.tolist() == [1]
    assert "age" not in found


def test_sets_against_sets_make_every_subset_a_candidate():
    features = (Feature("town", numeric=False, values=("a", "b", "c", "d")),)
    sides = CategoryTest("town", ("a", "b")), CategoryTest("town", ("c", "d"))
    tree = stump(*sides, features, tool=Tool.RPART)
    found = families(tree, {"town": ["a", "b", "c", "d"], "y": ["no", "no", "yes", "yes"]})
    assert found["town"].grouping is Grouping.SUBSET
    assert len(found["town"].admissible) == 2**3 - 1 - 1


def test_one_value_against_the_rest_makes_one_candidate_per_value():
    features = (Feature("town", numeric=False, values=("a", "b", "c")),)
    tree = stump(CategoryTest("town", ("a",)), CategoryTest("town", ("a",), negated=True), features)
    found = families(tree, {"town": ["a", "b", "c", "c"], "y": ["no", "no", "yes", "yes"]})
    assert found["town"].grouping is Grouping.ONE_AGAINST_REST
    assert found["town"].admissible.tolist() == [1, 2]


@pytest.mark.parametrize(
    "grouping", [Grouping.THRESHOLD, Grouping.ONE_AGAINST_REST, Grouping.SUBSET]
)
@pytest.mark.parametrize("criterion", list(Criterion))
def test_the_sweep_over_a_family_equals_one_candidate_at_a_time(grouping, criterion):
    draw = np.random.default_rng(3)
    features = (Feature("age", numeric=True), Feature("town", numeric=False, values=tuple("abcd")))
    first, second = NumericTest("age", high=4.5), NumericTest("age", low=4.5, low_closed=True)
    if grouping is Grouping.SUBSET:
        first, second = CategoryTest("town", ("a", "b")), CategoryTest("town", ("c", "d"))
    if grouping is Grouping.ONE_AGAINST_REST:
        first, second = CategoryTest("town", ("a",)), CategoryTest("town", ("a",), negated=True)
    columns = {
        "age": draw.integers(10, size=40).tolist(),
        "town": [*"abcd", *draw.choice(list("abcd"), size=36)],
        "y": ["no", "yes"] * 20,
    }
    tool = Tool.RPART if grouping is Grouping.SUBSET else Tool.UNKNOWN
    tree = stump(first, second, features, tool=tool)
    population = build_population(tree, table_of(columns), sensitive="y")
    knowledge = Knowledge(split=criterion.value)
    case = Case(tree, population, members(tree, population.leaf), knowledge)
    mass = draw.random(population.truth.shape) * population.counts[:, None]
    mass *= (population.counts / mass.sum(axis=1))[:, None]
    seen = 0
    for family in CONSTRAINTS["split_choice"].rows(case):
        if isinstance(family, LeftOut):
            continue
        for code, value in zip(family.admissible, excess(family, mass), strict=True):
            side = branch_of_bins(family.grouping, int(code), len(family.bin_names))[family.bins]
            assert value == pytest.approx(
                by_hand(criterion, mass[family.profiles], family.chosen, side), abs=1e-12
            )
            seen += family.grouping is grouping
    assert seen > 0


def by_hand(criterion: Criterion, mass: np.ndarray, chosen: np.ndarray, side: np.ndarray) -> float:
    def after(branch: np.ndarray) -> tuple[float, float]:
        impurity, information = 0.0, 0.0
        for b in set(branch.tolist()):
            part = mass[branch == b].sum(axis=0)
            share, p = part.sum() / mass.sum(), part / part.sum()
            impurity += share * (
                1 - (p**2).sum() if criterion is Criterion.GINI else -(p * np.log(p)).sum()
            )
            information -= share * np.log(share)
        return impurity, information

    (e_chosen, i_chosen), (e_side, i_side) = after(chosen), after(side)
    if criterion is not Criterion.GAIN_RATIO:
        return e_chosen - e_side
    before, _ = after(np.zeros_like(chosen))
    return i_side * ((before - e_side) / i_side - (before - e_chosen) / i_chosen)


def test_a_split_that_the_true_table_contradicts_is_dropped_with_the_likely_cause():
    features = (Feature("age", numeric=True), Feature("pay", numeric=True))
    tree = stump(
        NumericTest("age", high=2.5), NumericTest("age", low=2.5, low_closed=True), features
    )
    columns = {"age": [1, 2, 3, 4], "pay": [1, 9, 1, 9], "y": ["no", "yes", "no", "yes"]}
    population = build_population(tree, table_of(columns), sensitive="y")
    system = build_system(
        Case(tree, population, members(tree, population.leaf), Knowledge(split="gini"))
    )
    said = [drop for drop in system.dropped if drop.constraint == "split_choice"]
    assert said
    assert "chose at random" in said[0].problem
    assert not any(drop.is_published for drop in said)


def test_published_counts_that_the_table_contradicts_are_dropped_as_published():
    case = multiway_case(1, Knowledge(split="none"))
    swapped = tuple(
        Node(
            n.index,
            n.name,
            n.parent,
            n.children,
            n.test,
            n.score,
            n.records,
            n.class_counts and n.class_counts[::-1],
        )
        for n in case.tree.nodes
    )
    tree = Tree(swapped, case.tree.features, case.tree.target, case.tree.classes)
    system = build_system(Case(tree, case.population, case.members, Knowledge(split="none")))
    assert any(drop.is_published for drop in system.dropped)


def test_a_label_that_is_not_the_plurality_is_dropped():
    features = (Feature("age", numeric=True),)
    tree = stump(
        NumericTest("age", high=2.5), NumericTest("age", low=2.5, low_closed=True), features
    )
    columns = {"age": [1, 2, 3, 4], "y": ["yes", "yes", "yes", "no"]}
    population = build_population(tree, table_of(columns), sensitive="y")
    system = build_system(
        Case(tree, population, members(tree, population.leaf), Knowledge(split="none"))
    )
    assert [row.node for row in system.rows if isinstance(row, Plurality)] == [2]
    assert "weighted classes by cost or prior" in system.dropped[0].problem


def test_labels_and_empty_leaves_of_a_tree_that_saw_noise_are_no_claims_about_true_records():
    features = (Feature("age", numeric=True),)
    tests = NumericTest("age", high=9), NumericTest("age", low=9, low_closed=True)
    table = table_of({"age": [1, 2, 3, 4], "y": ["yes", "yes", "yes", "no"]})
    for unmodelled, rows, contradictions in (((), 1, 1), ((NOISE,), 0, 0)):
        tree = stump(*tests, features, unmodelled=unmodelled)
        population = build_population(tree, table, sensitive="y")
        case = Case(tree, population, members(tree, population.leaf), Knowledge(split="none"))
        found = [*CONSTRAINTS["leaf_label"].rows(case), *CONSTRAINTS["inner_label"].rows(case)]
        assert sum(isinstance(row, Plurality) for row in found) == rows
        assert [row.is_open for row in found if isinstance(row, LeftOut)] == [True] * (1 - rows)
        assert len(list(_empty_leaves(tree, population))) == contradictions


def labelled(first: list[str], second: list[str], **learner: object) -> Case:
    """Return people in two leaves, every node of their tree labelled "a", of the classes a, b and c."""
    tests = NumericTest("age", high=2), NumericTest("age", low=2, low_closed=True)
    nodes = (
        Node(0, "root", None, (1, 2), score="a"),
        Node(1, "first", 0, (), tests[0], "a"),
        Node(2, "second", 0, (), tests[1], "a"),
    )
    told = Learner(Criterion.GINI, **learner)
    tree = Tree(nodes, (Feature("age", True),), "y", ("a", "b", "c"), learner=told)
    ages = [1] * len(first) + [3] * len(second)
    people = build_population(tree, table_of({"age": ages, "y": first + second}), sensitive="y")
    return Case(tree, people, members(tree, people.leaf), Knowledge(split="none"))


def test_the_label_of_all_who_pass_is_said_where_that_of_one_leaf_is_not_true():
    def linear(case):
        return [row for row in INNER_LABEL.rows(case) if isinstance(row, Linear)]

    second = ["a", "a", "a", "a"]
    assert linear(labelled(["a", "a", "b", "c"], second)) == []
    # In the first leaf b is more frequent than a, and c is not.
    rows = linear(labelled(["a", "b", "b"], second))
    assert [row.classes.tolist() for row in rows] == [[0, 0, 1, 1], [0, 0, 2, 2]]


@pytest.mark.parametrize("setting", [CLASS_WEIGHT, NOISE])
def test_labels_of_weighed_classes_and_of_noise_do_not_tell_which_is_the_most_frequent(setting):
    leaves = ["a", "b", "b"], ["a", "a", "a", "a"]
    assert list(INNER_LABEL.rows(labelled(*leaves)))
    assert list(INNER_LABEL.rows(labelled(*leaves, unmodelled=(setting,)))) == []


def test_the_label_of_all_who_pass_leads_by_one_record_where_labels_are_strict():
    case = labelled(["a", "b", "b"], ["a", "a", "a", "a"])
    strict = replace(case, knowledge=Knowledge(split="none", strict_labels=True))
    assert [row.low for row in INNER_LABEL.rows(case) if isinstance(row, Linear)] == [0, 0]
    assert [row.low for row in INNER_LABEL.rows(strict) if isinstance(row, Linear)] == [1, 1]
