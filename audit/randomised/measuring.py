"""From what its owner knows of a randomised table to all that it gives away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
from treewarden.ppdm_models.methods.randomised.intervals import Intervals
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Gaussian
from treewarden.ppdm_models.methods.randomised.residual_privacy import left, seen

if TYPE_CHECKING:
    from treewarden.ppdm_models.methods.randomised.manifest import Hidden
    from treewarden.ppdm_models.methods.randomised.residual_privacy import (
        JointIntervals,
        ResidualPrivacy,
    )


# All that is known of a randomised table when it is judged.


@dataclass(frozen=True, slots=True)
class RecoveredColumn:
    """What an attack makes of one column, in shares of the domain's width.

    ``error`` is the root mean square distance of its estimates to the true values, ``noise`` the same of the noisy
    values as they stand; ``width`` the 95 % interval that the attacker is left with: 3.92 times the error, and no more
    than the domain.
    """

    attack: str
    error: float
    noise: float
    width: float


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """One column: how it is hidden, what is left by itself, and what each attack makes of it beside the others.

    ``seen`` is how likely each true and each noisy value are together. ``missing`` records have no value there.
    """

    said: Hidden
    seen: JointIntervals
    left: ResidualPrivacy
    recovered: tuple[RecoveredColumn, ...]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class RelatedColumns:
    """Two hidden columns whose true values go together, and how much: their correlation."""

    first: str
    second: str
    correlation: float


@dataclass(frozen=True, slots=True)
class Randomisation:
    """What a randomised table gives away, by what its owner knows: the true values and the noise.

    ``clear`` are columns that are published as they are, though nobody said that they are ``harmless``; what they give
    away cannot be told. ``label`` is the class of each record, in clear as well ("" where there is none): all that is
    said to be left is so once the class is known. Where ``has_too_many_classes``, that could not be reckoned with.
    """

    source: str
    records: int
    columns: tuple[HiddenColumn, ...]
    related: tuple[RelatedColumns, ...] = ()
    clear: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    label: str = ""
    has_too_many_classes: bool = False


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
    interval: shape (intervals,) or (classes, intervals). ``moments`` are those of the
    hidden columns in the manifest's order, ``missing`` how many records have no value. Where fewer than 30 records are
    complete, or than 10 for each column, no attack is told of.
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
        manifest.file,
        manifest.records,
        tuple(columns),
        tuple(_related(manifest, moments)),
        manifest.clear,
        manifest.harmless,
        manifest.label,
        has_too_many_classes,
    )


def deviation(said: Hidden) -> float:
    """Return the standard deviation of a column's noise, as a share of its domain; 0 of classes, which have none."""
    hiding, width = said.hiding, said.high - said.low
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
