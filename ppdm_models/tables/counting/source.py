"""A table that is counted, wherever it lies: its columns are known at once, its records are never held."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import ColumnNotCountedError, TableError
from treewarden.ppdm_models.tables.arrow_column import ArrowColumn, flat
from treewarden.ppdm_models.tables.dialect import Dialect
from treewarden.ppdm_models.tables.read_table import labelled
from treewarden.ppdm_models.tables.readers import Labels
from treewarden.ppdm_models.tables.table import FirstRecords, RawColumn, Table
from treewarden.ppdm_models.tree.column import CategoricalColumn


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """Distinct rows over some columns, how many records each stands for (rows,), and where those are.

    ``digest`` is of what was counted; ``notes`` are for the reader of a report; ``dialect`` is how texts are written.
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

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
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
        problem = "the table has no records; give the table that the tree was trained on"
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


def _columns(source: TableSource, found: DistinctRows) -> Iterable[tuple[str, RawColumn]]:
    there = set(found.rows.column_names)
    for name in source.names:
        if name not in there:
            yield name, NotCounted(source.name, name)
            continue
        values = flat(found.rows.column(name))
        yield name, ArrowColumn(source.name, name, values, found.places, found.dialect)
