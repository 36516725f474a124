"""The whole result of an audit: evidence, how the estimate was found, what each measure reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.estimate.report import SolverReport
from audit.evidence import Evidence
from audit.facts.kind import Dropped
from audit.reading import Measurement, Reading


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


@dataclass(frozen=True, slots=True)
class Level:
    """What an adversary with one level of knowledge can do: readings of three measures."""

    name: str
    guess_accuracy: Reading
    disclosure: Reading
    kl_overall: Reading
