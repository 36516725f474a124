"""What is demanded of the groups of a generalised table, and the few whole numbers that decide whether it is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.records.diversity import (
    crowding,
    is_anonymous,
    is_diverse,
    is_recursively_diverse,
    ranked,
)

FEW_CELLS = 8
"""Groups are counted in place where there are no more possible ones than so many times the records; else sorted."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What groups come to. ``worst`` holds for l = 1, 2, ..., m the group where d_1 is largest beside d_l + ... + d_m.

    d_1 >= d_2 >= ... are a group's records per sensitive value; an entry of ``worst`` is (d_1, that sum).
    """

    groups: int
    smallest: int
    discernibility: int
    worst: tuple[tuple[int, int], ...]

    @property
    def largest_share(self) -> float:
        """The share of the most frequent sensitive value, in the group where it is largest."""
        top, size = self.worst[0]
        return top / size


@dataclass(frozen=True, slots=True)
class Requirement:
    """Every group holds ``k`` records or more, and is diverse where ``l`` is given.

    With ``c``: recursively (c, l)-diverse, d_1 < c (d_l + ... + d_m). Without: the most frequent sensitive value has
    less than 1/l of the records. All of it stays met when groups are merged
    (``treewarden.ppdm_models.records.diversity``).
    """

    k: int = 1
    l: float | None = None  # noqa: E741  # the name the notion has
    c: float | None = None

    def __post_init__(self) -> None:
        if self.c is not None and (self.l is None or self.l != int(self.l) or self.l < 1):
            raise ValueError(f"(c, l)-diversity needs a whole l of 1 or more, not {self.l}")

    def meets(self, found: Figures) -> bool:
        """Return whether groups with these figures are as demanded."""
        if not is_anonymous(found.smallest, self.k):
            return False
        if self.l is None:
            return True
        if self.c is None:
            return bool(is_diverse(*found.worst[0], self.l))
        if self.l > len(found.worst):
            return False
        return bool(is_recursively_diverse(*found.worst[int(self.l) - 1], self.c))


def figures(
    codes: Sequence[IntArray], sensitive: IntArray, classes: int, counts: IntArray | None = None
) -> Figures:
    """Return what the groups of N rows come to that no attribute tells apart; every array has shape (N,).

    ``counts`` are how many records each row stands for; None: one.
    """
    group = grouped(codes, len(sensitive))
    count = int(group.max()) + 1
    # Sums of whole numbers, which are exact in floats of 64 bits as far as tables go.
    cells = np.bincount(group * classes + sensitive, counts, minlength=count * classes)
    by_class = cells.astype(np.int64).reshape(count, classes)
    top, tails = ranked(by_class)
    sizes = tails[:, 0]
    return Figures(
        len(sizes),
        int(sizes.min()),
        int((sizes.astype(np.int64) ** 2).sum()),
        tuple(_worst(top, tails[:, rank]) for rank in range(classes)),
    )


def grouped(codes: Sequence[IntArray], size: int) -> IntArray:
    """Return each record's group, numbered from 0."""
    group = np.zeros(size, dtype=np.int64)
    reach = 1
    for own in codes:
        width = int(own.max()) + 1
        if reach * width > FEW_CELLS * size:
            group = _renumbered(group, reach)
            reach = int(group.max()) + 1
        group = group * width + own
        reach *= width
    return _renumbered(group, reach)


def _renumbered(group: IntArray, reach: int) -> IntArray:
    """Return the numbers of groups below ``reach`` without gaps, in the same order."""
    if reach > FEW_CELLS * len(group):
        return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    there = np.bincount(group, minlength=reach) > 0
    return np.asarray((np.cumsum(there) - 1)[group])


def _worst(top: IntArray, tail: IntArray) -> tuple[int, int]:
    """Return the pair with the largest top / tail, infinite where the tail is empty."""
    place = int(np.argmax(crowding(top, tail)))
    return int(top[place]), int(tail[place])
