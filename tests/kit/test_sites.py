"""What the next test gets where a database of PostgreSQL is handed on."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.kit.service import sites
from treewarden.service.database.tables import organisation

pytestmark = pytest.mark.postgresql
CHANGES = (
    "ALTER TABLE log_entry DISABLE TRIGGER log_entry_unchanged",
    "ALTER TABLE data_table DROP CONSTRAINT fk_data_table_blob_id",
    "ALTER TABLE organisation ADD COLUMN note text",
    "UPDATE alembic_version SET version_num = 'older'",
    "DROP TABLE alembic_version",
)


def name_after(folder, statement=None):
    """Return the name of a site's database, and its number in the server, once a statement was carried out there."""
    with sites.make_site("postgresql", folder) as site:
        with site.engine.begin() as connection:
            assert not connection.execute(organisation.select()).all()
        sites.add_account(site, sites.add_organisation(site), "ann")
        with site.engine.begin() as connection:
            if statement:
                connection.execute(text(statement))
            asked = "SELECT datname, oid FROM pg_database WHERE datname = current_database()"
            return connection.execute(text(asked)).one()


def test_it_is_empty_has_a_new_name_and_nobody_is_left_in_it(tmp_path):
    with sites.make_site("postgresql", tmp_path) as site:
        left = site.engine.connect()
        left.execute(organisation.select())
    with pytest.raises(DBAPIError):
        left.execute(organisation.select())
    left.invalidate()
    first, number = name_after(tmp_path)
    second, again = name_after(tmp_path)
    assert number == again
    assert first != second


@pytest.mark.parametrize("statement", CHANGES)
def test_one_whose_tables_were_changed_is_given_to_nobody(statement, tmp_path):
    _, number = name_after(tmp_path, statement)
    _, other = name_after(tmp_path)
    assert number != other
