"""Tables in a DuckDB database file, counted there: ``people.duckdb``, or ``people.duckdb#schema.table``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.counting.engine import COUNT, Engine, engine, named, unreadable
from treewarden.ppdm_models.records.counting.files import Part, check_unchanged, digest_of
from treewarden.ppdm_models.records.counting.source import Counted, Source, in_order
from treewarden.ppdm_models.records.dialect import Dialect
from treewarden.ppdm_models.records.places import Places
from treewarden.ppdm_models.records.table import listed, near_text

OWN = ("information_schema", "pg_catalog")


@dataclass(frozen=True, slots=True)
class DuckdbTable(Source):
    """One table of a database file."""

    path: Path
    schema: str
    table: str
    columns: tuple[str, ...]
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def count(self, columns: tuple[str, ...]) -> Counted:
        part = Part(self.path, self.name)
        before = part.stamp()
        keys = ", ".join([*map(named, columns), ""])
        where = f"{named(self.schema)}.{named(self.table)}"
        query = f"select {keys}count(*) as {named(COUNT)} from {where}"
        if columns:
            query += f" group by {', '.join(str(at + 1) for at in range(len(columns)))}"
        try:
            with engine(self.name, database=self.path) as opened:
                found = opened.count(query)
        except duckdb.Error as error:
            raise unreadable(self.name, error) from error
        rows = in_order(found.rename_columns([*columns, COUNT]))
        digest = digest_of([part])
        check_unchanged(self.name, [part], [before])
        counts = rows[COUNT].to_numpy().astype(np.float64)
        return Counted(rows.select([*columns]), counts, Places(None), digest, dialect=self.dialect)


def open_duckdb(path: Path, table: str = "", dialect: Dialect | None = None) -> DuckdbTable:
    """Return a table of a database file, by its name; the only one where none is named.

    ``dialect`` is what is said of how its texts are written.

    Raises:
        TableError: the file cannot be opened, or it is not said which table.
    """
    try:
        with engine(path.name, database=path) as opened:
            schema, name = _chosen(path.name, _tables(opened), table)
            columns = _columns(opened, schema, name)
    except duckdb.Error as error:
        problem = (
            "the database cannot be opened; close what writes to it, or write it by another version"
        )
        raise TableError(path.name, problem) from error
    return DuckdbTable(path, schema, name, columns, dialect or Dialect())


def _tables(opened: Engine) -> list[tuple[str, str]]:
    query = (
        "select table_schema, table_name from information_schema.tables "
        "where table_catalog = current_database() order by 1, 2"
    )
    found = opened.connection.execute(query).fetchall()
    return [(schema, name) for schema, name in found if schema not in OWN]


def _columns(opened: Engine, schema: str, table: str) -> tuple[str, ...]:
    query = f"select * from {named(schema)}.{named(table)} limit 0"
    return tuple(each[0] for each in opened.connection.execute(query).description or ())


def _chosen(source: str, there: Sequence[tuple[str, str]], asked: str) -> tuple[str, str]:
    if not there:
        raise TableError(source, "the database has no tables; give one that has")
    names = [name if schema == "main" else f"{schema}.{name}" for schema, name in there]
    if not asked and len(there) == 1:
        return there[0]
    if not asked:
        problem = f"the database has several tables: {listed(names)}; say which: {source}#TABLE"
        raise TableError(source, problem)
    for each, name in zip(there, names, strict=True):
        if asked in (name, ".".join(each)):
            return each
    raise TableError(
        source, f"no table {asked!r}{near_text(asked, names)}; the database has {listed(names)}"
    )
