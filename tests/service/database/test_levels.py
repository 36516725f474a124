import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import delete, insert, text, update
from sqlalchemy.exc import DBAPIError

from tests.kit.service import sites
from treewarden.service.database.levels import check_level, head, level, upgrade
from treewarden.service.database.migrations.freeze import (
    DIALECTS,
    current_statements,
    frozen_statements,
)
from treewarden.service.database.run_tables import SCHEMA, log_entry
from treewarden.service.database.tables import waiver
from treewarden.service.errors import SetupError
from treewarden.service.ids import new_id
from treewarden.service.ledger.log import record


def test_the_steps_lead_to_what_the_tables_say(site):
    with site.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, SCHEMA) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_first_level_is_frozen_as_the_tables_say(dialect):
    """While nothing follows it: a later level leaves these files alone, and this test goes with the first change."""
    assert head() == "0001"
    assert frozen_statements("0001", dialect) == list(current_statements(dialect))


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
