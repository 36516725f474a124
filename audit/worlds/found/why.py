"""Why the tables that can be listed below a node say something: which splits would otherwise have been taken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.facts.explain import joined, would_have_split
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.enumerate import Limits, combinations, parts_of
from treewarden.ppdm_models.arrays import BoolArray, IntArray

BY_COUNTS = "the counts of its leaf"
MOST_CELLS = 4_000_000


class Reasons:
    """The combinations of tables from the parts below a node, and which of the node's rows each of them breaks."""

    def __init__(
        self,
        facts: Facts,
        node: int,
        found: Mapping[int, IntArray],
        limits: Limits,
        clock: Clock,
    ) -> None:
        self.facts, self.node, self.number = facts, node, len(found[node])
        self.start = facts.span(node).start
        self.found, self.limits, self.clock = found, limits, clock
        splits = facts.splits.get(node, ())
        self.names = [would_have_split(facts, s, a) for s in splits for a in range(s.size)]

    @cached_property
    def others(self) -> tuple[IntArray, BoolArray] | None:
        """The combinations (K, S, m) and which rows each surely breaks (K, A); None where they are too many."""
        parts = parts_of(self.facts, self.node, self.found, self.limits)
        splits = self.facts.splits.get(self.node, ())
        total = 0.0 if parts is None else math.prod(float(len(part)) for part in parts)
        if parts is None or not splits or total * len(self.names) > MOST_CELLS:
            return None
        tables = np.concatenate(list(combinations(parts)))
        return tables, np.concatenate([s.surely_broken(tables) for s in splits], axis=1)

    def of(self, position: int, klass: int, bound: int, sign: int) -> str:
        """Return why ``sign * cell >= bound``: the fewest rows that each other combination breaks one of."""
        if not self.names and not self.facts.lines.get(self.node):
            return BY_COUNTS
        # It is proved whichever rows it rests on, so without time only their names are missing.
        if self.clock.is_over or self.others is None:
            return self._by_number()
        tables, broken = self.others
        said = self._rows_that_break(broken[sign * tables[:, position - self.start, klass] < bound])
        return joined(self.facts, self.node, said) if said else self._by_number()

    def of_none(self) -> tuple[str, ...]:
        """Return why no table is left: rows of which each combination breaks one, and rows across leaves."""
        said = self._rows_that_break(self.others[1]) if self.others is not None else []
        if said:
            return tuple(said)
        lines = (line.origin.where for line in self.facts.lines.get(self.node, ()))
        name = self.facts.tree.nodes[self.node].name
        return (f"no table below node {name} obeys its split rows and leaves", *lines)

    def _rows_that_break(self, left: BoolArray) -> list[str]:
        """Return rows of which each combination (K, A) breaks one, the strongest first; none where one obeys all."""
        said: list[str] = []
        while len(left):
            kills = left.sum(axis=0)
            best = int(kills.argmax())
            if not kills[best]:
                return []
            said.append(self.names[best])
            left = left[~left[:, best]]
        return said

    def _by_number(self) -> str:
        name = self.facts.tree.nodes[self.node].name
        if self.number == 1:
            return f"only one table fits below node {name}"
        return f"all {self.number} tables that fit below node {name} say so"
