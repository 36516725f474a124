"""A table of records as it was read, its columns typed by what the tree says they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.tables.column_meanings import ColumnMeaning
from treewarden.ppdm_models.tables.dialect import COMMA, SAY_DECIMAL
from treewarden.ppdm_models.tables.header import NO_HEADER, seem_cells
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature

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

    def of(self, row: int) -> str:
        """Return where a row stands: its first record."""
        if self.first is None:
            return "a record"
        file, record = divmod(int(self.first[row]), 1 << FILE_BITS)
        where = f" of {self.files[file]!r}" if self.files else ""
        return f"record {record + 1:d}{where}"


def place(places: FirstRecords | None, row: int) -> str:
    """Return where a row stands in a table that may be read record by record."""
    return f"record {row + 1}" if places is None else places.of(row)


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
    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        """Return the values as categories, a text that means one of the ``known`` as that."""

    def taken(self, known: tuple[str, ...]) -> str:
        """Return what is taken of codes that have labels as categories, "labels" or "codes"; "" where none has any."""
        return ""


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

    def categories(self, name: str, known: tuple[str, ...] = ()) -> CategoricalColumn:
        """Return one column as categories, those ``known`` before it first.

        Raises:
            TableError: the column is not there.
        """
        return self._raw(name).categories(known)

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
