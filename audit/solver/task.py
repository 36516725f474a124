"""One program to solve: where to start and with which weights, and the answer that comes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.program import Program
from treewarden.audit.solver.tape import Tape
from treewarden.ppdm_models.arrays import FloatArray

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
WORTH_HALVES = 1000
"""Variables above which the bound and the optimum are worth being looked for side by side, each with a model."""


class Outcome(StrEnum):
    """How a task ended. Only ``SOLVED`` answers are used."""

    SOLVED = "solved"
    NOT_CONVERGED = "not converged"
    INFEASIBLE = "no point satisfies its rows"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"
    LOST = "three processes that solved it died"


class Part(StrEnum):
    """What is wanted of a task: both, the bound alone, or the best point alone."""

    WHOLE = "whole"
    BOUND = "bound"
    POINT = "point"


@dataclass(frozen=True, slots=True)
class Task:
    """A program, where to start it, and how. Starts are tried in turn and the best accepted answer wins.

    With ``perturbed``, the last start stands for that many points around it, drawn with seeds 0, 1, ... No more starts
    are tried once the best optimum was met `ENOUGH` times for each optimum that was seen; where there is a bound, only
    the first one unless that fails. With ``chains`` (terms, masses) of `treewarden.audit.solver.curvature`, the answer
    comes with a bound. ``deadline`` is a reading of the monotonic clock, infinite for none. ``share`` is its part of
    all that is asked for at once, as far as known. On the ``tape`` stands what a solver says of it, where that is kept.
    """

    program: Program
    starts: tuple[FloatArray, ...]
    tries: tuple[Steps, ...]
    door: str
    deadline: float = np.inf
    chains: sparse.csr_matrix | None = None
    perturbed: int = 0
    part: Part = Part.WHOLE
    share: float = 0.0
    tape: Tape | None = None

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
        if self.part is Part.BOUND:
            return self.program.size // 2
        starts = len(self.starts) + self.perturbed if self.chains is None else 1
        return self.program.size * min(starts, 2 * ENOUGH)

    def parts(self, jobs: int) -> tuple[Task, ...]:
        """Return the tasks that this one can be done as, side by side, where it is more than one process's share."""
        is_bounded = self.chains is not None and not self.program.is_convex
        is_large = self.share * jobs > 1 and self.program.size > WORTH_HALVES
        if not is_bounded or not is_large or self.program.is_impossible:
            return (self,)
        return replace(self, part=Part.POINT), replace(self, part=Part.BOUND)


@dataclass(frozen=True, slots=True)
class Answer:
    """The variables found, and how good they are; ``split`` are the multipliers of the split rows.

    ``linear`` are those of the linear rows as they stood when they were solved: of use to the solver alone.

    No point of the program has an objective below ``floor``. ``other`` is another point that is as good, where the
    optimum is flat and one was found; ``rivals`` are optima that other starts ended at, if not much worse.
    """

    outcome: Outcome
    z: FloatArray
    split: FloatArray
    objective: float = np.inf
    kkt_error: float = np.inf
    iterations: int = 0
    floor: float = -np.inf
    other: FloatArray | None = None
    linear: FloatArray = field(default_factory=lambda: np.zeros(0))
    rivals: tuple[FloatArray, ...] = ()
    tape: Tape | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether every row holds and the point is stationary."""
        return self.outcome is Outcome.SOLVED


def no_answer(task: Task, outcome: Outcome, iterations: int = 0) -> Answer:
    """Return that a task was not solved."""
    empty = np.zeros(len(task.program.split_limit))
    return Answer(outcome, task.starts[0], empty, iterations=iterations)
