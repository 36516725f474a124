"""The rows as a model for OR-Tools' CP-SAT, which reasons in whole numbers: what it calls impossible is so."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewarden.audit.joint.counts import Counts, Open
from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.proofs.cpsat import solver_module
from treewarden.ppdm_models.arrays import IndexArray, IntArray

PATIENCE = 0.05
"""Seconds between looks at whether the user wants to stop."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a search came to: numbers (N,) that the solver proposes, or None; ``is_impossible`` that there are none.

    ``is_best`` is that no numbers do more of what was wished.
    """

    numbers: IntArray | None
    is_impossible: bool = False
    is_best: bool = False


class Model:
    """Open numbers (N,) as variables, and rows over them; with more than two classes, that cells add up."""

    def __init__(
        self, counts: Counts, left: Open, rest: IntArray, fixed: IntArray, clock: Clock
    ) -> None:
        """``rest`` (C,) is how many of each cell's people are not settled, ``fixed`` (C, w) the settled numbers.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        self.model = solver_module().CpModel()
        self.least, self.most = left.least, left.most
        self.numbers = [
            self.model.new_int_var(low, high, "")
            for low, high in zip(left.least.tolist(), left.most.tolist(), strict=True)
        ]
        ends = zip(left.low.tolist(), left.high.tolist(), strict=True)
        for r, (low, high) in enumerate(ends):
            clock.check()
            at = slice(left.matrix.indptr[r], left.matrix.indptr[r + 1])
            terms = zip(
                left.matrix.indices[at].tolist(), left.matrix.data[at].tolist(), strict=True
            )
            total = sum(times * self.numbers[i] for i, times in terms)
            self.model.add_linear_constraint(total, low, high)
        if counts.scaled is not None:
            for weights, low, high in counts.scaled.rest(left.places, fixed.reshape(-1)):
                clock.check()
                total = sum(self.numbers[i] * weight for i, weight in weights)
                self.model.add_linear_constraint(total, low, high)
        if counts.width > 1:
            cells, starts = np.unique(left.places // counts.width, return_index=True)
            stops = [*starts[1:].tolist(), len(left.places)]
            for cell, start, stop in zip(cells.tolist(), starts.tolist(), stops, strict=True):
                self.model.add(sum(self.numbers[start:stop]) == int(rest[cell]))

    def find(self, clock: Clock, units: float, hint: IntArray | None = None) -> Answer:
        """Look for any numbers that fulfil the rows, near a hint (N,)."""
        return self._solved(self.model.clone(), clock, units, hint)

    def move(self, known: IntArray, wanted: IndexArray, clock: Clock, units: float) -> Answer:
        """Look for numbers that differ from known ones (N,) at one wanted place at least, at as many as possible."""
        model = self.model.clone()
        moved = [self._moved(model, i, int(known[i])) for i in wanted.tolist()]
        model.add_bool_or(moved)
        model.maximize(sum(moved))
        return self._solved(model, clock, units, known)

    def _moved(self, model: Any, i: int, value: int) -> Any:  # noqa: ANN401 - the solver has no types
        """Return a truth value that implies that a number is not the given one."""
        moved = model.new_bool_var("")
        number = model.get_int_var_from_proto_index(self.numbers[i].index)
        if value == self.least[i]:
            model.add(number >= value + moved)
        elif value == self.most[i]:
            model.add(number <= value - moved)
        else:
            model.add(number != value).only_enforce_if(moved)
        return moved

    def _solved(self, model: Any, clock: Clock, units: float, hint: IntArray | None) -> Answer:  # noqa: ANN401 - the solver has no types
        if hint is not None:
            for number, value in zip(self.numbers, hint.tolist(), strict=True):
                model.add_hint(model.get_int_var_from_proto_index(number.index), value)
        module = solver_module()
        solver = module.CpSolver()
        solver.parameters.max_time_in_seconds = max(min(clock.left, 1e6), 0.01)
        solver.parameters.max_deterministic_time = units
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.catch_sigint_signal = False
        status = _in_background(solver, model)
        if status == module.INFEASIBLE:
            return Answer(None, is_impossible=True)
        if status not in (module.OPTIMAL, module.FEASIBLE):
            return Answer(None)
        found = np.array([solver.value(number) for number in self.numbers], dtype=np.int64)
        return Answer(found, is_best=status == module.OPTIMAL)


def _in_background(solver: Any, model: Any) -> int:  # noqa: ANN401 - the solver has no types
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
