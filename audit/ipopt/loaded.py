"""A Pyomo model as CasADi has read it: Pyomo writes it as ``.nl``, CasADi parses that and derives it exactly."""

from __future__ import annotations

import copy
import gc
import logging
import tempfile
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pyomo.core as pyo
from pyomo.repn.plugins.nl_writer import NLWriter

from audit.ipopt.derivatives import derivatives
from audit.ipopt.model import build_model
from audit.ipopt.program import Program
from ppdm_models.arrays import FloatArray


class Loaded:
    """A model as CasADi has read it: functions, bounds, and where each variable and row of the model went.

    ``x`` are the variables in the order of the file but ``model.eps``, which is the parameter ``eps``. What solvers
    make of it is kept in ``cache`` and ``derivatives``.
    """

    def __init__(self, model: pyo.ConcreteModel) -> None:
        builder, variables, rows = _through_nl(model)
        column = {id(variable): number for number, variable in enumerate(variables)}
        order = np.array([column[id(model.z[i])] for i in model.z])
        every = casadi.vertcat(*builder.x)
        inside = casadi.Function("nlp", [every], [builder.f, casadi.vertcat(*builder.g)])
        self.x, self.eps = casadi.SX.sym("x", len(order)), casadi.SX.sym("eps")
        place = np.full(len(variables), len(order))  # where no variable of the model stands: eps
        place[order] = np.arange(len(order))
        self.f, self.g = inside(casadi.vertcat(self.x, self.eps)[place.tolist()])
        self.low = np.array(builder.x_lb, dtype=float)[order]
        self.high = np.array(builder.x_ub, dtype=float)[order]
        self.row_low, self.row_high = (
            np.array(builder.g_lb, dtype=float),
            np.array(builder.g_ub, dtype=float),
        )
        row_place = {id(row): number for number, row in enumerate(rows)}
        self.linear_rows = np.array(
            [row_place[id(row)] for row in model.linear.values()], dtype=np.intp
        )
        self.split_rows = np.array(
            [row_place[id(row)] for row in model.split.values()], dtype=np.intp
        )
        self.cache: dict[tuple[str, tuple[tuple[str, float | str], ...]], Any] = {}
        self.derivatives: dict[str, Any] = {}

    @property
    def has_rows_to_spare(self) -> bool:
        """Whether there are more equalities than variables that can move."""
        return int((self.row_low == self.row_high).sum()) > int((self.low < self.high).sum())

    def holding(self, count: int) -> Loaded:
        """Return the model with its last ``count`` variables held at their lower bounds; all else is shared."""
        if not count:
            return self
        held = copy.copy(self)
        held.high = self.high.copy()
        held.high[-count:] = self.low[-count:]
        return held


def load(program: Program) -> Loaded:
    """Return a program as a solver takes it, by way of its Pyomo model."""
    was_enabled = gc.isenabled()
    gc.disable()  # nothing of the many small objects is garbage before the end; looking takes a quarter of the time
    try:
        loaded = Loaded(build_model(program))
        loaded.derivatives.update(derivatives(program, loaded.linear_rows, loaded.split_rows))
        return loaded
    finally:
        if was_enabled:
            gc.enable()


def flat(matrix: Any) -> FloatArray:  # noqa: ANN401  # CasADi has no types
    """Return a CasADi vector as an array."""
    return np.array(matrix, dtype=float).reshape(-1)


def _through_nl(model: pyo.ConcreteModel) -> tuple[Any, list[Any], list[Any]]:
    """Write the model as ``.nl`` and let CasADi read it; also return the file's variables and rows, in order."""
    quiet = logging.getLogger("pyomo.core")
    with tempfile.TemporaryDirectory(prefix="treewarden-") as folder:
        path = Path(folder) / "block.nl"
        with path.open("w", newline="") as file:
            level = quiet.level
            quiet.setLevel(logging.ERROR)
            written = NLWriter().write(model, file, linear_presolve=False, scale_model=False)
            quiet.setLevel(level)
        builder = casadi.NlpBuilder()
        builder.import_nl(str(path), {})
    return builder, list(written.variables), list(written.constraints)
