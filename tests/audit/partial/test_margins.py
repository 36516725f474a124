"""Tables of greatest entropy under linear rows: Newton's method on the dual, and IPOPT where that gives up."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from tests.kit.tiers import seeds
from treewarden.audit.partial.fitting import multipliers
from treewarden.audit.partial.fitting.flows import Allowance
from treewarden.audit.partial.fitting.margins import MOST_GAP, Margins, by_ipopt
from treewarden.audit.partial.fitting.multipliers import Slopes, cells_of, rows_over


def of_groups(supply, demand):
    """Return margins in which everybody can be everywhere."""
    size, places = len(supply), len(demand)
    nowhere = np.zeros(size, dtype=np.intp), np.zeros(places, dtype=np.intp)
    return Margins(
        sparse.csr_array(np.ones((size, places))), np.array(supply), np.array(demand), *nowhere
    )


def rows_of(values, least, *, is_equal=False):
    """Return rows over groups that are branches of their own."""
    values = np.array(values, dtype=float)
    count = len(values)
    return Slopes(
        np.arange(values.shape[1]),
        sparse.csr_array(values.reshape(count, -1)),
        np.array(least, dtype=float),
        np.full(count, is_equal),
    )


def by_solver(margins, rows, allowance):
    """Return what IPOPT finds: the table, (R, J), how far it is off, and what each row is worth."""
    cells = cells_of(margins.can)
    over = rows_over(cells, [rows])
    found = by_ipopt(cells, margins.supply, margins.demand, over, allowance)
    return None if found is None else (cells.table(found[0]).toarray(), *found[1:])


@pytest.mark.parametrize("seed", seeds(10, quick=4))
def test_both_ways_find_the_same_table(seed):
    rng = np.random.default_rng(seed)
    world = rng.integers(1, 6, size=(3, 4)).astype(float)
    margins = of_groups(world.sum(axis=1), world.sum(axis=0))
    values = rng.normal(size=(2, 3, 4))
    rows = rows_of(values, (values * world).sum(axis=(1, 2)), is_equal=bool(seed % 2))
    found = margins.under([rows], np.zeros(0), Allowance(1e9))
    table, gap, _ = by_solver(margins, rows, Allowance(1e9))
    assert found.gap <= MOST_GAP
    assert gap <= MOST_GAP
    assert table == pytest.approx(found.table.toarray(), abs=1e-3)
    assert ((values * table).sum(axis=(1, 2)) >= rows.least - 1e-5).all()
    assert table.sum(axis=0) == pytest.approx(margins.demand)


def test_what_rows_force_is_found_by_ipopt():
    margins = of_groups([2.0, 2.0, 3.0], [2.0, 2.0, 3.0])
    # All of the first group are at the first place: nobody else can be there.
    rows = rows_of([[[1, 0, 0], [0, 0, 0], [0, 0, 0]]], [2.0])
    table, gap, _ = by_solver(margins, rows, Allowance(1e9))
    assert table == pytest.approx(np.array([[2, 0, 0], [0, 0.8, 1.2], [0, 1.2, 1.8]]), abs=1e-5)
    assert gap <= MOST_GAP
    found = margins.under([rows], np.zeros(0), Allowance(1e9))
    assert found.table.toarray() == pytest.approx(table, abs=1e-4)


def test_a_table_that_is_too_large_or_costs_too_much_is_not_asked_for():
    margins = of_groups(np.ones(60), np.ones(60))
    rows = rows_of(np.ones((1, 60, 60)), [0.0])
    assert by_solver(margins, rows, Allowance(1e12)) is None
    small = of_groups(np.ones(2), np.ones(2))
    rows = rows_of(np.ones((1, 2, 2)), [0.0])
    assert by_solver(small, rows, Allowance(10.0)) is None


def test_prices_of_ipopt_are_those_of_the_dual():
    margins = of_groups([3.0, 4.0], [2.0, 5.0])
    rows = rows_of([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], [1.5, 0.5])
    found = margins.under([rows], np.zeros(0), Allowance(1e9))
    _, _, prices = by_solver(margins, rows, Allowance(1e9))
    assert prices == pytest.approx(found.multipliers[2:], abs=1e-3)
    assert prices[0] > 0.5
    assert prices[1] == pytest.approx(0, abs=1e-6)


def test_a_step_that_is_not_found_is_left_to_ipopt(monkeypatch):
    margins = of_groups([3.0, 4.0], [2.0, 5.0])
    rows = rows_of([[[1, 0], [0, 0]]], [1.5])
    wanted = margins.under([rows], np.zeros(0), Allowance(1e9))

    def endless(*_):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(
        import_module("treewarden.audit.partial.fitting.multipliers").optimize, "nnls", endless
    )
    found = margins.under([rows], np.zeros(0), Allowance(1e9))
    assert found.table.toarray() == pytest.approx(wanted.table.toarray(), abs=1e-4)
    assert found.multipliers[2:] == pytest.approx(wanted.multipliers[2:], abs=1e-3)


def test_rows_that_speak_of_too_much_are_not_put_in(monkeypatch):
    margins = of_groups([3.0, 4.0], [2.0, 5.0])
    rows = [rows_of([[[1, 0], [0, 0]]], [1.5]), rows_of([[[0, 0], [1, 0]]], [0.1])]
    assert margins.under(rows, np.zeros(0), Allowance(1e9)) is not None
    monkeypatch.setattr(
        import_module("treewarden.audit.partial.fitting.multipliers"), "MOST_SPOKEN", 1
    )
    assert margins.under(rows, np.zeros(0), Allowance(1e9)) is None


def test_more_multipliers_than_memory_holds_are_not_looked_for(monkeypatch):
    margins, rows = of_groups([3.0, 4.0], [2.0, 5.0]), rows_of([[[1, 0], [0, 0]]], [1.5])
    cells = cells_of(margins.can)
    asked = cells, margins.supply, margins.demand, rows_over(cells, [rows]), np.zeros(0)
    assert multipliers.multipliers(*asked, Allowance(1e9)) is not None
    monkeypatch.setattr(multipliers, "MOST_MULTIPLIERS", 2)
    assert multipliers.multipliers(*asked, Allowance(1e9)) is None


def test_rows_count_only_cells_that_can_hold_somebody():
    can = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    cells = cells_of(can)
    slopes = Slopes(
        np.array([1, 0]),
        sparse.csr_array(np.array([[1.0, 2.0, 3.0, 4.0, 0.0, 6.0]])),
        np.ones(1),
        np.zeros(1, dtype=bool),
    )
    assert slopes.over(cells).toarray().tolist() == [[4.0, 0.0, 2.0, 3.0]]
    held = np.array([1.0, 2.0, 3.0, 4.0])
    assert cells.table(held).toarray().tolist() == [[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]


@pytest.mark.parametrize("seed", range(10))
def test_sums_kept_sparse_or_not_lead_to_the_same_multipliers(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    world = rng.integers(0, 4, size=(8, 6)) * (rng.random((8, 6)) < 0.4) + np.eye(8, 6)
    world[6:] += np.eye(6)[:2]
    can = sparse.csr_array(((world > 0) | (rng.random((8, 6)) < 0.2)).astype(float))
    cells, values = cells_of(can), rng.normal(size=(2, 8, 6))
    rows = rows_over(cells, [rows_of(values, (values * world).sum(axis=(1, 2)), is_equal=True)])
    asked = cells, world.sum(axis=1), world.sum(axis=0), rows, np.zeros(0), Allowance(1e9)
    found = []
    for share in (0.0, 2.0):
        monkeypatch.setattr(multipliers, "SPARSE_BELOW", share)
        found.append(multipliers.multipliers(*asked))
    both = [each[cells.place] + rows.across @ each[6:] for each in found]
    tables = [np.exp(each) for each in both]
    tables = [cells.table(each / np.bincount(cells.group, each)[cells.group]) for each in tables]
    assert tables[0].toarray() == pytest.approx(tables[1].toarray(), abs=1e-6)


def test_steps_are_taken_with_one_thread(monkeypatch):
    margins, asked = of_groups([3.0, 4.0], [2.0, 5.0]), []
    step = multipliers._newton

    def noted(*about):
        asked.append(
            {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
        )
        return step(*about)

    monkeypatch.setattr(multipliers, "_newton", noted)
    margins.under([rows_of([[[1, 0], [0, 0]]], [1.5])], np.zeros(0), Allowance(1e9))
    assert asked
    assert all(each == {1} for each in asked)


def test_blocks_of_which_no_row_speaks_are_solved_too():
    can = sparse.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    block = np.array([0, 0, 1, 1])
    margins = Margins(
        can, np.array([2.0, 3.0, 1.0, 3.0]), np.array([4.0, 1.0, 2.0, 2.0]), block, block
    )
    value = np.zeros((1, 4, 4))
    value[0, 0, 0] = 1.0
    found = margins.under([rows_of(value, [1.8])], np.zeros(0), Allowance(1e9))
    assert found.gap <= MOST_GAP
    assert found.table.toarray()[0] == pytest.approx([1.8, 0.2, 0, 0], abs=1e-5)
    assert found.table.toarray()[2:, 2:] == pytest.approx(np.array([[0.5, 0.5], [1.5, 1.5]]))


def test_a_place_whose_people_can_be_nowhere_else_leaves_no_rounding_in_the_matrix():
    rng = np.random.default_rng(0)
    size = 200
    can = sparse.block_diag([np.ones((2, 2)), np.eye(size)], format="csr")
    supply = np.concatenate([[2.0, 3.0], rng.uniform(1, 50, size)])
    demand = np.concatenate([[4.0, 1.0], supply[2:]])
    cells = cells_of(sparse.csr_array(can))
    problem = multipliers._problem(cells, supply, demand, rows_over(cells, []))
    there = problem.at(np.log(demand))
    assert (problem.curvature(there.held).diagonal()[2:] == 0).all()
