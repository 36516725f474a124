"""Which level a database is on, and how it gets to the one that this version needs."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect

from treewarden.service.database.engine import reading, rebuilding
from treewarden.service.errors import SetupError

SCRIPTS = Path(__file__).with_name("migrations")
NEWER = "is on level {}, which this version does not know; install the version that wrote it, or a newer one"


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
        problem = "has no tables of treewarden; make them: treewarden db upgrade"
    elif found in _known_levels():
        problem = (
            f"is on level {found}, older than {needed}; back it up, then: treewarden db upgrade"
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
