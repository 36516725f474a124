"""Exact comparison of splits against whole-number arithmetic on random tables, ties included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.judges.worlds_by_hand import _compare
from tests.kit.tiers import seeds
from treewarden.audit.bounds import StoppingPlace, tightened
from treewarden.audit.consistent_tables.facts.exact import is_beaten, is_one
from treewarden.audit.consistent_tables.facts.intervals import _ends
from treewarden.audit.consistent_tables.facts.splits import chosen_of, split_of
from treewarden.audit.facts.rows import Grouping, Origin, SplitFamily
from treewarden.ppdm_models.tree.tree import Criterion


@pytest.mark.parametrize("criterion", list(Criterion))
@pytest.mark.parametrize("seed", range(30))
def test_random_splits_compare_as_their_whole_numbers_do(criterion, seed):
    draw = np.random.default_rng(seed)
    table = draw.integers(4, size=(6, 2 + seed % 2))
    first, second = draw.permutation([0, 0, 0, 1, 1, 1]), draw.permutation([0, 0, 1, 1, 2, 2])
    sides = [
        [table[group == b].sum(axis=0).tolist() for b in np.unique(group)]
        for group in (first, second)
    ]
    if any(not sum(branch) for side in sides for branch in side):
        table = table + 1
        sides = [
            [table[g == b].sum(axis=0).tolist() for b in np.unique(g)] for g in (first, second)
        ]
    order = _compare(criterion, table, first.tolist(), second.tolist())
    assert is_beaten(criterion, *sides, strict=False) == (order > 0)
    if criterion is not Criterion.GAIN_RATIO or order:
        assert is_beaten(criterion, *sides, strict=True) == (order >= 0)


@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
def test_equal_splits_of_a_billion_records_are_a_tie(criterion):
    big = 10**9 + 7
    branches = [[3 * big, big], [big, 2 * big]]
    mirrored = [[big, 2 * big], [3 * big, big]]
    assert not is_beaten(criterion, branches, mirrored, strict=False)
    assert is_beaten(criterion, branches, mirrored, strict=True)


@pytest.mark.parametrize("criterion", list(Criterion))
def test_one_record_in_a_billion_breaks_a_tie(criterion):
    big = 10**9
    chosen = [[big, big], [big, big]]
    better = [[big + 10**6, big - 10**6], [big - 10**6, big + 10**6]]
    assert is_beaten(criterion, chosen, better, strict=False)
    assert not is_beaten(criterion, better, chosen, strict=True)


def test_a_product_of_powers_is_one_only_if_it_is():
    assert is_one([(12, 1), (2, -2), (3, -1)])
    assert is_one([(6, 2), (4, -1), (9, -1)])
    assert not is_one([(12, 1), (2, -1), (3, -1)])
    assert is_one([])


@pytest.mark.parametrize("criterion", list(Criterion))
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", seeds(12, quick=4))
def test_intervals_hold_exactly_the_counts_that_the_row_allows(criterion, strict, seed):
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 6, size=8)
    chosen = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    places = []
    for number in range(3):
        here = np.flatnonzero(chosen == number)
        records = int(counts[here].sum())
        first = int(draw.integers(records + 1))
        mass = (first, records - first)
        places.append(StoppingPlace(number, int(here[0]), int(here[-1]) + 1, records, mass, mass))
    family = SplitFamily(
        0, "a", criterion, Grouping.THRESHOLD, np.arange(8), chosen, draw.permutation(8),
        np.arange(7), tuple("abcdefgh"), Origin("split_choice", "node 0", 0),
    )  # fmt: skip
    split = split_of(
        family, chosen_of(family, np.arange(8), places), counts.astype(np.int64), strict
    )
    ((low, high),) = _ends(criterion, [split])
    total = sum(place.low[0] for place in places)
    for a in range(split.size):
        left = int(split.left_records[a])
        right = int(counts.sum()) - left
        for count in range(max(0, total - right), min(left, total) + 1):
            branches = [[count, left - count], [total - count, right - total + count]]
            known = [list(row) for row in split.chosen_table.tolist()]
            beaten = is_beaten(criterion, known, branches, strict)
            assert (low[a] <= count <= high[a]) != beaten


def test_a_label_bounds_the_classes_of_its_place():
    place = tightened(StoppingPlace(1, 0, 3, 7, (0, 0, 0), (7, 7, 7), label=1, leads=(0, 0, 0)))
    assert (place.low, place.high) == ((0, 3, 0), (3, 7, 3))
    strict = tightened(StoppingPlace(1, 0, 3, 6, (0, 0), (6, 6), label=0, leads=(0, 1)))
    assert (strict.low, strict.high) == ((4, 0), (6, 2))
