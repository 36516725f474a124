"""Whoever is alone in a leaf: which value the leaf then says, of classes and of the numbers of summed models."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import forest, stump
from tests.kit.small_audits import bounds, evidence_of, flat_tree, people_of, read
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures._leaf_people import (
    SINGLE_PRECISION,
    Alone,
    _class,
    _EarlierTrees,
    _same,
    _start,
    alone,
    number_of,
)
from treewarden.audit.measures.exposed_values import _spots
from treewarden.audit.measures.guess_accuracy import _right
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import MOST_SPOTS, Interval, Undetermined
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Member, Shrinkage
from treewarden.ppdm_models.tree.tree import Node, Quality

NOT_SOLVED = Undetermined("not solved")


def evidence_about(model, target):
    """Return evidence of a model about two people, of 20 and 60 years."""
    people = build_population(
        model, table_of({"age": [20, 60], "sex": ["F", "M"], "flu": target}), sensitive="flu"
    )
    return Evidence(forest_of(model, people), people, Knowledge(), NOT_SOLVED, NOT_SOLVED)


def summed(*trees, weight=1.0, output=None, **changes):
    """Return a model that adds up the numbers of trees."""
    model = forest(*trees, combination=Combination.SUM, **changes)
    return replace(model, members=tuple(Member(tree, weight, output) for tree in trees))


def test_a_leaf_of_one_record_shows_its_label():
    tree = flat_tree([[1, 0], [0, 1], [4, 4]])
    assert read("exposed_values", evidence_of(tree)).reading == Interval(2, 2)
    other = flat_tree([[1, 0], [0, 1], [4, 4]], labels=["c1", "c1", "c0"])
    assert read("exposed_values", evidence_of(other, people_of(tree))).reading == Interval(1, 2)


def test_whoever_is_told_comes_first_among_more_places_than_a_reading_holds():
    places = np.arange(MOST_SPOTS + 1)
    spots = _spots(Alone(0, nodes=places, profiles=places, told=places == MOST_SPOTS))
    assert len(spots) == MOST_SPOTS
    assert [spot.low for spot in spots[:2]] == [1.0, 0.0]


def test_a_leaf_without_label_and_counts_shows_nothing():
    tree = flat_tree([[1, 0], [4, 4]])
    bare = Node(1, "1", 0, (), score="unknown", records=1.0)
    assert _class(evidence_of(tree), None, 0, tree, bare) == -1


def test_the_number_of_a_node_is_its_only_output_or_its_score():
    assert number_of(Node(0, "0", None, (), outputs=(2.5,))) == 2.5
    assert np.isnan(number_of(Node(0, "0", None, (), outputs=(2.5, 1.0))))
    assert number_of(Node(0, "0", None, (), score=4.0)) == 4
    assert np.isnan(number_of(Node(0, "0", None, (), score="yes")))


@pytest.mark.parametrize(("weight", "target"), [(1.0, [2.0, 6.0]), (0.5, [1.0, 3.0])])
def test_a_leaf_of_a_sum_shows_its_number_as_it_is_or_as_it_is_weighted(weight, target):
    model = summed(stump(40.0, 2.0, 6.0), weight=weight)
    for values, told in ((target, [True, True]), ([2.0, 5.0], [True, False])):
        (found,) = alone(evidence_about(model, values))
        assert found.told.tolist() == told


@pytest.mark.parametrize(("output", "told"), [(None, [0, 1]), (1, [0, 1]), (0, [1, 0])])
def test_the_sign_of_a_number_says_which_of_two_classes_it_is_for(output, told):
    model = summed(stump(40.0, -2.0, 6.0), output=output, classes=("no", "yes"))
    evidence = evidence_about(model, ["no", "yes"])
    tree, before = evidence.trees[0], _EarlierTrees(evidence)
    assert [_class(evidence, before, 0, tree, tree.nodes[leaf]) for leaf in (1, 2)] == told


def test_the_first_tree_says_where_a_model_starts_only_if_all_its_leaves_are_counted():
    how = Shrinkage(0.1, 1.0, starts_inside=True)
    counted = stump(40.0, 2.0, 6.0, counts=(3.0, 4.0))
    assert _start(how, counted) == pytest.approx((4 * 2 + 5 * 6) / 9)
    assert np.isnan(_start(how, replace(counted, quality=Quality.WEIGHTED)))
    assert np.isnan(_start(how, stump(40.0, 2.0, 6.0, quality=Quality.EXACT)))


def test_numbers_are_the_same_as_far_as_single_precision_tells():
    near, size = 0.9 * SINGLE_PRECISION, np.array([0.0, 0.0, 100.0, 100.0])
    others = np.array([near, 1.2 * near, 100 + 100 * near, 100 + 120 * near])
    assert _same(size, others, size).tolist() == [True, False, True, False]


def test_whoever_may_be_guessed_is_told_by_the_high_ends():
    open_ends = bounds([[0.4, 0.3], [0.9, 0.0]], [[0.7, 0.6], [1.0, 0.1]])
    assert _right(open_ends, np.array([[3.0, 1.0], [2.0, 5.0]])) == (1 + 2, 3 + 2)
