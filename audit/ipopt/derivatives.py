"""The derivatives of a block's model, written down: it is separable, so they are shorter than deriving them anew."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.program import Program
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

Expression = Any
"""What CasADi makes of numbers and variables; it has no types."""


def derivatives(program: Program, linear: IndexArray, split: IndexArray) -> dict[str, Expression]:
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
    phi, rise, bend = _phi(program, _at(x, program.term_variable))
    across = sparse.csr_matrix(sparse.vstack([program.rows, program.split_linear]))[
        np.argsort(places)
    ]
    rows = split[program.term_row]
    # The constants of split rows went to the rows' ends.
    values = _matrix(across) @ x + _summing(rows, len(places)) @ phi
    curved = factor * _padded(1 / y + eps * scale / y**2, n)
    curved += _summing(program.term_variable, n) @ (_at(prices, rows) * bend)
    bent = np.union1d(np.arange(n_mass), program.term_variable)
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


def _phi(program: Program, u: Expression) -> tuple[Expression, Expression, Expression]:
    """Return each term of the split rows and its first two derivatives."""
    weight, scale = _column(program.term_coefficient), _column(program.term_scale)
    if program.criterion is Criterion.GINI:
        return -weight * u**2 / scale, -2 * weight * u / scale, -2 * weight / scale
    log = casadi.log(u / scale)
    return -weight * u * log, -weight * (log + 1), -weight / u


def _jacobian(
    across: sparse.csr_matrix, rows: IndexArray, program: Program, rise: Expression
) -> Expression:
    """Return the derivatives of all rows: what is linear, and each term's in its place."""
    flat, (height, width) = sparse.coo_matrix(across), across.shape
    row = np.concatenate([flat.row, rows])
    column = np.concatenate([flat.col, program.term_variable])
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


def _function(name: str, given: dict[str, Expression], told: dict[str, Expression]) -> Expression:
    return casadi.Function(name, [*given.values()], [*told.values()], [*given], [*told])
