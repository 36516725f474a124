"""Worlds one change away from a world, for many cells at once: where a leaf's class counts are not all known.

One record of a profile gets another class; or does, and another record of its leaf gets the class it had. Each change
is a world by itself. All are held against a row of the tree together, as most rows allow most of them.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.witness_pool import TableChanges, WitnessPool
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, IntArray

PARTNERS = 5
"""Drawn at random for each cell that no record alone moves."""
PAIRED_TOGETHER = 400_000
"""Pairs that are tried together: looking at each row takes most of the time, however many there are."""
BASES = 6


def change_many(facts: Facts, pool: WitnessPool, open_cells: BoolArray, clock: Clock) -> None:
    """Try to move the wanted cells (P, m) that no world of the pool moves, from a few worlds in turn.

    If it is called again, with fewer cells, no record of a world that was tried is changed alone again.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    is_free = np.any(facts.ends[0] < facts.ends[1], axis=1)[facts.leaf_numbers]
    if not is_free.any():
        return
    draw = np.random.default_rng(0)
    for base in range(min(BASES, len(pool.tables))):
        table = pool.tables[base]
        checker = ChangeChecker(facts, table)
        left = PARTNERS
        while left:
            clock.check()
            cells = np.argwhere(open_cells & is_free[:, None] & (pool.low == pool.high))
            if left == PARTNERS and base >= pool.changed:
                changes = _alone(table, cells)
                pool.changed = base + 1
            else:
                times = min(left, max(1, PAIRED_TOGETHER // max(1, len(cells))))
                changes = _paired(facts, table, np.repeat(cells, times, axis=0), draw)
                left -= times
            pool.add_changes(base, changes.select(checker.allowed(changes, clock)))


BLOCK_ENTRIES = 2_000_000
"""So many pairs of classes of cells are looked at together: some 100 MB, of which few are changes."""


def _alone(table: IntArray, cells: IntArray) -> TableChanges:
    """Return the single records that can give a class to a profile, or take it away, each once."""
    rows = max(1, BLOCK_ENTRIES // table.shape[1])
    blocks = [
        _changes_of(table, cells[start : start + rows]) for start in range(0, len(cells), rows)
    ]
    if not blocks:
        blocks = [_changes_of(table, cells)]
    position, own, to = (np.concatenate(part) for part in zip(*blocks, strict=True))
    # Both cells that a change moves name it.
    keys = (position * table.shape[1] + own) * table.shape[1] + to
    once = np.sort(np.unique(keys, return_index=True)[1])
    position, own, to = position[once], own[once], to[once]
    return TableChanges(position, own, position, own, to)


def _changes_of(table: IntArray, cells: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the profile of each change of one record, the class that it has, and the one that it gets."""
    classes = table.shape[1]
    position = np.repeat(cells[:, 0], classes)
    klass = np.repeat(cells[:, 1], classes)
    partner = np.tile(np.arange(classes), len(cells))
    gives = table[position, klass] > 0
    own, to = np.where(gives, klass, partner), np.where(gives, partner, klass)
    kept = (own != to) & (table[position, own] > 0)
    return position[kept], own[kept], to[kept]


def _paired(
    facts: Facts, table: IntArray, cells: IntArray, draw: np.random.Generator
) -> TableChanges:
    """Return for each cell one pair of records of its leaf: either gets another class than it has."""
    if not len(cells):
        return _alone(table, cells)
    bounds, leaf = np.append(facts.starts, len(facts.counts)), facts.leaf_numbers
    starts, ends = bounds[leaf], bounds[leaf + 1]
    classes = table.shape[1]
    until = np.concatenate([[0], np.cumsum(table.ravel())])

    def drawn(low: IntArray, high: IntArray) -> IntArray:
        """Draw one record of each range of cells, and return its cell."""
        least, most = until[low], until[high]
        record = least + np.floor(draw.random(len(low)) * (most - least)).astype(np.int64)
        return np.asarray(np.searchsorted(until, record, side="right") - 1)

    position, klass = cells[:, 0], cells[:, 1]
    own = drawn(position * classes, position * classes + classes) % classes
    second, other = np.divmod(drawn(starts[position] * classes, ends[position] * classes), classes)
    gives = table[position, klass] > 0
    own = np.where(gives, klass, own)
    to = np.where(gives, other, klass)
    kept = (second != position) & (other != own) & (to != own)
    return TableChanges(position, own, second, other, to).select(kept)
