"""Sampling weights: leaves that sum them tell people apart who weigh something else, of several trees and releases."""

import numpy as np
import pytest

from tests.kit.forests import FEATURES, forest
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.releases import ReleaseCase, run_releases
from treewarden.audit.run import run
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Node, Quality, Task, Tree

AGES, SEX = [20, 20, 60, 60], list("FMFM")
FLU, SIZES = ["yes", "no", "no", "yes"], [1, 3, 2, 8]
OPTIONS = AuditOptions(worlds_budget=5.0)
BY_AGE = NumericTest("age", high=40.0), NumericTest("age", 40.0, low_closed=True)
BY_SEX = CategoryTest("sex", ("F",)), CategoryTest("sex", ("M",))
PEOPLE = {BY_AGE: [(0, 1), (2, 3)], BY_SEX: [(0, 2), (1, 3)]}


def split_by(tests, weights, target, name):
    """Return a tree of two leaves that publish sums of their people's weights, or the weighed mean of their sizes."""
    leaves = []
    for index, (test, here) in enumerate(zip(tests, PEOPLE[tests], strict=True), 1):
        if target == "size":
            own = [weights[person] for person in here]
            mean = float(np.average([SIZES[person] for person in here], weights=own))
            leaves.append(Node(index, str(index), 0, (), test, mean))
            continue
        counts = tuple(
            float(sum(weights[person] for person in here if FLU[person] == klass))
            for klass in ("no", "yes")
        )
        leaves.append(Node(index, str(index), 0, (), test, "no", sum(counts), counts))
    classes = () if target == "size" else ("no", "yes")
    task = Task.REGRESSION if target == "size" else Task.CLASSIFICATION
    said = {"task": task, "quality": Quality.WEIGHTED, "source": name}
    return Tree((Node(0, "0", None, (1, 2)), *leaves), FEATURES, target, classes, **said)


def people_of(model, weights, target):
    columns = {
        "id": list("1234"),
        "age": AGES,
        "sex": SEX,
        target: FLU if target == "flu" else SIZES,
    }
    table = table_of({**columns, "w": weights})
    how = {"sensitive": target, "qi": ("age", "sex"), "sampling_weights": "w"}
    return table, build_population(model, table, **how)


def of_forest(weights, target="flu"):
    """Return what is known of two trees in one model."""
    trees = [split_by(tests, weights, target, "forest.json") for tests in (BY_AGE, BY_SEX)]
    model = forest(*trees, target=target)
    _, people = people_of(model, weights, target)
    return run(model, people, Knowledge(), options=OPTIONS).full.evidence


def of_releases(first, second, target="flu"):
    """Return what is known of two trees that are releases of their own, each with weights of its own."""
    cases, tables = [], []
    for tests, weights in ((BY_AGE, first), (BY_SEX, second)):
        model = split_by(tests, weights, target, f"release{len(cases)}.json")
        table, people = people_of(model, weights, target)
        cases.append(ReleaseCase(model, people, ()))
        tables.append(table)
    models, people = [case.model for case in cases], [case.population for case in cases]
    linked = shared_people(models, tables, people, "id")
    return run_releases(cases, linked, Knowledge(), options=OPTIONS).full.evidence


def test_leaves_that_sum_equal_weights_leave_everybody_open():
    evidence = of_forest([2.5] * 4)
    assert not evidence.worlds.certain.any()
    assert not evidence.worlds.left
    assert np.allclose(evidence.posterior.values, 0.5)


def test_unequal_weights_say_who_it_was():
    evidence = of_forest([60.0, 50.0, 40.0, 30.0])
    assert evidence.worlds.certain.all()
    assert all(why.endswith("leaves no other value") for why in evidence.worlds.reasons.values())


def test_weights_of_two_decimals_are_exact():
    evidence = of_forest([1.37, 1.36, 1.37, 1.37])
    certain = evidence.worlds.certain[np.argsort(evidence.population.columns["age"].numbers)]
    assert certain[:2].all()
    assert not evidence.worlds.left


def test_weights_that_are_no_decimals_prove_but_leave_open_what_they_do_not_prove():
    third = 1 / 3
    proved, open_ = of_forest([third, 2 * third, third, 2 * third]), of_forest([third] * 4)
    assert proved.worlds.certain.all()
    assert open_.worlds.open_profiles.all()
    assert isinstance(open_.posterior, Undetermined)


def test_releases_with_weights_are_joined():
    alike = of_releases([1.0] * 4, [1.0] * 4)
    assert not alike.worlds.certain.any()
    assert not alike.worlds.open_profiles.any()
    assert of_releases([1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]).worlds.certain.all()


def test_somebody_who_weighs_something_else_in_another_release_is_told_apart():
    evidence = of_releases([1.0, 1.0, 1.0, 2.0], [1.0] * 4)
    assert evidence.worlds.certain.all()
    assert "sampling weight in release0.json" in evidence.population.qi


@pytest.mark.parametrize(
    "found", [of_forest, lambda weights, target: of_releases(weights, weights, target)]
)
def test_weighed_means_of_numbers_prove_what_sums_of_them_do(found):
    # Of two people whose weights are 1 and 2 the mean is 7/3: one and three, as no other numbers from 1 to 8 are.
    numbers = found([1.0, 2.0, 1.0, 2.0], "size").numbers
    plain = found([1.0] * 4, "size").numbers
    assert (numbers.width <= plain.width).all()
    assert numbers.width.sum() < plain.width.sum()
    true = np.array(SIZES, dtype=float)
    assert sorted(numbers.low) <= sorted(true)
    assert (numbers.low <= numbers.reached_low).all()
