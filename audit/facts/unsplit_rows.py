"""Rows that no candidate at a leaf gains more than a known amount, where the leaf's class counts are known.

With two classes what a split gains is convex in the count of the first class on its left, so that this is an interval.
With more classes, or too many candidates, all is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.impurity import by_bin, candidate_branches
from treewarden.audit.facts.rows import (
    Grouping,
    LeftOut,
    Linear,
    Origin,
    SplitFamily,
    WholeRecords,
    branch_of_bins,
)
from treewarden.audit.facts.stopped_leaves import decrease
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Node

MOST_CELLS = 200_000
"""The most cells of rows, or counts that are tried, at one leaf; beyond that all is left open there."""
SLACK = 1e-9
"""How far the learner's floating point may be from what is computed here, in decrease of impurity."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """No split of ``records`` people in all, of which a leaf has ``masses`` (m,), gains more than ``most``."""

    masses: FloatArray
    most: float
    records: float


def unsplit_rows(
    case: Case,
    node: Node,
    found: tuple[SplitFamily | LeftOut, ...],
    masses: FloatArray,
    most: float,
    records: float,
    why: str,
) -> Iterator[WholeRecords | LeftOut]:
    """Yield that no candidate at a leaf gains more than ``most``; what may have been compared is left out."""
    bound = _Bound(masses, most, records)
    families = [each for each in found if isinstance(each, SplitFamily)]
    cells = sum(len(each.admissible) * (len(each.profiles) + masses.sum()) for each in families)
    is_plain = all(each.grouping is Grouping.THRESHOLD for each in families)
    if cells > MOST_CELLS or not is_plain or len(families) < len(found) or len(masses) != 2:
        yield LeftOut(node.index, "", why, is_open=True)
        return
    said = f"{case.tree.where(node)} was not split, so that no split gains more than {most:.6g}"
    origin = Origin("stopped_leaf", said, node.index)
    narrow = []
    for family in families:
        counts = case.population.counts[family.profiles]
        for code in family.admissible.tolist():
            on_left = branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins] == 0
            count = _reachable(float(counts[on_left].sum()), masses)
            gains = _gains(family, count, float(counts[on_left].sum()), bound)
            wide, strict = gains <= most + SLACK, gains <= most - SLACK
            if wide.all() and strict.all():
                continue
            here = family.profiles[on_left]
            if not strict.any():
                yield LeftOut(node.index, "", why, is_open=True)
                return
            if not wide.all():
                yield WholeRecords(_row(here, count, wide, origin))
            if (strict != wide).any():
                narrow.append(_row(here, count, strict, origin))
    if narrow:
        yield LeftOut(node.index, "", why, lines=tuple(narrow))


def gains_more(
    case: Case, found: tuple[SplitFamily | LeftOut, ...], most: float, records: float
) -> bool:
    """Whether a candidate that was compared gains more than ``most`` in the true table, as far as that is known."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    families = (each for each in found if isinstance(each, SplitFamily))
    gains = (
        decrease(each.criterion, candidate_branches(each, by_bin(each, truth)), records)
        for each in families
    )
    return any(gain.max() > most + SLACK for gain in gains)


def _reachable(left: float, masses: FloatArray) -> FloatArray:
    """Return the counts of the first class that so many people on the left can have."""
    least = max(0.0, left - masses[1])
    return np.arange(least, min(left, masses[0]) + 1)


def _gains(family: SplitFamily, count: FloatArray, left: float, bound: _Bound) -> FloatArray:
    one = np.stack([count, left - count], axis=1)
    parts = np.stack([one, bound.masses - one], axis=1)
    return decrease(family.criterion, parts, bound.records)


def _row(profiles: IndexArray, count: FloatArray, allowed: BoolArray, origin: Origin) -> Linear:
    low, high = count[allowed][[0, -1]].tolist()
    classes, ones = np.zeros(len(profiles), dtype=np.intp), np.ones(len(profiles))
    return Linear(profiles, classes, ones, low, high, origin)
