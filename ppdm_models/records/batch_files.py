"""Writes a table a piece at a time, as CSV or Parquet: cells keep their text, and only what needs it is quoted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.records.arrow_column import flat
from treewarden.ppdm_models.records.read_table import delimiter_of

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
            yield _Csv(file, schema, delimiter)
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


class _Csv(BatchFile):
    def __init__(self, file: BinaryIO, schema: pa.Schema, delimiter: str) -> None:
        for field in schema:
            if pa.types.is_nested(field.type):
                problem = f"{field.type} has no place in CSV; write .parquet, or leave it out"
                raise OutputError(f"column {field.name!r}", problem)
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
