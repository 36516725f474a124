"""The rows that proofs over whole tables are made of, against all tables of small cases."""

from __future__ import annotations

import numpy as np
import pytest

from tests.audit.consistent_tables.test_cpsat import (
    THREE_CLASSES,
    TIED,
    by_hand,
    questions_of,
    scope_of,
)
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.proofs.linear import (
    MULTIPLIER,
    IntegerProgram,
    IntegerRows,
)
from treewarden.audit.consistent_tables.proofs.relax import NOTHING
from treewarden.audit.consistent_tables.proofs.rows import (
    CellRow,
    branch_ends,
    cuts,
    fact_blocks,
    interval_row,
    terms,
)
from treewarden.audit.progress import FOREVER


def test_of_three_classes_each_profile_has_a_row_of_its_people():
    facts, _ = by_hand(THREE_CLASSES, classes=3)
    rows = [row for block in fact_blocks(facts, 0) for row in block.rows()]
    for position, count in enumerate(facts.counts.tolist()):
        own = [row for row in rows if row.cells.tolist() == [3 * position + k for k in range(3)]]
        assert [(row.low, row.high, row.weights.tolist()) for row in own] == [
            (count, count, [1, 1, 1])
        ]


CASES = [(TIED, 2), (THREE_CLASSES, 3)]


@pytest.mark.parametrize(("case", "classes"), CASES)
def test_the_count_of_each_class_in_a_branch_lies_between_its_ends(case, classes):
    facts, worlds = by_hand(case, classes=classes)
    bounds, branches = closed_form(facts), 0
    for split in (split for found in facts.splits.values() for split in found):
        here = slice(split.start, split.end)
        for candidate in range(len(split.ratio)):
            for _, rows, records in terms(facts, split, candidate)[0]:
                low, high = branch_ends(facts, split, rows, bounds.low[here], bounds.high[here])
                counts = worlds[:, here][:, rows].sum(axis=1)
                assert (low <= counts.min(axis=0)).all()
                assert (counts.max(axis=0) <= high).all()
                assert (counts.sum(axis=1) == records).all()
                branches += 1
    assert branches >= 4


def test_an_interval_of_a_split_is_a_row_over_the_first_class_of_those_on_its_left():
    facts, worlds = by_hand(TIED)
    rows = [
        interval_row(facts, split, candidate)
        for found in facts.splits.values()
        for split in found
        if split.low is not None
        for candidate in range(len(split.low))
    ]
    assert rows
    for row in rows:
        total = worlds.reshape(len(worlds), -1)[:, row.cells] @ row.weights
        assert (row.low <= total).all()
        assert (total <= row.high).all()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_what_is_cut_off_for_a_better_split_is_no_table_that_fits(criterion):
    facts, worlds = by_hand(THREE_CLASSES, classes=3, criterion=criterion)
    bounds, random, is_cut = closed_form(facts), np.random.default_rng(0), []
    flat = worlds.reshape(len(worlds), -1)
    for split in (split for found in facts.splits.values() for split in found):
        for _ in range(20):
            # Whole people, whose leaves need not fit.
            point = np.array([random.multinomial(count, [0.4, 0.3, 0.3]) for count in facts.counts])
            for row in cuts(facts, bounds, split, point[split.start : split.end], 3):
                assert (flat[:, row.cells] @ row.weights <= row.high).all()
                is_cut.append(point.reshape(-1)[row.cells] @ row.weights > row.high)
    assert any(is_cut)


def test_multipliers_that_are_nearly_right_prove_no_more_than_is_true():
    # One row, 2 <= x <= 9, of nine people: nothing proves that x is 3.
    rows = IntegerRows(3, 0, np.array([9]))
    rows.add([CellRow(np.array([0]), np.array([1]), 2, None, "a row")])
    program = IntegerProgram(rows, np.zeros((1, 3), dtype=np.int64), np.full((1, 3), 9))
    for units in range(-3, 4):
        duals = np.array([(MULTIPLIER + units) / MULTIPLIER])
        assert program.bound((0, 0), 1, duals) <= 2
    assert program.bound((0, 0), 1, np.ones(1)) == 2


def test_a_linear_proof_goes_no_further_than_what_was_asked():
    facts, worlds = by_hand(TIED)
    learned = 0
    for cell, sign, _ in questions_of(worlds):
        whole = scope_of(facts)
        first = whole.least(cell, sign, 10, FOREVER, rounds=1)
        assert first.bound > NOTHING
        learned += len(whole.lines)
        asked = scope_of(facts)
        assert asked.least(cell, sign, first.bound, FOREVER).bound == first.bound
        assert not asked.lines
    assert learned
