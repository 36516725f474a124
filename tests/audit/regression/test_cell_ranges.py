"""The attack on totals of cells, piece by piece, of cases that were worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from treewarden.audit.population.target import Contributions
from treewarden.audit.progress import FOREVER
from treewarden.audit.regression.cell_ranges import (
    NOT_KNOWN,
    _Attack,
    _attack_of,
    _Contributors,
    _contributors,
    _sure_ends,
    _TotalsProgram,
    attack_cells,
)


def test_of_a_cell_that_stays_open_the_low_end_is_what_a_table_shows_and_not_what_is_proved():
    # The total is 3; a table with 5 was found and more than 8 was excluded, both to within half.
    ends = _sure_ends(*(np.array([end]) for end in (5.0, 8.0, 3.0)), 0.5)
    assert [end.tolist() for end in ends] == [[4.5], [8.0]]


def test_contributors_are_told_apart_in_all_cells():
    # Three people with 7, 5 and 3 in the first cell, the last of whom has 2 in the second, alone.
    rows = SimpleNamespace(cells=SimpleNamespace(of=np.array([0, 1]), sizes=np.array([3, 1])))
    records = Contributions(
        rows=np.arange(4),
        profiles=np.array([0, 0, 0, 1]),
        people=np.ones(4),
        amounts=np.array([7.0, 5.0, 3.0, 2.0]),
        contributors=np.array([0, 1, 2, 2]),
    )
    known = _contributors(rows, records)
    assert known.who.tolist() == [0, 1, 2, 2]
    assert known.cells.tolist() == [0, 0, 0, 1]
    assert known.parts.tolist() == [7, 5, 3, 2]
    assert known.is_alone.tolist() == [False, False, False, True]


def test_a_total_is_no_more_than_the_least_row_that_holds_it():
    # All three cells add up to 10, the last two to 4; the last holds nobody.
    problem = SimpleNamespace(
        matrix=sparse.csr_array(np.array([[1, 1, 1], [0, 1, 1]])),
        people=np.array([2, 1]),
        low=np.array([10, 4]),
        high=np.array([10, 4]),
    )
    rows = SimpleNamespace(
        problem=lambda: problem,
        scale=SimpleNamespace(unit=1.0, start=0.0),
        cells=SimpleNamespace(sizes=np.array([1, 1, 0])),
    )
    program = _attack_of(rows, SimpleNamespace(totals=np.array([6.0, 4.0])))
    assert program.unit == 10
    assert program.least.tolist() == [0, 0, 0]
    assert program.most.tolist() == [1, 0.4, 0]
    assert program.chain.tolist() == [0, 0, 0]


def attack():
    """Two cells of which the sum is known to be 10, in tens; each is linked to the other."""
    matrix, total = sparse.csr_array(np.ones((1, 2))), np.ones(1)
    return _Attack(
        matrix=matrix,
        low=total,
        high=total,
        least=np.zeros(2),
        most=np.ones(2),
        unit=10.0,
        chain=np.zeros(2, dtype=np.intp),
        program=_TotalsProgram(matrix, total, total),
    )


def test_a_total_is_at_most_what_the_sum_leaves():
    inside = np.array([True, False])
    proved, reached, table = attack().greatest(inside, FOREVER)
    assert (proved, reached) == (pytest.approx(10), pytest.approx(10))
    assert table.tolist() == pytest.approx([10, 0])


def test_whoever_is_alone_in_a_cell_knows_its_total_and_another_contributor_that_it_is_no_less():
    one, second = np.array([0], dtype=np.intp), np.array([1], dtype=np.intp)
    for is_alone in (True, False):
        own = _Contributors(one, second, np.array([3.0]), np.array([is_alone]))
        knows = attack().knowing(own)
        assert knows.least.tolist() == [0, 0.3]
        assert knows.most.tolist() == [1, 0.3 if is_alone else 1]
        found, _, _ = knows.greatest(np.array([True, False]), FOREVER)
        assert found == pytest.approx(7)


def test_cells_of_a_table_without_amounts_are_not_attacked():
    nothing = np.zeros(0)
    records = Contributions(nothing.astype(int), nothing.astype(int), nothing, nothing)
    for contributions in (None, replace(records, amounts=None)):
        people = (None, SimpleNamespace(contributions=contributions))
        assert attack_cells(None, None, people, FOREVER, is_all=True) == NOT_KNOWN
