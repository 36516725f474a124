"""Opens a database: SQLite with one writer at a time and readers beside it, or PostgreSQL.

It also tells which level of the schema a database is on, and brings it to the one that this version needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from treewarden.service.errors import SetupError, UnavailableError

KINDS = ("sqlite", "postgresql")
WAIT_SECONDS = 30
READING = "treewarden_reading"
SHORT_QUESTIONS = ("jit = off", "max_parallel_workers_per_gather = 0")
KEPT_CONNECTIONS, MORE_CONNECTIONS = 10, 20
"""So many connections of a process stay open, and so many more are opened at need."""


def open_engine(url: str) -> Engine:
    """Return an engine for a database; nothing is connected yet.

    Raises:
        SetupError: the URL names no database that can be used.
    """
    advice = "give sqlite:///FILE or postgresql://USER@HOST/NAME"
    try:
        kind = make_url(url).get_backend_name()
    except ArgumentError as error:
        raise SetupError("--database", f"not a URL; {advice}") from error
    if kind not in KINDS:
        raise SetupError("--database", f"{kind} is not supported; {advice}")
    try:
        if kind == "postgresql":
            engine = create_engine(url, pool_pre_ping=True, **_POOL)
            event.listen(engine, "connect", _plan_for_short_questions)
            return engine
        engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS}, **_POOL)
    except NoSuchModuleError as error:
        raise SetupError("--database", f"{error}; {advice}") from error
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


_POOL: dict[str, Any] = {
    "pool_size": KEPT_CONNECTIONS,
    "max_overflow": MORE_CONNECTIONS,
    "hide_parameters": True,
}


def _set_up(connection: Any, _: object) -> None:  # noqa: ANN401  # the driver's own
    connection.isolation_level = None  # the driver's own BEGIN comes too late to lock
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {WAIT_SECONDS * 1000}",
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _plan_for_short_questions(connection: Any, _: object) -> None:  # noqa: ANN401  # the driver's own
    """Have PostgreSQL answer in one process, by plans as they are.

    It guesses that each audit rests on a hundred waivers, as it cannot look into JSON. A list of some twenty rows then
    seems large enough for parallel workers and compiled code, which take tens of milliseconds to begin.
    """
    connection.autocommit = True
    with connection.cursor() as cursor:
        for setting in SHORT_QUESTIONS:
            cursor.execute(f"SET {setting}")
    connection.autocommit = False


def _begin(connection: Connection) -> None:
    is_reading = connection.get_execution_options().get(READING, False)
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a transaction that may write: committed at the end, undone by an error.

    Raises:
        UnavailableError: the database cannot be reached, or the connection is lost.
    """
    with _telling(), engine.begin() as connection:
        yield connection


@contextmanager
def rebuilding(engine: Engine) -> Iterator[Connection]:
    """Give a transaction as ``writing`` does, in which SQLite may make a table anew that others refer to.

    Raises:
        SetupError: after it, rows would refer to none; nothing is changed then.
        UnavailableError: as for ``writing``.
    """
    if engine.dialect.name != "sqlite":
        with writing(engine) as connection:
            yield connection
        return
    with _telling(), engine.connect() as connection:
        driver = connection.connection.cursor()
        driver.execute("PRAGMA foreign_keys = OFF")  # within a transaction this would do nothing
        try:
            with connection.begin():
                before = _lost_references(connection)
                yield connection
                if _lost_references(connection) - before:
                    problem = (
                        "some rows would refer to rows that do not exist, so nothing was "
                        "changed; run: treewarden db check"
                    )
                    raise SetupError("database", problem)
        finally:
            driver.execute("PRAGMA foreign_keys = ON")
            driver.close()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Give one unchanging view of the database; nothing that is written in it stays.

    Raises:
        UnavailableError: as for ``writing``.
    """
    options: dict[str, Any] = {READING: True}
    if engine.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with _telling(), engine.connect() as connection:
        connection.execution_options(**options)
        try:
            yield connection
        finally:
            connection.rollback()


def now(connection: Connection) -> datetime:
    """Return the time by the database's clock, as those of machines differ; SQLite's is this machine's."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    found: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return found.astimezone(UTC)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated or type(error.orig).__name__ == "OperationalError":
            problem = f"cannot be reached or written ({_first_line(error)}); try again"
            raise UnavailableError("database", problem) from error
        raise


def _lost_references(connection: Connection) -> set[tuple[Any, ...]]:
    found = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return {tuple(row) for row in found}


def _first_line(error: DBAPIError) -> str:
    """Return what the driver says, without the statement and its values."""
    return (str(error.orig).splitlines() or [type(error.orig).__name__])[0][:200]


SCRIPTS = Path(__file__).with_name("migrations")
NEWER = (
    "has level {}, which this version does not know; install the version that wrote "
    "it, or a newer one"
)


def head() -> str:
    """Return the level that this version needs."""
    found = ScriptDirectory(str(SCRIPTS)).get_current_head()
    assert found is not None
    return found


def level(engine: Engine) -> str | None:
    """Return the level of a database, None for one without tables of ours.

    Raises:
        UnavailableError: it cannot be reached.
    """
    with reading(engine) as connection:
        return _level(connection)


def check_level(engine: Engine) -> None:
    """Check that a database is on the level that this version needs.

    Raises:
        SetupError: it is not; the message says what to do.
        UnavailableError: it cannot be reached.
    """
    found, needed = level(engine), head()
    if found == needed:
        return
    if found is None:
        problem = "has no tables of treewarden; create them: treewarden db upgrade"
    elif found in _known_levels():
        problem = (
            f"has level {found}, but level {needed} is needed; make a backup, then run: "
            "treewarden db upgrade"
        )
    else:
        problem = NEWER.format(found)
    raise SetupError("database", problem)


def upgrade(engine: Engine) -> tuple[str | None, str]:
    """Bring a database to the level of this version, and return the levels before and after.

    Raises:
        SetupError: it was written by a newer version.
        UnavailableError: it cannot be reached or written.
    """
    with rebuilding(engine) as connection:
        found = _level(connection)
        if found is not None and found not in _known_levels():
            problem = NEWER.format(found)
            raise SetupError("database", problem)
        config = Config()
        config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return found, head()


def _level(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return MigrationContext.configure(connection).get_current_revision()


def _known_levels() -> frozenset[str]:
    return frozenset(each.revision for each in ScriptDirectory(str(SCRIPTS)).walk_revisions())
