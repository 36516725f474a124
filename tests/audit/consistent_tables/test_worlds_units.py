"""Weights of rows become whole numbers of one unit, exactly as they are written."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from treewarden.audit.consistent_tables.facts.facts import _in_whole_units


@pytest.mark.parametrize(
    ("weights", "whole", "unit"),
    [
        ([1.0, -1.0, 3.0], (1, -1, 3), 1),
        ([0.5, 1.0], (1, 2), 2),
        ([1.37, 2.0, -0.1], (137, 200, -10), 100),
        ([], (), 1),
    ],
)
def test_weights_are_read_as_they_are_written(weights, whole, unit):
    assert _in_whole_units(np.array(weights)) == (whole, unit)


def test_whole_weights_and_fractions_come_to_the_same():
    draw = np.random.default_rng(0)
    weights = draw.integers(-9, 10, size=50).astype(float)
    whole, unit = _in_whole_units(weights)
    mixed, parts = _in_whole_units(np.append(weights, 0.25))
    assert [Fraction(each, unit) for each in whole] == [
        Fraction(each, parts) for each in mixed[:-1]
    ]
