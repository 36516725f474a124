"""Bits of published numbers, counted by hand."""

from math import log2

import numpy as np
import pytest

from treewarden.audit.blame.of_model import bits_of_rows
from treewarden.audit.outputs.whole_row import WholeRow

PEOPLE = np.array([2, 1, 1])


def row(low, high, weights=(1, 1, 1), entry=0):
    return WholeRow(entry, 1, np.array(weights), low, high)


def test_a_count_of_four_people_can_be_five_numbers():
    assert bits_of_rows([row(2, 2)], PEOPLE) == pytest.approx(log2(5))


def test_a_band_holds_less():
    assert bits_of_rows([row(1, 2)], PEOPLE) == pytest.approx(log2(5 / 2))
    assert bits_of_rows([row(0, 4)], PEOPLE) == 0


def test_a_number_with_one_end_holds_a_bit():
    assert bits_of_rows([row(1, None), row(None, 3, entry=1)], PEOPLE) == 2


def test_a_mean_holds_as_many_as_its_rounding_leaves_values():
    # (x - 9.5) y >= 0 and (x - 10.5) y <= 0 of x = 0, 10, 20: a range of at most 21 in steps of 1
    low, high = (np.array([0, 10, 20]) * 2 - end for end in (19, 21))
    found = bits_of_rows([row(0, None, low), row(None, 0, high)], PEOPLE)
    assert log2(20) <= found <= log2(60)


def test_numbers_add_up():
    both = [row(2, 2), row(1, 1, (1, 0, 0), entry=1)]
    assert bits_of_rows(both, PEOPLE) == pytest.approx(log2(5) + log2(3))
