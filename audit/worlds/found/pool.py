"""Worlds found so far, and how far they reach in every cell: each one is a witness of what is possible."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.worlds.facts.facts import Facts
from treewarden.ppdm_models.arrays import BoolArray, IntArray

MOST_TABLES = 64


@dataclass(frozen=True, slots=True)
class Swap:
    """Two records of one leaf trade classes.

    In the base world one of ``first`` has ``klass`` and one of ``second`` ``other``; afterwards the other way round.
    Where ``second`` is None the record of ``first`` alone changes.
    """

    first: int
    klass: int
    second: int | None
    other: int

    def applied(self, table: IntArray) -> IntArray:
        """Return the table after the swap."""
        changed = table.copy()
        changed[self.first, self.klass] -= 1
        changed[self.first, self.other] += 1
        if self.second is not None:
            changed[self.second, self.other] -= 1
            changed[self.second, self.klass] += 1
        return changed


@dataclass(eq=False)
class Pool:
    """Worlds, each checked exactly, and the least and greatest count that they reach per cell, shape (P, m).

    ``swaps`` holds, per cell and side, the swap that moved it and the number of the world it starts from.
    """

    facts: Facts
    tables: list[IntArray] = field(default_factory=list)
    low: IntArray = field(init=False)
    high: IntArray = field(init=False)
    swaps: dict[int, tuple[int, Swap]] = field(default_factory=dict)
    size: int = 0

    def __post_init__(self) -> None:
        shape = (len(self.facts.counts), self.facts.classes)
        self.low = np.broadcast_to(self.facts.counts[:, None], shape).astype(np.int64)
        self.high = np.zeros(shape, dtype=np.int64)

    @property
    def is_empty(self) -> bool:
        """Whether no world is known."""
        return not self.tables

    def add(self, tables: IntArray) -> None:
        """Add worlds, shape (K, P, m), that were checked."""
        if not len(tables):
            return
        np.minimum(self.low, tables.min(axis=0), out=self.low)
        np.maximum(self.high, tables.max(axis=0), out=self.high)
        self.size += len(tables)
        # A world that was asked for is worth keeping, for its neighbours.
        most = MOST_TABLES if len(tables) > 1 else 8 * MOST_TABLES
        self.tables += list(np.array(tables[: max(0, most - len(self.tables))], dtype=np.int64))

    def add_swap(self, base: int, swap: Swap) -> None:
        """Note a checked neighbour of one of the pool's worlds."""
        table = self.tables[base]
        self.size += 1
        touched = [(swap.first, swap.klass, -1), (swap.first, swap.other, 1)]
        if swap.second is not None:
            touched += [(swap.second, swap.other, -1), (swap.second, swap.klass, 1)]
        for position, klass, change in touched:
            value = table[position, klass] + change
            self.low[position, klass] = min(self.low[position, klass], value)
            self.high[position, klass] = max(self.high[position, klass], value)
            self.swaps.setdefault(position, (base, swap))

    def is_moved_by(self, swap: Swap) -> bool:
        """Return whether a swap may move a cell that no world moves."""
        rows = [row for row in (swap.first, swap.second) if row is not None]
        pair = [swap.klass, swap.other]
        return bool((self.low[rows][:, pair] == self.high[rows][:, pair]).any())

    def stuck(self, low: IntArray, high: IntArray) -> BoolArray:
        """Return the cells that no world moves although their proved ends differ, shape (P, m)."""
        return np.asarray((low < high) & (self.low == self.high))
