"""What an objective of XGBoost makes of the sum of its trees, and how many people a second derivative stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import Link
from treewarden.ppdm_models.tree.tree import Quality, Task

LOGISTIC = ("binary:logistic", "reg:logistic")
SOFTMAX = ("multi:softprob", "multi:softmax")
LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
PLAIN = (
    "reg:squarederror",
    "reg:linear",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
    "reg:quantileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
)
ONE_EACH = ("reg:squarederror", "reg:linear", "reg:absoluteerror")
"""Where the second derivative of a record is 1 (its weight), in every tree."""

RELATIVE_SLACK = 1e-5
ABSOLUTE_SLACK = 0.05
"""How far a count from 32-bit sums may lie from a whole number."""


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective with what the file says beside it: outputs, and the base score in the space of its predictions.

    ``targets`` are how many targets it predicts: of several, each output is that of one (a number or a share).
    """

    name: str
    outputs: int
    base_score: tuple[float, ...]
    major: int = 3
    targets: int = 1

    @property
    def task(self) -> Task:
        """What the ensemble predicts."""
        classes = self.targets == 1 and self.name.startswith(("binary:", "multi:"))
        return Task.CLASSIFICATION if classes else Task.REGRESSION

    @property
    def classes(self) -> tuple[str, ...]:
        """The numbers of the classes, which have no names in the file."""
        if self.task is Task.REGRESSION:
            return ()
        return tuple(map(str, range(max(2, self.outputs))))

    @property
    def link(self) -> Link:
        """What turns the sum into a prediction; unknown for a function of the user's own."""
        if self.name in LOGISTIC:
            return Link.LOGISTIC
        if self.name in SOFTMAX:
            return Link.SOFTMAX
        if self.name in LOG:
            return Link.EXP
        plain = self.name in PLAIN or (self.name == "binary:logitraw" and self.major >= 3)
        return Link.IDENTITY if plain else Link.UNKNOWN

    @property
    def base(self) -> tuple[float, ...]:
        """What is added to the sum: the base score, seen through the link.

        Raises:
            ValueError: the base score cannot be that of the link, such as a probability of 2.
        """
        if self.link is Link.LOGISTIC:
            return tuple(math.log(score) - math.log1p(-score) for score in self.base_score)
        if self.link is Link.EXP:
            return tuple(math.log(score) for score in self.base_score)
        return self.base_score

    def per_record(self, output: int, width: int, is_first: bool) -> float | None:
        """Return the second derivative that each record adds to a node; None where records differ."""
        if self.name in ONE_EACH:
            return float(width)
        if not is_first or width > 1:
            return None
        if self.name in LOGISTIC:
            score = _at(self.base_score, output)
            return score * (1.0 - score) if 0.0 < score < 1.0 else None
        if self.name in SOFTMAX:
            share = _softmax_share(self.base_score, output, self.outputs)
            return 2.0 * share * (1.0 - share) or None
        return None

    def people(self, sums: FloatArray, per_record: float | None) -> tuple[FloatArray, Quality]:
        """Return the counts behind sums of second derivatives, or the sums, and what they are."""
        if per_record is None:
            return sums, Quality.HESSIAN
        with np.errstate(over="ignore", invalid="ignore"):  # an absurd base score: not whole
            counts = sums / per_record
            rounded = np.rint(counts)
            slack = np.minimum(ABSOLUTE_SLACK, RELATIVE_SLACK * np.maximum(100.0, counts))
            is_whole = bool((np.abs(counts - rounded) <= slack).all())
        if is_whole:
            return rounded, Quality.DERIVED
        return sums, Quality.WEIGHTED if self.name in ONE_EACH else Quality.HESSIAN


def _at(scores: Sequence[float], output: int) -> float:
    return scores[output] if len(scores) > 1 else scores[0]


def _softmax_share(scores: Sequence[float], output: int, outputs: int) -> float:
    if len(scores) == 1:
        return 1.0 / outputs
    top = max(scores)
    return math.exp(scores[output] - top) / math.fsum(math.exp(score - top) for score in scores)
