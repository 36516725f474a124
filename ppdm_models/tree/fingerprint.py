"""Names for leaves that outlive files: the same in every format, however nodes and trees are numbered.

A fingerprint is a hash of what a record must be to stop at a node, and of what the model predicts: the conditions of
the path, merged by feature and sorted, their numbers in six digits (whole numbers in all of theirs). What the node
publishes is no part of it. Nodes of one model that differ in later digits only have names made of all digits. Nodes
that ask exactly the same, in several trees, have names that end in ``#2``, ``#3`` and so on: in the order of what else
is in their trees, whatever place these have in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import Numbers, parents_of, scores_of
from treewarden.ppdm_models.tree.paths import apart, both
from treewarden.ppdm_models.tree.plain_splits import Plain, on_32_bits, plain_of, single_ends
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
)
from treewarden.ppdm_models.tree.tree import Missing, NoTrueChild, Tree

# What must hold for a record to come to each leaf of a tree of plain splits, in text: an interval for each feature.
#
# The general way (``fingerprint``) makes a test for what holds at each node; here only the ends of intervals are
# carried down, with their texts, so that the millions of nodes of a forest take seconds.

Say = Callable[[float], str]
NO_END = "[]"


class _TextInterval(NamedTuple):
    """What a number of one feature must lie in, the ends in text, and the whole as JSON and as a text in JSON."""

    low: float = -math.inf
    has_low: bool = False
    low_text: str = NO_END
    high: float = math.inf
    has_high: bool = False
    high_text: str = NO_END
    text: str = ""
    item: str = ""


ANY = _TextInterval()


def paths_in_text(
    tree: Tree, say: Say, nodes: frozenset[int] | None = None
) -> list[tuple[int, str]] | None:
    """Return each leaf, or those ``nodes``, with the items of a JSON list of all that leads there, in their order.

    ``say`` is how an end is said; ends of 32-bit features are moved to 32-bit numbers. None: the tree has other splits
    than plain ones, or a path that nobody can take.
    """
    plain = plain_of(tree)
    if plain is None:
        return None
    moved = single_ends(plain.cuts, {feature.name for feature in tree.features if feature.single})
    if moved is None:
        return None
    found = []
    for leaf, way in _ways(plain, moved, say, _nodes_towards(plain, nodes)):
        if way is None:
            return None
        found.append(
            (leaf, ", ".join(text_interval.item for text_interval in sorted(way, key=_by_text)))
        )
    return found


def _by_text(interval: _TextInterval) -> str:
    return interval.text


def _nodes_towards(plain: Plain, nodes: frozenset[int] | None) -> list[bool] | None:
    """Return which nodes lead to those that are wanted, themselves included; None where all are."""
    if nodes is None:
        return None
    parents = plain.parents.tolist()
    asked = [False] * len(parents)
    for node in nodes:
        while node >= 0 and not asked[node]:
            asked[node] = True
            node = parents[node]
    return asked


def _ways(
    plain: Plain, ends: Numbers, say: Say, asked_nodes: list[bool] | None
) -> Iterator[tuple[int, list[_TextInterval] | None]]:
    """Yield each leaf with the intervals that lead there; None for one that nobody comes to, which ends it."""
    cuts, inner, parents = plain.cuts, plain.inner.tolist(), plain.parents.tolist()
    places, values = cuts.features.tolist(), ends.tolist()
    upper, closed = cuts.upper.tolist(), cuts.closed.tolist()
    names = [json.dumps(name) for name in cuts.names]
    ways: dict[int, Mapping[int, _TextInterval]] = {}
    for node, parent in enumerate(parents):
        if asked_nodes is not None and not asked_nodes[node]:
            continue
        way: Mapping[int, _TextInterval] = {}
        if parent >= 0:
            above, place = ways[parent], places[node]
            text_interval, end = above.get(place, ANY), values[node]
            inside = (
                _above(text_interval, end, not closed[node], names[place], say)
                if upper[node]
                else _below(text_interval, end, closed[node], names[place], say)
            )
            if inside is None:
                yield node, None
                return
            way = {**above, place: inside}
        if inner[node]:
            ways[node] = way
        else:
            yield node, list(way.values())


def _above(
    interval: _TextInterval, end: float, is_in: bool, name: str, say: Say
) -> _TextInterval | None:
    """Return what of an interval is above an end, which ``is_in`` or not; None where that is nothing."""
    if end < interval.low:
        return interval
    has = is_in and (end > interval.low or interval.has_low)
    if end > interval.high or (end == interval.high and not (has and interval.has_high)):
        return None
    low_text = _end(end, has, say)
    text, item = _texts(name, low_text, interval.high_text)
    return _TextInterval(
        low=end,
        has_low=has,
        low_text=low_text,
        high=interval.high,
        has_high=interval.has_high,
        high_text=interval.high_text,
        text=text,
        item=item,
    )


def _below(
    interval: _TextInterval, end: float, is_in: bool, name: str, say: Say
) -> _TextInterval | None:
    """Return what of an interval is below an end, which ``is_in`` or not; None where that is nothing."""
    if end > interval.high:
        return interval
    has = is_in and (end < interval.high or interval.has_high)
    if end < interval.low or (end == interval.low and not (has and interval.has_low)):
        return None
    high_text = _end(end, has, say)
    text, item = _texts(name, interval.low_text, high_text)
    return _TextInterval(
        low=interval.low,
        has_low=interval.has_low,
        low_text=interval.low_text,
        high=end,
        has_high=has,
        high_text=high_text,
        text=text,
        item=item,
    )


def _end(value: float, is_in: bool, say: Say) -> str:
    return f'["{say(value)}", {"true" if is_in else "false"}]'


def _texts(name: str, low_text: str, high_text: str) -> tuple[str, str]:
    """Return an interval of a feature as JSON, and that as a text in JSON."""
    text = f'["number", {name}, {low_text}, {high_text}]'
    return text, encode_basestring_ascii(text)


LETTERS = 24
"""How much of a hash is kept: so much that two paths are not made to share it in practice."""
DIGITS = 6
MOST_DIGITS = 17

Place = tuple[int, int]
"""A tree of the model and a node of it."""


def fingerprints(model: Model, target: str) -> tuple[tuple[str, ...], ...]:
    """Return the fingerprint of each node of each tree at which a record may stop; "" of all others.

    No two of them are the same. ``target`` is what the model predicts, as it is known: files do not all
    name it.
    """
    short: list[list[str]] = []
    seen, twice = set[str](), set[str]()
    for tree, tests in _parts(model):
        names = [""] * len(tree.nodes)
        for index, text in _leaf_texts(tree, tests, target, _in_short):
            name = _hash(text)
            names[index] = name
            (twice if name in seen else seen).add(name)
        short.append(names)
    if twice:
        _tell_apart(model, target, short, twice)
    return tuple(map(tuple, short))


@dataclass(frozen=True, slots=True)
class _Not:
    """A test does not hold, and no single test says so."""

    test: Predicate


@dataclass(frozen=True, slots=True)
class _PathTests:
    """What holds of who comes to a node: one test a feature where tests can be merged, and all others."""

    merged: Mapping[tuple[type, str], NumericTest | CategoryTest]
    others: tuple[Predicate | _Not, ...] = ()

    def and_(self, test: Predicate | _Not) -> _PathTests:
        """Return the way of those of whom a test holds besides."""
        if isinstance(test, AllOf):
            way = self
            for part in test.parts:
                way = way.and_(part)
            return way
        if isinstance(test, NumericTest | CategoryTest):
            key = (type(test), test.feature)
            joint = both(self.merged[key], test) if key in self.merged else test
            if joint is not None:
                return _PathTests({**self.merged, key: joint}, self.others)
        return self if isinstance(test, Always) else _PathTests(self.merged, (*self.others, test))

    def text(self, target: str, say: Say) -> str:
        """Return all of it in one text, the same in whatever order it was put together."""
        tests = {_text(test, say) for test in (*self.merged.values(), *self.others)}
        return json.dumps([target, *sorted(tests)])


def _parts(model: Model) -> Iterator[tuple[Tree, tuple[Predicate, ...]]]:
    """Yield the trees in the file's order, each with the tests that say for whom it speaks."""
    stack: list[tuple[object, tuple[Predicate, ...]]] = [(model, ())]
    while stack:
        part, tests = stack.pop()
        if isinstance(part, Tree):
            yield part, tuple(test for test in tests if not isinstance(test, Always))
        elif isinstance(part, Ensemble):
            stack.extend((member.model, (*tests, member.test)) for member in reversed(part.members))


def _leaf_texts(
    tree: Tree,
    tests: Sequence[Predicate],
    target: str,
    say: Say,
    nodes: frozenset[int] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield each node where records may stop, or those ``nodes``, with what holds of who does, in one text."""
    plain = None if tests or _stops_inside(tree) else paths_in_text(tree, say, nodes)
    if plain is not None:
        start = json.dumps(target)
        for index, items in plain:
            yield index, f"[{start}, {items}]" if items else f"[{start}]"
        return
    for index, way in _leaf_paths(on_32_bits(tree), tests):
        if nodes is None or index in nodes:
            yield index, way.text(target, say)


def _leaf_paths(tree: Tree, tests: Sequence[Predicate]) -> Iterator[tuple[int, _PathTests]]:
    """Yield each node where records may stop with what holds of them: at an inner one, none of its children's tests."""
    stops_inside = _stops_inside(tree)
    start = _PathTests({})
    for test in (*tests, tree.root.test):
        start = start.and_(test)
    stack = [(0, start)]
    while stack:
        index, way = stack.pop()
        children = [tree.nodes[child] for child in tree.nodes[index].children]
        are_apart = _are_all_apart([child.test for child in children])
        for place, child in enumerate(children):
            below = way
            for earlier in children[: 0 if are_apart else place]:
                if not apart(earlier.test, child.test):
                    below = below.and_(_negated(earlier.test))
            stack.append((child.index, below.and_(child.test)))
        if not children or stops_inside:
            for child in children:
                way = way.and_(_negated(child.test))
            yield index, way


def _are_all_apart(tests: Sequence[Predicate]) -> bool:
    """Return whether tests plainly exclude each other: each takes categories of one feature that no other takes.

    Most nodes of wide trees are so, and to compare each two of their children takes the square of these.
    """
    if not all(isinstance(test, CategoryTest) and not test.negated for test in tests):
        return False
    categories = [test for test in tests if isinstance(test, CategoryTest)]
    values = [value for test in categories for value in set(test.values)]
    return len({test.feature for test in categories}) == 1 and len(values) == len(set(values))


def _stops_inside(tree: Tree) -> bool:
    """Return whether records may stop at nodes that have children."""
    return (
        tree.missing is Missing.LAST_PREDICTION or tree.no_true_child is NoTrueChild.LAST_PREDICTION
    )


def _negated(test: Predicate) -> Predicate | _Not:
    """Return what holds where a test does not, for a record whose values are known."""
    if isinstance(test, Always | Never):
        return Never() if isinstance(test, Always) else Always()
    if isinstance(test, CategoryTest):
        return CategoryTest(test.feature, test.values, negated=not test.negated)
    if isinstance(test, MissingTest):
        return MissingTest(test.feature, negated=not test.negated)
    if isinstance(test, NumericTest):
        if test.low == -math.inf and test.high < math.inf:
            return NumericTest(test.feature, low=test.high, low_closed=not test.high_closed)
        if test.high == math.inf and test.low > -math.inf:
            return NumericTest(test.feature, high=test.low, high_closed=not test.low_closed)
    return _Not(test)


def _text(test: Predicate | _Not, say: Say) -> str:
    if isinstance(test, _Not):
        return json.dumps(["not", _text(test.test, say)])
    if isinstance(test, NumericTest):
        low = [say(test.low), test.low_closed] if test.low > -math.inf else []
        high = [say(test.high), test.high_closed] if test.high < math.inf else []
        return json.dumps(["number", test.feature, low, high])
    if isinstance(test, CategoryTest):
        return json.dumps(["category", test.feature, test.negated, test.values])
    if isinstance(test, MissingTest):
        return json.dumps(["missing", test.feature, test.negated])
    if isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        parts = [_text(part, say) for part in test.parts]
        ordered = parts if isinstance(test, Surrogate) else sorted(parts)
        return json.dumps([type(test).__name__, *ordered])
    if isinstance(test, Refusal):
        return json.dumps(["refusal", _text(test.when, say)])
    return json.dumps(type(test).__name__)


def _in_short(value: float) -> str:
    """Return a number in six digits; a larger one in those before the point, and one behind it."""
    digits = min(max(DIGITS, len(str(int(abs(value)))) + 1), MOST_DIGITS)
    return f"{value + 0.0:.{digits}g}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:LETTERS]


def _tell_apart(model: Model, target: str, short: list[list[str]], twice: Set[str]) -> None:
    """Give nodes that share a name, one of ``twice``, names of their own.

    One that differs in later digits has a name that nothing else ever gets, so that it is not taken for another once
    that is gone.
    """
    trees: list[_Twins] = []
    shared: dict[str, dict[str, list[Place]]] = {}
    for number, (tree, tests) in enumerate(_parts(model)):
        names = short[number]
        wanted = frozenset(index for index, name in enumerate(names) if name in twice)
        trees.append(_Twins(tree, tuple(names)))
        if not wanted:
            continue
        for index, text in _leaf_texts(tree, tests, f"exactly: {target}", number_text, wanted):
            shared.setdefault(names[index], {}).setdefault(_hash(text), []).append((number, index))
    for name, twins in shared.items():
        for digits, same in twins.items():
            base = name if len(twins) == 1 else digits
            if len(same) > 1:
                same.sort(key=lambda place: (*trees[place[0]].first(place[1]), *place))
            for count, (number, index) in enumerate(same, start=1):
                short[number][index] = base if count == 1 else f"{base}#{count}"


class _Twins:
    """A tree with nodes that others ask the same as: what decides which of them comes first."""

    def __init__(self, tree: Tree, names: tuple[str, ...]) -> None:
        """Take the tree, and the short names of its nodes."""
        self._tree, self._names = tree, names

    def first(self, index: int) -> tuple[bool, str, str]:
        """Return by what a node is sorted: leaves first, then by what is predicted, then by all else in its tree."""
        return index in self._inner, repr(self._scores[index]), self._scores_digest

    @cached_property
    def _inner(self) -> frozenset[int]:
        return frozenset(parents_of(self._tree.nodes).tolist())

    @cached_property
    def _scores(self) -> list[str | float | None]:
        return scores_of(self._tree.nodes)

    @cached_property
    def _scores_digest(self) -> str:
        return _hash(json.dumps(sorted(zip(self._names, map(repr, self._scores), strict=True))))
