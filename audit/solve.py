"""From a loaded model to IPOPT and back: the only module that starts a solver. Two doors, one model.

Pyomo writes the model as ``.nl``, CasADi reads it and derives it exactly. The first door solves with the IPOPT inside
CasADi's own package; the second hands the same derivatives to cyipopt, for an IPOPT that the user has built.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi
import numpy as np
import pyomo.environ as pyo

from audit.ipopt_status import STATUS, STATUS_NAMES, Status
from audit.loaded import Loaded
from audit.posterior import FloatArray
from ppdm_models.errors import SolverError

IPOPT_OPTIONS: Mapping[str, str | int | float] = {
    "tol": 1e-8,
    "max_iter": 400,
    "bound_relax_factor": 0.0,
    "nlp_scaling_method": "none",
    "print_level": 0,
    "sb": "yes",
    "mumps_pivot_order": 5,
    "alpha_for_y": "primal-and-full",
}
_DERIVATIVES = {"grad_f": "nlp_grad_f", "jac_g": "nlp_jac_g", "hess_lag": "nlp_hess_l"}
_NO_SENSITIVITIES = {"calc_lam_p": False, "no_nlp_grad": True}
"""Nobody asks how the optimum moves with the parameter, and deriving that takes a third of the set-up."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A solver's answer: values of ``model.z``, multipliers of the linear rows, the split rows and the bounds."""

    z: FloatArray
    linear: FloatArray
    split: FloatArray
    bounds: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a door works, tried by solving a small problem; its version, or why it does not."""

    works: bool
    version: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Raw:
    """An answer, its row multipliers in the order of the ``.nl`` file."""

    x: FloatArray
    row_multipliers: FloatArray
    bound_multipliers: FloatArray
    code: int
    iterations: int


class Door(ABC):
    """One way to an IPOPT."""

    @abstractmethod
    def version(self) -> str:
        """Return the versions behind the door.

        Raises:
            SolverError: the door's package is not installed.
        """

    @abstractmethod
    def run(
        self, loaded: Loaded, start: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> _Raw:
        """Solve from a start."""

    def solve(
        self, loaded: Loaded, z: FloatArray, eps: float, *, held: int = 0, **options: float | str
    ) -> Solution:
        """Solve a loaded model from ``z`` with the given weight of the eps term and IPOPT options.

        The last ``held`` variables stay at their lower bounds.

        Raises:
            SolverError: the door cannot be used.
        """
        model = loaded.holding(held)
        raw = (
            _unsolvable(model, z)
            if model.has_rows_to_spare
            else self.run(model, z, eps, {**IPOPT_OPTIONS, **options})
        )
        if raw.code not in STATUS:
            raise SolverError("IPOPT", f"return code {raw.code} is not known; report this")
        return Solution(
            z=raw.x,
            linear=raw.row_multipliers[loaded.linear_rows],
            split=raw.row_multipliers[loaded.split_rows],
            bounds=raw.bound_multipliers,
            status=STATUS[raw.code],
            iterations=raw.iterations,
        )

    def probe(self) -> Probe:
        """Solve a small problem and say whether that worked."""
        try:
            version = self.version()
            solution = self.solve(Loaded(_small_model()), np.array([0.5, 0.3, 0.2]), 0.0)
        except (SolverError, RuntimeError, ImportError) as error:
            return Probe(False, "", str(error))
        if solution.status is not Status.SOLVED or not np.allclose(solution.z, 1 / 3, atol=1e-6):
            return Probe(False, version, f"the small problem was not solved: {solution.status}")
        return Probe(True, version)


class CasadiDoor(Door):
    """The IPOPT inside CasADi's package."""

    def version(self) -> str:
        folder = Path(casadi.__file__).parent
        found = [path.name.removeprefix("libipopt.so.") for path in folder.glob("libipopt.so.*.*")]
        ipopt = f"IPOPT {max(found)}" if found else "its own IPOPT"
        return f"CasADi {importlib.metadata.version('casadi')} with {ipopt}"

    def run(
        self, loaded: Loaded, start: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> _Raw:
        key = ("solver", tuple(sorted(options.items())))
        if key not in loaded.cache:
            _load_ipopt()
            problem = {"x": loaded.x, "p": loaded.eps, "f": loaded.f, "g": loaded.g}
            settings: dict[str, Any] = {
                "ipopt": dict(options),
                "print_time": False,
                "show_eval_warnings": False,
                **_NO_SENSITIVITIES,
            }
            solver = casadi.nlpsol("solver", "ipopt", problem, {**settings, **loaded.derivatives})
            loaded.derivatives.update(
                {option: solver.get_function(name) for option, name in _DERIVATIVES.items()}
            )
            loaded.cache[key] = solver
        solver = loaded.cache[key]
        found = solver(
            x0=start,
            p=eps,
            lbx=loaded.low,
            ubx=loaded.high,
            lbg=loaded.row_low,
            ubg=loaded.row_high,
        )
        said = solver.stats()
        name = str(said["return_status"])
        if name not in STATUS_NAMES:
            raise SolverError("IPOPT", f"status {name!r} is not known; report this")
        return _Raw(
            _flat(found["x"]),
            _flat(found["lam_g"]),
            _flat(found["lam_x"]),
            STATUS_NAMES[name],
            int(said.get("iter_count", 0)),
        )


@cache
def _load_ipopt() -> None:
    """Load CasADi's IPOPT with one thread: its linear algebra starts one per core and is ten times slower for it."""
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    casadi.load_nlpsol("ipopt")
    if before is None:
        del os.environ["OPENBLAS_NUM_THREADS"]
    else:
        os.environ["OPENBLAS_NUM_THREADS"] = before


class CyipoptDoor(Door):
    """The IPOPT that the user's cyipopt was built with."""

    def version(self) -> str:
        module = _cyipopt()
        ipopt = ".".join(str(part) for part in getattr(module, "IPOPT_VERSION", ()))
        return f"cyipopt {importlib.metadata.version('cyipopt')}, IPOPT {ipopt or 'of unknown version'}"

    def run(
        self, loaded: Loaded, start: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> _Raw:
        module = _cyipopt()
        callbacks = _Callbacks(loaded, eps)
        problem = module.Problem(
            n=len(start),
            m=len(loaded.row_low),
            problem_obj=callbacks,
            lb=loaded.low,
            ub=loaded.high,
            cl=loaded.row_low,
            cu=loaded.row_high,
        )
        for name, value in options.items():
            problem.add_option(name, value)
        x, info = problem.solve(start)
        bounds = np.asarray(info["mult_x_U"]) - np.asarray(info["mult_x_L"])
        return _Raw(
            np.asarray(x),
            np.asarray(info["mult_g"]),
            bounds,
            int(info["status"]),
            callbacks.iterations,
        )


class _Callbacks:
    """The functions of a loaded model as cyipopt asks for them, exact and sparse."""

    def __init__(self, loaded: Loaded, eps: float) -> None:
        self.iterations = 0
        self.eps = eps
        functions = loaded.cache.get(("callbacks", ()))
        if functions is None:
            functions = loaded.cache[("callbacks", ())] = _derived(loaded)
        self.f, self.g, self.df, self.dg, self.h = functions

    def objective(self, x: FloatArray) -> float:
        return float(self.f(x, self.eps))

    def gradient(self, x: FloatArray) -> FloatArray:
        return _flat(self.df(x, self.eps))

    def constraints(self, x: FloatArray) -> FloatArray:
        return _flat(self.g(x, self.eps))

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


def _unsolvable(loaded: Loaded, start: FloatArray) -> _Raw:
    """Return what IPOPT says where equalities outnumber variables; asked, CasADi would print a warning too."""
    code = STATUS_NAMES["Not_Enough_Degrees_Of_Freedom"]
    return _Raw(start, np.zeros(len(loaded.row_low)), np.zeros(len(start)), code, 0)


def doors() -> dict[str, Door]:
    """Return the doors by the name that users type."""
    return {"casadi": CasadiDoor(), "cyipopt": CyipoptDoor()}


def door(name: str) -> tuple[str, Door]:
    """Return a door and its name; ``auto`` is CasADi's, which needs nothing but its package.

    Raises:
        SolverError: there is no such door, or what it needs is not installed.
    """
    known = doors()
    name = "casadi" if name == "auto" else name
    if name not in known:
        raise SolverError("solver", f"no solver {name!r}; have auto, {', '.join(known)}")
    known[name].version()
    return name, known[name]


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


def _flat(matrix: Any) -> FloatArray:  # noqa: ANN401  # CasADi has no types
    return np.array(matrix, dtype=float).reshape(-1)


def _cyipopt() -> ModuleType:
    try:
        return importlib.import_module("cyipopt")
    except ImportError as error:
        problem = "cyipopt is not installed; use --solver casadi, or install an IPOPT and treewarden[ipopt]"
        raise SolverError("solver 'cyipopt'", problem) from error


def _small_model() -> pyo.ConcreteModel:
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
