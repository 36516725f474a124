"""Helpers that several measures share.

They are for measures of people's numbers and of whole records; of the estimated chance that an adversary guesses a
value right within some tries, on average over all people; and of the totals that leaves publish, where the reading is
that of the riskiest leaf of any tree.

An inner node publishes the sum of its leaves. These rules are subadditive (Cox 2001, in Doyle et al., Confidentiality,
Disclosure and Data Access): where every leaf is safe, so is every sum of leaves, also where several records are one
contributor's. So leaves are all that has to be looked at.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters, PerPlace
from treewarden.audit.population.target import RankedContributions
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.column import brief
from treewarden.ppdm_models.tree.tree import Task

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import ValueBounds
    from treewarden.audit.regression.totals import LeafTotals


# Measures of people's numbers: each person's interval, in words.

NOBODY = Undetermined("the table has no records")


def known_numbers(evidence: Evidence) -> ValueBounds | Undetermined:
    """Return between which ends people's numbers lie, of a table that has any."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        return numbers
    return numbers if (numbers.counts > 0).any() else NOBODY


def interval_note(numbers: ValueBounds, profile: int) -> str:
    """Return what is known of the people of a profile, as reports say it."""
    who = people(numbers.counts[profile])
    low, high = float(numbers.low[profile]), float(numbers.high[profile])
    if numbers.is_exact[profile]:
        return f"{who}: {brief((low + high) / 2)}, determined exactly"
    said = f"{who}: proved to lie between {brief(low)} and {brief(high)}"
    least, most = float(numbers.reached_low[profile]), float(numbers.reached_high[profile])
    if most - least < high - low:
        said += f"; tables that fit reach from {brief(least)} to {brief(most)}"
    return said


# Measures over consistent tables.


def known_worlds(evidence: Evidence) -> ConsistentTables | Undetermined:
    """Return the worlds, or why nothing can be read from them."""
    worlds = evidence.worlds
    if isinstance(worlds, ConsistentTables) and not worlds.counts.sum():
        return Undetermined("the table has no records")
    return worlds


def true_values(evidence: Evidence, worlds: ConsistentTables) -> BoolArray:
    """Return which values some record of each profile truly has, (P, m); where that is not known, all that may be."""
    truth = evidence.population.truth
    return np.asarray(worlds.high > 0 if isinstance(truth, Undetermined) else truth > 0)


TRIES = Parameter(1.0, "how many guesses an adversary has for each person", low=1.0, whole=True)


def vulnerability(
    evidence: Evidence, tries: int, *, is_before: bool = False
) -> Interval | Undetermined:
    """Return the sum over profiles of their share of the people times the ``tries`` largest probabilities.

    ``is_before`` asks of the estimate before the model is published.
    """
    found = evidence.estimate_before if is_before else evidence.estimate
    if isinstance(found, Undetermined):
        return found
    counts = evidence.population.counts
    return Interval(*(_mean(ends, counts, tries) for ends in _ends(found)))


def _ends(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    return posterior.low, posterior.high


def _mean(shares: FloatArray, counts: FloatArray, tries: int) -> float:
    largest = np.sort(shares, axis=1)[:, -tries:].sum(axis=1)
    return float((np.minimum(largest, 1.0) * counts).sum() / counts.sum())


def contributors_in_words(number: float) -> str:
    """Return a number of contributors as people write it."""
    return f"{number:g} contributor{'' if number == 1 else 's'}"


WEIGHTS = Parameter(
    "known",
    "under sampling weights: each record adds its number times its weight, or stands for so many units of that number",
    choices=("known", "repeated"),
)


TELLS_MORE = (
    "; the file also publishes how far the amounts in a leaf spread, which tells contributors more than the total: "
    "redact a skops file, or publish the tree as PMML, which holds the totals alone"
)

LINKED = (
    "; leaves of several trees are linked cells, and what contributors learn from all of them was not worked out: "
    "publish one tree, or give a table of totals, with which all cells are judged"
)


class LeafTotalMeasure(Measure):
    """A value for the total of each leaf, from the contributions to it."""

    unit = "share"
    reads = frozenset({EvidenceSource.CONTRIBUTIONS, EvidenceSource.TRUTH})
    places = "leaf"
    is_of_attackers = False

    @abstractmethod
    def values(self, ranked: RankedContributions, parameters: Parameters) -> FloatArray:
        """Return one value per leaf, shape (L,)."""

    @abstractmethod
    def note(self, contributors: float, value: float, parameters: Parameters) -> str:
        """Return what is to say of a leaf."""

    def ends(self, leaves: LeafTotals, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the value of each leaf of a tree, (L,)."""
        values = np.stack([self.values(ranked, parameters) for ranked in leaves.readings])
        return values.min(axis=0), values.max(axis=0)

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        leaf_ends = self._ends(evidence, parameters)
        return leaf_ends if isinstance(leaf_ends, Undetermined) else leaf_ends[0]

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        leaf_ends = self._ends(evidence, parameters)
        if isinstance(leaf_ends, Undetermined):
            return Measurement(leaf_ends)
        places, totals = leaf_ends
        contributors = np.concatenate([leaves.readings[0].contributors for leaves in totals])
        why = [LINKED if leaves.is_linked else _told_beside(leaves) for leaves in totals]
        more = np.repeat(why if self.is_of_attackers else [""] * len(why), _sizes(totals))
        ends = places.low, places.high
        bad = ends[0] if self.risk == "low" else ends[1]

        def note(position: int) -> str:
            said = self.note(float(contributors[position]), float(bad[position]), parameters)
            return f"{said}{more[position]}"

        spots = worst_spots("leaf", places.indices, ends, self.risk, note, places.trees)
        low, high = (float(end.min() if self.risk == "low" else end.max()) for end in ends)
        return Measurement(Interval(low, high), spots)

    def _ends(
        self, evidence: Evidence, parameters: Parameters
    ) -> tuple[PerPlace, list[LeafTotals]] | Undetermined:
        """Return the ends of each leaf, and the totals of all trees."""
        numbers = evidence.numbers
        if isinstance(numbers, Undetermined) and evidence.model.task is not Task.REGRESSION:
            return numbers
        from treewarden.audit.regression.totals import leaf_totals  # for numbers only

        totals = leaf_totals(
            evidence.forest,
            evidence.population,
            numbers,
            repeats_weights=parameters["weights"] == "repeated",
        )
        if isinstance(totals, Undetermined):
            return totals
        if not isinstance(evidence.records.cells, Undetermined):  # they are judged with tables
            totals = [replace(leaves, is_linked=False) for leaves in totals]
        ends = [self.ends(leaves, parameters) for leaves in totals]
        trees = np.array([leaves.tree for leaves in totals], dtype=np.intp)
        places = PerPlace(
            np.concatenate([leaves.nodes for leaves in totals]),
            np.concatenate([low for low, _ in ends]),
            np.concatenate([high for _, high in ends]),
            np.repeat(trees, _sizes(totals)),
        )
        return places, totals


def _told_beside(leaves: LeafTotals) -> str:
    return TELLS_MORE if leaves.tells_spread or leaves.is_open else ""


def _sizes(totals: Sequence[LeafTotals]) -> list[int]:
    return [len(leaves.nodes) for leaves in totals]
