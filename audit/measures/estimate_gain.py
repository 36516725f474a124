"""Inference advantage: share of people inferred correctly beyond those whom the model predicts correctly.

Whoever may only use a model learns what it predicts of somebody; whoever holds its file can combine all its leaves. The
reading is the share guessed right by the maximum-entropy estimate (see guess_accuracy; Zhu & Du 2010, section 4) less
the share that the model predicts right on the same people: what publishing adds to using. It is negative where the file
tells less than its predictions do, as where leaf values are rounded so that sums of labels are hardly known. Ties of
the estimate span it, as those of guess_accuracy do. Of a single tree the model's prediction is the label of the leaf.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, call, measured
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Interval, Measurement, Reading, Undetermined, exactly

EXACT = 12
"""Decimals: a difference of two shares of the same people is a share of them, whatever their sums were rounded to."""


class EstimateGain(Measure):
    """guess_accuracy less the accuracy of the model on its own training table."""

    unit = "share"
    plain = "share of correct guesses, minus the share of correct predictions of the model"
    short = "gain over the model's own predictions"
    risk = "high"
    limits = (-1.0, 1.0)
    is_of_knowledge = False
    """It is about whoever can ask the model, and so knows all that it tests."""
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        guessed, own = measured(call("guess_accuracy"), evidence).reading, _accuracy(evidence)
        if isinstance(guessed, Undetermined):
            return Measurement(guessed)
        if isinstance(own, Undetermined):
            return Measurement(own)
        return Measurement(
            Interval(round(guessed.low - own.high, EXACT), round(guessed.high - own.low, EXACT))
        )


def _accuracy(evidence: Evidence) -> Reading:
    """Return the share of the people whom the model predicts right."""
    leaves = evidence.leaves
    if evidence.forest.is_ensemble:
        return evidence.forest.accuracy
    if isinstance(leaves, Undetermined):
        return leaves
    return _of_labels(leaves)


def _of_labels(leaves: Leaves) -> Reading:
    for known in (leaves.classes, leaves.labels):
        if isinstance(known, Undetermined):
            return known
    assert not isinstance(leaves.classes, Undetermined)
    right = np.take_along_axis(leaves.classes, np.asarray(leaves.labels)[:, None], axis=1)
    return exactly(float(right.sum() / leaves.records.sum()))


MEASURE = EstimateGain()
