"""The ex-post privacy loss of each person by the file as it is, and a test of the claimed epsilon from it.

The loss of a person is |ln P(file | D) - ln P(file | D without the person)| (Ligett et al. 2017, "Accuracy first", for
what was drawn; Wang 2017, per-instance differential privacy, for one table). Under a mechanism that keeps its promise
it is at most epsilon for every output. So one person above epsilon refutes the claim, by proof and not by statistics.
A person's records change the counts of one leaf of each tree that saw them; the logarithms of all trees add up.

The test asks whether labels miss the commonest class as often as a claimed epsilon requires, by one file and its table.

Given the table, each leaf's label is drawn by itself with known probabilities. The statistic is the sum, over leaves
with people, of how many people the drawn class has fewer than the commonest one: for the exponential mechanism it tells
all that labels tell of epsilon. It is the larger the smaller epsilon was, so its exact distribution, a convolution,
tests every epsilon, and the epsilons that are not refuted are a confidence interval of the one that was used (Clopper &
Pearson 1934). No training is repeated and no canary is planted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treewarden.audit.claims.leaf_labels import LeafLabels, log_probabilities
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.privacy_claim import (
    ClaimUnit,
    LabelMechanism,
    PrivacyClaim,
    SplitOrigin,
)

SPLITS_UNKNOWN = Undetermined(
    "the mechanism that chose the splits is not known, so its share of a person's privacy "
    "loss cannot be computed"
)


@dataclass(frozen=True, slots=True, eq=False)
class RealisedLoss:
    """What the file cost each person, in nats.

    ``of_cell`` (P, k) is ln P(labels | D) - ln P(labels | D - i) for a person i of each profile and class, NaN where
    there is none. ``largest`` is the most that the labels cost anybody (with all of a person's records, where the claim
    is about persons); tests that were chosen privately may add or take away ``open_part``.
    """

    of_cell: FloatArray
    largest: float
    mean: float
    open_part: float = 0.0

    @property
    def low(self) -> float:
        """The least that the loss of the person who lost most can be."""
        return max(0.0, self.largest - self.open_part)

    @property
    def high(self) -> float:
        """The most that anybody can have lost."""
        return self.largest + self.open_part


def measure_losses(
    labels: LeafLabels, population: Population, claim: PrivacyClaim, label_epsilon: float
) -> RealisedLoss | Undetermined:
    """Return what the labels cost each person, drawn with this epsilon in each tree; or why that is not known."""
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    if claim.splits is SplitOrigin.UNKNOWN:
        return SPLITS_UNKNOWN
    signed = losses_in_leaves(labels, label_epsilon, claim)
    of_cell = np.zeros(truth.shape)
    for leaves in labels.leaf_of_profile:
        of_cell += np.where((leaves >= 0)[:, None], signed[leaves], 0.0)
    of_cell = np.where(truth > 0, of_cell, np.nan)
    losses = np.abs(of_cell)
    people = float(truth.sum())
    largest = float(np.nanmax(losses))
    if claim.unit is ClaimUnit.PERSON:
        largest = max(largest, _largest_of_persons(labels, population, claim, label_epsilon))
    private = claim.splits is SplitOrigin.PRIVATE
    return RealisedLoss(
        of_cell=of_cell,
        largest=largest,
        mean=float(np.nansum(losses * truth) / people),
        open_part=max(0.0, claim.epsilon - label_epsilon) if private else 0.0,
    )


def losses_in_leaves(labels: LeafLabels, epsilon: float, claim: PrivacyClaim) -> FloatArray:
    """Return ln P(label | counts) - ln P(label | counts without one of class c) for each leaf and c, (L, k)."""
    every = np.arange(len(labels.labels))
    with_all = log_probabilities(labels.counts, epsilon, claim.mechanism)[every, labels.labels]
    signed = np.full(labels.counts.shape, np.nan)
    for place in range(labels.counts.shape[1]):
        without = labels.counts.copy()
        without[:, place] -= 1
        is_there = without[:, place] >= 0
        chances = log_probabilities(without[is_there], epsilon, claim.mechanism)
        drawn = chances[np.arange(len(chances)), labels.labels[is_there]]
        signed[is_there, place] = with_all[is_there] - drawn
    return signed


def _largest_of_persons(
    labels: LeafLabels, population: Population, claim: PrivacyClaim, epsilon: float
) -> float:
    """Return the largest loss of a person who has several records: all of them are taken out at once."""
    contributions, order = population.contributions, population.order
    if contributions is None or contributions.contributors is None:
        return 0.0
    if order is None or population.weight is not None:
        return 0.0
    classes = order.classes
    if classes is None or len(order.profiles) != len(contributions.contributors):
        return 0.0
    every = np.arange(len(labels.labels))
    whole = log_probabilities(labels.counts, epsilon, claim.mechanism)[every, labels.labels]
    largest = 0.0
    persons = np.argsort(contributions.contributors, kind="stable")
    numbers, starts = np.unique(contributions.contributors[persons], return_index=True)
    for records in np.split(persons, starts[1:]):
        if len(records) > 1:
            lost = _loss_without(
                labels, (order.profiles[records], classes[records]), epsilon, claim
            )
            largest = max(largest, abs(sum(float(whole[leaf]) - after for leaf, after in lost)))
    return largest if len(numbers) else 0.0


def _loss_without(
    labels: LeafLabels, records: tuple[IndexArray, IndexArray], epsilon: float, claim: PrivacyClaim
) -> list[tuple[int, float]]:
    """Return the leaves of some records, and ln P of their labels without these."""
    profiles, classes = records
    found = []
    for leaves in labels.leaf_of_profile:
        here = leaves[profiles]
        for leaf in np.unique(here[here >= 0]).tolist():
            counts = labels.counts[leaf : leaf + 1].copy()
            np.add.at(counts[0], classes[here == leaf], -1)
            chances = log_probabilities(counts, epsilon, claim.mechanism)
            found.append((leaf, float(chances[0, labels.labels[leaf]])))
    return found


LEAST, MOST = 1e-7, 1e4
"""Between these an epsilon is looked for: beyond, labels are all noise or none."""
STEPS = 36
MOST_STEPS = 20_000_000
"""So many additions at most give the distribution once; beyond, people are counted in larger units."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelTest:
    """What labels show of the epsilon that they were drawn with.

    ``counts`` (L, k) are the people of the leaves that have any. ``lost`` is the statistic: people whom the labels have
    fewer than the commonest classes, in whole units of ``unit`` people in each leaf, which hangs on the counts alone.
    """

    counts: FloatArray
    mechanism: LabelMechanism
    lost: int
    unit: int = 1

    @property
    def leaves(self) -> int:
        """The number of leaves with people."""
        return len(self.counts)

    @property
    def is_of_use(self) -> bool:
        """Whether any leaf could have had another label that loses people."""
        return bool(_lost(self.counts, self.unit).any())

    def p_value(self, epsilon: float) -> float:
        """Return how likely labels lose so few people or fewer, where they are drawn with this epsilon or a smaller."""
        return self._at_most(self.lost, epsilon)

    def p_value_of_noise(self, epsilon: float) -> float:
        """Return how likely labels lose so many people or more, where they are drawn with this epsilon or a larger."""
        return 1.0 if not self.lost else max(0.0, 1.0 - self._at_most(self.lost - 1, epsilon))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the epsilons that are refuted at neither end, each end at half of 1 - ``level``."""
        tail = (1 - level) / 2
        low = 0.0 if self.p_value(LEAST) > tail else self._crossing(self.p_value, tail)[0]
        if self.p_value_of_noise(MOST) > tail:
            return low, np.inf
        return low, self._crossing(lambda epsilon: -self.p_value_of_noise(epsilon), -tail)[1]

    def _crossing(self, rising: Callable[[float], float], level: float) -> tuple[float, float]:
        """Return two numbers close to each other between which a rising function of epsilon passes a level."""
        low, high = np.log(LEAST), np.log(MOST)
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if rising(float(np.exp(middle))) > level else (middle, high)
        return float(np.exp(low)), float(np.exp(high))

    def _at_most(self, most: int, epsilon: float) -> float:
        """Return the probability that labels lose at most so many people."""
        if most < 0:
            return 0.0
        counts, gaps = self.counts, _lost(self.counts, self.unit)
        chances = np.exp(log_probabilities(counts, epsilon, self.mechanism))
        sums = np.zeros(most + 1)
        sums[0] = 1.0
        reached = 0
        for gap, chance in zip(gaps, chances, strict=True):
            if not gap.any():
                continue
            after = np.zeros_like(sums)
            end = min(most, reached + int(gap.max())) + 1
            for step, part in zip(gap.tolist(), chance.tolist(), strict=True):
                if step < end:
                    after[step:end] += part * sums[: end - step]
            sums, reached = after, end - 1
        return min(1.0, float(sums.sum()))


def label_test(labels: LeafLabels, mechanism: LabelMechanism) -> LabelTest:
    """Return the test of some labels."""
    held = labels.counts.sum(axis=1) > 0
    counts, drawn = labels.counts[held], labels.labels[held]
    room = MOST_STEPS / max(1, counts.size)
    unit = max(1, math.ceil(_lost(counts, 1).max(axis=1, initial=0).sum() / room))
    lost = _lost(counts, unit)[np.arange(len(counts)), drawn]
    return LabelTest(counts, mechanism, int(lost.sum()), unit)


def _lost(counts: FloatArray, unit: int) -> IntArray:
    """Return how many units of people each class of a leaf has fewer than the commonest one, (L, k)."""
    gaps = np.rint(counts.max(axis=1, initial=0, keepdims=True) - counts).astype(np.int64)
    return np.asarray(gaps // unit)
