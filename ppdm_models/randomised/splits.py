"""The best splits of all nodes of a level at once: counts per interval and class, compared by the Gini index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
NONE = -1
MOST_BINS = 2**19
"""Intervals times classes that are counted at once: nodes are taken in parts where there are more."""
CLOSE = 1e-12
"""A split is no better than one before it unless by more than this share, which is rounding."""


@dataclass(frozen=True, slots=True)
class Splits:
    """For each of some nodes the attribute to split by (-1: there is nothing to split), and the last code to the left.

    ``candidates`` are the splits by that attribute that part the records in different ways. All have shape (nodes,).
    """

    attribute: Codes
    code: Codes
    candidates: Codes


def best_splits(
    codes: NDArray[np.integer], sizes: Codes, classes: Codes, nodes: Codes, counts: Codes
) -> Splits:
    """Return the split of each node that leaves its classes least mixed; of equal ones the first attribute and code.

    ``codes`` have shape (attributes, records) and are below ``sizes``; ``classes`` and ``nodes`` have shape (records,),
    the nodes in ascending order and none left out; ``counts`` are each node's records of each class.
    """
    found = [np.full(len(counts), NONE, np.int64) for _ in range(3)]
    for here, rows in _parts(nodes, len(counts), int(sizes.max()) * counts.shape[1]):
        part = _best(codes[:, rows], sizes, classes[rows], nodes[rows] - here.start, counts[here])
        for whole, own in zip(found, part, strict=True):
            whole[here] = own
    return Splits(*found)


def _parts(nodes: Codes, count: int, bins: int) -> Iterator[tuple[slice, slice]]:
    """Yield nodes few enough to be counted at once, and the records in them."""
    step = max(MOST_BINS // bins, 1)
    for first in range(0, count, step):
        after = min(first + step, count)
        begin, end = np.searchsorted(nodes, [first, after])
        yield slice(first, after), slice(int(begin), int(end))


def _best(
    codes: NDArray[np.integer], sizes: Codes, classes: Codes, nodes: Codes, counts: Codes
) -> tuple[Codes, Codes, Codes]:
    best = np.full(len(counts), -np.inf)
    attribute, code, candidates = (np.full(len(counts), NONE, np.int64) for _ in range(3))
    by_class = np.ascontiguousarray(counts.T)
    for number, size in enumerate(sizes.tolist()):
        at, place, pure, many = _best_of_one(nodes * size + codes[number], size, classes, by_class)
        is_better = pure > best[at] * (1 + CLOSE)
        at = at[is_better]
        best[at], attribute[at] = pure[is_better], number
        code[at], candidates[at] = place[is_better], many[is_better]
    return attribute, code, candidates


def _best_of_one(
    places: Codes, size: int, classes: Codes, by_class: Codes
) -> tuple[Codes, Codes, Numbers, Codes]:
    """Return the nodes that one attribute can split; for each the code, how pure its sides are, and its candidates.

    Only intervals that hold records are looked at: behind an empty one the same records are to the left.
    """
    kinds, nodes = by_class.shape
    table = np.bincount(places * kinds + classes, minlength=nodes * size * kinds)
    each = [table[kind::kinds] for kind in range(kinds)]
    held = np.flatnonzero(sum(each))
    below = np.stack([counts[held] for counts in each]).cumsum(axis=1)
    node = held // size
    firsts = np.searchsorted(node, np.arange(nodes))
    before = np.concatenate([np.zeros((kinds, 1), np.int64), below], axis=1)[:, firsts]
    below -= before[:, node]
    left, right = below.sum(axis=0), (by_class[:, node] - below).sum(axis=0)
    possible = np.flatnonzero(right)
    below, left, right, node = below[:, possible], left[possible], right[possible], node[possible]
    pure = (below**2).sum(axis=0) / left + ((by_class[:, node] - below) ** 2).sum(axis=0) / right
    at, starts, many = np.unique(node, return_index=True, return_counts=True)
    most = np.maximum.reduceat(pure, starts) if len(at) else pure
    hits = np.flatnonzero(pure >= np.repeat(most, many) * (1 - CLOSE))
    first = hits[np.searchsorted(hits, starts)]
    return at, held[possible[first]] % size, most, many
