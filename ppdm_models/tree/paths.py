"""Paths through a tree in words: all that must hold for a record to come to a node, as few conditions as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    NumericTest,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
    exactly,
    text,
)
from treewarden.ppdm_models.tree.tree import Node, Tree

# Thresholds in as few digits as reading needs: six, and as many more as tell those apart that stand together.
#
# Learners write the middle between two values with all digits that a number has: 2.449999988079071 for 2.45. Rounded
# text is for people; a program takes the number itself.

FEWEST_DIGITS = 6
MOST_DIGITS = 17
NOTHING = 1e-34
"""An end this near to 0 is 0 to who reads it, unless there are several: LightGBM writes 1e-35 for it."""
KEPT = 50_000
"""Numbers that are kept in digits: paths of a tree say the same ones again and again."""

Say = Callable[[str, float], str]
"""How a threshold of a feature is said."""
NO_WORDS: Mapping[float, str] = {}


def rounded(tests: Iterable[Predicate]) -> Say:
    """Return how to say the thresholds of tests that are read together: different ones never look the same."""
    said = {name: _word_thresholds(values) for name, values in _ends_by_feature(tests).items()}
    return lambda name, value: said.get(name, NO_WORDS).get(value) or number_text(value)


def _word_thresholds(values: Collection[float]) -> Mapping[float, str]:
    """Return in words the thresholds of one feature that are read together."""
    ordered = sorted(values)
    apart = [_digits_apart(low, high) for low, high in zip(ordered, ordered[1:], strict=False)]
    said = {
        value: _in_digits(value, max(FEWEST_DIGITS, below, above))
        for value, below, above in zip(ordered, [0, *apart], [*apart, 0], strict=True)
    }
    nothing = [value for value in values if abs(value) <= NOTHING]
    if len(nothing) == 1:
        said[nothing[0]] = "0"
    return said


def _ends_by_feature(tests: Iterable[Predicate]) -> dict[str, set[float]]:
    ends: dict[str, set[float]] = {}
    for test in tests:
        for name, value in _ends(test):
            ends.setdefault(name, set()).add(value)
    return ends


def _ends(test: Predicate) -> Iterator[tuple[str, float]]:
    if isinstance(test, NumericTest):
        for end in (test.low, test.high):
            if math.isfinite(end):
                yield test.feature, end
    elif isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        for part in test.parts:
            yield from _ends(part)
    elif isinstance(test, Refusal):
        yield from _ends(test.when)


@lru_cache(KEPT)
def _digits_apart(low: float, high: float) -> int:
    """Return with how many digits two numbers differ."""
    digits = FEWEST_DIGITS
    while digits < MOST_DIGITS and _in_digits(low, digits) == _in_digits(high, digits):
        digits += 1
    return digits


@lru_cache(KEPT)
def _in_digits(value: float, digits: int) -> str:
    """Return a number in so many significant digits, never fewer than stand before its point."""
    before = len(str(int(abs(value)))) if abs(value) < 1e15 else MOST_DIGITS
    return number_text(float(f"{value:.{max(digits, before)}g}"))


EVERYTHING = "all records"


def path_text(tree: Tree, index: int, *, exact: bool = False) -> str:
    """Return what leads to a node: ``30 < age ≤ 40 and sex = F``; intervals and sets of one feature are merged.

    Children are tried in order, so what an earlier sibling takes is excluded where the node's own test allows it.
    Thresholds are rounded for reading, unless ``exact``.
    """
    path, siblings = _PathText(), list[Node]()
    for node in tree.path(index):
        path = path.into(node, siblings)
        if node.index != index:
            siblings = [tree.nodes[child] for child in node.children]
            path = path.beside(siblings)
    return path.text(exact=exact)


def path_texts(tree: Tree) -> list[str]:
    """Return the same of every node, in document order: each path goes on from that of its parent."""
    said = [""] * len(tree.nodes)
    open_paths = [(tree.root, _PathText().into(tree.root, []))]
    while open_paths:
        node, path = open_paths.pop()
        said[node.index] = path.text()
        siblings = [tree.nodes[child] for child in node.children]
        path = path.beside(siblings)
        open_paths += ((child, path.into(child, siblings)) for child in siblings)
    return said


@dataclass(frozen=True, slots=True)
class _PathText:
    """What must hold from the root on: tests ``merged`` by feature, and others, of each how its text is framed.

    ``ends`` are the thresholds that are tested on the way, by feature, and ``words`` how they are said.
    """

    ends: Mapping[str, Collection[float]] = field(default_factory=dict)
    words: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    merged: Mapping[tuple[type, str], NumericTest | CategoryTest] = field(default_factory=dict)
    others: tuple[tuple[Predicate, _TestFrame], ...] = ()

    def beside(self, siblings: Sequence[Node]) -> _PathText:
        """Return the path with the thresholds that the children of its last node test."""
        added = _ends_by_feature(sibling.test for sibling in siblings)
        if not added:
            return self
        ends = {name: {*self.ends.get(name, ()), *values} for name, values in added.items()}
        words = {name: _word_thresholds(values) for name, values in ends.items()}
        return replace(self, ends={**self.ends, **ends}, words={**self.words, **words})

    def into(self, node: Node, siblings: Sequence[Node]) -> _PathText:
        """Return the path to one of the children of its last node."""
        merged, others = dict(self.merged), list(self.others)
        for sibling in siblings:
            if sibling.index == node.index:
                break
            if not apart(sibling.test, node.test):
                others.append((sibling.test, _TestFrame.NOT))
        for part in _parts_of(node.test):
            if isinstance(part, NumericTest | CategoryTest):
                key = (type(part), part.feature)
                joint = both(merged[key], part) if key in merged else part
                if joint is None:
                    others.append((part, _TestFrame.NONE))
                else:
                    merged[key] = joint
            elif not isinstance(part, Always):
                others.append((part, _TestFrame.ALTERNATIVES))
        return replace(self, merged=merged, others=tuple(others))

    def text(self, *, exact: bool = False) -> str:
        """Return the path in words."""
        say = exactly if exact else self._say
        parts = [text(part, say) for part in self.merged.values()]
        parts += dict.fromkeys(frame.around(text(part, say)) for part, frame in self.others)
        return " and ".join(parts) or EVERYTHING

    def _say(self, name: str, value: float) -> str:
        return self.words.get(name, NO_WORDS).get(value) or number_text(value)


class _TestFrame(Enum):
    """What stands around the text of a test in a path."""

    NONE = "{}"
    NOT = "not ({})"
    ALTERNATIVES = "({})"

    def around(self, test_text: str) -> str:
        """Return the text in its frame; alternatives have one only where there are some."""
        is_bare = self is _TestFrame.ALTERNATIVES and " or " not in test_text
        return test_text if is_bare else self.value.format(test_text)


def _parts_of(test: Predicate) -> Iterator[Predicate]:
    """Yield the tests that must all hold for one to hold."""
    if not isinstance(test, AllOf):
        yield test
        return
    for part in test.parts:
        yield from _parts_of(part)


def apart(one: Predicate, second: Predicate) -> bool:
    """Return whether two tests plainly exclude each other."""
    if isinstance(one, NumericTest) and isinstance(second, NumericTest):
        return one.feature == second.feature and both(one, second) is None
    if isinstance(one, CategoryTest) and isinstance(second, CategoryTest):
        if one.feature != second.feature:
            return False
        if one.negated != second.negated:
            category_test, left_out = (second, one) if one.negated else (one, second)
            return set(category_test.values) <= set(left_out.values)
        return not one.negated and not set(one.values) & set(second.values)
    return False


def both(
    one: NumericTest | CategoryTest, second: NumericTest | CategoryTest
) -> NumericTest | CategoryTest | None:
    """Return the one test that says both of two about one attribute, or None where nothing passes both."""
    if isinstance(one, NumericTest) and isinstance(second, NumericTest):
        return _interval(one, second)
    if isinstance(one, CategoryTest) and isinstance(second, CategoryTest):
        return _category(one, second)
    return None


def _interval(one: NumericTest, second: NumericTest) -> NumericTest | None:
    low = max(one.low, second.low)
    high = min(one.high, second.high)
    low_closed = low > -math.inf and all(t.low_closed for t in (one, second) if t.low == low)
    high_closed = high < math.inf and all(t.high_closed for t in (one, second) if t.high == high)
    if low > high or (low == high and not (low_closed and high_closed)):
        return None
    return NumericTest(one.feature, low, high, low_closed, high_closed)


def _category(one: CategoryTest, second: CategoryTest) -> CategoryTest | None:
    if one.negated and second.negated:
        return CategoryTest(one.feature, one.values + second.values, negated=True)
    if one.negated:
        one, second = second, one
    values = tuple(v for v in one.values if (v in second.values) != second.negated)
    return CategoryTest(one.feature, values) if values else None
