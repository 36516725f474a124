"""How the numbers of a text column are written, and the one reading that all of its cells allow.

A comma may part decimals or thousands, and so may a point: ``1,234`` is 1234 or 1.234. What a separator does is proved
by a cell that allows nothing else, and each separator of a column needs such a cell, or somebody who says it. Nothing
here quotes a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tables.dialect import COMMA, POINT, SAY_DECIMAL, NumberStyle, Percent

# Values for Arrow, and arrays from it, without pandas: Arrow imports that where Python's own values come in or go out.
#
# It does so to see whether what it is given is a data frame's. Nobody waits for that who has a file.


def text_array(values: Iterable[str], kind: pa.DataType) -> pa.Array:
    """Return texts as an array of a kind of text."""
    encoded = [each.encode() for each in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    return pc.cast(pa.Array.from_buffers(pa.string(), len(encoded), buffers), kind)


def array_of(values: NDArray[Any], missing: BoolArray | None = None) -> pa.Array:
    """Return numbers or truth values as Arrow has them, null where they are ``missing``; numbers are not copied."""
    data = _bits(values) if values.dtype == np.bool_ else np.ascontiguousarray(values)
    there = None if missing is None or not missing.any() else pa.py_buffer(_bits(~missing))
    buffers = [there, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _bits(values: BoolArray) -> NDArray[np.uint8]:
    return np.packbits(values, bitorder="little")


def nothing(kind: pa.DataType) -> pa.Scalar:
    """Return a missing value of a kind."""
    return pa.nulls(1, kind)[0]


def numpy_of(numbers: pa.Array, missing: float) -> NDArray[Any]:
    """Return numbers as numpy has them, in an array of its own; ``missing`` stands where there are none."""
    if numbers.null_count:
        stand_in = np.array([missing], numbers.type.to_pandas_dtype())
        buffers = [None, pa.py_buffer(stand_in.tobytes())]
        numbers = pc.fill_null(numbers, pa.Array.from_buffers(numbers.type, 1, buffers)[0])
    return np.array(np.from_dlpack(numbers))


SPACES, APOSTROPHES = " \u00a0\u2007\u2009\u202f", "'\u2019"
GROUPERS = (POINT, COMMA, SPACES, APOSTROPHES)
SIGNS, MINUS = "+\u2212-", ("-", "\u2212")
WORD = rf"[^0-9.,{APOSTROPHES}{SIGNS}]*"
PARTS = (
    rf"^(?P<before>{WORD})(?P<sign>[{SIGNS}]?)(?P<between>{WORD})"
    rf"(?P<body>[.,]?[0-9](?:[0-9.,{APOSTROPHES}{SPACES}]*[0-9])?[.,]?)"
    r"(?P<exponent>(?:[eE][+-]?[0-9]+)?)(?P<after>[^0-9]*)$"
)
"""A number with what may stand around it: a sign, and a currency or a unit on either side."""
SAMPLE = 1000
"""So many cells are looked at first, as hardly a column of decimals needs more to show its mark."""
DECIMAL_PLAIN = rf"^[{SIGNS}]?[0-9]*\.[0-9]*(?:[eE].*)?$"
GROUPED_PLAIN = rf"^[{SIGNS}]?[1-9][0-9]{{0,2}}\.[0-9]{{3}}$"
BELOW_THOUSAND = rf"^[{SIGNS}]?[0-9]{{1,3}}$"
PERCENT = "%"
CODES = "sek nok dkk pln czk huf inr brl r$ cad aud nzd zar try ₹ zł kč"
MEASURES = "cm mm km kg mg ml km/h mg/dl mmol/l mmhg bpm °c °f"
UNITS = (
    (PERCENT,),
    ("€", "eur", "euro", "euros"),
    ("$", "usd", "us$", "dollar", "dollars"),
    ("£", "gbp"),
    ("¥", "jpy", "cny"),
    ("chf", "fr.", "sfr", "sfr."),
    *((word,) for word in f"{CODES} {MEASURES}".split()),
    ("kg/m²", "kg/m2"),
    ("year", "years", "yr", "yrs"),
    ("jahr", "jahre", "jahren"),
    ("an", "ans"),
    ("año", "años"),
    ("anno", "anni"),
    ("month", "months"),
    ("monat", "monate", "monaten"),
    ("day", "days"),
    ("tag", "tage", "tagen"),
    ("hour", "hours"),
    ("stunde", "stunden"),
)
"""What may stand beside each number of a column and leaves it what it is: nothing that multiplies it, as k or Mio."""
UNIT_NUMBER: Mapping[str, int] = {word: at for at, words in enumerate(UNITS) for word in words}
NAMES = {POINT: "points", COMMA: "commas", SPACES: "blanks", APOSTROPHES: "apostrophes"}
SAY_PERCENT = (
    "write the numbers that the model was trained on, or add #percent=points (45) or "
    "#percent=fraction (0.45) to the file's name"
)
PLAIN_NUMBERS = "write every value as a number without words, or name another column"


@dataclass(frozen=True, slots=True)
class NumberReading:
    """The numbers of a column, null where there is no value, and ``how`` they are written, in words."""

    numbers: pa.Array
    how: str


class UnreadNumberError(ValueError):
    """Cells that allow no reading as numbers, or several; ``row`` is the first at fault."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row, self.problem = row, problem


def read_numbers(texts: pa.Array, style: NumberStyle) -> NumberReading:
    """Return the numbers of texts without padding, null where a value is missing, in the one reading that fits all.

    Raises:
        UnreadNumberError: there is none, or more than one.
    """
    _parts(texts[:SAMPLE])  # most columns of words end here
    parts = _parts(texts)
    body, exponent = (pc.struct_field(parts, name) for name in ("body", "exponent"))
    unit = _unit(parts)
    decimal, grouper = _separators(body, exponent, style.decimal)
    _refuse(
        pc.invert(pc.match_substring_regex(body, _grammar(decimal, grouper))), "not a number", ""
    )
    if unit == PERCENT:
        exponent = _percent_exponent(exponent, style.percent)
    is_minus = pc.is_in(pc.struct_field(parts, "sign"), text_array(MINUS, body.type))
    bare = _without(body, grouper)
    if decimal == COMMA:
        bare = pc.replace_substring(bare, COMMA, POINT)
    sign = pc.if_else(is_minus, "-", "")
    joined = _joined(pc.cast(sign, bare.type), bare, exponent, between="")
    joined = pc.if_else(pc.is_valid(texts), joined, None)
    return NumberReading(pc.cast(joined, pa.float64()), _described(decimal, grouper, unit, style))


def decimal_mark(texts: pa.Array) -> str | None:
    """Return what parts the decimals of numbers, as some cell proves; "" where none has a mark.

    None says that all that have one may group thousands by it, or that they are no numbers of one way of writing.
    """
    if _has_plain_decimals(texts[:SAMPLE]):
        return POINT
    has_mark = pc.or_(*(pc.match_substring(texts, mark) for mark in (POINT, COMMA)))
    if not pc.any(has_mark).as_py():
        return ""
    marked = texts.filter(has_mark)
    if _has_plain_decimals(marked):
        return POINT
    try:
        parts = pc.extract_regex(marked, PARTS)
        body, exponent = (pc.struct_field(parts, name) for name in ("body", "exponent"))
        decimal, grouper = _separators(body.drop_null(), exponent.drop_null(), "")
    except UnreadNumberError:
        return None
    return decimal or (COMMA if grouper == POINT else POINT)


def may_be_grouped(texts: pa.Array) -> bool:
    """Return whether plain numbers look as if points grouped their thousands.

    So they do where three digits follow each point and none is below one, and where those without a point are below a
    thousand: who groups thousands writes them so.
    """
    if _has_plain_decimals(texts[:SAMPLE]):
        return False
    if not pc.any(pc.match_substring(texts, POINT)).as_py():
        return False
    there = texts.drop_null()
    has_point = pc.match_substring(there, POINT)
    whole = there.filter(pc.invert(has_point))
    return _all(there.filter(has_point), GROUPED_PLAIN) and _all(whole, BELOW_THOUSAND)


def first_where(is_there: pa.Array) -> int:
    """Return the first row of which something holds; the first of all where it holds of none."""
    return int(np.argmax(numpy_of(pc.cast(is_there, pa.int8()), 0)))


def _parts(texts: pa.Array) -> pa.Array:
    parts = pc.extract_regex(texts, PARTS)
    _refuse(pc.and_(pc.is_null(parts), pc.is_valid(texts)), "not a number", "")
    return parts


def _has_plain_decimals(texts: pa.Array) -> bool:
    """Return whether some cell shows by itself that a point parts its decimals."""
    plain = pc.match_substring_regex(texts, DECIMAL_PLAIN)
    grouped = pc.match_substring_regex(texts, GROUPED_PLAIN)
    return bool(pc.any(pc.and_not(plain, grouped)).as_py())


def _unit(parts: pa.Array) -> str:
    """Return what stands beside each number, "" where nothing does."""
    words = [
        pc.fill_null(pc.struct_field(parts, name), "") for name in ("before", "between", "after")
    ]
    beside = pc.utf8_lower(pc.utf8_trim_whitespace(_joined(*words, between=" ")))
    there = pc.is_valid(parts)
    encoded = pc.dictionary_encode(beside.filter(there))
    found = encoded.dictionary.to_pylist()
    numbers = {UNIT_NUMBER.get(word) if word else -1 for word in found}
    if not found or numbers == {-1}:
        return ""
    if None in numbers:
        known = text_array(["", *UNIT_NUMBER], beside.type)
        strange = pc.and_(there, pc.invert(pc.is_in(beside, known)))
        _refuse(strange, "the cell is not only a number", PLAIN_NUMBERS)
    if len(numbers) > 1:
        other = pc.and_(there, pc.not_equal(beside, beside[first_where(there)]))
        _refuse(other, "the unit differs from that of an earlier record", PLAIN_NUMBERS)
    return UNITS[numbers.pop() or 0][0]


def _separators(body: pa.Array, exponent: pa.Array, text: str) -> tuple[str, str]:
    """Return what parts the decimals of numbers and what groups their thousands, "" where nothing does.

    Raises:
        UnreadNumberError: no cell shows what a separator does, or cells contradict each other.
    """
    decimals: list[str] = []
    groupers = [each for each in (SPACES, APOSTROPHES) if _any(body, f"[{each}]")]
    for mark, other in ((POINT, COMMA), (COMMA, POINT)):
        has_mark = pc.match_substring(body, mark)
        if not pc.any(has_mark).as_py():
            continue
        groups = pc.match_substring_regex(body, rf"\{mark}.*[.,]")
        is_open = pc.match_substring_regex(body, rf"^[1-9][0-9]{{0,2}}\{mark}[0-9]{{3}}$")
        is_open = pc.and_(is_open, pc.equal(exponent, ""))
        parts = pc.and_not(pc.and_not(has_mark, groups), is_open)
        name = NAMES[mark].removesuffix("s")
        if text:
            contradicts = groups if mark == text else parts
            _refuse(contradicts, f"the {name} does not do what #decimal= says", SAY_DECIMAL)
        if pc.any(groups).as_py() and pc.any(parts).as_py():
            _refuse(
                groups,
                f"the {name} is a thousands separator here and a decimal separator elsewhere",
                SAY_DECIMAL,
            )
        if text == mark or pc.any(parts).as_py():
            decimals.append(mark)
        elif text == other or pc.any(groups).as_py():
            groupers.append(mark)
        else:
            problem = (
                f"the {name} may be a decimal or a thousands separator, and no record shows which"
            )
            _refuse(has_mark, problem, SAY_DECIMAL)
    if len(decimals) > 1 or len(groupers) > 1:
        first = pc.match_substring_regex(body, f"[{''.join(GROUPERS)}]")
        _refuse(first, "this column has numbers in several formats", SAY_DECIMAL)
    return "".join(decimals), "".join(groupers)


def _grammar(decimal: str, grouper: str) -> str:
    whole = "[0-9]+" + (rf"|[1-9][0-9]{{0,2}}(?:[{grouper}][0-9]{{3}})+" if grouper else "")
    fraction = rf"(?:\{decimal}[0-9]*)?" if decimal else ""
    leading = rf"|\{decimal}[0-9]+" if decimal else ""
    return f"^(?:(?:{whole}){fraction}{leading})$"


def _percent_exponent(exponent: pa.Array, percent: Percent | None) -> pa.Array:
    if percent is None:
        _refuse(pc.is_valid(exponent), "a percent sign: 45 % may be 45 or 0.45", SAY_PERCENT)
    if percent is Percent.POINTS:
        return exponent
    _refuse(pc.not_equal(exponent, ""), "an exponent before a percent sign", PLAIN_NUMBERS)
    return pc.if_else(pc.is_valid(exponent), "e-2", exponent)


def _joined(*texts: pa.Array, between: str) -> pa.Array:
    parts = [pc.cast(text, texts[0].type) for text in texts]
    return pc.binary_join_element_wise(*parts, text_array([between], texts[0].type)[0])


def _without(body: pa.Array, grouper: str) -> pa.Array:
    return pc.replace_substring_regex(body, f"[{grouper}]", "") if grouper else body


def _described(decimal: str, grouper: str, unit: str, style: NumberStyle) -> str:
    said = []
    if decimal == COMMA:
        said.append("decimal commas")
    if grouper:
        said.append(f"{NAMES[grouper]} between thousands")
    if unit == PERCENT:
        said.append(f"percent signs read as {style.percent}")
    elif unit:
        said.append(f"{unit!r} beside each number")
    return " and ".join(said) or "signs or padding"


def _any(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _all(texts: pa.Array, pattern: str) -> bool:
    return not len(texts) or bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _refuse(is_at_fault: pa.Array, problem: str, remedy: str) -> None:
    """Refuse a column whose cells are at fault somewhere."""
    if pc.any(is_at_fault).as_py():
        whole = f"{problem}; {remedy}" if remedy else problem
        raise UnreadNumberError(first_where(is_at_fault), whole)


# Words for 1 and 0 in a column that a model compares as numbers, and whether they can stand for nothing else.
#
# "yes" may be 1 beside a "no" of 0, 1 beside 2, or 2 beside 1. It is 1 where each test of the model parts 0 from 1: no
# test parts 1 from 2 then. That "no" comes first, by its meaning and by the alphabet, is what the accepted words share;
# of "ja" and "nein" the alphabet says the contrary, and learners number by it.

YES = ("yes", "y", "oui", "o", "si", "sí", "sì", "sim", "wahr", "vrai", "t", "true")
NO = ("no", "n", "non", "não", "falsch", "faux", "f", "false")
UNORDERED_YES, UNORDERED_NO = ("ja", "j"), ("nein",)
"""Words that the alphabet puts the other way round."""
SAY_YES = (
    "write the numbers that the model was trained on, or add #yes=1 (or #yes=0) to the file's name"
)


def numbered_words(texts: pa.Array) -> pa.Array | None:
    """Return 1 for words for yes and 0 for words for no; None where there are none, or anything else beside them."""
    lowered = pc.utf8_lower(texts)
    yes = _is_in(lowered, (*YES, *UNORDERED_YES))
    is_word = pc.or_(yes, _is_in(lowered, (*NO, *UNORDERED_NO)))
    if not pc.all(is_word.filter(pc.is_valid(texts))).as_py() or texts.null_count == len(texts):
        return None
    return pc.if_else(pc.is_valid(texts), pc.cast(yes, pa.float64()), None)


def are_ordered(texts: pa.Array) -> bool:
    """Return whether words are told apart from each other by the alphabet as by their meaning: no before yes."""
    lowered = pc.unique(pc.utf8_lower(texts.drop_null()))
    return bool(pc.all(_is_in(lowered, (*YES, *NO))).as_py())


def _is_in(texts: pa.Array, words: Iterable[str]) -> pa.Array:
    return pc.is_in(texts, text_array(words, texts.type))
