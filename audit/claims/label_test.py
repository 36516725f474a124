"""A test of a claimed epsilon from one file and its table: do labels miss the commonest class as often as they must?

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
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism

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
