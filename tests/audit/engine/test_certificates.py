"""Weights that move only numbers at an end: what all rows together settle, and no few of them do."""

import numpy as np
import pytest

from tests.judges.rows_by_hand import rows_of
from treewarden.audit.engine import newton_steps
from treewarden.audit.engine.counts import counts_of, opened
from treewarden.audit.engine.dual import dual_of, steps
from treewarden.audit.engine.newton_steps import GOOD_ENOUGH, tightened, weights_to_ends, whole
from treewarden.audit.progress import FOREVER

# Each of a to f is in two of the first four leaves, so that those say 2 (a + b + c + d + e + f) = 4.
FIVE = ("abc", "ade", "bdf", "cef", "abcdefg")
G = 6


def first_good_step(rows):
    """Return the counts, the dual and the first step of Newton's that is good enough for an estimate."""
    counts = counts_of(rows)
    low, high = counts.start()
    dual = dual_of(counts, opened(counts, low, high), low.astype(float), high.astype(float))
    walk = steps(dual, np.zeros(len(dual.middle)), FOREVER)
    return counts, dual, next(s for s in walk if s.is_true and s.residual <= GOOD_ENOUGH)


def proved(rows):
    """Return the boxes (C, w) that these weights prove, all of one step."""
    counts, dual, step = first_good_step(rows)
    boxes = counts.start()
    for weights in weights_to_ends(dual, step.theta, step.x, FOREVER):
        boxes = tightened(counts, *boxes, whole(counts, weights))
    return boxes


@pytest.mark.parametrize("last", [(2, 2), (0, 2)], ids=["a number", "an interval at its upper end"])
def test_whom_all_rows_together_settle_is_proved_from_one_step_and_nobody_else(last):
    low, high = proved(rows_of(FIVE, [1, 1, 1, 1, last[0]], [1, 1, 1, 1, last[1]]))
    assert high[:, 0].tolist() == [1] * G + [0]
    assert not low.any()


def test_weights_move_nobody_but_whom_they_prove():
    _, dual, step = first_good_step(rows_of(FIVE, [1, 1, 1, 1, 2]))
    (weights,) = weights_to_ends(dual, step.theta, step.x, FOREVER)
    moved = dual.across @ weights
    assert np.abs(moved[:G]).max() < 1e-9 * np.abs(moved[G])
    assert moved[G] < 0


def test_an_interval_that_leaves_room_proves_nothing():
    low, high = proved(rows_of(FIVE, [1, 1, 1, 1, 2], [1, 1, 1, 1, 3]))
    assert (low.any(), high.all()) == (False, True)


def test_of_three_classes_what_is_excluded_is_proved_beside_the_still_numbers_of_its_people():
    # One of each three people of a leaf has the second class and one the third, so that g has the first.
    low, high = proved(rows_of(FIVE, [*[1, 1, 1] * 4, 3, 2, 2], classes=3))
    assert high[G].tolist() == [1, 0, 0]
    assert high[:G].all()
    assert not low[:G].any()


def test_a_number_that_would_leave_its_end_is_held_still():
    # Of h and i one has the second class: whatever moves i to its most moves h away from its least.
    counts = counts_of(rows_of(("hi",), [1]))
    low, high = counts.start()
    dual = dual_of(counts, opened(counts, low, high), low.astype(float), high.astype(float))
    first, *others = weights_to_ends(dual, np.array([3.0]), np.array([1e-4, 1 - 1e-4]), FOREVER)
    assert (dual.across @ first).tolist() == pytest.approx([3.0, 3.0])
    assert not others


def test_where_rounding_leaves_no_square_nothing_is_tried(monkeypatch):
    # Of rows that count people very often, what is left of the square may have no root.
    _, dual, step = first_good_step(rows_of(FIVE, [1, 1, 1, 1, 2]))
    monkeypatch.setattr(newton_steps, "SOFT", -1.0)
    assert list(weights_to_ends(dual, step.theta, step.x, FOREVER)) == []
