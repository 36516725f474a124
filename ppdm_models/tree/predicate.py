"""Tests on a record: what the branches of a tree ask, with missing values answered by "unknown"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    Columns,
    NumericColumn,
    number_text,
)


@dataclass(frozen=True, slots=True)
class TestAnswer:
    """What a test says of each record: true, or unknown, or (neither) false."""

    true: BoolArray
    unknown: BoolArray


@dataclass(frozen=True, slots=True)
class Always:
    """Holds for every record."""


@dataclass(frozen=True, slots=True)
class Never:
    """Holds for no record."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Has no answer for any record: what a test says of a computed field without a value."""


@dataclass(frozen=True, slots=True)
class NumericTest:
    """The value lies in an interval; either end open or closed, infinite ends open."""

    feature: str
    low: float = -math.inf
    high: float = math.inf
    low_closed: bool = False
    high_closed: bool = False

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high):
            raise ValueError(f"an end of the interval of {self.feature!r} is not a number")
        empty = self.low > self.high or (
            self.low == self.high and not (self.low_closed and self.high_closed)
        )
        if empty:
            raise ValueError(
                f"the interval of {self.feature!r} is empty: {self.low} to {self.high}"
            )
        if (math.isinf(self.low) and self.low_closed) or (
            math.isinf(self.high) and self.high_closed
        ):
            raise ValueError(
                f"an infinite end of the interval of {self.feature!r} cannot be closed"
            )


@dataclass(frozen=True, slots=True)
class CategoryTest:
    """The value is one of a set (or, negated, none of it)."""

    feature: str
    values: tuple[str, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError(f"the test on {self.feature!r} names no value")
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))


@dataclass(frozen=True, slots=True)
class MissingTest:
    """The value is missing (or, negated, present)."""

    feature: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """An odd number of parts holds (PMML's xor); unknown where one part is."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What the first part says that is not unknown (PMML's surrogate)."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Holds for no record; the model refuses those for which ``when`` holds, once it comes to ask this."""

    when: Predicate


Predicate = (
    Always
    | Never
    | Unknown
    | NumericTest
    | CategoryTest
    | MissingTest
    | AllOf
    | AnyOf
    | OneOf
    | Surrogate
    | Refusal
)
Atom = Always | Never | Unknown | NumericTest | CategoryTest | MissingTest


def features_of(test: Predicate) -> Iterator[str]:
    """Yield the attributes a test reads, in the order they are written."""
    for part in atoms(test):
        if not isinstance(part, Always | Never | Unknown):
            yield part.feature


def atoms(test: Predicate) -> Iterator[Atom]:
    """Yield the simple tests inside a test, left to right."""
    stack: list[Predicate] = [test]
    while stack:
        part = stack.pop()
        if isinstance(part, AllOf | AnyOf | OneOf | Surrogate):
            stack.extend(reversed(part.parts))
        elif isinstance(part, Refusal):
            stack.append(part.when)
        else:
            yield part


def are_opposite(one: Predicate, second: Predicate) -> bool:
    """Whether of every value that is there exactly one of two simple tests holds; False where that is not seen."""
    if isinstance(one, NumericTest) and isinstance(second, NumericTest):
        low, high = (one, second) if one.low == -math.inf else (second, one)
        return (
            low.feature == high.feature
            and low.low == -math.inf
            and low.high == high.low
            and low.high_closed != high.low_closed
            and high.high == math.inf
        )
    if isinstance(one, CategoryTest) and isinstance(second, CategoryTest):
        is_one_set = (one.feature, one.values) == (second.feature, second.values)
        return is_one_set and one.negated != second.negated
    return False


def answer(test: Predicate, columns: Columns, size: int) -> TestAnswer:
    """Ask a test of each of ``size`` records, by three-valued logic (PMML 4.4, TreeModel).

    Raises:
        KeyError: an attribute of the test is not among the columns.
    """
    if isinstance(test, Always | Never | Refusal):
        return TestAnswer(np.full(size, isinstance(test, Always)), np.zeros(size, dtype=bool))
    if isinstance(test, Unknown):
        return TestAnswer(np.zeros(size, dtype=bool), np.ones(size, dtype=bool))
    if isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        return _combined(test, [answer(part, columns, size) for part in test.parts])
    column = columns[test.feature]
    missing = column.missing
    if isinstance(test, MissingTest):
        return TestAnswer(~missing if test.negated else missing, np.zeros(size, dtype=bool))
    inside = _in_interval(test, column) if isinstance(test, NumericTest) else _in_set(test, column)
    return TestAnswer(inside & ~missing, missing)


def refusals(test: Predicate) -> Iterator[Refusal]:
    """Yield what a test says of records that the model refuses."""
    stack: list[Predicate] = [test]
    while stack:
        part = stack.pop()
        if isinstance(part, AllOf | AnyOf | OneOf | Surrogate):
            stack.extend(part.parts)
        elif isinstance(part, Refusal):
            yield part


def refused_by(test: Predicate, columns: Columns, size: int) -> BoolArray:
    """Return which of ``size`` records the model refuses for what a test asks: of a surrogate, what is asked at all.

    Raises:
        KeyError: an attribute of the test is not among the columns.
    """
    if isinstance(test, Refusal):
        return answer(test.when, columns, size).true
    found = np.zeros(size, dtype=bool)
    if not isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        return found
    is_asked = np.ones(size, dtype=bool)
    for part in test.parts:
        found |= is_asked & refused_by(part, columns, size)
        if isinstance(test, Surrogate):
            is_asked &= answer(part, columns, size).unknown
    return found


def _combined(test: AllOf | AnyOf | OneOf | Surrogate, answers: list[TestAnswer]) -> TestAnswer:
    true = np.stack([part.true for part in answers])
    unknown = np.stack([part.unknown for part in answers])
    false = ~true & ~unknown
    if isinstance(test, AllOf):
        return TestAnswer(
            np.asarray(true.all(axis=0)), np.asarray(unknown.any(axis=0) & ~false.any(axis=0))
        )
    if isinstance(test, AnyOf):
        return TestAnswer(
            np.asarray(true.any(axis=0)), np.asarray(unknown.any(axis=0) & ~true.any(axis=0))
        )
    if isinstance(test, OneOf):
        unclear = np.asarray(unknown.any(axis=0))
        return TestAnswer(np.asarray(true.sum(axis=0) % 2 == 1) & ~unclear, unclear)
    speaks = np.argmin(unknown, axis=0)  # the first known part; the first part where none is known
    each = np.arange(true.shape[1])
    return TestAnswer(true[speaks, each], unknown[speaks, each])


def _in_interval(test: NumericTest, column: Column) -> BoolArray:
    if isinstance(column, CategoricalColumn):
        raise ValueError(f"a test compares numbers, but {test.feature!r} holds categories")
    values = column.numbers
    above = values >= test.low if test.low_closed or test.low == -math.inf else values > test.low
    below = values <= test.high if test.high_closed or test.high == math.inf else values < test.high
    return np.asarray(above & below)


def _in_set(test: CategoryTest, column: Column) -> BoolArray:
    if isinstance(column, NumericColumn):
        raise ValueError(f"a test names categories, but {test.feature!r} holds numbers")
    wanted = set(test.values)
    allowed = np.array([value in wanted for value in column.categories] + [False])
    inside = allowed[column.codes]
    return np.asarray(~inside if test.negated else inside)


def exactly(feature: str, value: float) -> str:
    """Return a threshold of a feature with all its digits."""
    return number_text(value)


def text(test: Predicate, say: Callable[[str, float], str] = exactly) -> str:
    """Return a test as people write it: ``age > 30``, ``sex in {F, M}``; ``say`` writes a threshold of a feature."""
    if isinstance(test, Always):
        return "true"
    if isinstance(test, Never):
        return "false"
    if isinstance(test, Unknown):
        return "unknown"
    if isinstance(test, MissingTest):
        return f"{test.feature} is {'present' if test.negated else 'missing'}"
    if isinstance(test, CategoryTest):
        if len(test.values) == 1:
            return f"{test.feature} {'≠' if test.negated else '='} {test.values[0]}"
        return f"{test.feature} {'not in' if test.negated else 'in'} {{{', '.join(test.values)}}}"
    if isinstance(test, NumericTest):
        return _interval_text(test, say)
    if isinstance(test, Refusal):
        return f"refused if {text(test.when, say)}"
    joint = {AllOf: " and ", AnyOf: " or ", OneOf: " xor ", Surrogate: ", or if unknown: "}
    return joint[type(test)].join(
        f"({text(p, say)})"
        if isinstance(p, AllOf | AnyOf | OneOf | Surrogate | Refusal)
        else text(p, say)
        for p in test.parts
    )


def _interval_text(test: NumericTest, say: Callable[[str, float], str]) -> str:
    if test.low == test.high:
        return f"{test.feature} = {say(test.feature, test.low)}"
    lower = (
        f"{say(test.feature, test.low)} {'≤' if test.low_closed else '<'} "
        if test.low > -math.inf
        else ""
    )
    upper = (
        f" {'≤' if test.high_closed else '<'} {say(test.feature, test.high)}"
        if test.high < math.inf
        else ""
    )
    if lower and not upper:
        return f"{test.feature} {'≥' if test.low_closed else '>'} {say(test.feature, test.low)}"
    return f"{lower}{test.feature}{upper}" if lower or upper else f"{test.feature} is any number"
