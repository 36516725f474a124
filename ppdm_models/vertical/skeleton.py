"""The tree as the miner knows it: who decides at each node, and by which of its own nodes; no attribute, no value."""

from __future__ import annotations

from dataclasses import dataclass

LEAF = -1


@dataclass(frozen=True, slots=True)
class Place:
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

    places: tuple[Place, ...]

    @property
    def inner(self) -> int:
        """How many places are no leaves."""
        return sum(not each.is_leaf for each in self.places)

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
class Known:
    """A tree in full: for each place the number of its attribute in the joined table, or ``LEAF``, and the skeleton."""

    attributes: tuple[int, ...]
    skeleton: Skeleton
