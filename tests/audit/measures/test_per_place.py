"""What measures read of each leaf and profile: every one of them, and together what they read of the model."""

import numpy as np
import pytest

from tests.kit.rows import rows
from tests.kit.small_audits import evidence_of, flat_tree, only_world, people_of
from treewarden.audit.measures import Measure, measures
from treewarden.audit.reading import Interval, Undetermined

SUMS = {"certain_disclosure", "excluded_values"}
"""Counts of people: the reading is the sum over the profiles. Of all others it is the worst place."""
PLACED = [name for name, measure in measures().items() if measure.places is not None]
TREES = [[[14, 6], [1, 8], [5, 0]], [[3, 3]], [[0, 4], [4, 0]], [[9, 1, 0], [2, 2, 2], [0, 0, 7]]]


def evidence(leaves):
    tree = flat_tree(leaves)
    return evidence_of(tree, worlds=only_world(people_of(tree)))


def settings(measure):
    return {name: parameter.default for name, parameter in measure.parameters.items()}


@pytest.mark.parametrize("leaves", TREES, ids=str)
@pytest.mark.parametrize("name", PLACED)
def test_the_reading_is_that_of_the_worst_place_or_their_sum(name, leaves):
    measure, known = measures()[name], evidence(leaves)
    each = measure.per_place(known, settings(measure))
    reading = measure.read(known, settings(measure)).reading
    if isinstance(reading, Undetermined):
        assert isinstance(each, Undetermined)
        return
    together = np.sum if name in SUMS else np.min if measure.risk == "low" else np.max
    assert reading == Interval(float(together(each.low)), float(together(each.high)))


@pytest.mark.parametrize("leaves", TREES, ids=str)
def test_no_place_is_worse_than_the_reading(leaves):
    for name, measure in measures().items():
        taken = measure.read(evidence(leaves), settings(measure))
        if isinstance(taken.reading, Interval) and measure.risk == "low":
            assert all(spot.low >= taken.reading.low for spot in taken.spots), name
        elif isinstance(taken.reading, Interval):
            assert all(spot.high <= taken.reading.high for spot in taken.spots), name


@rows("name", PLACED)
def test_no_place_is_left_out_and_none_is_there_twice(name):
    measure, known = measures()[name], evidence(TREES[0])
    each = measure.per_place(known, settings(measure))
    if isinstance(each, Undetermined):
        return
    places = each.indices.tolist()
    assert sorted(places) == ([1, 2, 3] if measure.places == "leaf" else [0, 1, 2])
    assert (each.trees is None) == (measure.places == "profile")


def test_a_measure_has_values_per_place_where_it_says_so_and_nowhere_else():
    for measure in measures().values():
        has_own = type(measure).per_place is not Measure.per_place
        assert has_own == (measure.places is not None)
