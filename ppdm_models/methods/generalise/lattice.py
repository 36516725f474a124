"""Full-domain generalisation: every attribute as a whole to one level, as little as a demand on the groups allows.

The lattice of levels is searched as in Incognito (LeFevre, DeWitt & Ramakrishnan 2005). A demand here stays met under
further generalisation, so one node that fails rules out all below it, and one that passes settles all above. Attributes
alone and in pairs come first, the others at their highest level, which is to leave them out: a table that fails on some
of its attributes fails on more of them. No record is suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray, IntArray
from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.tables.diversity import (
    crowding,
    is_anonymous,
    is_diverse,
    is_recursively_diverse,
    ranked,
)
from treewarden.ppdm_models.tables.taxonomy import (
    EVERYTHING,
    Categories,
    IntervalHierarchy,
    Taxonomy,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text

# Requirements on the groups of a generalised table, and the few whole numbers that decide whether they are met.

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
    (``treewarden.ppdm_models.tables.diversity``).
    """

    k: int = 1
    l: float | None = None  # noqa: E741  # the name the notion has
    c: float | None = None

    def __post_init__(self) -> None:
        if self.c is not None and (self.l is None or self.l != int(self.l) or self.l < 1):
            raise ValueError(f"(c, l)-diversity needs a whole l of 1 or more, not {self.l}")

    def meets(self, figures: Figures) -> bool:
        """Return whether groups with these figures are as demanded."""
        if not is_anonymous(figures.smallest, self.k):
            return False
        if self.l is None:
            return True
        if self.c is None:
            return bool(is_diverse(*figures.worst[0], self.l))
        if self.l > len(figures.worst):
            return False
        return bool(is_recursively_diverse(*figures.worst[int(self.l) - 1], self.c))


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
    for code in codes:
        width = int(code.max()) + 1
        if reach * width > FEW_CELLS * size:
            group = _renumbered(group, reach)
            reach = int(group.max()) + 1
        group = group * width + code
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


# One attribute of a table on every level of its hierarchy: which values can still be told apart.


@dataclass(frozen=True, slots=True)
class Ladder:
    """An attribute on levels 0, its own values, to ``height``.

    ``codes`` hold for each level where each record falls, shape (N,); ``labels`` what each code is called. With
    ``places`` they are of the attribute's different values, and those say which one each of N rows has.
    """

    name: str
    codes: tuple[IntArray, ...]
    labels: tuple[tuple[str, ...], ...]
    places: IndexArray | None = None

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.labels) - 1

    def at(self, level: int) -> IntArray:
        """Return where each row falls on a level, shape (N,)."""
        codes = self.codes[level]
        return codes if self.places is None else np.asarray(codes[self.places])

    def column(self, level: int) -> CategoricalColumn:
        """Return the attribute generalised to a level."""
        return CategoricalColumn(codes=self.at(level), categories=self.labels[level])

    def take(self, rows: IndexArray) -> Ladder:
        """Return the attribute of some of the records."""
        if self.places is not None:
            return self.placed(self.places[rows])
        return Ladder(self.name, tuple(codes[rows] for codes in self.codes), self.labels)

    def placed(self, places: IndexArray) -> Ladder:
        """Return the attribute of rows that have its different values in some places."""
        return Ladder(self.name, self.codes, self.labels, places)


def ladder(name: str, column: Column, taxonomy: Taxonomy | None = None) -> Ladder:
    """Return an attribute on the levels of its hierarchy; without one it is kept (level 0) or all made one (level 1).

    The column must lack no value, and the hierarchy be of its kind.

    Raises:
        TaxonomyError: the hierarchy lacks a value.
    """
    if column.missing.any():
        raise ValueError(f"column {name!r} lacks a value")
    places, levels = (
        _numbers(column, taxonomy)
        if isinstance(column, NumericColumn)
        else _names(column, taxonomy)
    )
    codes, labels = [], []
    for level in levels:
        known = {label: code for code, label in enumerate(dict.fromkeys(level))}
        codes.append(np.array([known[label] for label in level], dtype=np.int64)[places])
        labels.append(tuple(known))
    return Ladder(name, tuple(codes), tuple(labels))


def _numbers(
    column: NumericColumn, taxonomy: Taxonomy | None
) -> tuple[IndexArray, list[list[str]]]:
    distinct, places = np.unique(column.numbers, return_inverse=True)
    values = [float(value) for value in distinct]
    if isinstance(taxonomy, IntervalHierarchy):
        heights = range(taxonomy.height + 1)
        return places, [[taxonomy.label(value, level) for value in values] for level in heights]
    if taxonomy is not None:
        raise ValueError(
            f"column {taxonomy.attribute!r} contains numbers, but its hierarchy is for categories; "
            "give a hierarchy of ranges"
        )
    return places, [[number_text(value) for value in values], [EVERYTHING] * len(values)]


def _names(
    column: CategoricalColumn, taxonomy: Taxonomy | None
) -> tuple[IndexArray, list[list[str]]]:
    used, places = np.unique(column.codes, return_inverse=True)
    values = [column.categories[code] for code in used]
    if isinstance(taxonomy, Categories):
        heights = range(taxonomy.height + 1)
        return places, [[taxonomy.label(value, level) for value in values] for level in heights]
    if taxonomy is not None:
        raise ValueError(f"{taxonomy.attribute!r} holds categories, its hierarchy intervals")
    return places, [values, [EVERYTHING] * len(values)]


Levels = tuple[int, ...]

MOST_COMBINATIONS = 5_000_000
"""The most combinations of levels that are searched; an array holds one flag for each."""


@dataclass(frozen=True, slots=True)
class GeneralisedTable:
    """The levels chosen, one per attribute, what the groups come to, and how many combinations were looked at."""

    levels: Levels
    figures: Figures
    checked: int
    combinations: int


@dataclass(frozen=True, slots=True)
class Lattice:
    """All combinations of levels of one table; remembers what it has counted, for other requirements.

    ``sensitive`` holds codes of categories and lacks no value. ``counts`` are how many records each row of the table
    stands for, shape (N,); None: one.

    Raises:
        TaxonomyError: there are too many combinations.
    """

    ladders: tuple[Ladder, ...]
    sensitive: CategoricalColumn
    counts: IntArray | None = None
    known: dict[Levels, Figures] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if math.prod(self.shape) > MOST_COMBINATIONS:
            problem = f"more than {MOST_COMBINATIONS:,} combinations of levels"
            raise TaxonomyError(
                "the hierarchies", f"{problem}; name fewer attributes or give fewer levels"
            )

    @property
    def shape(self) -> Levels:
        """How many levels each attribute has."""
        return tuple(each.height + 1 for each in self.ladders)

    def figures(self, levels: Levels) -> Figures:
        """Return what the groups come to on some levels."""
        if levels not in self.known:
            codes = [own.at(level) for own, level in zip(self.ladders, levels, strict=True)]
            classes = len(self.sensitive.categories)
            self.known[levels] = figures(codes, self.sensitive.codes, classes, self.counts)
        return self.known[levels]

    def columns(self, levels: Levels) -> dict[str, CategoricalColumn]:
        """Return the attributes on some levels."""
        return {
            own.name: own.column(level) for own, level in zip(self.ladders, levels, strict=True)
        }


def generalise(lattice: Lattice, requirement: Requirement) -> GeneralisedTable | None:
    """Return the levels that meet a requirement at the least discernibility, the sum of squared group sizes.

    Of equals those with the smallest sum of levels, then the smallest levels in order. None where even the highest
    levels fail.
    """
    search = _LatticeSearch(lattice, requirement)
    places = range(len(lattice.shape))
    for size in sorted({min(1, len(places)), min(2, len(places)), len(places)}):
        for free in combinations(places, size):
            search.settle(free)
    if search.best is None:
        return None
    levels = search.best[2]
    return GeneralisedTable(
        levels, lattice.figures(levels), search.checked, math.prod(lattice.shape)
    )


class _LatticeSearch:
    """Which combinations are not settled yet, and the best that was found."""

    def __init__(self, lattice: Lattice, requirement: Requirement) -> None:
        self.lattice, self.wanted = lattice, requirement
        self.open = np.ones(lattice.shape, dtype=bool)
        self.best: tuple[int, int, Levels] | None = None
        self.checked = 0

    def settle(self, free: Sequence[int]) -> None:
        """Settle every combination of the levels of some attributes, the others at their highest."""
        shape = self.lattice.shape
        part = tuple(shape[place] for place in free)
        view = self.open[tuple(slice(None) if i in free else -1 for i in range(len(shape)))]
        heights = sum(np.ogrid[tuple(slice(0, width) for width in part)], np.zeros((), np.int64))
        levels = [width - 1 for width in shape]
        for flat in np.argsort(heights, axis=None, kind="stable"):
            if view.flat[flat]:
                for place, level in zip(free, np.unravel_index(flat, part), strict=True):
                    levels[place] = int(level)
                self._bisect(self._chain(tuple(levels), free))

    def _chain(self, levels: Levels, free: Sequence[int]) -> list[Levels]:
        """Return unsettled combinations, each one level of one attribute above the one before."""
        chain, step = [], [levels]
        while step:
            here = step[0]
            chain.append(here)
            higher = (
                (*here[:i], here[i] + 1, *here[i + 1 :])
                for i in free
                if here[i] + 1 < self.lattice.shape[i]
            )
            step = [up for up in higher if self.open[up]][:1]
        return chain

    def _bisect(self, chain: list[Levels]) -> None:
        while chain:
            middle = len(chain) // 2
            half = chain[:middle] if self._passes(chain[middle]) else chain[middle + 1 :]
            chain = [levels for levels in half if self.open[levels]]

    def _passes(self, levels: Levels) -> bool:
        """Look at one combination, and settle those that it decides."""
        self.checked += 1
        found = self.lattice.figures(levels)
        above = tuple(slice(level, None) for level in levels)
        if self.wanted.meets(found):
            self.open[above] = False
            one = (found.discernibility, sum(levels), levels)
            self.best = one if self.best is None else min(self.best, one)
            return True
        self.open[tuple(slice(0, level + 1) for level in levels)] = False
        if self.best is not None and found.discernibility > self.best[0]:
            self.open[above] = False
        return False
