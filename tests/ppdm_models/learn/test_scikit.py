"""scikit-learn's trees in the sanitiser: the same under every seed, or told which seed is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ppdm_models.methods.tpp.tpp_strategies import categories, classes, numbers
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import attributes_of, of_numbers
from treewarden.ppdm_models.methods.tpp.checks import MatrixColumn, Scikit, places_of
from treewarden.ppdm_models.methods.tpp.sanitise import Job, sanitise

pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")

RANDOM = np.random.default_rng(3)
AGE = RANDOM.integers(18, 80, 300)
COLUMNS = {
    "age": numbers(AGE),
    "sex": categories(RANDOM.choice(["f", "m"], 300).tolist()),
    "place": categories(RANDOM.choice(list("abcd"), 300).tolist()),
}
CODES = COLUMNS["place"].codes
Y = classes(
    [("y" if noise else "x") for noise in (AGE > 40) ^ (CODES == 2) ^ (RANDOM.random(300) < 0.1)]
)
HOURS = of_numbers("hours", np.round(AGE / 3 + 5 * (CODES == 1) + RANDOM.normal(size=300), 1))


def asked(tree):
    return [(node.test.feature, str(node.test)) for node in tree.nodes[1:]]


@pytest.mark.parametrize(
    ("response", "criterion"), [(Y, "gini"), (Y, "entropy"), (HOURS, "variance")]
)
def test_a_sanitised_table_grows_the_same_tree_under_every_seed(response, criterion):
    found = sanitise(
        COLUMNS, [Job(Scikit(criterion, 10), response)], COLUMNS["sex"], [], max_splits=4
    )
    assert len(found.steps) == 5
    assert all(not step.problems for step in found.steps)


@pytest.mark.parametrize(("response", "criterion"), [(Y, "gini"), (HOURS, "variance")])
def test_it_agrees_with_the_canonical_learner_where_nothing_ties(response, criterion):
    theirs = Scikit(criterion, 10).growth(COLUMNS, response, 3)
    own = BestFirst(criterion, min_leaf=10).growth(COLUMNS, response, 3)
    assert theirs.tied(3) == 0
    assert sorted(leaf.records for leaf in theirs.tree(3).leaves) == sorted(
        leaf.records for leaf in own.tree(3).leaves
    )


def test_a_tie_is_found_and_the_seed_that_shows_it_is_named():
    columns = {"one": numbers([1, 2, 3, 4]), "two": numbers([1, 2, 3, 4])}
    growth = Scikit(seeds=tuple(range(10))).growth(columns, classes("xxyy"), 1)
    with pytest.raises(
        LearnerError, match=r"with 2 leaves, .* different trees for the seeds 0 and \d"
    ):
        growth.tree(1)
    assert Scikit(seeds=(0,)).growth(columns, classes("xxyy"), 1).tied(1) == 1


def test_the_search_stops_where_the_seeds_part():
    columns = {"one": numbers([1, 2, 3, 4]), "two": numbers([1, 2, 3, 4])}
    learner = Scikit(seeds=tuple(range(10)))
    found = sanitise(columns, [Job(learner, classes("xxyy"))], categories("ppqq"), [], max_splits=3)
    assert found.best.step.splits == 0
    assert "grows different trees" in found.stopped


def test_two_categories_are_one_column_and_the_rest_that_stands_for_several_has_none():
    columns = {"n": numbers([1, 2, 3]), "two": categories("fmm"), "three": categories("*ab")}
    assert places_of(attributes_of(columns)) == (
        MatrixColumn("n"),
        MatrixColumn("two", "f"),
        MatrixColumn("three", "a"),
        MatrixColumn("three", "b"),
    )


@pytest.mark.parametrize(
    ("columns", "response", "criterion", "message"),
    [
        (
            {"n": numbers([0.1, 2])},
            classes("xy"),
            "gini",
            "record 1: scikit-learn compares numbers of 32 bits",
        ),
        ({"n": numbers([1, 2])}, classes("xy"), "variance", "the other"),
        ({"c": categories("**")}, classes("xy"), "gini", "every attribute has only one value"),
    ],
)
def test_what_scikit_learn_cannot_read_is_refused(columns, response, criterion, message):
    with pytest.raises(LearnerError, match=message):
        Scikit(criterion).growth(columns, response, 1)
