"""What no world can exceed."""

from __future__ import annotations

import importlib
import threading
from functools import cache
from typing import Any

import numpy as np

from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import IntArray

Untyped = Any
"""A model, a solver, a variable or a sum of OR-Tools, which has no types."""
PATIENCE = 0.05
"""Seconds between looks at whether the user wants to stop."""
LEAST_UNITS = 1e-3
"""No question is asked with fewer of the solver's own seconds."""


@cache
def solver_module() -> Untyped:
    """Return OR-Tools' CP-SAT; loaded late, as that takes a while and many audits never ask it."""
    return importlib.import_module("ortools.sat.python.cp_model")


def limited_solver(seconds: float, units: float) -> Untyped:
    """Return a solver of one thread, the same on every run, with limits by the wall clock and of its own work."""
    solver = solver_module().CpSolver()
    solver.parameters.max_time_in_seconds = max(min(seconds, 1e6), 0.01)
    solver.parameters.max_deterministic_time = units
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.catch_sigint_signal = False
    return solver


def solve_in_background(solver: Untyped, model: Untyped) -> int:
    """Solve beside the main thread, which so hears of the user's wish to stop, and passes it on to the solver."""
    status: list[int] = []
    is_over = threading.Event()

    def solve() -> None:
        try:
            status.append(int(solver.solve(model)))
        finally:
            is_over.set()

    threading.Thread(target=solve, daemon=True).start()
    # An event, as a thread whose join is interrupted counts as ended though it runs on.
    try:
        while not is_over.wait(PATIENCE):
            pass
    except BaseException:
        # It may not have begun, and not hear of it yet.
        while not is_over.wait(PATIENCE):
            solver.stop_search()
        raise
    return status[0] if status else int(solver_module().UNKNOWN)


def solved(
    model: Untyped, numbers: list[Untyped], units: float, until: Clock, *, presolves: bool = True
) -> tuple[int, IntArray | None]:
    """Return the solver's status, and the numbers that it proposes; ``units`` are seconds of its own."""
    module = solver_module()
    work = units if until.meter is None else min(units, until.left)
    solver = limited_solver(until.wall_left, max(work, LEAST_UNITS))
    solver.parameters.cp_model_presolve = presolves
    status = solve_in_background(solver, model)
    until.spend(float(solver.deterministic_time))
    if status not in (module.OPTIMAL, module.FEASIBLE):
        return status, None
    return status, np.array([solver.value(number) for number in numbers], dtype=np.int64)
