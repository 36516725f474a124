"""What the noisy labels of several trees tell together of each person, and which values no table of people rules out.

Trees that all saw the same people part them differently: people who share the leaf of every tree are a cell. The class
of each person is taken as drawn by itself from one distribution; given the classes, so is each label. So P(labels) is a
sum, over all ways to part every cell into classes, of a product with a factor for each cell (multinomial) and each leaf
(the probability of its label given the sum of its cells). It is added up cell by cell, and only the counts of leaves
that have cells still to come are kept apart (variable elimination): exact, as long as these are few enough. A person
whom a tree did not see (of another release) has no leaf there.

Where they are not, the shift of a person's odds lies between ends that hold for all classes of all others: a label of
class r is at most e^s times as likely for one r more, and at most e^s times as likely for one of another class less.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from treewarden.audit.claims.leaf_labels import (
    IS_MONOTONIC,
    LeafLabels,
    class_counts,
    log_probabilities,
)
from treewarden.audit.consistent_tables.result import (
    Consistency,
    ConsistentTables,
    TableEnumeration,
)
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism

MOST_ENTRIES = 8_000_000
"""So many numbers at most are kept apart at once: some 60 MB."""
TOO_MANY = Undetermined("its leaves can be parted into classes in too many ways")
OUT_OF_TIME = Undetermined(
    "its leaves can be parted into classes in so many ways that the time was used up"
)
SECONDS_A_CELL = 2e-4
"""To begin with one more cell, on a usual machine."""
SECONDS_AN_ENTRY = 5e-8
"""To add up one of the numbers that are kept apart, on a usual machine."""
NOT_COUNTED = Undetermined("where labels are noise, consistent tables are not counted")
AS_DRAWN = "labels, as they were drawn"


@dataclass(frozen=True, slots=True)
class LabelNoise:
    """How the labels of each tree are drawn: the epsilon of one tree, and the mechanism."""

    epsilon: float
    mechanism: LabelMechanism

    @property
    def scale(self) -> float:
        """How far the logarithm of a label's probability moves at most with one record."""
        return self.epsilon if self.mechanism in IS_MONOTONIC else self.epsilon / 2


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """People who share the leaf of every tree: ``sizes`` (C,), ``leaves`` (C, T), and the cell of each profile (P,)."""

    sizes: IntArray
    leaves: IndexArray
    of_profile: IndexArray


def posterior_of_trees(
    labels: LeafLabels,
    people: FloatArray,
    prior: FloatArray,
    noise: Sequence[LabelNoise],
    until: Clock = FOREVER,
) -> FloatArray | Undetermined:
    """Return how likely each class is of a person of each profile, (P, k), by the labels of all trees.

    What is added up of all parts of the people together has to be done ``until`` then.

    ``people`` (P,) are how many each profile has, ``prior`` (k,) are the shares of the classes before the file, and
    ``noise`` has an entry for each tree.
    """
    cells = _cells_of(labels, people)
    found = np.tile(prior, (len(cells.sizes), 1))
    for part in _connected(cells.leaves):
        inside = replace(cells, sizes=cells.sizes[part], leaves=cells.leaves[part])
        values = _posterior_of_cells(inside, labels, prior, noise, until)
        if isinstance(values, Undetermined):
            return values
        found[part] = values
    of_profile = np.tile(prior, (len(people), 1))
    held = cells.of_profile >= 0
    of_profile[held] = found[cells.of_profile[held]]
    return of_profile


def _cells_of(labels: LeafLabels, people: FloatArray) -> _Cells:
    held = np.flatnonzero(people > 0)
    leaves, cell = np.unique(labels.leaf_of_profile[:, held].T, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    of_profile = np.full(len(people), -1, dtype=np.intp)
    of_profile[held] = cell
    sizes = np.bincount(cell, people[held], len(leaves))
    return _Cells(np.rint(sizes).astype(np.int64), leaves, of_profile)


def _connected(leaves: IndexArray) -> list[IndexArray]:
    """Return the cells that leaves tie together, part by part."""
    part = np.arange(len(leaves))
    while True:
        lowest = part.copy()
        for of_tree in leaves.T:
            is_there = of_tree >= 0
            least = np.full(int(leaves.max()) + 1, len(leaves))
            np.minimum.at(least, of_tree[is_there], lowest[is_there])
            lowest[is_there] = np.minimum(lowest[is_there], least[of_tree[is_there]])
        if np.array_equal(lowest, part):
            return [np.flatnonzero(part == number) for number in np.unique(part)]
        part = lowest


@dataclass(frozen=True, slots=True, eq=False)
class _States:
    """What is kept apart: the class ``counts`` (S, O, k) of the open ``leaves``.

    ``weights`` (S,) are how likely each is with the labels so far, ``expected`` (S, C, k) that times the share of each
    class that the people of each cell then have.
    """

    leaves: tuple[int, ...]
    counts: IntArray
    weights: FloatArray
    expected: FloatArray


def _posterior_of_cells(
    cells: _Cells,
    labels: LeafLabels,
    prior: FloatArray,
    noise: Sequence[LabelNoise],
    until: Clock,
) -> FloatArray | Undetermined:
    """Return how likely each class is of a person of each cell of one part, (C, k)."""
    classes, total = len(prior), len(cells.sizes)
    states = _States(
        leaves=(),
        counts=np.zeros((1, 0, classes), dtype=np.int64),
        weights=np.ones(1),
        expected=np.zeros((1, total, classes)),
    )
    for cell, done in _in_order(cells):
        parts = math.comb(int(cells.sizes[cell]) + classes - 1, classes - 1)
        entries = len(states.weights) * parts * (total * classes + 1)
        if entries > MOST_ENTRIES:
            return TOO_MANY
        until.spend(SECONDS_A_CELL + SECONDS_AN_ENTRY * entries)
        if until.is_over:
            return OUT_OF_TIME
        states = _with_cell(states, cells, cell, prior)
        states = _without_leaves(states, done, labels, noise)
    return np.asarray(states.expected[0] / states.weights[0])


class _NextCell(NamedTuple):
    """A cell to add, and the leaves of which no cell comes after it."""

    cell: int
    done: list[int]


def _in_order(cells: _Cells) -> Iterator[_NextCell]:
    """Yield the cells in an order that keeps few leaves open: next one that opens least of those beside open leaves.

    Each is looked for only when it is asked for: whoever stops early has not paid for the rest.
    """
    leaves = [frozenset(leaf for leaf in row if leaf >= 0) for row in cells.leaves.tolist()]
    size, coming, cells_of = Counter[int](), Counter[int](), defaultdict[int, list[int]](list)
    for cell, people in enumerate(cells.sizes.tolist()):
        for leaf in leaves[cell]:
            size[leaf] += people
            coming[leaf] += 1
            cells_of[leaf].append(cell)
    left, beside, open_ = dict.fromkeys(range(len(leaves))), set[int](), set[int]()
    while left:
        best = min(
            beside or left,
            key=lambda cell: (
                sum(math.log1p(size[leaf]) for leaf in leaves[cell] - open_),
                -int(cells.sizes[cell]),
                cell,
            ),
        )
        del left[best]
        beside.discard(best)
        for leaf in leaves[best] - open_:
            beside.update(cell for cell in cells_of[leaf] if cell in left)
        open_ |= leaves[best]
        coming.subtract(leaves[best])
        done = [leaf for leaf in leaves[best] if not coming[leaf]]
        open_.difference_update(done)
        yield _NextCell(best, done)


def _with_cell(states: _States, cells: _Cells, cell: int, prior: FloatArray) -> _States:
    """Return the states with the people of one more cell, in every way to part them into classes."""
    size, classes = int(cells.sizes[cell]), len(prior)
    parts = class_counts(size, classes).astype(np.int64)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(parts > 0, parts * np.log(prior), 0.0).sum(axis=1)
    chances = np.exp(shares + factorials[size] - factorials[parts].sum(axis=1))
    own = [leaf for leaf in cells.leaves[cell].tolist() if leaf >= 0]
    opened = [leaf for leaf in own if leaf not in states.leaves]
    leaves = (*states.leaves, *opened)
    counts = np.concatenate(
        [states.counts, np.zeros((len(states.weights), len(opened), classes), dtype=np.int64)],
        axis=1,
    )
    counts = np.repeat(counts, len(parts), axis=0)
    tiled = np.tile(parts, (len(states.weights), 1))
    for leaf in own:
        counts[:, leaves.index(leaf)] += tiled
    chance = np.tile(chances, len(states.weights))
    weights = np.repeat(states.weights, len(parts)) * chance
    expected = np.repeat(states.expected, len(parts), axis=0) * chance[:, None, None]
    expected[:, cell] = weights[:, None] * tiled / size
    return _merged(_States(leaves, counts, weights, expected))


def _without_leaves(
    states: _States, done: list[int], labels: LeafLabels, noise: Sequence[LabelNoise]
) -> _States:
    """Return the states with the labels of leaves that hold all their people, which are no longer kept apart."""
    if not done:
        return states
    weights, expected = states.weights, states.expected
    for leaf in done:
        counts = states.counts[:, states.leaves.index(leaf)].astype(np.float64)
        drawn = noise[int(labels.trees[leaf])]
        logs = log_probabilities(counts, drawn.epsilon, drawn.mechanism)[:, labels.labels[leaf]]
        factor = np.exp(logs - logs.max())
        weights, expected = weights * factor, expected * factor[:, None, None]
    kept = [place for place, leaf in enumerate(states.leaves) if leaf not in done]
    largest = weights.max()
    return _merged(
        _States(
            tuple(states.leaves[place] for place in kept),
            states.counts[:, kept],
            weights / largest,
            expected / largest,
        )
    )


def _merged(states: _States) -> _States:
    """Return the states with those added up that have the same counts."""
    flat = states.counts.reshape(len(states.weights), -1)
    if not flat.shape[1]:
        flat = np.zeros((len(flat), 1), dtype=np.int64)
    _, first, state = np.unique(_numbers_of(flat), axis=0, return_index=True, return_inverse=True)
    keys, state = flat[first], state.reshape(-1)
    weights = np.bincount(state, states.weights, len(keys)).astype(np.float64)
    order = np.argsort(state, kind="stable")
    starts = np.searchsorted(state[order], np.arange(len(keys)))
    expected = np.add.reduceat(states.expected[order], starts, axis=0)
    counts = keys[:, : len(states.leaves) * states.counts.shape[2]]
    counts = counts.reshape(len(keys), *states.counts.shape[1:])
    return _States(states.leaves, counts, weights, expected)


def _numbers_of(rows: IntArray) -> IntArray:
    """Return one whole number for each row of counts, different where rows are; the rows, where that is too large."""
    bases = [int(base) for base in rows.max(axis=0) + 1]
    if math.prod(bases) >= 2**62:
        return rows
    numbers = np.zeros(len(rows), dtype=np.int64)
    for base, column in zip(bases, rows.T, strict=True):
        numbers = numbers * base + column
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorEnds:
    """Between which ends the probability of each class lies for each profile, (P, k) each."""

    low: FloatArray
    high: FloatArray


def posterior_ends(
    labels: LeafLabels, prior: FloatArray, noise: Sequence[LabelNoise], open_shift: float = 0.0
) -> PosteriorEnds:
    """Return the ends that hold for all classes of all others; other parts of the file may shift odds by a logarithm.

    A tree's label r shifts the logarithm of the odds of class r against another by 0 to 2 s, of two others by -s to s.
    """
    classes, people = len(prior), labels.leaf_of_profile.shape[1]
    scales, all_scales = np.zeros((people, classes)), np.zeros((people, 1))
    for leaves, drawn in zip(labels.leaf_of_profile, noise, strict=True):
        held = np.flatnonzero(leaves >= 0)
        scales[held, labels.labels[leaves[held]]] += drawn.scale
        all_scales[held] += drawn.scale
    # Added up over trees, the shift of c' against c is at most m + a_c' - a_c, and at least -m + a_c' - a_c: m are the
    # scales of all trees, and a_c those of the trees whose label is c (2 s, s or 0 of each, as is said above).
    shift = all_scales + open_shift
    return PosteriorEnds(
        low=_normalised(prior, scales, shift), high=_normalised(prior, scales, -shift)
    )


def _normalised(prior: FloatArray, scales: FloatArray, shift: FloatArray) -> FloatArray:
    """Return prior_c / (prior_c + sum over others of prior_c' e^(shift + scale_c' - scale_c)), (P, k)."""
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + scales
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    before, after = np.zeros_like(weights), np.zeros_like(weights)
    np.cumsum(weights[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumsum(weights[:, :0:-1], axis=1)[:, ::-1]
    # A sum, and no difference from the sum of all: where one class has nearly all, that would be rounding alone.
    others = before + after
    return np.asarray(weights / (weights + others * np.exp(shift)))


def tables_under_noise(
    labels: LeafLabels, people: FloatArray, truth: FloatArray
) -> ConsistentTables:
    """Return what noisy labels prove of people, which is nothing, and whom it would prove if they were no noise.

    ``people`` (P,) and ``truth`` (P, k) are how many each profile has, and of each class. A value counts as possible
    otherwise only where that is so under both readings: by a table that keeps every label the commonest class of its
    leaf that is so in the table at hand. One person of a profile is given another class there, or changes it with
    somebody of the same leaves, or somebody of other leaves is given another class too; who could not is not decided.

    Each of these is a witness under both readings. The table has as many people in each leaf, and every label that is
    the commonest class of its leaf stays so: a learner without noise gives the same file. With noise that is relied on,
    every label has a probability above 0 for all counts, so this table gives the file too. Nothing is taken as possible
    from the claim alone, as a claim that is not refuted may be false: a leaf of one person whose label is the commonest
    class still proves a value to whoever does not believe the claim.
    """
    counts, true = np.rint(people).astype(np.int64), np.rint(truth).astype(np.int64)
    reached_low, reached_high = true.copy(), true.copy()
    cells = _cells_of(labels, people)
    in_cell = np.zeros((len(cells.sizes), true.shape[1]), dtype=np.int64)
    held = cells.of_profile >= 0
    np.add.at(in_cell, cells.of_profile[held], true[held])
    free = {
        (cell, had): _keeping(labels, leaves[leaves >= 0], had)
        for cell, leaves in enumerate(cells.leaves)
        for had in np.flatnonzero(in_cell[cell]).tolist()
    }
    exchanges = _Exchanges(labels, cells, in_cell)
    for (cell, had), is_free in free.items():
        for gained in np.flatnonzero(~is_free).tolist():
            is_free[gained] = exchanges.can_gain(cell, had, gained)
    for profile in np.flatnonzero(held).tolist():
        own, cell = true[profile], int(cells.of_profile[profile])
        for had in np.flatnonzero(own).tolist():
            is_free = free[cell, had] | (in_cell[cell] - own > 0)
            is_free[had] = False
            if is_free.any():
                reached_low[profile, had] = own[had] - 1
            reached_high[profile] = np.maximum(reached_high[profile], own + is_free)
    found = ConsistentTables(
        counts=counts,
        low=np.zeros_like(true),
        high=np.repeat(counts[:, None], true.shape[1], axis=1),
        reached_low=reached_low,
        reached_high=reached_high,
        consistency=Consistency.CONSISTENT,
        enumeration=TableEnumeration(NOT_COUNTED, NOT_COUNTED),
    )
    return found.leaving((AS_DRAWN,))


def _keeping(labels: LeafLabels, leaves: IndexArray, had: int) -> BoolArray:
    """Return to which classes one person of some leaves can go so that every true label stays the commonest, (k,)."""
    counts, drawn = labels.counts[leaves], labels.labels[leaves]
    places = np.arange(len(leaves))
    is_true = counts[places, drawn] >= counts.max(axis=1)
    classes = counts.shape[1]
    kept = np.ones(classes, dtype=bool)
    for gained in range(classes):
        moved = counts.copy()
        moved[:, had] -= 1
        moved[:, gained] += 1
        stays = moved[places, drawn] >= moved.max(axis=1)
        kept[gained] = bool((stays | ~is_true).all())
    return kept


MOST_EXCHANGES = 50_000
"""So many pairs of people at most are tried for tables that keep all true labels: some seconds."""


class _Exchanges:
    """Tables in which two people of different leaves have other classes, and every true label stays the commonest."""

    def __init__(self, labels: LeafLabels, cells: _Cells, in_cell: IntArray) -> None:
        self.labels, self.cells, self.in_cell = labels, cells, in_cell
        counts, drawn = labels.counts, labels.labels
        self.is_true = counts[np.arange(len(drawn)), drawn] >= counts.max(axis=1, initial=0)
        self.cells_of_leaf = defaultdict[int, list[int]](list)
        for cell, leaves in enumerate(cells.leaves.tolist()):
            for leaf in leaves:
                if leaf >= 0:
                    self.cells_of_leaf[leaf].append(cell)
        self.tries = 0

    def can_gain(self, cell: int, had: int, gained: int) -> bool:
        """Return whether one person of a cell can have another class where somebody of another cell has one too."""
        self.tries += 1
        if self.tries > MOST_EXCHANGES:
            return False
        broken = self._broken([(cell, had, gained)])
        others = dict.fromkeys(other for leaf in broken for other in self.cells_of_leaf[leaf])
        classes = range(self.in_cell.shape[1])
        moves = [(gained, new) for new in classes if new != gained]
        moves += [(old, had) for old in classes if old not in (had, gained)]
        for other in others:
            for old, new in moves:
                if other == cell or not self.in_cell[other, old]:
                    continue
                self.tries += 1
                if self.tries > MOST_EXCHANGES:
                    return False
                if not self._broken([(cell, had, gained), (other, old, new)]):
                    return True
        return False

    def _broken(self, moves: Sequence[tuple[int, int, int]]) -> list[int]:
        """Return the leaves whose true label is not the commonest once people of cells have another class."""
        changed: dict[int, FloatArray] = {}
        for cell, old, new in moves:
            for leaf in self.cells.leaves[cell].tolist():
                if leaf >= 0:
                    counts = changed.setdefault(leaf, self.labels.counts[leaf].copy())
                    counts[old] -= 1
                    counts[new] += 1
        return [
            leaf
            for leaf, counts in changed.items()
            if self.is_true[leaf] and counts[self.labels.labels[leaf]] < counts.max()
        ]
