"""Paths through a tree in words: all that must hold for a record to come to a node, as few conditions as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

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


def rounded(tests: Iterable[Predicate]) -> Say:
    """Return how to say the thresholds of tests that are read together: different ones never look the same."""
    ends: dict[str, set[float]] = {}
    for test in tests:
        for name, value in _ends(test):
            ends.setdefault(name, set()).add(value)
    said: dict[tuple[str, float], str] = {}
    for name, values in ends.items():
        ordered = sorted(values)
        apart = [_digits_apart(low, high) for low, high in zip(ordered, ordered[1:], strict=False)]
        for value, below, above in zip(ordered, [0, *apart], [*apart, 0], strict=True):
            said[name, value] = _in_digits(value, max(FEWEST_DIGITS, below, above))
        nothing = [value for value in values if abs(value) <= NOTHING]
        if len(nothing) == 1:
            said[name, nothing[0]] = "0"
    return lambda name, value: said.get((name, value)) or number_text(value)


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
    way = _way(tree, index)
    tests = (sibling.test for _, siblings in way for sibling in siblings)
    say = exactly if exact else rounded(tests)
    merged: dict[tuple[type, str], NumericTest | CategoryTest] = {}
    others: list[str] = []
    for part in _conditions(way, say):
        if isinstance(part, str):
            others.append(part)
        elif isinstance(part, NumericTest | CategoryTest):
            key = (type(part), part.feature)
            joint = both(merged[key], part) if key in merged else part
            if joint is None:
                others.append(text(part, say))
            else:
                merged[key] = joint
        elif not isinstance(part, Always):
            said = text(part, say)
            others.append(f"({said})" if " or " in said else said)
    parts = [text(part, say) for part in merged.values()] + list(dict.fromkeys(others))
    return " and ".join(parts) or EVERYTHING


def _way(tree: Tree, index: int) -> list[tuple[Node, list[Node]]]:
    """Return the nodes from the root down to one, each with all children of its parent; the root with none."""
    path = tree.path(index)
    below = ([tree.nodes[child] for child in node.children] for node in path)
    return list(zip(path, chain([[]], below), strict=False))


def _conditions(way: Sequence[tuple[Node, list[Node]]], say: Say) -> Iterator[Predicate | str]:
    for node, siblings in way:
        for sibling in siblings:
            if sibling.index == node.index:
                break
            if not apart(sibling.test, node.test):
                yield f"not ({text(sibling.test, say)})"
        parts = [node.test]
        while parts:
            part = parts.pop(0)
            if isinstance(part, AllOf):
                parts[:0] = part.parts
            else:
                yield part


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
