"""Tables in PostgreSQL, counted there: the server groups the records, and only distinct rows and counts come back."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.counting.address import Address
from treewarden.ppdm_models.records.counting.engine import COUNT, attended, named, too_many
from treewarden.ppdm_models.records.counting.source import Counted, Source, in_order
from treewarden.ppdm_models.records.places import Places
from treewarden.ppdm_models.records.room import room_bytes

PLAIN = frozenset(
    {"boolean", "smallint", "integer", "bigint", "real", "double precision", "text", "date"}
)
"""Types that come as they are; all others come as the text that the server writes."""
KINDS = """
select a.attname, format_type(a.atttypid, null) from pg_catalog.pg_attribute a
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum
"""
PUSHED = "{}: the records were counted where they are; {:,} distinct rows over {} came back, nothing else of the table"


@dataclass(frozen=True, slots=True)
class PostgresqlTable(Source):
    """One table of a server; ``kinds`` are the types of its columns."""

    address: Address
    where: str
    kinds: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.kinds)

    def count(self, columns: tuple[str, ...]) -> Counted:
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
        return Counted(
            found.select([*columns]), counts, Places(None), digest_of_rows(found), (note,)
        )


def open_postgresql(address: Address) -> PostgresqlTable:
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
        problem = f"there is no table {address.table!r} that this user may see; name its schema too"
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
def _cursor(address: Address) -> Iterator[Any]:
    """Open a connection that only reads; what the driver says is not told, as it may quote passwords and cells."""
    try:
        dbapi = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ModuleNotFoundError as error:
        problem = "the driver is not installed; pip install 'treewarden[postgresql]' brings it"
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
        "28": "the user or the password is refused; say them in the address, or in ~/.pgpass",
        "3D": "there is no such database; check the address",
        "42": "the table cannot be read: it is not there, or this user may not; check the address and what is granted",
        "53": "the server has too little memory or room for it; name fewer quasi-identifiers (--qi)",
        "57": "the server stopped the query; ask again, or ask whoever runs it",
    }
    if code[:2] in said:
        return said[code[:2]]
    return "the server does not answer, or refuses; check the address, and whether psql reaches it"
