"""Tables on disk that are counted: a large file, a folder of files, all that a pattern matches."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.arrays import IndexArray, alike, ranks
from treewarden.ppdm_models.errors import TableError, os_reason
from treewarden.ppdm_models.limits import room_bytes
from treewarden.ppdm_models.tables.arrow_column import decode_texts, flat, is_text, join_chunks
from treewarden.ppdm_models.tables.batches import (
    BATCH_RECORDS,
    BOUNDED,
    Batches,
    OtherEncodingError,
    open_batches,
)
from treewarden.ppdm_models.tables.counting.addresses import (
    TableFile,
    check_unchanged,
    digest_of,
    parts_of,
)
from treewarden.ppdm_models.tables.counting.source import (
    BYTES_OF_CELL,
    COUNT,
    FIRST,
    PLACES,
    DistinctRows,
    TableSource,
    engine,
    named,
    unreadable,
)
from treewarden.ppdm_models.tables.dialect import Dialect
from treewarden.ppdm_models.tables.number_formats import array_of, numpy_of
from treewarden.ppdm_models.tables.readers import Labels
from treewarden.ppdm_models.tables.table import FILE_BITS, FirstRecords

# Files of any kind, counted as Arrow reads them a piece at a time: cells mean what they do in a table that is read.


def count_batches(
    source: str,
    parts: Sequence[TableFile],
    tables: Sequence[Batches],
    own_columns: Sequence[str],
    folder_columns: Sequence[str],
) -> pa.Table:
    """Return the distinct rows over the columns ``own_columns`` of files, and ``folder_columns`` by their folders.

    Raises:
        TableError: a file cannot be read to its end.
        TooManyProfilesError: there are more than memory holds.
    """
    names = [*own_columns, *folder_columns]
    kinds = [tables[0].schema.field(name).type for name in own_columns]
    kinds = [spelled_out(kind) for kind in kinds] + [pa.string()] * len(folder_columns)
    fields = [(f"c{at}", kind) for at, kind in enumerate(kinds)]
    schema = pa.schema([*fields, ("first", pa.int64())])
    failed: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for at, (part, table) in enumerate(zip(parts, tables, strict=True)):
                yield from _of_part(at, part, table, own_columns, folder_columns, schema)
        except BaseException as error:
            failed.append(error)
            raise

    keys = ", ".join([*(each for each, _ in fields), ""])
    query = f"select {keys}count(*) as {named(COUNT)}, min(first) as {named(FIRST)} from read"
    if names:
        query += f" group by {', '.join(str(at + 1) for at in range(len(names)))}"
    try:
        with engine(source) as opened:
            opened.connection.register("read", pa.RecordBatchReader.from_batches(schema, batches()))
            found = opened.count(query)
    except duckdb.Error as error:
        if failed:  # what the engine makes of it quotes it
            raise failed[0] from None
        raise unreadable(source, error) from error
    return found.rename_columns([*names, COUNT, FIRST])


def spelled_out(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of a type is read as: no dictionary, no view."""
    return flat(pa.chunked_array([pa.nulls(0, kind)])).type


def typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return what the engine made of a column as the type that its file says; texts stay codes."""
    return column if pa.types.is_dictionary(column.type) else column.cast(kind)


def _of_part(
    at: int,
    part: TableFile,
    table: Batches,
    own_columns: Sequence[str],
    folder_columns: Sequence[str],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    start = at << FILE_BITS
    columns = own_columns or table.names[:1]
    for batch in table.read(columns):
        arrays = [flat(pa.chunked_array([batch.column(name)])) for name in own_columns]
        for name in folder_columns:
            arrays.append(pa.repeat(pa.scalar(part.said[name], pa.string()), batch.num_rows))
        arrays.append(pa.array(np.arange(start, start + batch.num_rows)))
        yield pa.RecordBatch.from_arrays(
            [each.cast(field.type) for each, field in zip(arrays, schema, strict=True)],
            schema=schema,
        )
        start += batch.num_rows


# Parquet files, counted as they lie on disk: what their columns mean is known from their footers.


def is_plain(kind: pa.DataType) -> bool:
    """Return whether the engine takes values of a type for what Arrow takes them for."""
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    return bool(is_number or is_text(kind) or pa.types.is_boolean(kind))


def count_parquet(
    source: str,
    parts: Sequence[TableFile],
    own_columns: Sequence[str],
    folder_columns: Sequence[str],
) -> pa.Table:
    """Return the distinct rows over the columns ``own_columns`` of files, and ``folder_columns`` by their folders.

    Raises:
        TableError: a file cannot be read to its end.
        TooManyProfilesError: there are more than memory holds.
    """
    with tempfile.TemporaryDirectory(prefix="treewarden-") as folder:
        links = _links(parts, Path(folder))
        names = [*own_columns, *folder_columns]
        keys = [f"t.{named(each)} as c{at}" for at, each in enumerate(own_columns)]
        keys += [f"s.s{at} as c{at + len(own_columns)}" for at in range(len(folder_columns))]
        joined = " join said s on s.file = t.file_index" if folder_columns else ""
        query = (
            f"select {', '.join([*keys, ''])}count(*) as {named(COUNT)}, "
            f"min((t.file_index::bigint << {FILE_BITS}) + t.file_row_number) as {named(FIRST)} "
            f"from read_parquet(?, hive_partitioning = false, union_by_name = false) t{joined}"
        )
        if names:
            query += f" group by {', '.join(f'{at + 1}' for at in range(len(names)))}"
        try:
            with engine(source, links) as opened:
                if folder_columns:
                    opened.connection.register("said", _with_folder_values(parts, folder_columns))
                found = opened.count(query, [links])
        except duckdb.Error as error:
            raise _broken(source, parts, own_columns, error) from error
    records = sum(pa_parquet.read_metadata(part.path).num_rows for part in parts)
    if pc.sum(found[COUNT]).as_py() != records:
        raise TableError(
            source, f"not all of its {records:,} records could be read; write the file again"
        )
    return found.rename_columns([*names, COUNT, FIRST])


def _links(parts: Sequence[TableFile], folder: Path) -> list[str]:
    """Return names for the files that are no patterns, whatever they are called."""
    links = [str(folder / f"{at:08d}.parquet") for at in range(len(parts))]
    for link, part in zip(links, parts, strict=True):
        os.symlink(part.path.resolve(), link)
    return links


def _with_folder_values(parts: Sequence[TableFile], folder_columns: Sequence[str]) -> pa.Table:
    columns = {"file": pa.array(range(len(parts)), pa.int64())}
    for at, name in enumerate(folder_columns):
        columns[f"s{at}"] = pa.array([part.said[name] for part in parts], pa.string())
    return pa.table(columns)


def _broken(
    source: str, parts: Sequence[TableFile], own_columns: Sequence[str], error: duckdb.Error
) -> TableError:
    """Return which file cannot be read, and where in it; nothing of what stands there."""
    for part in parts:
        group = 0
        with suppress(TableError):
            try:
                with pa_parquet.ParquetFile(part.path, **BOUNDED) as file:
                    for group in range(file.num_row_groups):
                        for _ in file.iter_batches(
                            BATCH_RECORDS, [group], columns=list(own_columns)
                        ):
                            pass
            except (pa.ArrowException, OSError):
                problem = (
                    f"row group {group + 1} of {part.name!r} cannot be read; write the file again"
                )
                return TableError(source, problem)
    return unreadable(source, error)


# The same where most records differ: they are quicker read whole, with texts as codes, than grouped by their texts.


def count_codes(parts: Sequence[TableFile], columns: Sequence[str]) -> pa.Table | None:
    """Return the distinct rows over some columns of Parquet files; None where the engine has to count them.

    It does where many of the first records are alike, where so many rows may be more than memory holds, and where a
    file does not hold what it says: the engine tells which.
    """
    try:
        records = sum(pa_parquet.read_metadata(part.path).num_rows for part in parts)
        is_small = records * BYTES_OF_CELL * (len(columns) + 2) <= room_bytes() // PLACES
        if not columns or not is_small or not _is_varied(parts[0], columns):
            return None
        pieces = [(at, batch) for at, part in enumerate(parts) for batch in _coded(part, columns)]
        arrays = _arrays([batch for _, batch in pieces])
    except (pa.ArrowException, OSError):
        return None
    file = np.repeat([at for at, _ in pieces], [batch.num_rows for _, batch in pieces])
    if len(file) != records:
        return None
    starts = np.searchsorted(file, np.arange(len(parts)))
    first, kind = alike(_keys(arrays))
    order = np.argsort(first)
    first, counts, rows = first[order], np.bincount(kind)[order], pa.table(arrays)
    if len(first) < records:
        rows = rows.take(array_of(first))
    places = (file[first] << FILE_BITS) + first - starts[file[first]]
    return rows.append_column(COUNT, array_of(counts)).append_column(FIRST, array_of(places))


def _is_varied(part: TableFile, columns: Sequence[str]) -> bool:
    """Whether most of the first records of a Parquet file differ."""
    batch = next(_coded(part, columns), None)
    if batch is None:
        return False
    first, _ = alike(_keys(_arrays([batch])))
    return 2 * len(first) > len(batch)


def _coded(part: TableFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the records of a Parquet file, texts as codes."""
    with pa_parquet.ParquetFile(part.path, **BOUNDED) as file:
        texts = [name for name in columns if is_text(file.schema_arrow.field(name).type)]
    with pa_parquet.ParquetFile(part.path, read_dictionary=texts, **BOUNDED) as file:
        for batch in file.iter_batches(BATCH_RECORDS, columns=[*columns], use_threads=False):
            yield batch.select([*columns])


def _arrays(batches: Sequence[pa.RecordBatch]) -> dict[str, pa.Array]:
    """Return the columns of records, each in one piece, in which a text has one code.

    Raises:
        pa.ArrowInvalid: a code is of no text, or a text has several.
    """
    table = pa.Table.from_batches(batches).unify_dictionaries()
    arrays = {name: join_chunks(table[name]) for name in table.column_names}
    for name, array in arrays.items():
        if not pa.types.is_dictionary(array.type):
            continue
        if not is_text(array.type.value_type):
            arrays[name] = decode_texts(array)
            continue
        array.validate(full=True)
        array.dictionary.validate(full=True)
        if len(array.dictionary.unique()) < len(array.dictionary):
            raise pa.ArrowInvalid("a text has several codes")
    return arrays


def _keys(arrays: Mapping[str, pa.Array]) -> list[IndexArray]:
    """Return columns of whole numbers, (rows,), that are alike where all values are; a missing value is a value."""
    return [keys for array in arrays.values() for keys in _keys_of(array)]


def _keys_of(array: pa.Array) -> Iterator[IndexArray]:
    """Yield whole numbers, (rows,), that are alike where values are; a missing value is none of the others."""
    if pa.types.is_dictionary(array.type):
        yield numpy_of(array.indices, -1)
        return
    if array.null_count:
        yield numpy_of(pc.cast(pc.is_valid(array), pa.int8()), 0)
    is_truth = pa.types.is_boolean(array.type)
    yield ranks(numpy_of(pc.cast(array, pa.int8()) if is_truth else array, 0))[0]


OF_ENGINE = frozenset({"file_index", "file_row_number", "filename", "c", "t", "s", "said"})
"""What the engine calls something of its own: columns of these names are read by Arrow."""


@dataclass(frozen=True, slots=True)
class Files(TableSource):
    """A table of one file or of several, each opened."""

    path: Path
    parts: tuple[TableFile, ...]
    tables: tuple[Batches, ...]

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        own = dict.fromkeys(name for table in self.tables for name in table.names)
        return (*own, *(name for name in self.parts[0].said if name not in own))

    @property
    def labels(self) -> Mapping[str, Labels]:
        return _labels(self.tables[0])

    @property
    def titles(self) -> Mapping[str, str]:
        reader = self.tables[0].reader
        return {} if reader is None else reader.titles

    @property
    def dialect(self) -> Dialect:
        """How its files are written; in several ways, what is doubtful in one of them is doubtful in all."""
        dialects = [table.dialect for table in self.tables]
        return replace(
            dialects[0],
            is_guessed=any(each.is_guessed for each in dialects),
            is_typed=all(each.is_typed for each in dialects),
            delimiter=max(each.delimiter for each in dialects),  # a semicolon before a comma
        )

    def count(self, columns: tuple[str, ...]) -> DistinctRows:
        try:
            return self._counted(columns)
        except OtherEncodingError:
            return replace(
                self,
                tables=tuple(
                    table.guessed() if table.may_guess else table for table in self.tables
                ),
            )._counted(columns)

    def _counted(self, columns: tuple[str, ...]) -> DistinctRows:
        said = [name for name in columns if name in self.parts[0].said]
        own = [name for name in columns if name not in said]
        self._check(own)
        before = [part.stamp() for part in self.parts]
        with ThreadPoolExecutor(1) as pool:  # the digest is taken while the engine counts
            digest = pool.submit(digest_of, self.parts)
            if all(_is_native(table, own) for table in self.tables):
                found = None if said else count_codes(self.parts, own)
                if found is None:
                    found = count_parquet(self.name, self.parts, own, said)
            else:
                found = count_batches(self.name, self.parts, self.tables, own, said)
            try:
                told = digest.result()
            except OSError as error:
                raise TableError(
                    self.name, f"{os_reason(error)}; the table must not change"
                ) from error
        check_unchanged(self.name, self.parts, before)
        kinds = {name: self._kind(name) if name in own else pa.string() for name in columns}
        rows = pa.table({name: typed(found[name], kind) for name, kind in kinds.items()})
        files = tuple(part.name for part in self.parts) if len(self.parts) > 1 else ()
        first = numpy_of(flat(found[FIRST]), 0)
        counts = numpy_of(flat(found[COUNT]), 0).astype(np.float64)
        if not counts.sum():
            first, counts, rows = first[:0], counts[:0], rows.slice(0, 0)
        notes = tuple(dict.fromkeys(note for table in self.tables for note in table.notes))
        return DistinctRows(
            rows, counts, FirstRecords(first, files), digest=told, notes=notes, dialect=self.dialect
        )

    def _kind(self, name: str) -> pa.DataType:
        return spelled_out(self.tables[0].schema.field(name).type)

    def _check(self, own_columns: list[str]) -> None:
        """Raise what keeps the files from being one table."""
        for part, table in zip(self.parts, self.tables, strict=True):
            twice = [name for name in part.said if name in table.names]
            if twice:
                problem = (
                    f"{part.name!r} has the column {twice[0]!r}, and its folders have the same; "
                    "rename one of them"
                )
                raise TableError(self.name, problem)
        for name in own_columns:
            lacking = [
                part
                for part, table in zip(self.parts, self.tables, strict=True)
                if name not in table.names
            ]
            having = [part for part in self.parts if part not in lacking]
            if lacking:
                problem = (
                    f"{having[0].name!r} has a column {name!r}, but {lacking[0].name!r} does not"
                )
                raise TableError(self.name, f"{problem}; give only files with the same columns")
            for part, table in zip(self.parts, self.tables, strict=True):
                kind = spelled_out(table.schema.field(name).type)
                if kind != self._kind(name):
                    problem = (
                        f"column {name!r} holds {self._kind(name)} in {self.parts[0].name!r} and {kind} in "
                        f"{part.name!r}; write both as one type"
                    )
                    raise TableError(self.name, problem)
                if _labels(table).get(name) != self.labels.get(name):
                    problem = f"column {name!r} has other value labels in {self.parts[0].name!r} than in {part.name!r}"
                    raise TableError(self.name, f"{problem}; give both the same")


def open_files(path: Path, dialect: Dialect | None = None) -> Files:
    """Return a table of one file, a folder or a pattern, to be counted; ``dialect`` is what is said of its writing.

    Raises:
        TableError: there are no files, or one is no table.
    """
    parts = parts_of(path)
    tables = tuple(open_batches(part.path, part.name, dialect, may_guess=True) for part in parts)
    return Files(path, parts, tables)


def _labels(table: Batches) -> Mapping[str, Labels]:
    return {} if table.reader is None else table.reader.labels


def _is_native(table: Batches, own_columns: list[str]) -> bool:
    """Return whether the engine reads a file as Arrow does: Parquet, of plain types, no two names but for case."""
    if table.delimiter or table.is_arrow or table.reader:
        return False
    names = [name.casefold() for name in table.names]
    if len(set(names)) < len(names) or OF_ENGINE & set(names):
        return False
    return all(is_plain(spelled_out(table.schema.field(name).type)) for name in own_columns)
