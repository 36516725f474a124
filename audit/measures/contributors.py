"""Fewest contributors to a leaf: people or companies, where several records may belong to one.

The minimum frequency rule for tables of magnitudes (Hundepool et al., Handbook on Statistical Disclosure Control,
section 4.2.1; sdcTable, rule "freq"): a cell with fewer contributors than n is sensitive, usually n = 3. Whose record
each is says the column of ``--id``; without it each record is another contributor's, as for k_anonymity. Who adds 0 is
a contributor, and sampling weights hide nobody. Of fewer than three each may subtract its own part from the total.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.measures._shared import contributors_in_words
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


class Contributors(Measure):
    """The fewest over leaves; leaves without records single out nobody and are left out."""

    unit = "contributors"
    plain = "fewest contributors to a leaf"
    short = "contributors to the smallest leaf"
    risk = "low"
    limits = (1.0, math.inf)
    reads = frozenset({EvidenceSource.CONTRIBUTIONS})
    places = "leaf"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        leaves = evidence.leaves
        if isinstance(leaves, Undetermined):
            return leaves
        counts = leaves.records
        contributions = evidence.population.contributions
        if contributions is not None and contributions.contributors is not None:
            counts = _distinct(
                evidence.stops[:, contributions.profiles],
                contributions.contributors,
                (leaves.trees, leaves.nodes),
            )
        return PerPlace(leaves.nodes, counts, counts, leaves.trees)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        places = self.per_place(evidence, parameters)
        if isinstance(places, Undetermined):
            return Measurement(places)

        def note(position: int) -> str:
            return contributors_in_words(float(places.low[position]))

        spots = worst_spots(
            "leaf",
            places.indices,
            (places.low, places.high),
            self.risk,
            note,
            places.trees,
        )
        return Measurement(
            Interval(float(places.low.min()), float(places.high.min())),
            spots,
        )


def _distinct(
    stops: IndexArray, contributors: IndexArray, leaves: tuple[IndexArray, IndexArray]
) -> FloatArray:
    """Return how many contributors each leaf has, (L,); ``stops`` (T, K) are where their records stop."""
    trees, nodes = leaves
    counts = np.zeros(len(nodes))
    size = int(contributors.max(initial=0)) + 1
    for tree in np.unique(trees).tolist():
        there = np.flatnonzero(trees == tree)
        pairs = np.unique(stops[tree] * size + contributors)
        nodes_there, number = np.unique(pairs // size, return_counts=True)
        known = dict(zip(nodes_there.tolist(), number.tolist(), strict=True))
        counts[there] = [known[node] for node in nodes[there].tolist()]
    return counts


MEASURE = Contributors()
