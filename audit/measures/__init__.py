"""Notions of privacy: one file each, with its formula and its source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from audit.evidence import Evidence
from audit.reading import Measurement

Parameters = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One setting of a measure: its default, what it means, and what it may be."""

    default: float | str
    meaning: str
    choices: tuple[str, ...] = ()
    low: float = 0.0


class Measure(ABC):
    """Reads one quantity off the evidence.

    ``risk`` says which end is dangerous: "low" where small readings mean little privacy. ``limits`` is the range in
    which a policy's limit makes sense. ``about_leaves`` is true where only the leaves' own records count, so that
    pruning can mend it and the posterior has no part in it.
    """

    unit: ClassVar[str]
    risk: ClassVar[Literal["low", "high"]]
    limits: ClassVar[tuple[float, float]]
    about_leaves: ClassVar[bool] = False
    parameters: ClassVar[Mapping[str, Parameter]] = {}

    @abstractmethod
    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        """Return the reading and the places it comes from; ``parameters`` holds a value for each declared one."""
