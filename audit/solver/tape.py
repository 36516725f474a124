"""What a solver said in the course of one task, to be said again: looked at once more, and never taken at its word.

A solver is asked several times over one task, and each time what it says is re-checked by whoever asked. So a task that
is done again with what the solver said before goes the same way, with every check and every bound worked out anew. What
is read back may come from anybody, though, and a solver is trusted in one respect: its multipliers are those of an
optimum. Here they are not: a solution that is not optimal by its multipliers is asked for again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.ipopt.door import Solution, Solver
from treewarden.audit.ipopt.program import Program
from treewarden.audit.ipopt.status import Status
from treewarden.audit.solver.checks import KKT_ERROR, holds
from treewarden.ppdm_models.arrays import FloatArray

GAP_SHARE = 1e-6
"""What multipliers times slacks may add up to, as a share of the masses' scales: a solver leaves about 1e-8."""


@dataclass(slots=True)
class Tape:
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

    def next(self, program: Program, eps: float, held: int) -> Solution | None:
        """Return what the solver said here before; None where it was not asked, or did not say what is optimal."""
        place = len(self.heard)
        if self.is_refused or place >= len(self.said):
            return None
        said = self.said[place]
        self.is_refused = not _is_good(program, said, eps, held)
        return None if self.is_refused else said


class Asking:
    """A program that a solver is asked about, by way of a tape where there is one; it is loaded when it has to be."""

    def __init__(self, program: Program, opened: Callable[[], Solver], tape: Tape | None) -> None:
        self.program, self.tape = program, tape
        self._opened = opened
        self._solver: Solver | None = None

    def solve(
        self, z: FloatArray, eps: float, *, held: int = 0, **options: float | str
    ) -> Solution:
        """Return what the solver says, see ``Solver.solve``, or said before."""
        if self.tape is None:
            return self._asked(z, eps, held, options)
        known = self.tape.next(self.program, eps, held)
        if known is None:
            began = time.perf_counter()
            known = self._asked(z, eps, held, options)
            self.tape.seconds += time.perf_counter() - began
            self.tape.is_sure &= _is_good(self.program, known, eps, held)
        self.tape.heard.append(known)
        return known

    def _asked(
        self, z: FloatArray, eps: float, held: int, options: dict[str, float | str]
    ) -> Solution:
        if self._solver is None:
            self._solver = self._opened()
        return self._solver.solve(z, eps, held=held, **options)


def _is_good(program: Program, said: Solution, eps: float, held: int) -> bool:
    """Return whether a solution is one of the program, and an optimum where it says that it is solved."""
    if not _fits(program, said):
        return False
    return not _is_success(said) or _is_optimal(program, said, eps, held)


def _is_success(said: Solution) -> bool:
    return said.status in (Status.SOLVED, Status.ACCEPTABLE)


def _fits(program: Program, said: Solution) -> bool:
    sizes = (len(said.z), len(said.linear), len(said.split), len(said.bounds))
    rows = (program.rows.shape[0], len(program.split_limit))
    if sizes != (program.size, *rows, program.size) or said.iterations < 0:
        return False
    every = (said.z, said.linear, said.split, said.bounds)
    return not _is_success(said) or all(bool(np.isfinite(part).all()) for part in every)


def _is_optimal(program: Program, said: Solution, eps: float, held: int) -> bool:
    """Return whether all rows hold, and multipliers prove an optimum.

    They balance the objective, have the signs of one, and are nothing where a row or a bound has room. The last
    ``held`` variables have to stay where they are, so nothing is asked of what holds them.
    """
    if not holds(program, said.z):
        return False
    if program.kkt_error(said.z, said.linear, said.split, said.bounds, eps) > KKT_ERROR:
        return False
    free = slice(0, program.size - held)
    gap = _gap(said.linear, program.rows @ said.z, program.low, program.high)
    gap += _gap(said.bounds[free], said.z[free], program.lower[free], program.upper[free])
    ends = np.zeros(len(said.split))
    gap += _gap(said.split, program.split_values(said.z), np.full(len(ends), -np.inf), ends)
    return bool(gap <= GAP_SHARE * float(program.scale.sum()))


def _gap(multipliers: FloatArray, values: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the sum of multipliers times slacks; those towards an end that is not there count as if it were 1 off."""
    room_above = np.where(np.isfinite(high), np.abs(high - values), 1.0)
    room_below = np.where(np.isfinite(low), np.abs(values - low), 1.0)
    above, below = np.maximum(multipliers, 0.0), np.maximum(-multipliers, 0.0)
    return float(above @ room_above + below @ room_below)
