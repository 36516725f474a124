"""Tables in databases (PostgreSQL, DuckDB, Ibis), counted there: only distinct rows and counts come back.

It also decides how a table that is to be counted is opened, whatever it is.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.limits import room_bytes
from treewarden.ppdm_models.tables.counting.addresses import (
    POSTGRESQL,
    TableAddress,
    TableFile,
    check_unchanged,
    digest_of,
    is_duckdb,
    parted,
)
from treewarden.ppdm_models.tables.counting.files import open_files
from treewarden.ppdm_models.tables.counting.source import (
    COUNT,
    DistinctRows,
    Engine,
    TableSource,
    attended,
    engine,
    in_order,
    named,
    too_many,
    unreadable,
)
from treewarden.ppdm_models.tables.dialect import Dialect, dialect_of
from treewarden.ppdm_models.tables.table import FirstRecords, listed

PLAIN = frozenset(
    {"boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "date"}
)
"""Types that come as they are; all others come as the text that the server writes."""
KINDS = """
select a.attname, format_type(a.atttypid, null) from pg_catalog.pg_attribute a
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum
"""
PUSHED = (
    "{}: the records were counted in the database. It returned {:,} distinct rows over {}, "
    "nothing else of the table"
)


@dataclass(frozen=True, slots=True)
class PostgresqlTable(TableSource):
    """One table of a server; ``kinds`` are the types of its columns."""

    address: TableAddress
    where: str
    kinds: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.kinds)

    def count(self, columns: tuple[str, ...]) -> DistinctRows:
        kinds = dict(self.kinds)
        keys = [_key(name, kinds[name]) for name in columns]
        query = f"select {', '.join([*keys, 'count(*)'])} from {self.where}"
        if columns:
            query += f" group by {', '.join(str(at + 1) for at in range(len(columns)))}"
        with _cursor(self.address) as cursor:
            found = _fetched(self.name, cursor, query)
        found = in_order(found.rename_columns([*columns, COUNT]))
        counts = found[COUNT].to_numpy().astype(np.float64)
        if not counts.sum():
            found, counts = found.slice(0, 0), counts[:0]
        several = "column" if len(columns) == 1 else "columns"
        note = PUSHED.format(self.name, len(counts), f"{len(columns)} {several}")
        return DistinctRows(
            found.select([*columns]), counts, FirstRecords(None), digest_of_rows(found), (note,)
        )


def open_postgresql(address: TableAddress) -> PostgresqlTable:
    """Return a table of a server, to be counted there.

    Raises:
        TableError: the driver is not installed, the server does not answer, or there is no such table.
    """
    with _cursor(address) as cursor:
        where = address.table
        for tried in (_quoted(address.table), address.table):
            cursor.execute(KINDS, (tried,))
            kinds = tuple((str(name), str(kind)) for name, kind in cursor.fetchall())
            where = tried
            if kinds:
                break
    if not kinds:
        problem = f"there is no table {address.table!r} that this user may see; add its schema: #SCHEMA.TABLE"
        raise TableError(address.name, problem)
    return PostgresqlTable(address, where, kinds)


def digest_of_rows(rows: pa.Table) -> str:
    """Return the digest of distinct rows and counts, in their order."""
    whole = hashlib.sha256()
    whole.update(rows.schema.remove_metadata().to_string().encode("utf-8", "surrogatepass"))
    for column in rows.columns:
        for value in column.cast(pa.string()).to_pylist():
            part = b"" if value is None else value.encode("utf-8", "surrogatepass")
            whole.update(f"{-1 if value is None else len(part)} ".encode())
            whole.update(part)
    return whole.hexdigest()


@contextmanager
def _cursor(address: TableAddress) -> Iterator[Any]:
    """Open a connection that only reads; what the driver says is not told, as it may quote passwords and cells."""
    try:
        dbapi = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ModuleNotFoundError as error:
        problem = "the driver is not installed; run: pip install 'treewarden[postgresql]'"
        raise TableError(address.name, problem) from error
    try:
        with dbapi.connect(address.url) as connection, connection.cursor() as cursor:
            cursor.execute("set default_transaction_read_only = on")
            yield cursor
    except dbapi.Error as error:
        raise TableError(address.name, _why(error)) from None


def _fetched(source: str, cursor: Any, query: str) -> pa.Table:  # noqa: ANN401  # the driver has no types
    most, size, found = room_bytes() // 2, 0, []
    attended(lambda: cursor.execute(query), cursor.adbc_cancel)
    reader = cursor.fetch_record_batch()
    for batch in reader:
        size += batch.nbytes
        if size > most:
            raise too_many(source)
        found.append(batch)
    return pa.Table.from_batches(found, reader.schema)


def _key(name: str, kind: str) -> str:
    if kind in ("real", "double precision"):
        return f"{named(name)} + 0"  # so that 0 and -0 are one
    return named(name) if kind in PLAIN else f"{named(name)}::text"


def _quoted(table: str) -> str:
    return ".".join(map(named, table.split(".", 1)))


def _why(error: Exception) -> str:
    code = getattr(error, "sqlstate", None) or ""
    said = {
        "28": "the user or the password is refused; give the user in the address, and the password in ~/.pgpass",
        "3D": "there is no such database; check the address",
        "42": "the table does not exist, or this user may not read it; check the address and the user's rights",
        "53": "the server has too little memory or room for it; name fewer quasi-identifiers (--qi)",
        "57": "the server stopped the query; try again, or ask its administrator",
    }
    if code[:2] in said:
        return said[code[:2]]
    return "the server does not answer, or refuses the connection; check the address, for example with psql"


# Tables in a DuckDB database file, counted there: ``people.duckdb``, or ``people.duckdb#schema.table``.

OWN = ("information_schema", "pg_catalog")


@dataclass(frozen=True, slots=True)
class DuckdbTable(TableSource):
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

    def count(self, columns: tuple[str, ...]) -> DistinctRows:
        part = TableFile(self.path, self.name)
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
        return DistinctRows(
            rows.select([*columns]), counts, FirstRecords(None), digest, dialect=self.dialect
        )


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
        problem = "the database cannot be opened; close programs that write to it, or save it with another version"
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


def _chosen(source: str, there: Sequence[tuple[str, str]], table_name: str) -> tuple[str, str]:
    if not there:
        raise TableError(source, "the database has no tables; give another database")
    names = [name if schema == "main" else f"{schema}.{name}" for schema, name in there]
    if not table_name and len(there) == 1:
        return there[0]
    if not table_name:
        problem = f"the database has several tables: {listed(names)}; name one: {source}#TABLE"
        raise TableError(source, problem)
    for each, name in zip(there, names, strict=True):
        if table_name in (name, ".".join(each)):
            return each
    raise TableError(
        source,
        f"no table {table_name!r}{near_text(table_name, names)}; the database has {listed(names)}",
    )


# Tables of any database that Ibis reaches, counted there: only distinct rows and counts come back.


@dataclass(frozen=True, slots=True)
class WarehouseTable(TableSource):
    """One table of a database; ``expression`` is what Ibis has of it."""

    address: TableAddress
    expression: Any

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.expression.columns)

    def count(self, columns: tuple[str, ...]) -> DistinctRows:
        grouped = self.expression.group_by(list(columns)) if columns else self.expression
        try:
            with _quietly():
                query = grouped.aggregate(**{"counted records": self.expression.count()})
                found = query.to_pyarrow()
        except Exception:  # each database has errors of its own
            raise _refused(self.address) from None
        if found.nbytes > room_bytes() // 2:
            raise too_many(self.name)
        found = in_order(_plain(found.rename_columns([*columns, COUNT])))
        counts = found[COUNT].to_numpy().astype(np.float64)
        if not counts.sum():
            found, counts = found.slice(0, 0), counts[:0]
        several = "column" if len(columns) == 1 else "columns"
        note = PUSHED.format(self.name, len(counts), f"{len(columns)} {several}")
        digest = digest_of_rows(found)
        return DistinctRows(found.select([*columns]), counts, FirstRecords(None), digest, (note,))


def open_warehouse(address: TableAddress) -> WarehouseTable:
    """Return a table of a database that Ibis opens by its address.

    Raises:
        TableError: Ibis or its part for such databases is not installed, or there is no such table.
    """
    try:
        ibis = importlib.import_module("ibis")
    except ModuleNotFoundError as error:
        problem = "Ibis is not installed; run: pip install 'treewarden[warehouse]'"
        raise TableError(address.name, problem) from error
    schema, _, table = address.table.rpartition(".")
    try:
        with _quietly():
            opened = ibis.connect(_reading(address))
            return WarehouseTable(address, opened.table(table, database=schema or None))
    except (ModuleNotFoundError, ImportError) as error:
        problem = (
            f"the Ibis backend for {address.scheme} is not installed; run: pip install "
            f"'treewarden[warehouse]' 'ibis-framework[{address.scheme}]'"
        )
        raise TableError(address.name, problem) from error
    except Exception:  # each database has errors of its own, which may quote passwords
        raise _refused(address) from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Say nothing of what a database's driver warns its programmers of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _reading(address: TableAddress) -> str:
    """Return the address; a database that is a file is only read, and not made where there is none."""
    if address.scheme != "duckdb":
        return address.url
    return f"{address.url}{'&' if '?' in address.url else '?'}read_only=True"


def _refused(address: TableAddress) -> TableError:
    problem = "the database does not answer, has no such table, or cannot be opened by Ibis; check the address"
    return TableError(address.name, problem)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without what Arrow cannot sort."""
    return rows.replace_schema_metadata(None)


def open_source(path: Path | TableAddress) -> TableSource:
    """Return a table to be counted: a file, a folder, a pattern, a DuckDB database, or a table of a server.

    Raises:
        TableError: it cannot be opened, or holds no table.
    """
    if isinstance(path, TableAddress):
        return open_postgresql(path) if path.scheme in POSTGRESQL else open_warehouse(path)
    place, dialect = dialect_of(path)
    file, table = parted(place)
    if is_duckdb(file):
        return open_duckdb(file, table, dialect)
    return open_files(place, dialect)
