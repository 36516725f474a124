"""Values as PMML writes them: numbers with padding, labels spelled in several ways, arrays."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import Element

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ITEM = re.compile(r'"((?:\\"|[^"])*)"|([^\s"]+)')


class Failure:
    """Makes the errors about one part of a file: each names the line, and the node where there is one."""

    __slots__ = ("inside", "source")

    def __init__(self, source: str, inside: str = "") -> None:
        self.source = source
        self.inside = inside

    def __call__(self, element: Element, problem: str) -> TreeFormatError:
        return TreeFormatError(f"{self.source}:{element.line}{self.inside}", problem)


def number(text: str | None) -> float | None:
    """Return a finite number as XML writes it, padding trimmed; None where it is not one."""
    if text is None:
        return None
    if text.isdigit() and text.isascii() and len(text) < 16:
        return float(text)
    trimmed = text.strip()
    value = float(trimmed) if len(trimmed) < 1000 and NUMBER.fullmatch(trimmed) else math.nan
    return value if math.isfinite(value) else None


class Vocabulary:
    """Known values, found again under other spellings."""

    def __init__(self, values: Iterable[str]) -> None:
        self.position = {value: position for position, value in enumerate(values)}
        self._by_number: dict[float, str | None] = {}
        for value in self.position:
            meant = number(value)
            if meant is not None:
                self._by_number[meant] = None if meant in self._by_number else value

    def find(self, text: str) -> str | None:
        """Return the value that a text means: itself, without padding, or the same number written otherwise."""
        if text in self.position:
            return text
        if text.strip() in self.position:
            return text.strip()
        meant = number(text)
        return None if meant is None else self._by_number.get(meant)


def items(array: Element, fail: Failure) -> list[str]:
    r"""Split an Array: items between blanks, those with blanks in double quotes, quotes inside as \".

    Raises:
        TreeFormatError: a quote is left open.
    """
    if ITEM.sub(" ", array.text).strip():
        raise fail(array, "a quotation mark is missing in the Array")
    return [
        bare if bare else quoted.replace('\\"', '"')
        for quoted, bare in (match.groups(default="") for match in ITEM.finditer(array.text))
    ]


# Values of PMML's data types, and how one type becomes another (PMML 4.4; as JPMML-Evaluator does it).

INTEGER_ENDS = (-(2**31), 2**31 - 1)
"""The whole numbers that PMML's integer holds: 32 bits."""
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
JAVA_NUMBER = re.compile(r"[+-]?(nan|inf(inity)?|0x.*|.*\d[fd])", re.IGNORECASE)
"""Texts that Java reads as numbers and PMML's schema does not know."""
TRUTHS = {"true": True, "false": False}


class NotFollowedError(Exception):
    """What computes a field cannot be said of one raw field; the message says why."""


class DataType(StrEnum):
    """The data types that are followed."""

    INTEGER = "integer"
    FLOAT = "float"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    STRING = "string"

    @property
    def is_numeric(self) -> bool:
        """Whether values of the type are numbers."""
        return self in (DataType.INTEGER, DataType.FLOAT, DataType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Constant:
    """A value; ``is_continuous`` says that it may be compared by order (PMML's optype)."""

    value: str | float | bool
    kind: DataType
    is_continuous: bool = False

    @property
    def number(self) -> float:
        """The value as a number.

        Raises:
            InvalidValueError: it is none.
        """
        if isinstance(self.value, str):
            return parse_number(self.value)
        return float(self.value)


class InvalidValueError(Exception):
    """A value does not fit its type: an evaluator refuses the record."""


def kind_of(name: str | None) -> DataType:
    """Return the data type of a name.

    Raises:
        NotFollowedError: it is one of those that are not supported.
    """
    try:
        return DataType(name or "")
    except ValueError:
        raise NotFollowedError(f"the data type {name!r} is not supported") from None


def number_constant(value: float, kind: DataType, is_continuous: bool = True) -> Constant:
    """Return a number as a value of a numeric type; minus zero is zero."""
    return Constant(
        single(value) + 0.0 if kind is DataType.FLOAT else value + 0.0, kind, is_continuous
    )


def literal(text: str, kind: DataType | None) -> Constant:
    """Return what a Constant element says, of the type that it names or else looks like.

    Raises:
        InvalidValueError: it is none of that type.
        NotFollowedError: Java may read the text otherwise.
    """
    if kind is None:
        kind = literal_kind(text)
    return convert(Constant(text, DataType.STRING), kind, kind.is_numeric)


def literal_kind(text: str) -> DataType:
    """Return the type of a constant that names none: a number with a point is a double, one without an integer."""
    if JAVA_NUMBER.fullmatch(text):
        raise NotFollowedError(
            f"it is not clear whether the constant {text[:80]!r} is a number or a text"
        )
    if "." in text:
        return DataType.DOUBLE if NUMBER.fullmatch(text.strip()) else DataType.STRING
    return DataType.INTEGER if WHOLE.fullmatch(text) else DataType.STRING


def convert(constant: Constant, kind: DataType, is_continuous: bool) -> Constant:
    """Return a value as one of another type.

    Raises:
        InvalidValueError: it has none.
        NotFollowedError: how Java writes or reads it is not supported.
    """
    value = constant.value
    if constant.kind is kind:
        return Constant(value, kind, is_continuous)
    if kind is DataType.STRING:
        return Constant(text_of(constant), kind, is_continuous)
    if kind is DataType.BOOLEAN:
        return Constant(_truth(constant), kind, is_continuous)
    number = constant.number
    if kind is DataType.INTEGER and not (
        math.isfinite(number)
        and number == math.floor(number)
        and INTEGER_ENDS[0] <= number <= INTEGER_ENDS[1]
    ):
        raise InvalidValueError(f"{value!r} is not a whole number of 32 bits")
    return number_constant(number, kind, is_continuous)


def text_of(constant: Constant) -> str:
    """Return a value as Java writes it.

    Raises:
        NotFollowedError: a number whose digits are not plain.
    """
    value = constant.value
    if isinstance(value, str):
        return value
    if constant.kind is DataType.BOOLEAN:
        return "true" if value else "false"
    if value == math.floor(value) and abs(value) < 1e7:
        return str(int(value)) if constant.kind is DataType.INTEGER else f"{value:.1f}"
    if constant.kind is DataType.INTEGER:
        return str(int(value))
    raise NotFollowedError("a number is converted to text")


def parse_number(text: str) -> float:
    """Return the number that a text says; true is 1, false is 0.

    Raises:
        InvalidValueError: it is none.
        NotFollowedError: Java may read one.
    """
    trimmed = text.strip()
    if len(trimmed) < 1000 and NUMBER.fullmatch(trimmed):
        return float(trimmed)
    if trimmed.lower() in TRUTHS:
        return float(TRUTHS[trimmed.lower()])
    if len(trimmed) >= 1000 or JAVA_NUMBER.fullmatch(trimmed):
        raise NotFollowedError(f"it is not clear whether {text[:80]!r} is a number")
    raise InvalidValueError(f"{text[:80]!r} is not a number")


def _truth(constant: Constant) -> bool:
    if isinstance(constant.value, str) and constant.value.lower() in TRUTHS:
        return TRUTHS[constant.value.lower()]
    number = constant.number
    if number not in (0.0, 1.0):
        raise InvalidValueError(f"{constant.value!r} is neither true nor false")
    return number == 1.0


def single(value: float) -> float:
    """Return a number rounded to 32 bits."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
