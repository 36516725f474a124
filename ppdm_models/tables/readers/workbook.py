"""A sheet of a workbook as a table: where its header is, and its cells as the text that CSV would have."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice

import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.dialect import said_of_twins
from treewarden.ppdm_models.tables.readers import TableReader

Row = Sequence[object]
NOT_AVAILABLE = "#N/A"
"""The error that says by itself that a value is missing."""
ERRORS = frozenset(
    {"#DIV/0!", "#REF!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"}
)
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
"""No sheet of Excel has more."""
ROWS = 2**13
"""So many rows are read at a time."""
WHOLE = 2.0**53
"""Up to here a number without a fraction is written as a whole one."""
BROKEN = "not a readable workbook; open it and save it again as .xlsx, or save the table as CSV or Parquet"


@dataclass(frozen=True, slots=True)
class CellRange:
    """Cells, all ends included and counted from 1."""

    top: int
    bottom: int
    left: int
    right: int

    def __str__(self) -> str:
        return f"{letters(self.left)}{self.top}:{letters(self.right)}{self.bottom}"


@dataclass(frozen=True, slots=True)
class Marks:
    """What of a sheet its values do not tell: merged cells, and the first formula whose result was not saved."""

    merged: tuple[CellRange, ...] = ()
    unsaved: str = ""


class Book(ABC):
    """A workbook as its library reads it."""

    @abstractmethod
    def sheets(self) -> tuple[str, ...]:
        """Return the names of its sheets."""

    @abstractmethod
    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the values of a sheet, row by row from its first: None, text, a truth value, a number or a time."""

    @abstractmethod
    def marks(self, sheet: str) -> Marks:
        """Return what the values of a sheet do not tell."""


Opening = Callable[[], AbstractContextManager[Book]]


@dataclass(frozen=True, slots=True)
class Sheet(TableReader):
    """A sheet of a workbook, ``columns`` at their places in a row, below the row ``header``, from 1."""

    name: str
    opening: Opening
    sheet: str
    header: int
    columns: Mapping[str, int]
    is_one_of_several: bool

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column, pa.string()) for column in self.columns])

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.is_one_of_several:
            return ()
        return (f"{self.name}: the sheet {self.sheet!r} was read; the workbook has others",)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with read_safely(self.name), self.opening() as book:
            self._check(book.marks(self.sheet))
            places = [self.columns[column] for column in columns]
            for start, rows in self._batches(book):
                cells = [self._cells(rows, start, place) for place in places]
                yield pa.RecordBatch.from_arrays(cells, names=list(columns))

    def _check(self, marks: Marks) -> None:
        places = self.columns.values()
        for cell_range in marks.merged:
            is_inside = cell_range.left - 1 <= max(places) and cell_range.right - 1 >= min(places)
            if cell_range.bottom >= self.header and is_inside:
                problem = f"the cells {cell_range} are merged, so that all but one have no value"
                raise self._error(f"{problem}; unmerge them and give each its value")
        if marks.unsaved:
            problem = f"the formula in cell {marks.unsaved} has no result saved with it"
            raise self._error(f"{problem}; open the workbook in Excel and save it")

    def _batches(self, book: Book) -> Iterator[tuple[int, list[Row]]]:
        """Yield rows of records, and which row of the sheet the first of them is."""
        rows = enumerate(book.rows(self.sheet), 1)
        named, empty = set(self.columns.values()), 0
        while True:
            with quietly():
                batch = list(islice(rows, ROWS))
            if not batch:
                return
            found: list[Row] = []
            start = 0
            for number, row in batch:
                if number <= self.header:
                    continue
                check_size(self.name, number, len(row))
                if not any(map(is_there, row)):
                    empty = empty or number
                    continue
                if empty:
                    problem = f"row {empty} is empty, and rows below it are not"
                    raise self._error(f"{problem}; delete what does not belong to the table")
                self._check_width(row, number, named)
                start = start or number
                found.append(row)
            if found:
                yield start, found

    def _check_width(self, row: Row, number: int, named: set[int]) -> None:
        for place, value in enumerate(row):
            if place not in named and is_there(value):
                cell = f"{letters(place + 1)}{number}"
                problem = f"cell {cell} has a value, and its column no name in row {self.header}"
                raise self._error(f"{problem}; name the column, or clear it")

    def _cells(self, rows: Sequence[Row], start: int, place: int) -> pa.Array:
        found = [text_of(row[place]) if place < len(row) else "" for row in rows]
        if not ERRORS.isdisjoint(found):
            at = next(at for at, text in enumerate(found) if text in ERRORS)
            problem = f"cell {letters(place + 1)}{start + at} holds the error {found[at]}"
            raise self._error(
                f"{problem}; correct the formula, or clear the cell if there is no value"
            )
        return pa.array(found, pa.string())

    def _error(self, problem: str) -> TableError:
        return TableError(self.name, f"sheet {self.sheet!r}: {problem}")


def open_sheet(name: str, opening: Opening, sheet_name: str) -> Sheet:
    """Return the sheet of a workbook that is asked for; the only one that is not empty where none is.

    Raises:
        TableError: the workbook cannot be read, has no such sheet or several with values, or names a column twice.
    """
    with read_safely(name), quietly(), opening() as book:
        sheets = book.sheets()
        if sheet_name and sheet_name not in sheets:
            raise TableError(name, f"no sheet {sheet_name!r}; the workbook has {_listed(sheets)}")
        headers = {
            each: header_of(book.rows(each)) for each in ([sheet_name] if sheet_name else sheets)
        }
        filled = [each for each, (_, row) in headers.items() if row]
        if not filled:
            what = (
                f"the sheet {sheet_name!r} is empty" if sheet_name else "all its sheets are empty"
            )
            raise TableError(name, f"{what}; give a sheet with a table")
        if len(filled) > 1:
            problem = f"the workbook has several sheets: {_listed(filled)}"
            raise TableError(name, f"{problem}; choose one: {name}#SHEET, or save one as CSV")
        number, row = headers[filled[0]]
        check_size(name, number, len(row))
        places = {place: text_of(cell) for place, cell in enumerate(row) if is_there(cell)}
        names = list(places.values())
        problem = said_of_twins(names)
        if problem:
            raise TableError(name, problem)
        columns = {each: place for place, each in places.items()}
        return Sheet(name, opening, filled[0], number, columns, len(sheets) > 1)


def check_size(name: str, rows: int, columns: int) -> None:
    """Check that a sheet is no larger than Excel's are, before what is larger is read.

    Raises:
        TableError: it is.
    """
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        problem = f"a sheet with more than {MOST_ROWS:,} rows or {MOST_COLUMNS:,} columns"
        raise TableError(name, f"{problem}; save the table as CSV or Parquet")


def header_of(rows: Iterator[Row]) -> tuple[int, Row]:
    """Return the first row that is not empty, and its number; an empty one where there is none."""
    for number, row in enumerate(islice(rows, MOST_ROWS), 1):
        if any(map(is_there, row)):
            return number, row
    return 0, ()


def is_there(value: object) -> bool:
    """Return whether a cell has a value."""
    return value is not None and value != ""


def text_of(value: object) -> str:
    """Return a cell as CSV would have it: dates and times as ISO 8601, whole numbers without a point."""
    if value is None or value == NOT_AVAILABLE:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
        return str(int(value))
    if isinstance(value, datetime):
        is_day = value.time() == time()
        return value.date().isoformat() if is_day else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
    return str(value)


def letters(place: int) -> str:
    """Return what a column is called in a sheet: A, B, ..., Z, AA."""
    found = ""
    while place:
        place, last = divmod(place - 1, 26)
        found = chr(ord("A") + last) + found
    return found


@contextmanager
def read_safely(name: str) -> Iterator[None]:
    """Say in one line that a workbook is broken; nothing of the library's message, as that may quote cells."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except (
        Exception
    ) as error:  # in these libraries each part of a broken file fails in a way of its own
        raise TableError(name, BROKEN) from error


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of what the libraries do not read: pictures, styles, lists of what may be entered."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(repr, names[:12])) + more
