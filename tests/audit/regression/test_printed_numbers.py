"""The steps of a table's numbers, and how far printing moved those that leaves publish."""

import numpy as np
import pytest

from treewarden.audit.population.target import step_of
from treewarden.audit.regression.rows import rounding


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 4.0, 7.0], 3.0),
        ([0.1, 0.25, 0.4], 0.15),
        ([25000.0, 31000.0, 32000.0], 1000.0),
        ([1.0, 2.0, 1 / 3], 0.0),
        ([0.0, 0.1, 1e9], 0.0),
        ([5.0], 0.0),
    ],
)
def test_the_step_is_what_all_values_are_multiples_of(values, step):
    assert step_of(np.array(sorted(values))) == step


@pytest.mark.parametrize(
    ("numbers", "room"),
    [
        ([152.13, 7.5], [0.005, 0.005]),
        ([12.0, 3.0], [0.5, 0.5]),
        ([0.25, 120000.0], [0.005, 5000.0]),
    ],
)
def test_numbers_that_are_read_off_a_page_were_rounded_by_half_a_unit(numbers, room):
    assert rounding(np.array(numbers)) == pytest.approx(np.array(room), rel=1e-2)
    assert (rounding(np.array(numbers)) >= room).all()


def test_numbers_of_full_length_were_rounded_by_the_machine():
    assert rounding(np.array([1 / 3, 2.5])).max() < 1e-15
    single = np.array([1 / 3, 1.25], dtype=np.float32).astype(float)
    assert 1e-9 < rounding(single).max() < 1e-6
