"""The bound of a block: no point goes beyond it, whatever multipliers it is proved by."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from audit.block_solver import solve_task
from audit.elastic import floor
from audit.estimate import estimate
from audit.knowledge import Knowledge
from audit.search import Search, SolveOptions
from audit.system import build_system
from tests.cases import multiway_case

OPTIONS = SolveOptions(jobs=1, integer_rows=False)


class _Recorder(Search):
    """Keeps the tasks that a search asks for."""

    seen: list = []

    def ask(self, asked):
        tasks = list(asked)
        self.seen.extend(tasks)
        return [solve_task(task) for task in tasks]


def tasks(monkeypatch, split):
    """The curved blocks of some small audits."""
    monkeypatch.setattr("audit.estimate.Search", _Recorder)
    monkeypatch.setattr(_Recorder, "seen", [])
    for seed in range(8):
        estimate(build_system(multiway_case(seed, Knowledge(leaf="rates", split=split))), OPTIONS)
    return [t for t in _Recorder.seen if t.chains is not None and not t.program.is_convex]


@pytest.mark.parametrize("split", ["gini", "entropy", "gain-ratio"])
def test_no_multipliers_prove_more_than_is_true(monkeypatch, split):
    draw = np.random.default_rng(0)
    found = tasks(monkeypatch, split)
    assert found
    for task in found:
        answer, program = solve_task(task), task.program
        assert answer.floor <= answer.objective + 1e-6
        for scale in (0.0, 0.1, 1.0, 10.0):
            linear = scale * draw.normal(size=len(program.low))
            split_prices = scale * draw.normal(size=len(program.split_limit))
            proved = floor(program, task.chains, answer.z, linear, split_prices)
            assert proved <= answer.objective + 1e-6


def test_huge_multipliers_that_cancel_prove_no_more_than_none(monkeypatch):
    draw = np.random.default_rng(0)
    for task in tasks(monkeypatch, "entropy"):
        program, none = task.program, np.zeros(len(task.program.split_limit))
        equal = program.low == program.high
        twice = replace(
            program,
            rows=sparse.csr_matrix(sparse.vstack([program.rows[equal]] * 2)),
            low=np.tile(program.low[equal], 2),
            high=np.tile(program.high[equal], 2),
        )
        z = solve_task(task).z
        plain = floor(twice, task.chains, z, np.zeros(2 * equal.sum()), none)
        for _ in range(20):
            huge = 1e13 * draw.normal(size=equal.sum())
            assert floor(twice, task.chains, z, np.concatenate([huge, -huge]), none) <= plain


def test_the_bound_is_tight_where_the_elastic_optimum_breaks_nothing(monkeypatch):
    gaps = []
    for task in tasks(monkeypatch, "entropy"):
        answer = solve_task(task)
        gaps.append((answer.objective - answer.floor) / task.program.scale.sum())
    assert min(gaps) < 1e-5
