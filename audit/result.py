"""The whole result of an audit: what each adversary can infer, and what each measure reads from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.estimate.report import SolverReport
from audit.evidence import Evidence
from audit.facts.kind import Dropped
from audit.measures import MeasureCall, Parameters, call
from audit.reading import Measurement, Reading, Undetermined

NOT_MEASURED = Measurement(Undetermined("the audit did not measure it"))
KNOWS_ALL = "knows all"
"""The adversary who knows every quasi-identifier of everybody: the yardstick."""


@dataclass(frozen=True, slots=True)
class Level:
    """What an adversary with one level of knowledge can do: readings of three measures."""

    name: str
    guess_accuracy: Reading
    disclosure: Reading
    kl_overall: Reading


@dataclass(frozen=True, slots=True)
class Exposure:
    """What one adversary can infer.

    ``dropped`` are rows that the true table breaks; ``disagreements`` numbers of the file that it breaks and
    that no row says. ``readings`` are of what was ``asked`` for and of every measure with its defaults, each taken
    once. ``levels`` is what each kind of published information adds, from the least to all that this adversary knows;
    empty where there is nothing to tell apart, or nobody asked. ``under`` is what this adversary is assumed to know
    other than the audit assumes, as a policy's clause says it; "" where it is what the audit assumes. ``of`` names
    what it is about where that is not the model of the audit: another release. ``is_alone`` says that it is about what
    somebody infers who holds that release alone, where others are audited with it.
    """

    adversary: str
    evidence: Evidence
    solver: SolverReport
    dropped: tuple[Dropped, ...]
    disagreements: tuple[Dropped, ...]
    asked: tuple[MeasureCall, ...]
    readings: Mapping[MeasureCall, Measurement]
    levels: tuple[Level, ...] = ()
    under: str = ""
    of: str = ""
    is_alone: bool = False

    def measured(self, name: str, given: Parameters | None = None) -> Measurement:
        """Return what a measure read, with its defaults but for what is given."""
        return self.readings.get(call(name, given or {}), NOT_MEASURED)


@dataclass(frozen=True, slots=True)
class Audit:
    """What each adversary can infer, and what the reader should know about the audit as a whole.

    ``stopped`` is why it ended before everything was read, if it did; what was not read never passes.
    """

    exposures: tuple[Exposure, ...]
    warnings: tuple[str, ...] = ()
    stopped: str = ""

    @property
    def full(self) -> Exposure:
        """What the adversary can infer who knows all quasi-identifiers: the first."""
        return self.exposures[0]
