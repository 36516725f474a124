"""Impurity of the branches of a split, in records: n_b * I(b), summed over branches (Zhu & Du 2010, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.facts.rows import Grouping, SplitFamily
from treewarden.ppdm_models.arrays import FloatArray, grouped
from treewarden.ppdm_models.tree.tree import Criterion

# The first two functions are the whole of the arithmetic. ``masses`` (..., m) are records per class of a branch.


def branch_impurity(criterion: Criterion, masses: FloatArray) -> FloatArray:
    """Return n_b * I(b) of each branch, shape (...): gini, or entropy in nats (also for the gain ratio)."""
    total = masses.sum(axis=-1, keepdims=True)
    if criterion is Criterion.GINI:
        squares = np.divide(masses**2, total, out=np.zeros_like(masses), where=total > 0)
        return np.asarray(total[..., 0] - squares.sum(axis=-1))
    share = np.divide(masses, total, out=np.ones_like(masses), where=(total > 0) & (masses > 0))
    return np.asarray(-(masses * np.log(share)).sum(axis=-1))


def split_information(records: FloatArray) -> FloatArray:
    """Return the entropy of the branch sizes, in nats; ``records`` has shape (..., branches) (Quinlan 1993)."""
    total = records.sum(axis=-1, keepdims=True)
    share = np.divide(records, total, out=np.ones_like(records), where=records > 0)
    return np.asarray(-(records / total * np.log(share)).sum(axis=-1))


def by_bin(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return the masses in each bin of the family's attribute at its node, shape (B, m)."""
    return grouped(family.bins, _inside(family, mass), len(family.bin_names))


def by_child(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return the masses in each branch of the split that was chosen, shape (branches, m)."""
    return grouped(family.chosen, _inside(family, mass), int(family.chosen.max()) + 1)


def _inside(family: SplitFamily, mass: FloatArray) -> FloatArray:
    here = mass.take(family.profiles, axis=0)
    return here if family.weights is None else here * family.weights[:, None]


def candidate_branches(family: SplitFamily, bins: FloatArray) -> FloatArray:
    """Return the masses in the branches of every admissible candidate, shape (A, branches, m)."""
    if family.grouping is Grouping.MULTIWAY:
        return bins[None]
    if family.grouping is Grouping.THRESHOLD:
        left = np.cumsum(bins, axis=0)[family.admissible]
    elif family.grouping is Grouping.ONE_AGAINST_REST:
        left = bins[family.admissible]
    else:
        inside = (family.admissible[:, None] >> np.arange(len(bins))) & 1
        left = inside @ bins
    return np.stack([left, bins.sum(axis=0) - left], axis=1)


def excess(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return by how much each admissible candidate beats the chosen split, per record of the node, shape (A,).

    Positive means that the row is violated. For gini and entropy this is E(chosen) - E(candidate). For the gain ratio,
    gain(chosen) / SI(chosen) >= gain(candidate) / SI(candidate) is multiplied by SI(candidate): with
    a = SI(candidate) / SI(chosen) the excess is a * E(chosen) - E(candidate) + (1 - a) * I(node).
    """
    here = _inside(family, mass)
    children = grouped(family.chosen, here, int(family.chosen.max()) + 1)
    bins = grouped(family.bins, here, len(family.bin_names))
    branches = candidate_branches(family, np.maximum(bins, 0.0))
    records = float(bins.sum())
    chosen = branch_impurity(family.criterion, np.maximum(children, 0.0)).sum()
    candidate = branch_impurity(family.criterion, np.maximum(branches, 0.0)).sum(axis=-1)
    ratio = ratios(family, children, branches)
    node = branch_impurity(family.criterion, np.maximum(bins.sum(axis=0), 0.0))
    return np.asarray((ratio * chosen - candidate + (1 - ratio) * node) / records)


def ratios(family: SplitFamily, children: FloatArray, branches: FloatArray) -> FloatArray:
    """Return a = SI(candidate) / SI(chosen) of each candidate, shape (A,); 1 unless the gain ratio decides."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return np.ones(len(branches))
    of_chosen = split_information(children.sum(axis=-1))
    return np.asarray(split_information(branches.sum(axis=-1)) / of_chosen)


def ratio_at(family: SplitFamily, position: int, counts: FloatArray) -> float:
    """Return the ratio of one candidate; it depends on the profiles' records ``counts`` (P,) alone."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return 1.0
    records = counts[:, None]
    split_family = replace(family, admissible=family.admissible[[position]])
    branches = candidate_branches(split_family, by_bin(split_family, records))
    return float(ratios(split_family, by_child(split_family, records), branches)[0])


# How far candidate splits beat the chosen one, for many families at once: those of one node share nearly all work.
#
# The arithmetic is that of ``excess``, over an array with one more axis.

MOST_CELLS = 2**20
"""The most bins times classes, or families times their profiles, that are looked at together."""
MANY_PROFILES = 2_000
"""From here on one family after the other is quicker than all in one array."""
TOGETHER = (Grouping.THRESHOLD, Grouping.ONE_AGAINST_REST)
_Families = list[tuple[int, SplitFamily]]
"""Families with their numbers."""


def excesses(
    families: Iterable[tuple[int, SplitFamily]], mass: FloatArray
) -> Iterator[tuple[int, FloatArray]]:
    """Yield for each family, in any order, its number and what ``excess`` returns of it."""
    nodes: dict[tuple[object, ...], _Families] = {}
    for number, family in families:
        if family.weights is not None or family.grouping not in TOGETHER:
            yield number, excess(family, mass)
            continue
        # Families of one node share the arrays that say who passes it and where to.
        who = id(family.profiles), id(family.chosen)
        nodes.setdefault((*who, family.grouping, family.criterion), []).append((number, family))
    for some in _of_one_kind(nodes.values()):
        numbered_families = []
        for found in some:
            at = _node(found[0][1], mass)
            numbered_families += [_NumberedFamily(number, family, at) for number, family in found]
        for part in _parts(numbered_families, mass.shape[1]):
            yield from zip(
                [numbered_family.number for numbered_family in part], _together(part), strict=True
            )


def _of_one_kind(nodes: Iterable[_Families]) -> Iterator[list[_Families]]:
    """Yield nodes with one grouping and criterion, few enough that their masses need little room; large ones alone."""
    waiting: dict[tuple[object, ...], list[_Families]] = {}
    sizes: dict[tuple[object, ...], int] = {}
    for node in nodes:
        first = node[0][1]
        size = len(first.profiles) * len(node)
        if len(first.profiles) >= MANY_PROFILES:
            yield [node]
            continue
        kind = first.grouping, first.criterion
        if kind in waiting and sizes[kind] + size > MOST_CELLS:
            yield waiting.pop(kind)
            sizes[kind] = 0
        waiting.setdefault(kind, []).append(node)
        sizes[kind] = sizes.get(kind, 0) + size
    yield from waiting.values()


@dataclass(frozen=True, slots=True)
class _NodeMasses:
    """What families of one node share: its profiles' masses (K, m) and their sum, and how it was split.

    Masses are kept class by class, as they are read. ``chosen`` is the impurity of the chosen branches, and
    ``information`` that of their sizes.
    """

    mass: FloatArray
    records: float
    chosen: float
    information: float


@dataclass(frozen=True, slots=True)
class _NumberedFamily:
    """A family with its number and its node."""

    number: int
    family: SplitFamily
    at: _NodeMasses


def _node(family: SplitFamily, mass: FloatArray) -> _NodeMasses:
    here = mass.take(family.profiles, axis=0)
    by_class = np.asfortranarray(here)
    children = grouped(family.chosen, by_class, int(family.chosen.max()) + 1)
    chosen = branch_impurity(family.criterion, np.maximum(children, 0.0)).sum()
    is_ratio = family.criterion is Criterion.GAIN_RATIO
    information = float(split_information(children.sum(axis=-1))) if is_ratio else 1.0
    return _NodeMasses(by_class, float(here.sum()), float(chosen), information)


def _parts(families: list[_NumberedFamily], classes: int) -> Iterator[list[_NumberedFamily]]:
    """Yield families by the number of their bins, so that little is looked at in vain, and never too many."""
    part: list[_NumberedFamily] = []
    profiles = 0
    for numbered_family in sorted(families, key=lambda family: len(family.family.bin_names)):
        width, here = len(numbered_family.family.bin_names), len(numbered_family.family.bins)
        is_much = max((len(part) + 1) * width * classes, profiles + here) > MOST_CELLS
        if part and (is_much or width > 2 * len(part[0].family.bin_names)):
            yield part
            part, profiles = [], 0
        part.append(numbered_family)
        profiles += here
    if part:
        yield part


def _together(families: Sequence[_NumberedFamily]) -> list[FloatArray]:
    """Return the excess of families that have a grouping and a criterion in common."""
    first, width = (
        families[0].family,
        max(len(numbered_family.family.bin_names) for numbered_family in families),
    )
    bins = np.maximum(_by_bin(families, width), 0.0)
    left = np.cumsum(bins, axis=1) if first.grouping is Grouping.THRESHOLD else bins
    total = bins.sum(axis=1)[:, None]
    branches = np.stack([left, total - left], axis=2)
    candidate = branch_impurity(first.criterion, np.maximum(branches, 0.0)).sum(axis=-1)
    records, chosen, information = (
        np.array([getattr(numbered_family.at, name) for numbered_family in families])[:, None]
        for name in ("records", "chosen", "information")
    )
    ratio = np.ones_like(candidate)
    if first.criterion is Criterion.GAIN_RATIO:
        ratio = split_information(branches.sum(axis=-1)) / information
    node = branch_impurity(first.criterion, total)
    over = (ratio * chosen - candidate + (1 - ratio) * node) / records
    return [
        row[numbered_family.family.admissible]
        for row, numbered_family in zip(over, families, strict=True)
    ]


def _by_bin(families: Sequence[_NumberedFamily], width: int) -> FloatArray:
    """Return the masses in each bin of each family, (F, B, m), of its own profiles; bins that one lacks are empty."""
    if len(families[0].at.mass) >= MANY_PROFILES:
        return np.stack(
            [
                grouped(numbered_family.family.bins, numbered_family.at.mass, width)
                for numbered_family in families
            ]
        )
    count = len(families)
    place = np.concatenate(
        [numbered_family.family.bins + width * at for at, numbered_family in enumerate(families)]
    )
    mass = np.concatenate([numbered_family.at.mass for numbered_family in families])
    columns = [np.bincount(place, column, minlength=count * width) for column in mass.T]
    return np.stack(columns, axis=1).astype(np.float64).reshape(count, width, mass.shape[1])
