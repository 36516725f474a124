"""The door to the IPOPT inside CasADi's own package: it needs nothing else."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import casadi

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
