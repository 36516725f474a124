"""The product's estimate, as the benchmarks call it."""

from __future__ import annotations

from audit.estimate import SolverReport, estimate
from audit.posterior import Posterior
from audit.search import SolveOptions
from audit.system import System


def answer(
    system: System, *, direct: bool = False, jobs: int | None = 1
) -> tuple[Posterior, SolverReport]:
    """Return the estimate and how it was found: in one process, or in so many (None: one per core)."""
    return estimate(system, SolveOptions(direct=direct, jobs=jobs))
