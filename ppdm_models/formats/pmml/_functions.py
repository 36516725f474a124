"""PMML's built-in functions (PMML 4.4, Functions), of constants and of one field, as JPMML-Evaluator applies them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treewarden.ppdm_models.formats.pmml._comparisons import (
    ByNumber,
    InvalidOutcome,
    MonotoneStep,
    Moving,
    NotANumber,
    NoValue,
    Outcome,
    Segment,
    Split,
    Undefined,
    compare,
    equal,
    is_in,
)
from treewarden.ppdm_models.formats.pmml._curves import (
    CURVES,
    INF,
    KEEPS_KIND,
    TINY,
    Piece,
    arithmetic_pieces,
    arithmetic_value,
    curve_segments,
    operator_function,
    power,
    power_pieces,
    product_pieces,
    segments_of,
    whole,
)
from treewarden.ppdm_models.formats.pmml._values import (
    INTEGER_ENDS,
    Constant,
    DataType,
    InvalidValueError,
    NotFollowedError,
    convert,
    number_constant,
    text_of,
)

Arguments = Sequence[Outcome]
Apply = Callable[[str, Arguments], Outcome | Split]
COMPARISONS = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")


def apply_function(name: str, arguments: Arguments) -> Outcome | Split:
    """Return what a function gives; ``if`` and what becomes of missing and undefined results is the caller's.

    Raises:
        NotFollowedError: the function, or its use, is not supported.
    """
    if name not in FUNCTIONS:
        raise NotFollowedError(f"the function {name!r} is not supported")
    least, most, apply, takes_missing = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise NotFollowedError(f"the function {name!r} does not take {len(arguments)} arguments")
    if not takes_missing and any(isinstance(argument, NoValue) for argument in arguments):
        return InvalidOutcome()
    try:
        return apply(name, arguments)
    except InvalidValueError:
        return InvalidOutcome()


def _arithmetic(name: str, arguments: Arguments) -> Outcome | Split:
    if any(isinstance(argument, NoValue) for argument in arguments):
        return NoValue()
    kind = _common_kind(arguments)
    if kind is None:
        return InvalidOutcome()
    is_whole = kind is DataType.INTEGER
    outcome, two = arguments
    if isinstance(outcome, Constant) and isinstance(two, Constant):
        return _number(
            arithmetic_value(name, outcome.number, two.number, is_whole), kind, Undefined()
        )
    moving, constant, is_first = _one_moving(outcome, two)
    pieces = arithmetic_pieces(name, constant, is_first, is_whole)

    function = operator_function(name, constant, is_first)
    if is_whole and name == "/":
        function = whole(math.trunc, function)
    at_nan = Undefined() if is_whole else NotANumber()
    return ByNumber(moving, segments_of(pieces, function, kind, at_nan))


def _number(value: float | Undefined, kind: DataType, beyond: Outcome) -> Outcome:
    """Return a computed number as a value of a type; ``beyond`` where a whole one has more than 32 bits."""
    if isinstance(value, Undefined):
        return value
    if math.isnan(value):
        return NotANumber()
    if kind is DataType.INTEGER and not INTEGER_ENDS[0] <= value <= INTEGER_ENDS[1]:
        return beyond
    return number_constant(value, kind)


def _kind(argument: Outcome) -> DataType:
    if isinstance(argument, Constant | Moving):
        return argument.kind
    raise NotFollowedError("a function of the category itself is not supported")


def _common_kind(arguments: Arguments) -> DataType | None:
    """Return the type that holds all of some numbers; None where one is none."""
    kinds = {_kind(argument) for argument in arguments}
    if not all(kind.is_numeric for kind in kinds):
        return None
    return next(
        kind for kind in (DataType.DOUBLE, DataType.FLOAT, DataType.INTEGER) if kind in kinds
    )


def _one_moving(one: Outcome, two: Outcome) -> tuple[Moving, float, bool]:
    """Return the moving one of two numbers, the other, and whether the moving one is the first."""
    moving, other, is_first = (one, two, True) if isinstance(one, Moving) else (two, one, False)
    if not isinstance(moving, Moving) or not isinstance(other, Constant):
        raise NotFollowedError("it uses the field twice")
    if not math.isfinite(other.number):
        raise NotFollowedError("it computes with an infinite number")
    return moving, other.number, is_first


def _aggregate(name: str, arguments: Arguments) -> Outcome | Split:
    """Return the least, the greatest, the sum or the product of the arguments that are there."""
    there = [argument for argument in arguments if not isinstance(argument, NoValue)]
    if not there:
        return NoValue()
    kind = _common_kind(there)
    if kind is None:
        if len(there) > 1:
            return InvalidOutcome()
        raise NotFollowedError(f"the function {name!r} is used on something other than numbers")
    if name == "avg":
        raise NotFollowedError("the function 'avg' is not supported")
    fold = FOLDS[name]
    place = [index for index, argument in enumerate(there) if isinstance(argument, Moving)]
    numbers = [argument.number if isinstance(argument, Constant) else 0.0 for argument in there]
    if not all(map(math.isfinite, numbers)):
        raise NotFollowedError("it computes with an infinite number")
    if not place:
        return _number(fold(numbers), kind, InvalidOutcome())
    if len(place) > 1:
        raise NotFollowedError("it uses the field twice")
    moving = there[place[0]]
    assert isinstance(moving, Moving)
    before, behind = numbers[: place[0]], numbers[place[0] + 1 :]
    pieces: Sequence[Piece] = [(-INF, INF, True)]
    if name == "product":
        pieces = product_pieces(math.prod([*before, *behind]))
    return ByNumber(
        moving,
        segments_of(
            pieces, lambda value: fold([*before, value, *behind]), kind, beyond=InvalidOutcome()
        ),
    )


def _sum(numbers: Sequence[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


def _product(numbers: Sequence[float]) -> float:
    total = 1.0
    for number in numbers:
        total *= number
    return total


FOLDS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "sum": _sum,
    "product": _product,
}


def _curve(name: str, arguments: Arguments) -> Outcome | Split:
    (argument,) = arguments
    kind = _kind(argument)
    if name in KEEPS_KIND and not kind.is_numeric:
        raise NotFollowedError(f"the function {name!r} is used on something other than numbers")
    kind, segments = curve_segments(name, kind)
    if isinstance(argument, Moving):
        return ByNumber(argument, segments)
    assert isinstance(argument, Constant)
    return at_segments(argument.number, segments)


def at_segments(value: float, segments: Sequence[Segment]) -> Outcome:
    """Return what a number comes to by segments that cover all numbers."""
    segment = next(segment for segment in segments if value <= segment.high)
    if isinstance(segment.result, MonotoneStep):
        step = segment.result
        return number_constant(step.function(value), step.kind, step.is_continuous)
    return segment.result


def _power(name: str, arguments: Arguments) -> Outcome | Split:
    kind = _common_kind(arguments)
    if kind is None:
        return InvalidOutcome()
    is_whole = kind is DataType.INTEGER
    outcome, two = arguments
    if isinstance(outcome, Constant) and isinstance(two, Constant):
        if is_whole and two.number < 0:
            return InvalidOutcome()
        return _number(power(outcome.number, two.number), kind, InvalidOutcome())
    moving, constant, is_base = _one_moving(outcome, two)
    pieces = power_pieces(constant, is_base)
    if is_whole and is_base and constant < 0:
        return InvalidOutcome()
    segments = segments_of(
        pieces,
        lambda value: power(value, constant) if is_base else power(constant, value),
        kind,
        beyond=InvalidOutcome(),
    )
    if is_whole and not is_base:
        segments = (Segment(-INF, -TINY, InvalidOutcome()), *_from_zero(segments))
    return ByNumber(moving, segments)


def _from_zero(segments: Sequence[Segment]) -> list[Segment]:
    kept = [segment for segment in segments if segment.high >= 0]
    return [Segment(max(segment.low, 0.0), segment.high, segment.result) for segment in kept]


def _threshold(name: str, arguments: Arguments) -> Outcome | Split:
    kind = _common_kind(arguments)
    if kind is None:
        return InvalidOutcome()
    outcome, two = arguments
    if isinstance(outcome, Constant) and isinstance(two, Constant):
        return number_constant(float(outcome.number > two.number), kind)
    moving, end, is_first = _one_moving(outcome, two)
    low = end if is_first else math.nextafter(end, -INF)
    return ByNumber(
        moving,
        (
            Segment(-INF, low, number_constant(0.0 if is_first else 1.0, kind)),
            Segment(math.nextafter(low, INF), INF, number_constant(float(is_first), kind)),
        ),
    )


def _is_missing(name: str, arguments: Arguments) -> Outcome:
    return Constant(isinstance(arguments[0], NoValue) == (name == "isMissing"), DataType.BOOLEAN)


def _logic(name: str, arguments: Arguments) -> Outcome:
    truths = [truth_of(argument) for argument in arguments]
    if name == "not":
        return Constant(not truths[0], DataType.BOOLEAN)
    return Constant(all(truths) if name == "and" else any(truths), DataType.BOOLEAN)


def truth_of(argument: Outcome) -> bool:
    """Return a value as true or false.

    Raises:
        InvalidValueError: it is neither.
        NotFollowedError: it is a moving number or the category itself.
    """
    if not isinstance(argument, Constant):
        raise NotFollowedError("true or false is expected, but a number or a category is given")
    return convert(argument, DataType.BOOLEAN, is_continuous=False).value is True


def _text(name: str, arguments: Arguments) -> Outcome:
    texts = [_words(argument) for argument in arguments if not isinstance(argument, NoValue)]
    if name == "concat":
        return Constant("".join(texts), DataType.STRING)
    word = texts[0]
    if name == "stringLength":
        return number_constant(float(len(word.encode("utf-16-le")) // 2), DataType.INTEGER)
    if name == "trimBlanks":
        return Constant(word.strip("".join(map(chr, range(33)))), DataType.STRING)
    if not word.isascii():
        raise NotFollowedError("it changes letters outside ASCII")
    return Constant(word.upper() if name == "uppercase" else word.lower(), DataType.STRING)


def _words(argument: Outcome) -> str:
    if isinstance(argument, Constant):
        return text_of(argument)
    raise NotFollowedError("a function of the text itself is not supported")


def _substring(name: str, arguments: Arguments) -> Outcome:
    word = _words(arguments[0])
    start, length = (_whole_number(argument) for argument in arguments[1:])
    if start < 1 or length < 0:
        return InvalidOutcome()
    if not word.isascii():
        raise NotFollowedError("parts of a text with letters outside ASCII are not supported")
    return Constant(word[start - 1 : start - 1 + length], DataType.STRING)


def _whole_number(argument: Outcome) -> int:
    if not isinstance(argument, Constant):
        raise NotFollowedError("the text is cut at a position that varies")
    return int(convert(argument, DataType.INTEGER, is_continuous=True).number)


MANY = 10_000
FUNCTIONS: dict[str, tuple[int, int, Apply, bool]] = {
    **dict.fromkeys(("+", "-", "*", "/", "modulo"), (2, 2, _arithmetic, True)),
    **dict.fromkeys(("min", "max", "sum", "product", "avg"), (1, MANY, _aggregate, True)),
    **dict.fromkeys(CURVES, (1, 1, _curve, False)),
    "pow": (2, 2, _power, False),
    "threshold": (2, 2, _threshold, False),
    **dict.fromkeys(COMPARISONS, (2, 2, compare, False)),
    **dict.fromkeys(("equal", "notEqual"), (2, 2, equal, False)),
    **dict.fromkeys(("isIn", "isNotIn"), (2, MANY, is_in, True)),
    **dict.fromkeys(("isMissing", "isNotMissing"), (1, 1, _is_missing, True)),
    **dict.fromkeys(("and", "or"), (2, MANY, _logic, False)),
    "not": (1, 1, _logic, False),
    **dict.fromkeys(("uppercase", "lowercase", "trimBlanks", "stringLength"), (1, 1, _text, False)),
    "concat": (2, MANY, _text, True),
    "substring": (3, 3, _substring, False),
}
"""Of each function: the fewest and the most arguments, how it is applied, and whether it takes missing ones."""
