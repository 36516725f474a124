"""The bound of a block: no point goes beyond it, whatever multipliers it is proved by."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from tests.kit.cases import curved_tasks
from treewarden.audit.solver import block_solver
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.canonical import floor, is_overloaded, weights
from treewarden.audit.solver.task import ELASTIC_TRIES, TaskOutcome

OPEN = (12, 19, 43, 44, 51)
"""Seeds of cases with blocks that are below their bound."""


@pytest.mark.parametrize("split", ["gini", "entropy", "gain-ratio"])
def test_no_multipliers_prove_more_than_is_true(split):
    draw = np.random.default_rng(0)
    found = curved_tasks(split)
    assert found
    for task in found:
        answer, program = solve_task(task), task.program
        assert answer.floor <= answer.objective + 1e-6
        for scale in (0.0, 0.1, 1.0, 10.0):
            linear = scale * draw.normal(size=len(program.low))
            split_prices = scale * draw.normal(size=len(program.splits))
            proved = floor(program, task.chains, answer.z, linear, split_prices)
            assert proved <= answer.objective + 1e-6


def test_huge_multipliers_that_cancel_prove_no_more_than_none():
    draw = np.random.default_rng(0)
    for task in curved_tasks("entropy"):
        program, none = task.program, np.zeros(len(task.program.splits))
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


def test_the_bound_is_tight_where_the_elastic_optimum_breaks_nothing():
    gaps = []
    for task in curved_tasks("entropy"):
        answer = solve_task(task)
        gaps.append((answer.objective - answer.floor) / task.program.scale.sum())
    assert min(gaps) < 1e-5


def test_weights_seen_from_a_point_prove_more_than_those_of_all_points(monkeypatch):
    tasks = curved_tasks("gini", OPEN, records=60)
    seen = [solve_task(task) for task in tasks]
    monkeypatch.setattr(
        import_module("treewarden.audit.solver.canonical"),
        "weights",
        lambda program, chains, *_: weights(program, chains),
    )
    blind = [solve_task(task) for task in tasks]
    gaps = [sum(a.objective - a.floor for a in answers) for answers in (seen, blind)]
    assert gaps[0] < 0.8 * gaps[1]


def test_chains_that_were_taken_too_lightly_are_weighed_again(monkeypatch):
    again, tasks = [], curved_tasks("gini", OPEN, records=60)
    monkeypatch.setattr(import_module("treewarden.audit.solver.canonical"), "MARGIN", 0.7)
    for task in tasks:
        once = solve_task(task)
        monkeypatch.setattr(
            import_module("treewarden.audit.solver.block_solver"), "is_overloaded", lambda *_: False
        )
        never = solve_task(task)
        monkeypatch.setattr(
            import_module("treewarden.audit.solver.block_solver"), "is_overloaded", is_overloaded
        )
        assert never.floor <= never.objective + 1e-6
        assert once.floor <= once.objective + 1e-6
        again.append(once.iterations > never.iterations)
    assert any(again)


def test_where_the_first_start_meets_no_point_the_others_are_tried_once_each(monkeypatch):
    seen, ask = [], block_solver._from_start

    def recorded(task, solver, start):
        if task.tries is not ELASTIC_TRIES:
            seen.append(len(task.tries))
        return ask(task, solver, start)

    task = curved_tasks("gini", range(6))[0]
    monkeypatch.setattr(block_solver, "_from_start", recorded)
    splits = task.program.splits
    nowhere = replace(splits, limit=splits.limit - splits.records)
    answer = block_solver._best(replace(task, program=replace(task.program, splits=nowhere)))
    assert answer.outcome is TaskOutcome.INFEASIBLE
    assert seen == [len(task.tries), 1, 1]
    assert len(task.starts) == 2
    assert len(task.tries) > 1
