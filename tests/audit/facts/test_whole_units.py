"""Weights as whole numbers of one unit, judged by exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from treewarden.audit.outputs.whole_row import units_of

DRAW = np.random.default_rng(4)
TABLES = {
    "hundredths": DRAW.gamma(4, 2.5, 5_000).round(2),
    "even hundredths": DRAW.integers(1, 900, 300) * 2 / 100,
    "quarters": DRAW.integers(1, 50, 300) / 4,
    "whole": DRAW.integers(1, 2_000, 300).astype(float),
    "tens": DRAW.integers(1, 90, 300) * 10.0,
    "negative": -DRAW.gamma(2, 3, 300).round(3),
    "nine decimals": DRAW.random(200).round(9),
    "twelve decimals": DRAW.random(50).round(12),
    "all digits": DRAW.random(50),
    "large": DRAW.random(20) * 1e17,
    "tiny": DRAW.random(20) * 1e-20,
    "with nobody": np.array([0.0, 1.5, 0.0, -0.0]),
    "thirds": np.array([1 / 3, 2 / 3, 0.1 + 0.2]),
    "nothing": np.zeros(0),
}


@pytest.mark.parametrize("name", TABLES)
def test_weights_are_the_decimals_that_stand_for_them_in_the_largest_unit(name):
    weights = TABLES[name]
    units, scale = units_of(weights)
    exact = [Fraction(repr(weight)) for weight in weights.tolist()]
    assert [Fraction(unit, scale) for unit in units] == exact
    assert scale == math.lcm(*(weight.denominator for weight in exact))
    assert all(type(unit) is int for unit in units)
