"""Which splits on known columns bind: those that the learner surely compared, and that the true table bears out."""

from dataclasses import replace

import numpy as np
import pytest

from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import sure_splits
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.nodes import Criterion
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature, Learner, Node, Quality, Tree

GINI = Knowledge(split=SplitLevel.GINI)
NONE = Knowledge(split=SplitLevel.NONE)


def by_h(ages, learner):
    """Return a tree that asks about h alone, and its 16 people: below six of eight are of class 0, above two."""
    table = table_of(
        {"h": [1] * 8 + [9] * 8, "age": ages, "y": ["0"] * 6 + ["1"] * 2 + ["0"] * 2 + ["1"] * 6}
    )
    nodes = (
        Node(0, "r", None, (1, 2), Always(), "0", 16.0, (8.0, 8.0)),
        Node(1, "l", 0, (), NumericTest("h", high=5.0, high_closed=True), "0", 8.0, (6.0, 2.0)),
        Node(2, "a", 0, (), NumericTest("h", low=5.0), "1", 8.0, (2.0, 6.0)),
    )
    features = (Feature("h", True), Feature("age", True))
    tree = Tree(nodes, features, "y", ("0", "1"), quality=Quality.EXACT, learner=learner)
    return tree, build_population(tree, table, sensitive="y")


def sure(tree, population, known=("age",)):
    case = Case(tree, replace(population, qi=tuple(known)), members(tree, population.leaf), GINI)
    return sure_splits(case)


EVEN = [20, 30] * 8
SEVERAL = [20, 21, 30, 40] * 4


def test_programs_that_try_each_cut_bind_each_that_parts_enough_people():
    found = sure(*by_h(SEVERAL, Learner(tool=Tool.RPART, criterion=Criterion.GINI)))
    assert found[0, "age"].tolist() == [True, True, True]
    learner = Learner(tool=Tool.RPART, criterion=Criterion.GINI, min_leaf_records=5)
    assert sure(*by_h(SEVERAL, learner))[0, "age"].tolist() == [False, True, False]


@pytest.mark.parametrize(("smallest", "binds"), [(1, True), (2, False)])
def test_sets_of_rpart_bind_only_where_no_category_can_be_too_small(smallest, binds):
    # How many people of each age are at a node, nobody knows who does not know h.
    learner = Learner(tool=Tool.RPART, criterion=Criterion.GINI, min_leaf_records=smallest)
    tree, population = by_h([str(age) for age in SEVERAL], learner)
    ages = Feature("age", False, ("20", "21", "30", "40"))
    tree = replace(tree, features=(tree.features[0], ages))
    assert ((0, "age") in sure(tree, population)) is binds


@pytest.mark.parametrize(
    "learner",
    [
        Learner(tool=Tool.SPARK, max_bins=2),
        Learner(tool=Tool.WEKA),
        Learner(tool=Tool.RPART, unmodelled=("monotonic_cst",)),
    ],
)
def test_cuts_that_a_learner_may_not_have_compared_bind_nothing(learner):
    tree, population = by_h(SEVERAL, learner)
    assert not any(each.any() for each in sure(tree, population).values())
    # Believing that the young are of class 0 would break the row that binds the others.
    seen, without = (
        infer_target(TreeContext(tree, population, each), ["age"], clock(5.0))
        for each in (GINI, NONE)
    )
    assert np.array_equal(seen.posterior.values, without.posterior.values)


def test_numbers_that_the_learner_takes_for_one_are_not_parted():
    near = [20.0, 20.0 + 1e-9, 30.0, 40.0] * 4
    tree, population = by_h(near, Learner(tool=Tool.SCIKIT_LEARN, criterion=Criterion.GINI))
    tree = replace(tree, features=tuple(replace(each, single=True) for each in tree.features))
    assert sure(tree, population)[0, "age"].tolist() == [False, True, True]


def test_what_the_true_table_shows_to_be_better_is_no_fact():
    # Of those of class 0 all are young, of those of class 1 all are old: age would part them, and was not chosen.
    ages = [20] * 6 + [30] * 2 + [20] * 2 + [30] * 6
    tree, population = by_h(ages, Learner(tool=Tool.RPART, criterion=Criterion.GINI))
    assert sure(tree, population)[0, "age"].tolist() == [False]
    seen = infer_target(TreeContext(tree, population, GINI), ["age"], clock(5.0))
    assert seen.posterior.values == pytest.approx(np.full((2, 2), 0.5))
    unknown = replace(population, truth=Undetermined("not known"))
    assert sure(tree, unknown)[0, "age"].tolist() == [True]


def test_attributes_that_were_used_above_are_not_compared_again():
    table = table_of(
        {"town": ["n", "s"] * 8, "h": [1] * 8 + [9] * 8, "y": ["0"] * 6 + ["1"] * 4 + ["0"] * 6}
    )
    nodes = (
        Node(0, "r", None, (1, 4), Always(), "0", 16.0, (12.0, 4.0)),
        Node(1, "n", 0, (2, 3), CategoryTest("town", frozenset({"n"})), "0", 8.0, (6.0, 2.0)),
        Node(2, "nl", 1, (), NumericTest("h", high=5.0, high_closed=True), "0", 4.0, (3.0, 1.0)),
        Node(3, "nh", 1, (), NumericTest("h", low=5.0), "0", 4.0, (3.0, 1.0)),
        Node(4, "s", 0, (), CategoryTest("town", frozenset({"s"})), "0", 8.0, (6.0, 2.0)),
    )
    features = (Feature("town", False, ("n", "s")), Feature("h", True))
    learner = Learner(tool=Tool.TREEWARDEN, multiway=True)
    tree = Tree(nodes, features, "y", ("0", "1"), quality=Quality.EXACT, learner=learner)
    population = build_population(tree, table, sensitive="y")
    assert set(sure(tree, population, ["town", "h"])) <= {(0, "town"), (0, "h"), (1, "h")}
