"""Partial views: the paths down a tree that people can have taken, given the columns that an adversary knows.

A test on a known column sends a profile one way; a test on a hidden column sends it every way that is left to the
hidden value by the tests above. The tree is walked once for all profiles, with arrays of places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from treewarden.audit.partial.secret_values import ValueKinds
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tables.routing import prepared
from treewarden.ppdm_models.tree.column import Column, Columns
from treewarden.ppdm_models.tree.predicate import (
    Predicate,
    TestAnswer,
    answer,
    are_opposite,
    features_of,
    refusals,
    refused_by,
)
from treewarden.ppdm_models.tree.tree import Missing, NoTrueChild, Tree

Masks = Mapping[str, BoolArray]
"""By hidden column, which values of its domain a path leaves open; a column that no test asked about is not there."""
Parts = tuple[BoolArray, BoolArray | None, BoolArray]
"""What a test lets pass, what is treated as missing (None: nothing), and what goes on to the next test."""
FEW_VALUES = 1_000
"""Values of a hidden column up to which it is kept what tests make of them."""


@dataclass(frozen=True, slots=True)
class ImpliedValue:
    """What known columns imply of a hidden one: the value of the profiles where ``is_known``, (P,)."""

    column: Column
    is_known: BoolArray


@dataclass(frozen=True, slots=True)
class ReachablePath:
    """One way to stop at a node: which hidden values lead there, and the profiles that can have taken it."""

    node: int
    masks: Masks
    profiles: IndexArray


@dataclass(frozen=True, slots=True)
class TreeBranches:
    """A tree, the columns that each node's test reads, and the nodes whose test is opposite to the child's before."""

    tree: Tree
    reads: tuple[frozenset[str], ...]
    opposite: tuple[int, ...]

    def are_mixed(self, hidden: Collection[str]) -> bool:
        """Return whether some test asks about a hidden column and another one: what it leaves open is not exact."""
        return any(len(names) > 1 and not names.isdisjoint(hidden) for names in self.reads)


def branches(tree: Tree) -> TreeBranches:
    """Return what a walk down a tree needs of its tests."""
    nodes = tuple(tree.nodes)
    pairs = (pair for node in nodes for pair in pairwise(node.children))
    return TreeBranches(
        tree,
        tuple(frozenset(features_of(node.test)) for node in nodes),
        tuple(two for one, two in pairs if are_opposite(nodes[one].test, nodes[two].test)),
    )


@dataclass(frozen=True, slots=True)
class PartialView:
    """What is known of each of P profiles, as the tests of a tree see it, and what can be of the rest.

    Every column that the tree tests is among ``known`` or ``hidden``; ``guesses`` are of hidden ones. ``rest`` are the
    nodes that take everybody whom the child before lets by. ``answered`` is what tests make of the values of hidden
    columns, (D,) each, as far as it is worked out.
    """

    branches: TreeBranches
    known: Columns
    refused: Mapping[str, BoolArray]
    hidden: Mapping[str, ValueKinds]
    guesses: Mapping[str, ImpliedValue]
    size: int
    rest: frozenset[int]
    answered: dict[Predicate, Parts] = field(default_factory=dict, repr=False)

    @property
    def tree(self) -> Tree:
        """The tree that is walked."""
        return self.branches.tree

    def take(self, profiles: IndexArray) -> PartialView:
        """Return the same for some of the profiles."""
        guesses = {
            name: ImpliedValue(
                implied_value.column.take(profiles), implied_value.is_known[profiles]
            )
            for name, implied_value in self.guesses.items()
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
            if any(refusals(test)):
                taken = ~refused_by(test, {name: domain.seen}, len(domain))
                true, unknown, rest = found
                found = true & taken, None if unknown is None else unknown & taken, rest & taken
            if len(domain) <= FEW_VALUES:
                self.answered[test] = found
        return found

    def hiding(self, hidden: Mapping[str, ValueKinds]) -> PartialView:
        """Return who guesses nothing and to whom other columns are hidden; of those that are now, the domains stay."""
        rest = self.rest & _remaining_nodes(self.branches, _lacking(hidden))
        return replace(self, hidden=hidden, guesses={}, rest=rest)


def partial_view(
    tests: TreeBranches,
    known_columns: Columns,
    hidden: Mapping[str, ValueKinds],
    guesses: Mapping[str, ImpliedValue],
    size: int,
) -> PartialView:
    """Return what a walk needs, from columns as the table has them."""
    columns, refused = prepared(tests.tree.features, known_columns)
    features = {feature.name: feature for feature in tests.tree.features}
    ready = {
        name: ImpliedValue(
            prepared((features[name],), {name: implied_value.column})[0][name],
            implied_value.is_known,
        )
        for name, implied_value in guesses.items()
    }
    lacking = _lacking(hidden) | {name for name, column in columns.items() if column.missing.any()}
    return PartialView(
        branches=tests,
        known=columns,
        refused=refused,
        hidden=hidden,
        guesses=ready,
        size=size,
        rest=_remaining_nodes(tests, lacking),
    )


def _remaining_nodes(tests: TreeBranches, lacking: set[str]) -> frozenset[int]:
    """Return the nodes that take all whom the child before lets by, where values of some columns can be missing."""
    return frozenset(node for node in tests.opposite if tests.reads[node].isdisjoint(lacking))


def _lacking(hidden: Mapping[str, ValueKinds]) -> set[str]:
    """Return of which hidden columns a value can be missing."""
    return {name for name, domain in hidden.items() if domain.seen.missing.any()}


def reachable_paths(view: PartialView) -> Iterator[ReachablePath]:
    """Yield every way to stop in the tree that some profile can have taken; a node may come up several times."""
    tree = view.tree
    everybody = np.arange(view.size, dtype=np.intp)
    entered, _, _ = _test_passers(view, 0, everybody, {})
    pending = [(0, *entered)]
    while pending:
        index, rows, masks = pending.pop()
        if not len(rows):
            continue
        node = tree.nodes[index]
        if node.is_leaf:
            yield ReachablePath(index, masks, rows)
            continue
        for child in node.children:
            if child in view.rest:
                pending.append((child, rows, masks))
                rows = rows[:0]
                break
            way, lost, (rows, masks) = _test_passers(view, child, rows, masks)
            pending.append((child, *way))
            if tree.missing is Missing.LAST_PREDICTION and len(lost[0]):
                yield ReachablePath(index, lost[1], lost[0])
            elif tree.missing is Missing.DEFAULT_CHILD and node.default_child is not None:
                pending.append((node.default_child, *lost))
            if not len(rows):
                break
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION and len(rows):
            yield ReachablePath(index, masks, rows)


Way = tuple[IndexArray, Masks]
"""Profiles, and what their hidden values can be."""


def _test_passers(
    view: PartialView, node: int, rows: IndexArray, masks: Masks
) -> tuple[Way, Way, Way]:
    """Return who can pass a node's test, of whom it can be unknown, and who can be left for the next one."""
    test, names = view.tree.nodes[node].test, view.branches.reads[node]
    if names.isdisjoint(view.hidden):
        for name in names & view.refused.keys():
            rows = rows[~view.refused[name][rows]]
        if any(refusals(test)):
            known = {name: view.known[name].take(rows) for name in names}
            rows = rows[~refused_by(test, known, len(rows))]
        test_answer = answer(test, {name: view.known[name].take(rows) for name in names}, len(rows))
        ways = [(_those(rows, part), masks) for part in _parts(view.tree, test_answer)]
        return ways[0], ways[1], ways[2]
    if len(names) > 1:
        return (rows, masks), (rows, masks), (rows, masks)
    (name,) = names
    able = _guessed(view, test, name, rows)
    left = masks[name] if name in masks else ~view.hidden[name].refused
    ways = [
        _narrowed(name, masks, left, part, own)
        for part, own in zip(view.values(test, name), able, strict=True)
    ]
    return ways[0], ways[1], ways[2]


def _guessed(
    view: PartialView, test: Predicate, name: str, rows: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return whom a guess of their hidden value lets pass, leaves unknown, and leaves for the next test."""
    guess = view.guesses.get(name)
    free = None if guess is None else ~guess.is_known[rows]
    if guess is None or free is None or free.all():
        return rows, rows, rows
    test_answer = answer(test, {name: guess.column.take(rows)}, len(rows))
    true, unknown, rest = _parts(view.tree, test_answer)
    return (
        _those(rows, true | free),
        _those(rows, free if unknown is None else unknown | free),
        _those(rows, rest | free),
    )


def _parts(tree: Tree, test_answer: TestAnswer) -> Parts:
    if tree.missing is Missing.NONE or not test_answer.unknown.any():
        return test_answer.true, None, ~test_answer.true
    return test_answer.true, test_answer.unknown, ~test_answer.true & ~test_answer.unknown


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
