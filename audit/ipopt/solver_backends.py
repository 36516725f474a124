"""The two backends for IPOPT: the one inside CasADi's package, and one that the user built, by way of cyipopt.

CasADi's needs nothing else. Both are given the same derivatives; cyipopt asks for them one by one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import casadi
import numpy as np

from treewarden.audit.ipopt.backend import STATUS_NAMES, BackendAnswer, Door, LoadedSolver
from treewarden.audit.ipopt.model import Loaded, flat
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import SolverError

_DERIVATIVES = {"grad_f": "nlp_grad_f", "jac_g": "nlp_jac_g", "hess_lag": "nlp_hess_l"}
_NO_SENSITIVITIES = {"calc_lam_p": False, "no_nlp_grad": True}
"""Nobody asks how the optimum moves with the parameter, and deriving that takes a third of the set-up."""


class CasadiDoor(Door):
    """The IPOPT inside CasADi's package."""

    def version(self) -> str:
        folder = Path(casadi.__file__).parent
        found = [path.name.removeprefix("libipopt.so.") for path in folder.glob("libipopt.so.*.*")]
        ipopt = f"IPOPT {max(found)}" if found else "its own IPOPT"
        return f"CasADi {importlib.metadata.version('casadi')} with {ipopt}"

    def opened(self, loaded: Loaded) -> LoadedSolver:
        return CasadiSolver(loaded)


class CasadiSolver(LoadedSolver):
    """A loaded model, and what CasADi has made of it: its derivatives, and an IPOPT for each choice of options."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self._derivatives = dict(loaded.derivatives)
        self._made: dict[tuple[tuple[str, float | str], ...], Any] = {}

    def run(
        self, start: FloatArray, high: FloatArray, eps: float, options: Mapping[str, float | str]
    ) -> BackendAnswer:
        loaded, solver = self.loaded, self._with(options)
        with _interrupts_kept():
            found = solver(
                x0=start,
                p=eps,
                lbx=loaded.low,
                ubx=high,
                lbg=loaded.row_low,
                ubg=loaded.row_high,
            )
            said = solver.stats()
            name = str(said["return_status"])
            x, rows, bounds = (flat(found[part]) for part in ("x", "lam_g", "lam_x"))
        if name not in STATUS_NAMES:
            raise SolverError("IPOPT", f"status {name!r} is not known; report this")
        return BackendAnswer(x, rows, bounds, STATUS_NAMES[name], int(said.get("iter_count", 0)))

    def _with(self, options: Mapping[str, float | str]) -> Any:  # noqa: ANN401  # CasADi has no types
        """Return CasADi's function of a start that runs IPOPT with these options."""
        key = tuple(sorted(options.items()))
        if key not in self._made:
            self._made[key] = self._new(options)
        return self._made[key]

    def _new(self, options: Mapping[str, float | str]) -> Any:  # noqa: ANN401  # CasADi has no types
        _load_ipopt()
        loaded = self.loaded
        problem = {"x": loaded.x, "p": loaded.eps, "f": loaded.f, "g": loaded.g}
        settings: dict[str, Any] = {
            "ipopt": dict(options),
            "print_time": False,
            "show_eval_warnings": False,
            **_NO_SENSITIVITIES,
        }
        solver = casadi.nlpsol("solver", "ipopt", problem, {**settings, **self._derivatives})
        found = {option: solver.get_function(name) for option, name in _DERIVATIVES.items()}
        self._derivatives.update(found)
        return solver


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


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Raise Ctrl-C after a solve that it ended: CasADi stops for it, and then keeps it to itself."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(handler):
        yield
        return
    heard: list[int] = []

    def noted(number: int, frame: FrameType | None) -> object:
        heard.append(number)
        return handler(number, frame)

    signal.signal(signal.SIGINT, noted)
    try:
        yield
    except Exception:
        if not heard:  # what it interrupts may fail in any way
            raise
    finally:
        signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt


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
