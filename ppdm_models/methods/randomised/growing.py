"""Binary trees over interval codes: grown by the Gini index on counts, and pruned by minimum description length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from treewarden.ppdm_models.methods.randomised.generating import GeneratedAttribute
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Hiding, Noise
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    Intervals,
    Kernel,
    dealt,
    intervals,
    places_of,
    settled,
)

# The best splits of all nodes of a level at once: counts per interval and class, compared by the Gini index.

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
NONE = -1
MOST_BINS = 2**19
"""Intervals times classes that are counted at once: nodes are taken in parts where there are more."""
CLOSE = 1e-12
"""A split is no better than one before it unless by more than this share, which is rounding."""


@dataclass(frozen=True, slots=True)
class BestSplits:
    """For each of some nodes the attribute to split by (-1: there is nothing to split), and the last code to the left.

    ``candidates`` are the splits by that attribute that part the records in different ways. All have shape (nodes,).
    """

    attribute: Codes
    code: Codes
    candidates: Codes


def best_splits(
    codes: NDArray[np.integer], sizes: Codes, classes: Codes, nodes: Codes, counts: Codes
) -> BestSplits:
    """Return the split of each node that leaves its classes least mixed; of equal ones the first attribute and code.

    ``codes`` have shape (attributes, records) and are below ``sizes``; ``classes`` and ``nodes`` have shape (records,),
    the nodes in ascending order and none left out; ``counts`` are each node's records of each class.
    """
    found = [np.full(len(counts), NONE, np.int64) for _ in range(3)]
    for here, rows in _parts(nodes, len(counts), int(sizes.max()) * counts.shape[1]):
        part = _best(codes[:, rows], sizes, classes[rows], nodes[rows] - here.start, counts[here])
        for whole, own in zip(found, part, strict=True):
            whole[here] = own
    return BestSplits(*found)


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


Recode = Callable[[Codes, frozenset[int]], Mapping[int, Codes]]
"""Given the rows of a node and the attributes tested above it, the codes of other attributes anew."""
LEAF = -1


@dataclass(frozen=True, slots=True)
class NoisyTree:
    """A tree. Node 0 is the root; a leaf's ``attribute`` is -1, elsewhere codes up to ``code`` go ``left``.

    ``counts`` are records of each class, shape (nodes, classes).
    """

    attribute: Codes
    code: Codes
    left: Codes
    right: Codes
    counts: Codes

    def leaves_of(self, codes: Codes) -> Codes:
        """Return the leaf that each record stops in; codes have shape (records, attributes)."""
        at = np.zeros(len(codes), np.int64)
        moving = np.arange(len(codes))
        while len(moving):
            moving = moving[self.attribute[at[moving]] != LEAF]
            here = at[moving]
            goes_left = codes[moving, self.attribute[here]] <= self.code[here]
            at[moving] = np.where(goes_left, self.left[here], self.right[here])
        return at

    def predicted(self, codes: Codes) -> Codes:
        """Return the class of each record: the most frequent one of its leaf, the first of several."""
        found: Codes = self.counts.argmax(axis=1)[self.leaves_of(codes)]
        return found


@dataclass(frozen=True, slots=True)
class _DepthNodes:
    """All nodes of one depth: how each is split, its records of each class, and the number of its left child.

    The right child has the number after that. Nodes are numbered level by level.
    """

    splits: BestSplits
    counts: Codes
    left: Codes


def grow(
    codes: Codes, sizes: Codes, classes: Codes, class_count: int, recode: Recode | None = None
) -> NoisyTree:
    """Return a pruned tree for records with interval codes, shape (records, attributes), below ``sizes``.

    A node is not split where no split could be worth telling: the same tree as if it were grown to the end and pruned.
    ``recode`` is asked at each node below the root, where it is given.
    """
    narrow = np.int16 if sizes.max() < 2**15 else np.int64
    own = np.ascontiguousarray(codes.T.astype(narrow))
    rows, nodes = np.arange(len(codes)), np.zeros(len(codes), np.int64)
    counts = np.bincount(classes, minlength=class_count)[None, :]
    above: list[frozenset[int]] = [frozenset()]
    levels: list[_DepthNodes] = []
    total = 0
    while len(counts):
        total += len(counts)
        can_pay = leaf_costs(counts) > _least_cost(len(sizes), class_count)
        splits = _splits(own, sizes, classes, rows=rows, nodes=nodes, counts=counts, mask=can_pay)
        is_split = splits.attribute != LEAF
        left = np.where(is_split, total + 2 * (np.cumsum(is_split) - 1), LEAF)
        levels.append(_DepthNodes(splits, counts, left))
        kept = is_split[nodes]
        rows, nodes = rows[kept], nodes[kept]
        goes_right = own[splits.attribute[nodes], rows] > splits.code[nodes]
        nodes = left[nodes] - total + goes_right
        order = np.argsort(nodes, kind="stable")
        rows, nodes = rows[order], nodes[order]
        children = 2 * int(is_split.sum())
        counts = np.bincount(nodes * class_count + classes[rows], minlength=children * class_count)
        counts = counts.reshape(-1, class_count)
        if recode is not None:
            above = [
                known | {attribute}
                for known, attribute in zip(above, splits.attribute.tolist(), strict=True)
                if attribute != LEAF
                for _ in "lr"
            ]
            _recode(own, rows, nodes, above, recode)
    return _pruned(levels, len(sizes))


def leaf_costs(counts: Codes) -> Numbers:
    """Return the bits that the classes of leaves' records take (Rastogi & Shim 1998, section 3).

    ``counts`` have shape (leaves, classes), and each leaf has a record.
    """
    total, classes = counts.sum(axis=1), counts.shape[1]
    own = (counts * np.log2(total[:, None] / np.maximum(counts, 1))).sum(axis=1)
    shape = (classes - 1) / 2 * np.log2(total / 2)
    constant = (classes / 2 * math.log(math.pi) - float(gammaln(classes / 2))) / math.log(2)
    numbers: Numbers = 1 + own + shape + constant
    return numbers


def split_costs(attributes: int, candidates: Codes) -> Numbers:
    """Return the bits that splits take to tell: which attribute, and which of its candidates."""
    numbers: Numbers = 1 + math.log2(attributes) + np.log2(np.maximum(candidates, 1))
    return numbers


def _least_cost(attributes: int, classes: int) -> float:
    """Return the bits that a split takes at least, with what is below it."""
    leaf = leaf_costs(np.eye(1, classes, dtype=np.int64))
    return float(split_costs(attributes, np.ones(1, np.int64))[0] + 2 * leaf[0])


def _splits(
    node_codes: NDArray[np.signedinteger],
    sizes: Codes,
    classes: Codes,
    rows: Codes,
    nodes: Codes,
    counts: Codes,
    mask: NDArray[np.bool_],
) -> BestSplits:
    """Return the best splits of the nodes that are wanted, none of the others."""
    found = BestSplits(*(np.full(len(counts), LEAF, np.int64) for _ in range(3)))
    if mask.all():
        return best_splits(node_codes[:, rows], sizes, classes[rows], nodes, counts)
    asked = np.flatnonzero(mask)
    if len(asked):
        kept = mask[nodes]
        rows, places = rows[kept], (np.cumsum(mask) - 1)[nodes[kept]]
        best = best_splits(node_codes[:, rows], sizes, classes[rows], places, counts[asked])
        found.attribute[asked], found.code[asked] = best.attribute, best.code
        found.candidates[asked] = best.candidates
    return found


def _recode(
    node_codes: NDArray[np.signedinteger],
    rows: Codes,
    nodes: Codes,
    above: Sequence[frozenset[int]],
    recode: Recode,
) -> None:
    """Put the codes that records have in their node in place of those that they had above it."""
    ends = np.searchsorted(nodes, np.arange(len(above) + 1))
    for node, known in enumerate(above):
        here = rows[ends[node] : ends[node + 1]]
        changed = recode(here, known)
        for attribute, codes in changed.items():
            node_codes[attribute, here] = codes


def _pruned(levels: Sequence[_DepthNodes], attributes: int) -> NoisyTree:
    """Return the part of a tree that is worth telling, its nodes numbered anew, parents first."""
    counts = np.concatenate([level.counts for level in levels])
    attribute = np.concatenate([level.splits.attribute for level in levels])
    code = np.concatenate([level.splits.code for level in levels])
    told = split_costs(attributes, np.concatenate([level.splits.candidates for level in levels]))
    costs, lefts = leaf_costs(counts).tolist(), np.concatenate([level.left for level in levels])
    is_kept = np.zeros(len(counts), np.bool_)
    for node in np.flatnonzero(attribute != LEAF)[::-1].tolist():
        child = int(lefts[node])  # children have higher numbers than their parents
        whole = float(told[node]) + costs[child] + costs[child + 1]
        if whole < costs[node]:
            costs[node], is_kept[node] = whole, True
    order = [0]
    for node in order:
        if is_kept[node]:
            order += [int(lefts[node]), int(lefts[node]) + 1]
    kept = is_kept[order]
    left = np.where(kept, 2 * np.cumsum(kept) - 1, LEAF)
    return NoisyTree(
        np.where(kept, attribute[order], LEAF),
        np.where(kept, code[order], 0),
        left,
        np.where(kept, left + 1, LEAF),
        counts[order],
    )


# Interval codes of records in one attribute, for any group of them: what a tree is grown on.

Coding = Callable[[Codes], Codes]
"""Given the rows of a group, in ascending order, the code of each."""
FEW = 16
"""A group with less than one in so many of all records is sorted on its own."""


def intervals_of(attribute: GeneratedAttribute, hiding: Hiding | None, records: int) -> Intervals:
    """Return the intervals of an attribute for groups of so many records: classes are their own."""
    if isinstance(hiding, ClassNoise):
        return Intervals(hiding.low, hiding.wide, hiding.count)
    return intervals(attribute.low, attribute.high, records, is_whole=attribute.is_whole)


def coding_of(values: Numbers, hiding: Hiding | None, intervals: Intervals, kind: Kernel) -> Coding:
    """Return how groups of records are coded: by their values, or by their ranks in what is reconstructed of the group.

    Values in clear and those replaced by their class say where they lie; none is missing.
    """
    if hiding is None or isinstance(hiding, ClassNoise):
        known = intervals.numbers(values)
        return lambda rows: known[rows]
    return _of_ranks(values, hiding, intervals, kind)


def _of_ranks(values: Numbers, noise: Noise, intervals: Intervals, kind: Kernel) -> Coding:
    places, ranks = places_of(noise, intervals, kind), _ranks(values)
    place = places.numbers(values)

    def coded(rows: Codes) -> Codes:
        counts = np.bincount(place[rows], minlength=len(places.chances))
        shares = settled(places.chances, counts, intervals).shares
        return dealt(_places(ranks[rows], len(ranks)), shares)

    return coded


def _ranks(values: Numbers) -> Codes:
    """Return the place of each value among all; equal ones stay in the order of their rows."""
    order = np.argsort(values)
    ascending = values[order]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _places(ranks: Codes, total: int) -> Codes:
    """Return the place of each rank among some of so many."""
    if len(ranks) * FEW < total:
        places = np.empty(len(ranks), np.int64)
        places[np.argsort(ranks)] = np.arange(len(ranks))
        return places
    is_here = np.zeros(total, np.int32)
    is_here[ranks] = 1
    codes: Codes = is_here.cumsum()[ranks] - 1
    return codes
