"""Value hierarchies: which values of an attribute may be told apart less, and how far, level by level."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.tree import Feature

EVERYTHING = "*"
"""The label of the highest level where a file gives it none of its own."""


@dataclass(frozen=True, slots=True)
class Categories:
    """A hierarchy of categories.

    ``paths`` give each value's label on every level: itself first, then what it falls under, the same for all at last.
    All are ``height`` + 1 long; a value with fewer levels above it stays itself for longer.
    """

    attribute: str
    paths: Mapping[str, tuple[str, ...]]
    source: str = "taxonomy"

    @property
    def height(self) -> int:
        """The highest level; level 0 is the values themselves."""
        return len(next(iter(self.paths.values()))) - 1

    def label(self, value: str, level: int) -> str:
        """Return what a value is called on a level.

        Raises:
            TaxonomyError: the hierarchy lacks the value.
        """
        if value not in self.paths:
            raise TaxonomyError(
                f"{self.source}: {self.attribute!r}", f"lacks the value {value!r}; add it"
            )
        return self.paths[value][level]


@dataclass(frozen=True, slots=True)
class Intervals:
    """A hierarchy of numeric intervals. ``cuts`` are those of each level from 1 up, each among those of the one below.

    An interval holds its lower cut and not its upper one; the highest level has no cuts.
    """

    attribute: str
    cuts: tuple[tuple[float, ...], ...]
    source: str = "taxonomy"

    @property
    def height(self) -> int:
        """The highest level; level 0 is the numbers themselves."""
        return len(self.cuts)

    def label(self, value: float, level: int) -> str:
        """Return what a number is called on a level: ``[20, 40)``, ``< 20``, ``≥ 60``."""
        if level == 0:
            return number_text(value)
        cuts = self.cuts[level - 1]
        place = bisect_right(cuts, value)
        if not cuts:
            return EVERYTHING
        if place == 0:
            return f"< {number_text(cuts[0])}"
        low = number_text(cuts[place - 1])
        return f"≥ {low}" if place == len(cuts) else f"[{low}, {number_text(cuts[place])})"

    def holds(self, low: float, high: float, level: int) -> int | None:
        """Return which interval of a level holds all numbers between two ends; None where a cut parts them."""
        cuts = self.cuts[level - 1]
        place = bisect_right(cuts, low)
        return place if place == len(cuts) or high <= cuts[place] else None


Taxonomy = Categories | Intervals
Taxonomies = Mapping[str, Taxonomy]


def fitting(taxonomies: Taxonomies, features: Iterable[Feature]) -> None:
    """Check that hierarchies speak of these attributes, and of every category that is declared.

    Raises:
        TaxonomyError: there is no such attribute, it is of the other kind, or a declared value is not in its hierarchy.
    """
    known = {feature.name: feature for feature in features}
    for name, taxonomy in taxonomies.items():
        where = f"{taxonomy.source}: {name!r}"
        if name not in known:
            have = ", ".join(map(repr, list(known)[:12]))
            raise TaxonomyError(where, f"no such column; have {have}")
        if isinstance(taxonomy, Intervals) != known[name].numeric:
            given, wanted = ("values", "cuts") if known[name].numeric else ("cuts", "values")
            raise TaxonomyError(where, f"gives {given}, but the column needs {wanted}")
        if isinstance(taxonomy, Categories):
            for value in known[name].values:
                taxonomy.label(value, 0)
