"""Reads a table of records once: CSV, also packed, Parquet, Arrow, or what other programs keep."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TableError, reading_problem
from treewarden.ppdm_models.limits import room_bytes
from treewarden.ppdm_models.tables.arrow_column import ArrowColumn, flat, table_of_arrays
from treewarden.ppdm_models.tables.dialect import (
    NO_RECORDS,
    UTF_8,
    Dialect,
    as_guessed,
    dialect_of,
    guess_note,
    may_be_guessed,
    recognise_encoding,
    said_of_twins,
    sheet_of,
)
from treewarden.ppdm_models.tables.readers import Labels, TableReader, reader_of
from treewarden.ppdm_models.tables.table import RawColumn, Table, meanings_of_labels
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.unsupported_files import ARROW_FILE, PEEKED, table_advice

# Columns of codes that have labels: read as labels where a model names its categories so, else as codes.


@dataclass(frozen=True, slots=True)
class LabelledColumn(RawColumn):
    """A column of codes, and what some of them or all are called; as numbers, it is its codes."""

    codes: ArrowColumn
    labels: Labels

    def cells(self) -> list[object]:
        return self.codes.cells()

    def numbers(self) -> FloatArray:
        return self.codes.numbers()

    def is_numeric(self) -> bool:
        return self.codes.is_numeric()

    def how_written(self) -> str:
        return self.codes.how_written()

    def decimal_mark(self) -> str | None:
        return self.codes.decimal_mark()

    def categories(self, known_values: tuple[str, ...]) -> CategoricalColumn:
        if self.taken(known_values) == "codes":
            return self.codes.categories(known_values)
        coded = self.codes.categories(tuple(self.labels))  # so that a code such as NA is one
        names = [self.labels.get(code, code) for code in coded.categories]
        texts = pa.array([None if code < 0 else names[code] for code in coded.codes], pa.string())
        return replace(self.codes, held=texts).categories(known_values)

    def taken(self, known_values: tuple[str, ...]) -> str:
        """Return "labels" where more of the categories that a model knows are labels than are codes, else "codes"."""
        labels = {label.strip() for label in self.labels.values()}
        codes = {_number(code) for code in self.labels}
        by_label = sum(each.strip() in labels for each in known_values)
        by_code = sum(_number(each) in codes for each in known_values)
        return "labels" if by_label > by_code else "codes"


def labelled(
    table: Table, labels: Mapping[str, Labels], titles: Mapping[str, str], notes: tuple[str, ...]
) -> Table:
    """Return a table whose columns have labels where some are said, with notes for the reader of a report."""
    columns = {
        name: LabelledColumn(column, labels[name])
        if name in labels and isinstance(column, ArrowColumn)
        else column
        for name, column in table.columns.items()
    }
    meanings = meanings_of_labels(table.columns, titles, labels)
    return replace(table, columns=columns, notes=notes, meanings=meanings)


def _number(text: str) -> float | str:
    """Return a text as the number that it is, else without padding."""
    with suppress(ValueError):
        return float(text)
    return text.strip()


PACKINGS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files start, and what Arrow calls the way they are packed."""
LONGEST_HEADER = 1 << 20
"""In bytes: what is unpacked to read the names of the columns."""
UNPACKED_BYTES, UNPACKED_TIMES = 2**29, 200
"""What a packed file may always unpack to, and what to by its size: no table of people is so much smaller packed."""
TOLD_DELIMITER = re.compile(r'"?sep=(?P<sign>[,;\t])"?\r?\n', re.IGNORECASE)
"""A line before the header, by which Excel is told what parts the cells."""
OTHER_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".parquet", ".arrow", ".feather", ".sav", ".dta")
TEXT_SUFFIXES = ("", ".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".gz", ".zst", ".zstd")
GIVE_A_TYPE = "give CSV in UTF-8, Parquet, Arrow, Excel, SPSS, SAS or Stata"
HARMLESS = re.compile(
    r"(Row #[\d,]+: )?Expected \d+ columns, got \d+|straddling object|invalid UTF8"
)
"""What of Arrow's messages may be shown: the rest quotes cells."""
INVALID_UTF_8 = "invalid UTF8"
NO_ROOM = "Failed to launch worker thread"
"""What Arrow calls an unknown error: there is no memory for a thread. Nothing is wrong with the file."""


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The names of the columns of a CSV file, what parts its cells, and how many lines stand before the names."""

    names: tuple[str, ...]
    delimiter: str
    lines_before: int = 0


def read_table(path: Path) -> Table:
    """Read a table: what the file starts as, CSV where that is nothing else; ``people.xlsx#2024`` is a sheet.

    CSV has a header row, is parted by comma, semicolon or tab, and may be packed with gzip or Zstandard. It is in
    UTF-8, UTF-16 or what the path says behind a ``#``; else it is read as Windows-1252, and a note says so.

    Raises:
        TableError: the file cannot be read, is no table, has no records, or names a column twice; or what reads it is
            not installed.
    """
    place, dialect = dialect_of(path)
    place, sheet = sheet_of(place)
    try:
        with place.open("rb") as file:
            return _read(file, place, path.name, dialect, sheet)
    except (OSError, ValueError) as error:  # the second where no file can be called so
        problem = reading_problem(error, if_missing=missing_advice(path.name))
        raise TableError(path.name, problem) from error


def missing_advice(source: str) -> str:
    """Return what to do about a table that is not there, by how it was named."""
    if "#" in source:
        return "check the path; write # only before the sheet of an Excel file or the table of a DuckDB file"
    return "check the path"


def read_table_bytes(data: bytes, name: str) -> Table:
    """Read a table that is in memory, and may not lie on a disk; ``name`` is what it is called in messages.

    Raises:
        TableError: as for a file.
    """
    return _read(io.BytesIO(data), pa.py_buffer(data), name, Dialect())


def _read(
    file: BinaryIO, whole: Path | pa.Buffer, name: str, dialect: Dialect, sheet: str = ""
) -> Table:
    start = file.read(PEEKED)
    file.seek(0)
    advice = table_advice(start, name)
    if advice:
        raise TableError(name, advice)
    reader = reader_of(start, whole, name, sheet)
    if reader is not None:
        return _of_reader(reader, name, dialect)
    if PurePath(name).suffix.lower() == ".json" and start.lstrip().startswith((b"[", b"{")):
        raise TableError(name, f"JSON tables are not supported; {GIVE_A_TYPE}")
    try:
        if start.startswith(b"PAR1"):
            # Not ``read_table``, which loads all that reads folders, and pandas with it.
            with pa_parquet.ParquetFile(_source(whole)) as parquet:
                table = parquet.read()
        elif start.startswith(ARROW_FILE):
            with pa.ipc.open_file(_source(whole)) as reader:
                table = reader.read_all()
            table.validate(full=True)
        else:
            table, dialect = _read_csv(file, whole, name, dialect, packing(start))
            _check_named(table, name)
    except (pa.ArrowException, UnicodeError, csv.Error, OSError) as error:
        is_of_system = isinstance(error, OSError) and bool(error.errno)
        if is_of_system:
            raise
        raise unreadable(name, error) from error
    found = table_of_arrow(table, name, dialect=dialect)
    return replace(found, notes=(guess_note(name),)) if dialect.is_guessed else found


def _check_named(table: pa.Table, name: str) -> None:
    """Refuse a text without records that is named as another kind of table."""
    suffix = PurePath(name).suffix.lower()
    if not table.num_rows and suffix in OTHER_SUFFIXES:
        problem = f"not a valid {suffix} file, but a text without records"
        raise TableError(name, f"{problem}; save the table again, or name the file .csv")


def table_of_arrow(
    table: pa.Table, source: str, index: tuple[str, ...] = (), dialect: Dialect | None = None
) -> Table:
    """Return a table that Arrow holds; ``index`` names what labels its records without being a column.

    Raises:
        TableError: it has no records, or names a column twice.
    """
    names = table.column_names
    problem = said_of_twins(names)
    if problem:
        raise TableError(source, problem)
    if not table.num_rows:
        raise TableError(source, NO_RECORDS)
    arrays = {name: flat(table.column(name)) for name in names}
    return table_of_arrays(source, arrays, table.num_rows, index, dialect)


def table_of(columns: Mapping[str, Iterable[object]], source: str = "table") -> Table:
    """Return a table from values in memory: what a test has at hand."""
    arrays = {
        name: flat(pa.chunked_array([pa.array(list(values))])) for name, values in columns.items()
    }
    return table_of_arrays(source, arrays, len(next(iter(arrays.values()))))


def delimiter_of(first: str) -> str:
    """Return what parts the cells of a file that has a first line: comma, semicolon or tab, whichever is in it most."""
    return max(",;\t", key=first.count)


def csv_header(file: BinaryIO, name: str, encoding: str = UTF_8) -> CsvHeader:
    """Return what the first line of a CSV file says.

    Raises:
        TableError: the file is empty, or names a column twice.
        UnicodeError: it is in another encoding.
    """
    lines = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        first = lines.readline(LONGEST_HEADER)
        told = TOLD_DELIMITER.fullmatch(first)
        if told is None:
            lines.seek(0)
        delimiter = told["sign"] if told else delimiter_of(first)
        names = next(csv.reader(lines, delimiter=delimiter), [])
    finally:
        lines.detach()  # else the file is closed with it
    if not names:
        raise TableError(name, "the file is empty; give a CSV file with a header row")
    problem = said_of_twins(names)
    if problem:
        raise TableError(name, problem)
    return CsvHeader(tuple(names), delimiter, int(told is not None))


def packing(start: bytes) -> str:
    """Return how a file is packed that starts like this, as Arrow calls it; "" where it is not."""
    return next((name for sign, name in PACKINGS.items() if start.startswith(sign)), "")


def unpacked(whole: Path | pa.Buffer, packed: str) -> pa.NativeFile:
    """Return a packed file to be read from its start."""
    file = pa.OSFile(str(whole)) if isinstance(whole, Path) else pa.BufferReader(whole)
    return pa.CompressedInputStream(file, packed)


def unpacked_start(whole: Path | pa.Buffer, packed: str) -> BinaryIO:
    """Return as much of the start of a packed file as a header may be long."""
    return io.BytesIO(unpacked(whole, packed).read(LONGEST_HEADER))


def unreadable(source: str, error: Exception) -> TableError:
    """Return that a table cannot be read; of the library's message, only what quotes no cell.

    Raises:
        MemoryError: nothing is wrong with the table, there is too little memory for it.
    """
    if isinstance(error, MemoryError) or NO_ROOM in str(error):  # Arrow's, too, are among its own
        raise error if isinstance(error, MemoryError) else MemoryError(NO_ROOM)
    if is_encoding_error(error):
        return TableError(source, _not_text(source))
    told = HARMLESS.search(str(error))
    why = f" ({told[0]})" if told else ""
    if told and told[0].startswith("straddling"):
        why = " (a record is too large, or a quotation mark is not closed)"
    return TableError(
        source,
        f"the table cannot be read{why}; correct the file, or save it again as CSV in UTF-8 or as Parquet",
    )


def _not_text(source: str) -> str:
    """Return what to do about a file that is no text, by what its name says that it is."""
    name, _, said = source.partition("#")
    suffix = PurePath(name).suffix.lower()
    if suffix in (".xlsx", ".xls", ".xlsm"):
        return f"not a valid Excel file; save it again in Excel, or {GIVE_A_TYPE}"
    if suffix not in TEXT_SUFFIXES:
        return f"unknown table type; {GIVE_A_TYPE}"
    if said:
        return "the text is not in the encoding that its name gives; give the right one, or Parquet"
    other = f"if it is CSV in another encoding, write {name}#encoding=cp1252"
    return f"not a text table in UTF-8; {other}, else {GIVE_A_TYPE}"


def is_encoding_error(error: Exception) -> bool:
    """Return whether a text cannot be read as it is in another encoding."""
    return isinstance(error, UnicodeError) or INVALID_UTF_8 in str(error)


def _of_reader(reader: TableReader, name: str, dialect: Dialect) -> Table:
    table = pa.Table.from_batches(reader.read(reader.schema.names), reader.schema)
    typed = replace(dialect, is_typed=True)
    return labelled(
        table_of_arrow(table, name, dialect=typed), reader.labels, reader.titles, reader.notes
    )


def _source(whole: Path | pa.Buffer) -> Path | pa.BufferReader:
    return whole if isinstance(whole, Path) else pa.BufferReader(whole)


def _read_csv(
    file: BinaryIO, whole: Path | pa.Buffer, name: str, dialect: Dialect, packed: str
) -> tuple[pa.Table, Dialect]:
    """Return a CSV file, and how it is written."""
    if packed:
        _check_unpacked(whole, name, packed)
    start = unpacked_start(whole, packed) if packed else file
    known = encoded(dialect, start)
    try:
        return _decoded(start, whole, name, known, packed)
    except (pa.ArrowInvalid, UnicodeError) as error:
        if not is_encoding_error(error) or not is_guess_allowed(dialect, known, start):
            raise
        return _decoded(start, whole, name, as_guessed(dialect), packed)


def _check_unpacked(whole: Path | pa.Buffer, name: str, packed: str) -> None:
    """Refuse a packed file that would fill the memory, before any of it is kept."""
    size = whole.stat().st_size if isinstance(whole, Path) else whole.size
    most = min(room_bytes(), max(UNPACKED_BYTES, UNPACKED_TIMES * size))
    left = most
    with unpacked(whole, packed) as file:
        while left >= 0:
            found = len(file.read(LONGEST_HEADER))
            if not found:
                return
            left -= found
    problem = f"unpacks to more than {most // 2**20:,} MB"
    raise TableError(name, f"{problem}; unpack it, or give the folder that contains it")


def encoded(dialect: Dialect, start: BinaryIO) -> Dialect:
    """Return a dialect with its encoding: what is said, else what a file starts as."""
    start.seek(0)
    found = dialect.encoding or recognise_encoding(start.read(PEEKED))
    return replace(dialect, encoding=found)


def is_guess_allowed(stated: Dialect, dialect: Dialect, start: BinaryIO) -> bool:
    """Return whether a file that is not in UTF-8 may be read as something else: nobody says that it is."""
    start.seek(0)
    return not stated.encoding and dialect.encoding == UTF_8 and may_be_guessed(start.read(PEEKED))


def read_options(header: CsvHeader, dialect: Dialect) -> dict[str, object]:
    """Return how Arrow is to read a CSV file: from which line on, and in which encoding."""
    encoding = "utf8" if dialect.encoding == UTF_8 else dialect.encoding
    return {"skip_rows": header.lines_before, "encoding": encoding}


def _decoded(
    start: BinaryIO, whole: Path | pa.Buffer, name: str, dialect: Dialect, packed: str
) -> tuple[pa.Table, Dialect]:
    start.seek(0)
    header = csv_header(start, name, dialect.encoding)
    table = pa_csv.read_csv(
        unpacked(whole, packed) if packed else _source(whole),
        read_options=pa_csv.ReadOptions(use_threads=False, **read_options(header, dialect)),
        parse_options=pa_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(header.names, pa.string()), strings_can_be_null=False
        ),
    )
    return table, replace(dialect, delimiter=header.delimiter)
