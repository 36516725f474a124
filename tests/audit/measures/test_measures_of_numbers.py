"""What measures read of intervals of people's numbers: what is proved at one end, what is reached at the other."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import evidence_of, flat_tree, read
from treewarden.audit.measures import measures
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.regression.result import ValueBounds

TREE = flat_tree([[14, 6, 0], [3, 3, 4]])


def bounds_of(low, high, reached_low, reached_high, counts, step=1.0, span=(0.0, 100.0)):
    ends = [np.array(one, dtype=float) for one in (low, high, reached_low, reached_high)]
    return ValueBounds(
        *ends,
        counts=np.array(counts, dtype=float),
        by_leaf=ends[1] - ends[0],
        range=Interval(*span),
        step=step,
        leaves=3,
    )


# Exact; proved to 4; reached to 20, proved to 50; neither proved nor reached.
MIXED = bounds_of([7, 20, 30, 0], [7, 24, 80, 100], [7, 20, 40, 55], [7, 24, 60, 55], [1, 2, 4, 3])


def reading(name, numbers=MIXED, **parameters):
    return read(name, replace(evidence_of(TREE), numbers=numbers), **parameters)


def test_the_share_of_people_counts_proofs_and_at_the_high_end_who_was_moved_nowhere():
    assert reading("value_disclosure").reading == Interval(0.3, 0.6)
    assert reading("value_disclosure", within=0.01).reading == Interval(0.1, 0.4)
    assert reading("value_disclosure", within=0.2).reading == Interval(0.3, 1.0)
    assert reading("value_disclosure", within=0.5).reading == Interval(0.7, 1.0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_width_may_exceed_the_limit_by_rounding_and_by_no_more(size):
    high = np.array([5 + 5e-8, 5 + 2e-7]) * size
    near = bounds_of([0, 0], high, [0, 0], high, [1, 1], 0.0, (0.0, 100.0 * size))
    assert reading("value_disclosure", near).reading == Interval(0.5, 0.5)


def test_the_width_may_be_in_the_unit_of_the_target():
    assert reading("value_disclosure", within=4, of="unit").reading == Interval(0.3, 0.6)
    assert reading("value_disclosure", within=3.9, of="unit").reading == Interval(0.1, 0.4)


def test_the_narrowest_interval_is_of_whoever_is_known_best():
    assert reading("value_width").reading == Interval(0, 0)
    wide = bounds_of([20, 0], [24, 100], [21, 10], [24, 90], [1, 1])
    assert reading("value_width", wide).reading == Interval(3, 4)


@pytest.mark.parametrize("steps", [1, 8])
def test_of_a_target_with_few_values_nobody_is_sure_to_be_safe(steps):
    few = bounds_of([0, 0], [8, 8], [0, 0], [8, 8], [5, 5], step=8 / steps, span=(0.0, 8.0))
    assert reading("value_disclosure", few).reading == Interval(0.0, 1.0)


def test_ten_values_are_enough():
    ten = bounds_of([0, 0], [9, 9], [0, 0], [9, 9], [5, 5], step=1.0, span=(0.0, 9.0))
    assert reading("value_disclosure", ten).reading == Interval(0, 0)


def test_a_target_of_any_numbers_has_values_enough():
    real = bounds_of([0, 0], [100, 100], [0, 0], [100, 100], [5, 5], step=0.0)
    assert reading("value_disclosure", real).reading == Interval(0, 0)


def test_spots_say_what_is_known_of_whom():
    spots = reading("value_disclosure").spots
    assert [spot.index for spot in spots] == [0, 1, 3]
    assert spots[0].note == "1 person: 7, determined exactly"
    assert spots[1].note == "2 people: proved to lie between 20 and 24"
    assert "tables that fit reach from 55 to 55" in spots[2].note


def test_each_profile_has_its_ends():
    found = measures()["value_disclosure"].per_place(
        replace(evidence_of(TREE), numbers=MIXED), {"within": 0.05, "of": "range"}
    )
    assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 0, 0], [1, 1, 0, 1])
    width = measures()["value_width"].per_place(replace(evidence_of(TREE), numbers=MIXED), {})
    assert (width.low.tolist(), width.high.tolist()) == ([0, 4, 20, 0], [0, 4, 50, 100])


@pytest.mark.parametrize("name", ["value_disclosure", "value_width"])
def test_what_could_not_be_told_is_passed_on(name):
    why = Undetermined("this is another table")
    assert reading(name, why).reading == why
    nobody = replace(MIXED, counts=np.zeros(4))
    assert isinstance(reading(name, nobody).reading, Undetermined)


def test_a_measure_says_in_words_what_counts():
    words = measures()["value_disclosure"].words
    assert words({"within": 0.05, "of": "range"}).endswith("to within 5 % of the range")
    assert words({"within": 2, "of": "unit"}).endswith("to within 2 in its own unit")
