"""Every place where somebody can stop in all trees at once, as one problem of rows over groups of people.

All ways in which hidden values can be told apart are sent down every tree: each leads to a place, one leaf of each
tree. The alternatives of a group are its places with each class; what a tree says of a leaf is a row over all of them.
The estimate departs from how common hidden values are in the table, each column by itself, which anybody may look up:
what several trees say of their leaves does not say how likely the places between them are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from scipy import sparse

from treewarden.audit.engine.problem import KNOWN_FACT, Problem
from treewarden.audit.joint.cells import cells_of
from treewarden.audit.joint.sampling_weights import ROUNDED_WEIGHTS
from treewarden.audit.partial.ensembles.ensemble_view import EnsembleView, TreeStops
from treewarden.audit.partial.secret_values import distinguished_values
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tables.routing import Router
from treewarden.ppdm_models.tree.column import Column

MOST_WAYS = 200_000
"""Groups times ways in which hidden values can be told apart, up to which all of these are sent down the trees."""
MOST_SENT = 20_000_000
"""The same times trees."""
MOST_NUMBERS = 400_000
"""Groups times alternatives of the one that has most, up to which they are one problem."""
FEWEST = 3
"""Alternatives that a problem has at least."""


@dataclass(frozen=True, slots=True, eq=False)
class HiddenPlaces:
    """The places of all groups as a problem: ``class_of`` (S, A) is the class of each group's alternatives, -1 of none.

    ``truth`` (S, A) is how many people are where in the true table.
    """

    problem: Problem
    class_of: IndexArray
    truth: IntArray

    def by_class(self, numbers: IntArray | FloatArray | BoolArray, classes: int) -> FloatArray:
        """Return sums of numbers of alternatives, (S, A), over those of each class, (S, m)."""
        parts = [np.where(self.class_of == k, numbers, 0).sum(axis=1) for k in range(classes)]
        return np.stack(parts, axis=1).astype(np.float64)


def hidden_places(view: EnsembleView) -> HiddenPlaces | None:
    """Return the places of all groups as a problem; None where they are too many, or trees do not count people."""
    truth = view.population.truth
    if isinstance(truth, Undetermined) or any(stops.ends is None for stops in view.stops):
        return None
    found = _ways(view)
    return None if found is None else _problem(view, truth, found)


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Each lump's places, N in all: ``lump`` (N,), its leaf in each tree, ``leaves`` (T, N), and its prior (N,)."""

    lump: IndexArray
    leaves: IndexArray
    prior: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _ToldKinds:
    """The values of a hidden column that trees tell apart, K kinds: ``first`` (K,) is one of each, ``share`` (K,).

    ``kind_of_profile`` (P,) is that of each profile's value.
    """

    first: IndexArray
    share: FloatArray
    kind_of_profile: IndexArray

    @classmethod
    def from_view(cls, view: EnsembleView, name: str) -> _ToldKinds:
        """Return those of a hidden column."""
        kinds = view.told.hidden[name]
        places = distinguished_values(view.forest.trees, {name: kinds.values})[name]
        _, first, kind = np.unique(places, return_index=True, return_inverse=True)
        share = np.bincount(kind, kinds.share, len(first)).astype(np.float64)
        return cls(first, share / max(float(share.sum()), 1.0), kind[kinds.of])


def _ways(view: EnsembleView) -> _Ways | None:
    """Return where each lump can stop in all trees at once, among leaves that hold somebody."""
    lumps, trees = len(view.lumps.sizes), view.forest.trees
    kinds = {name: _ToldKinds.from_view(view, name) for name in view.told.hidden}
    size = prod(len(told.first) for told in kinds.values())
    if lumps * size > MOST_WAYS or lumps * size * len(trees) > MOST_SENT:
        return None
    ways = np.indices([len(told.first) for told in kinds.values()], dtype=np.intp)
    lump = np.repeat(np.arange(lumps), size)
    group = view.told.group_of_profile[view.lumps.first][lump]
    columns: dict[str, Column] = {
        name: column.take(group) for name, column in view.told.people.columns.items()
    }
    prior, is_left = np.ones(len(lump)), np.ones(len(lump), dtype=bool)
    for (name, told), way in zip(kinds.items(), ways.reshape(len(kinds), size), strict=True):
        kind = np.tile(way, lumps)
        columns[name] = view.told.hidden[name].values.take(told.first[kind])
        prior *= told.share[kind]
        if name in view.told.guesses:
            own = told.kind_of_profile[view.lumps.first][lump]
            is_left &= ~view.told.guesses[name].is_known[group] | (kind == own)
    leaves = np.empty((len(trees), len(lump)), dtype=np.intp)
    router = Router(columns)
    for number, (tree, stops) in enumerate(zip(trees, view.forest.stops, strict=True)):
        nodes = np.unique(stops)
        stopped, refused = router.routed(tree)
        leaves[number] = np.minimum(np.searchsorted(nodes, stopped), len(nodes) - 1)
        is_left &= ~refused & (nodes[leaves[number]] == stopped)
    lump, leaves, prior = lump[is_left], leaves[:, is_left], prior[is_left]
    cells = cells_of(leaves, np.ones(len(lump)), parts=lump.copy())
    total = np.bincount(cells.of, prior).astype(np.float64)
    return _Ways(lump[cells.first], leaves[:, cells.first], total)


def _problem(view: EnsembleView, truth: FloatArray, ways: _Ways) -> HiddenPlaces | None:
    """Return the ways with each class that no leaf on them rules out, as a problem."""
    classes, lumps = truth.shape[1], len(view.lumps.sizes)
    is_open = np.ones((len(ways.lump), classes), dtype=bool)
    for stops, leaf in zip(view.stops, ways.leaves, strict=True):
        assert stops.ends is not None
        is_open &= stops.ends[1][leaf] > 0
    order = np.argsort(ways.lump, kind="stable")
    way, klass = (each.astype(np.intp) for each in np.nonzero(is_open[order]))
    way = order[way]
    lump = ways.lump[way]
    # The number of each alternative among those of its lump, which stand one after the other.
    number = np.arange(len(lump)) - np.searchsorted(lump, lump)
    width = max(int(number.max(initial=0)) + 1, FEWEST)
    if lumps * width > MOST_NUMBERS:
        return None
    class_of = np.full((lumps, width), -1, dtype=np.intp)
    class_of[lump, number] = klass
    prior = np.zeros((lumps, width))
    prior[lump, number] = ways.prior[way]
    place = lump * width + number
    parts, low, high, trees, nodes = [], [], [], [], []
    times = np.ones(len(lump), dtype=np.int64)
    if view.weights is not None:
        times = view.weights.units[view.lumps.first][lump]
    counted = np.flatnonzero(times)
    for tree, (stops, leaf) in enumerate(zip(view.stops, ways.leaves, strict=True)):
        assert stops.ends is not None
        size = stops.ends[0].size
        row = leaf[way] * classes + klass
        shape = (size, lumps * width)
        entries = times[counted], (row[counted], place[counted])
        parts.append(sparse.coo_array(entries, shape=shape).tocsr())
        least, most = (np.rint(end).astype(np.int64).reshape(-1) for end in stops.ends)
        low.append(least)
        high.append(most)
        trees.append(np.full(size, tree))
        nodes.append(np.repeat(np.arange(len(stops.ends[0])), classes))
    problem = Problem(
        matrix=sparse.csr_array(sparse.vstack(parts, format="csr")),
        low=np.concatenate(low),
        high=np.concatenate(high),
        output=np.zeros(len(np.concatenate(low)), dtype=np.intp),
        trees=np.concatenate(trees),
        nodes=np.concatenate(nodes),
        sizes=view.lumps.sizes.astype(np.int64),
        classes=width,
        allowed=class_of >= 0,
        prior=prior,
        incomplete=ROUNDED_WEIGHTS if any(map(_is_rounded, view.stops)) else "",
    )
    held = _true_numbers(view, truth, ways, (lump, way, klass, number), width)
    return HiddenPlaces(_with_facts(problem, view, class_of), class_of, held)


def _with_facts(problem: Problem, view: EnsembleView, class_of: IndexArray) -> Problem:
    """Return a problem with a row for each fact from elsewhere, over the alternatives of its class, (S, A)."""
    facts = view.facts
    if facts is None:
        return problem
    inside = facts.inside[:, view.told.group_of_profile[view.lumps.first]]
    meant = [
        np.flatnonzero(people[:, None] & (class_of == klass))
        for people, klass in zip(inside, facts.output.tolist(), strict=True)
    ]
    places, ends = np.concatenate(meant), np.cumsum([0, *map(len, meant)])
    ones = np.ones(len(places), dtype=np.int64)
    number = np.arange(len(meant))
    rows = replace(
        problem,
        matrix=sparse.csr_array((ones, places, ends), shape=(len(meant), class_of.size)),
        low=facts.low,
        high=facts.high,
        output=np.zeros_like(number),
        trees=np.full_like(number, KNOWN_FACT),
        nodes=number,
    )
    return problem.stacked(rows)


def _is_rounded(stops: TreeStops) -> bool:
    return stops.weighed is not None and not stops.weighed.is_exact


def _true_numbers(
    view: EnsembleView,
    truth: FloatArray,
    ways: _Ways,
    alternatives: tuple[IndexArray, IndexArray, IndexArray, IndexArray],
    width: int,
) -> IntArray:
    """Return how many people of each lump are truly at each of its alternatives, (S, A).

    ``alternatives`` are the lump of each, (N,), its way, its class, and its number within the lump.
    """
    lump, way, klass, number = alternatives
    leaves = np.stack([stops.leaf_of_profile for stops in view.stops])
    profiles = leaves.shape[1]
    both = np.concatenate([leaves, ways.leaves], axis=1)
    parts = np.concatenate([view.lumps.of, ways.lump])
    place = cells_of(both, np.ones(both.shape[1]), parts=parts).of
    way_of_place = np.full(int(place.max()) + 1, -1, dtype=np.intp)
    way_of_place[place[profiles:]] = np.arange(len(ways.lump))
    number_of = np.full((len(ways.lump), truth.shape[1]), -1, dtype=np.intp)
    number_of[way, klass] = number
    profile, own = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    held = np.zeros((len(view.lumps.sizes), width), dtype=np.int64)
    at = number_of[way_of_place[place[:profiles]][profile], own]
    np.add.at(held, (view.lumps.of[profile], at), np.rint(truth[profile, own]).astype(np.int64))
    return held
