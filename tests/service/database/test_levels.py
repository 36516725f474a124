import hashlib
import re

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, delete, insert, text, update
from sqlalchemy.exc import DBAPIError

from tests.kit.service import sites
from treewarden.service.database.engine import SCRIPTS, check_level, head, level, upgrade
from treewarden.service.database.migrations.freeze import frozen_statements, guard_statements
from treewarden.service.database.run_tables import SCHEMA, log_entry
from treewarden.service.database.tables import waiver
from treewarden.service.errors import SetupError, new_id
from treewarden.service.ledger.log import record


def test_the_steps_lead_to_what_the_tables_say(site):
    with site.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, SCHEMA) == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_guards_are_frozen_as_they_are_said(dialect):
    assert set(guard_statements(dialect)) <= set(frozen_statements("0001", dialect))


SNAPSHOT = {
    "sqlite": "104baf67eb8a7a2f6878622c903c9bbe83437c1d246f2fa9133b8c7cf8f18943",
    "postgresql": "c5ca410b695fbc88a9e65bd68a0c0b06570c2b732c3515eabe61e861458943a4",
}
"""The digests of the first level: what is released is never written anew, and changes come as levels of their own."""


@pytest.mark.parametrize("dialect", SNAPSHOT)
def test_the_first_level_is_frozen(dialect):
    statements = "\n".join(frozen_statements("0001", dialect))
    assert hashlib.sha256(statements.encode()).hexdigest() == SNAPSHOT[dialect]


@pytest.mark.parametrize("dialect", SNAPSHOT)
def test_the_first_level_makes_tables_of_which_all_are_still_there(dialect):
    made = set(re.findall(r"CREATE TABLE (\w+)", "\n".join(frozen_statements("0001", dialect))))
    assert made
    assert made <= set(SCHEMA.tables)


def test_a_database_of_the_first_version_keeps_its_rows(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'old.db'}")
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        sql = "INSERT INTO organisation ({}) SELECT {} "
        names = ("id", "name")
        columns = {
            row[1]: row for row in connection.exec_driver_sql("PRAGMA table_info(organisation)")
        }
        needed = [name for name, row in columns.items() if row[3] and row[4] is None]
        values = ", ".join(f"'{name}'" if name in names else "1" for name in needed)
        connection.exec_driver_sql(sql.format(", ".join(needed), values))
    assert level(engine) == "0001"
    with pytest.raises(SetupError, match="treewarden db upgrade"):
        check_level(engine)
    assert upgrade(engine) == ("0001", head())
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT id FROM organisation").scalar_one() == "id"
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []


def test_a_database_is_upgraded_once(site):
    assert level(site.engine) == head()
    assert upgrade(site.engine) == (head(), head())
    check_level(site.engine)


def test_a_newer_database_is_refused(site):
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SetupError, match="install the version that wrote it"):
        check_level(site.engine)
    with pytest.raises(SetupError, match="install the version that wrote it"):
        upgrade(site.engine)


@pytest.mark.parametrize("change", [update(log_entry).values(actor="nobody"), delete(log_entry)])
def test_the_database_refuses_to_change_its_log(site, change):
    organisation = sites.add_organisation(site)
    with site.unit() as unit:
        record(unit, organisation, "organisation.created", "organisation", organisation)
    with pytest.raises(DBAPIError, match="never changed"), site.unit() as unit:
        unit.connection.execute(change)


def test_the_database_refuses_a_waiver_that_somebody_approves_for_himself(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    with pytest.raises(DBAPIError, match="four_eyes"), site.unit() as unit:
        unit.connection.execute(
            insert(waiver).values(
                id=new_id(),
                organisation_id=who.organisation_id,
                clause="k",
                reason="small",
                owner="ann",
                ticket="1",
                expires="2030-01-01",
                state="approved",
                requested_by=who.account_id,
                requested_at=unit.now,
                decided_by=who.account_id,
                decided_at=unit.now,
            )
        )
