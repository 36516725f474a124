"""What a party knows of the nodes: in one of two modes, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

# What one party brings: its own columns, coded, and the class where it holds that.

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartyAttribute:
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

    attributes: tuple[PartyAttribute, ...]
    classes: Codes | None = None

    def of(self, names: Collection[str], *, holds_class: bool) -> Holding:
        """Return the part of it that a party has who holds only some attributes, and the class or not."""
        party_attributes = tuple(
            attribute for attribute in self.attributes if attribute.name in names
        )
        return Holding(party_attributes, self.classes if holds_class else None)


def crossed(codes: Codes, categories: int, classes: Codes, class_count: int) -> Codes:
    """Return how many records have each category and class; shape (categories, classes)."""
    cells = np.bincount(codes * class_count + classes, minlength=categories * class_count)
    return cells.reshape(categories, class_count)


Kept = TypeVar("Kept")


class View(ABC):
    """The records of nodes as one party sees them. Nodes are visited depth first; what is behind is forgotten.

    ``blocks`` counts the cells of others that it has seen as unnamed blocks.
    """

    blocks: int = 0

    @abstractmethod
    async def begin(self) -> None:
        """Do what comes before the root."""

    @abstractmethod
    async def offer_sums(self, node: int) -> None:
        """Give the miner what the token's holder needs to know the class totals of a node."""

    @abstractmethod
    def totals(self, node: int, offered: bytes) -> Codes:
        """Return the class totals of a node, shape (classes,); ``offered`` is what all parties gave for it."""

    @abstractmethod
    async def counts(self, node: int) -> Sequence[Codes]:
        """Return for each own attribute the records of each category and class."""

    @abstractmethod
    async def part(self, node: int, first: int, slots: int, branches: Codes | None) -> None:
        """Make the nodes below a node, ``first`` and those after it; ``branches`` are codes of the winner alone."""


class Stack(Generic[Kept]):
    """What is kept of the nodes that are still to be visited, the next one on top."""

    def __init__(self, root: Kept) -> None:
        self._nodes: list[tuple[int, Kept]] = [(0, root)]

    def at(self, node: int) -> Kept:
        """Return what is kept of a node; those that lie above it are behind, and forgotten.

        Raises:
            LookupError: there is no such node, or it is behind.
        """
        while self._nodes and self._nodes[-1][0] != node:
            self._nodes.pop()
        if not self._nodes:
            raise LookupError(f"node {node} is not there, or behind")
        return self._nodes[-1][1]

    def part(self, node: int, first: int, below: Sequence[Kept]) -> None:
        """Replace a node by those below it."""
        self.at(node)
        self._nodes.pop()
        self._nodes += reversed(list(enumerate(below, start=first)))


# The tree as the miner knows it: who decides at each node, and by which of its own nodes; no attribute, no value.

LEAF = -1


@dataclass(frozen=True, slots=True)
class SkeletonNode:
    """A node of the skeleton: the ``owner`` decides as at its node number ``serial``; a leaf has no owner but a label.

    ``children`` are numbers of places, in the order of the owner's branches.
    """

    owner: int = LEAF
    serial: int = 0
    children: tuple[int, ...] = ()
    label: int = LEAF

    @property
    def is_leaf(self) -> bool:
        """Whether records stop here."""
        return self.owner == LEAF


@dataclass(frozen=True, slots=True)
class Skeleton:
    """All places, the root first, each before those below it."""

    places: tuple[SkeletonNode, ...]

    @property
    def inner(self) -> int:
        """How many places are no leaves."""
        return sum(not place.is_leaf for place in self.places)

    @property
    def leaves(self) -> int:
        """How many places are leaves."""
        return len(self.places) - self.inner

    @property
    def depth(self) -> int:
        """The largest number of tests on a path."""
        above, found = {0: 0}, 0
        for number, place in enumerate(self.places):
            found = max(found, above[number])
            above |= dict.fromkeys(place.children, above[number] + 1)
        return found


@dataclass(frozen=True, slots=True)
class WholeTree:
    """A tree in full: for each place the number of its attribute in the joined table, or ``LEAF``, and the skeleton."""

    attributes: tuple[int, ...]
    skeleton: Skeleton
