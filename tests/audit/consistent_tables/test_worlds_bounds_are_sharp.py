"""The most disclosed shares are worked out from both sides: proofs from outside, worlds from inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import brute_force, system_of, worlds_of
from tests.kit.small_audits import read
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.facts.intervals import inside_of, limits, sides_of
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.reading import Undetermined

NOTHING_ELSE = Tiers(enumerate=None, most_draws=0, draws=0, swaps=False)


def crowd(criterion="gini"):
    """Return eight profiles of several people each; nobody is certain, but one class leads by far in a leaf."""
    counts = [3, 4, 2, 3, 3, 2, 4, 3]
    leaves = [(10, 2), (3, 9)]
    rows = [(0, "01010101"), (0, "00110011")]
    return system_of(counts, [[0, 1, 2, 3], [4, 5, 6, 7]], leaves, rows, criterion=criterion)


def reading(system, told):
    nothing = Undetermined("not estimated")
    case = system.case
    evidence = Evidence(
        forest_of(case.tree, case.population), case.population, Knowledge(), nothing, nothing, told
    )
    return read("world_bounds", evidence).reading


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_reading_is_exact_where_nobody_is_certain(criterion):
    system = crowd(criterion)
    every = np.array([table for table, _ in brute_force(system)[0]])
    told = worlds_of(system, tiers=NOTHING_ELSE)
    exact = (every.min(axis=0) / told.counts[:, None]).max()
    taken = reading(system, told)
    assert taken.low == taken.high == pytest.approx(exact)


def test_without_asking_the_reading_is_wider():
    system = crowd()
    asked = reading(system, worlds_of(system, tiers=NOTHING_ELSE))
    idle = replace(NOTHING_ELSE, solver=False, swaps=True)
    left = reading(system, worlds_of(system, tiers=idle))
    assert left.low <= asked.low <= asked.high <= left.high
    assert left.high - left.low > asked.high - asked.low


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain-ratio"])
@pytest.mark.parametrize("branches", ["0101", "0112", "0212"])
def test_one_row_of_three_classes_never_cuts_off_a_world(criterion, branches):
    system = system_of(
        [2, 2, 2, 2], [[0, 1], [2, 3]], [(4, 0, 0), (0, 1, 3)], [(0, branches)],
        classes=3, criterion=criterion,
    )  # fmt: skip
    facts = facts_of(system)
    (split,) = facts.splits[0]
    sides = sides_of(split)
    every = np.array([table[facts.order] for table, _ in brute_force(system)[0]])
    counts = np.stack(
        [every[:, side[split.bins.of]].sum(axis=1) for side in inside_of(split)], axis=1
    )
    nothing = np.zeros((len(sides.records), 3), dtype=np.int64)
    most = np.minimum(sides.records[:, None], split.chosen_table.sum(axis=0))
    low, high = limits(split, sides, nothing, most)
    assert (low <= counts.min(axis=0)).all()
    assert (high >= counts.max(axis=0)).all()
