"""What a party knows of the nodes of a tree, in either mode, and what a session showed each side.

Plain ID3 on the joined table is here too: the parties' tree has to equal its tree, node by node. What a side was shown
is counted in messages by kind, counts, and records as unnamed blocks.

The paper reports "privacy" without a definition. Here it is one less the share of cells (record, attribute) that a
party does not hold and is shown as unnamed blocks: a split by another party's attribute tells which records have the
same value of it, not which value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.methods.vertical.messages import Log, MessageKind, role
from treewarden.ppdm_models.methods.vertical.session import Mode, Session, Stops, majority, score

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
            raise ValueError(f"attribute {self.name!r}: a code is not a category")


@dataclass(frozen=True, slots=True)
class Holding:
    """The columns of a party; ``classes`` are the class codes of all records where it holds the class, else None."""

    attributes: tuple[PartyAttribute, ...]
    classes: Codes | None = None

    def restrict_to(self, names: Collection[str], *, holds_class: bool) -> Holding:
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


def plain_id3(
    attributes: Sequence[PartyAttribute], classes: Codes, class_count: int, stops: Stops
) -> WholeTree:
    """Return the tree; places have no owners' numbers here, all belong to owner 0.

    One branch per category, also where it has no record: that is a leaf with the parent's label. Every attribute is
    tested at most once on a path, the first of equally good ones.
    """
    places: list[SkeletonNode] = []
    tested: list[int] = []

    def grow(rows: Codes, used: frozenset[int], label: int) -> int:
        number = len(places)
        places.append(SkeletonNode())
        tested.append(LEAF)
        totals = np.bincount(classes[rows], minlength=class_count)
        own = majority(totals) if len(rows) else label
        left = [each for each in range(len(attributes)) if each not in used]
        is_full = not left or (stops.depth is not None and len(used) >= stops.depth)
        if is_full or is_settled(totals, stops):
            places[number] = SkeletonNode(label=own)
            return number
        best = min(left, key=lambda attribute: (_score(attributes[attribute], rows), attribute))
        codes = attributes[best].codes[rows]
        tested[number] = best
        below = tuple(
            grow(rows[codes == code], used | {best}, own)
            for code in range(len(attributes[best].categories))
        )
        places[number] = SkeletonNode(0, 0, below)
        return number

    def _score(attribute: PartyAttribute, rows: Codes) -> int:
        return score(
            crossed(attribute.codes[rows], len(attribute.categories), classes[rows], class_count)
        )

    grow(np.arange(len(classes)), frozenset(), 0)
    return WholeTree(tuple(tested), Skeleton(tuple(places)))


def is_settled(totals: Codes, stops: Stops) -> bool:
    """Return whether the records of a node are not to be split: too few, or all of one class."""
    return bool(totals.sum() < stops.min_records or np.count_nonzero(totals) < 2)


@dataclass(frozen=True, slots=True)
class KindTraffic:
    """Messages of one kind that a side received."""

    kind: MessageKind
    messages: int
    size: int


@dataclass(frozen=True, slots=True)
class SideView:
    """What one side was shown.

    ``won`` are the nodes at which it decides, ``counts`` numbers of records by own value and class that it could see,
    ``ids`` the nodes of others of which it was shown which record goes where, ``blocks`` the share of all cells of
    others' attributes that it saw as unnamed blocks; None where that cannot be told.
    """

    name: str
    received: tuple[KindTraffic, ...]
    won: int
    counts: int
    ids: int
    blocks: float | None


def seen_by(
    side: int,
    session: Session,
    log: Log,
    party_attributes: Sequence[PartyAttribute],
    shown_nodes: Sequence[int] | None,
    *,
    blocks: int | None = None,
) -> SideView:
    """Return what a side was shown, by the log.

    ``party_attributes`` are what it holds, ``shown_nodes`` are for each of these, by rank, the cells of its blocks:
    None if nobody can know them. A side of a real session has counted its own instead: ``blocks``, in cells.
    """
    messages, sizes = Counter[MessageKind](), Counter[MessageKind]()
    for entry in log.entries:
        if entry.receiver == side:
            messages[entry.kind] += 1
            sizes[entry.kind] += entry.size
    received = tuple(
        KindTraffic(kind, messages[kind], sizes[kind]) for kind in MessageKind if messages[kind]
    )
    name = role(side, session.parties)
    if side < 0:
        return SideView(name, received, 0, 0, 0, 0.0)
    won = messages[MessageKind.WON]
    cells = sum(len(party_attribute.categories) for party_attribute in party_attributes) * len(
        session.classes
    )
    # each time it scores a node it sees a count for every own value and class, and with a token those of the classes
    counts = messages[MessageKind.SCORE] * cells + messages[MessageKind.TOKEN] * len(
        session.classes
    )
    if session.mode is Mode.SHARED:
        return SideView(name, received, won, counts, 0, 0.0)
    held = set(session.ranks[side])
    if shown_nodes is not None:
        blocks = sum(count for rank, count in enumerate(shown_nodes) if rank not in held)
    foreign = session.records * (session.attributes - len(held))
    share = None if blocks is None else blocks / max(foreign, 1)
    return SideView(name, received, won, counts, messages[MessageKind.RELAYED] - won, share)


def cells_split(whole_tree: WholeTree, attributes: Sequence[PartyAttribute]) -> list[int]:
    """Return for each attribute how many records pass a node that tests it: its cells that become blocks."""
    found = [0] * len(attributes)
    records = len(attributes[0].codes) if attributes else 0
    waiting: list[tuple[int, Codes]] = [(0, np.arange(records))]
    while waiting:
        number, rows = waiting.pop()
        place, attribute = whole_tree.skeleton.places[number], whole_tree.attributes[number]
        if place.is_leaf:
            continue
        found[attribute] += len(rows)
        codes = attributes[attribute].codes[rows]
        waiting += [(child, rows[codes == slot]) for slot, child in enumerate(place.children)]
    return found
