"""How long each stage of the estimate takes: named functions of the product, timed from outside."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

STAGES: dict[str, tuple[tuple[str, str], ...]] = {
    "reduce": (("treewarden.audit.entropy.search", "reduce_block"),),
    "model": (("treewarden.audit.ipopt.model", "build_model"),),
    ".nl": (("treewarden.audit.ipopt.model", "_through_nl"),),
    "load": (("treewarden.audit.ipopt.model", "load_model"),),
    "IPOPT": (("treewarden.audit.ipopt.solver_backends", "CasadiSolver.run"),),
}
"""Each stage's functions by where they are looked up; "load" holds ".nl" too, which is taken off."""


class Stages:
    """Wraps the functions while it is entered, and sums their wall time by stage in ``seconds``."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Stages:
        for stage, places in STAGES.items():
            self.seconds[stage] = 0.0
            for module, name in places:
                owner: Any = importlib.import_module(module)
                *path, last = name.split(".")
                for part in path:
                    owner = getattr(owner, part)
                whole = getattr(owner, last)
                self._undo.append((owner, last, whole))
                setattr(owner, last, self._timed(stage, whole))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for owner, name, whole in reversed(self._undo):
            setattr(owner, name, whole)
        self.seconds["load"] -= self.seconds[".nl"]

    def _timed(self, stage: str, whole: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return whole(*given, **named)
            finally:
                self.seconds[stage] += time.perf_counter() - began

        return timed
