import pytest
from sqlalchemy import text

from tests.kit.service import sites
from tests.kit.service.tables import add, files, rows
from treewarden.service.database.tables import blob
from treewarden.service.ledger.log import record
from treewarden.service.operations.integrity import check


@pytest.fixture
def ann(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann", "submitter")
    add(site, who)
    return who


def problems(site):
    return [each.problem for each in check(site) if each.problem]


def test_nothing_is_wrong_with_what_the_service_wrote(site, ann):
    assert problems(site) == []


def test_a_row_of_the_log_that_was_changed_is_found(site, ann):
    with site.unit() as unit:
        record(unit, ann, "table.created", "table", ann.account_id)
        for statement in UNLOCKED[site.engine.dialect.name]:
            unit.connection.execute(text(statement))
        unit.connection.execute(text("UPDATE log_entry SET actor = 'eve' WHERE seq = 1"))
    assert problems(site) == ["row 1 was changed after it was written"]


UNLOCKED = {
    "sqlite": ["DROP TRIGGER log_entry_no_update"],
    "postgresql": ["ALTER TABLE log_entry DISABLE TRIGGER log_entry_unchanged"],
}
"""What somebody has to do who writes past the service."""


def test_a_file_that_is_missing_is_found(site, ann):
    files(site)[0].unlink()
    assert problems(site) == ["its file is missing from the vault"]


def test_a_file_that_was_changed_is_found(site, ann):
    path = files(site)[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    (problem,) = problems(site)
    assert "cannot be decrypted" in problem


def test_a_row_that_says_another_size_is_found(site, ann):
    with site.unit() as unit:
        unit.connection.execute(blob.update().values(size=1))
    assert problems(site) == ["its file does not have the SHA-256 of its row"]


def test_a_reference_to_nothing_is_found(site, ann):
    connection = site.engine.raw_connection()
    cursor = connection.cursor()
    for statement in LOOSENED[site.engine.dialect.name]:
        cursor.execute(statement)
    cursor.execute("UPDATE data_table SET blob_id = 'nowhere'")
    connection.commit()
    connection.invalidate()
    connection.close()
    assert problems(site) == ["1 rows refer to a row of blob that is missing"]
    assert rows(site, blob)


LOOSENED = {
    "sqlite": ["PRAGMA foreign_keys = OFF"],
    "postgresql": ["ALTER TABLE data_table DROP CONSTRAINT fk_data_table_blob_id"],
}
