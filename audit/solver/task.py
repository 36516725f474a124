"""One program to solve: its start and weights, its answer, whether that is optimal, and its replay from a record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Protocol

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.program import TAU, BlockProgram
from treewarden.ppdm_models.arrays import FloatArray

# Whether a point satisfies every row of a program and is stationary: judged on its numbers, never by a status.

KKT_ERROR = 1e-6
LINEAR_ERROR_RECORDS = 1e-6


def holds(program: BlockProgram, z: FloatArray) -> bool:
    """Return whether a point satisfies every row, within what solvers leave."""
    most = max(LINEAR_ERROR_RECORDS, 1e-10 * float(program.scale.sum()))
    return (
        bool(np.isfinite(z).all())
        and program.linear_error(z) <= most
        and program.split_error(z) <= TAU
    )


# Solution replay: what a solver returned for one task, recorded to be replayed, re-checked and never trusted.
#
# A solver is asked several times over one task, and each time what it says is re-checked by whoever asked. So a task
# that is done again with what the solver said before goes the same way, with every check and every bound worked out
# anew. What is read back may come from anybody, though, and a solver is trusted in one respect: its multipliers are
# those of an optimum. Here they are not: a solution that is not optimal by its multipliers is asked for again.

GAP_SHARE = 1e-6
"""What multipliers times slacks may add up to, as a share of the masses' scales: a solver leaves about 1e-8."""


@dataclass(slots=True)
class SolutionReplay:
    """What a solver ``said`` before, in that order, and what was ``heard`` in the end; ``seconds`` it was asked for.

    Once one solution is not what was asked for, nothing of what it said after that is taken either. It ``is_sure``
    while all that was heard would be taken again.
    """

    said: Sequence[Solution] = ()
    heard: list[Solution] = field(default_factory=list)
    seconds: float = 0.0
    is_refused: bool = False
    is_sure: bool = True

    @property
    def is_new(self) -> bool:
        """Whether a solver was asked for any of it."""
        return len(self.heard) != len(self.said) or self.is_refused

    def next(self, program: BlockProgram, eps: float, held_count: int) -> Solution | None:
        """Return what the solver said here before; None where it was not asked, or did not say what is optimal."""
        place = len(self.heard)
        if self.is_refused or place >= len(self.said):
            return None
        solution = self.said[place]
        self.is_refused = not _is_good(program, solution, eps, held_count)
        return None if self.is_refused else solution


class ProgramSolver(Protocol):
    """What solves one program from as many starts as are wanted, as `LoadedSolver` does."""

    def solve(
        self, z: FloatArray, eps: float, *, held_count: int = 0, **options: float | str
    ) -> Solution:
        """Solve from ``z`` with the given weight of the eps term; the last variables are held."""
        ...


class RecordedProgram:
    """A program that a solver is asked about, by way of a tape where there is one; it is loaded when it has to be."""

    def __init__(
        self,
        program: BlockProgram,
        opened: Callable[[], ProgramSolver],
        tape: SolutionReplay | None,
    ) -> None:
        self.program, self.tape = program, tape
        self._opened = opened
        self._solver: ProgramSolver | None = None

    def solve(
        self, z: FloatArray, eps: float, *, held_count: int = 0, **options: float | str
    ) -> Solution:
        """Return what the solver says, see ``Solver.solve``, or said before."""
        if self.tape is None:
            return self._solve_anew(z, eps, held_count, options)
        solution = self.tape.next(self.program, eps, held_count)
        if solution is None:
            began = time.perf_counter()
            solution = self._solve_anew(z, eps, held_count, options)
            self.tape.seconds += time.perf_counter() - began
            self.tape.is_sure &= _is_good(self.program, solution, eps, held_count)
        self.tape.heard.append(solution)
        return solution

    def _solve_anew(
        self, z: FloatArray, eps: float, held_count: int, options: dict[str, float | str]
    ) -> Solution:
        if self._solver is None:
            self._solver = self._opened()
        return self._solver.solve(z, eps, held_count=held_count, **options)


def _is_good(program: BlockProgram, solution: Solution, eps: float, held_count: int) -> bool:
    """Return whether a solution is one of the program, and an optimum where it says that it is solved."""
    if not _fits(program, solution):
        return False
    return not _is_success(solution) or is_optimal(program, solution, eps, held_count)


def _is_success(solution: Solution) -> bool:
    return solution.status in (Status.SOLVED, Status.ACCEPTABLE)


def _fits(program: BlockProgram, solution: Solution) -> bool:
    sizes = (len(solution.z), len(solution.linear), len(solution.split), len(solution.bounds))
    rows = (program.rows.shape[0], len(program.splits))
    if sizes != (program.size, *rows, program.size) or solution.iterations < 0:
        return False
    every = (solution.z, solution.linear, solution.split, solution.bounds)
    return not _is_success(solution) or all(bool(np.isfinite(part).all()) for part in every)


def is_optimal(program: BlockProgram, solution: Solution, eps: float, held_count: int) -> bool:
    """Return whether all rows hold, and multipliers prove an optimum.

    They balance the objective, have the signs of one, and are nothing where a row or a bound has room. The last
    ``held_count`` variables have to stay where they are, so nothing is asked of what holds them.
    """
    if not holds(program, solution.z):
        return False
    if (
        program.kkt_error(solution.z, solution.linear, solution.split, solution.bounds, eps)
        > KKT_ERROR
    ):
        return False
    free = slice(0, program.size - held_count)
    gap = _gap(solution.linear, program.rows @ solution.z, program.low, program.high)
    gap += _gap(solution.bounds[free], solution.z[free], program.lower[free], program.upper[free])
    ends = np.zeros(len(solution.split))
    gap += _gap(solution.split, program.split_values(solution.z), np.full(len(ends), -np.inf), ends)
    return bool(gap <= GAP_SHARE * float(program.scale.sum()))


def _gap(multipliers: FloatArray, values: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the sum of multipliers times slacks; those towards an end that is not there count as if it were 1 off."""
    room_above = np.where(np.isfinite(high), np.abs(high - values), 1.0)
    room_below = np.where(np.isfinite(low), np.abs(values - low), 1.0)
    above, below = np.maximum(multipliers, 0.0), np.maximum(-multipliers, 0.0)
    return float(above @ room_above + below @ room_below)


EPS = 1e-4
"""Weight of the term that singles out one optimum where it is flat. Part of the definition of the estimate."""

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
BESIDE_TRIES: tuple[Steps, ...] = (((EPS, 1e-3),), TRIES[0])
"""From a point beside a saddle: a larger barrier pushes it back to where it came from."""
CONVEX_TRIES: tuple[Steps, ...] = (((0.0, 0.1),), ((0.0, 10.0),), ((EPS, 1.0), (0.0, 1e-3)))
"""A convex block has one optimum, so it needs no such term."""
ELASTIC_EPS = 1e-6
ELASTIC_TRIES: tuple[Steps, ...] = (
    ((ELASTIC_EPS, 1.0),),
    ((ELASTIC_EPS, 10.0),),
    ((EPS, 1.0), (ELASTIC_EPS, 1e-2)),
)
SPREAD_TRIES: tuple[Steps, ...] = (((10 * EPS, 0.1),), ((10 * EPS, 10.0),))
BOLD: Mapping[str, int] = {"accept_after_max_steps": 1}
"""IPOPT's options for the first try where split rows are entropies: along their flat directions the filter shortens
most steps to almost nothing, and taking them after all finds as good an optimum in up to a quarter less time."""
WORTH_A_RESTART = 3e-6
"""Gap to the bound, as a share of the masses' scales, above which more starts are worth it; nearer optima are one."""
ENOUGH = 3
"""How often the best optimum must be met, for each optimum that was seen, before no more starts are tried."""
AS_GOOD_NATS = 1e-4
"""An optimum that was met is as good where its entropy is lower by no more than this, per record of its block."""
SAME_SHARE = 1e-4
"""Estimates of which no share differs by more than this are one estimate."""
SMALL_PROGRAM = 150
"""Variables up to which more starts cost next to nothing."""
SEARCHED_PROGRAM = 300
"""Variables up to which a block is tried from more starts once, when no split row is violated any more."""
BARRIER_PROGRAM = 200
"""Variables above which the barrier method is asked before IPOPT, which finds slightly better optima below."""
WORTH_HALVES = 1000
"""Variables above which the bound and the optimum are worth being looked for side by side, each with a model."""


class TaskOutcome(StrEnum):
    """How a task ended. Only ``SOLVED`` answers are used."""

    SOLVED = "solved"
    NOT_CONVERGED = "not converged"
    INFEASIBLE = "no point satisfies its rows"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"
    LOST = "three processes that solved it died"


class TaskPart(StrEnum):
    """What is wanted of a task: both, the bound alone, or the best point alone."""

    WHOLE = "whole"
    BOUND = "bound"
    POINT = "point"


@dataclass(frozen=True, slots=True)
class SolverTask:
    """A program, where to start it, and how. Starts are tried in turn and the best accepted answer wins.

    With ``perturbed``, the last start stands for that many points around it, drawn with seeds 0, 1, ... No more starts
    are tried once the best optimum was met `ENOUGH` times for each optimum that was seen; where there is a bound, only
    the first one unless that fails. With ``chains`` (terms, masses) of `treewarden.audit.solver.canonical`, the answer
    comes with a bound. ``deadline`` is a reading of the monotonic clock, infinite for none. ``share`` is its part of
    all that is asked for at once, as far as known. On the ``tape`` stands what a solver says of it, where that is kept.
    """

    program: BlockProgram
    starts: tuple[FloatArray, ...]
    tries: tuple[Steps, ...]
    door: str
    deadline: float = np.inf
    chains: sparse.csr_matrix | None = None
    perturbed: int = 0
    part: TaskPart = TaskPart.WHOLE
    share: float = 0.0
    tape: SolutionReplay | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: seconds left in place of a deadline, as each machine has a clock of its own."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"deadline": self.deadline - time.monotonic()}

    def __setstate__(self, state: dict[str, object]) -> None:
        left = state["deadline"]
        assert isinstance(left, float)
        for name, value in (state | {"deadline": time.monotonic() + left}).items():
            object.__setattr__(self, name, value)

    @property
    def work(self) -> int:
        """How much there is to do: variables times starts, of which a program with a bound needs one, as a rule.

        Bounds come last: they take less time than points. Without a bound, nobody knows how many starts it will be.
        """
        if self.part is TaskPart.BOUND:
            return self.program.size // 2
        starts = len(self.starts) + self.perturbed if self.chains is None else 1
        return self.program.size * min(starts, 2 * ENOUGH)

    def parts(self, jobs: int) -> tuple[SolverTask, ...]:
        """Return the tasks that this one can be done as, side by side, where it is more than one process's share."""
        is_bounded = self.chains is not None and not self.program.is_convex
        is_large = self.share * jobs > 1 and self.program.size > WORTH_HALVES
        if not is_bounded or not is_large or self.program.is_impossible:
            return (self,)
        return replace(self, part=TaskPart.POINT), replace(self, part=TaskPart.BOUND)


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The variables found, and how good they are; ``split`` are the multipliers of the split rows.

    ``linear`` are those of the linear rows as they stood when they were solved: of use to the solver alone.

    No point of the program has an objective below ``floor``. ``other`` is another point that is as good, where the
    optimum is flat and one was found; ``rivals`` are optima that other starts ended at, if not much worse.
    """

    outcome: TaskOutcome
    z: FloatArray
    split: FloatArray
    objective: float = np.inf
    kkt_error: float = np.inf
    iterations: int = 0
    floor: float = -np.inf
    other: FloatArray | None = None
    linear: FloatArray = field(default_factory=lambda: np.zeros(0))
    rivals: tuple[FloatArray, ...] = ()
    tape: SolutionReplay | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether every row holds and the point is stationary."""
        return self.outcome is TaskOutcome.SOLVED


def no_answer(task: SolverTask, outcome: TaskOutcome, iterations: int = 0) -> SolverAnswer:
    """Return that a task was not solved."""
    empty = np.zeros(len(task.program.splits))
    return SolverAnswer(outcome, task.starts[0], empty, iterations=iterations)
