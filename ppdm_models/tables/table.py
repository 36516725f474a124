"""A table of records as it was read, its columns typed by what the tree says they are.

Labels say what columns and their values mean: from a file of a statistics program, or from a data dictionary. They are
texts of strangers: on one line, bounded in length and number, and nothing is ever matched by them.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import DictionaryError, TableError, near_text, reading_problem
from treewarden.ppdm_models.tables.dialect import (
    COMMA,
    NO_HEADER,
    SAY_DECIMAL,
    as_number,
    seem_cells,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature
from treewarden.ppdm_models.unsupported_files import PICTURES

MOST_BYTES = 2**24
MOST_LABEL, MOST_VALUE = 160, 80
"""Characters of the label of a column, and of a value or its label."""
MOST_VALUES = 50
"""So many values of a column are told with their labels."""
HEADINGS = ("column", "label", "value", "value_label")
NEEDED = HEADINGS[:2]
SAVE_AS = (
    "give a CSV file in UTF-8 with the headings column,label and, for values, value,value_label"
)


@dataclass(frozen=True, slots=True)
class ColumnMeaning:
    """What a column is called for people, "" where nobody says it, and what its values are called, in their order.

    ``left_out`` is how many values with labels there are beyond those; ``all_labelled`` says that every value that a
    table has in the column is among them.
    """

    name: str
    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    left_out: int = 0
    all_labelled: bool = False

    def label_of(self, value: str) -> str:
        """Return what a value is called; "" where nobody says it."""
        return next((label for code, label in self.values if code == value), "")

    def under(self, overriding: ColumnMeaning) -> ColumnMeaning:
        """Return what another one says of the same column, and this one where that says nothing."""
        if not overriding.values:
            return replace(self, label=overriding.label or self.label)
        return replace(overriding, name=self.name, label=overriding.label or self.label)


def column_meaning(name: str, label: str, values: Mapping[str, str]) -> ColumnMeaning:
    """Return what a column means, within bounds; a label that repeats the name or the value says nothing."""
    label = bounded(label, MOST_LABEL)
    pairs = ((bounded(v, MOST_VALUE), bounded(said, MOST_VALUE)) for v, said in values.items())
    named = [(value, said) for value, said in pairs if said and said != value]
    left_out = max(0, len(named) - MOST_VALUES)
    shown = "" if label == name else label
    return ColumnMeaning(name, shown, tuple(named[:MOST_VALUES]), left_out)


def bounded(text: str, most: int) -> str:
    """Return a text in one line of at most so many characters."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def meanings_of_labels(
    names: Iterable[str], titles: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> tuple[ColumnMeaning, ...]:
    """Return what the columns mean that a file has labels for."""
    meanings = (column_meaning(n, titles.get(n, ""), labels.get(n, {})) for n in names)
    return tuple(meaning for meaning in meanings if meaning.label or meaning.values)


def read_dictionary(path: Path) -> tuple[ColumnMeaning, ...]:
    """Read a data dictionary from a file; as ``read_dictionary_bytes``, which raises where it cannot be read too."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # the second where no file can be called so
        raise DictionaryError(path.name, reading_problem(error, SAVE_AS)) from error
    return read_dictionary_bytes(data, path.name)


def read_dictionary_bytes(data: bytes, source: str) -> tuple[ColumnMeaning, ...]:
    """Read a data dictionary: CSV of ``column,label``, or with a row a value ``column,label,value,value_label``.

    Raises:
        DictionaryError: it is too large or no CSV, lacks a heading, or says two things of one column or value.
    """
    labels: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for line, row in _rows(_text(data, source), source):
        where = f"{source}, line {line}"
        name, label = row["column"].strip(), row["label"].strip()
        value, value_label = row.get("value", "").strip(), row.get("value_label", "").strip()
        if not name:
            raise DictionaryError(where, "names no column; write its name under 'column'")
        if label and labels.get(name, label) != label:
            raise DictionaryError(where, f"a second label of the column {name!r}; keep one")
        if value_label and not value:
            problem = "a label without its value; write the value under 'value'"
            raise DictionaryError(where, problem)
        labels[name] = label or labels.get(name, "")
        codes = values.setdefault(name, {})
        if value:
            if codes.get(value, value_label) != value_label:
                problem = f"a second label of the value {value!r} of {name!r}; keep one"
                raise DictionaryError(where, problem)
            codes[value] = value_label
    if not labels:
        raise DictionaryError(source, f"describes no column; {SAVE_AS}")
    return tuple(column_meaning(name, label, values[name]) for name, label in labels.items())


def _rows(text: str, source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records of a dictionary, each with the line that it ends in."""
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    headings: Sequence[str] = ()
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not headings:
                headings = _headings([cell.strip().casefold() for cell in cells], source)
                continue
            if len(cells) > len(headings):
                where = f"{source}, line {reader.line_num}"
                problem = f"{len(cells)} cells under {len(headings)} headings"
                raise DictionaryError(where, f"{problem}; put labels with commas in quotes")
            padded = [*cells, *[""] * (len(headings) - len(cells))]
            yield reader.line_num, dict(zip(headings, padded, strict=True))
    except csv.Error as error:
        where = f"{source}, line {reader.line_num}"
        raise DictionaryError(where, f"is not CSV ({error}); {SAVE_AS}") from error
    if not headings:
        raise DictionaryError(source, f"is empty; {SAVE_AS}")


def _headings(cells: list[str], source: str) -> list[str]:
    where = f"{source}, headings"
    for name in NEEDED:
        if name not in cells:
            raise DictionaryError(where, f"no {name!r}{near_text(name, cells)}; {SAVE_AS}")
    wrong = next((each for each in cells if each not in HEADINGS), None)
    if wrong is not None:
        raise DictionaryError(where, f"{wrong!r} is unknown{near_text(wrong, HEADINGS)}; {SAVE_AS}")
    if len(set(cells)) < len(cells):
        raise DictionaryError(where, f"one of them occurs twice; {SAVE_AS}")
    if ("value" in cells) is not ("value_label" in cells):
        raise DictionaryError(where, f"'value' and 'value_label' belong together; {SAVE_AS}")
    return cells


def _text(data: bytes, source: str) -> str:
    if len(data) > MOST_BYTES:
        problem = f"is larger than {MOST_BYTES // 2**20} MB; keep the columns of this table only"
        raise DictionaryError(source, problem)
    try:
        return data.decode("utf-8-sig")
    except UnicodeError as error:
        what = "a picture, not a dictionary" if data.startswith(PICTURES) else "not text in UTF-8"
        raise DictionaryError(source, f"{what}; {SAVE_AS}") from error


# Where in a table a row stands, as messages name it, whether it is one record or stands for several.

FILE_BITS = 40
"""A record's number is that of its file, moved by so many bits, and its place in that."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstRecords:
    """The first record of each row, (rows,); ``files`` names the files of the table where it has several.

    ``first`` is None where records have no order, as in a database.
    """

    first: IntArray | None
    files: tuple[str, ...] = ()

    def place_of(self, row: int) -> str:
        """Return where a row stands: its first record."""
        if self.first is None:
            return "a record"
        file, record = divmod(int(self.first[row]), 1 << FILE_BITS)
        where = f" of {self.files[file]!r}" if self.files else ""
        return f"record {record + 1:d}{where}"


def place(places: FirstRecords | None, row: int) -> str:
    """Return where a row stands in a table that may be read record by record."""
    return f"record {row + 1}" if places is None else places.place_of(row)


MOST_LISTED = 12


class RawColumn(ABC):
    """A column as it was read: what type it is, is for whoever wants it to say."""

    @abstractmethod
    def cells(self) -> list[object]:
        """Return the values as they stand: texts, or what the file types them as."""

    @abstractmethod
    def numbers(self) -> FloatArray:
        """Return the values as finite numbers, NaN where one is missing.

        Raises:
            TableError: a value is no number.
        """

    def is_numeric(self) -> bool:
        """Return whether the column looks like numbers: every value is one, and they are no truth values."""
        try:
            self.numbers()
        except TableError:
            return False
        return True

    def how_written(self) -> str:
        """Return in words how its numbers are written where that is not as programs write them, else ""."""
        return ""

    def decimal_mark(self) -> str | None:
        """Return what parts the decimals of its texts, as some cell proves, "" where none has a mark.

        None says that thousands may be parted by it.
        """
        return ""

    def advice_on_decimals(self) -> str:
        """Return what to do where its points may part decimals or thousands."""
        return SAY_DECIMAL

    def holds_words(self) -> bool:
        """Return whether it holds nothing but words for yes and no that the alphabet puts as their meaning does."""
        return False

    def with_points_proved(self, ends: Collection[float]) -> RawColumn:
        """Return the column with decimal points where its texts do not prove them, but a model does.

        ``ends`` are what the model's tests compare the column with: a learner takes them from between its values. That
        holds of one way to read the points only where no end is between the values that the other way reads, those
        without a point among them; without any end, both have to put the values in one order.
        """
        return self

    def with_words_numbered(self) -> RawColumn:
        """Return the column with words for yes as 1 and for no as 0, where nobody said otherwise."""
        return self

    @abstractmethod
    def categories(self, known_values: tuple[str, ...]) -> CategoricalColumn:
        """Return the values as categories, a text that means one of the ``known_values`` as that."""

    def taken(self, known_values: tuple[str, ...]) -> str:
        """Return what is taken of codes that have labels as categories, "labels" or "codes"; "" where none has any."""
        return ""


def has_labels_for_all(meaning: ColumnMeaning, column: RawColumn) -> bool:
    """Return whether every value of a column has a label."""
    try:
        numbers = column.numbers()
    except TableError:
        coded = column.categories(())
        values = {coded.categories[code] for code in np.unique(coded.codes[~coded.missing])}
        return values.issubset(value for value, _ in meaning.values)
    labelled = [number for value, _ in meaning.values if (number := as_number(value)) is not None]
    return bool(np.isin(numbers[~np.isnan(numbers)], labelled).all())


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was read: columns of equal length; ``source`` is the file's name.

    ``index`` are the names of what labels the records of a data frame, which is no column. A table that was counted has
    distinct rows, over the columns that were asked for: ``counts`` (rows,) is how many records each stands for, None
    where it is one each, and ``places`` where those are. Then ``digest`` is of the whole table, and ``notes`` are for
    the reader of a report. ``meanings`` are what its file says that columns and values are called.
    """

    source: str
    columns: Mapping[str, RawColumn]
    rows: int
    index: tuple[str, ...] = ()
    counts: FloatArray | None = None
    places: FirstRecords | None = None
    digest: str = ""
    notes: tuple[str, ...] = ()
    meanings: tuple[ColumnMeaning, ...] = ()

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.rows if self.counts is None else int(self.counts.sum())

    def place(self, row: int) -> str:
        """Return where a row stands, as messages name it: its record, or the first that it stands for."""
        return place(self.places, row)

    def column(self, feature: Feature) -> Column:
        """Return one column typed as the feature says, missing values kept as missing.

        Raises:
            TableError: the column is not there, or a value is not of the feature's type.
        """
        if feature.numeric:
            return self.numbers(feature.name)
        return self.categories(feature.name, feature.values)

    def numbers(self, name: str) -> NumericColumn:
        """Return one column as numbers.

        Raises:
            TableError: the column is not there, or a value is no number.
        """
        numbers = self._raw(name).numbers()
        self._check_points(name)
        return NumericColumn(numbers)

    def categories(self, name: str, known_values: tuple[str, ...] = ()) -> CategoricalColumn:
        """Return one column as categories, those ``known_values`` before it first.

        Raises:
            TableError: the column is not there.
        """
        return self._raw(name).categories(known_values)

    def guessed(self, name: str) -> Feature:
        """Return what a column looks like that the tree says nothing about: numeric where every value is a number.

        Raises:
            TableError: the column is not there.
        """
        return Feature(name, numeric=self._raw(name).is_numeric())

    def lacks(self, name: str) -> str:
        """Return in words that a column is not there."""
        if self.seems_headless():
            return f"no column {name!r}; {NO_HEADER}"
        return f"no column {name!r}{self.meant(name)}; the table has {listed(self.columns)}"

    def seems_headless(self) -> bool:
        """Return whether what names the columns looks like a record, whose cells no message may show.

        So it does where a name is a number or a date, or stands among the texts of its own column.
        """
        if seem_cells(list(self.columns)):
            return True
        return any(name in map(str, column.cells()) for name, column in self.columns.items())

    def meant(self, name: str) -> str:
        """Return in brackets what may be meant by the name of a column that is not there; "" where nothing is near."""
        if name in self.index:
            return " (it is the index; reset_index() makes it a column)"
        if self.seems_headless():
            return ""
        return near_text(name, self.columns)

    def _check_points(self, name: str) -> None:
        """Check that no other column shows decimal commas where the points of this one may part thousands."""
        if self.columns[name].decimal_mark() is not None:
            return
        others = (column for column in self.columns if column != name)
        comma = next((each for each in others if self.columns[each].decimal_mark() == COMMA), None)
        if comma is not None:
            problem = (
                f"column {name!r}: its points may be thousands separators, because column {comma!r} has "
                "decimal commas"
            )
            advice = self.columns[name].advice_on_decimals()
            raise TableError(self.source, f"{problem}; {advice}")

    def _raw(self, name: str) -> RawColumn:
        if name not in self.columns:
            raise TableError(self.source, self.lacks(name))
        return self.columns[name]


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a message, the first twelve of them."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - MOST_LISTED} more" if len(quoted) > MOST_LISTED else ""
    return ", ".join(quoted[:MOST_LISTED]) + more
