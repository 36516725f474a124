"""Solves one program: the tries in order, each judged by its own feasibility and stationarity, never by a status alone.

A function of its task alone, so that it gives the same answer in any process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from audit.interior import Interior, interior
from audit.model import build_model
from audit.posterior import FloatArray
from audit.program import Program
from audit.reduce import TAU
from audit.solve import Door, Loaded, Solution, Status, doors

EPS = 1e-4
"""Weight of the term that singles out one optimum where it is flat. Part of the definition of the estimate."""
KKT_ERROR = 1e-6
LINEAR_ERROR_RECORDS = 1e-6

Steps = tuple[tuple[float, float], ...]
"""Weights of the eps term with IPOPT's mu_init, each started where the one before ended."""

TRIES: tuple[Steps, ...] = (
    ((EPS, 3.0),),
    ((EPS, 100.0),),
    ((1e-3, 10.0), (EPS, 0.1)),
    ((1e-3, 10.0),),
)
"""The last one settles for a larger weight, where the flat optimum does not let the small one converge."""
WARM_TRIES: tuple[Steps, ...] = (((EPS, 0.1),), *TRIES)
CONVEX_TRIES: tuple[Steps, ...] = (((0.0, 0.1),), ((0.0, 10.0),), ((EPS, 1.0), (0.0, 1e-3)))
"""A convex block has one optimum, so it needs no such term."""
ELASTIC_EPS = 1e-6
ELASTIC_TRIES: tuple[Steps, ...] = (((ELASTIC_EPS, 1.0),), ((ELASTIC_EPS, 10.0),))


class Outcome(StrEnum):
    """How a task ended. Only ``SOLVED`` answers are used."""

    SOLVED = "solved"
    NOT_CONVERGED = "not converged"
    INFEASIBLE = "no point satisfies its rows"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"
    LOST = "the process that solved it died twice"


@dataclass(frozen=True, slots=True)
class Task:
    """A program, where to start it, and how. All starts are tried and the best accepted answer wins.

    ``deadline`` is a reading of the monotonic clock, infinite for none.
    """

    program: Program
    starts: tuple[FloatArray, ...]
    tries: tuple[Steps, ...]
    door: str
    deadline: float = np.inf


@dataclass(frozen=True, slots=True)
class Answer:
    """The variables found, and how good they are; ``split`` are the multipliers of the split rows."""

    outcome: Outcome
    z: FloatArray
    split: FloatArray
    objective: float = np.inf
    kkt_error: float = np.inf
    iterations: int = 0

    @property
    def is_accepted(self) -> bool:
        """Whether every row holds and the point is stationary."""
        return self.outcome is Outcome.SOLVED


def no_answer(task: Task, outcome: Outcome, iterations: int = 0) -> Answer:
    """Return that a task was not solved."""
    empty = np.zeros(len(task.program.split_limit))
    return Answer(outcome, task.starts[0], empty, iterations=iterations)


def solve_task(task: Task) -> Answer:
    """Solve a task from each of its starts and return the best answer.

    Where that fails because the rows leave no interior, what they force is fixed and the rest solved.
    """
    if task.program.is_impossible:
        return no_answer(task, Outcome.INFEASIBLE)
    try:
        answer = (
            no_answer(task, Outcome.INFEASIBLE) if _has_rows_to_spare(task.program) else _best(task)
        )
        if answer.outcome not in (Outcome.INFEASIBLE, Outcome.NOT_CONVERGED):
            return answer
        inner = interior(task.program) if task.program.size else None
        return answer if inner is None else _from_inside(task, inner, answer)
    except MemoryError:
        return no_answer(task, Outcome.OUT_OF_MEMORY)


def _has_rows_to_spare(program: Program) -> bool:
    """Return whether there are more equalities than variables: some must follow from others, or contradict them."""
    return bool(program.size) and int((program.low == program.high).sum()) > program.size


def _best(task: Task) -> Answer:
    if not task.program.size:
        return Answer(Outcome.SOLVED, task.starts[0], np.zeros(0), 0.0, 0.0)
    loaded = Loaded(build_model(task.program))
    way = doors()[task.door]
    answers = [_from_start(task, loaded, way, start) for start in task.starts]
    return min(answers, key=lambda one: (not one.is_accepted, one.objective))


def _from_inside(task: Task, inner: Interior, before: Answer) -> Answer:
    """Solve what the rows leave open; the answer must satisfy every row of the whole program."""
    starts = tuple(np.maximum(start[inner.free], 1e-3) for start in task.starts)
    found = _best(replace(task, program=inner.program, starts=starts))
    z = inner.restored(found.z)
    if not found.is_accepted or not _holds(task.program, z):
        return replace(before, iterations=before.iterations + found.iterations)
    return replace(
        found,
        z=z,
        split=inner.multipliers(found.split, len(task.program.split_limit)),
        objective=task.program.objective(z),
        iterations=before.iterations + found.iterations,
    )


def _from_start(task: Task, loaded: Loaded, way: Door, start: FloatArray) -> Answer:
    best, iterations, infeasible = no_answer(task, Outcome.INFEASIBLE), 0, 0
    for steps in task.tries:
        z, answer = start, best
        for eps, mu in steps:
            left = task.deadline - time.monotonic()
            if left <= 0:
                return no_answer(task, Outcome.OUT_OF_TIME, iterations)
            limit = {} if np.isinf(left) else {"max_cpu_time": max(left, 0.01)}
            said = way.solve(loaded, z, eps, mu_init=mu, **limit)
            iterations += said.iterations
            infeasible += said.status is Status.INFEASIBLE
            answer = _judged(task.program, said, eps)
            z = said.z if np.isfinite(said.z).all() else start
        if answer.outcome is not Outcome.INFEASIBLE and answer.kkt_error < best.kkt_error:
            best = answer
        if best.is_accepted or (infeasible >= 2 and best.outcome is Outcome.INFEASIBLE):
            break
    return Answer(best.outcome, best.z, best.split, best.objective, best.kkt_error, iterations)


def _judged(program: Program, said: Solution, eps: float) -> Answer:
    """Re-check a solver's answer against every row and for stationarity."""
    z = said.z
    if not _holds(program, z):
        return Answer(Outcome.INFEASIBLE, z, said.split)
    kkt = program.kkt_error(z, said.linear, said.split, said.bounds, eps)
    outcome = Outcome.SOLVED if kkt <= KKT_ERROR else Outcome.NOT_CONVERGED
    return Answer(outcome, z, said.split, program.objective(z), kkt)


def _holds(program: Program, z: FloatArray) -> bool:
    most = max(LINEAR_ERROR_RECORDS, 1e-10 * float(program.scale.sum()))
    return (
        bool(np.isfinite(z).all())
        and program.linear_error(z) <= most
        and program.split_error(z) <= TAU
    )
