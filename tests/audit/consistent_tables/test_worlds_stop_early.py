"""Records that stop above a leaf, a missing solver, an interrupt, and the same answer on every run."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import brute_force, system_of, worlds_of
from tests.kit.grown_trees import german, grow_tree, heart
from tests.kit.tiers import cases
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import Consistency, Tiers
from treewarden.audit.facts.rows import LeafMass, Origin
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system

NO_LISTING = Tiers(enumerate=None)
DEEP = ([1, 2, 1, 2, 2, 1], [[[0, 1], [2, 3]], [4, 5]], [(2, 1), (1, 2), (0, 3)], [(0, "001101")])


def stopping_above(made, profile, node, counts):
    """Return a system in which a profile stops at an inner node, of whose own records the class counts are known."""
    people = made.case.population
    leaf = people.leaf.copy()
    leaf[profile] = node
    people = replace(people, leaf=leaf)
    case = replace(made.case, population=people, members=members(made.case.tree, leaf))
    origin = Origin("leaf", f"node {node}", node)
    own = tuple(LeafMass(node, klass, n, n, origin) for klass, n in enumerate(counts))
    return replace(made, case=case, rows=(*made.rows, *own))


@pytest.mark.parametrize("tiers", [Tiers(), NO_LISTING])
@pytest.mark.parametrize("own", [(2, 0), (1, 1), (0, 2)])
def test_a_node_where_records_stop_counts_like_a_leaf(tiers, own):
    counts, shape, leaves, rows = DEEP
    made = stopping_above(system_of(counts, shape, [leaves[0], (1, 0), leaves[2]], rows), 3, 1, own)
    every = np.array([table for table, _ in brute_force(made)[0]])
    told = worlds_of(made, tiers=tiers)
    assert len(every)
    assert told.consistency is Consistency.CONSISTENT
    assert (told.low == every.min(axis=0)).all()
    assert (told.high == every.max(axis=0)).all()


def test_an_interrupt_ends_the_reasoning():
    system = build_system(grow_tree(*german(), criterion="entropy", min_samples_leaf=10))

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            reason(system, budget_seconds=100)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("settings", cases([{"max_depth": 5}, {"min_samples_leaf": 5}], quick=1))
def test_two_runs_within_the_budget_agree_in_everything(settings):
    system = build_system(grow_tree(*heart(), criterion="gini", **settings))
    first, second = (reason(system, budget_seconds=1000) for _ in range(2))
    for name in ("low", "high", "reached_low", "reached_high"):
        assert (getattr(first, name) == getattr(second, name)).all()
    assert first.reasons == second.reasons
    assert first.witnesses == second.witnesses
    assert first.enumeration.split_bits == second.enumeration.split_bits
    assert (first.enumeration.posterior.values == second.enumeration.posterior.values).all()


def test_draws_that_are_nearly_all_thrown_away_are_given_up_and_that_is_said():
    system = build_system(grow_tree(*german(), criterion="gini", min_samples_leaf=10))
    told = reason(system, budget_seconds=1000, tiers=Tiers(solver=False, swaps=False))
    assert "not estimated" in told.enumeration.posterior.reason
    assert told.enumeration.split_bits == told.enumeration.posterior
