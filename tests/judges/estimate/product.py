"""The product's answer to a system, with nothing of the benchmarks in it: the only place that calls the estimate."""

from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, SolverReport
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import System


def answer(system: System, *, jobs: int | None = 1) -> tuple[Posterior, SolverReport]:
    """Return the estimate and how it was found, with split rows over real masses: in one process, or in so many.

    Whole-record rows say more than the rows that the independent methods here know.
    """
    return estimate(system, AuditOptions(jobs=jobs, rows="real"))


def whole(system: System) -> tuple[Posterior, SolverReport]:
    """Return the estimate as users get it: split rows over whole records where that is exact."""
    return estimate(system, AuditOptions(jobs=1))
