"""Tables on disk that are counted: a large file, a folder of files, all that a pattern matches."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.arrow_column import flat
from treewarden.ppdm_models.records.arrow_plain import numpy_of
from treewarden.ppdm_models.records.batches import Batches, OtherEncodingError, open_batches
from treewarden.ppdm_models.records.counting.engine import COUNT, FIRST
from treewarden.ppdm_models.records.counting.files import Part, check_unchanged, digest_of, parts_of
from treewarden.ppdm_models.records.counting.parquet import count_parquet, is_plain
from treewarden.ppdm_models.records.counting.source import Counted, Source
from treewarden.ppdm_models.records.counting.streaming import count_batches, spelled_out
from treewarden.ppdm_models.records.dialect import Dialect
from treewarden.ppdm_models.records.places import Places
from treewarden.ppdm_models.records.readers import Labels

OF_ENGINE = frozenset({"file_index", "file_row_number", "filename", "c", "t", "s", "said"})
"""What the engine calls something of its own: columns of these names are read by Arrow."""


@dataclass(frozen=True, slots=True)
class Files(Source):
    """A table of one file or of several, each opened."""

    path: Path
    parts: tuple[Part, ...]
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
    def dialect(self) -> Dialect:
        """How its files are written; in several ways, what is doubtful in one of them is doubtful in all."""
        dialects = [table.dialect for table in self.tables]
        return replace(
            dialects[0],
            is_guessed=any(each.is_guessed for each in dialects),
            is_typed=all(each.is_typed for each in dialects),
            delimiter=max(each.delimiter for each in dialects),  # a semicolon before a comma
        )

    def count(self, columns: tuple[str, ...]) -> Counted:
        try:
            return self._counted(columns)
        except OtherEncodingError:
            return replace(
                self,
                tables=tuple(
                    table.guessed() if table.may_guess else table for table in self.tables
                ),
            )._counted(columns)

    def _counted(self, columns: tuple[str, ...]) -> Counted:
        said = [name for name in columns if name in self.parts[0].said]
        own = [name for name in columns if name not in said]
        self._check(own)
        before = [part.stamp() for part in self.parts]
        with ThreadPoolExecutor(1) as pool:  # the digest is taken while the engine counts
            digest = pool.submit(digest_of, self.parts)
            if all(_is_native(table, own) for table in self.tables):
                found = count_parquet(self.name, self.parts, own, said)
            else:
                found = count_batches(self.name, self.parts, self.tables, own, said)
            try:
                told = digest.result()
            except OSError as error:
                raise TableError(
                    self.name, f"{error.strerror}; the table must not change"
                ) from error
        check_unchanged(self.name, self.parts, before)
        kinds = [(name, self._kind(name) if name in own else pa.string()) for name in columns]
        rows = found.select([*columns]).cast(pa.schema(kinds)) if columns else found.select([])
        files = tuple(part.name for part in self.parts) if len(self.parts) > 1 else ()
        first = numpy_of(flat(found[FIRST]), 0)
        counts = numpy_of(flat(found[COUNT]), 0).astype(np.float64)
        if not counts.sum():
            first, counts, rows = first[:0], counts[:0], rows.slice(0, 0)
        notes = tuple(dict.fromkeys(note for table in self.tables for note in table.notes))
        return Counted(
            rows, counts, Places(first, files), digest=told, notes=notes, dialect=self.dialect
        )

    def _kind(self, name: str) -> pa.DataType:
        return spelled_out(self.tables[0].schema.field(name).type)

    def _check(self, own: list[str]) -> None:
        """Raise what keeps the files from being one table."""
        for part, table in zip(self.parts, self.tables, strict=True):
            twice = [name for name in part.said if name in table.names]
            if twice:
                problem = f"{part.name!r} has the column {twice[0]!r}, which its folders say too; rename one"
                raise TableError(self.name, problem)
        for name in own:
            lacking = [
                part
                for part, table in zip(self.parts, self.tables, strict=True)
                if name not in table.names
            ]
            having = [part for part in self.parts if part not in lacking]
            if lacking:
                problem = (
                    f"{having[0].name!r} has a column {name!r} and {lacking[0].name!r} has none"
                )
                raise TableError(self.name, f"{problem}; give files of one table")
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


def _is_native(table: Batches, own: list[str]) -> bool:
    """Return whether the engine reads a file as Arrow does: Parquet, of plain types, no two names but for case."""
    if table.delimiter or table.is_arrow or table.reader:
        return False
    names = [name.casefold() for name in table.names]
    if len(set(names)) < len(names) or OF_ENGINE & set(names):
        return False
    return all(is_plain(spelled_out(table.schema.field(name).type)) for name in own)
