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

from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.full_domain.groups import Figures, Requirement, figures
from treewarden.ppdm_models.full_domain.levels import Ladder
from treewarden.ppdm_models.tree.column import CategoricalColumn

Levels = tuple[int, ...]

MOST_COMBINATIONS = 5_000_000
"""The most combinations of levels that are searched; an array holds one flag for each."""


@dataclass(frozen=True, slots=True)
class Generalised:
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


def generalise(lattice: Lattice, wanted: Requirement) -> Generalised | None:
    """Return the levels that meet a requirement at the least discernibility, the sum of squared group sizes.

    Of equals those with the smallest sum of levels, then the smallest levels in order. None where even the highest
    levels fail.
    """
    search = _Search(lattice, wanted)
    places = range(len(lattice.shape))
    for size in sorted({min(1, len(places)), min(2, len(places)), len(places)}):
        for free in combinations(places, size):
            search.settle(free)
    if search.best is None:
        return None
    levels = search.best[2]
    return Generalised(levels, lattice.figures(levels), search.checked, math.prod(lattice.shape))


class _Search:
    """Which combinations are not settled yet, and the best that was found."""

    def __init__(self, lattice: Lattice, wanted: Requirement) -> None:
        self.lattice, self.wanted = lattice, wanted
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
