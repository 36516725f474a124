"""What the linear rows force, judged by one linear program per variable."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from tests.kit.cases import curved_tasks, multiway_case
from tests.kit.rows import rows
from tests.kit.tiers import cases
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.ipopt.program import SMALLEST_MASS
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT
from treewarden.audit.solver.block_solver import _from_inside, solve_task
from treewarden.audit.solver.interior import Interior, _independent, interior, is_inside
from treewarden.audit.solver.task import CONVEX_TRIES, SolverTask, TaskOutcome, no_answer
from treewarden.audit.system.system import build_system

CASES = [(leaf, seed) for leaf in ("labels", "rates") for seed in range(8)]


def programs(leaf, seed):
    """Return the programs of a case whose class totals and accuracy are known."""
    case = multiway_case(seed, Knowledge(leaf=leaf, split="none", marginal=True, accuracy=True))
    search = EntropySearch(build_system(case), DEFAULT)
    return [
        search.reduced(block).program
        for block in blocks(search.system, tuple(search.knowledge), ())
    ]


def largest(program, variable):
    """Return the most that a variable can be under the linear rows."""
    cost = np.zeros(program.size)
    cost[variable] = -1.0
    rows, low, high = program.rows.toarray(), program.low, program.high
    equal = low == high
    sides = [(rows[~equal & np.isfinite(high)], high[~equal & np.isfinite(high)])]
    sides.append((-rows[~equal & np.isfinite(low)], -low[~equal & np.isfinite(low)]))
    lower = np.where(program.lower > SMALLEST_MASS, program.lower, 0.0)
    answer = linprog(
        cost,
        A_ub=np.vstack([side for side, _ in sides]),
        b_ub=np.concatenate([end for _, end in sides]),
        A_eq=rows[equal],
        b_eq=low[equal],
        bounds=list(zip(lower, program.upper, strict=True)),
    )
    return -answer.fun


@pytest.mark.parametrize(("leaf", "seed"), cases(CASES, quick=CASES[::3]))
def test_exactly_the_masses_that_can_only_be_zero_are_fixed_at_zero(leaf, seed):
    for program in programs(leaf, seed):
        found = interior(program)
        masses = range(len(program.scale))
        fixed = (
            set()
            if found is None
            else {i for i in masses if not found.free[i] and found.values[i] <= SMALLEST_MASS}
        )
        assert fixed == {i for i in masses if largest(program, i) <= 1e-7}


@pytest.mark.parametrize(("leaf", "seed"), cases(CASES, quick=CASES[::3]))
def test_a_point_of_the_smaller_program_is_one_of_the_whole(leaf, seed):
    for program in programs(leaf, seed):
        found = interior(program)
        if found is None:
            continue
        inner = found.program
        equal = inner.low == inner.high
        rows = inner.rows.toarray()
        z = found.restored(np.linalg.lstsq(rows[equal], inner.low[equal], rcond=None)[0])
        is_equal = program.low == program.high
        np.testing.assert_allclose((program.rows @ z)[is_equal], program.low[is_equal], atol=1e-8)
        assert np.linalg.matrix_rank(rows[equal]) == equal.sum()


@pytest.mark.parametrize(("leaf", "seed"), cases(CASES, quick=CASES[::3]))
def test_a_point_lies_strictly_inside_only_where_nothing_is_forced(leaf, seed):
    for program in programs(leaf, seed):
        task = SolverTask(program, (program.start,), CONVEX_TRIES, "casadi")
        assert is_inside(program, solve_task(task).z) == (interior(program) is None)


def test_a_point_that_misses_a_row_is_not_inside():
    for program in programs("rates", 0):
        point = solve_task(SolverTask(program, (program.start,), CONVEX_TRIES, "casadi")).z
        assert not is_inside(program, 0.9 * point)


def test_a_bound_on_the_rest_is_none_on_the_whole_where_a_pool_may_be_forced(monkeypatch):
    task = curved_tasks("gini", (12,), records=60)[0]
    free = np.ones(task.program.size, dtype=bool)
    kept = np.arange(len(task.program.splits))
    floors = []
    for forced in (0.0, 1.0):
        values = np.full(task.program.size, SMALLEST_MASS)
        values[0] += forced
        inner = Interior(task.program, free, values, kept)
        assert inner.is_bounding == (forced == 0.0)
        monkeypatch.setattr(
            import_module("treewarden.audit.solver.block_solver"),
            "interior",
            lambda _, inner=inner: inner,
        )
        before = no_answer(task, TaskOutcome.INFEASIBLE)
        floors.append(_from_inside(task, before).floor)
    assert np.isfinite(floors[0])
    assert floors[1] == -np.inf


@rows("seed", range(20))
def test_equalities_that_others_imply_are_left_out_and_no_others(seed):
    draw = np.random.default_rng(seed)
    own = (draw.random((8, 30)) < 0.1).astype(float)
    shared = (draw.random((6, 30)) < 0.5) * draw.integers(1, 4, size=(6, 30))
    rows = np.vstack([own, shared, shared[0] - shared[1], own[0] + shared[2], shared[:2]])
    equal = np.ones(len(rows), dtype=bool)
    equal[-1] = False
    rows, equal = rows[order := draw.permutation(len(rows))], equal[order]
    kept = _independent(sparse.csr_matrix(rows), equal)
    filled = rows.any(axis=1)
    assert set(np.flatnonzero(~equal & filled)) <= set(kept)
    equalities = rows[kept][equal[kept]]
    rank = np.linalg.matrix_rank(rows[equal])
    assert len(equalities) == np.linalg.matrix_rank(equalities) == rank
