"""Derivatives that are written down are those of the model that Pyomo wrote."""

import casadi
import numpy as np
import pytest

from tests.kit.cases import curved_tasks
from treewarden.audit.ipopt.model import load
from treewarden.audit.solver.canonical import elastic


def apart(one, other):
    return float(casadi.norm_inf(casadi.densify(casadi.vec(one - other))))


@pytest.mark.parametrize("split", ["gini", "entropy", "gain-ratio"])
def test_they_are_what_casadi_derives(split):
    draw = np.random.default_rng(0)
    tasks = curved_tasks(split)
    assert tasks
    for task in tasks:
        loaded = load(elastic(task.program, task.chains, task.program.start))
        x, eps, f, g = loaded.x, loaded.eps, loaded.f, loaded.g
        z, prices = draw.uniform(0.1, 5, x.numel()), draw.normal(size=g.numel())
        priced = 1.7 * f + casadi.dot(casadi.DM(prices), g)
        derived = [f, casadi.gradient(f, x), g, casadi.jacobian(g, x)]
        derived.append(casadi.triu(casadi.hessian(priced, x)[0]))
        wanted = casadi.Function("wanted", [x, eps], derived)(z, 0.3)
        ours = loaded.derivatives
        found = [*ours["grad_f"](z, 0.3), *ours["jac_g"](z, 0.3)]
        found.append(ours["hess_lag"](z, 0.3, 1.7, prices))
        assert max(map(apart, found, wanted)) < 1e-8
        assert [part.nnz() for part in found] == [part.nnz() for part in wanted]
