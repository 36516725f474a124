"""Tables in databases are counted where they are, and nothing that is secret of an address is ever said."""

from __future__ import annotations

import sqlite3
import sys
from uuid import uuid4

import pytest

from tests.kit.postgresql import SERVER, own_schema
from treewarden.ppdm_models.errors import TableError, TooManyProfilesError
from treewarden.ppdm_models.tables.counting.addresses import address_of, is_address
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table

SECRET = "canary"


@pytest.fixture(scope="module")
def postgresql_schema():
    """Yield what makes tables in a schema of its own and returns its address; they are gone afterwards."""
    with own_schema() as found:
        yield found


def counted(address, columns=None):
    return count_table(open_source(address_of(address)), columns)


def refused(address):
    with pytest.raises(TableError) as error:
        counted(address)
    assert SECRET not in str(error.value)
    assert SECRET not in repr(error.value)
    return str(error.value)


def test_a_server_counts_and_missing_values_stay(postgresql_schema):
    where = postgresql_schema(
        'create table {}."odd ""name""" ("Größe" text, n int, p numeric(5, 2))',
        'insert into {}."odd ""name""" values (\'a\', 1, 1.50), (\'a\', 1, 1.50), (null, null, null)',
    )
    table = counted(f'{where}.odd "name"')
    rows = zip(
        *(table.columns[name].cells() for name in ("Größe", "n", "p")), table.counts, strict=True
    )
    assert sorted(rows, key=str) == [("a", 1, "1.50", 2.0), (None, None, None, 1.0)]
    assert "It returned 2 distinct rows over 3 columns" in table.notes[0]


def test_the_same_rows_have_the_same_digest_in_any_order(postgresql_schema):
    where = postgresql_schema(
        "create table {}.one (x text, y float8)",
        "create table {}.two (x text, y float8)",
        "insert into {}.one values ('a', 0), ('b', 2), ('a', '-0')",
        "insert into {}.two values ('a', '-0'), ('a', 0), ('b', 2)",
    )
    found = [counted(f"{where}.{name}") for name in ("one", "two")]
    assert found[0].digest == found[1].digest
    assert found[0].columns["y"].cells() == found[1].columns["y"].cells() == [0.0, 2.0]


def test_only_what_is_asked_for_leaves_the_server(postgresql_schema):
    where = postgresql_schema(
        "create table {}.wide (x int, name text)", "insert into {}.wide values (1, 'canary')"
    )
    table = counted(f"{where}.wide", ["x"])
    assert SECRET not in repr(table)
    assert table.records == 1


def test_what_may_not_be_shown_of_an_address_is_not(postgresql_schema):
    user, at, host = SERVER.partition("@")
    address = address_of(f"{user}:{SECRET}@{host}?password={SECRET}#people")
    for text in (address.name, str(address), repr(address)):
        assert SECRET not in text
    assert "postgres" not in address.name.partition("(postgresql")[0]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/x?password={SECRET}#t", "does not answer"),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/x", "names no table"),
        (f"nothing://u:{SECRET}@h/x#t", "cannot be opened by Ibis"),
        (f"snowflake://u:{SECRET}@h/x/y#t", "ibis-framework[snowflake]"),
        ("duckdb:///nowhere/at/all.duckdb#t", "has no such table"),
    ],
)
def test_a_database_that_cannot_be_opened_is_told_without_secrets(address, said):
    assert said in refused(address)


def test_a_table_that_is_not_there_is_told(postgresql_schema):
    assert "there is no table" in refused(f"{postgresql_schema()}.{uuid4().hex}")


def test_an_empty_table_has_no_records(postgresql_schema):
    where = postgresql_schema("create table {}.empty (x text)")
    assert "no records" in refused(f"{where}.empty")


@pytest.mark.parametrize(
    ("module", "address", "extra"),
    [
        ("adbc_driver_postgresql.dbapi", "postgresql://h/x#t", "treewarden[postgresql]"),
        ("ibis", "mysql://h/x#t", "treewarden[warehouse]"),
    ],
)
def test_a_driver_that_is_missing_names_its_extra(monkeypatch, module, address, extra):
    monkeypatch.setitem(sys.modules, module, None)
    assert f"pip install '{extra}'" in refused(address)


def test_what_comes_back_of_a_server_has_a_limit(postgresql_schema, monkeypatch):
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "1")
    where = postgresql_schema(
        "create table {}.ids as select repeat('x', 400) || n as x from generate_series(1, 100000) n"
    )
    with pytest.raises(TooManyProfilesError):
        counted(f"{where}.ids")


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option:DeprecationWarning")
def test_ibis_counts_where_the_table_is(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute("create table people (x text, y int)")
        made.executemany("insert into people values (?, ?)", [("a", 1), ("a", 1), (None, 2)])
    table = counted(f"sqlite:///{tmp_path}/t.db#people")
    assert sorted(zip(table.columns["x"].cells(), table.counts, strict=True), key=str) == [
        ("a", 2.0),
        (None, 1.0),
    ]


def test_paths_are_no_addresses():
    assert not any(map(is_address, ("a.csv", "/x/y", "C:\\people.csv", "people.duckdb#t", "a#b/c")))
    assert is_address("postgresql://h/x#t")
