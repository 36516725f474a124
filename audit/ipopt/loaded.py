"""A Pyomo model as CasADi has read it: Pyomo writes it as ``.nl``, CasADi parses that and derives it exactly."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi
import numpy as np

from treewarden.audit.ipopt.derivatives import derivatives
from treewarden.audit.ipopt.model import build_model
from treewarden.audit.ipopt.modelling import NLWriter, pyo
from treewarden.audit.ipopt.program import Program
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model as CasADi has read it: functions, bounds, and where each variable and row of the model went.

    ``x`` are the variables in the order of the file but ``model.eps``, which is the parameter ``eps``; ``f`` is the
    objective, ``g`` are the rows. ``derivatives`` are those that are written down, as CasADi wants them; it derives the
    others itself.
    """

    x: Any
    eps: Any
    f: Any
    g: Any
    low: FloatArray
    high: FloatArray
    row_low: FloatArray
    row_high: FloatArray
    linear_rows: IndexArray
    split_rows: IndexArray
    derivatives: Mapping[str, Any] = field(default_factory=dict)

    def held(self, count: int) -> FloatArray:
        """Return the variables' upper bounds where the last ``count`` are held at their lower ones."""
        high = self.high.copy()
        high[len(high) - count :] = self.low[len(high) - count :]
        return high

    def has_rows_to_spare(self, high: FloatArray) -> bool:
        """Return whether there are more equalities than variables that can move below these upper bounds."""
        return int((self.row_low == self.row_high).sum()) > int((self.low < high).sum())


def load(program: Program) -> Loaded:
    """Return a program as a solver takes it, by way of its Pyomo model."""
    with (
        gc_control.paused()
    ):  # of many small objects; looking through them takes a quarter of the time
        loaded = load_model(build_model(program))
        found = derivatives(program, loaded.linear_rows, loaded.split_rows)
        return replace(loaded, derivatives=found)


def load_model(model: pyo.ConcreteModel) -> Loaded:
    """Return a model with ``z``, ``eps``, ``linear`` and ``split`` as CasADi reads it."""
    builder, variables, rows = _through_nl(model)
    column = {id(variable): number for number, variable in enumerate(variables)}
    order = np.array([column[id(model.z[i])] for i in model.z])
    every = casadi.vertcat(*builder.x)
    inside = casadi.Function("nlp", [every], [builder.f, casadi.vertcat(*builder.g)])
    x, eps = casadi.SX.sym("x", len(order)), casadi.SX.sym("eps")
    place = np.full(len(variables), len(order))  # where no variable of the model stands: eps
    place[order] = np.arange(len(order))
    f, g = inside(casadi.vertcat(x, eps)[place.tolist()])
    row_place = {id(row): number for number, row in enumerate(rows)}
    return Loaded(
        x=x,
        eps=eps,
        f=f,
        g=g,
        low=np.array(builder.x_lb, dtype=float)[order],
        high=np.array(builder.x_ub, dtype=float)[order],
        row_low=np.array(builder.g_lb, dtype=float),
        row_high=np.array(builder.g_ub, dtype=float),
        linear_rows=_places(row_place, model.linear),
        split_rows=_places(row_place, model.split),
    )


def _places(row_place: Mapping[int, int], rows: pyo.ConstraintList) -> IndexArray:
    return np.array([row_place[id(row)] for row in rows.values()], dtype=np.intp)


def flat(matrix: Any) -> FloatArray:  # noqa: ANN401  # CasADi has no types
    """Return a CasADi vector as an array."""
    return np.array(matrix, dtype=float).reshape(-1)


def _through_nl(model: pyo.ConcreteModel) -> tuple[Any, list[Any], list[Any]]:
    """Write the model as ``.nl`` and let CasADi read it; also return the file's variables and rows, in order."""
    quiet = logging.getLogger("pyomo.core")
    with _passing_file() as path:
        with path.open("w", newline="") as file:
            level = quiet.level
            quiet.setLevel(logging.ERROR)
            try:
                written = NLWriter().write(model, file, linear_presolve=False, scale_model=False)
            finally:
                quiet.setLevel(level)
        builder = casadi.NlpBuilder()
        builder.import_nl(str(path), {})
    return builder, list(written.variables), list(written.constraints)


@contextmanager
def _passing_file() -> Iterator[Path]:
    """Give a file that is gone afterwards: in memory where the system has such files, as counts of people pass through.

    Elsewhere it lies in a temporary folder that only this user can read.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="treewarden-") as folder:
            yield Path(folder) / "block.nl"
        return
    descriptor = os.memfd_create("block.nl")
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
