"""Cases small enough to be worked out by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from threadpoolctl import threadpool_info

from tests.judges.rows_by_hand import rows_of
from treewarden.audit.bounds import ENDS, Bounds, stack_bounds
from treewarden.audit.engine import driver
from treewarden.audit.engine.counts import by_class, by_leaves, counts_of, propagate
from treewarden.audit.engine.driver import DECIDED, reason
from treewarden.audit.engine.newton_steps import estimate, tightened
from treewarden.audit.engine.problem import How
from treewarden.audit.engine.time_budget import TimeBudget, adversary_seconds
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import FOREVER, Clock, clock

FOUR = ("ab cd", "ac bd")
FIVE = ("ab cde", "ac bde", "ad bce")


def test_two_trees_that_say_nothing_leave_everybody_at_a_half():
    found = reason(rows_of(FOUR, [1, 1, 1, 1]), budget=TimeBudget(FOREVER))
    assert found.estimate.values == pytest.approx(np.full((4, 2), 0.5))
    assert found.estimate.bound == pytest.approx(4 * math.log(2))
    assert found.how == ("", "", "", "")
    assert (found.reached_low == 0).all()
    assert (found.reached_high == 1).all()
    assert found.left == ()


def test_two_trees_with_a_pure_leaf_each_settle_all_four():
    found = reason(rows_of(FOUR, [1, 0, 1, 0]), budget=TimeBudget(FOREVER))
    assert found.low[:, 1].tolist() == [1, 0, 0, 0]
    assert found.how == (How.PROPAGATION, How.LEAF, How.LEAF, How.LEAF)
    assert found.row.tolist() == [0, 3, 1, 1]
    assert found.estimate.bound == pytest.approx(0.0, abs=1e-9)


def test_cells_of_two_people_take_their_share_of_the_estimate():
    found = reason(rows_of(FOUR, [2, 1, 2, 1], sizes=[2, 1, 1, 2]), budget=TimeBudget(FOREVER))
    people = found.estimate.values[:, 1] * [2, 1, 1, 2]
    assert people == pytest.approx([1.5, 0.5, 0.5, 0.5], abs=1e-6)
    assert found.estimate.bound == pytest.approx(3.635635, abs=1e-6)
    assert found.estimate.gap < 1e-6


def test_three_trees_settle_five_people_in_whole_numbers_only():
    found = reason(rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(FOREVER))
    assert found.low[:, 1].tolist() == [0, 1, 1, 1, 0]
    assert found.how == (How.SOLVER,) * 5
    assert found.estimate.values[:, 1] == pytest.approx([0, 1, 1, 1, 0])


def test_the_estimate_of_the_five_without_whole_numbers_is_the_root_of_a_cubic():
    found = reason(
        rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(FOREVER), should_stop=lambda _: True
    )
    root = brentq(lambda a: 4 * a**3 - 5 * a**2 + 4 * a - 1, 0, 1)
    assert root == pytest.approx(0.370972, abs=1e-6)
    expected = [root, 1 - root, 1 - root, 1 - root, 2 * root]
    assert found.estimate.values[:, 1] == pytest.approx(expected, abs=1e-6)


def test_small_whole_weights_settle_one_of_the_five_and_rows_alone_the_rest():
    counts = counts_of(rows_of(FIVE, [1, 2] * 3))
    start = propagate(counts, by_leaves(counts))
    assert (start.low < start.high).all()
    boxes = [
        tightened(counts, start.low, start.high, np.array(d))
        for d in itertools.product(range(-1, 2), repeat=6)
    ]
    proved = [(low, high) for low, high in boxes if (low == high).any()]
    assert max(int((low == high).sum()) for low, high in proved) == 1
    low, high = proved[0]
    rest = propagate(counts, type(start)(low, high, start.row))
    assert rest.low[:, 0].tolist() == rest.high[:, 0].tolist() == [0, 1, 1, 1, 0]


def test_the_difference_of_two_totals_is_the_newcomer():
    found = reason(rows_of(("a", "ab"), [3, 4], sizes=[7, 1]), budget=TimeBudget(FOREVER))
    assert found.low.tolist() == found.high.tolist() == [[4, 3], [0, 1]]
    assert found.how == ("", How.PROPAGATION)
    assert found.row[1] == 1


def test_an_interval_settles_nobody_where_its_ends_leave_room():
    found = reason(rows_of(("ab", "bc"), [0, 1], [1, 2]), budget=TimeBudget(FOREVER))
    assert found.how == ("", "", "")
    assert (found.reached_low == found.low).all()
    assert (found.reached_high == found.high).all()


def test_a_class_that_two_leaves_rule_out_leaves_the_third():
    # Nobody in ab has class 0, nobody in ac class 1, of three classes.
    low, high = [0, 0, 0] * 2 + [0] * 6, [0, 2, 2, 1, 1, 1, 2, 0, 2, 1, 1, 1]
    found = reason(rows_of(("ab c", "ac b"), low, high, classes=3), budget=TimeBudget(FOREVER))
    assert found.low[0].tolist() == [0, 0, 1]
    assert found.how[0] == How.LEAF
    assert found.row[0] == -1


@pytest.mark.parametrize(
    ("trees", "low"), [(("ab", "a b"), [2, 0, 1]), (FIVE, [1, 2, 1, 2, 1, 1]), (FIVE, [2, 1] * 3)]
)
def test_rows_that_no_table_fulfils_are_a_problem(trees, low):
    found = reason(rows_of(trees, low), budget=TimeBudget(FOREVER))
    assert found.problem


def test_no_rows_prove_nothing_and_leave_every_table_possible():
    rows = rows_of(("ab",), [0], [2])
    found = reason(rows, budget=TimeBudget(FOREVER))
    assert found.how == ("", "")
    assert found.estimate.values == pytest.approx(np.full((2, 2), 0.5))
    assert found.reached_high[:, 1].tolist() == [1, 1]


def test_without_time_nothing_is_decided_and_it_is_said():
    found = reason(rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(clock(0)))
    assert found.how == ("",) * 5
    assert (found.low < found.high).all()
    assert found.left


def test_the_first_class_counts_as_the_rest_of_the_second():
    rows = rows_of(FOUR, [1, 0, 1, 0])
    turned = type(rows)(
        rows.matrix,
        2 - rows.high,
        2 - rows.low,
        1 - rows.output,
        *(rows.trees, rows.nodes),
        rows.sizes,
        2,
    )
    low, high = by_class(counts_of(rows), *counts_of(rows).start())
    assert (low == 0).all()
    assert (high == 1).all()
    assert (
        reason(turned, budget=TimeBudget(FOREVER)).low.tolist()
        == reason(rows, budget=TimeBudget(FOREVER)).low.tolist()
    )


def test_the_same_rows_give_the_same_answer():
    first, second = (
        reason(rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(FOREVER)) for _ in range(2)
    )
    assert first.how == second.how
    assert (first.estimate.values == second.estimate.values).all()
    assert (first.reached_low == second.reached_low).all()


@pytest.mark.parametrize("looks", range(2, 12))
def test_whoever_stops_it_is_heard(looks):
    with pytest.raises(KeyboardInterrupt):
        reason(rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(Clock(math.inf, stopping_after(looks))))


def stopping_after(looks):
    """Return a way to tell the time that the user interrupts when it is asked so many times."""
    left = iter(range(looks))

    def now():
        if next(left, None) is None:
            raise KeyboardInterrupt
        return 0.0

    return now


def test_once_enough_is_certain_no_solver_is_asked():
    found = reason(
        rows_of(FIVE, [1, 2] * 3), budget=TimeBudget(FOREVER), should_stop=lambda _: True
    )
    assert found.how == ("",) * 5
    assert found.left == (DECIDED,)


def test_adversaries_share_less_time_than_there_is_for_tables():
    one, two = (adversary_seconds(AuditOptions(worlds_budget=60), number) for number in (1, 2))
    assert 0 < one == 2 * two < 60
    assert adversary_seconds(AuditOptions(worlds_budget=120), 1) == 2 * one


def ends_of(bounds):
    """Return the four ends of some bounds, as lists."""
    return [getattr(bounds, name).tolist() for name in ENDS]


def test_tables_reach_no_further_than_what_is_proved():
    one = Bounds(*np.array([[1, 0], [4, 3], [3, 2], [3, 2]]))
    assert ends_of(one.reaching(np.array([0, 1]), np.array([9, 1]))) == [
        [1, 0],
        [4, 3],
        [1, 1],
        [4, 2],
    ]


def test_bounds_are_picked_by_group_ordered_by_value_and_stacked():
    one = Bounds(*np.arange(16).reshape(4, 2, 2))
    assert ends_of(one.of_groups(np.array([1]))) == [[[2, 3]], [[6, 7]], [[10, 11]], [[14, 15]]]
    assert ends_of(one.in_order(np.array([1, 0])))[0] == [[1, 0], [3, 2]]
    assert ends_of(stack_bounds([one, one]))[3] == [[12, 13], [14, 15]] * 2


def test_linear_algebra_uses_one_thread_while_the_engine_reasons(monkeypatch):
    threads = []

    def watched(*given):
        threads.extend(
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        )
        return estimate(*given)

    monkeypatch.setattr(driver, "estimate", watched)
    reason(rows_of(FOUR, [1, 1, 1, 1]), budget=TimeBudget(FOREVER))
    assert set(threads) == {1}
