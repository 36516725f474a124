"""Writes a block as a Pyomo model: the one formulation, whichever door to IPOPT then solves it.

Left to itself, Pyomo has all of ``scipy.stats`` imported along with SciPy, and ``pyplot`` along with Matplotlib,
whichever is imported first: half a second in each process. Nobody here needs those; who asks Pyomo for them gets them.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import scipy
from scipy import sparse

from treewarden.audit.ipopt.program import BlockProgram
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

FIRST_FINDER = sys.meta_path[0]
"""What is asked first where a module is; Pyomo puts itself before it, to be told of imports."""

sys.modules.pop("scipy")  # out of Pyomo's sight while it looks who is there
try:
    import pyomo.core as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression
    from pyomo.repn.plugins.nl_writer import NLWriter
finally:
    sys.modules["scipy"] = scipy
    del sys.meta_path[: sys.meta_path.index(FIRST_FINDER)]


def build_model(program: BlockProgram) -> pyo.ConcreteModel:
    """Return the Pyomo model of a block.

    ``model.z`` are the masses and aggregates; ``model.eps``, a variable that the solver holds at the wanted value, is
    the weight of the term that singles out one optimum; rows stand in the order linear, split.
    """
    model = pyo.ConcreteModel()
    n, n_mass = program.size, len(program.scale)
    model.z, model.eps = pyo.Var(range(n)), pyo.Var()
    z = [model.z[i] for i in range(n)]
    # One by one: rules for bounds, and starts that solvers are given anyway, take Pyomo twice as long.
    for variable, low, high in zip(z, program.lower.tolist(), program.upper.tolist(), strict=True):
        variable.setlb(low)
        variable.setub(_finite(high))
    scale = program.scale.tolist()
    model.negative_entropy = pyo.Objective(
        # The eps term as z log(z / scale) takes it in: up to a constant it is -eps * scale * log(z).
        expr=pyo.quicksum(
            (z[i] - scale[i] * model.eps) * pyo.log(z[i] / scale[i]) for i in range(n_mass)
        )
        + pyo.quicksum(float(program.cost[i]) * z[i] for i in np.flatnonzero(program.cost).tolist())
    )
    model.linear = pyo.ConstraintList()
    for row in range(program.rows.shape[0]):
        total = _sum(program.rows, row, z)
        low, high = float(program.low[row]), float(program.high[row])
        model.linear.add(total == low if low == high else (_finite(low), total, _finite(high)))
    model.split = pyo.ConstraintList()
    splits = program.splits
    for row in range(len(splits)):
        terms = np.flatnonzero(splits.terms.row == row).tolist()
        total = pyo.quicksum(_term(program, z, t) for t in terms)
        if splits.linear.indptr[row + 1] > splits.linear.indptr[row]:
            total = total + _sum(splits.linear, row, z)
        model.split.add(total + float(splits.constant[row]) <= float(splits.limit[row]))
    return model


def _sum(rows: sparse.csr_matrix, row: int, z: list[pyo.Var]) -> object:
    span = slice(rows.indptr[row], rows.indptr[row + 1])
    variables = [z[i] for i in rows.indices[span].tolist()]
    # One object per row: writing sums term by term takes Pyomo twice as long.
    return LinearExpression(
        constant=0, linear_coefs=rows.data[span].tolist(), linear_vars=variables
    )


def _term(program: BlockProgram, z: list[pyo.Var], term: int) -> object:
    terms = program.splits.terms
    u = z[terms.variable[term]]
    coefficient, scale = float(terms.coefficient[term]), float(terms.scale[term])
    if program.criterion is Criterion.GINI:
        return (-coefficient / scale) * u**2
    return -coefficient * u * pyo.log(u / scale)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


# The derivatives of a block's model in closed form: it is separable, so this is shorter than deriving them.

Expression = Any
"""What CasADi makes of numbers and variables; it has no types."""


def derivatives(
    program: BlockProgram, linear: IndexArray, split: IndexArray
) -> dict[str, Expression]:
    """Return the derivatives of a program's model as CasADi wants them: ``grad_f``, ``jac_g`` and ``hess_lag``.

    ``linear`` and ``split`` are the places of the program's rows among those of the model.
    """
    n, n_mass, places = program.size, len(program.scale), np.concatenate([linear, split])
    x, eps, factor = casadi.MX.sym("x", n), casadi.MX.sym("p"), casadi.MX.sym("lam_f")
    prices = casadi.MX.sym("lam_g", len(places))
    y, scale = x[:n_mass], _column(program.scale)
    log = casadi.log(y / scale)
    objective = casadi.dot(y - scale * eps, log) + casadi.dot(_column(program.cost), x)
    slope = _column(program.cost) + _padded(log + 1 - eps * scale / y, n)
    terms = program.splits.terms
    phi, rise, bend = _phi(program, _at(x, terms.variable))
    across = sparse.csr_matrix(sparse.vstack([program.rows, program.splits.linear]))[
        np.argsort(places)
    ]
    rows = split[terms.row]
    # The constants of split rows went to the rows' ends.
    values = _matrix(across) @ x + _summing(rows, len(places)) @ phi
    curved = factor * _padded(1 / y + eps * scale / y**2, n)
    curved += _summing(terms.variable, n) @ (_at(prices, rows) * bend)
    bent = np.union1d(np.arange(n_mass), terms.variable)
    diagonal = casadi.Sparsity.triplet(n, n, bent.tolist(), bent.tolist())
    hessian = casadi.MX(diagonal, _at(curved, bent))
    point = {"x": x, "p": eps}
    return {
        "grad_f": _function("nlp_grad_f", point, {"f": objective, "grad_f_x": slope}),
        "jac_g": _function(
            "nlp_jac_g", point, {"g": values, "jac_g_x": _jacobian(across, rows, program, rise)}
        ),
        "hess_lag": _function(
            "nlp_hess_l",
            {**point, "lam_f": factor, "lam_g": prices},
            {"triu_hess_gamma_x_x": hessian},
        ),
    }


def _phi(program: BlockProgram, u: Expression) -> tuple[Expression, Expression, Expression]:
    """Return each term of the split rows and its first two derivatives."""
    terms = program.splits.terms
    weight, scale = _column(terms.coefficient), _column(terms.scale)
    if program.criterion is Criterion.GINI:
        return -weight * u**2 / scale, -2 * weight * u / scale, -2 * weight / scale
    log = casadi.log(u / scale)
    return -weight * u * log, -weight * (log + 1), -weight / u


def _jacobian(
    across: sparse.csr_matrix, rows: IndexArray, program: BlockProgram, rise: Expression
) -> Expression:
    """Return the derivatives of all rows: what is linear, and each term's in its place."""
    flat, (height, width) = sparse.coo_matrix(across), across.shape
    row = np.concatenate([flat.row, rows])
    column = np.concatenate([flat.col, program.splits.terms.variable])
    keys, place = np.unique(column * height + row, return_inverse=True)  # column by column
    linear, curved = place[: flat.nnz], place[flat.nnz :]
    entries = _column(np.bincount(linear, flat.data, len(keys)).astype(np.float64))
    entries += _summing(curved, len(keys)) @ rise
    where = casadi.Sparsity.triplet(
        height, width, (keys % height).tolist(), (keys // height).tolist()
    )
    return casadi.MX(where, entries)


def _at(vector: Expression, places: IndexArray) -> Expression:
    return casadi.reshape(vector[places.tolist()], len(places), 1)  # no entries stand in a row


def _column(values: FloatArray) -> Expression:
    return casadi.DM(values.reshape(-1, 1))


def _summing(rows: IndexArray, size: int) -> Expression:
    """Return the matrix that adds up terms by their row, shape (size, terms)."""
    terms = np.arange(len(rows))
    return _matrix(sparse.csc_matrix((np.ones(len(rows)), (rows, terms)), (size, len(rows))))


def _matrix(matrix: sparse.sparray) -> Expression:
    columns = sparse.csc_matrix(matrix)
    columns.sort_indices()
    (height, width), starts = columns.shape, columns.indptr.tolist()
    # As it is, CasADi takes ten times as long over it.
    pattern = casadi.Sparsity(height, width, starts, columns.indices.tolist())
    return casadi.DM(pattern, columns.data.tolist())


def _padded(values: Expression, size: int) -> Expression:
    return casadi.vertcat(values, casadi.DM.zeros(size - values.numel()))


def _function(
    name: str, inputs: dict[str, Expression], outputs: dict[str, Expression]
) -> Expression:
    return casadi.Function(name, [*inputs.values()], [*outputs.values()], [*inputs], [*outputs])


# A Pyomo model as CasADi has read it: Pyomo writes it as ``.nl``, CasADi parses that and derives it exactly.


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

    def upper_bounds_holding(self, count: int) -> FloatArray:
        """Return the variables' upper bounds where the last ``count`` are held at their lower ones."""
        high = self.high.copy()
        high[len(high) - count :] = self.low[len(high) - count :]
        return high

    def has_rows_to_spare(self, high: FloatArray) -> bool:
        """Return whether there are more equalities than variables that can move below these upper bounds."""
        return int((self.row_low == self.row_high).sum()) > int((self.low < high).sum())


def load(program: BlockProgram) -> Loaded:
    """Return a program as a solver takes it, by way of its Pyomo model."""
    with (
        gc_control.paused()
    ):  # of many small objects; looking through them takes a quarter of the time
        loaded = load_model(build_model(program))
        expressions = derivatives(program, loaded.linear_rows, loaded.split_rows)
        return replace(loaded, derivatives=expressions)


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


def small_model() -> pyo.ConcreteModel:
    """Return the entropy of three shares: its maximum is a third each."""
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(3), bounds=(1e-12, None))
    model.eps = pyo.Var(initialize=0.0)
    z = [model.z[i] for i in range(3)]
    model.negative_entropy = pyo.Objective(
        expr=sum(v * pyo.log(v) for v in z) - model.eps * sum(pyo.log(v) for v in z)
    )
    model.linear = pyo.ConstraintList()
    model.linear.add(sum(z) == 1)
    model.split = pyo.ConstraintList()
    return model
