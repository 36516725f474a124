"""Where in a tree a person can be, for all that somebody knows who knows only some columns of them.

A test on a known column sends a profile one way; a test on a hidden column sends it every way that is left to the
hidden value by the tests above. The tree is walked once for all profiles, with arrays of places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from audit.partial.domains import Domain
from ppdm_models.arrays import BoolArray, IndexArray
from ppdm_models.records.routing import prepared
from ppdm_models.tree.column import Column, Columns
from ppdm_models.tree.predicate import Answer, Predicate, answer, are_opposite, features_of
from ppdm_models.tree.tree import Missing, NoTrueChild, Tree

Masks = Mapping[str, BoolArray]
"""By hidden column, which values of its domain a path leaves open; a column that no test asked about is not there."""
Parts = tuple[BoolArray, BoolArray | None, BoolArray]
"""What a test lets pass, what is treated as missing (None: nothing), and what goes on to the next test."""
MOST_KEPT = 4_000_000
"""Profiles at places that are kept at a time."""
FEW_VALUES = 1_000
"""Values of a hidden column up to which it is kept what tests make of them."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What somebody knows of a hidden column without being told: the value of the profiles where ``is_known``, (P,)."""

    column: Column
    is_known: BoolArray


@dataclass(frozen=True, slots=True)
class Place:
    """One way to stop at a node: which hidden values lead there, and the profiles that can have taken it."""

    node: int
    masks: Masks
    profiles: IndexArray


@dataclass(frozen=True, slots=True)
class Branches:
    """A tree, the columns that each node's test reads, and the nodes whose test is opposite to the child's before."""

    tree: Tree
    reads: tuple[frozenset[str], ...]
    opposite: tuple[int, ...]


def branches(tree: Tree) -> Branches:
    """Return what a walk down a tree needs of its tests."""
    nodes = tuple(tree.nodes)
    pairs = (pair for node in nodes for pair in pairwise(node.children))
    return Branches(
        tree,
        tuple(frozenset(features_of(node.test)) for node in nodes),
        tuple(two for one, two in pairs if are_opposite(nodes[one].test, nodes[two].test)),
    )


@dataclass(frozen=True, slots=True)
class Knower:
    """What is known of each of P profiles, as the tests of a tree see it, and what can be of the rest.

    Every column that the tree tests is among ``known`` or ``hidden``; ``guesses`` are of hidden ones. ``rest`` are the
    nodes that take everybody whom the child before lets by. ``answered`` is what tests make of the values of hidden
    columns, (D,) each, as far as it is worked out.
    """

    branches: Branches
    known: Columns
    refused: Mapping[str, BoolArray]
    hidden: Mapping[str, Domain]
    guesses: Mapping[str, Guess]
    size: int
    rest: frozenset[int]
    answered: dict[Predicate, Parts] = field(default_factory=dict, repr=False)

    @property
    def tree(self) -> Tree:
        """The tree that is walked."""
        return self.branches.tree

    def of(self, profiles: IndexArray) -> Knower:
        """Return the same for some of the profiles."""
        guesses = {
            name: Guess(each.column.take(profiles), each.is_known[profiles])
            for name, each in self.guesses.items()
        }
        return replace(
            self,
            known={name: column.take(profiles) for name, column in self.known.items()},
            refused={name: bad[profiles] for name, bad in self.refused.items()},
            guesses=guesses,
            size=len(profiles),
        )

    def values(self, test: Predicate, name: str) -> Parts:
        """Return what a test makes of the values that a hidden column can have, (D,) each."""
        found = self.answered.get(test)
        if found is None:
            domain = self.hidden[name]
            found = _parts(self.tree, answer(test, {name: domain.seen}, len(domain)))
            if len(domain) <= FEW_VALUES:
                self.answered[test] = found
        return found

    def hiding(self, hidden: Mapping[str, Domain]) -> Knower:
        """Return who guesses nothing and to whom other columns are hidden; of those that are now, the domains stay."""
        rest = self.rest & _rest(self.branches, _lacking(hidden))
        return replace(self, hidden=hidden, guesses={}, rest=rest)


def knower(
    tests: Branches,
    known: Columns,
    hidden: Mapping[str, Domain],
    guesses: Mapping[str, Guess],
    size: int,
) -> Knower:
    """Return what a walk needs, from columns as the table has them."""
    seen, refused = prepared(tests.tree.features, known)
    features = {feature.name: feature for feature in tests.tree.features}
    ready = {
        name: Guess(prepared((features[name],), {name: each.column})[0][name], each.is_known)
        for name, each in guesses.items()
    }
    lacking = _lacking(hidden) | {name for name, column in seen.items() if column.missing.any()}
    return Knower(tests, seen, refused, hidden, ready, size, _rest(tests, lacking))


def _rest(tests: Branches, lacking: set[str]) -> frozenset[int]:
    """Return the nodes that take all whom the child before lets by, where values of some columns can be missing."""
    return frozenset(node for node in tests.opposite if tests.reads[node].isdisjoint(lacking))


def _lacking(hidden: Mapping[str, Domain]) -> set[str]:
    """Return of which hidden columns a value can be missing."""
    return {name for name, domain in hidden.items() if domain.seen.missing.any()}


def is_mixed(tree: Tree, hidden: Mapping[str, object]) -> bool:
    """Return whether some test asks about a hidden column and another one at once: what it leaves open is not exact."""
    tests = (set(features_of(node.test)) for node in tree.nodes)
    return any(len(names) > 1 and names & hidden.keys() for names in tests)


def places(who: Knower) -> Iterator[Place]:
    """Yield every way to stop in the tree that some profile can have taken; a node may come up several times."""
    tree = who.tree
    everybody = np.arange(who.size, dtype=np.intp)
    entered, _, _ = _asked(who, 0, everybody, {})
    pending = [(0, *entered)]
    while pending:
        index, rows, masks = pending.pop()
        if not len(rows):
            continue
        node = tree.nodes[index]
        if node.is_leaf:
            yield Place(index, masks, rows)
            continue
        for child in node.children:
            if child in who.rest:
                pending.append((child, rows, masks))
                rows = rows[:0]
                break
            taken, lost, (rows, masks) = _asked(who, child, rows, masks)
            pending.append((child, *taken))
            if tree.missing is Missing.LAST_PREDICTION and len(lost[0]):
                yield Place(index, lost[1], lost[0])
            elif tree.missing is Missing.DEFAULT_CHILD and node.default_child is not None:
                pending.append((node.default_child, *lost))
            if not len(rows):
                break
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION and len(rows):
            yield Place(index, masks, rows)


Way = tuple[IndexArray, Masks]
"""Profiles, and what their hidden values can be."""


def _asked(who: Knower, node: int, rows: IndexArray, masks: Masks) -> tuple[Way, Way, Way]:
    """Return who can pass a node's test, of whom it can be unknown, and who can be left for the next one."""
    test, names = who.tree.nodes[node].test, who.branches.reads[node]
    if names.isdisjoint(who.hidden):
        for name in names & who.refused.keys():
            rows = rows[~who.refused[name][rows]]
        said = answer(test, {name: who.known[name].take(rows) for name in names}, len(rows))
        ways = [(_those(rows, part), masks) for part in _parts(who.tree, said)]
        return ways[0], ways[1], ways[2]
    if len(names) > 1:
        return (rows, masks), (rows, masks), (rows, masks)
    (name,) = names
    able = _guessed(who, test, name, rows)
    left = masks[name] if name in masks else ~who.hidden[name].refused
    ways = [
        _narrowed(name, masks, left, part, own)
        for part, own in zip(who.values(test, name), able, strict=True)
    ]
    return ways[0], ways[1], ways[2]


def _guessed(
    who: Knower, test: Predicate, name: str, rows: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return whom a guess of their hidden value lets pass, leaves unknown, and leaves for the next test."""
    guess = who.guesses.get(name)
    free = None if guess is None else ~guess.is_known[rows]
    if guess is None or free is None or free.all():
        return rows, rows, rows
    said = answer(test, {name: guess.column.take(rows)}, len(rows))
    true, unknown, rest = _parts(who.tree, said)
    return (
        _those(rows, true | free),
        _those(rows, free if unknown is None else unknown | free),
        _those(rows, rest | free),
    )


def _parts(tree: Tree, said: Answer) -> Parts:
    if tree.missing is Missing.NONE or not said.unknown.any():
        return said.true, None, ~said.true
    return said.true, said.unknown, ~said.true & ~said.unknown


def _those(rows: IndexArray, part: BoolArray | None) -> IndexArray:
    """Return some of the profiles; the very same ones where they are all."""
    number = 0 if part is None else np.count_nonzero(part)
    if number == len(rows):
        return rows
    return rows[part] if number else rows[:0]


def _narrowed(
    name: str, masks: Masks, left: BoolArray, part: BoolArray | None, rows: IndexArray
) -> Way:
    """Return profiles with what a part of a test's answers leaves of their hidden values; nobody where that is none."""
    both = None if part is None else left & part
    if both is None or not np.count_nonzero(both):
        return rows[:0], masks
    return rows, {**masks, name: both}


@dataclass(frozen=True, slots=True)
class Reach:
    """Who can stop where: profiles that can stop at the same nodes are lumped together.

    ``lump_of`` (P,) is the lump of each profile. Many nodes are reached by the same people: ``crowds`` (S, C) says
    which of S lumps are in each crowd, the last of which is nobody, and ``crowd_of`` (N,) who can stop at each node.
    """

    lump_of: IndexArray
    crowds: sparse.csr_array
    crowd_of: IndexArray

    def over(self, nodes: IndexArray) -> sparse.csr_array:
        """Return where each lump can stop among some nodes, shape (S, L)."""
        return sparse.csr_array(self.crowds[:, self.crowd_of[nodes]])

    def any_of(self, said: BoolArray) -> BoolArray:
        """Return whether something is so of some node where each lump can stop, (S, m), given of which, (N, m)."""
        of_crowd = np.zeros((self.crowds.shape[1], said.shape[1]))
        np.maximum.at(of_crowd, self.crowd_of, said)
        return np.asarray(self.crowds @ of_crowd) > 0


Stops = list[tuple[IndexArray, list[int]]]
"""Profiles that can stop at the same nodes, and these; a node may come up several times."""


def reach(who: Knower) -> Reach:
    """Return where each profile can stop.

    Profiles are lumped by two random 64-bit sums over their places. Where there are too many places to keep, one of
    each lump is walked again.
    """
    rng = np.random.default_rng(0)
    marks = rng.integers(1 << 63, size=(2, len(who.tree.nodes)), dtype=np.int64)
    sums, chunks = np.zeros((2, who.size), dtype=np.int64), 0
    for stops in _stops(who):
        rows, sizes = _profiles(stops)
        nodes = np.concatenate([each for _, each in stops])
        starts = np.cumsum([0, *(len(each) for _, each in stops)])[:-1]
        for own, mark in zip(sums, marks, strict=True):
            np.add.at(own, rows, np.repeat(np.add.reduceat(mark[nodes], starts), sizes))
        chunks += 1
    _, first, lump_of = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
    lump_of = lump_of.reshape(-1)
    if chunks == 1:
        place = np.full(who.size, -1, dtype=np.intp)
        place[first] = np.arange(len(first))
    else:
        stops = [each for chunk in _stops(who.of(first)) for each in chunk]
        place = np.arange(len(first))
    return Reach(lump_of, *_crowds(stops, place, len(first), len(who.tree.nodes)))


def _stops(who: Knower) -> Iterator[Stops]:
    """Yield who can stop where, many at a time; once at least."""
    found: dict[int, tuple[IndexArray, list[int]]] = {}
    number, nobody = 0, (np.zeros(0, dtype=np.intp), [0])
    for place in places(who):
        # Tests on hidden columns hand on the very same profiles.
        _, nodes = found.setdefault(id(place.profiles), (place.profiles, []))
        nodes.append(place.node)
        number += len(place.profiles) if len(nodes) == 1 else 0
        if number > MOST_KEPT:
            yield [*found.values()]
            found, number = {}, 0
    yield [*found.values()] or [nobody]


def _profiles(stops: Stops) -> tuple[IndexArray, list[int]]:
    """Return the profiles of all stops, one after the other, and how many each has."""
    return np.concatenate([rows for rows, _ in stops]), [len(rows) for rows, _ in stops]


def _crowds(
    stops: Stops, place: IndexArray, lumps: int, nodes: int
) -> tuple[sparse.csr_array, IndexArray]:
    """Return who is in which crowd, (lumps, C), and the crowd that can stop at each of so many nodes.

    ``place`` is the lump of a profile that stands for it, and -1 of the others.
    """
    rows, sizes = _profiles(stops)
    of = np.repeat(np.arange(len(stops)), sizes)
    is_first = place[rows] >= 0
    table = sparse.csr_array(
        (np.ones(int(is_first.sum())), (place[rows[is_first]], of[is_first])),
        shape=(lumps, len(stops)),
    )
    by_node: dict[int, list[int]] = {}
    for way, (_, own) in enumerate(stops):
        for node in own:
            by_node.setdefault(node, []).append(way)
    # Several ways lead to some nodes: whoever can take one of them is there.
    crowd: dict[tuple[int, ...], int] = {}
    crowd_of = np.full(nodes, -1, dtype=np.intp)
    for node, ways in by_node.items():
        crowd_of[node] = crowd.setdefault(tuple(ways), len(crowd))
    crowd_of[crowd_of < 0] = len(crowd)
    one = np.array([each for ways in crowd for each in ways])
    other = np.repeat(np.arange(len(crowd)), [len(ways) for ways in crowd])
    gather = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(len(stops), len(crowd) + 1))
    found = sparse.csr_array(table @ gather)
    found.data[:] = 1.0
    return found, crowd_of
