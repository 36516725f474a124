"""The ways down a tree that people can have taken, for all that somebody knows who knows only some columns of them.

A test on a known column sends a profile one way; a test on a hidden column sends it every way that is left to the
hidden value by the tests above. The tree is walked once for all profiles, with arrays of places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import prepared
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
    TestAnswer,
    answer,
    are_opposite,
    atoms,
    features_of,
    refusals,
    refused_by,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    NoTrueChild,
    Tree,
)

# The values that a hidden column can have, as a tree's tests see them, and how common each is in the table.


@dataclass(frozen=True, slots=True)
class ValueKinds:
    """What values a column can have, D of them, one of each kind that the tests of a tree tell apart.

    ``values`` are as the table has them, ``seen`` as the tests see them; ``refused`` are values that the model refuses
    where it is asked about them. ``share`` (D,) is how many people have each, 0 for what nobody in the table has but
    somebody could. ``of`` (P,) is the place of each profile's value.
    """

    values: Column
    seen: Column
    refused: BoolArray
    share: FloatArray
    of: IndexArray

    def __len__(self) -> int:
        return len(self.share)


Test = NumericTest | CategoryTest | MissingTest
"""A test of one column."""


def asked_by(trees: Iterable[Tree]) -> defaultdict[str, set[Test]]:
    """Return the tests of each column that trees hold, by its name."""
    found: defaultdict[str, set[Test]] = defaultdict(set)
    for part in (part for tree in trees for node in tree.nodes for part in atoms(node.test)):
        if isinstance(part, Test):
            found[part.feature].add(part)
    return found


def domain_of(
    tests: Collection[Test],
    feature: Feature,
    column: Column,
    counts: FloatArray,
    cuts: Iterable[float] = (),
) -> ValueKinds:
    """Return the domain of one column, given that of each profile and how many people have the profile, (P,) each.

    ``tests`` are those of the column; ``cuts`` are further ends at which numbers are told apart. Whoever sees that all
    numbers of a column are whole takes the others for whole too.
    """
    values, of = (
        _numbers(tests, feature, column, cuts)
        if isinstance(column, NumericColumn)
        else _categories(feature, column)
    )
    columns, invalid = prepared((feature,), {feature.name: values})
    share = np.bincount(of, counts, len(values)).astype(np.float64)
    refused = invalid.get(feature.name, np.zeros(len(values), dtype=bool))
    return ValueKinds(values, columns[feature.name], refused, share, of)


def told_apart(trees: Sequence[Tree], columns: Mapping[str, Column]) -> dict[str, IndexArray]:
    """Return the place of each value, (P,), among those that the tests of trees tell apart, by column."""
    found, tests = {}, asked_by(trees)
    for feature in dict.fromkeys(each for tree in trees for each in tree.used_features()):
        if feature.name in columns:
            seen, refused = prepared((feature,), {feature.name: columns[feature.name]})
            places = _places(seen[feature.name], tests[feature.name])
            bad = refused.get(feature.name)
            found[feature.name] = places if bad is None else np.where(bad, places.max() + 1, places)
    return found


def _places(column: Column, tests: Collection[Test]) -> IndexArray:
    """Return the place of each value among those that these tests of its column answer differently."""
    if isinstance(column, NumericColumn):
        # An end parts numbers before it, or behind it: it belongs to one side.
        numeric_tests = [test for test in tests if isinstance(test, NumericTest)]
        before = [numeric_test.low for numeric_test in numeric_tests if numeric_test.low_closed]
        before += [
            numeric_test.high for numeric_test in numeric_tests if not numeric_test.high_closed
        ]
        behind = [numeric_test.low for numeric_test in numeric_tests if not numeric_test.low_closed]
        behind += [numeric_test.high for numeric_test in numeric_tests if numeric_test.high_closed]
        places = np.searchsorted(np.unique(before), column.numbers, side="right")
        places += np.searchsorted(np.unique(behind), column.numbers, side="left")
        return np.asarray(
            np.where(column.missing, places.max(initial=0) + 1, places), dtype=np.intp
        )
    names = CategoricalColumn(np.arange(-1, len(column.categories)), column.categories)
    test_answers = [answer(test, {test.feature: names}, len(names)) for test in tests]
    table = np.array(
        [row for test_answer in test_answers for row in (test_answer.true, test_answer.unknown)],
        dtype=bool,
    )
    places = np.unique(table.T, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(places[column.codes + 1], dtype=np.intp)


def _categories(feature: Feature, column: CategoricalColumn) -> tuple[Column, IndexArray]:
    names = (
        *column.categories,
        *(each for each in feature.values if each not in column.categories),
    )
    lacks = column.codes < 0
    codes = np.arange(len(names) + bool(lacks.any()), dtype=np.int64)
    codes[len(names) :] = -1
    of = np.where(lacks, len(names), column.codes).astype(np.intp)
    return CategoricalColumn(codes, names), of


def _numbers(
    tests: Collection[Test], feature: Feature, column: NumericColumn, cuts: Iterable[float]
) -> tuple[Column, IndexArray]:
    own = np.unique(column.numbers[~column.missing])
    found = (test for test in tests if isinstance(test, NumericTest))
    ends = {
        end
        for numeric_test in found
        for end in (numeric_test.low, numeric_test.high)
        if np.isfinite(end)
    }
    ends |= {*cuts, *_treated(feature)}
    between = _between(np.array(sorted(ends)), is_whole=bool((own == np.rint(own)).all()))
    values = np.union1d(own, between)
    of = np.searchsorted(values, column.numbers).astype(np.intp)
    if column.missing.any():
        of[column.missing] = len(values)
        values = np.append(values, np.nan)
    return NumericColumn(values), of


def _treated(feature: Feature) -> set[float]:
    """Return the numbers that a model treats otherwise than those next to them."""
    ends = [
        end
        for treatment in feature.treatments
        for end in (
            treatment.low,
            treatment.high,
            *(end for low, _, high, _ in treatment.intervals for end in (low, high)),
            *treatment.values,
            *treatment.invalid,
            *treatment.missing,
        )
    ]
    return {float(end) for end in ends if not isinstance(end, str) and np.isfinite(end)}


def _between(ends: FloatArray, *, is_whole: bool) -> FloatArray:
    """Return the ends, and a number in each gap between them and on either side: whole ones only, where all are."""
    if not len(ends):
        return np.zeros(0)
    outside = np.array([np.floor(ends[0]) - 1, np.ceil(ends[-1]) + 1])
    if not is_whole:
        return np.concatenate([ends, ends[:-1] / 2 + ends[1:] / 2, outside])
    first = np.floor(ends) + 1  # the first whole number behind an end
    inside = first[:-1][first[:-1] <= ends[1:]]
    return np.concatenate([ends[ends == np.rint(ends)], inside, outside])


Masks = Mapping[str, BoolArray]
"""By hidden column, which values of its domain a path leaves open; a column that no test asked about is not there."""
Parts = tuple[BoolArray, BoolArray | None, BoolArray]
"""What a test lets pass, what is treated as missing (None: nothing), and what goes on to the next test."""
FEW_VALUES = 1_000
"""Values of a hidden column up to which it is kept what tests make of them."""


@dataclass(frozen=True, slots=True)
class ImpliedValue:
    """What somebody knows of a hidden column without being told: the value of the profiles where ``is_known``, (P,)."""

    column: Column
    is_known: BoolArray


@dataclass(frozen=True, slots=True)
class PossibleStop:
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
class Knower:
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

    def of(self, profiles: IndexArray) -> Knower:
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

    def hiding(self, hidden: Mapping[str, ValueKinds]) -> Knower:
        """Return who guesses nothing and to whom other columns are hidden; of those that are now, the domains stay."""
        rest = self.rest & _remaining_nodes(self.branches, _lacking(hidden))
        return replace(self, hidden=hidden, guesses={}, rest=rest)


def knower(
    tests: TreeBranches,
    known: Columns,
    hidden: Mapping[str, ValueKinds],
    guesses: Mapping[str, ImpliedValue],
    size: int,
) -> Knower:
    """Return what a walk needs, from columns as the table has them."""
    columns, refused = prepared(tests.tree.features, known)
    features = {feature.name: feature for feature in tests.tree.features}
    ready = {
        name: ImpliedValue(
            prepared((features[name],), {name: implied_value.column})[0][name],
            implied_value.is_known,
        )
        for name, implied_value in guesses.items()
    }
    lacking = _lacking(hidden) | {name for name, column in columns.items() if column.missing.any()}
    return Knower(tests, columns, refused, hidden, ready, size, _remaining_nodes(tests, lacking))


def _remaining_nodes(tests: TreeBranches, lacking: set[str]) -> frozenset[int]:
    """Return the nodes that take all whom the child before lets by, where values of some columns can be missing."""
    return frozenset(node for node in tests.opposite if tests.reads[node].isdisjoint(lacking))


def _lacking(hidden: Mapping[str, ValueKinds]) -> set[str]:
    """Return of which hidden columns a value can be missing."""
    return {name for name, domain in hidden.items() if domain.seen.missing.any()}


def places(who: Knower) -> Iterator[PossibleStop]:
    """Yield every way to stop in the tree that some profile can have taken; a node may come up several times."""
    tree = who.tree
    everybody = np.arange(who.size, dtype=np.intp)
    entered, _, _ = _test_passers(who, 0, everybody, {})
    pending = [(0, *entered)]
    while pending:
        index, rows, masks = pending.pop()
        if not len(rows):
            continue
        node = tree.nodes[index]
        if node.is_leaf:
            yield PossibleStop(index, masks, rows)
            continue
        for child in node.children:
            if child in who.rest:
                pending.append((child, rows, masks))
                rows = rows[:0]
                break
            way, lost, (rows, masks) = _test_passers(who, child, rows, masks)
            pending.append((child, *way))
            if tree.missing is Missing.LAST_PREDICTION and len(lost[0]):
                yield PossibleStop(index, lost[1], lost[0])
            elif tree.missing is Missing.DEFAULT_CHILD and node.default_child is not None:
                pending.append((node.default_child, *lost))
            if not len(rows):
                break
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION and len(rows):
            yield PossibleStop(index, masks, rows)


Way = tuple[IndexArray, Masks]
"""Profiles, and what their hidden values can be."""


def _test_passers(who: Knower, node: int, rows: IndexArray, masks: Masks) -> tuple[Way, Way, Way]:
    """Return who can pass a node's test, of whom it can be unknown, and who can be left for the next one."""
    test, names = who.tree.nodes[node].test, who.branches.reads[node]
    if names.isdisjoint(who.hidden):
        for name in names & who.refused.keys():
            rows = rows[~who.refused[name][rows]]
        if any(refusals(test)):
            known = {name: who.known[name].take(rows) for name in names}
            rows = rows[~refused_by(test, known, len(rows))]
        test_answer = answer(test, {name: who.known[name].take(rows) for name in names}, len(rows))
        ways = [(_those(rows, part), masks) for part in _parts(who.tree, test_answer)]
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
    test_answer = answer(test, {name: guess.column.take(rows)}, len(rows))
    true, unknown, rest = _parts(who.tree, test_answer)
    return (
        _those(rows, true | free),
        _those(rows, free if unknown is None else unknown | free),
        _those(rows, rest | free),
    )


def _parts(tree: Tree, said: TestAnswer) -> Parts:
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
