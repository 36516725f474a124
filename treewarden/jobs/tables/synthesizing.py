"""Pseudo records on disk: drawn in chunks, streamed to CSV or Parquet, the file there whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.errors import OutputError, SynthesisError, os_reason
from treewarden.ppdm_models.methods.synthesis.pgen import Chunk
from treewarden.ppdm_models.methods.synthesis.regions import Domain, NumericRange
from treewarden.ppdm_models.tree.column import Column, NumericColumn


class ArrowWriter(Protocol):
    """What both of pyarrow's writers can do."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def check_suffix(path: Path) -> None:
    """Check that a file's name says how to write it.

    Raises:
        OutputError: it ends in neither .csv nor .parquet.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(
            str(path), "the suffix must be .csv or .parquet; name the file accordingly"
        )


def write_chunks(path: Path, chunks: Iterable[Chunk]) -> int:
    """Write chunks of records as they are drawn, and return how many records there are.

    Raises:
        OutputError: the file cannot be written; then none is there.
        SynthesisError: there is nothing to draw.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    writer: ArrowWriter | None = None
    rows = 0
    try:
        for chunk in chunks:
            batch = pa.RecordBatch.from_pydict(
                {name: _array(column) for name, column in chunk.items()}
            )
            writer = writer or _writer(path, temporary, batch.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
        if writer is None:
            raise SynthesisError(
                path.name, "there is no record to draw; give a larger number: --rows N"
            )
        writer.close()
        temporary.replace(path)
    except OSError as error:
        raise OutputError(str(path), f"cannot be written ({os_reason(error)})") from error
    finally:
        temporary.unlink(missing_ok=True)
    return rows


def domains_from(words: Iterable[str]) -> Mapping[str, Domain]:
    """Return the domains that were typed: ``age=17:90``, ``sex=F,M``.

    Raises:
        SynthesisError: one of them is not understood, or stands twice.
    """
    domains: dict[str, Domain] = {}
    for item in words:
        name, equals, text = item.partition("=")
        if not (name and equals and text) or name in domains:
            raise SynthesisError(
                item, "not a domain; write NAME=LOW:HIGH or NAME=VALUE,VALUE, once for each column"
            )
        domains[name] = _range(item, text) or tuple(dict.fromkeys(text.split(",")))
    return domains


def shares_from(words: Iterable[str]) -> Mapping[str, float]:
    """Return the weights of classes that were typed: ``flu=2``.

    Raises:
        SynthesisError: one of them is not understood.
    """
    found = {}
    for item in words:
        label, _, text = item.rpartition("=")
        try:
            weight = float(text)
        except ValueError:
            weight = -1.0
        if not label or not 0.0 <= weight < float("inf"):
            raise SynthesisError(
                item, "not a class and its weight; write CLASS=NUMBER, with a number of 0 or more"
            )
        found[label] = weight
    return found


def _range(item: str, text: str) -> NumericRange | None:
    low, colon, high = text.partition(":")
    try:
        return NumericRange(float(low), float(high)) if colon else None
    except ValueError:
        if "," in text or not low.replace(".", "").replace("-", "").isdigit():
            return None  # a category with a colon in it
        raise SynthesisError(
            item, "not a range; write NAME=LOW:HIGH, the lower end first"
        ) from None


def _array(column: Column) -> pa.Array:
    if isinstance(column, NumericColumn):
        return pa.array(column.numbers)
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, type=pa.int32()), pa.array(column.categories, type=pa.string())
    )


def _writer(path: Path, temporary: Path, schema: pa.Schema) -> ArrowWriter:
    is_csv = path.suffix.lower() == ".csv"
    return _CsvWriter(temporary, schema) if is_csv else pa_parquet.ParquetWriter(temporary, schema)


class _CsvWriter:
    """Writes categories as their names: Arrow's CSV writer knows no dictionaries."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = pa.schema(
            [
                pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type)
                for f in schema
            ]
        )
        self.writer = pa_csv.CSVWriter(path, self.schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        plain = [
            column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            for column in batch.columns
        ]
        self.writer.write_batch(pa.RecordBatch.from_arrays(plain, schema=self.schema))

    def close(self) -> None:
        self.writer.close()
