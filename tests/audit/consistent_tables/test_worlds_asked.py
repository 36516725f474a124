"""Which questions are asked: one change of a world is a world, and what nobody reads hides nobody who is certain."""

from __future__ import annotations

import numpy as np
import pytest

from tests.audit.consistent_tables.test_worlds_against_brute_force import judged, small_case
from tests.kit.tiers import seeds
from treewarden.audit import measures
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.consistent_tables.table_search import UNREAD
from treewarden.audit.consistent_tables.witnesses.changes import change_many
from treewarden.audit.consistent_tables.witnesses.witness_pool import WitnessPool
from treewarden.audit.measures import Measure
from treewarden.audit.progress import clock
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.plugins import discover

CRITERIA = ("gini", "entropy", "gain-ratio")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("level", ["rates", "labels"])
@pytest.mark.parametrize("seed", seeds(8, quick=4))
def test_what_one_change_reaches_some_world_reaches(seed, level, criterion):
    system, worlds = judged(small_case(2 * seed, level, criterion))
    facts = with_intervals(facts_of(system))
    every = np.array([facts.arranged(table) for table, *_ in worlds])
    pool = WitnessPool(facts)
    pool.add(every[:1])
    change_many(facts, pool, np.ones(pool.low.shape, dtype=bool), clock(60))
    assert (pool.low >= every.min(axis=0)).all()
    assert (pool.high <= every.max(axis=0)).all()
    if len(every) > 20:
        assert (pool.low < pool.high).any()


@pytest.mark.parametrize("level", ["counts", "rates", "labels"])
@pytest.mark.parametrize("seed", seeds(6, quick=(0, 2)))
def test_who_is_certain_does_not_depend_on_what_else_is_asked(seed, level):
    system = build_system(small_case(seed, level))
    full, few = (
        reason(system, budget_seconds=60, tiers=Tiers(enumerate=None), asks_rest=asks)
        for asks in (True, False)
    )
    assert (full.certain == few.certain).all()
    assert (full.open_profiles == few.open_profiles).all()
    assert not (few.excluded & ~full.excluded).any()
    assert UNREAD not in full.left_of_values


def test_the_measures_that_read_more_than_who_is_certain_say_so():
    known = discover(measures, "MEASURE", Measure)
    assert known["excluded_values"].is_of_cells
    assert known["world_bounds"].is_of_cells
    assert not known["certain_disclosure"].is_of_cells
