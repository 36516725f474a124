"""Who is certain, and how many are proved together: a fact about many, or about a few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import evidence_of, flat_tree, only_world, people_of, read
from treewarden.audit.evidence import NOT_RUN
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Interval
from treewarden.ppdm_models.tree.column import CategoricalColumn


def small(evidence, size):
    return read("certain_in_small_groups", evidence, size=float(size))


@pytest.mark.parametrize(("size", "counted"), [(2, 0), (20, 0), (21, 20), (205, 20), (206, 225)])
def test_a_pure_leaf_counts_where_it_is_smaller_than_the_size(size, counted):
    tree = flat_tree([[205, 0], [20, 0], [30, 30]])
    evidence = evidence_of(tree, worlds=only_world(people_of(tree)))
    assert small(evidence, size).reading == Interval(counted, counted)


def mixed():
    """Return a mixed leaf of 25 in two profiles, of which one of 24 is certain, and the worlds."""
    tree = flat_tree([[24, 1], [20, 20]])
    place = CategoricalColumn(np.array([0, 0, 1]), ("p0", "p1"))
    age = CategoricalColumn(np.array([0, 1, 0]), ("young", "old"))
    truth = np.array([[24.0, 0], [0, 1], [20, 20]])
    people = Population(
        ("place", "age"),
        {"place": place, "age": age},
        truth.sum(axis=1),
        np.array([1, 1, 2]),
        truth,
    )
    return tree, people


def test_in_a_mixed_leaf_only_those_with_the_same_quasi_identifiers_are_proved_together():
    tree, people = mixed()
    evidence = evidence_of(tree, people, worlds=only_world(people))
    few = small(evidence, 20)
    assert (few.reading, [spot.index for spot in few.spots]) == (Interval(1, 1), [1])
    taken = small(evidence, 26)
    assert taken.reading == Interval(25, 25)
    assert "in a group of 24" in taken.spots[0].note


def test_what_is_neither_proved_nor_refuted_counts_at_the_high_end():
    tree, people = mixed()
    only = only_world(people)
    low, high = only.low.copy(), only.high.copy()
    low[1], high[1] = 0, 1
    worlds = replace(only, low=low, high=high)
    taken = small(evidence_of(tree, people, worlds=worlds), 20)
    assert taken.reading == Interval(0, 1)
    # Whatever else she may have, it is not what the 24 are certain to have: nobody joins their group.
    assert small(evidence_of(tree, people, worlds=worlds), 25).reading == Interval(24, 25)
    assert (
        taken.spots[0].note
        == "1 person whose value is neither proved nor ruled out; counted as proved"
    )


def test_a_leaf_whose_last_profile_is_open_is_no_group_yet():
    tree = flat_tree([[25, 0], [20, 20]])
    _, people = mixed()
    people = replace(people, truth=np.array([[24.0, 0], [1, 0], [20, 20]]))
    only = only_world(people)
    low, high = only.low.copy(), only.high.copy()
    low[1], high[1] = 0, 1
    worlds = replace(only, low=low, high=high)
    assert small(evidence_of(tree, people, worlds=worlds), 25).reading == Interval(0, 25)


def test_with_a_size_beyond_everybody_it_is_certain_disclosure():
    tree, people = mixed()
    evidence = evidence_of(tree, people, worlds=only_world(people))
    assert small(evidence, 1e9).reading == read("certain_disclosure", evidence).reading


def test_without_worlds_it_says_so():
    tree, people = mixed()
    assert small(evidence_of(tree, people, worlds=NOT_RUN), 20).reading == NOT_RUN


def test_who_may_yet_be_proved_of_the_same_value_leaves_open_how_large_the_group_is():
    tree = flat_tree([[25, 0], [20, 20]])
    _, people = mixed()
    people = replace(people, truth=np.array([[24.0, 0], [1, 0], [20, 20]]))
    only = only_world(people)
    low, high = only.low.copy(), only.high.copy()
    low[1], high[1] = 0, 1
    first = small(evidence_of(tree, people, worlds=replace(only, low=low, high=high)), 25).reading
    later = small(evidence_of(tree, people, worlds=only), 25).reading
    assert later == Interval(0, 0)
    assert first == Interval(0, 25)
