"""The level that says who brought a model: what databases of the level before hold is named."""

import pytest
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import select, text

from tests.kit.service import sites
from treewarden.service.database.engine import open_engine, writing
from treewarden.service.database.levels import SCRIPTS, upgrade
from treewarden.service.database.tables import contributor

BEFORE = "0002"
AT = "2026-01-01 00:00:00"


def at_level(engine, level):
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, level)


@pytest.mark.parametrize("kind", sites.KINDS)
def test_who_brought_a_model_and_what_a_repair_made_of_it_is_named(kind, tmp_path):
    with sites.make_database(kind, tmp_path) as url:
        engine = open_engine(url)
        at_level(engine, BEFORE)
        with writing(engine) as connection:
            for statement in _rows():
                connection.execute(text(statement), {"at": AT} if ":at" in statement else {})
        upgrade(engine)
        with engine.connect() as connection:
            found = connection.execute(select(contributor).order_by(*contributor.c)).all()
        engine.dispose()
    assert [(row.blob_id, row.account_id) for row in found] == [
        ("b1", "ann"),
        ("b2", "ann"),
        ("b2", "bob"),
    ]
    assert {row.created_at.year for row in found} == {2026}


def _rows():
    """Ann sent a file, Bob made a version of it, and a repair that Cleo asked for wrote a second one."""
    yield (
        "INSERT INTO organisation (id, name, keeps_profiles, report_days, checklist, created_at) "
        "VALUES ('o', 'o', '0', 1, '[]', :at)"
    )
    for name in ("ann", "bob", "cleo"):
        yield (
            "INSERT INTO account (id, organisation_id, name, name_key, look_key, role, password_is_temporary, "
            f"created_at) VALUES ('{name}', 'o', '{name}', '{name}', '{name}', 'submitter', '0', :at)"
        )
    for key, by in (("b1", "'ann'"), ("b2", "NULL")):
        yield (
            "INSERT INTO blob (id, organisation_id, digest, size, kind, uploaded_by, created_at) "
            f"VALUES ('{key}', 'o', '{key}', 1, 'model', {by}, :at)"
        )
    yield (
        "INSERT INTO model (id, organisation_id, name, description, created_by, created_at) "
        "VALUES ('m', 'o', 'm', '', 'bob', :at)"
    )
    for n, by in ((1, "bob"), (2, "cleo")):
        yield (
            "INSERT INTO model_version (id, organisation_id, model_id, n, blob_id, digest, size, file_name, state, "
            "problem, format, uploaded_by, created_at) "
            f"VALUES ('v{n}', 'o', 'm', {n}, 'b{n}', 'b{n}', 1, 'f', 'ready', '', '', '{by}', :at)"
        )
    yield (
        "INSERT INTO audit (id, organisation_id, kind, model_version_id, pack_name, pack_digest, options, knowledge, "
        "waivers, purpose, created_by, created_at, state, verdict, headline, problem, repaired_version_id) "
        "VALUES ('a', 'o', 'repair', 'v1', 'p', 'p', '{}', '', '[]', '', 'cleo', :at, 'done', 'PASS', '', '', 'v2')"
    )


def test_a_later_level_may_make_a_table_anew_that_a_view_or_a_trigger_names(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site, site.engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA legacy_alter_table = ON")  # as the steps of levels do
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("pack_version", recreate="always"):
            pass
        assert connection.execute(text("SELECT count(*) FROM release_party")).scalar_one() == 0
