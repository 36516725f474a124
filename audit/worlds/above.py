"""Below which nodes a cell is asked about: those with rows above it, as far as solvers take them, the lowest first."""

from __future__ import annotations

from collections.abc import Iterable

from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.portions import Cell
from treewarden.audit.worlds.queries import has_rows, is_large


class Above:
    """The nodes below which cells are asked about."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.of_place = facts, facts.place_of()
        self.known: dict[int, tuple[int, ...]] = {}
        self.sizes: dict[int, int] = {}

    def nodes(self, cell: Cell) -> tuple[int, ...]:
        """Return those of a cell, the lowest first."""
        place = int(self.of_place[cell[0]])
        if place not in self.known:
            path = (each for each in self.facts.path(place) if not is_large(self.facts, each))
            self.known[place] = tuple(each for each in path if has_rows(self.facts, each))
        return self.known[place]

    def lowest(self, cells: Iterable[Cell]) -> frozenset[int]:
        """Return the lowest one of each of some cells that have any."""
        return frozenset(nodes[0] for nodes in map(self.nodes, cells) if nodes)

    def size(self, cell: Cell, levels: int) -> int:
        """Return how many cells times candidates there are below the highest of so many."""
        nodes = self.nodes(cell)[:levels]
        return self._size(nodes[-1]) if nodes else 0

    def _size(self, node: int) -> int:
        if node not in self.sizes:
            facts, span = self.facts, self.facts.span(node)
            below = (facts.splits.get(step.index, ()) for step in facts.tree.below(node))
            candidates = sum(split.size for splits in below for split in splits)
            self.sizes[node] = int(span.stop - span.start) * facts.classes * candidates
        return self.sizes[node]
