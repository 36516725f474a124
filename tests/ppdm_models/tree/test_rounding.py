"""Thresholds are rounded for reading, and different ones never look the same where they are read together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.tree.paths import path_text, rounded
from treewarden.ppdm_models.tree.predicate import AllOf, NumericTest, text
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

numbers = st.floats(-1e12, 1e12, allow_nan=False)


def below(value):
    return NumericTest("x", high=value, high_closed=True)


def said(*values):
    say = rounded([below(value) for value in values])
    return [say("x", value) for value in values]


@pytest.mark.parametrize(
    ("value", "text_of_it"),
    [
        (2.449999988079071, "2.45"),
        (1.0000000180025095e-35, "0"),
        (0.800000011920929, "0.8"),
        (2.114999771118164, "2.115"),
        (1234567.5, "1234568"),
        (0.0000123456789, "1.23457e-05"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (40.0, "40"),
        (1e300, "1e+300"),
    ],
)
def test_a_threshold_has_six_digits_for_reading(value, text_of_it):
    assert said(value) == [text_of_it]


def test_thresholds_that_six_digits_do_not_tell_apart_get_as_many_as_do():
    assert said(2.4499999, 2.45, 7.25) == ["2.4499999", "2.45", "7.25"]
    next_ = float(np.nextafter(0.1, 1))
    assert said(0.1, next_) == ["0.1", "0.10000000000000002"]


@given(st.lists(numbers, min_size=1, max_size=6, unique=True))
def test_rounded_thresholds_are_different_and_in_the_same_order(values):
    ordered = sorted(v + 0.0 for v in values)
    read = [float(each) for each in said(*ordered)]
    assert all(a < b for a, b in zip(read, read[1:], strict=False))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2, unique=True), st.floats(0, 1e-4))
def test_near_thresholds_stay_in_order_too(ends, width):
    ordered = sorted({1 + end * width for end in ends})
    read = [float(each) for each in said(*ordered)]
    assert read == sorted(set(read))


def test_features_are_told_apart():
    other = NumericTest("y", high=2.4499999)
    say = rounded([AllOf((below(2.45), other))])
    assert (say("x", 2.45), say("y", 2.4499999)) == ("2.45", "2.45")


def test_a_path_is_rounded_unless_it_is_to_be_exact():
    low, high = 2.449999988079071, 2.4500000476837163
    nodes = (
        Node(0, "a", None, (1, 2)),
        Node(1, "b", 0, (), NumericTest("x", high=low, high_closed=True), "no"),
        Node(2, "c", 0, (3, 4), NumericTest("x", low=low)),
        Node(3, "d", 2, (), NumericTest("x", high=high, high_closed=True), "no"),
        Node(4, "e", 2, (), NumericTest("x", low=high), "yes"),
    )
    tree = Tree(nodes, (Feature("x", True),), "y", ("no", "yes"))
    assert path_text(tree, 1) == "x ≤ 2.45"
    assert path_text(tree, 3) == "2.44999999 < x ≤ 2.45000005"
    assert path_text(tree, 3, exact=True) == f"{low} < x ≤ {high}"
    assert text(nodes[1].test) == f"x ≤ {low}"
