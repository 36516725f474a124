"""A column as Arrow holds it, read as numbers or as categories: whatever file or data frame it came from."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.dialect import (
    COMMA,
    CONVERT_DECIMAL,
    POINT,
    SAY_DECIMAL,
    SAY_ENCODING,
    Dialect,
)
from treewarden.ppdm_models.tables.number_formats import (
    SAMPLE,
    SAY_PERCENT,
    SAY_YES,
    NumberReading,
    UnreadNumberError,
    are_ordered,
    decimal_mark,
    first_where,
    may_be_grouped,
    nothing,
    numbered_words,
    numpy_of,
    read_numbers,
    text_array,
)
from treewarden.ppdm_models.tables.table import FirstRecords, RawColumn, Table, place
from treewarden.ppdm_models.tree.column import CategoricalColumn

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that stand for a missing value, unless the tree declares one of them as a category."""

NOT_A_NUMBER = (
    "not a number, but a number is needed; write the cell as it was when the model was trained: a number, "
    "or empty"
)
NUMBERS_NEEDED = "it must contain numbers (for the tree's tests, or as weights); check the column"
YES_OR_NO = (
    "the value is a word for yes or no, but the model needs a number, and the file does not say which "
    "number stands for yes"
)
CONVERT = (
    "convert the column to the numbers that the model was trained on before you give the table"
)
CONVERTED = {SAY_DECIMAL: CONVERT_DECIMAL, SAY_PERCENT: CONVERT, SAY_YES: CONVERT}
"""Advice on files, and what to do with a table in memory instead."""
LARGEST = 2.0**53
"""From here on two whole numbers may be one number of 64 bits: such columns are ids, told apart by their text."""
TRUTH = {"true": 1.0, "false": 0.0}
"""What learners take truth values for, where they compare them as numbers."""


@dataclass(frozen=True, slots=True)
class ArrowColumn(RawColumn):
    """A column of texts, or as its source types it; ``source`` and ``name`` say which in messages.

    Texts of a table that was counted are ``held`` as codes, and spelled out where they are read as anything but
    categories. ``places`` say where values stand in such a table, ``dialect`` how texts are written.
    """

    source: str
    name: str
    held: pa.Array
    places: FirstRecords | None = None
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def values(self) -> pa.Array:
        """The values themselves, no codes."""
        return decode_texts(self.held)

    def cells(self) -> list[object]:
        return list(self.values.to_pylist())

    def is_numeric(self) -> bool:
        if _truth(self.values) is not None or self.holds_words():
            return False
        try:
            numbers = self.numbers()
        except TableError:
            return False
        return pa.types.is_floating(self.held.type) or not _is_too_long(numbers)

    def numbers(self) -> FloatArray:
        try:
            return self._plain_numbers()
        except UnreadNumberError:
            return self._finite(self._read().numbers)

    def how_written(self) -> str:
        try:
            self._plain_numbers()
        except UnreadNumberError:
            with contextlib.suppress(TableError):
                return self._read().how
        except TableError:
            pass
        return ""

    def decimal_mark(self) -> str | None:
        if not _is_text(self.held):
            return ""
        said = self.dialect.numbers.decimal or (POINT if self.dialect.is_typed else "")
        return said or decimal_mark(self.values)

    def holds_words(self) -> bool:
        if not _is_text(self.held):
            return False
        start = _present(decode_texts(self.held[:SAMPLE]))
        if numbered_words(start) is None and start.null_count < len(start):
            return False
        texts = _present(self.values)
        return numbered_words(texts) is not None and are_ordered(texts)

    def with_points_proved(self, ends: Collection[float]) -> ArrowColumn:
        style = self.dialect.numbers
        if not _is_text(self.held) or style.decimal or not may_be_grouped(_present(self.values)):
            return self
        arrow_column = replace(
            self, dialect=replace(self.dialect, numbers=replace(style, decimal=POINT))
        )
        grouped = replace(
            self, dialect=replace(self.dialect, numbers=replace(style, decimal=COMMA))
        )
        try:
            decimals, thousands = arrow_column.numbers(), grouped.numbers()
        except TableError:
            return self
        if not ends:
            return arrow_column if _are_ordered_alike(decimals, thousands) else self
        is_decimal = all(_is_within(end, decimals) for end in ends)
        is_grouped = any(_is_within(end, thousands) for end in ends)
        return self if is_grouped or not is_decimal else arrow_column

    def with_words_numbered(self) -> ArrowColumn:
        if self.dialect.numbers.yes is not None:
            return self
        return replace(
            self, dialect=replace(self.dialect, numbers=replace(self.dialect.numbers, yes=1))
        )

    def _plain_numbers(self) -> FloatArray:
        """Return the numbers of a column that is typed, or writes them as programs do.

        Raises:
            UnreadNumberError: it writes some in another way.
            TableError: it holds no numbers, or its points may group thousands.
        """
        name, values = self.name, self.values
        if _is_text(values):
            values = _present(values)
        elif pa.types.is_temporal(values.type):
            problem = f"column {name!r} holds dates or times, not numbers"
            what = "replace them by the numbers that the model compares"
            raise TableError(self.source, f"{problem}; {what}")
        if pa.types.is_decimal(values.type):
            values = pc.cast(values, pa.string())  # as Arrow itself rounds decimals twice
        try:
            numbers = pc.cast(values, pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            numbers = _truth(values)
            if numbers is None and _is_text(self.held):
                raise UnreadNumberError(0, "") from error
            if numbers is None:
                problem = _not_a_number(name, values, self.places)
                raise TableError(self.source, problem) from error
        else:
            if _is_text(self.held):
                self._check_points(values)
        return self._finite(numbers)

    def _check_points(self, texts: pa.Array) -> None:
        """Check that the points of plain numbers part decimals, as far as the column and the file show it."""
        said = self.dialect.numbers.decimal
        if said == POINT or self.dialect.is_typed:
            return
        if said == COMMA and pc.any(pc.match_substring(texts, POINT)).as_py():
            raise UnreadNumberError(0, "")
        if not said and may_be_grouped(texts):
            problem = (
                "the point may be a decimal or a thousands separator, and no record shows which"
            )
            row = first_where(pc.match_substring(texts, POINT))
            raise self._error(row, f"{problem}; {SAY_DECIMAL}")

    def _read(self) -> NumberReading:
        """Return the numbers of texts that are written otherwise.

        Raises:
            TableError: they allow no reading, or several.
        """
        texts, yes = _present(self.values), self.dialect.numbers.yes
        words = numbered_words(texts)
        if words is not None:
            if yes is None:
                row = first_where(pc.is_valid(texts))
                raise self._error(row, f"{YES_OR_NO}; {SAY_YES}")
            how = f"words for yes as {yes} and for no as {1 - yes}"
            return NumberReading(words if yes else pc.subtract(1.0, words), how)
        try:
            return read_numbers(texts, self.dialect.numbers)
        except UnreadNumberError as error:
            problem = error.problem
            if problem == "not a number":
                problem = f"the value is {NOT_A_NUMBER}"
            elif ";" not in problem:
                problem = f"{problem}; {NUMBERS_NEEDED}"
            raise self._error(error.row, problem) from error

    def _finite(self, numbers: pa.Array) -> FloatArray:
        found: FloatArray = numpy_of(numbers, math.nan)
        is_infinite = np.isinf(found)
        if is_infinite.any():
            row = int(np.flatnonzero(is_infinite)[0])
            raise self._error(row, "the number is infinite; give a finite one")
        return found

    def advice_on_decimals(self) -> str:
        return CONVERT_DECIMAL if self.dialect.is_in_memory else SAY_DECIMAL

    def _error(self, row: int, problem: str) -> TableError:
        where = f"column {self.name!r}, {place(self.places, row)}"
        if self.dialect.is_in_memory:
            for of_file, of_memory in CONVERTED.items():
                problem = problem.replace(of_file, of_memory)
        return TableError(self.source, f"{where}: {problem}")

    def categories(self, known_values: tuple[str, ...]) -> CategoricalColumn:
        try:
            categorical_column = _categories(_dated(self.held), known_values)
        except pa.ArrowNotImplementedError as error:
            problem = f"column {self.name!r} holds {self.held.type}, neither numbers nor text"
            raise TableError(self.source, f"{problem}; make it one of them") from error
        if known_values and self.dialect.is_guessed:
            self._check_letters(categorical_column, known_values)
        return categorical_column

    def _check_letters(
        self, categorical_column: CategoricalColumn, known_values: tuple[str, ...]
    ) -> None:
        """Check that letters which depend on a guessed encoding are those of the model."""
        strange = [
            not category.isascii() and category not in known_values
            for category in categorical_column.categories
        ]
        if any(strange):
            row = int(np.flatnonzero(np.array([*strange, False])[categorical_column.codes])[0])
            problem = (
                "a non-ASCII letter in a value that the model does not have, and the file is not in "
                "UTF-8"
            )
            raise self._error(row, f"{problem}; {SAY_ENCODING}")


def table_of_arrays(
    source: str,
    arrays: Mapping[str, pa.Array],
    rows: int,
    index: tuple[str, ...] = (),
    dialect: Dialect | None = None,
) -> Table:
    """Return a table of Arrow's columns; ``index`` names what labels its records without being a column.

    ``dialect`` is how its texts are written.
    """
    known = dialect or Dialect()
    columns = {
        name: ArrowColumn(source, name, values, dialect=known) for name, values in arrays.items()
    }
    return Table(source, columns, rows, index)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece and its values spelled out: no dictionary, no view."""
    return decode_texts(join_chunks(column))


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, as it is."""
    if column.num_chunks == 1:
        return column.chunk(0)
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        return pa.concat_arrays(values.chunks) if values.chunks else pa.nulls(0, column.type)
    return values


def decode_texts(values: pa.Array) -> pa.Array:
    """Return values as themselves: no dictionary, no view."""
    if pa.types.is_dictionary(values.type):
        if pa.types.is_string_view(values.type.value_type):  # which Arrow cannot decode
            named = values.dictionary.cast(pa.string())
            values = pa.DictionaryArray.from_arrays(values.indices, named)
        values = values.dictionary_decode()
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def _truth(values: pa.Array) -> pa.Array | None:
    """Return truth values as learners compare them, 1 and 0; None of a column that holds anything else."""
    if pa.types.is_boolean(values.type):
        return pc.cast(values, pa.float64())
    if not _is_text(values):
        return None
    said = pc.utf8_lower(_present(values).drop_null())
    if not len(said) or not pc.all(pc.is_in(said, text_array(TRUTH, said.type))).as_py():
        return None
    return pc.cast(pc.equal(pc.utf8_lower(_present(values)), "true"), pa.float64())


def _is_within(end: float, numbers: FloatArray) -> bool:
    return bool(np.nanmin(numbers) <= end <= np.nanmax(numbers))


def _are_ordered_alike(one: FloatArray, second: FloatArray) -> bool:
    """Return whether the same cells are missing, equal and less than each other in two readings of a column."""
    ranks = [np.unique(each, return_inverse=True)[1] for each in (one, second)]
    return bool(np.array_equal(ranks[0], ranks[1]))


def _is_too_long(numbers: FloatArray) -> bool:
    """Return whether some numbers have more digits than are kept of them."""
    return bool((np.abs(numbers) >= LARGEST).any())


def _is_text(values: pa.Array) -> bool:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    return is_text(kind)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is that of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _present(texts: pa.Array) -> pa.Array:
    """Return texts without padding, null where one stands for a missing value."""
    trimmed = pc.utf8_trim_whitespace(texts)
    is_missing = pc.is_in(trimmed, text_array(MISSING, trimmed.type))
    return pc.if_else(is_missing, nothing(trimmed.type), trimmed)


def _not_a_number(name: str, values: pa.Array, places: FirstRecords | None) -> str:
    for row, value in enumerate(values.to_pylist()):
        try:
            float("nan" if value is None else value)
        except (TypeError, ValueError):
            return f"column {name!r}, {place(places, row)}: the value is {NOT_A_NUMBER}"
    return f"column {name!r} contains {values.type}, not numbers; {NUMBERS_NEEDED}"


def _dated(values: pa.Array) -> pa.Array:
    """Return points in time as text: the day alone where no record has a time of day."""
    if not pa.types.is_timestamp(values.type):
        return values
    days = pc.cast(values, pa.date32(), safe=False)
    at_midnight = pc.equal(pc.cast(days, values.type), values)
    whole = pc.all(pc.fill_null(at_midnight, fill_value=True)).as_py()
    if whole:
        return pc.cast(days, pa.string())
    with contextlib.suppress(pa.ArrowInvalid):  # some record has a fraction of a second
        values = pc.cast(values, pa.timestamp("s", values.type.tz))
    return pc.cast(values, pa.string())


def _categories(values: pa.Array, declared: tuple[str, ...]) -> CategoricalColumn:
    """Return codes into sorted categories; the order does not depend on the order of the records."""
    encoded = pc.dictionary_encode(values)
    is_truth = pa.types.is_boolean(values.type)
    raw = [_text(value) for value in encoded.dictionary.to_pylist()]
    matched = [_matched(value, declared, is_truth) for value in raw]
    categories = tuple(sorted({value for value in matched if value is not None}))
    position = {value: code for code, value in enumerate(categories)}
    recode = np.array(
        [position.get(value, -1) if value is not None else -1 for value in matched] + [-1],
        dtype=np.int64,
    )
    codes = numpy_of(encoded.indices, -1)
    return CategoricalColumn(codes=recode[codes], categories=categories)


def _text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def _matched(value: str | None, declared: tuple[str, ...], is_truth: bool) -> str | None:
    """Return the declared category that a text means.

    That is itself, without padding; the same number written otherwise; or the same truth value, in any case of letters
    and, of a column of nothing but truth values, as 1 or 0.
    """
    if value is None or value in declared:
        return value
    trimmed = value.strip()
    if trimmed in declared:
        return trimmed
    if trimmed in MISSING:
        return None
    truth = TRUTH.get(trimmed.lower())
    if truth is not None:
        same = [known for known in declared if TRUTH.get(known.lower()) == truth]
        if not same and is_truth:
            same = [known for known in declared if _number(known) == truth]
        return same[0] if len(same) == 1 else value
    number = _number(trimmed)
    same = [known for known in declared if number is not None and _number(known) == number]
    return same[0] if len(same) == 1 else value


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def content_of(column: object) -> Iterator[bytes]:
    """Yield what a column holds as bytes: which values are missing, then all others, one kind after the other."""
    if not isinstance(column, ArrowColumn):
        yield repr(column).encode("utf-8")
        return
    values = column.values
    yield bytes(pc.is_valid(values).to_numpy(zero_copy_only=False))
    there = values.drop_null()
    if pa.types.is_integer(there.type) or pa.types.is_floating(there.type):
        yield pc.cast(there, pa.float64(), safe=False).to_numpy(zero_copy_only=False).tobytes()
        return
    for value in there.to_pylist():
        yield str(value).encode("utf-8", "surrogatepass")
