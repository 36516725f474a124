"""Notions of privacy: one file each, with its formula and its source."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from treewarden.audit.evidence import NOT_RANDOMISED, Evidence
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import (
    Interval,
    Measurement,
    Undetermined,
    exactly,
    people,
    worst_spots,
)
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.plugins import PluginIndex, discover

if TYPE_CHECKING:
    from treewarden.audit.randomised.result import Randomisation

Parameters = Mapping[str, float | str]
NOISE = "noise"
"""The room of the measures of noisy tables: see ``NoiseMeasure``."""
NO_MODEL = Undetermined("this metric is for models, not for noisy tables")


@dataclass(frozen=True, slots=True)
class MeasureCall:
    """A measure by name, with all its parameters filled in, by name."""

    measure: str
    parameters: tuple[tuple[str, float | str], ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One setting of a measure: its default, what it means, and what it may be (a whole number, where ``whole``).

    ``problem_of`` says what is wrong with a text that is not one of a few ``choices``, "" where nothing is.
    """

    default: float | str
    meaning: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    whole: bool = False
    problem_of: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class PerPlace:
    """The two ends that a measure has of each place by itself, shape (N,) each.

    ``indices`` are nodes where the places are leaves, with the ``trees`` they are in; else profiles.
    """

    indices: IndexArray
    low: FloatArray
    high: FloatArray
    trees: IndexArray | None = None


class EvidenceSource(StrEnum):
    """What a measure reads of the evidence; ``TRUTH`` where it cannot tell without everybody's true value.

    ``SHAPE`` is how many splits and leaves the trees have, and how many people are in the table; ``NOISE`` what a
    table of noisy records gives away, ``TOGETHER`` what can be told of the people in the leaves of several trees,
    ``NUMBERS`` between which ends the leaves of a model that predicts a number leave each person's, ``CONTRIBUTIONS``
    what each record of the table adds to the totals of leaves, and whose record it is; ``MEMBERS`` who of a register
    of candidates is in the table; ``CLAIM`` what was found of a claim of differential privacy; ``REBUILT`` whose whole
    rows the file proves by itself.
    """

    LEAVES = "leaves"
    ESTIMATE = "estimate"
    WORLDS = "worlds"
    CELLS = "cells"
    FILE = "file"
    TRUTH = "truth"
    SHAPE = "shape"
    TOGETHER = "together"
    NUMBERS = "numbers"
    MEMBERS = "members"
    CLAIM = "claim"
    REBUILT = "rebuilt"
    NOISE = "noise"
    CONTRIBUTIONS = "contributions"


class Measure(ABC):
    """Reads one quantity off the evidence.

    ``plain`` names the quantity in words a manager understands, ``short`` in the few that a row of a table has room
    for. ``risk`` says which end is dangerous: "low" where small readings mean little privacy. ``limits`` is the
    range in which a policy's limit makes sense. ``is_open`` is true where the notion holds only beyond the reading,
    never at it, so that only a strict rule fits. ``reads`` is all that it reads of the evidence, and says what can
    mend it. ``places`` says of what it has a value each, if it has: of every leaf, or of every profile.
    ``is_of_knowledge``: it differs between adversaries who know different columns of the people; by itself so is
    what reads the estimate, the whole records or people's numbers, and not the leaves.
    """

    unit: ClassVar[str]
    plain: ClassVar[str]
    short: ClassVar[str] = ""
    risk: ClassVar[Literal["low", "high"]]
    limits: ClassVar[tuple[float, float]]
    is_open: ClassVar[bool] = False
    reads: ClassVar[frozenset[EvidenceSource]]
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    places: ClassVar[Literal["leaf", "profile"] | None] = None
    is_of_knowledge: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Tell whether the measure differs between adversaries, where it does not say so itself."""
        if "reads" in vars(cls) and "is_of_knowledge" not in vars(cls):
            evidence_sources = {
                EvidenceSource.ESTIMATE,
                EvidenceSource.WORLDS,
                EvidenceSource.CELLS,
                EvidenceSource.NUMBERS,
            }
            cls.is_of_knowledge = (
                bool(cls.reads & evidence_sources) and EvidenceSource.LEAVES not in cls.reads
            )

    @property
    def is_of_leaves(self) -> bool:
        """Whether only the leaves and their own records count: pruning can mend it, the estimate has no part in it."""
        return self.reads <= {EvidenceSource.LEAVES, EvidenceSource.TRUTH, EvidenceSource.SHAPE}

    @property
    def is_of_file(self) -> bool:
        """Whether it reads only what stands in the file beside its trees, which no change of the trees mends."""
        return self.reads <= {EvidenceSource.FILE}

    @property
    def is_of_claim(self) -> bool:
        """Whether it reads what was found of a claim of differential privacy."""
        return EvidenceSource.CLAIM in self.reads

    @property
    def is_of_cells(self) -> bool:
        """Whether it reads more of whole records than who is certain: how often each value can be."""
        return EvidenceSource.CELLS in self.reads

    @property
    def is_of_worlds(self) -> bool:
        """Whether it reads what is proved over whole records, not the estimate."""
        return EvidenceSource.WORLDS in self.reads

    def asks_again(self, parameters: Parameters) -> bool:
        """Return whether, with these settings, it reads the estimate of the table without one person."""
        return False

    def words(self, parameters: Parameters) -> str:
        """Return what the quantity is, in plain words, with these settings."""
        return self.plain

    def row_words(self, parameters: Parameters) -> str:
        """Return the same for a row of a table: a few words."""
        return self.short or self.words(parameters)

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        """Return what it reads of each of its ``places`` alone: of every one where there are records, none left out."""
        return Undetermined("this metric is for the whole model and has no value per leaf")

    @abstractmethod
    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        """Return the reading and the places it comes from; ``parameters`` holds a value for each declared one."""


class LeafMeasure(Measure):
    """A measure that gives each leaf a value of its own; the reading is that of the riskiest leaf.

    ``of_shares`` is true where only the classes' shares of a leaf count. Under sampling weights these are not the same
    of people and of what the file speaks of, and the reading spans both. ``of_presence`` is true where only matters
    which classes a leaf has, which no weights change.
    """

    reads = frozenset({EvidenceSource.LEAVES, EvidenceSource.TRUTH})
    places = "leaf"
    of_shares: ClassVar[bool] = False
    of_presence: ClassVar[bool] = False

    @abstractmethod
    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        """Return one value per leaf, shape (L,), or why there is none."""

    def ends(
        self, leaves: Leaves, parameters: Parameters
    ) -> tuple[FloatArray, FloatArray] | Undetermined:
        """Return the low and the high end per leaf, shape (L,) each: of people, and of their sampling weights."""
        values = self.values(leaves, parameters)
        if isinstance(values, Undetermined):
            return values
        sums = leaves.by_weight
        if sums is None or not self.of_shares:
            return values, values
        others = self.values(sums, parameters)
        if isinstance(others, Undetermined):
            return others
        return np.minimum(values, others), np.maximum(values, others)

    def has_nothing(self, evidence: Evidence) -> bool:
        """Return whether the leaves of this model are known to hold nothing that it could measure: it reads 0 then."""
        return False

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        leaves = evidence.leaves
        if isinstance(leaves, Undetermined):
            return leaves
        if self.has_nothing(evidence):
            nothing = np.zeros(len(leaves.nodes))
            return PerPlace(leaves.nodes, nothing, nothing, leaves.trees)
        ends = self.ends(leaves, parameters)
        if isinstance(ends, Undetermined):
            return ends
        return PerPlace(leaves.nodes, *ends, leaves.trees)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        leaves = evidence.leaves
        if isinstance(leaves, Undetermined):
            return Measurement(leaves)
        if self.has_nothing(evidence):
            return Measurement(exactly(0.0))
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


class NoiseMeasure(Measure):
    """A measure of a table of noisy records, and of nothing else; of a model it reads nothing."""

    reads = frozenset({EvidenceSource.NOISE})

    @abstractmethod
    def reading_of(self, randomised: Randomisation, parameters: Parameters) -> Measurement:
        """Return the reading; ``parameters`` holds a value for each declared one."""

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        return Measurement(NOT_RANDOMISED)


def call(name: str, parameters: Parameters = MappingProxyType({})) -> MeasureCall:
    """Return a measure with the parameters that are given, and the defaults of all others.

    Raises:
        KeyError: there is no such measure.
    """
    declared = measures()[name].parameters
    filled = ((each, parameters.get(each, declared[each].default)) for each in sorted(declared))
    return MeasureCall(
        name, tuple((each, said if isinstance(said, str) else float(said)) for each, said in filled)
    )


def measured(measure_call: MeasureCall, evidence: Evidence) -> Measurement:
    """Return what a measure reads off the evidence."""
    return measures()[measure_call.measure].read(evidence, dict(measure_call.parameters))


def measured_of_noise(measure_call: MeasureCall, randomised: Randomisation) -> Measurement:
    """Return what a measure reads off a table of noisy records; one that is of models reads nothing."""
    measure = measures()[measure_call.measure]
    if not isinstance(measure, NoiseMeasure):
        return Measurement(NO_MODEL)
    return measure.reading_of(randomised, dict(measure_call.parameters))


def of_models() -> dict[str, Measure]:
    """Return every measure that can read anything of a model; those of noise are not even imported."""
    known = measures()
    return {name: known[name] for name in known if known.room_name(name) != NOISE}


def measures() -> PluginIndex[Measure]:
    """Return every measure by name, in name order."""
    return discover(sys.modules[__name__], "MEASURE", Measure)
