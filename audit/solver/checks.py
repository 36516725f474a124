"""Whether a point satisfies every row of a program and is stationary: judged on its numbers, never by a status."""

from __future__ import annotations

import numpy as np

from treewarden.audit.ipopt.program import TAU, Program
from treewarden.ppdm_models.arrays import FloatArray

KKT_ERROR = 1e-6
LINEAR_ERROR_RECORDS = 1e-6


def holds(program: Program, z: FloatArray) -> bool:
    """Return whether a point satisfies every row, within what solvers leave."""
    most = max(LINEAR_ERROR_RECORDS, 1e-10 * float(program.scale.sum()))
    return (
        bool(np.isfinite(z).all())
        and program.linear_error(z) <= most
        and program.split_error(z) <= TAU
    )
