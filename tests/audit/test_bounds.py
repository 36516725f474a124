"""The records of ends: what proofs narrow, each move with its reason, and what contradicts."""

import pickle

import numpy as np
import pytest

from treewarden.audit.bounds import CellBounds, ContradictionError


def of_two_by_two():
    return CellBounds(np.zeros((2, 2), dtype=np.int64), np.full((2, 2), 3))


def test_an_end_moves_inwards_only_and_each_move_is_counted_with_its_reason():
    bounds = of_two_by_two()
    assert bounds.raise_low(1, 0, 2, "leaf 4")
    assert not bounds.raise_low(1, 0, 1, "leaf 5")
    assert bounds.cut_high(1, 0, 2, "leaf 6")
    assert bounds.moves == 2
    assert bounds.moved.tolist() == [0, 2]
    assert bounds.why == {(1, 0, "low"): "leaf 4", (1, 0, "high"): "leaf 6"}
    assert bounds.is_fixed.tolist() == [[False, False], [True, False]]


def test_ends_that_cross_name_both_reasons():
    bounds = of_two_by_two()
    bounds.raise_low(0, 1, 2, "leaf 4")
    with pytest.raises(ContradictionError) as error:
        bounds.cut_high(0, 1, 1, "leaf 6")
    assert error.value.says == ("leaf 4", "leaf 6")


def test_two_records_count_their_own_moves_and_travel_to_other_processes():
    first, second = of_two_by_two(), of_two_by_two()
    first.raise_low(0, 0, 1, "leaf 4")
    assert (first.moves, second.moves) == (1, 0)
    assert pickle.loads(pickle.dumps(first)).moves == 1
