"""Whose key is the smallest, with all sides' steps in one place: brute force is the judge."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import cases, examples
from treewarden.ppdm_models.methods.vertical import secure_minimum as planes
from treewarden.ppdm_models.methods.vertical.secure_minimum import Sharing, Smallest, threshold


def found_by(keys, bits):
    """Return what is opened, and how many steps it took."""
    sharing = Sharing(threshold(len(keys)))
    smallest = Smallest(len(keys), bits, sharing.bits)
    dealt = [sharing.dealt(smallest.written(key), smallest.lanes) for key in keys]
    sides = [smallest.steps([each[side] for each in dealt]) for side in range(sharing.sides)]
    said, rounds = [next(each) for each in sides], 0
    while True:
        lanes, rounds = said[0].lanes, rounds + 1
        assert lanes <= smallest.most_lanes
        shares = [[0] * sharing.bits for _ in sides]
        for side, each in enumerate(said):
            anew = sharing.dealt_anew(side, each.values, lanes)
            shares = [planes.plus(*both) for both in zip(shares, anew, strict=True)]
        said, done = [], []
        for side, each in zip(sides, shares, strict=True):
            try:
                said.append(side.send(each))
            except StopIteration as stop:
                done.append(stop.value)
        if done:
            return sharing.opened(done[: sharing.threshold + 1]), rounds


@st.composite
def several(draw):
    bits = draw(st.integers(1, 70))
    most = (1 << draw(st.integers(0, bits))) - 1
    return bits, draw(st.lists(st.integers(0, most), min_size=2, max_size=11))


@given(several())
@settings(max_examples=examples(100), deadline=None)
def test_a_one_stands_at_the_first_of_the_smallest_and_zeros_elsewhere(case):
    bits, keys = case
    (ones, *rest), _ = found_by(keys, bits)
    assert ones == 1 << keys.index(min(keys))
    assert not any(rest)


@pytest.mark.parametrize(
    ("keys", "rounds"), cases([(2, 4), (3, 5), (4, 6), (10, 8), (33, 9)], quick=4)
)
def test_steps_grow_with_the_logarithm_of_parties_alone(keys, rounds):
    for bits in (9, 60):
        (ones, *rest), steps = found_by([*range(3, keys + 1), 2, 2], bits)
        assert (ones, any(rest), steps) == (1 << keys - 2, False, rounds)
