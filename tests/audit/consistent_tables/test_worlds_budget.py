"""All that is spent on worlds is within the budget: hardly anything is done once it is used up, wherever that is."""

from __future__ import annotations

import sys
from functools import cache
from itertools import count

import numpy as np
import pytest

from tests.audit.weighed_trees import people_of, weighed_tree
from tests.kit.grown_trees import grow_tree
from tests.kit.tiers import cases, few
from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.retrain import graded
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.changes import _alone
from treewarden.audit.engine.time_budget import never
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.population.target import members
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.system.system import build_system, doubled

ENDS = 24
MOST_AFTER = 0.05


@cache
def made(classes, kind):
    """Return a system of a tree that splits say much of, and its case."""
    draw = np.random.default_rng(3)
    columns = {f"x{i}": draw.integers(9, size=150).astype(float) for i in range(4)}
    score = columns["x0"] + columns["x1"] * (columns["x2"] > 4) + 3 * draw.normal(size=150)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    labels = [f"c{k}" for k in np.searchsorted(cuts, score)]
    case = grow_tree(columns, labels, criterion=kind, max_leaf_nodes=12)
    return build_system(case), case


def worked(system, case, end):
    """Return the worlds where time passes by one second whenever somebody looks, and the calls before and after."""
    now, calls = count(), [0, 0]
    looked = [0.0]

    def look():
        looked[0] = float(next(now))
        return looked[0]

    def called(frame, event, _):
        if event == "call" and "/audit/consistent_tables/" in frame.f_code.co_filename:
            calls[looked[0] >= end] += 1

    sys.setprofile(called)
    try:
        until = Clock(end, look)
        worlds = graded(reason_in_doubt(system, until=until, should_stop=never), case, until)
    finally:
        sys.setprofile(None)
    return worlds, calls, looked[0]


@cache
def weighed():
    """Return the system of a tree of survey weights, which rows over sums of weights say much of, and its case."""
    draw = np.random.default_rng(5)
    ages, ill = draw.integers(20, 60, 120).astype(float), draw.choice(["no", "yes"], 120)
    weights = draw.choice((draw.gamma(4, 2.5, 6) + 1).round(2), 120)
    tree, table = weighed_tree(ages.tolist(), ill.tolist(), weights.tolist(), max_leaf_nodes=8)
    people = people_of(tree, table)
    knowledge, _ = resolved(Knowledge(), tree)
    case = Case(tree, people, members(tree, people.leaf), knowledge)
    return build_system(case), case


def assert_hardly_anything_is_done_after_the_end(system, case):
    """Hold what is cut off at some ends against all of it: it proves no more, and says what it leaves."""
    full, calls, looks = worked(system, case, 1e9)
    for end in few(np.linspace(0, looks, ENDS).astype(int).tolist(), 12, 12):
        cut, (_, after), _ = worked(system, case, end)
        assert after < MOST_AFTER * calls[0]
        assert not (cut.certain & ~full.certain).any()
        assert not (full.certain & ~cut.certain & ~cut.open_profiles).any()
        assert bool(cut.not_decided) == bool(cut.open_profiles.any() or cut.open_exclusions.any())


@pytest.mark.in_both
def test_the_budget_ends_what_is_done_with_weights_too():
    system, case = weighed()
    assert system.left_out
    assert_hardly_anything_is_done_after_the_end(system, case)


def test_rows_of_weights_and_what_was_left_out_are_not_looked_at_once_time_is_over():
    system, case = weighed()
    over, truth = Clock(0, lambda: 1.0), case.population.truth
    with pytest.raises(OutOfTimeError):
        doubled(system, over)
    facts = facts_of(system)
    table = facts.arranged(truth.astype(np.int64))
    changes = _alone(table, np.argwhere(np.ones(table.shape, dtype=bool)))
    with pytest.raises(OutOfTimeError):
        ChangeChecker(facts, table)._lines_hold(changes, np.ones(len(changes), dtype=bool), over)


@pytest.mark.parametrize(
    ("classes", "kind"), cases([(2, "gini"), (2, "entropy"), (3, "gini")], quick=1)
)
@pytest.mark.in_both
def test_once_the_budget_is_used_up_hardly_anything_is_done(classes, kind):
    system, case = made(classes, kind)
    assert_hardly_anything_is_done_after_the_end(system, case)


def test_what_is_cut_off_is_said_to_be_so():
    system, case = made(2, "gini")
    cut, *_ = worked(system, case, 0)
    assert any("the time was used up" in said for said in cut.not_decided)
    assert cut.is_out_of_time
    assert not worked(system, case, 1e9)[0].is_out_of_time
