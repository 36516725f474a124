"""Files of any kind, counted as Arrow reads them a piece at a time: cells mean what they do in a table that is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.records.arrow_column import flat
from treewarden.ppdm_models.records.batches import Batches
from treewarden.ppdm_models.records.counting.engine import COUNT, FIRST, engine, named, unreadable
from treewarden.ppdm_models.records.counting.files import Part
from treewarden.ppdm_models.records.places import FILE_BITS


def count_batches(
    source: str,
    parts: Sequence[Part],
    tables: Sequence[Batches],
    own: Sequence[str],
    said: Sequence[str],
) -> pa.Table:
    """Return the distinct rows over the columns ``own`` of files, and ``said`` by their folders.

    Raises:
        TableError: a file cannot be read to its end.
        TooManyProfilesError: there are more than memory holds.
    """
    names = [*own, *said]
    kinds = [tables[0].schema.field(name).type for name in own]
    kinds = [spelled_out(kind) for kind in kinds] + [pa.string()] * len(said)
    fields = [(f"c{at}", kind) for at, kind in enumerate(kinds)]
    schema = pa.schema([*fields, ("first", pa.int64())])
    failed: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for at, (part, table) in enumerate(zip(parts, tables, strict=True)):
                yield from _of_part(at, part, table, own, said, schema)
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


def _of_part(
    at: int, part: Part, table: Batches, own: Sequence[str], said: Sequence[str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    start = at << FILE_BITS
    columns = own or table.names[:1]
    for batch in table.read(columns):
        arrays = [flat(pa.chunked_array([batch.column(name)])) for name in own]
        for name in said:
            arrays.append(pa.repeat(pa.scalar(part.said[name], pa.string()), batch.num_rows))
        arrays.append(pa.array(np.arange(start, start + batch.num_rows)))
        yield pa.RecordBatch.from_arrays(
            [each.cast(field.type) for each, field in zip(arrays, schema, strict=True)],
            schema=schema,
        )
        start += batch.num_rows
