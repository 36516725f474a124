"""Functions of one number as segments on which each rises, falls or is constant: what PMML's arithmetic does to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treewarden.ppdm_models.formats.pmml._cases import number_of_rank, rank_of_number
from treewarden.ppdm_models.formats.pmml._comparisons import (
    Function,
    InvalidOutcome,
    MonotoneStep,
    NotANumber,
    Outcome,
    Segment,
    Undefined,
)
from treewarden.ppdm_models.formats.pmml._values import (
    INTEGER_ENDS,
    DataType,
    NotFollowedError,
    number_constant,
    single,
)

INF = math.inf
TINY = math.nextafter(0.0, 1.0)
HUGE = math.nextafter(INF, 0.0)
Piece = tuple[float, float, bool | float]
"""From which number to which; whether the function rises there (True) or falls, or its one value (NaN: none)."""

EVERYWHERE = ((-INF, INF, True),)
NATURAL = ((-INF, -TINY, math.nan), (0.0, INF, True))
TURNING = ((-INF, -TINY, False), (0.0, INF, True))


def arithmetic_value(name: str, one: float, two: float, is_whole: bool) -> float | Undefined:
    """Return what an operator gives of two numbers in Java: NaN where there is none."""
    if name == "+":
        return one + two
    if name == "-":
        return one - two
    if name == "*":
        return one * two
    if is_whole and two == 0:
        return Undefined()
    if name == "/":
        return float(math.trunc(one / two)) if is_whole else _quotient(one, two)
    if is_whole:
        return float(one % two)
    ratio = _quotient(one, two)
    return one - math.floor(ratio) * two if math.isfinite(ratio) else math.nan


def operator_function(name: str, constant: float, is_first: bool) -> Function:
    """Return an operator with one constant as a function, of numbers for which it has a result."""
    if name == "+":
        return lambda value: value + constant
    if name == "*":
        return lambda value: value * constant
    if name == "-":
        return (lambda value: value - constant) if is_first else (lambda value: constant - value)
    return (lambda value: value / constant) if is_first else (lambda value: constant / value)


def _quotient(one: float, two: float) -> float:
    if two == 0:
        return math.nan if one == 0 or math.isnan(one) else math.copysign(INF, one)
    return one / two


def power(base: float, exponent: float) -> float:
    """Return a power as Java computes it: NaN where there is none."""
    if math.isinf(exponent) and abs(base) == 1.0:
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -INF if base < 0 and exponent % 2 == 1 else INF
    except ValueError:
        return INF if base == 0 else math.nan


def arithmetic_pieces(name: str, constant: float, is_first: bool, is_whole: bool) -> list[Piece]:
    """Return how an operator with one constant behaves; ``is_first`` says that the moving number stands first.

    Raises:
        NotFollowedError: it rises and falls too often.
    """
    if name in ("+", "-"):
        return [(-INF, INF, name == "+" or is_first)]
    if name == "*":
        return _times(constant)
    if name == "/" and is_first:
        if constant == 0:
            return [(-INF, -TINY, -INF), (0.0, 0.0, math.nan), (TINY, INF, INF)]
        return [(-INF, INF, constant > 0)]
    if name == "/":
        return _divisor(constant, is_whole)
    raise NotFollowedError(f"the function {name!r} of a field is not supported")


def _times(constant: float) -> list[Piece]:
    if constant == 0:
        return [(-INF, -INF, math.nan), (-HUGE, HUGE, 0.0), (INF, INF, math.nan)]
    return [(-INF, INF, constant > 0)]


def _divisor(constant: float, is_whole: bool) -> list[Piece]:
    at_zero = math.nan if constant == 0 or is_whole else math.copysign(INF, constant)
    if constant == 0:
        return [(-INF, -TINY, 0.0), (0.0, 0.0, at_zero), (TINY, INF, 0.0)]
    return [(-INF, -TINY, constant < 0), (0.0, 0.0, at_zero), (TINY, INF, constant < 0)]


def product_pieces(factor: float) -> list[Piece]:
    """Return how the product with a factor behaves."""
    return _times(factor)


def power_pieces(constant: float, is_base: bool) -> list[Piece]:
    """Return how a power behaves: of a moving base (``is_base``), or with a moving exponent.

    Raises:
        NotFollowedError: a negative base with a moving exponent.
    """
    if is_base:
        return _powers_of_base(constant)
    if constant < 0:
        raise NotFollowedError("a power of a negative number is not supported")
    if constant == 0:
        return [(-INF, -TINY, INF), (0.0, 0.0, 1.0), (TINY, INF, 0.0)]
    if constant == 1:
        return [(-INF, -INF, math.nan), (-HUGE, HUGE, 1.0), (INF, INF, math.nan)]
    return [(-INF, INF, constant > 1)]


def _powers_of_base(exponent: float) -> list[Piece]:
    if exponent == 0:
        return [(-INF, INF, 1.0)]
    is_odd, is_even = exponent % 2 == 1, exponent % 2 == 0
    if exponent > 0 and is_odd:
        return list(EVERYWHERE)
    below: list[Piece] = [(-INF, -TINY, is_odd == (exponent > 0))]
    if not is_odd and not is_even:
        below = [(-INF, -INF, INF if exponent > 0 else 0.0), (-HUGE, -TINY, math.nan)]
    if exponent > 0:
        return [*below, (0.0, INF, True)]
    return [*below, (0.0, 0.0, INF), (TINY, INF, False)]


def segments_of(
    pieces: Sequence[Piece],
    function: Function,
    kind: DataType,
    at_nan: Outcome | None = None,
    beyond: Outcome | None = None,
) -> tuple[Segment, ...]:
    """Return a function's pieces as segments whose results are of a kind.

    ``at_nan`` is what no number at all comes to, ``beyond`` (of the kind integer) a result of more than 32 bits.
    """
    rounded = function if kind is not DataType.FLOAT else lambda value: single(function(value))
    segments: list[Segment] = []
    for low, high, behaviour in pieces:
        if not isinstance(behaviour, bool):
            result = (
                (at_nan or NotANumber())
                if math.isnan(behaviour)
                else _constant(behaviour, kind, beyond)
            )
            segments.append(Segment(low, high, result))
        elif kind is DataType.INTEGER:
            segments += _whole_segments(low, high, MonotoneStep(rounded, behaviour, kind), beyond)
        else:
            segments.append(Segment(low, high, MonotoneStep(rounded, behaviour, kind)))
    return tuple(segments)


def _constant(value: float, kind: DataType, beyond: Outcome | None) -> Outcome:
    if kind is DataType.INTEGER and not INTEGER_ENDS[0] <= value <= INTEGER_ENDS[1]:
        return beyond or Undefined()
    return number_constant(value, kind)


def _whole_segments(
    low: float, high: float, step: MonotoneStep, beyond: Outcome | None
) -> list[Segment]:
    """Part a segment into what stays within 32 bits and what does not."""
    outside = beyond or Undefined()
    least, most = INTEGER_ENDS

    def is_before(value: float) -> bool:
        result = step.function(value)
        return result < least if step.is_rising else result > most

    def is_not_behind(value: float) -> bool:
        result = step.function(value)
        return result <= most if step.is_rising else result >= least

    last_before = last_number(is_before, low, high)
    last_inside = last_number(is_not_behind, low, high)
    segments = []
    if last_before is not None:
        segments.append(Segment(low, last_before, outside))
        low = math.nextafter(last_before, INF)
    if last_inside is not None and (last_before is None or last_inside > last_before):
        segments.append(Segment(low, last_inside, step))
        low = math.nextafter(last_inside, INF)
    if low <= high and (not segments or segments[-1].high < high):
        segments.append(Segment(low, high, outside))
    return segments


def last_number(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the last number from ``low`` to ``high`` for which a test holds that fails for all behind it."""
    if not holds(low):
        return None
    if holds(high):
        return high
    first, last = _rank(low), _rank(high)
    while last - first > 1:
        middle = (first + last) // 2
        if holds(_number(middle)):
            first = middle
        else:
            last = middle
    return _number(first)


def _rank(value: float) -> int:
    return rank_of_number(value)


def _number(rank: int) -> float:
    return number_of_rank(rank)


def _bounded(function: Function) -> Function:
    def compute(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return INF

    return compute


def _log(function: Function) -> Function:
    return lambda value: -INF if value == 0 else (INF if value == INF else function(value))


def whole(rounded: Callable[[float], int], function: Function) -> Function:
    """Return a function whose results are made whole."""

    def compute(value: float) -> float:
        result = function(value)
        return float(rounded(result)) if math.isfinite(result) else result

    return compute


def _whole(rounded: Callable[[float], int]) -> Function:
    return whole(rounded, lambda value: value)


def _saturated(function: Function) -> Function:
    """Return a function whose results stay within 32 bits: so Java rounds a number of 32 bits."""
    least, most = INTEGER_ENDS
    return lambda value: min(max(function(value), least), most)


def _round(value: float) -> int:
    """Return the nearest whole number, the higher of two."""
    below = math.floor(value)
    return below + (value - below >= 0.5)


CURVES: dict[str, tuple[Sequence[Piece], Function]] = {
    "ln": (NATURAL, _log(math.log)),
    "log10": (NATURAL, _log(math.log10)),
    "ln1p": (
        (
            (-INF, math.nextafter(-1.0, -INF), math.nan),
            (-1.0, -1.0, -INF),
            (-1.0 + 2**-53, INF, True),
        ),
        lambda value: INF if value == INF else math.log1p(value),
    ),
    "exp": (EVERYWHERE, _bounded(math.exp)),
    "expm1": (EVERYWHERE, _bounded(math.expm1)),
    "sqrt": (NATURAL, lambda value: INF if value == INF else math.sqrt(value)),
    "abs": (TURNING, abs),
    "rint": (EVERYWHERE, _whole(round)),
    "floor": (EVERYWHERE, _whole(math.floor)),
    "ceil": (EVERYWHERE, _whole(math.ceil)),
    "round": (EVERYWHERE, _whole(_round)),
}
"""Functions of one number: where they rise and fall, and how they are computed."""
KEEPS_KIND = ("abs", "rint")
MAKES_WHOLE = ("floor", "ceil", "round")


def curve_segments(name: str, kind: DataType) -> tuple[DataType, tuple[Segment, ...]]:
    """Return the type of a function's result, and its segments."""
    pieces, function = CURVES[name]
    if name == "round" and kind is DataType.FLOAT:
        function = _saturated(function)
    result = kind if name in KEEPS_KIND else DataType.DOUBLE
    if name in MAKES_WHOLE:
        result = DataType.INTEGER
    return result, segments_of(pieces, function, result, beyond=InvalidOutcome())
