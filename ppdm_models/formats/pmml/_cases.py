"""An expression over one raw field as cases: parts of the field's values, and what the expression comes to in each."""

from __future__ import annotations

import math
import struct
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.pmml._comparisons import (
    ByCategory,
    ByNumber,
    MonotoneStep,
    Moving,
    Outcome,
    Segment,
    Split,
    extend,
)
from treewarden.ppdm_models.formats.pmml._values import NotFollowedError

KEPT = 10_000
"""How many ends are remembered: a test and its opposite have the same."""


@dataclass(frozen=True, slots=True)
class Everywhere:
    """An expression that reads no field."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class NumberSpan:
    """The raw numbers from one rank among all 64-bit numbers to another, both among them."""

    first: int
    last: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class NumberCases:
    """An expression over a raw number: spans that cover all numbers in their order; ``absent`` if it is missing."""

    feature: str
    spans: tuple[NumberSpan, ...]
    absent: Outcome


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No record comes there: the model lets no other category in."""


@dataclass(frozen=True, slots=True)
class CategoryCases:
    """An expression over a raw category: some by name, all others the same; ``absent`` if it is missing."""

    feature: str
    listed: Mapping[str, Outcome]
    others: Outcome | Unreachable
    absent: Outcome


Cases = Everywhere | NumberCases | CategoryCases
Compute = Callable[[Sequence[Outcome]], Outcome | Split]


def outcomes(cases: Cases) -> Iterator[Outcome]:
    """Yield what an expression can come to."""
    if isinstance(cases, Everywhere):
        yield cases.outcome
    elif isinstance(cases, NumberCases):
        yield from (span.outcome for span in cases.spans)
        yield cases.absent
    else:
        yield from cases.listed.values()
        if not isinstance(cases.others, Unreachable):
            yield cases.others
        yield cases.absent


def combine(parts: Sequence[Cases], compute: Compute) -> Cases:
    """Return what a function makes of expressions, case by case; ``compute`` may tell a case apart further.

    Raises:
        NotFollowedError: they read several raw fields, or come to too many cases.
    """
    features = list(
        dict.fromkeys(part.feature for part in parts if not isinstance(part, Everywhere))
    )
    if len(features) > 1:
        raise NotFollowedError(f"it reads {' and '.join(map(repr, features[:12]))} together")
    if any(isinstance(part, NumberCases) for part in parts):
        return _combine_numbers(features[0], parts, compute)
    if any(isinstance(part, CategoryCases) for part in parts):
        return _combine_categories(features[0], parts, compute)
    arguments = [part.outcome for part in parts if isinstance(part, Everywhere)]
    return Everywhere(_plain(compute(arguments)))


def _plain(result: Outcome | Split) -> Outcome:
    if isinstance(result, ByNumber | ByCategory):
        raise AssertionError("a case without a raw value cannot be told from the others")
    return result


def _combine_numbers(feature: str, parts: Sequence[Cases], compute: Compute) -> NumberCases:
    starts = sorted(
        {span.first for part in parts if isinstance(part, NumberCases) for span in part.spans}
    )
    ends = [*(start - 1 for start in starts[1:]), LAST]
    places = [0] * len(parts)
    spans: list[NumberSpan] = []
    for first, last in zip(starts, ends, strict=True):
        arguments = []
        for index, part in enumerate(parts):
            if isinstance(part, NumberCases):
                while part.spans[places[index]].last < first:
                    places[index] += 1
                arguments.append(part.spans[places[index]].outcome)
            else:
                assert isinstance(part, Everywhere)
                arguments.append(part.outcome)
        result = compute(arguments)
        if isinstance(result, ByNumber):
            for span in split_span(result, first, last):
                _append(spans, span)
        else:
            _append(spans, NumberSpan(first, last, _plain(result)))
        _limit(len(spans))
    return NumberCases(feature, tuple(spans), _plain(compute(_absent(parts))))


def _append(spans: list[NumberSpan], span: NumberSpan) -> None:
    """Add a span, to the one before where both come to the same; functions may turn between two spans."""
    turns = isinstance(span.outcome, Moving) and bool(span.outcome.steps)
    if spans and not turns and spans[-1].outcome == span.outcome:
        spans[-1] = NumberSpan(spans[-1].first, span.last, span.outcome)
    else:
        spans.append(span)


def _absent(parts: Sequence[Cases]) -> list[Outcome]:
    return [part.outcome if isinstance(part, Everywhere) else part.absent for part in parts]


def _combine_categories(feature: str, parts: Sequence[Cases], compute: Compute) -> CategoryCases:
    known = [part for part in parts if isinstance(part, CategoryCases)]
    names = dict.fromkeys(name for part in known for name in part.listed)
    _limit(len(names))
    listed = {}
    for name in names:
        arguments = [_of_category(part, name) for part in parts]
        if not any(isinstance(argument, Unreachable) for argument in arguments):
            listed[name] = _plain(compute(_reachable(arguments)))
    others = [
        part.others if isinstance(part, CategoryCases) else _of_category(part, "") for part in parts
    ]
    rest: Outcome | Unreachable = Unreachable()
    if not any(isinstance(argument, Unreachable) for argument in others):
        result = compute(_reachable(others))
        if isinstance(result, ByCategory):
            _limit(len(names) + len(result.listed))
            listed |= {
                name: outcome for name, outcome in result.listed.items() if name not in names
            }
            rest = result.rest
        else:
            rest = _plain(result)
    return CategoryCases(feature, listed, rest, _plain(compute(_absent(parts))))


def _of_category(part: Cases, name: str) -> Outcome | Unreachable:
    if isinstance(part, Everywhere):
        return part.outcome
    assert isinstance(part, CategoryCases)
    return part.listed.get(name, part.others)


def _reachable(arguments: Sequence[Outcome | Unreachable]) -> list[Outcome]:
    return [argument for argument in arguments if not isinstance(argument, Unreachable)]


def _limit(number: int) -> None:
    if number > limits.FIELD_CASES:
        raise NotFollowedError(f"it has more than {limits.FIELD_CASES:,} cases, which is the limit")


def split_span(split: ByNumber, first: int, last: int) -> Iterator[NumberSpan]:
    """Yield the parts of a span of raw numbers that fall into the segments of a moving number, in their order."""
    moving = split.moving
    segments = split.segments if moving.is_rising else split.segments[::-1]
    lasts = [_side(segment, moving) for segment in segments[:-1]]
    place = _place(moving, lasts, number_of_rank(first))
    end = _place(moving, lasts, number_of_rank(last))
    while first <= last:
        stop = last if place >= end else _last_within(moving, lasts[place], first, last)
        if stop >= first:
            yield NumberSpan(first, stop, _result(moving, segments[place]))
        first, place = stop + 1, place + 1


def _side(segment: Segment, moving: Moving) -> float:
    """Return the number of a segment that is left last as the raw number grows."""
    return segment.high if moving.is_rising else segment.low


def _place(moving: Moving, lasts: Sequence[float], raw: float) -> int:
    """Return in which segment a raw number is; ``lasts`` are where the segments before the last one end."""
    value = moving(raw)
    if moving.is_rising:
        return bisect_left(lasts, value)
    return bisect_left(lasts, -value, key=lambda end: -end)


def _result(moving: Moving, segment: Segment) -> Outcome:
    if isinstance(segment.result, MonotoneStep):
        return extend(moving, segment.result)
    return segment.result


@lru_cache(KEPT)
def _last_within(moving: Moving, end: float, first: int, last: int) -> int:
    """Return the last rank whose number has not passed an end, by halving; ``first - 1`` where all have."""
    low, high = first, last + 1
    while low < high:
        middle = (low + high) // 2
        value = moving(number_of_rank(middle))
        is_within = value <= end if moving.is_rising else value >= end
        low, high = (middle + 1, high) if is_within else (low, middle)
    return low - 1


def rank_of_number(value: float) -> int:
    """Return the place of a number among all 64-bit numbers."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def number_of_rank(rank: int) -> float:
    """Return the number at a place among all 64-bit numbers."""
    value: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return math.copysign(value, rank) if rank else 0.0


HALVINGS = 64
"""How often all 64-bit numbers are halved until one is left."""
FIRST = rank_of_number(-sys.float_info.max)
LAST = rank_of_number(sys.float_info.max)


def all_numbers(feature: str, outcome: Outcome, absent: Outcome) -> NumberCases:
    """Return the cases of an expression that comes to one thing for all numbers of a raw field."""
    return NumberCases(feature, (NumberSpan(FIRST, LAST, outcome),), absent)


def work_of(cases: Cases) -> int:
    """Return how much it takes to tell cases further apart: one for a case, and what halving a function takes."""
    if isinstance(cases, NumberCases):
        return sum(_work_of(span.outcome) for span in cases.spans)
    return len(cases.listed) if isinstance(cases, CategoryCases) else 1


def _work_of(outcome: Outcome) -> int:
    return 1 + HALVINGS * len(outcome.steps) if isinstance(outcome, Moving) else 1
