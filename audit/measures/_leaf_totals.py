"""Measures of the totals that leaves publish: the reading is that of the riskiest leaf of any tree.

An inner node publishes the sum of its leaves. These rules are subadditive (Cox 2001, in Doyle et al., Confidentiality,
Disclosure and Data Access): where every leaf is safe, so is every sum of leaves, also where several records are one
contributor's. So leaves are all that has to be looked at.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters, PerPlace
from treewarden.audit.population.contributions import RankedContributions
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Task


def contributors_in_words(number: float) -> str:
    """Return a number of contributors as people write it."""
    return f"{number:g} contributor{'' if number == 1 else 's'}"


WEIGHTS = Parameter(
    "known",
    "under sampling weights: each record adds its number times its weight, or stands for so many units of that number",
    choices=("known", "repeated"),
)


class LeafTotalMeasure(Measure):
    """A value for the total of each leaf, from the contributions to it."""

    unit = "share"
    reads = frozenset({EvidenceSource.CONTRIBUTIONS, EvidenceSource.TRUTH})
    places = "leaf"

    @abstractmethod
    def values(self, ranked: RankedContributions, parameters: Parameters) -> FloatArray:
        """Return one value per leaf, shape (L,)."""

    @abstractmethod
    def note(self, contributors: float, value: float, parameters: Parameters) -> str:
        """Return what is to say of a leaf."""

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        leaf_ends = self._ends(evidence, parameters)
        return leaf_ends if isinstance(leaf_ends, Undetermined) else leaf_ends[0]

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        leaf_ends = self._ends(evidence, parameters)
        if isinstance(leaf_ends, Undetermined):
            return Measurement(leaf_ends)
        places, contributors = leaf_ends
        ends = places.low, places.high
        bad = ends[0] if self.risk == "low" else ends[1]

        def note(position: int) -> str:
            return self.note(float(contributors[position]), float(bad[position]), parameters)

        spots = worst_spots("leaf", places.indices, ends, self.risk, note, places.trees)
        low, high = (float(end.min() if self.risk == "low" else end.max()) for end in ends)
        return Measurement(Interval(low, high), spots)

    def _ends(
        self, evidence: Evidence, parameters: Parameters
    ) -> tuple[PerPlace, FloatArray] | Undetermined:
        """Return the ends of each leaf, and how many contribute to it."""
        numbers = evidence.numbers
        if isinstance(numbers, Undetermined) and evidence.model.task is not Task.REGRESSION:
            return numbers
        from treewarden.audit.regression.leaf_totals import leaf_totals  # for numbers only

        totals = leaf_totals(
            evidence.forest,
            evidence.population,
            numbers,
            repeats_weights=parameters["weights"] == "repeated",
        )
        if isinstance(totals, Undetermined):
            return totals
        values = [
            np.stack([self.values(ranked, parameters) for ranked in leaves.readings])
            for leaves in totals
        ]
        return (
            PerPlace(
                np.concatenate([leaves.nodes for leaves in totals]),
                np.concatenate([each.min(axis=0) for each in values]),
                np.concatenate([each.max(axis=0) for each in values]),
                np.repeat(
                    np.array([leaves.tree for leaves in totals], dtype=np.intp),
                    [len(leaves.nodes) for leaves in totals],
                ),
            ),
            np.concatenate([leaves.readings[0].contributors for leaves in totals]),
        )
