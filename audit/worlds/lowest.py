"""Below which node a cell is asked about first: the lowest one with rows, of which most questions need no other."""

from __future__ import annotations

from collections.abc import Iterable

from audit.worlds.facts.facts import Facts
from audit.worlds.portions import Cell
from audit.worlds.queries import has_rows

NOWHERE = -1


class Lowest:
    """The lowest node with rows above each cell, NOWHERE where there is none."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.of_place = facts, facts.place_of()
        self.known: dict[int, int] = {}

    def node(self, cell: Cell) -> int:
        """Return that of a cell."""
        place = int(self.of_place[cell[0]])
        if place not in self.known:
            above = (each for each in self.facts.path(place) if has_rows(self.facts, each))
            self.known[place] = next(above, NOWHERE)
        return self.known[place]

    def nodes(self, cells: Iterable[Cell]) -> frozenset[int]:
        """Return those of some cells."""
        return frozenset(map(self.node, cells)) - {NOWHERE}

    def size(self, cell: Cell) -> int:
        """Return how many cells there are below it."""
        node = self.node(cell)
        if node == NOWHERE:
            return 0
        span = self.facts.span(node)
        return int(span.stop - span.start) * self.facts.classes
