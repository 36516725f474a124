"""A table that is counted, wherever it lies: its columns are known at once, its records are never held.

The engine that counts is DuckDB, shut in: it opens only what it is told to, loads no extension, and spills to a private
folder.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import ColumnNotCountedError, TableError, TooManyProfilesError
from treewarden.ppdm_models.limits import room_bytes
from treewarden.ppdm_models.tables.arrow_column import (
    ArrowColumn,
    decode_texts,
    flat,
    is_text,
    join_chunks,
)
from treewarden.ppdm_models.tables.dialect import NO_RECORDS, Dialect
from treewarden.ppdm_models.tables.number_formats import array_of, numpy_of
from treewarden.ppdm_models.tables.read_table import labelled
from treewarden.ppdm_models.tables.readers import Labels
from treewarden.ppdm_models.tables.table import FirstRecords, RawColumn, Table
from treewarden.ppdm_models.tree.column import CategoricalColumn


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """Distinct rows over some columns, how many records each stands for (rows,), and where those are.

    Texts may be codes. ``digest`` is of what was counted; ``notes`` are for the reader of a report; ``dialect`` is how
    texts are written.
    """

    rows: pa.Table
    counts: FloatArray
    places: FirstRecords
    digest: str
    notes: tuple[str, ...] = ()
    dialect: Dialect = field(default_factory=Dialect)


class TableSource(ABC):
    """A table to count."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in messages: no folder, and nothing that is secret."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Its columns, in its order."""

    @property
    def labels(self) -> Mapping[str, Labels]:
        """The value labels of those columns that have some."""
        return {}

    @property
    def titles(self) -> Mapping[str, str]:
        """What those columns are called for people that have a label."""
        return {}

    @abstractmethod
    def count(self, columns: tuple[str, ...]) -> DistinctRows:
        """Return the distinct rows over some of its columns, in an order that is always the same.

        Raises:
            TableError: it cannot be read to its end, changed meanwhile, or its parts do not fit each other.
            TooManyProfilesError: there are more than memory holds.
        """


@dataclass(frozen=True, slots=True)
class NotCounted(RawColumn):
    """A column that was left out when its table was counted; whoever asks for its values has it counted."""

    source: str
    name: str

    def cells(self) -> list[object]:
        raise self._lacking()

    def numbers(self) -> FloatArray:
        raise self._lacking()

    def categories(self, known_values: tuple[str, ...]) -> CategoricalColumn:
        raise self._lacking()

    def _lacking(self) -> ColumnNotCountedError:
        return ColumnNotCountedError(self.source, self.name)


def count_table(source: TableSource, columns: Iterable[str] | None = None) -> Table:
    """Return a table by its distinct rows over some columns, all by default; the others are known by name only.

    Raises:
        TableError: as for the source; or there are no records.
        TooManyProfilesError: there are more distinct rows than memory holds.
    """
    wanted = set(source.names if columns is None else columns)
    distinct_rows = source.count(tuple(name for name in source.names if name in wanted))
    if not len(distinct_rows.counts):
        problem = NO_RECORDS
        raise TableError(source.name, problem)
    table = Table(
        source.name,
        dict(_columns(source, distinct_rows)),
        len(distinct_rows.counts),
        counts=distinct_rows.counts,
        places=distinct_rows.places,
        digest=distinct_rows.digest,
    )
    return labelled(table, source.labels, source.titles, distinct_rows.notes)


def in_order(rows: pa.Table) -> pa.Table:
    """Return rows that have no order of their own, sorted by all their columns."""
    plain = pa.table({f"c{at}": flat(each) for at, each in enumerate(rows.columns)})
    by = [(name, "ascending") for name in plain.column_names]
    return rows.take(pc.sort_indices(plain, sort_keys=by))


def _columns(source: TableSource, distinct_rows: DistinctRows) -> Iterable[tuple[str, RawColumn]]:
    there = set(distinct_rows.rows.column_names)
    for name in source.names:
        if name not in there:
            yield name, NotCounted(source.name, name)
            continue
        held = join_chunks(distinct_rows.rows.column(name))
        if not (pa.types.is_dictionary(held.type) and is_text(held.type.value_type)):
            held = decode_texts(held)
        yield (
            name,
            ArrowColumn(source.name, name, held, distinct_rows.places, distinct_rows.dialect),
        )


COUNT, FIRST = "records that a row stands for", "first record of a row"
"""What the engine adds to the columns of a table; a column that is called so is renamed before."""
FEWER = (
    "name fewer quasi-identifiers (--qi), bin or round columns that are nearly unique, or "
    "give more memory (TREEWARDEN_TABLE_MEMORY, in MB)"
)
DISK_IS_FULL = ("No space left", "Disk quota exceeded", "max_temp_directory_size")
"""How the engine says that: by the system's words, or by its own setting, which is most of what was free at first."""
BYTES_OF_CELL = 16
"""So much memory at least a cell of a distinct row may take."""
PIECE_ROWS = 2**18
"""So many rows the engine hands over at a time."""
PLACES = 2
"""For each byte that the distinct rows of a table may take there are so many for the engine."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Engine:
    """A connection that reaches nothing but what it was opened for; ``source`` is what the table is called."""

    source: str
    connection: duckdb.DuckDBPyConnection
    most_bytes: int

    def count(self, query: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Return what a query that groups records finds, in the order of ``FIRST`` where it has that.

        Raises:
            TooManyProfilesError: it is more than memory holds.
            duckdb.Error: what is read is broken.
        """
        try:
            found = attended(lambda: self._rows(query, parameters), self.connection.interrupt)
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            if any(said in str(error) for said in DISK_IS_FULL):
                raise disk_is_full(self.source) from error
            if isinstance(error, duckdb.IOException):
                raise
            raise too_many(self.source) from error
        if FIRST not in found.column_names:
            return found
        return found.take(array_of(np.argsort(numpy_of(join_chunks(found[FIRST]), 0))))

    def _rows(self, query: str, parameters: Sequence[object]) -> pa.Table:
        """Return what a query finds in any order, texts as codes: spelled out, only one piece of it is held."""
        reader = self.connection.sql(query, params=list(parameters)).to_arrow_reader(PIECE_ROWS)
        pieces: list[pa.RecordBatch] = []
        size = held = 0
        for batch in _pieces(reader):
            size, held = size + batch.num_rows, held + batch.nbytes
            if max(held, size * BYTES_OF_CELL * batch.num_columns) > self.most_bytes:
                pieces = []
                continue
            pieces.append(_with_codes(batch))
        if size and not pieces:
            raise too_many(self.source, size)
        if not pieces:
            return reader.schema.empty_table()
        found = pa.Table.from_batches(pieces).unify_dictionaries()
        return pa.table({name: join_chunks(found[name]) for name in found.column_names})


def _pieces(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield what an engine hands over; its errors, which Arrow makes others of, are its own again.

    Raises:
        duckdb.Error: it cannot go on.
    """
    try:
        yield from reader
    except OSError as error:
        is_memory = "Out of Memory" in str(error)
        kind = duckdb.OutOfMemoryException if is_memory else duckdb.IOException
        raise kind(str(error)) from error


def _with_codes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose texts are codes, with the different texts in the order in which they are met."""
    columns = [pc.dictionary_encode(column) if is_text(column.type) else column for column in batch]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def too_many(source: str, size: int = 0) -> TooManyProfilesError:
    """Return that the distinct rows of a table are more than there is memory for."""
    said = f"{size:,} distinct rows are" if size else "the distinct rows are"
    return TooManyProfilesError(source, f"{said} more than memory holds; {FEWER}")


def disk_is_full(source: str) -> TooManyProfilesError:
    """Return that there is too little room on disk for what memory does not hold."""
    where = tempfile.gettempdir()
    problem = f"the distinct rows do not fit into memory, nor on the disk of {where}"
    return TooManyProfilesError(
        source, f"{problem}; make room there, name another folder (TMPDIR), {FEWER}"
    )


@contextmanager
def engine(
    source: str, readable: Sequence[str] = (), database: Path | None = None
) -> Iterator[Engine]:
    """Open an engine that may read some paths, or is a database on disk, and leave nothing of it behind.

    Raises:
        duckdb.Error: the database cannot be opened.
    """
    memory = room_bytes()
    with tempfile.TemporaryDirectory(
        prefix="treewarden-"
    ) as spilled:  # which only its owner may enter
        settings: dict[str, str | list[str]] = {
            "memory_limit": f"{memory // 2**20}MiB",
            "threads": str(_threads()),
            "temp_directory": spilled,
            "allowed_paths": list(readable),
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
            "enable_progress_bar": "false",
        }
        place, is_fixed = (":memory:", False) if database is None else (str(database), True)
        connection = duckdb.connect(place, read_only=is_fixed)
        try:
            for name, value in settings.items():
                connection.execute(f"set {name} = {_literal(value)}")
            connection.execute("set lock_configuration = true")
            yield Engine(source, connection, memory // PLACES)
        finally:
            connection.close()


def attended(work: Callable[[], Result], stop: Callable[[], object]) -> Result:
    """Return what work comes to that takes long in foreign code, and ``stop`` it where the user interrupts."""
    with ThreadPoolExecutor(1) as pool:
        try:
            running = pool.submit(work)
            while not running.done():
                _wait(running)
        except BaseException:
            stop()
            raise
        return running.result()


def named(column: str) -> str:
    """Return the name of a column as a query has it."""
    return '"' + column.replace('"', '""') + '"'


def unreadable(source: str, error: Exception) -> TableError:
    """Return that a table cannot be read; nothing of the engine's message, as that may quote cells."""
    return TableError(
        source, "not a table that can be read; give CSV in UTF-8, Parquet or Arrow"
    ).with_traceback(error.__traceback__)


def _wait(running: Any) -> None:  # noqa: ANN401  # a future of anything
    try:
        running.exception(timeout=0.2)
    except TimeoutError:
        return


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _literal(value: str | list[str]) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'"
