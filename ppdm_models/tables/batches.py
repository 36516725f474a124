"""Reads and writes a table a piece at a time (CSV, Parquet, Arrow, other programs' files): it may exceed memory."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.errors import OutputError, TableError, reading_problem
from treewarden.ppdm_models.tables.arrow_column import flat
from treewarden.ppdm_models.tables.dialect import (
    GIVE_A_TABLE,
    Dialect,
    as_guessed,
    dialect_of,
    guess_note,
    said_of_twins,
    sheet_of,
)
from treewarden.ppdm_models.tables.read_table import (
    CsvHeader,
    csv_header,
    delimiter_of,
    encoded,
    is_encoding_error,
    is_guess_allowed,
    missing_advice,
    packing,
    read_options,
    unpacked,
    unpacked_start,
    unreadable,
)
from treewarden.ppdm_models.tables.readers import TableReader, reader_of
from treewarden.ppdm_models.unsupported_files import ARROW_FILE, PEEKED, table_advice

BLOCK_BYTES = 8 * 2**20
"""How much of a CSV file is read at a time; no record may be larger."""
BATCH_RECORDS = 2**17
"""How many records of a Parquet file are read at a time."""
BOUNDED = {"pre_buffer": False, "buffer_size": 2**20}
"""How Parquet is opened, so that no more of a file is held than is read: by default, Arrow keeps all of it."""


@dataclass(frozen=True, slots=True)
class Batches:
    """A table that is read from its start each time that it is gone through.

    ``schema`` has the types that cells arrive in: texts, all of a CSV file, so that each stays as it is written.
    ``header`` is that of a CSV file, None where it is none; ``packed`` is how that is packed; ``reader`` reads
    what another program keeps; ``dialect`` is how the table is written, in which encoding only as long as reading shows
    no other where it ``may_guess``. Messages name it as it is ``called``, by default as its file is.
    """

    path: Path
    schema: pa.Schema
    header: CsvHeader | None = None
    packed: str = ""
    is_arrow: bool = False
    reader: TableReader | None = None
    called: str = ""
    dialect: Dialect = field(default_factory=Dialect)
    may_guess: bool = False

    @property
    def delimiter(self) -> str:
        """What parts the cells of a CSV file, "" where it is none."""
        return "" if self.header is None else self.header.delimiter

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of a report has to know of how it was read."""
        guess = (guess_note(self.source),) if self.dialect.is_guessed else ()
        return (*(() if self.reader is None else self.reader.notes), *guess)

    def guessed(self) -> Batches:
        """Return the table in the encoding that is tried last."""
        return replace(self, dialect=as_guessed(self.dialect), may_guess=False)

    @property
    def source(self) -> str:
        """What the table is called in messages."""
        return self.called or _name(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the file's order."""
        return tuple(self.schema.names)

    def stamp(self) -> tuple[int, int, int]:
        """Return what changes when the file does.

        Raises:
            TableError: it is gone.
        """
        try:
            found = self.path.stat()
        except OSError as error:
            raise _failed(self.source, error) from error
        return found.st_size, found.st_mtime_ns, found.st_ino

    def check_unchanged(self, before: tuple[int, int, int]) -> None:
        """Check that the file is what it was.

        Raises:
            TableError: it changed, or is gone.
        """
        if self.stamp() != before:
            problem = "the file changed while it was read; give a table that nobody writes to"
            raise TableError(self.source, problem)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the records' cells in some columns, in the given order; no batch is empty.

        Raises:
            TableError: the file cannot be read to its end.
        """
        try:
            read = self._csv if self.header else self._arrow if self.is_arrow else self._parquet
            found = (read if self.reader is None else self.reader.read)(columns)
            yield from (batch for batch in found if batch.num_rows)
        except pa.ArrowCancelled as error:
            raise KeyboardInterrupt from error
        except (pa.ArrowException, UnicodeError) as error:
            if self.may_guess and is_encoding_error(error):
                raise OtherEncodingError(
                    self.source, unreadable(self.source, error).problem
                ) from error
            raise unreadable(self.source, error) from error
        except OSError as error:
            raise _failed(self.source, error) from error

    def _csv(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        assert self.header is not None
        options = read_options(self.header, self.dialect)
        reader = pa_csv.open_csv(
            unpacked(self.path, self.packed) if self.packed else self.path,
            read_options=pa_csv.ReadOptions(use_threads=True, block_size=BLOCK_BYTES, **options),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                include_columns=list(columns),
                strings_can_be_null=False,
            ),
        )
        with reader:
            yield from reader

    def _parquet(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with pa_parquet.ParquetFile(self.path, **BOUNDED) as file:
            for batch in file.iter_batches(BATCH_RECORDS, columns=list(columns)):
                yield batch.select(list(columns))

    def _arrow(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with pa.ipc.open_file(self.path) as file:
            for at in range(file.num_record_batches):
                batch = file.get_batch(at).select(list(columns))
                batch.validate(full=True)
                yield from (
                    batch.slice(start, BATCH_RECORDS)
                    for start in range(0, batch.num_rows, BATCH_RECORDS)
                )


class OtherEncodingError(TableError):
    """A CSV file turns out not to be in UTF-8, and may be read again as it is ``guessed`` to be."""


def open_batches(
    path: Path, called: str = "", dialect: Dialect | None = None, *, may_guess: bool = False
) -> Batches:
    """Return a table that is read a piece at a time: what the file starts as, CSV where that is nothing else.

    ``dialect`` is what is said of how it is written where the path does not say it. A CSV file that is in no known
    encoding is refused unless its encoding may be guessed, by whoever writes none of its letters.

    Raises:
        TableError: the file cannot be read, is no table or no file, or names a column twice; or what reads it is not
            installed.
    """
    name = called or _name(path)
    path, said = dialect_of(path) if dialect is None else (path, dialect)
    path, sheet = sheet_of(path)
    if path.exists() and not path.is_file():
        raise TableError(name, f"this is not a file that can be read twice; {GIVE_A_TABLE}")
    try:
        with path.open("rb") as file:
            start = file.read(PEEKED)
            file.seek(0)
            advice = table_advice(start, name)
            if advice:
                raise TableError(name, advice)
            reader = reader_of(start, path, name, sheet)
            if reader is not None:
                typed = replace(said, is_typed=True)
                return Batches(path, reader.schema, reader=reader, called=name, dialect=typed)
            is_arrow = start.startswith(ARROW_FILE)
            if not is_arrow and not start.startswith(b"PAR1"):
                packed = packing(start)
                opened = unpacked_start(path, packed) if packed else file
                return _open_csv(path, opened, packed, name, said, may_guess=may_guess)
        schema = (_arrow_schema if is_arrow else pa_parquet.read_schema)(path).remove_metadata()
    except (pa.ArrowException, UnicodeError, csv.Error) as error:
        raise unreadable(name, error) from error
    except OSError as error:
        raise _failed(name, error) from error
    problem = said_of_twins(schema.names)
    if problem:
        raise TableError(name, problem)
    return Batches(path, schema, is_arrow=is_arrow, called=name, dialect=said)


def _open_csv(
    path: Path, start: BinaryIO, packed: str, name: str, stated_dialect: Dialect, *, may_guess: bool
) -> Batches:
    """Return a CSV file; in another encoding than UTF-8, where its start shows it."""
    dialect = encoded(stated_dialect, start)
    may_guess = may_guess and is_guess_allowed(stated_dialect, dialect, start)
    try:
        start.seek(0)
        header = csv_header(start, name, dialect.encoding)
    except UnicodeError:
        if not may_guess:
            raise
        dialect, may_guess = as_guessed(stated_dialect), False
        start.seek(0)
        header = csv_header(start, name, dialect.encoding)
    texts = pa.schema([(each, pa.string()) for each in header.names])
    dialect = replace(dialect, delimiter=header.delimiter)
    return Batches(path, texts, header, packed, called=name, dialect=dialect, may_guess=may_guess)


def _arrow_schema(path: Path) -> pa.Schema:
    with pa.ipc.open_file(path) as file:
        return file.schema


def _name(path: Path) -> str:
    return path.name or str(path)


def _failed(source: str, error: OSError) -> TableError:
    """Return that a file cannot be opened, or, where the system says no reason, that what is in it cannot be read."""
    if not error.errno:
        return unreadable(source, error)
    return TableError(source, reading_problem(error, GIVE_A_TABLE, missing_advice(source)))


# Writes a table a piece at a time, as CSV or Parquet: cells keep their text, and only what needs it is quoted.

SUFFIXES = (".csv", ".parquet")
DELIMITERS = (",", ";", "\t")
QUOTED = r'[",;\t\r\n]'
"""What a cell is quoted for, whatever parts the cells."""


class BatchFile(ABC):
    """A file that is being written."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Write records after those that are there."""


@contextmanager
def batch_file(
    path: Path,
    form: str,
    schema: pa.Schema,
    delimiter: str = ",",
    unlike: Collection[str] = (),
) -> Iterator[BatchFile]:
    """Open a new file for records of a schema, whose form is one of ``SUFFIXES``; metadata are left out.

    ``unlike`` are columns in which hardly two values are alike, so that a list of them would save nothing.

    Raises:
        OutputError: CSV cannot hold such a column.
        FileExistsError: there is such a file.
    """
    with path.open("xb") as file:
        if form == ".csv":
            yield _CsvFile(file, schema, delimiter)
            return
        listed = [name for name in schema.names if name not in unlike]
        with pa_parquet.ParquetWriter(
            file, schema.remove_metadata(), use_dictionary=listed or False
        ) as writer:
            yield _Parquet(writer, schema.remove_metadata())


class _Parquet(BatchFile):
    def __init__(self, writer: pa_parquet.ParquetWriter, schema: pa.Schema) -> None:
        self._writer, self._schema = writer, schema

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))


class _CsvFile(BatchFile):
    def __init__(self, file: BinaryIO, schema: pa.Schema, delimiter: str) -> None:
        for column in schema:
            if pa.types.is_nested(column.type):
                problem = f"{column.type} cannot be written as CSV; write .parquet, or leave the column out"
                raise OutputError(f"column {column.name!r}", problem)
        self._file, self._is_single = file, len(schema) == 1
        header = [_cells(pa.array([name]))[0].as_py() for name in schema.names]
        # Whoever reads it guesses from the first line what parts the cells.
        fitting = [
            each for each in (delimiter, *DELIMITERS) if delimiter_of(each.join(header)) == each
        ]
        self._delimiter = fitting[0] if fitting else delimiter
        file.write((self._delimiter.join(header) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        cells = [_cells(values) for values in batch.columns]
        if self._is_single:  # an empty line would be no record
            cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
        lines = pc.binary_join_element_wise(*cells, self._delimiter)
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        self._file.write(pc.binary_join(whole, "\n")[0].as_buffer())
        self._file.write(b"\n")


def _cells(values: pa.Array) -> pa.Array:
    """Return cells as they stand in a CSV file."""
    texts = pc.fill_null(pc.cast(flat(pa.chunked_array([values])), pa.string()), "")
    if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
        return texts
    is_quoted = pc.match_substring_regex(texts, QUOTED)
    if not pc.any(is_quoted).as_py():
        return texts
    escaped = pc.replace_substring(texts, '"', '""')
    quoted = pc.binary_join_element_wise('"', escaped, '"', "")
    return pc.if_else(is_quoted, quoted, texts)
