"""The symmetric point of pooled classes: is it a maximum among all classes, or does letting them differ help?"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh

from treewarden.audit.estimate.reduce import Reduced
from treewarden.audit.estimate.solved import Solved
from treewarden.audit.solver.elastic import is_convex_at
from treewarden.audit.solver.task import EPS
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Criterion

SADDLE_EIGENVALUE = 1e-2
"""How negative the second-order form must be, relative to the entropy's own curvature, to count."""
SHIFT = 1.0


def saddle(one: Solved) -> FloatArray | None:
    """Return how pooled classes would have to differ to raise a block's entropy, or None: a second-order test.

    Take mass from one pooled class and give it to another: to first order nothing changes. The second-order change is
    a quadratic form over the lumps; a negative eigenvalue means that the symmetric point is no maximum among all
    classes. Caps on single classes that bind there are not looked at, so a saddle is a suspicion, its absence is not.
    """
    form, program = one.reduced, one.reduced.program
    pooled = np.flatnonzero(form.kappa >= 2)
    if not one.is_symmetric or program.is_convex or not len(pooled):
        return None
    if is_convex_at(form.program, form.chains, one.answer.split):
        return None
    y, kappa = one.answer.z[pooled], form.kappa[pooled]
    records = program.scale[pooled] / kappa
    curvature = np.diag(kappa / y + EPS * records * (kappa / y) ** 2)
    inside = form.members[:, pooled][program.term_variable].toarray()
    size, u = float(kappa[0]), one.answer.z[program.term_variable]
    is_gini = program.criterion is Criterion.GINI
    bend = -2 * size / program.term_scale if is_gini else -size / u
    weight = one.answer.split[program.term_row] * program.term_coefficient * bend
    curvature += inside.T @ (weight[:, None] * inside)
    scaled = curvature / np.sqrt(np.outer(kappa / y, kappa / y))
    try:
        cholesky(scaled + SADDLE_EIGENVALUE * np.eye(len(scaled)), check_finite=False)
    except LinAlgError:
        pass
    else:
        return None  # positive definite, which costs a tenth of the eigenvalue to find out
    eigenvalues, directions = eigh(scaled, subset_by_index=(0, 0))
    if eigenvalues[0] >= -SADDLE_EIGENVALUE:
        return None
    shift = np.zeros(program.size)
    # Relative to each mass, and with a sign that does not depend on the linear algebra used.
    shift[pooled] = directions[:, 0] / np.sqrt(y)
    largest = int(np.argmax(np.abs(shift)))
    return np.asarray(shift / shift[largest])


def shifted(form: Reduced, shift: FloatArray, values: FloatArray) -> FloatArray:
    """Return an estimate (P, m) in which two pooled classes differ along a direction of `saddle`."""
    first, second = np.flatnonzero(form.kappa_of_class >= 2)[:2]
    moved = values.copy()
    number = form.cell[:, first]
    amount = np.where(number >= 0, SHIFT * shift[number], 0.0)
    moved[form.profiles, first] *= np.exp(amount)
    moved[form.profiles, second] *= np.exp(-amount)
    return moved
