"""One audit, start to end: the only place where the pipe is spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.evidence import Evidence
from audit.reading import Measurement


@dataclass(frozen=True, slots=True)
class Dropped:
    """A constraint that the true table breaks, so it is no knowledge: where it comes from and the likely cause.

    ``is_published`` is true for what the file itself says (then the table is not the one the file speaks of).
    """

    constraint: str
    where: str
    problem: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class SolverReport:
    """How the estimate was found, and how good it is. Entropies in nats per record.

    ``status`` is "closed form", "optimal", "stalled" or "not run"; ``entropy_bound`` is an upper bound on the entropy;
    ``max_violation`` the largest relative violation over all constraints, re-checked outside the solver.
    """

    status: str
    entropy: float | None
    entropy_bound: float | None
    max_violation: float | None
    iterations: int = 0
    seconds: float = field(default=0.0, compare=False)
    rows: int = 0
    rows_active: int = 0
    blocks: int = 0
    door: str = "none"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MeasureCall:
    """A measure by name, with its parameters filled in."""

    measure: str
    parameters: tuple[tuple[str, float | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole result: the evidence, how it was found, and what each measure reads from it."""

    evidence: Evidence
    solver: SolverReport
    dropped: tuple[Dropped, ...]
    measurements: Mapping[MeasureCall, Measurement]
    warnings: tuple[str, ...] = ()
