"""What one party brings: its own columns, coded, and the class where it holds that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column by name, its categories in order, and the code of each record; shape (records,).

    Where categories are bins of numbers, ``edges`` are what they lie between: the first one holds what is no larger
    than the first edge, the last of them what is larger than the last. ``missing`` is the code of cells that are not
    there, a category of their own, where there are such: the last one.
    """

    name: str
    categories: tuple[str, ...]
    codes: Codes
    edges: tuple[float, ...] | None = None
    missing: int | None = None

    def __post_init__(self) -> None:
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(self.categories):
            raise ValueError(f"attribute {self.name!r}: a code that is no category")


@dataclass(frozen=True, slots=True)
class Holding:
    """The columns of a party; ``classes`` are the class codes of all records where it holds the class, else None."""

    attributes: tuple[Attribute, ...]
    classes: Codes | None = None

    def of(self, names: Collection[str], *, holds_class: bool) -> Holding:
        """Return the part of it that a party has who holds only some attributes, and the class or not."""
        own = tuple(each for each in self.attributes if each.name in names)
        return Holding(own, self.classes if holds_class else None)


def crossed(codes: Codes, categories: int, classes: Codes, class_count: int) -> Codes:
    """Return how many records have each category and class; shape (categories, classes)."""
    cells = np.bincount(codes * class_count + classes, minlength=categories * class_count)
    return cells.reshape(categories, class_count)
