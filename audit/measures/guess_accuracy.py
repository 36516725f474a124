"""Accuracy of attribute inference: share of people whose value is inferred correctly.

For each profile the guess is the class with the largest P* (Zhu & Du 2010, section 4). Where several are equally likely
the estimate does not say which is taken, and it may well be the right one (the leaf's label, say): the reading then
spans from all ties broken against the adversary to all broken in favour. So labels alone, under which everything is
equally likely, never read as safe. Shares are of people, whatever sampling weights they carry: a guess harms a person,
not a weight.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined
from treewarden.ppdm_models.arrays import FloatArray, by_rows

# Two probabilities closer than this are a tie: the estimate is checked to 1e-6.
TIE = 1e-6


class GuessAccuracy(Measure):
    """Records guessed right / records; over = "marginal" takes off what always guessing the commonest value gives."""

    unit = "share"
    plain = "share of values inferred correctly"
    short = "values inferred correctly"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})
    parameters = {
        "over": Parameter(
            "nothing",
            (
                "what is subtracted: nothing, or the accuracy of always predicting the most common "
                "value"
            ),
            choices=("nothing", "marginal"),
        ),
    }

    def words(self, parameters: Parameters) -> str:
        if parameters["over"] == "nothing":
            return self.plain
        return "share of correct guesses, minus the share of people with the most common value"

    def row_words(self, parameters: Parameters) -> str:
        if parameters["over"] == "nothing":
            return self.short
        return "guessing gain over most common"

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return Measurement(estimate)
        people = truth.sum()
        known = truth.sum(axis=0).max() if parameters["over"] == "marginal" else 0.0
        against, for_him = _right(estimate, truth)
        return Measurement(
            Interval(float((against - known) / people), float((for_him - known) / people))
        )


def _right(estimate: Posterior, truth: FloatArray) -> tuple[float, float]:
    """Return how many records are guessed right with ties broken against, and for, the adversary."""
    sure = by_rows(np.maximum, estimate.low)
    may_be_guessed = estimate.high >= sure[:, None] - TIE
    worst = by_rows(np.minimum, np.where(may_be_guessed, truth, np.inf))
    best = by_rows(np.maximum, np.where(may_be_guessed, truth, 0.0))
    return float(worst.sum()), float(best.sum())


MEASURE = GuessAccuracy()
