"""What is done for many tables or cells at once gives what is done one by one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import system_of
from tests.kit.cases import multiway_case
from tests.kit.grown_trees import grow_tree, heart
from tests.kit.tiers import seeds
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.facts.facts import facts_of, with_splits, without_splits
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.facts.splits import groups
from treewarden.audit.consistent_tables.proofs.bounds import closed_form, spread
from treewarden.audit.consistent_tables.proofs.propagate import propagate
from treewarden.audit.consistent_tables.queries import Asker
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.enumerate import (
    _is_plain,
    _row_number,
    _rows,
    _rows_once,
    _that_fit,
    enumerated,
    place_tables,
)
from treewarden.audit.consistent_tables.witnesses.one_swap_search import (
    mend_stuck,
    swap_stuck,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    Swap,
    TableChanges,
    WitnessPool,
    first_broken,
    without_false_places,
    without_false_splits,
)
from treewarden.audit.facts.rows import Linear, Origin
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.progress import FOREVER, clock
from treewarden.audit.system.system import build_system


@pytest.mark.parametrize("tables", [1, 3, 200])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_sums_per_group_are_the_same_however_many_tables(tables, kind):
    draw = np.random.default_rng(0)
    of, table = draw.integers(7, size=150), draw.integers(4, size=(tables, 150, 3)).astype(kind)
    wanted = np.stack([table[:, of == label].sum(axis=1) for label in np.unique(of)], axis=1)
    assert (groups(of).sums(table) == wanted).all()
    first = np.ascontiguousarray(table.swapaxes(0, 1)).swapaxes(0, 1)
    assert (groups(of).sums(first) == wanted).all()


@pytest.mark.parametrize("caps", [(3,), (2, 2), (0, 4, 1), (5, 0, 2, 3), (1, 1, 1, 1)])
@pytest.mark.parametrize("count", range(8))
def test_all_ways_to_part_a_profile_are_listed_and_counted(caps, count):
    every = itertools.product(*(range(cap + 1) for cap in caps))
    wanted = sorted(row for row in every if sum(row) == count)
    assert sorted(map(tuple, _rows(count, caps).tolist())) == wanted
    assert (_row_number(count, caps, 2) > 2) == (len(wanted) > 2)


def test_two_swaps_move_what_one_does_not_and_lead_to_worlds():
    case = grow_tree(*heart(), criterion="gini", max_depth=5)
    facts = with_intervals(facts_of(build_system(case)))
    bounds, pool = closed_form(facts), WitnessPool(facts)
    pool.add(facts.arranged(case.population.truth)[None])
    swap_stuck(facts, pool, pool.stuck(bounds.low, bounds.high), clock(100))
    left = pool.stuck(bounds.low, bounds.high).sum()
    mend_stuck(facts, pool, pool.stuck(bounds.low, bounds.high), clock(100))
    assert pool.stuck(bounds.low, bounds.high).sum() < left
    assert all(first_broken(facts, table) is None for table in pool.tables)


def test_a_leaf_that_the_true_table_contradicts_tells_the_splits_above_it_nothing():
    system = system_of([1, 1, 1, 1], [[0, 1], [2, 3]], [(1, 1), (1, 1)], [(0, "0101")])
    truth = np.array([[1, 0], [1, 0], [0, 1], [1, 0]])
    told = with_splits(without_false_places(without_splits(system), truth), system)
    kept = without_false_splits(told, truth)
    assert all(split.chosen_table is None for split in kept.splits[0])
    assert first_broken(kept, truth) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_swap_is_allowed_where_the_table_after_it_obeys_the_row(seed):
    case = grow_tree(*heart(), criterion=("gini", "entropy")[seed % 2], max_depth=4)
    facts = with_intervals(facts_of(build_system(case)))
    draw = np.random.default_rng(seed)
    table = facts.arranged(case.population.truth)
    # From tables that are no worlds too, as worlds two swaps away go through them.
    for place in list(facts.places.values())[: 2 * seed]:
        table[place.start : place.end] = table[place.start : place.end][::-1]
    for splits in facts.splits.values():
        for split in splits[:4]:
            first, second = draw.integers(split.start, split.end, size=(2, 30))
            own = draw.integers(2, size=30)
            trades = np.stack([first, own, second, 1 - own])
            after = [
                Swap(*trade).applied(table)[split.start : split.end] for trade in trades.T.tolist()
            ]
            wanted = [bool(split.holds(one[None])[0]) for one in after]
            checker, changes = ChangeChecker(facts, table), TableChanges(*trades, to=trades[3])
            assert checker._split_holds(split, changes, FOREVER).tolist() == wanted


def weighed_system(seed):
    """Return some people with numbers, of whom leaves and two sums over all people are known."""
    case = multiway_case(seed, Knowledge(leaf="counts", split="none"), records=12)
    draw = np.random.default_rng(seed)
    truth, rows = case.population.truth, []
    profiles = np.arange(len(truth), dtype=np.intp)
    for klass in (0, 1):
        weights = draw.integers(1, 60, len(truth)).astype(float)
        total = float(weights @ truth[:, klass])
        classes = np.full(len(truth), klass, dtype=np.intp)
        origin = Origin("published_beside", "a sum")
        rows.append(Linear(profiles, classes, weights, total - 1, total + 1, origin))
    return build_system(case), tuple(rows)


def test_linear_programs_of_all_rows_prove_no_more_than_all_tables_say_and_more_than_single_rows():
    more = 0
    for seed in range(12):
        plain, rows = weighed_system(seed)
        system = replace(plain, rows=(*plain.rows, *rows))
        facts = facts_of(system)
        listed = reason(system, budget_seconds=100.0)
        bounds, pool = closed_form(facts), WitnessPool(facts)
        spread(facts, bounds)
        propagate(facts, bounds, clock(100))
        pool.add(facts.arranged(system.case.population.truth)[None])
        before = int((bounds.low == facts.counts[:, None]).sum())
        Asker(facts, bounds, pool, clock(100)).prove_by_lines()
        certain = (bounds.low == facts.counts[:, None]) & (facts.counts[:, None] > 0)
        more += int(certain.sum()) - before
        assert listed.enumeration.numbers.worlds > 0
        assert (listed.certain | ~facts.profiles(certain.any(axis=1))).all()
    assert more > 0


@pytest.mark.parametrize("seed", seeds(20))
def test_rows_go_with_totals_where_no_class_passes_its_cap_and_each_floor_can_be_reached(seed):
    draw = np.random.default_rng(seed)
    totals, rows = draw.integers(0, 4, (7, 3)), draw.integers(0, 3, (5, 3))
    low, high, rest = draw.integers(0, 4, 3), draw.integers(0, 6, 3), int(draw.integers(0, 6))
    expected = [
        (one, two)
        for one, total in enumerate(totals)
        for two, row in enumerate(rows)
        if (total + row <= high).all() and np.maximum(low - total - row, 0).sum() <= rest
    ]
    first, second = _that_fit(totals, rows, (low, high, rest), most=100)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    if expected:
        assert _that_fit(totals, rows, (low, high, rest), most=len(expected) - 1) is None


def test_the_ways_to_part_a_profile_are_listed_once_where_they_are_few():
    assert _rows_once(3, (2, 3, 1)) is _rows_once(3, (2, 3, 1))
    assert _rows_once(3, (2, 3, 1)).sum(axis=1).tolist() == [3] * 6
    many = _rows_once(60, (60, 60, 60))
    assert len(many) == 61 * 62 / 2
    assert many is not _rows_once(60, (60, 60, 60))


@pytest.mark.parametrize("leaf", ["counts", "rates", "labels"])
@pytest.mark.parametrize("seed", seeds(8))
def test_the_tables_of_a_plain_leaf_tell_nothing_more_than_the_ends_of_its_classes(seed, leaf):
    case = multiway_case(seed, Knowledge(leaf=leaf, split="none"), classes=3, records=14)
    facts = facts_of(build_system(case))
    bounds, plain = closed_form(facts), 0
    for node, place in facts.places.items():
        tables = place_tables(facts, place, 100_000)
        if not _is_plain(facts, node) or tables is None:
            continue
        here = slice(place.start, place.end)
        assert (tables.min(axis=0) == bounds.low[here]).all()
        assert (tables.max(axis=0) == bounds.high[here]).all()
        plain += 1
    assert plain or leaf == "labels"


@pytest.mark.parametrize("seed", seeds(8))
def test_nodes_whose_tables_are_listed_have_those_of_their_leaves(seed):
    case = multiway_case(seed, Knowledge(leaf="counts", split="gini"), classes=2, records=16)
    facts = facts_of(build_system(case))
    listed = enumerated(facts, clock(100))
    assert 0 in listed
    for node in listed:
        inside = [child for child in facts.tree.nodes[node].children if child in listed]
        parts = [listed[child] for child in inside]
        start = facts.span(node).start
        for child, part in zip(inside, parts, strict=True):
            span = facts.span(child)
            at = slice(span.start - start, span.stop - start)
            known = {table.tobytes() for table in part}
            assert {table[at].tobytes() for table in listed[node]} <= known
