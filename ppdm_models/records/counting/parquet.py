"""Parquet files, counted as they lie on disk: what their columns mean is known from their footers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.batches import BATCH_RECORDS, BOUNDED
from treewarden.ppdm_models.records.counting.engine import COUNT, FIRST, engine, named, unreadable
from treewarden.ppdm_models.records.counting.files import Part
from treewarden.ppdm_models.records.places import FILE_BITS


def is_plain(kind: pa.DataType) -> bool:
    """Return whether the engine takes values of a type for what Arrow takes them for."""
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_number or is_text or pa.types.is_boolean(kind))


def count_parquet(
    source: str, parts: Sequence[Part], own: Sequence[str], said: Sequence[str]
) -> pa.Table:
    """Return the distinct rows over the columns ``own`` of files, and ``said`` by their folders.

    Raises:
        TableError: a file cannot be read to its end.
        TooManyProfilesError: there are more than memory holds.
    """
    with tempfile.TemporaryDirectory(prefix="treewarden-") as folder:
        links = _links(parts, Path(folder))
        names = [*own, *said]
        keys = [f"t.{named(each)} as c{at}" for at, each in enumerate(own)]
        keys += [f"s.s{at} as c{at + len(own)}" for at in range(len(said))]
        joined = " join said s on s.file = t.file_index" if said else ""
        query = (
            f"select {', '.join([*keys, ''])}count(*) as {named(COUNT)}, "
            f"min((t.file_index::bigint << {FILE_BITS}) + t.file_row_number) as {named(FIRST)} "
            f"from read_parquet(?, hive_partitioning = false, union_by_name = false) t{joined}"
        )
        if names:
            query += f" group by {', '.join(f'{at + 1}' for at in range(len(names)))}"
        try:
            with engine(source, links) as opened:
                if said:
                    opened.connection.register("said", _said(parts, said))
                found = opened.count(query, [links])
        except duckdb.Error as error:
            raise _broken(source, parts, own, error) from error
    records = sum(pa_parquet.read_metadata(part.path).num_rows for part in parts)
    if pc.sum(found[COUNT]).as_py() != records:
        raise TableError(source, f"not all of its {records:,} records could be read; write it anew")
    return found.rename_columns([*names, COUNT, FIRST])


def _links(parts: Sequence[Part], folder: Path) -> list[str]:
    """Return names for the files that are no patterns, whatever they are called."""
    links = [str(folder / f"{at:08d}.parquet") for at in range(len(parts))]
    for link, part in zip(links, parts, strict=True):
        os.symlink(part.path.resolve(), link)
    return links


def _said(parts: Sequence[Part], said: Sequence[str]) -> pa.Table:
    columns = {"file": pa.array(range(len(parts)), pa.int64())}
    for at, name in enumerate(said):
        columns[f"s{at}"] = pa.array([part.said[name] for part in parts], pa.string())
    return pa.table(columns)


def _broken(
    source: str, parts: Sequence[Part], own: Sequence[str], error: duckdb.Error
) -> TableError:
    """Return which file cannot be read, and where in it; nothing of what stands there."""
    for part in parts:
        group = 0
        with suppress(TableError):
            try:
                with pa_parquet.ParquetFile(part.path, **BOUNDED) as file:
                    for group in range(file.num_row_groups):
                        for _ in file.iter_batches(BATCH_RECORDS, [group], columns=list(own)):
                            pass
            except (pa.ArrowException, OSError):
                problem = (
                    f"row group {group + 1} of {part.name!r} cannot be read; write the file anew"
                )
                return TableError(source, problem)
    return unreadable(source, error)
