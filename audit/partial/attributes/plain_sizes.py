"""What node sizes prove of columns of numbers, for trees of plain two-way splits: all nodes of a level at a time.

The general way (``size_inference``) walks node by node, which is slow in forests. Here profiles are sent down together,
and with each those ways that differ from its own by one column alone. Ways below which everything is settled are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import Branching

MOST_CELLS = 5_000_000
"""Nodes times columns of a tree up to which it is done so."""
FIRST_BLOCK, LARGEST_BLOCK = 512, 16_384


@dataclass(frozen=True, slots=True)
class PlainTree:
    """A tree of plain splits with what is known of its nodes, (N,), and of their F columns, (N, F).

    ``asked`` says of which columns the size of a node may prove something; ``is_void`` where the way to a node leaves
    a column no value.
    """

    splits: Branching
    parents: IndexArray
    levels: tuple[IndexArray, ...]
    asked: BoolArray
    is_void: BoolArray

    @property
    def is_inner(self) -> BoolArray:
        """Whether each node is split."""
        return np.asarray(self.splits.low != np.arange(len(self.splits.low)))


def plain_tree(
    splits: Branching, is_sized: BoolArray, is_whole: BoolArray, is_wanted: BoolArray
) -> PlainTree | None:
    """Return a tree with what is known of its nodes; None where it is too large.

    ``is_sized`` (N,) says of which nodes the size is known and somebody is there, ``is_whole`` (F,) which columns hold
    whole numbers alone, and ``is_wanted`` which are asked about.
    """
    size, width = len(splits.low), len(splits.features)
    if size * width > MOST_CELLS:
        return None
    inner = np.flatnonzero(splits.low != np.arange(size))
    parents = np.full(size, -1, np.intp)
    parents[splits.low[inner]] = parents[splits.high[inner]] = inner
    levels, here = [], np.zeros(1, np.intp)
    low, high = np.full((size, width), -np.inf), np.full((size, width), np.inf)
    while len(here):
        levels.append(here)
        split = here[splits.low[here] != here]
        column, threshold = splits.feature[split], splits.threshold[split]
        for children, ends, is_low in (
            (splits.low[split], high, True),
            (splits.high[split], low, False),
        ):
            low[children], high[children] = low[split], high[split]
            own = ends[children, column]
            ends[children, column] = (
                np.minimum(own, threshold) if is_low else np.maximum(own, threshold)
            )
        here = np.concatenate([splits.low[split], splits.high[split]])
    is_void = low >= high
    is_void |= is_whole & (np.floor(high) <= np.floor(low))
    is_tested = np.isfinite(low) | np.isfinite(high)
    asked = is_tested & ~is_void & is_sized[:, None] & is_wanted
    return PlainTree(splits, parents, tuple(levels), asked, is_void)


def settled(tree: PlainTree, table: FloatArray, most: int) -> tuple[BoolArray | None, int]:
    """Return what is proved, (N, F), of people with these numbers, (P, F), and what is left of the work.

    At a node a column is proved where nobody else could be there for all that the other columns say. None where the
    work was used up.
    """
    is_refuted = np.zeros_like(tree.asked)
    alive = _alive(tree, is_refuted)
    start, block = 0, FIRST_BLOCK
    order = np.random.default_rng(0).permutation(len(table))  # people alike stand together
    while start < len(table) and alive[0].any():
        most -= _send(tree, table[order[start : start + block]], alive, is_refuted)
        if most <= 0:
            return None, most
        alive = _alive(tree, is_refuted)
        start, block = start + block, min(2 * block, LARGEST_BLOCK)
    return tree.asked & ~is_refuted, most


def _alive(tree: PlainTree, is_refuted: BoolArray) -> BoolArray:
    """Return whether at a node or somewhere below it something may still be proved of each column, (N, F)."""
    alive = tree.asked & ~is_refuted
    low, high = tree.splits.low, tree.splits.high
    for level in tree.levels[::-1]:
        inner = level[low[level] != level]
        alive[inner] |= alive[low[inner]] | alive[high[inner]]
    return alive


def _send(tree: PlainTree, rows: FloatArray, alive: BoolArray, is_refuted: BoolArray) -> int:
    """Send people down on their own way and on those that differ by one column; return how many steps that were."""
    splits, is_inner = tree.splits, tree.is_inner
    own = np.zeros(len(rows), np.intp)
    everyone = np.arange(len(rows))
    person = node = column = np.zeros(0, np.intp)
    steps = 0
    for _ in range(splits.depth):
        steps += len(person) + len(rows)
        at = node[is_inner[node]]
        who, which = person[is_inner[node]], column[is_inner[node]]
        read = splits.feature[at]
        is_high = rows[who, read] > splits.threshold[at]
        true, false = (
            np.where(is_high, splits.high[at], splits.low[at]),
            np.where(is_high, splits.low[at], splits.high[at]),
        )
        both = which == read
        moving = is_inner[own]
        mine, here = everyone[moving], own[moving]
        asked = splits.feature[here]
        goes = rows[mine, asked] > splits.threshold[here]
        person = np.concatenate([who, who[both], mine])
        column = np.concatenate([which, which[both], asked])
        node = np.concatenate(
            [true, false[both], np.where(goes, splits.low[here], splits.high[here])]
        )
        own[moving] = np.where(goes, splits.high[here], splits.low[here])
        kept = alive[node, column] & ~tree.is_void[node, column]
        person, node, column = person[kept], node[kept], column[kept]
        is_refuted[node, column] = True
    return steps


def covered(tree: PlainTree, proved: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return what is proved at each node or above it, (N, F), and which proofs have none above."""
    whole, first = proved.copy(), proved.copy()
    for level in tree.levels[1:]:
        above = whole[tree.parents[level]]
        first[level] &= ~above
        whole[level] |= above
    return whole, first


def held_at(splits: Branching, stops: IndexArray, counts: FloatArray) -> FloatArray:
    """Return how many people come by each node, (N,), given where each profile stops and how many people it is."""
    held = np.bincount(stops, counts, len(splits.low)).astype(np.float64)
    inner = np.flatnonzero(splits.low != np.arange(len(held)))
    for node in inner[::-1].tolist():  # children stand behind their parents
        held[node] += held[splits.low[node]] + held[splits.high[node]]
    return held
