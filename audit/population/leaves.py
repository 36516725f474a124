"""The leaves as the owner sees them: how many real records stop at each, of which classes, under which label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import SEVERAL, Router
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.nodes import NodeTable, parents_of
from treewarden.ppdm_models.tree.plain_splits import class_counts_of, labels_of, totals_of, where_of
from treewarden.ppdm_models.tree.tree import (
    Node,
    Task,
    Tree,
    completed,
    count_of,
)

# How many people stop at each node of a tree, of which classes and with which sampling weights.


@dataclass(frozen=True, slots=True, eq=False)
class NodeCounts:
    """How much stops at each node of a tree.

    ``people`` has shape (N,), ``classes`` (N, m), None where the truth is not known; ``weighed`` and
    ``weighed_classes`` are the same in sums of sampling weights, None where there are none. ``spread`` are the records
    that the tree spreads over several leaves, which are in none of these.
    """

    people: FloatArray
    classes: FloatArray | None
    weighed: FloatArray | None
    weighed_classes: FloatArray | None
    spread: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """What has to be known of people to find and count them in one tree after another: see ``Population``.

    ``truth`` is None where it is not known, ``weight`` where each counts once.
    """

    columns: Mapping[str, Column]
    counts: FloatArray
    truth: FloatArray | None
    weight: FloatArray | None

    @cached_property
    def router(self) -> Router:
        """Who sends them down trees."""
        return Router(self.columns)

    def standing(self, stops: IndexArray, nodes: int) -> NodeCounts:
        """Return how much stops at each of so many nodes; ``stops`` (P,) says where each profile does."""
        spread = 0.0
        if stops.min(initial=0) < 0:
            spread = float(self.counts[stops == SEVERAL].sum())
            stops = np.where(stops < 0, nodes, stops)
        places = stops.astype(np.intp, copy=False)
        people, classes = _sums(places, nodes, self._people)
        weighed, weighed_classes = _sums(places, nodes, self._weights)
        assert people is not None
        return NodeCounts(people, classes, weighed, weighed_classes, spread)

    @cached_property
    def _people(self) -> list[FloatArray]:
        """What is added up at each node: all people, and those of each class."""
        added = [self.counts, *([] if self.truth is None else self.truth.T)]
        return [np.ascontiguousarray(each) for each in added]

    @cached_property
    def _weights(self) -> list[FloatArray]:
        """The same by sampling weights, if there are any."""
        weight = self.weight
        return [] if weight is None else [person * weight for person in self._people]

    def __reduce__(self) -> tuple[type[Crowd], tuple[object, ...]]:
        return Crowd, tuple(getattr(self, each.name) for each in fields(self))


def crowd_of(population: Population) -> Crowd:
    """Return what has to be known of people to count them in trees."""
    truth = None if isinstance(population.truth, Undetermined) else population.truth
    return Crowd(population.columns, population.counts, truth, population.weight)


def _sums(
    places: IndexArray, nodes: int, added: list[FloatArray]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the sums of the first at each node, (N,), and of the others, (N, m), as far as there are any."""
    sums = [np.bincount(places, each, nodes + 1)[:nodes].astype(np.float64) for each in added]
    return (sums[0] if sums else None), (np.stack(sums[1:], axis=1) if sums[1:] else None)


SUMS_OF_WEIGHTS = Undetermined(
    "the numbers in the file are sums of sampling weights, not of people"
)


@dataclass(frozen=True, slots=True)
class Leaves:
    """Some nodes with the records that stop there: one entry per node, L in all, each with at least one record.

    ``trees`` says which tree of an ensemble each is in, from 0. ``records`` has shape (L,), ``classes`` (L, m); both
    are the owner's real counts. ``labels`` are codes into the tree's classes. ``published`` has shape (L, 2): records
    with the label (hits) and without it (misses), as the file gives them. Whatever is not known for every one of the
    nodes is undetermined. ``whole`` (m,) are the class counts of the whole table: of all the people, also where these
    nodes hold only some of them, or some of them twice. ``weighed`` (L, m) are the sums of the people's sampling
    weights, ``weighed_whole`` (m,) those of all the people; None where each counts once or the classes are not known.
    """

    nodes: IndexArray
    records: FloatArray
    classes: FloatArray | Undetermined
    labels: IndexArray | Undetermined
    published: FloatArray | Undetermined
    trees: IndexArray
    whole: FloatArray | Undetermined
    weighed: FloatArray | None = None
    weighed_whole: FloatArray | None = None

    @property
    def by_weight(self) -> Leaves | None:
        """The same, counted in sums of sampling weights; None where there are none."""
        if self.weighed is None or self.weighed_whole is None:
            return None
        sums = self.weighed.sum(axis=1)
        return replace(self, records=sums, classes=self.weighed, whole=self.weighed_whole)


def leaves_of(tree: Tree, population: Population) -> Leaves | Undetermined:
    """Return the nodes where records stop, in document order; nodes where none stops are left out."""
    here = crowd_of(population).standing(population.leaf, len(tree.nodes))
    if here.spread:
        return Undetermined(
            f"{here.spread:g} records with missing values are spread over several leaves"
        )
    return leaves_at(tree, here, whole_of(population))


def leaves_at(tree: Tree, here: NodeCounts, whole: Whole) -> Leaves | Undetermined:
    """Return the same of people who were counted already; ``whole`` says what is known of all of them."""
    indices = np.flatnonzero(here.people)
    if not len(indices):
        return Undetermined("no record stops in any leaf")
    is_weighed = here.weighed is not None
    return _leaves(
        whole,
        indices,
        here.people[indices],
        classes=whole.classes if here.classes is None else here.classes[indices],
        weighed=None if here.weighed_classes is None else here.weighed_classes[indices],
        labels=_labels_at(tree, indices),
        published=SUMS_OF_WEIGHTS if is_weighed else _published_at(tree, indices),
    )


@dataclass(frozen=True, slots=True)
class Whole:
    """The class counts of all people, (m,), or why they are not known, and the sums of their sampling weights."""

    classes: FloatArray | Undetermined
    weighed: FloatArray | None


def whole_of(population: Population) -> Whole:
    """Return what is known of the classes of all people."""
    truth, weighed = population.truth, population.weighed_truth
    if isinstance(truth, Undetermined) or isinstance(weighed, Undetermined):
        return Whole(truth, None)
    sums = None if population.weight is None else weighed.sum(axis=0)
    return Whole(truth.sum(axis=0), sums)


def described(
    tree: Tree,
    population: Population,
    nodes: Sequence[Node],
    records: FloatArray,
    classes: FloatArray | Undetermined,
    weighed: FloatArray | None = None,
) -> Leaves:
    """Return the leaves that these nodes are, or would be, with these real counts and sums of sampling weights.

    The nodes may be any: some of the leaves, or a node and what is below it. The population is that of the whole table.
    """
    return _leaves(
        whole_of(population),
        np.array([node.index for node in nodes], dtype=np.intp),
        records,
        classes=classes,
        weighed=weighed,
        labels=_labels(tree, nodes),
        published=_published(tree, nodes) if population.weight is None else SUMS_OF_WEIGHTS,
    )


def _leaves(
    whole: Whole,
    nodes: IndexArray,
    records: FloatArray,
    classes: FloatArray | Undetermined,
    weighed: FloatArray | None,
    labels: IndexArray | Undetermined,
    published: FloatArray | Undetermined,
) -> Leaves:
    return Leaves(
        nodes=nodes,
        records=records,
        classes=classes,
        labels=labels,
        published=published,
        trees=np.zeros(len(nodes), dtype=np.intp),
        whole=whole.classes,
        weighed=weighed,
        weighed_whole=whole.weighed,
    )


def _labels_at(tree: Tree, indices: IndexArray) -> IndexArray | Undetermined:
    """Return the labels of some nodes; no node is made where its tree has columns."""
    if tree.task is Task.CLASSIFICATION:
        codes = labels_of(tree, indices)
        if codes is not None:
            return codes
        return _labels(tree, [tree.nodes[index] for index in indices])
    return _labels(tree, ())


def _published_at(tree: Tree, indices: IndexArray) -> FloatArray | Undetermined:
    """Return what some nodes publish of their labels; no node is made where its tree has columns."""
    if not tree.has_people:
        return _published(tree, ())
    if isinstance(tree.nodes, NodeTable):
        if tree.nodes.class_counts is None:
            return _unpublished(where_of(tree, int(indices[0])))
        codes, counts = labels_of(tree, indices), class_counts_of(tree, indices)
        if codes is not None and not np.isnan(counts).any():
            hits = counts[np.arange(len(codes)), codes]
            return np.stack([hits, totals_of(tree)[indices] - hits], axis=1)
    return _published(tree, [tree.nodes[index] for index in indices])


def _labels(tree: Tree, nodes: Sequence[Node]) -> IndexArray | Undetermined:
    if tree.task is not Task.CLASSIFICATION:
        return Undetermined("the tree predicts a number, not a class")
    codes = [label_of(tree, node) for node in nodes]
    for node, code in zip(nodes, codes, strict=True):
        if code is None:
            return Undetermined(f"{tree.where(node)} publishes no label")
    return np.array(codes, dtype=np.intp)


def _published(tree: Tree, nodes: Sequence[Node]) -> FloatArray | Undetermined:
    if not tree.has_people:
        return Undetermined(f"the numbers in the file do not count people ({tree.quality.value})")
    rows = []
    for node in nodes:
        total, code = count_of(node), label_of(tree, node)
        counts = completed(node.class_counts or (), total)
        hits = counts[code] if counts and code is not None else None
        if total is None or hits is None:
            return _unpublished(tree.where(node))
        rows.append((hits, total - hits))
    return np.array(rows, dtype=float).reshape(-1, 2)


def _unpublished(where: str) -> Undetermined:
    return Undetermined(f"{where} contains no number of records with its label")


class NodeGroups:
    """The groups that pass each node of a tree: those of a node and all below it stand side by side."""

    def __init__(self, tree: Tree, stops: IndexArray) -> None:
        """Sort the groups, ``stops`` (G,), by where their leaf stands from left to right."""
        self.parents = parents = parents_of(tree.nodes)
        self.children: list[list[int]] = [[] for _ in range(len(parents))]
        for node, parent in enumerate(parents.tolist()):
            if parent >= 0:
                self.children[parent].append(node)
        self.order_of_node, self.last = self._walk(len(parents))
        self.order = np.argsort(self.order_of_node[stops], kind="stable")
        self._sorted = self.order_of_node[stops][self.order]

    def _walk(self, size: int) -> tuple[IndexArray, IndexArray]:
        """Return the place of each node in preorder, and the place behind the last node below it."""
        place, last = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
        count, stack = 0, [(0, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                last[node] = count
                continue
            place[node] = count
            count += 1
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(self.children[node]))
        return place, last

    def path(self, node: int) -> Iterator[int]:
        """Yield the nodes above one, the nearest first."""
        while (node := int(self.parents[node])) >= 0:
            yield node

    def at(self, node: int) -> IndexArray:
        """Return the groups that pass a node."""
        ends = (self.order_of_node[node], self.last[node])
        start, end = np.searchsorted(self._sorted, ends)
        return self.order[start:end]
