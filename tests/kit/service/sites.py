"""A service to test with: on SQLite, and on PostgreSQL where it answers."""

from __future__ import annotations

import atexit
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Dialect, Engine, create_engine, event, insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlalchemy.util import LRUCache
from starlette.routing import BaseRoute

from treewarden.service.auth.passwords import SHOWN, digest_of, new_secret
from treewarden.service.auth.principal import ALLOWED, Principal, Role
from treewarden.service.database.engine import open_engine, upgrade
from treewarden.service.database.tables import account, organisation, token
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX, application
from treewarden.service.settings import Settings
from treewarden.service.site import open_site

SERVER = os.environ.get(
    "TREEWARDEN_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test"
)
NAMES = ("sqlite", "postgresql")
KINDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql))
ON_SQLITE = pytest.mark.parametrize("site", ["sqlite"], indirect=True)
"""A mark of tests to which it makes no difference which database there is, and that take long."""


@cache
def postgresql_is_there():
    try:
        engine = create_engine(SERVER, connect_args={"connect_timeout": 2}, poolclass=NullPool)
        with engine.connect():
            return True
    except Exception:  # no driver, no server, no such database: all the same here
        return False


@contextmanager
def make_database(kind, folder) -> Iterator[str]:
    """Give the URL of an empty database, gone afterwards; skip where there is no PostgreSQL and none is required."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'treewarden.db'}"
        return
    with _on_postgresql(lambda: "template1") as url:
        yield url


@contextmanager
def make_site(kind, folder, **settings):
    """Give a site with an empty database of the newest level."""
    with _upgraded(kind, folder) as url:
        site = open_site(Settings(data_dir=folder, database=url, **settings))
        _compile_once(site.engine, kind)
        yield site
        _APPLICATIONS.pop(id(site), None)
        site.engine.dispose()


_APPLICATIONS: dict[int, FastAPI] = {}
"""By identity of the site, while it is there: its server, which all of its clients ask."""


_STATEMENTS: dict[str, tuple[Dialect, LRUCache]] = {}
"""By kind of database: the dialect and the compiled statements of all sites of this process."""


def _compile_once(engine: Engine, kind: str) -> None:
    """Let sites share their compiled statements: with an engine for each test, compiling took longer than running.

    No test is about power cuts, so that SQLite need not wait for the disk either.
    """
    engine.dialect, compiled = _STATEMENTS.setdefault(kind, (engine.dialect, LRUCache(1000)))
    engine.update_execution_options(compiled_cache=compiled)
    if kind == "sqlite":
        event.listen(engine, "connect", _without_waiting)


def _without_waiting(connection, _) -> None:
    connection.execute("PRAGMA synchronous = OFF")


@contextmanager
def _upgraded(kind, folder) -> Iterator[str]:
    """Give the URL of a database of the newest level, copied from one that is made once in a process."""
    if kind == "sqlite":
        file = Path(folder, "treewarden.db")
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(_sqlite_file())
        yield f"sqlite:///{file}"
        return
    with _upgraded_on_postgresql() as url:
        yield url


@contextmanager
def _on_postgresql(template) -> Iterator[str]:
    _need_postgresql()
    name = _new_name()
    _command(f"CREATE DATABASE {name} TEMPLATE {template()}")
    try:
        yield _url(name)
    finally:
        _drop(name)


@contextmanager
def _upgraded_on_postgresql() -> Iterator[str]:
    """Give the URL of a database that another test had, once it is empty again: that takes a tenth of a new one.

    Its name is new, so that nothing finds it that the other test left running.
    """
    _need_postgresql()
    name = _new_name()
    if _EMPTY:
        _command(f"ALTER DATABASE {_EMPTY.pop()} RENAME TO {name}")
    else:
        _command(f"CREATE DATABASE {name} TEMPLATE {_postgresql_template()}")
    try:
        yield _url(name)
    finally:
        if _is_emptied(name):
            _EMPTY.append(name)
        else:
            _drop(name)


_EMPTY: list[str] = []
"""Databases of the newest level that hold nothing, and that no test has."""
_SHAPE = """
SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
    SELECT oid::text AS part FROM pg_constraint
    UNION ALL SELECT oid || tgenabled::text FROM pg_trigger
    UNION ALL SELECT attrelid || attname || attnum || atttypid || attnotnull FROM pg_attribute
        JOIN pg_class ON attrelid = pg_class.oid WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT version_num FROM alembic_version
) AS parts
"""
"""A digest of what a database is made of, and which of its triggers are on; a copy has that of its original."""


def _is_emptied(name) -> bool:
    """Empty a database, and return whether it is what a new one would be; one whose tables were changed is not."""
    engine = create_engine(_url(name), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with suppress(DBAPIError), engine.connect() as connection:
        connection.execute(text(_END_OTHERS))
        if connection.execute(text(_SHAPE)).scalar_one() == _template_shape():
            tables = connection.execute(text(_TABLES)).scalars()
            deletes = [f'DELETE FROM "{table}"' for table in tables]
            connection.exec_driver_sql("; ".join([_WITHOUT_TRIGGERS, *deletes]))
            return True
    return False


_END_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
"""
_WITHOUT_TRIGGERS = "SET session_replication_role = replica"


@cache
def _template_shape() -> str:
    engine = create_engine(_url(_postgresql_template()), poolclass=NullPool)
    with engine.connect() as connection:
        return str(connection.execute(text(_SHAPE)).scalar_one())


@atexit.register
def _drop_empty() -> None:
    while _EMPTY:
        _drop(_EMPTY.pop())


def _drop(name) -> None:
    _command(f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _sqlite_file() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        _upgrade(f"sqlite:///{file}")
        return file.read_bytes()


@cache
def _postgresql_template() -> str:
    name = _new_name()
    _command(f"CREATE DATABASE {name}")
    atexit.register(_drop, name)
    _upgrade(_url(name))
    return name


def _upgrade(url):
    engine = open_engine(url)
    upgrade(engine)
    engine.dispose()


def _need_postgresql():
    if not postgresql_is_there():
        if os.environ.get("TREEWARDEN_REQUIRE_POSTGRESQL"):
            pytest.fail(f"no PostgreSQL at {SERVER}")
        pytest.skip("no PostgreSQL here")


def _new_name():
    return f"treewarden_{uuid4().hex[:12]}"


def _url(name):
    return SERVER.rpartition("/")[0] + f"/{name}"


def _command(statement):
    server = create_engine(SERVER, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with server.connect() as connection:
        connection.execute(text(statement))


def add_organisation(site, name="Hospital"):
    """Make an organisation, and return its id."""
    made = new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(organisation).values(
                id=made,
                name=name,
                keeps_profiles=False,
                report_days=30,
                checklist=["The purpose is stated"],
                created_at=unit.now,
            )
        )
    return made


def add_account(site, organisation_id, name, role=Role.ADMINISTRATOR):
    """Make an account without a password, and return who it is."""
    made = new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(account).values(
                id=made,
                organisation_id=organisation_id,
                name=name,
                role=role,
                created_at=unit.now,
            )
        )
    return Principal(organisation_id, made, name, Role(role), ALLOWED[Role(role)])


def add_token(site, who, permissions=None):
    """Return the secret of a new token of somebody."""
    secret = new_secret()
    with site.unit() as unit:
        unit.connection.execute(
            insert(token).values(
                id=new_id(),
                organisation_id=who.organisation_id,
                account_id=who.account_id,
                name="test",
                prefix=secret[:SHOWN],
                hash=digest_of(secret),
                permissions=sorted(permissions or who.permissions),
                created_at=unit.now,
            )
        )
    return secret


def open_client(site, who=None, **options):
    """Return a client of the application on a site, with a token of somebody."""
    headers = {"Authorization": f"Bearer {add_token(site, who)}"} if who else {}
    return share_loop(TestClient(_server_of(site), headers=headers, **options))


def _server_of(site) -> FastAPI:
    if id(site) not in _APPLICATIONS:
        made = application(site)
        made.router.routes = _routes_of(made)
        _APPLICATIONS[id(site)] = made
    return _APPLICATIONS[id(site)]


_ROUTES: list[BaseRoute] = []
"""The routes of all servers of this process."""


def _routes_of(made: FastAPI) -> list[BaseRoute]:
    """Return the routes of the first server: what a route takes and gives is worked out when it is first asked for.

    They know no site, but find it in the server that was asked.
    """
    if not _ROUTES:
        _ROUTES.extend(made.router.routes)
    return list(_ROUTES)


def share_loop(client: TestClient) -> TestClient:
    """Let a client ask in the event loop of all clients of this process, and not in a new thread for each request."""
    client.portal = _portal()
    return client


@cache
def _portal() -> BlockingPortal:
    opened = start_blocking_portal()
    portal = opened.__enter__()
    atexit.register(opened.__exit__, None, None, None)
    return portal


def upload_file(client, data, kind):
    """Upload bytes as a client does, and return their digest."""
    digest = hashlib.sha256(data).hexdigest()
    answer = client.put(f"{PREFIX}/blobs/{digest}?kind={kind}", content=data)
    assert answer.status_code in (200, 201)
    return digest
