"""The barrier method: optima of blocks that are not convex, and IPOPT where it finds none."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.kit.cases import curved_tasks
from tests.kit.tiers import seeds
from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.backends import AUTO, CASADI
from treewarden.audit.ipopt.program import BlockProgram
from treewarden.audit.solver import block_solver
from treewarden.audit.solver.barrier_method import BarrierFirst
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.canonical import elastic
from treewarden.audit.solver.newton_system import NewtonSystem
from treewarden.audit.solver.task import EPS, is_optimal

SPLITS = ("gini", "entropy", "gain-ratio")
SAME_NATS = 1e-6
"""Per record: how far below that of another local optimum an entropy may be in these small blocks."""


class Asked:
    """A door that says that it was asked, and gives back where it was started."""

    def __init__(self, program: BlockProgram) -> None:
        self.program = program
        self.starts = []

    def solve(self, z, eps, *, held_count=0, **options):
        self.starts.append(z)
        rows, splits = self.program.rows.shape[0], len(self.program.splits)
        nothing = np.zeros(len(z))
        return Solution(z, np.zeros(rows), np.zeros(splits), nothing, Status.FAILED, 0)


def unasked():
    pytest.fail("IPOPT was asked")


@pytest.mark.parametrize("split", SPLITS)
def test_it_ends_at_optima_that_are_as_good_as_those_of_ipopt(split):
    gains = []
    for task in curved_tasks(split, range(16), 40):
        program = task.program
        solution = BarrierFirst(program, unasked).solve(program.start, EPS, mu_init=3.0)
        assert solution.status is Status.SOLVED
        assert is_optimal(program, solution, EPS, 0)
        other = solve_task(replace(task, door=CASADI))
        if other.is_accepted:
            records = float(program.scale.sum())
            gains.append((other.objective - program.objective(solution.z)) / records)
    assert len(gains) > 5
    assert min(gains) > -SAME_NATS


@pytest.mark.parametrize("split", ["gini", "entropy"])
def test_variables_that_are_held_stay_and_have_the_multipliers_that_hold_them(split):
    for task in curved_tasks(split, range(4)):
        relaxed = elastic(task.program, task.chains, task.program.start)
        held = relaxed.size - task.program.size
        start = np.concatenate([task.program.start, np.zeros(held)])
        solver = BarrierFirst(relaxed, unasked)
        solution = solver.solve(start, EPS, held_count=held, mu_init=3.0)
        assert (solution.z[task.program.size :] == 0).all()
        assert is_optimal(relaxed, solution, EPS, held)
        loose = solver.solve(relaxed.start, 1e-6, mu_init=1.0)
        assert is_optimal(relaxed, loose, 1e-6, 0)
        assert relaxed.objective(loose.z) <= relaxed.objective(solution.z) + 1e-6


def test_ipopt_is_asked_about_rows_that_leave_room():
    program = curved_tasks("gini", range(2))[0].program
    wider = replace(program, low=program.low - 1.0)
    door = Asked(wider)
    BarrierFirst(wider, lambda: door).solve(wider.start, EPS, mu_init=3.0)
    assert len(door.starts) == 1


def test_ipopt_is_asked_from_then_on_where_no_point_satisfies_the_rows():
    program = curved_tasks("gini", range(2))[0].program
    splits = replace(program.splits, constant=program.splits.constant + 1e3)
    broken = replace(program, splits=splits)
    door = Asked(broken)
    solver = BarrierFirst(broken, lambda: door)
    for _ in range(2):
        answer = solver.solve(broken.start, EPS, mu_init=3.0)
        assert answer.status is Status.FAILED
    assert len(door.starts) == 2


def test_it_stops_when_time_is_up():
    program = curved_tasks("entropy", range(2))[0].program
    began = time.monotonic()
    solver = BarrierFirst(program, unasked)
    solution = solver.solve(program.start, EPS, mu_init=3.0, max_cpu_time=-1.0)
    assert solution.status is Status.OUT_OF_TIME
    assert time.monotonic() >= began


@pytest.mark.parametrize(
    ("door", "least", "kind"), [(AUTO, 1, True), (AUTO, 10**6, False), (CASADI, 1, False)]
)
def test_a_door_that_is_named_is_asked_for_every_block(door, least, kind, monkeypatch):
    task = replace(curved_tasks("gini", range(2))[0], door=door)
    monkeypatch.setattr(block_solver, "BARRIER_PROGRAM", least)
    solver = block_solver._solver(task, task.program)
    solver.solve(task.program.start, EPS, mu_init=3.0)
    assert isinstance(solver._solver, BarrierFirst) is kind


def test_a_task_is_solved_by_it_with_the_bound_that_ipopt_leads_to(monkeypatch):
    monkeypatch.setattr(block_solver, "BARRIER_PROGRAM", 0)
    for task in curved_tasks("entropy", range(6)):
        one, other = solve_task(replace(task, door=AUTO)), solve_task(replace(task, door=CASADI))
        assert one.outcome == other.outcome
        assert one.floor == pytest.approx(other.floor, abs=1e-5 * task.program.scale.sum())
        assert one.floor <= one.objective + 1e-6


@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_the_newton_system_is_solved_and_its_signs_are_counted(seed):
    draw = np.random.default_rng(seed)
    n, r, k = 12, 4, 3
    rows = sparse.csr_matrix((draw.random((r, n)) < 0.5) * draw.normal(size=(r, n)))
    slopes = sparse.csr_matrix((draw.random((k, n)) < 0.5) * draw.normal(size=(k, n)))
    values, room = slopes.data.copy(), draw.random(k) + 0.1
    system = NewtonSystem(rows, slopes)
    for lowest in (0.1, -3.0):
        curvature = draw.random(n) + lowest
        top = [np.diag(curvature), rows.toarray().T, slopes.toarray().T]
        middle = [rows.toarray(), np.zeros((r, r)), np.zeros((r, k))]
        whole = np.block([top, middle, [slopes.toarray(), np.zeros((k, r)), -np.diag(room)]])
        descends = int((np.linalg.eigvalsh(whole) < -1e-9).sum()) == r + k
        assert system.factorise(curvature, values, room) == descends
        right = draw.normal(size=n + r + k)
        np.testing.assert_allclose(whole @ system.solve(right), right, atol=1e-6)
