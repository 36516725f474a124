"""What a field of a tree is made of: one raw field as it is, or cases of one.

A test on the field becomes the test on the raw field that says the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.formats.pmml._cases import (
    FIRST,
    LAST,
    Cases,
    CategoryCases,
    Everywhere,
    NumberCases,
    NumberSpan,
    Unreachable,
    combine,
    number_of_rank,
    outcomes,
)
from treewarden.ppdm_models.formats.pmml._comparisons import (
    FALSE,
    SIDES,
    TRUE,
    InvalidOutcome,
    Moving,
    NoValue,
    Outcome,
    SameCategory,
    Split,
    by_value,
    compare_constants,
    compare_moving,
    truth,
)
from treewarden.ppdm_models.formats.pmml._values import (
    Constant,
    DataType,
    InvalidValueError,
    NotFollowedError,
    convert,
)
from treewarden.ppdm_models.tree.column import Ends, Treatment, number_text
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
    Unknown,
)

Value = str | float

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lessThan": lambda value, end: value < end,
    "lessOrEqual": lambda value, end: value <= end,
    "greaterThan": lambda value, end: value > end,
    "greaterOrEqual": lambda value, end: value >= end,
    "equal": lambda value, end: value == end,
    "notEqual": lambda value, end: value != end,
}
INTERVALS: dict[str, Callable[[str, float], Predicate]] = {
    "lessThan": lambda name, end: NumericTest(name, high=end),
    "lessOrEqual": lambda name, end: NumericTest(name, high=end, high_closed=True),
    "greaterThan": lambda name, end: NumericTest(name, low=end),
    "greaterOrEqual": lambda name, end: NumericTest(name, low=end, low_closed=True),
    "equal": lambda name, end: NumericTest(name, end, end, low_closed=True, high_closed=True),
    "notEqual": lambda name, end: AnyOf((NumericTest(name, high=end), NumericTest(name, low=end))),
}


@dataclass(frozen=True, slots=True)
class RawField:
    """The raw field itself; ``missing`` is what stands in for a missing value."""

    feature: str
    missing: Value | None = None


@dataclass(frozen=True, slots=True)
class Computed:
    """A field of a type whose values are said by cases of one raw field."""

    feature: str
    cases: NumberCases | CategoryCases
    kind: DataType


Source = RawField | Computed


def as_number(value: Value | None) -> float | None:
    """Return a value as a number; None where it is not one."""
    if value is None or isinstance(value, float):
        return value
    try:
        return float(value)
    except ValueError:
        return None


def holds(value: Value, operator: str, operand: Value) -> bool:
    """Whether a comparison is true of two values: of numbers where both are, else of texts."""
    one, two = as_number(value), as_number(operand)
    if one is not None and two is not None:
        return COMPARISONS[operator](one, two)
    if operator == "equal":
        return value == operand
    return operator == "notEqual" and value != operand


def with_missing(source: RawField, test: Predicate, takes: Callable[[Value], bool]) -> Predicate:
    """Return a test that sends a missing value where its replacement goes."""
    if source.missing is None:
        return test
    if takes(source.missing):
        return (
            test
            if isinstance(test, Always)
            else AnyOf((MissingTest(source.feature), *_parts(test)))
        )
    return AllOf((MissingTest(source.feature, negated=True), test))


def _parts(test: Predicate) -> tuple[Predicate, ...]:
    return test.parts if isinstance(test, AnyOf) else (test,)


def presence_test(source: Source, is_missing: bool) -> Predicate:
    """Return the test that the field has no value, or has one."""
    if isinstance(source, RawField):
        if source.missing is None:
            return MissingTest(source.feature, negated=not is_missing)
        return Never() if is_missing else Always()
    cases = combine(
        (source.cases,),
        lambda arguments: truth(isinstance(arguments[0], NoValue) == is_missing),
    )
    return predicate_of(cases, keeps_unknown=False)


def comparison_test(
    source: Computed, operator: str, text: str, keeps_unknown: bool
) -> Predicate | None:
    """Return the test on the raw field that a comparison makes; None where the text is no value of the field's type."""
    is_ordered = operator not in ("equal", "notEqual")
    value = _value_of(source.kind, text, is_ordered)
    if value is None or (is_ordered and source.kind is DataType.STRING):
        return None

    wanted = truth(SIDES[operator][1]), truth(SIDES[operator][0])

    def compare(outcome: Outcome) -> Outcome | Split:
        if isinstance(outcome, Moving) and operator not in ("equal", "notEqual"):
            return compare_moving(operator, outcome, value)
        if isinstance(outcome, Constant) and operator not in ("equal", "notEqual"):
            return compare_constants(operator, outcome, value)
        return _among(outcome, (value,), *wanted)

    return predicate_of(_tested(source.cases, compare), keeps_unknown)


def set_test(
    source: Computed, texts: Iterable[str], is_wanted: bool, keeps_unknown: bool
) -> Predicate | None:
    """Return the test on the raw field that the field is in a set; None where a text is no value of its type."""
    values = []
    for text in texts:
        value = _value_of(source.kind, text, is_ordered=False)
        if value is None:
            return None
        values.append(value)
    constants = tuple(dict.fromkeys(values))

    def look(outcome: Outcome) -> Outcome | Split:
        return _among(outcome, constants, truth(is_wanted), truth(not is_wanted))

    return predicate_of(_tested(source.cases, look), keeps_unknown)


def _tested(cases: Cases, test: Callable[[Outcome], Outcome | Split]) -> Cases:
    return combine((cases,), lambda arguments: test(arguments[0]))


def _among(
    outcome: Outcome, values: Sequence[Constant], within: Outcome, without: Outcome
) -> Outcome | Split:
    """Return what it makes of an outcome that it is one of some values of its type."""
    if isinstance(outcome, Constant):
        return within if any(value.value == outcome.value for value in values) else without
    if isinstance(outcome, Moving | SameCategory):
        return by_value(outcome, dict.fromkeys(values, within), without)
    return outcome


def _value_of(kind: DataType, text: str, is_ordered: bool) -> Constant | None:
    """Return what a field of a type is compared with; a whole one by order also with a number that is not whole."""
    for wider in (kind, DataType.DOUBLE) if kind.is_numeric and is_ordered else (kind,):
        try:
            return convert(Constant(text, DataType.STRING), wider, is_continuous=True)
        except (InvalidValueError, NotFollowedError):
            continue
    return None


def predicate_of(cases: Cases, keeps_unknown: bool) -> Predicate:
    """Return the test that is true, false and unknown of a raw field where its cases say so.

    Where an evaluator refuses the record anyway, the test says what makes it plain. Where unknown counts as false
    (not ``keeps_unknown``), nothing is said of it.
    """
    if isinstance(cases, Everywhere):
        return Always() if cases.outcome == TRUE else Never()
    parts = _number_parts if isinstance(cases, NumberCases) else _category_parts
    true = parts(cases, TRUE)
    unknown = parts(cases, NoValue()) if keeps_unknown else ()
    return _with_absent(cases.feature, cases.absent, true, unknown, keeps_unknown)


Part = tuple[Predicate, ...] | None
"""Tests of which one holds of some values of a field (none: of no value); None: every value that is there."""


def _with_absent(
    feature: str, absent: Outcome, true: Part, unknown: Part, keeps_unknown: bool
) -> Predicate:
    """Join what is true and what is unknown of values that are there with what is said of a missing one.

    A test of a value answers "unknown" by itself where the value is missing.
    """
    missing, there = MissingTest(feature), MissingTest(feature, negated=True)
    is_open = keeps_unknown and isinstance(absent, NoValue)
    if true is None:
        if absent == TRUE:
            return Always()
        return AnyOf((there, Unknown())) if is_open else there
    if unknown is None:
        if is_open:
            return Unknown()
        return AnyOf((missing, Unknown())) if absent == TRUE else AllOf((there, Unknown()))
    body = [*true, AllOf((_any(unknown), Unknown()))] if unknown else list(true)
    if absent == TRUE:
        return _any((missing, *body))
    if not body:
        return AllOf((missing, Unknown())) if is_open else Never()
    return AllOf((there, _any(body))) if absent == FALSE else _any(body)


def _any(tests: Sequence[Predicate]) -> Predicate:
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))


def _number_parts(cases: Cases, sought: Outcome) -> Part:
    """Return the intervals where cases come to an outcome."""
    assert isinstance(cases, NumberCases)
    spans = _settled(cases.spans)
    number_spans = [span for span in spans if span.outcome == sought]
    if len(number_spans) == len(spans):
        return None
    return tuple(_interval_test(cases.feature, span) for span in number_spans)


def _settled(spans: Sequence[NumberSpan]) -> list[NumberSpan]:
    """Return spans without those where the record is refused: these are joined to the one behind, or else before."""
    number_spans: list[NumberSpan] = []
    first: int | None = None
    for span in spans:
        if isinstance(span.outcome, InvalidOutcome):
            first = span.first if first is None else first
            continue
        start = span.first if first is None else first
        first = None
        if number_spans and number_spans[-1].outcome == span.outcome:
            number_spans[-1] = NumberSpan(number_spans[-1].first, span.last, span.outcome)
        else:
            number_spans.append(NumberSpan(start, span.last, span.outcome))
    if first is not None and number_spans:
        number_spans[-1] = NumberSpan(
            number_spans[-1].first, spans[-1].last, number_spans[-1].outcome
        )
    return number_spans


def _interval_test(feature: str, span: NumberSpan) -> NumericTest:
    low, low_closed, high, high_closed = interval_of(span)
    return NumericTest(feature, low, high, low_closed, high_closed)


def interval_of(span: NumberSpan) -> Ends:
    """Return a span of numbers as an interval, each end written in as few digits as may be."""
    low, low_closed = -math.inf, False
    high, high_closed = math.inf, False
    if span.first > FIRST:
        low, low_closed = _shorter(number_of_rank(span.first), number_of_rank(span.first - 1))
    if span.last < LAST:
        high, high_closed = _shorter(number_of_rank(span.last), number_of_rank(span.last + 1))
    if low_closed and high_closed or low < high:
        return low, low_closed, high, high_closed
    return number_of_rank(span.first), True, number_of_rank(span.last), True


def _shorter(inside: float, outside: float) -> tuple[float, bool]:
    is_inside = len(number_text(inside)) <= len(number_text(outside))
    return (inside, True) if is_inside else (outside, False)


def _category_parts(cases: Cases, sought: Outcome) -> Part:
    """Return the set of categories for which cases come to an outcome."""
    assert isinstance(cases, CategoryCases)
    within = tuple(name for name, outcome in cases.listed.items() if outcome == sought)
    without = tuple(name for name, outcome in cases.listed.items() if outcome != sought)
    if cases.others == sought:
        return (CategoryTest(cases.feature, without, negated=True),) if without else None
    refused = (isinstance(cases.listed[name], InvalidOutcome) for name in without)
    if isinstance(cases.others, Unreachable | InvalidOutcome) and within:
        if all(refused):
            return None
        # The smaller of two sets, so that the test and its opposite name the same one.
        is_last = list(cases.listed)[-1] in within
        if len(without) < len(within) or (len(without) == len(within) and is_last):
            return (CategoryTest(cases.feature, without, negated=True),)
    return (CategoryTest(cases.feature, within),) if within else ()


def refusal(cases: NumberCases | CategoryCases) -> Treatment | None:
    """Return for which values an evaluator refuses a record, as a treatment of the raw field; None for none."""
    needs_value = isinstance(cases.absent, InvalidOutcome)
    if not any(map(is_invalid, outcomes(cases))):
        return None
    if isinstance(cases, NumberCases):
        valid = [span for span in cases.spans if not isinstance(span.outcome, InvalidOutcome)]
        if len(valid) == len(cases.spans):
            return Treatment(needs_value=needs_value)
        return Treatment(
            intervals=tuple(interval_of(span) for span in _touching(valid)),
            needs_value=needs_value,
        )
    invalid = tuple(
        name for name, outcome in cases.listed.items() if isinstance(outcome, InvalidOutcome)
    )
    if isinstance(cases.others, InvalidOutcome):
        known = tuple(name for name in cases.listed if name not in set(invalid))
        return Treatment(values=known, invalid=invalid, needs_value=needs_value)
    return Treatment(invalid=invalid, needs_value=needs_value)


def refusal_test(cases: NumberCases | CategoryCases) -> Predicate | None:
    """Return the test of the raw field for whose values an evaluator refuses a record; None for none."""
    if not any(map(is_invalid, outcomes(cases))):
        return None
    where = combine((cases,), lambda arguments: truth(is_invalid(arguments[0])))
    return predicate_of(where, keeps_unknown=False)


def is_invalid(outcome: Outcome) -> bool:
    """Whether an evaluator refuses the record."""
    return isinstance(outcome, InvalidOutcome)


def _touching(spans: Iterable[NumberSpan]) -> Iterator[NumberSpan]:
    """Yield spans, those that follow each other without a gap as one."""
    pending: NumberSpan | None = None
    for span in spans:
        if pending is not None and pending.last + 1 == span.first:
            pending = NumberSpan(pending.first, span.last, span.outcome)
            continue
        if pending is not None:
            yield pending
        pending = span
    if pending is not None:
        yield pending


def is_refused_always(cases: Cases) -> bool:
    """Whether an evaluator refuses every record that has a value of the raw field."""
    if isinstance(cases, Everywhere):
        return isinstance(cases.outcome, InvalidOutcome)
    if isinstance(cases, NumberCases):
        return all(isinstance(span.outcome, InvalidOutcome) for span in cases.spans)
    there = [*cases.listed.values(), cases.others]
    return all(isinstance(outcome, InvalidOutcome | Unreachable) for outcome in there)
