"""On tables small enough to list every world, no proof and no witness is ever wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import ONLY_PROOFS, brute_force, posterior_of, tables
from tests.kit.cases import multiway_case
from tests.kit.grown_trees import grow_tree
from tests.kit.tiers import cases, seeds
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.result import Consistency, Tiers
from treewarden.audit.consistent_tables.witnesses.witness_pool import first_broken
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import build_system

LEVELS = ("counts", "rates", "labels")
MOST_TABLES = 60_000


def binary_case(seed, level, criterion="gini"):
    """Return a scikit-learn tree on a few records with two or three numeric attributes."""
    draw = np.random.default_rng(seed)
    classes = 2 + seed % 2
    records = 9 if classes == 2 else 6
    columns = {f"x{i}": draw.integers(3, size=records).astype(float) for i in range(3)}
    labels = [f"c{k}" for k in draw.integers(classes, size=records)]
    labels[:classes] = [f"c{k}" for k in range(classes)]
    known = Knowledge(leaf=level, split=criterion)
    return grow_tree(columns, labels, known, criterion=criterion, max_depth=2)


def small_case(seed, level, criterion="gini"):
    if seed % 2:
        return binary_case(seed // 2, level, criterion)
    known = Knowledge(leaf=level, split=criterion)
    return multiway_case(seed, known, classes=2 + seed % 4 // 2, records=7)


def judged(case):
    """Return the system, all its worlds, or skip where there are too many tables."""
    system = build_system(case)
    sizes = case.population.counts
    number = np.prod([len(_ways(int(n), len(case.tree.classes))) for n in sizes])
    if number > MOST_TABLES:
        pytest.skip(f"{number} tables are too many to list")
    return system, brute_force(system)[0]


def _ways(records, classes):
    if classes == 1:
        return [records]
    return [0 for first in range(records + 1) for _ in _ways(records - first, classes - 1)]


def hidden(system):
    """Return the system as seen by somebody without the truth."""
    case = system.case
    people = replace(case.population, truth=Undetermined("hidden"))
    return replace(system, case=replace(case, population=people))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", seeds(16, quick=2))
@pytest.mark.parametrize("sees_truth", [True, False])
@pytest.mark.parametrize("tiers", [Tiers(), ONLY_PROOFS], ids=["all tiers", "no listing"])
def test_no_proof_and_no_witness_is_wrong(seed, level, sees_truth, tiers):
    criterion = ("gini", "entropy", "gain-ratio")[seed % 3] if seed % 2 == 0 else "entropy"
    system, found = judged(small_case(seed, level, criterion))
    told = reason(system if sees_truth else hidden(system), budget_seconds=2, tiers=tiers)
    every = np.array([table for table, _ in found])
    least, most = every.min(axis=0), every.max(axis=0)
    assert (told.low <= least).all()
    assert (told.high >= most).all()
    assert told.consistency is not Consistency.INCONSISTENT
    if told.consistency is Consistency.CONSISTENT:
        assert (told.reached_low >= least).all()
        assert (told.reached_high <= most).all()
    for witness in told.witnesses:
        assert any((witness.table == table).all() for table, _ in found)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_the_exact_check_agrees_with_the_definitions_on_every_table(seed, level):
    case = small_case(seed, level)
    system, found = judged(case)
    facts = facts_of(system)
    worlds = {table.tobytes() for table, _ in found}
    for table in tables(system):
        held = first_broken(facts, facts.arranged(table)) is None
        assert held == (table.astype(int).tobytes() in worlds)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", cases([1, 4, 5, 6, 9], quick=3))
def test_drawn_posteriors_contain_those_of_brute_force(seed, level):
    case = small_case(seed, level)
    system, found = judged(case)
    told = reason(system, budget_seconds=4, tiers=ONLY_PROOFS)
    wanted = posterior_of(found, case.population.counts)
    assert told.enumeration.posterior.draws > 0
    assert (told.enumeration.posterior.low <= wanted + 1e-12).all()
    assert (told.enumeration.posterior.high >= wanted - 1e-12).all()


@pytest.mark.parametrize("seed", [1, 4, 5, 6, 9])
def test_the_bits_of_the_splits_contain_those_of_brute_force(seed):
    system, _ = judged(small_case(seed, "counts"))
    exact, drawn = (
        reason(system, tiers=tiers).enumeration.split_bits for tiers in (Tiers(), ONLY_PROOFS)
    )
    assert drawn.low - 1e-9 <= exact.low <= exact.high <= drawn.high + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_knowing_more_never_leaves_more_open(seed):
    told = [reason(build_system(small_case(seed, level)), budget_seconds=2) for level in LEVELS]
    for stronger, weaker in zip(told, told[1:], strict=False):
        assert (stronger.reached_low >= weaker.low).all()
        assert (stronger.reached_high <= weaker.high).all()
        if stronger.enumeration.numbers and weaker.enumeration.numbers:
            assert (stronger.low >= weaker.low).all()
            assert (stronger.high <= weaker.high).all()
            assert stronger.enumeration.numbers.worlds <= weaker.enumeration.numbers.worlds


@pytest.mark.parametrize("seed", range(6))
def test_class_totals_are_honoured(seed):
    known = Knowledge(leaf="rates", split="gini", marginal=True)
    system, found = judged(multiway_case(seed, known, classes=3, records=6))
    every = np.array([table for table, _ in found])
    for tiers in (Tiers(), ONLY_PROOFS):
        told = reason(system, budget_seconds=3, tiers=tiers)
        assert (told.low <= every.min(axis=0)).all()
        assert (told.reached_low >= every.min(axis=0)).all()
        assert (told.reached_high <= every.max(axis=0)).all()
