"""Measures a randomised table: from everything its owner knows of it to everything that it discloses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.randomised.result import (
    HiddenColumn,
    Randomisation,
    RecoveredColumn,
    RelatedColumns,
)
from treewarden.ppdm_models.methods.randomised.attacks import (
    BEST_LINEAR,
    WIDTH_95,
    Attack,
    Moments,
    best_errors,
    correlations,
    linear_bayes,
    spectral,
)
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Gaussian
from treewarden.ppdm_models.methods.randomised.reconstruction import Intervals
from treewarden.ppdm_models.methods.randomised.residual_privacy import left, seen

# Everything known of a randomised table when it is judged.


Numbers = NDArray[np.float64]
GO_TOGETHER = 0.5
"""How strong a correlation has to be before it is worth a word."""
FEWEST_RECORDS = 30
"""Fewer complete records than that tell nothing of how attributes go together."""
RECORDS_PER_COLUMN = 10
"""Nor do fewer than that for each attribute: an estimate of so many numbers fits whatever they are."""


def randomisation_of(
    manifest: Manifest,
    counts: Mapping[str, tuple[Intervals, NDArray[np.int64]]],
    moments: Moments,
    missing: Mapping[str, int],
    *,
    has_too_many_classes: bool = False,
) -> Randomisation:
    """Return what a randomised table gives away.

    ``counts`` are for each hidden column the records of each interval by their true values, or of each class and
    interval: shape (intervals,) or (classes, intervals). ``moments`` are those of the hidden columns in the manifest's
    order, ``missing`` how many records have no value. Where fewer than 30 records are complete, or than 10 for each
    column, no attack is told of.
    """
    recovered = _recovered(manifest, moments)
    columns = []
    for number, hidden in enumerate(manifest.columns):
        intervals, there = counts[hidden.name]
        shares = there / max(int(there.sum()), 1)
        are_points = hidden.is_whole and intervals.width == 1
        joint = seen(intervals, shares, hidden.hiding, are_points=are_points)
        columns.append(
            HiddenColumn(
                hidden,
                joint,
                left(joint),
                tuple(recovered_columns[number] for recovered_columns in recovered),
                missing.get(hidden.name, 0),
            )
        )
    return Randomisation(
        source=manifest.file,
        records=manifest.records,
        columns=tuple(columns),
        related=tuple(_related(manifest, moments)),
        clear=manifest.clear,
        harmless=manifest.harmless,
        label=manifest.label,
        has_too_many_classes=has_too_many_classes,
    )


def deviation(hidden: Hidden) -> float:
    """Return the standard deviation of a column's noise, as a share of its domain; 0 of classes, which have none."""
    hiding, width = hidden.hiding, hidden.high - hidden.low
    if isinstance(hiding, ClassNoise):
        return 0.0
    if isinstance(hiding, Gaussian):
        return hiding.sigma / width
    return hiding.alpha / math.sqrt(3) / width


def _recovered(manifest: Manifest, moments: Moments) -> list[list[RecoveredColumn]]:
    """Return for each attack what it makes of each column."""
    size = len(manifest.columns)
    if moments.records < max(FEWEST_RECORDS, RECORDS_PER_COLUMN * size):
        return []
    noisy = moments.covariance[size:, size:]
    deviations = np.array([deviation(column) for column in manifest.columns])
    as_it_stands = Attack("none", np.eye(size)).errors(moments)
    attacks = linear_bayes(noisy, deviations), spectral(noisy, deviations, moments.records)
    made = [
        *((attack.name, attack.errors(moments)) for attack in attacks),
        (BEST_LINEAR, best_errors(moments)),
    ]
    return [
        [
            RecoveredColumn(name, float(error), float(own), min(float(WIDTH_95 * error), 1.0))
            for error, own in zip(errors, as_it_stands, strict=True)
        ]
        for name, errors in made
    ]


def _related(manifest: Manifest, moments: Moments) -> Iterator[RelatedColumns]:
    """Yield columns whose true values go together, the closest first."""
    if moments.records < FEWEST_RECORDS:
        return
    size = len(manifest.columns)
    between = correlations(moments.covariance[:size, :size])
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    for i, j in sorted(pairs, key=lambda pair: -abs(between[pair])):
        if abs(between[i, j]) > GO_TOGETHER:
            first, second = manifest.columns[i].name, manifest.columns[j].name
            yield RelatedColumns(first, second, float(between[i, j]))
