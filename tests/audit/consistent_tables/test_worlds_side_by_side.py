"""Questions over processes: the same bytes for any number of them, and whoever dies or runs late decides nothing."""

from __future__ import annotations

import os
import pickle
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.audit.consistent_tables.side_by_side import FEW_WORLDS, made, said
from tests.kit.tiers import cases, few
from treewarden.audit.consistent_tables import decide, portions
from treewarden.audit.consistent_tables.decide import EFFORTS, QuestionQueue, decide_certain
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.portions import Helpers, OneByOne, World, start_of
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.table_search import LOST
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swap_stuck, swaps_hold
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    Swap,
    first_broken,
    may_be_certain,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import WitnessPool as Found
from treewarden.audit.progress import FOREVER, clock
from treewarden.audit.workers import processes
from treewarden.audit.workers.pool import WORKERS

CASES = (
    (2, "counts", "gini", 16, 300),
    (3, "counts", "gini", 12, 60),
    (3, "rates", "entropy", 16, 60),
    (3, "counts", "gini", 8, 32),
)
"""Classes, what is published of leaves, criterion, leaves and records; the last is decided soonest."""


@pytest.fixture
def given(monkeypatch):
    """Have others asked wherever there are two portions, which each question is; return how many were given to them."""
    found = []

    def each_done(jobs, *settings):
        found.append(len(jobs))
        return real(jobs, *settings)

    real = portions.each_done
    monkeypatch.setattr(portions, "each_done", each_done)
    monkeypatch.setattr(decide, "PORTION_UNITS", 1e-9)
    monkeypatch.setattr(portions, "WORTH_STARTING", 0.0)
    monkeypatch.setattr(portions, "WORTH_GIVING", 0.0)
    return found


@pytest.fixture(scope="module", autouse=True)
def workers():
    """Have two workers ready, and end them afterwards."""
    WORKERS.start_ahead(2)
    until = time.monotonic() + 60
    while not WORKERS.is_ready and time.monotonic() < until:
        time.sleep(0.05)
    yield
    WORKERS.stop()


def asking_of(system, **settings):
    """Return who asks about a system, of which the true table is known."""
    facts = with_intervals(facts_of(system))
    found = Found(facts)
    found.add(facts.arranged(system.case.population.truth)[None])
    return QuestionQueue(facts, closed_form(facts), found, FOREVER, **settings)


@dataclass(frozen=True, slots=True)
class Deadly(OneByOne):
    """Questions that end the process that asks them, and are none in this one."""

    parent: int = 0

    def put(self, asker):
        if os.getpid() != self.parent:
            os._exit(1)


@pytest.mark.parametrize("number", cases(range(len(CASES)), quick=[1]))
@pytest.mark.in_both
def test_any_number_of_processes_says_the_same(number, given):
    system = made(*CASES[number])
    one, *more = (
        said(reason(system, budget_seconds=1000, tiers=FEW_WORLDS, jobs=jobs))
        for jobs in few((1, 3, 2), 2)
    )
    assert all(each == one for each in more)
    assert sum(given) > 10


@pytest.mark.processes
def test_what_is_enough_ends_the_questions_at_the_same_place(given):
    system = made(*CASES[-1])
    ask = partial(reason, system, budget_seconds=1000, tiers=FEW_WORLDS)
    every, none = ask().certain.sum(), reason(system, budget_seconds=0).certain.sum()

    def has_enough(worlds):
        return worlds.certain.sum() > (every + none) / 2

    one, two = (ask(jobs=jobs, should_stop=has_enough) for jobs in (1, 2))
    assert said(one) == said(two)
    assert none < one.certain.sum() < every
    assert given


def test_what_is_little_starts_no_process(monkeypatch):
    def start():
        raise AssertionError("a process was started")

    monkeypatch.setattr(WORKERS, "_idle", [])
    monkeypatch.setattr(WORKERS, "start", start)
    told = reason(made(*CASES[1]), budget_seconds=1000, tiers=FEW_WORLDS, jobs=None)
    assert not told.open_profiles.any()


@pytest.mark.processes
def test_a_portion_that_ends_its_processes_is_not_decided_and_no_other_is_lost(
    pool, given, monkeypatch
):
    monkeypatch.setattr(processes, "TRIES", 1)
    pool.start_ahead(1)
    while not pool.is_ready:
        time.sleep(0.05)
    asking = asking_of(made(*CASES[1]), helpers=Helpers(2, pool))
    cells = [tuple(cell) for cell in np.argwhere(asking.open(may_be_certain)).tolist()]
    deadly = Deadly((cells[0],), EFFORTS[0], 1.0, parent=os.getpid())
    asking.put([deadly, OneByOne((cells[1],), EFFORTS[-1], 1.0)], may_be_certain, fewest=2)
    assert given == [2]
    assert asking.lost == {cells[0]}
    assert not any(asking.open(may_be_certain)[cell] for cell in cells[:2])


def test_what_was_lost_is_said_to_be_so(monkeypatch):
    monkeypatch.setattr(QuestionQueue, "put", lambda asking, *asked, **how: asking.lost.add((0, 0)))
    told = reason(made(*CASES[1]), budget_seconds=1000, tiers=FEW_WORLDS)
    assert LOST in told.left
    assert any(LOST in each for each in told.not_decided)


def test_when_time_is_up_what_still_runs_is_ended(pool, tmp_path, monkeypatch):
    monkeypatch.setattr(portions, "GRACE_SECONDS", 0.0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waiting = [partial(Path.read_bytes, pipe)] * 3
    with closing(Helpers(2, pool).answers(waiting, clock(0.2))) as answers:
        for news in answers:
            assert news().asked == 0
    assert not pool.is_ready


def test_seconds_travel_and_not_a_moment():
    assert 0 < pickle.loads(pickle.dumps(clock(5.0))).left <= 5
    assert pickle.loads(pickle.dumps(FOREVER)).left == np.inf
    assert pickle.loads(pickle.dumps(clock(-1.0))).is_over


def test_the_columns_of_people_do_not_travel():
    asking = asking_of(made(*CASES[1]))
    start = start_of(asking.facts, asking.bounds, asking.pool)
    people = pickle.loads(pickle.dumps(start)).facts.case.population
    assert not people.columns
    assert not people.qi
    assert (people.counts == asking.facts.case.population.counts).all()


def test_what_another_process_found_is_held_against_the_facts_again():
    asking = asking_of(made(*CASES[1]))
    decide_certain(asking)
    table = asking.pool.tables[-1]
    assert len(asking.pool.tables) > 1
    asking._add(World(0, table, ()), is_known=False)
    false = table.copy()
    false[0] = false[0][::-1]
    assert first_broken(asking.facts, false) is not None
    with pytest.raises(AssertionError, match="no world"):
        asking._add(World(0, false, ()), is_known=False)


@pytest.mark.parametrize("number", cases(range(len(CASES)), quick=1))
def test_swaps_hold_where_each_leads_to_a_world(number):
    asking = asking_of(made(*CASES[number]))
    facts, found = asking.facts, asking.pool
    swap_stuck(facts, found, found.stuck(asking.bounds.low, asking.bounds.high), FOREVER)
    swaps = [swap for base, swap in found.swaps.values() if base == 0]
    assert swaps_hold(facts, found.tables[0], swaps, FOREVER)
    draw, size = np.random.default_rng(0), len(facts.counts)
    for first, second in draw.integers(size, size=(60, 2)).tolist():
        swap = Swap(
            first, int(found.tables[0][first].argmax()), second, int(draw.integers(facts.classes))
        )
        after = swap.applied(found.tables[0])
        is_world = first != second and first_broken(facts, after) is None
        if swap.klass != swap.other:
            assert swaps_hold(facts, found.tables[0], [*swaps, swap], FOREVER) <= is_world
        alone = replace(swap, second=None)
        is_other = first_broken(facts, alone.applied(found.tables[0])) is None
        assert swaps_hold(facts, found.tables[0], [alone], FOREVER) == is_other
