"""From level 1: names that were unique everywhere become names of an organisation, and nothing is lost on the way."""

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import select, text

from tests.kit.service import sites
from treewarden.service.database.engine import open_engine, writing
from treewarden.service.database.levels import SCRIPTS, upgrade
from treewarden.service.database.tables import account, session
from treewarden.service.names import name_key

ROWS = (
    "INSERT INTO organisation (id, name, keeps_profiles, report_days, checklist, created_at)"
    " VALUES ('o', 'Hospital', {false}, 30, '[]', '2026-01-01 00:00:00')",
    *(
        "INSERT INTO account (id, organisation_id, name, role, password_is_temporary, created_at)"
        f" VALUES ('{each}', 'o', '{name}', 'viewer', {{false}}, '2026-01-01 00:00:00')"
        for each, name in (("1", "ann"), ("2", "Ann"), ("3", "bob"))
    ),
    "INSERT INTO session (id, hash, account_id, created_at, expires_at)"
    " VALUES ('s', 'h', '2', '2026-01-01 00:00:00', '2036-01-01 00:00:00')",
)


@pytest.fixture(params=sites.KINDS)
def engine(request, tmp_path):
    """A database of the first level, with accounts that look alike."""
    with sites.make_database(request.param, tmp_path) as url:
        found = open_engine(url)
        false = "0" if found.dialect.name == "sqlite" else "false"
        with writing(found) as connection:
            config = Config()
            config.set_main_option("script_location", str(SCRIPTS))
            config.attributes["connection"] = connection
            command.upgrade(config, "0001")
            for row in ROWS:
                connection.execute(text(row.format(false=false)))
        yield found
        found.dispose()


def test_accounts_that_look_alike_stay_and_keep_what_refers_to_them(engine):
    upgrade(engine)
    with engine.connect() as connection:
        rows = connection.execute(select(account).order_by(account.c.id)).all()
        (kept,) = connection.execute(select(session)).all()
    assert [row.name for row in rows] == ["ann", "Ann", "bob"]
    assert [row.name_key for row in rows] == [name_key("ann"), "2", name_key("bob")]
    assert (kept.account_id, kept.address, kept.seen_at) == ("2", "", None)


def test_references_are_held_again_after_an_upgrade(engine):
    upgrade(engine)
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    with pytest.raises(Exception, match=r"(?i)foreign key"), writing(engine) as connection:
        connection.execute(text("DELETE FROM account WHERE id = '2'"))
