"""Budgets of work: what all leaves prove together depends on what was done, and on no clock."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tests.judges.rows_by_hand import rows_of
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.time_budget import Tier, TimeBudget, budget_of, run_tiers
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Clock, clock, work_clock

FIVE = ("ab cde", "ac bde", "ad bce", "ae bcd")


def never() -> float:
    raise AssertionError("nobody is to ask what time it is")


def reasoned(seconds: float):
    """Return what four trees prove within so much work, and the work that it took."""
    until = work_clock(seconds)
    found = reason(rows_of(FIVE, [1, 2] * 4), budget=TimeBudget(until, seconds))
    return found, until.now()


def test_a_clock_of_work_ends_when_that_was_spent_and_shares_it_with_its_parts():
    until = work_clock(10.0)
    part = until.part(4.0)
    part.spend(3.0)
    assert (until.left, part.left, until.share(0.5).left) == (7.0, 1.0, 3.5)
    until.spend(1.0)
    assert (part.is_over, until.is_over, until.is_struck) == (True, False, False)


def test_to_spend_work_moves_no_clock_that_tells_the_time():
    until = Clock(5.0, now=lambda: 1.0)
    until.spend(100.0)
    assert (until.left, until.wall_left) == (4.0, 4.0)


def test_the_wall_clock_ends_a_budget_of_work_only_where_there_is_a_limit():
    assert work_clock(10.0).wall_left == float("inf")
    until = work_clock(10.0, 0.0)
    assert (until.is_over, until.is_struck, until.left, until.wall_left) == (True, True, 0.0, 0.0)


def test_a_clock_of_work_travels_with_what_is_left():
    until = work_clock(10.0)
    until.spend(4.0)
    there = pickle.loads(pickle.dumps(until))
    there.spend(1.0)
    assert (there.left, there.outer, until.left) == (5.0, None, 6.0)
    assert pickle.loads(pickle.dumps(work_clock(10.0, 100.0))).wall_left <= 100.0


def test_an_audit_counts_the_work_over_several_trees_and_holds_the_limit_of_time_besides():
    budget = budget_of(AuditOptions())
    assert budget.until.meter is not None
    assert (budget.until.outer, budget.search_clock().left) == (None, AuditOptions().worlds_budget)
    limited = budget_of(AuditOptions(time_limit=30.0)).until
    assert (limited.left, limited.wall_left) == (30.0, pytest.approx(30.0, abs=5.0))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 2.0])
def test_the_same_work_comes_to_the_same_end_and_asks_no_clock(share):
    _, whole = reasoned(1e6)
    assert whole > 0
    (one, work), (other, again) = reasoned(share * whole), reasoned(share * whole)
    assert (work, one.how, one.left) == (again, other.how, other.left)
    for name in ("low", "high", "reached_low", "reached_high"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert repr(one.estimate) == repr(other.estimate)


def test_a_clock_that_tells_the_time_is_asked_where_it_is_given():
    with pytest.raises(AssertionError, match="what time"):
        reason(rows_of(FIVE, [1, 2] * 4), budget=TimeBudget(Clock(5.0, now=never)))
    reason(rows_of(FIVE, [1, 2] * 4), budget=TimeBudget(clock(0.0)))


def test_tiers_are_run_in_one_order_until_one_decides_everything():
    ran = []
    tiers = {
        Tier.QUESTIONS: lambda: ran.append("questions"),
        Tier.LISTING: lambda: ran.append("listing") or True,
        Tier.ALONE: lambda: ran.append("alone"),
    }
    assert run_tiers(tiers)
    assert ran == ["alone", "listing"]
    del tiers[Tier.LISTING]
    assert not run_tiers(tiers)
    assert ran[2:] == ["alone", "questions"]


def test_no_tier_is_begun_once_one_has_used_up_the_time():
    ran = []
    tiers = {Tier.PROPAGATION: clock(0.0).check, Tier.QUESTIONS: lambda: ran.append("questions")}
    assert run_tiers(tiers)
    assert ran == []
