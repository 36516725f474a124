"""How values of PMML's types compare: by order, for equality, with sets (as JPMML-Evaluator does it)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.formats.pmml._values import (
    Constant,
    DataType,
    InvalidValueError,
    NotFollowedError,
    convert,
    text_of,
)
from treewarden.ppdm_models.tree.column import number_text

# What an expression comes to for some values of a raw field: a value, no value, or a record that is refused.
#
# Four things that are easily confused are four types: a branch that is not there (``NoBranch``), an expression that is
# not followed (``NotFollowedError``), a missing result (``NoValue``) and one for which an evaluator refuses the record
# (``Invalid``).

MOST_STEPS = 100
"""The most functions that a number is put through, one after the other."""

Function = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Moving:
    """The raw number put through functions, which together never fall (or, not ``is_rising``, never rise)."""

    kind: DataType
    is_rising: bool = True
    is_continuous: bool = True
    steps: tuple[Function, ...] = ()

    def __call__(self, number: float) -> float:
        """Return what a raw number becomes."""
        for step in self.steps:
            number = step(number) + 0.0  # minus zero is zero
        return number


@dataclass(frozen=True, slots=True)
class SameCategory:
    """The raw category itself, where it is none of those that are told apart."""

    kind: DataType


@dataclass(frozen=True, slots=True)
class NoValue:
    """A missing result."""


@dataclass(frozen=True, slots=True)
class InvalidOutcome:
    """An evaluator refuses the record."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """A function has no result: a division of whole numbers by zero, or a whole number beyond 32 bits."""


@dataclass(frozen=True, slots=True)
class NotANumber:
    """A function of numbers has none as its result: the root of a negative one."""


@dataclass(frozen=True, slots=True)
class NoBranch:
    """The part of an ``if`` that is not there; its result is missing."""


Outcome = Constant | Moving | SameCategory | NoValue | InvalidOutcome | Undefined | NotANumber
"""``Undefined`` and ``NotANumber`` only until the Apply element has said what becomes of them."""


@dataclass(frozen=True, slots=True)
class MonotoneStep:
    """A function that never falls (or, not ``is_rising``, never rises) where it is used; its result is of a kind."""

    function: Function
    is_rising: bool
    kind: DataType
    is_continuous: bool = True


@dataclass(frozen=True, slots=True)
class Segment:
    """What becomes of the numbers from ``low`` to ``high``, both among them."""

    low: float
    high: float
    result: MonotoneStep | Outcome


@dataclass(frozen=True, slots=True)
class ByNumber:
    """What becomes of a moving number, by segments that cover all numbers in their order."""

    moving: Moving
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class ByCategory:
    """What becomes of the raw category: of some by name, of all others the same."""

    listed: Mapping[str, Outcome]
    rest: Outcome


Split = ByNumber | ByCategory


def extend(moving: Moving, step: MonotoneStep) -> Moving:
    """Return a moving number put through one more function.

    Raises:
        NotFollowedError: there are too many.
    """
    if len(moving.steps) >= MOST_STEPS:
        raise NotFollowedError(
            f"more than {MOST_STEPS} functions follow one another, which is the limit"
        )
    return Moving(
        step.kind,
        moving.is_rising == step.is_rising,
        step.is_continuous,
        (*moving.steps, step.function),
    )


INF = math.inf
SIDES = {
    "lessThan": (True, False, False),
    "lessOrEqual": (True, True, False),
    "greaterThan": (False, False, True),
    "greaterOrEqual": (False, True, True),
    "equal": (False, True, False),
    "notEqual": (True, False, True),
}
"""Whether a comparison holds below, at and above what is compared with."""
TRUE, FALSE = Constant(True, DataType.BOOLEAN), Constant(False, DataType.BOOLEAN)


def sides(end: float, below: Outcome, at: Outcome, above: Outcome) -> tuple[Segment, ...]:
    """Return the segments below, at and above a number, those with the same result as one."""
    if below == at and end < INF:
        return Segment(-INF, end, at), Segment(math.nextafter(end, INF), INF, above)
    if at == above and end > -INF:
        return Segment(-INF, math.nextafter(end, -INF), below), Segment(end, INF, at)
    segments = [Segment(end, end, at)]
    if end > -INF:
        segments.insert(0, Segment(-INF, math.nextafter(end, -INF), below))
    if end < INF:
        segments.append(Segment(math.nextafter(end, INF), INF, above))
    return tuple(segments)


def truth(holds: bool) -> Constant:
    """Return true or false as a value."""
    return TRUE if holds else FALSE


def compare(name: str, arguments: Sequence[Outcome]) -> Outcome | Split:
    """Return what a comparison by order gives."""
    outcome, two = arguments
    if isinstance(outcome, SameCategory):
        return InvalidOutcome()
    if isinstance(outcome, Constant | Moving) and not (
        outcome.is_continuous or outcome.kind is DataType.BOOLEAN
    ):
        return InvalidOutcome()
    if isinstance(outcome, Constant) and isinstance(two, Constant):
        return compare_constants(name, outcome, two)
    if isinstance(outcome, Moving) and isinstance(two, Constant):
        return compare_moving(name, outcome, two)
    if isinstance(outcome, Constant) and isinstance(two, Moving):
        if outcome.kind is DataType.FLOAT and two.kind is not DataType.FLOAT:
            raise NotFollowedError("a number of 32 bits is compared with a field of more")
        end = outcome.number
        below, at, above = SIDES[name]
        return ByNumber(two, sides(end, truth(above), truth(at), truth(below)))
    raise NotFollowedError("it compares the field with itself")


def compare_constants(name: str, one: Constant, two: Constant) -> Constant:
    """Return what a comparison by order of two values gives: the second as one of the first's type.

    Raises:
        InvalidValueError: they do not compare.
    """
    left, right = one.number, _number_as(two, one.kind)
    below, at, above = SIDES[name]
    return truth(below if left < right else at if left == right else above)


def compare_moving(name: str, moving: Moving, constant: Constant) -> Split:
    """Return what a comparison by order of the field with a value gives.

    Raises:
        InvalidValueError: they do not compare.
    """
    below, at, above = SIDES[name]
    end = _number_as(constant, moving.kind)
    return ByNumber(moving, sides(end, truth(below), truth(at), truth(above)))


def _number_as(constant: Constant, kind: DataType) -> float:
    """Return a value as a number of a type, or as the number that it is where the type does not hold it."""
    try:
        return convert(constant, kind, is_continuous=True).number
    except InvalidValueError:
        return constant.number


def equal(name: str, arguments: Sequence[Outcome]) -> Outcome | Split:
    """Return what a comparison for equality gives: the second value as one of the first's type."""
    outcome, two = arguments
    if isinstance(outcome, Constant) and isinstance(two, Constant):
        return truth(_are_equal(outcome, two) == (name == "equal"))
    if isinstance(outcome, Constant) and isinstance(two, Moving | SameCategory):
        if outcome.kind is not two.kind:
            raise NotFollowedError("values of different types are compared")
        outcome, two = two, outcome
    if not isinstance(two, Constant) or not isinstance(outcome, Moving | SameCategory):
        raise NotFollowedError("it compares the field with itself")
    return _among(outcome, [two], name == "equal")


def _are_equal(one: Constant, two: Constant) -> bool:
    return convert(two, one.kind, one.is_continuous).value == one.value


def is_in(name: str, arguments: Sequence[Outcome]) -> Outcome | Split:
    """Return whether a value is in a set of others."""
    one, *outcomes = arguments
    is_wanted = name == "isIn"
    if isinstance(one, NoValue):
        return truth(any(isinstance(other, NoValue) for other in outcomes) == is_wanted)
    there = [other for other in outcomes if not isinstance(other, NoValue)]
    values = [other for other in there if isinstance(other, Constant)]
    if len(values) < len(there) or isinstance(one, InvalidOutcome):
        raise NotFollowedError("a set that contains the field is not supported")
    if isinstance(one, Constant):
        return truth(any(_are_equal(one, value) for value in values) == is_wanted)
    assert isinstance(one, Moving | SameCategory)
    try:
        return _among(one, values, is_wanted)
    except InvalidValueError as error:
        raise NotFollowedError(f"a set contains a value of another type: {error}") from error


def _among(one: Moving | SameCategory, values: Sequence[Constant], is_wanted: bool) -> Split:
    return by_value(one, dict.fromkeys(values, truth(is_wanted)), truth(not is_wanted))


def by_value(
    one: Moving | SameCategory, results: dict[Constant, Outcome], default: Outcome
) -> Split:
    """Return what becomes of the field that is equal to some values, and of all others.

    Raises:
        InvalidValueError: a value cannot be one of the field's type.
    """
    by_kind = {convert(value, one.kind, True): result for value, result in results.items()}
    if isinstance(one, SameCategory):
        return ByCategory({category_text(value): each for value, each in by_kind.items()}, default)
    segments: list[Segment] = []
    low = -INF
    for value in sorted(by_kind, key=lambda value: value.number):
        number = value.number
        if low < number:
            segments.append(Segment(low, math.nextafter(number, -INF), default))
        segments.append(Segment(number, number, by_kind[value]))
        low = math.nextafter(number, INF)
    if not segments or segments[-1].high < INF:
        segments.append(Segment(low, INF, default))
    return ByNumber(one, tuple(segments))


def category_text(value: Constant) -> str:
    """Return a value as a table's column of categories has it."""
    if value.kind.is_numeric:
        return number_text(value.number)
    return text_of(value)
