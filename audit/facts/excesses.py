"""How far candidate splits beat the chosen ones, of many families at once: those of one node share nearly all work.

The arithmetic is that of ``audit.facts.impurity.excess``, over an array with one more axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from audit.facts.impurity import branch_impurity, excess, grouped, split_information
from audit.facts.rows import Grouping, SplitFamily
from ppdm_models.arrays import FloatArray
from ppdm_models.tree.tree import Criterion

MOST_CELLS = 2**20
"""The most bins times classes that are looked at together."""
MANY_PROFILES = 2_000
"""From here on one family after the other is quicker than all in one array."""
TOGETHER = (Grouping.THRESHOLD, Grouping.ONE_AGAINST_REST)


def excesses(
    families: Iterable[tuple[int, SplitFamily]], mass: FloatArray
) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each family, in any order, its number and what ``excess`` returns of it."""
    nodes: dict[tuple[object, ...], list[tuple[int, SplitFamily]]] = {}
    for number, family in families:
        if family.weights is not None or family.grouping not in TOGETHER:
            yield number, excess(family, mass)
            continue
        # Families of one node share the arrays that say who passes it and where to.
        who = id(family.profiles), id(family.chosen)
        nodes.setdefault((*who, family.grouping, family.criterion), []).append((number, family))
    for found in nodes.values():
        node = _node(found[0][1], mass)
        for part in _parts(found, mass.shape[1]):
            numbers, alike = zip(*part, strict=True)
            yield from zip(numbers, _together(alike, node), strict=True)


@dataclass(frozen=True, slots=True)
class _Node:
    """What families of one node share: its profiles' masses (K, m), their sum, and the chosen branches'.

    Masses are kept class by class, as they are read.
    """

    mass: FloatArray
    records: float
    children: FloatArray


def _node(family: SplitFamily, mass: FloatArray) -> _Node:
    here = mass.take(family.profiles, axis=0)
    by_class = np.asfortranarray(here)
    children = grouped(family.chosen, by_class, int(family.chosen.max()) + 1)
    return _Node(by_class, float(here.sum()), children)


def _parts(
    found: list[tuple[int, SplitFamily]], classes: int
) -> Iterator[list[tuple[int, SplitFamily]]]:
    """Yield families by the number of their bins, so that little is looked at in vain, and never too many."""
    found = sorted(found, key=lambda one: len(one[1].bin_names))
    part: list[tuple[int, SplitFamily]] = []
    for one in found:
        width = len(one[1].bin_names)
        is_much = (len(part) + 1) * max(width * classes, len(one[1].bins)) > MOST_CELLS
        if part and (is_much or width > 2 * len(part[0][1].bin_names)):
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def _together(families: Sequence[SplitFamily], at: _Node) -> list[FloatArray]:
    """Return the excess of families that have a node, a grouping and a criterion in common."""
    first, width = families[0], max(len(one.bin_names) for one in families)
    bins = np.maximum(_by_bin(families, width, at.mass), 0.0)
    left = np.cumsum(bins, axis=1) if first.grouping is Grouping.THRESHOLD else bins
    total = bins.sum(axis=1)[:, None]
    branches = np.stack([left, total - left], axis=2)
    children = at.children
    chosen = branch_impurity(first.criterion, np.maximum(children, 0.0)).sum()
    candidate = branch_impurity(first.criterion, np.maximum(branches, 0.0)).sum(axis=-1)
    ratio = np.ones_like(candidate)
    if first.criterion is Criterion.GAIN_RATIO:
        ratio = split_information(branches.sum(axis=-1)) / split_information(children.sum(axis=-1))
    node = branch_impurity(first.criterion, total)
    over = (ratio * chosen - candidate + (1 - ratio) * node) / at.records
    return [row[one.admissible] for row, one in zip(over, families, strict=True)]


def _by_bin(families: Sequence[SplitFamily], width: int, here: FloatArray) -> FloatArray:
    """Return the masses in each bin of each family, (F, B, m), of a node's profiles; bins that one lacks are empty."""
    if len(here) >= MANY_PROFILES:
        return np.stack([grouped(one.bins, here, width) for one in families])
    count = len(families)
    place = np.concatenate([one.bins + number * width for number, one in enumerate(families)])
    columns = [
        np.bincount(place, np.tile(column, count), minlength=count * width) for column in here.T
    ]
    return np.stack(columns, axis=1).astype(np.float64).reshape(count, width, here.shape[1])
