"""Notions of privacy: one file each, with its formula and its source."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from audit.evidence import Evidence
from audit.people.leaves import Leaves
from audit.reading import Interval, Measurement, Undetermined
from audit.spots import people, worst_spots
from ppdm_models.arrays import FloatArray
from ppdm_models.plugins import discover

Parameters = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One setting of a measure: its default, what it means, and what it may be (a whole number, where ``whole``)."""

    default: float | str
    meaning: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    whole: bool = False


class Measure(ABC):
    """Reads one quantity off the evidence.

    ``plain`` names the quantity in words a manager understands. ``risk`` says which end is dangerous: "low" where small
    readings mean little privacy. ``limits`` is the range in which a policy's limit makes sense. ``is_open`` is true
    where the notion holds only beyond the reading, never at it, so that only a strict rule fits. ``about_leaves`` is
    true where only the leaves' own records count, so that pruning can mend it and the posterior has no part in it;
    ``about_worlds`` where it reads what is proved over whole records, not the estimate, and ``about_cells`` where that
    is more than who is certain; ``about_file`` where it reads what stands in the file beside its trees, which no change
    of the trees mends.
    """

    unit: ClassVar[str]
    plain: ClassVar[str]
    risk: ClassVar[Literal["low", "high"]]
    limits: ClassVar[tuple[float, float]]
    is_open: ClassVar[bool] = False
    about_leaves: ClassVar[bool] = False
    about_worlds: ClassVar[bool] = False
    about_cells: ClassVar[bool] = False
    about_file: ClassVar[bool] = False
    parameters: ClassVar[Mapping[str, Parameter]] = {}

    def words(self, parameters: Parameters) -> str:
        """Return what the quantity is, in plain words, with these settings."""
        return self.plain

    @abstractmethod
    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        """Return the reading and the places it comes from; ``parameters`` holds a value for each declared one."""


class LeafMeasure(Measure):
    """A measure that gives each leaf a value of its own; the reading is that of the riskiest leaf.

    ``of_shares`` is true where only the classes' shares of a leaf count. Under sampling weights these are not the same
    of people and of what the file speaks of, and the reading spans both.
    """

    about_leaves = True
    of_shares: ClassVar[bool] = False

    @abstractmethod
    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        """Return one value per leaf, shape (L,), or why there is none."""

    def ends(
        self, leaves: Leaves, parameters: Parameters
    ) -> tuple[FloatArray, FloatArray] | Undetermined:
        """Return the low and the high end per leaf, shape (L,) each: of people, and of their sampling weights."""
        values = self.values(leaves, parameters)
        if isinstance(values, Undetermined) or leaves.weighed is None or not self.of_shares:
            return values if isinstance(values, Undetermined) else (values, values)
        sums = replace(leaves, classes=leaves.weighed, records=leaves.weighed.sum(axis=1))
        others = self.values(sums, parameters)
        if isinstance(others, Undetermined):
            return others
        return np.minimum(values, others), np.maximum(values, others)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        leaves = evidence.leaves
        if isinstance(leaves, Undetermined):
            return Measurement(leaves)
        ends = self.ends(leaves, parameters)
        if isinstance(ends, Undetermined):
            return Measurement(ends)
        low, high = (float(end.min() if self.risk == "low" else end.max()) for end in ends)
        spots = worst_spots(
            "leaf",
            leaves.nodes,
            ends,
            self.risk,
            lambda position: people(leaves.records[position]),
            leaves.trees,
        )
        return Measurement(Interval(low, high), spots)


def measures() -> dict[str, Measure]:
    """Return every measure by name, in name order."""
    return discover(sys.modules[__name__], "MEASURE", Measure)
