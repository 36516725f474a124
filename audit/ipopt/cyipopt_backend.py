"""The door to an IPOPT that the user has built, by way of cyipopt: the same derivatives, handed over one by one."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import casadi
import numpy as np

from treewarden.audit.ipopt.backend import BackendAnswer, Door, LoadedSolver
from treewarden.audit.ipopt.model import Loaded, flat
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import SolverError


class CyipoptDoor(Door):
    """The IPOPT that the user's cyipopt was built with."""

    def version(self) -> str:
        module = _cyipopt()
        ipopt = ".".join(str(part) for part in getattr(module, "IPOPT_VERSION", ()))
        return f"cyipopt {importlib.metadata.version('cyipopt')}, IPOPT {ipopt or 'of unknown version'}"

    def opened(self, loaded: Loaded) -> LoadedSolver:
        return CyipoptSolver(loaded)


class CyipoptSolver(LoadedSolver):
    """A loaded model, and its derivatives."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self._functions = _derived(loaded)

    def run(
        self, start: FloatArray, high: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> BackendAnswer:
        module, loaded = _cyipopt(), self.loaded
        callbacks = _Callbacks(self._functions, eps)
        problem = module.Problem(
            n=len(start),
            m=len(loaded.row_low),
            problem_obj=callbacks,
            lb=loaded.low,
            ub=high,
            cl=loaded.row_low,
            cu=loaded.row_high,
        )
        for name, value in options.items():
            problem.add_option(name, value)
        x, info = problem.solve(start)
        bounds = np.asarray(info["mult_x_U"]) - np.asarray(info["mult_x_L"])
        return BackendAnswer(
            np.asarray(x),
            np.asarray(info["mult_g"]),
            bounds,
            int(info["status"]),
            callbacks.iterations,
        )


class _Callbacks:
    """The functions of a loaded model as cyipopt asks for them, exact and sparse."""

    def __init__(self, functions: tuple[Any, ...], eps: float) -> None:
        self.iterations = 0
        self.eps = eps
        self.f, self.g, self.df, self.dg, self.h = functions

    def objective(self, x: FloatArray) -> float:
        return float(self.f(x, self.eps))

    def gradient(self, x: FloatArray) -> FloatArray:
        return flat(self.df(x, self.eps))

    def constraints(self, x: FloatArray) -> FloatArray:
        return flat(self.g(x, self.eps))

    def jacobian(self, x: FloatArray) -> FloatArray:
        return np.array(self.dg(x, self.eps).nonzeros())

    def jacobianstructure(self) -> tuple[Any, Any]:
        return _structure(self.dg)

    def hessian(self, x: FloatArray, multipliers: FloatArray, factor: float) -> FloatArray:
        return np.array(self.h(x, self.eps, factor, multipliers).nonzeros())

    def hessianstructure(self) -> tuple[Any, Any]:
        return _structure(self.h)

    def intermediate(self, *state: float) -> bool:
        self.iterations = int(state[1])
        return True


def _derived(loaded: Loaded) -> tuple[Any, ...]:
    x, eps, f, g = loaded.x, loaded.eps, loaded.f, loaded.g
    factor, multipliers = casadi.SX.sym("factor"), casadi.SX.sym("multipliers", g.numel())
    lagrangian = factor * f + casadi.dot(multipliers, g)
    hessian = casadi.tril(casadi.hessian(lagrangian, x)[0])
    return (
        casadi.Function("f", [x, eps], [f]),
        casadi.Function("g", [x, eps], [g]),
        casadi.Function("df", [x, eps], [casadi.gradient(f, x)]),
        casadi.Function("dg", [x, eps], [casadi.jacobian(g, x)]),
        casadi.Function("h", [x, eps, factor, multipliers], [hessian]),
    )


def _structure(function: Any) -> tuple[Any, Any]:  # noqa: ANN401  # CasADi has no types
    rows, columns = function.sparsity_out(0).get_triplet()
    return np.array(rows), np.array(columns)


def _cyipopt() -> ModuleType:
    try:
        return importlib.import_module("cyipopt")
    except ImportError as error:
        problem = "cyipopt is not installed; use --solver casadi, or install an IPOPT and treewarden[ipopt]"
        raise SolverError("solver 'cyipopt'", problem) from error
