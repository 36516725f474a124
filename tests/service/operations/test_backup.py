import json

import pytest
from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.sealing import seal_all
from tests.kit.service.tables import DATA, add, an_audit, rows
from treewarden.service.database.engine import head
from treewarden.service.database.run_tables import SCHEMA, audit, log_entry
from treewarden.service.database.tables import account, blob, data_table, review, session, waiver
from treewarden.service.errors import GoneError, SetupError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.operations.integrity import (
    MOMENTARY,
    _without_triggers,
    back_up,
    check,
    restore,
)
from treewarden.service.schemas.releases import NewRelease
from treewarden.service.use_cases.releases import open_release


@pytest.fixture
def full(site):
    """A site with rows of many kinds: a table, a model, an audit, a waiver, a session and a log."""
    who = sites.add_account(site, sites.add_organisation(site, "Häuser"), "ann")
    an_audit(site, who, add(site, who).id)
    with site.unit() as unit:
        record(unit, who, "account.created", "account", who.account_id, {"ö": [1, 0.1, None]})
        unit.connection.execute(
            insert(waiver).values(
                id=new_id(),
                organisation_id=who.organisation_id,
                clause="k",
                reason="a line\nand 'another' \\ \x7f “one”",
                owner="ann",
                ticket="1",
                expires="2030-01-01",
                state="requested",
                requested_by=who.account_id,
                requested_at=unit.now,
            )
        )
        unit.connection.execute(
            insert(session).values(
                id=new_id(),
                hash="1" * 64,
                account_id=who.account_id,
                created_at=unit.now,
                expires_at=unit.now,
            )
        )
    seal_all(site)
    return site


def everything(site, but=()):
    with site.reading() as unit:
        return {
            table.name: [
                dict(row._mapping)
                for row in unit.connection.execute(select(table).order_by(*table.primary_key))
            ]
            for table in SCHEMA.sorted_tables
            if table not in (*MOMENTARY, *but)
        }


@pytest.mark.parametrize("kind", sites.KINDS)
def test_a_copy_is_restored_exactly_into_either_database(full, kind, tmp_path):
    written = back_up(full, tmp_path / "copy")
    with sites.make_site(kind, tmp_path / "other") as other:
        assert restore(other, tmp_path / "copy") == written
        changed = (blob, data_table, log_entry)
        assert everything(other, changed) == everything(full, changed)
        before = everything(full)["log_entry"]
        after = everything(other)["log_entry"]
        assert after[: len(before)] == before
        assert [row["action"] for row in after[len(before) :]] == [
            "table.erased",
            "database.restored",
        ]


def test_a_copy_holds_no_key_of_a_table_and_no_session(full, tmp_path):
    back_up(full, tmp_path / "copy")
    lines = [json.loads(line) for line in (tmp_path / "copy").read_bytes().splitlines()]
    blobs = {each["row"]["kind"]: each["row"] for each in lines[1:-1] if each["table"] == "blob"}
    assert "sealed_key" in blobs["model"]
    assert "sealed_key" not in blobs["table"]
    assert not [each for each in lines[1:-1] if each["table"] == "session"]
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


def test_a_table_cannot_be_read_from_a_restored_copy_even_beside_its_file(full, tmp_path):
    back_up(full, tmp_path / "copy")
    with sites.make_database("sqlite", tmp_path / "other") as url:
        (tmp_path / "other").mkdir()
        settings = full.settings.model_copy(update={"database": url})
        other = sites.open_site(settings)  # the same vault and the same key file
        restore(other, tmp_path / "copy")
        table = next(row for row in rows(other, blob) if row.kind == "table")
        model = next(row for row in rows(other, blob) if row.kind == "model")
        with pytest.raises(GoneError, match="was erased"):
            other.vault.read(table.id, table.digest, table.sealed_key)
        assert other.vault.read(model.id, model.digest, model.sealed_key) == b"model"
        assert [row.state for row in rows(other, data_table)] == ["erased"]
        assert [each.problem for each in check(other) if each.problem] == []
        other.engine.dispose()
    assert DATA[:100] not in (tmp_path / "copy").read_bytes()


def test_a_database_that_holds_something_is_not_restored_into(full, tmp_path):
    back_up(full, tmp_path / "copy")
    before = everything(full)
    with pytest.raises(SetupError, match="is not empty"):
        restore(full, tmp_path / "copy")
    assert everything(full) == before


def test_a_file_that_is_there_is_not_overwritten(full, tmp_path):
    (tmp_path / "copy").write_text("mine")
    with pytest.raises(SetupError, match="exists already"):
        back_up(full, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "mine"
    assert not list(tmp_path.glob(".copy*"))


def without_its_end(data):
    return b"".join(data.splitlines(keepends=True)[:-1])


def with_one_word_changed(data):
    return data.replace(b'"ann"', b'"eve"', 1)


def with_a_row_left_out(data):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:-2] + lines[-1:])


def with_an_unknown_table(data):
    return data.replace(b'"table":"account"', b'"table":"accounts"', 1)


def that_is_something_else(data):
    return b"\x89PNG\n" + data[:50]


def that_is_empty(_):
    return b""


@pytest.mark.parametrize(
    "damage",
    [
        without_its_end,
        with_one_word_changed,
        with_a_row_left_out,
        with_an_unknown_table,
        that_is_something_else,
        that_is_empty,
    ],
)
def test_nothing_stays_of_a_copy(full, damage, tmp_path):
    back_up(full, tmp_path / "copy")
    (tmp_path / "damaged").write_bytes(damage((tmp_path / "copy").read_bytes()))
    with sites.make_site(full.engine.dialect.name, tmp_path / "other") as other:
        with pytest.raises(SetupError, match="not a complete backup"):
            restore(other, tmp_path / "damaged")
        with other.reading() as unit:
            assert unit.connection.execute(select(func.count()).select_from(account)).scalar() == 0


def test_a_copy_of_another_level_names_the_version_that_takes_it(full, tmp_path):
    back_up(full, tmp_path / "copy")
    told = (tmp_path / "copy").read_bytes().replace(f'"level":"{head()}"'.encode(), b'"level":"9"')
    (tmp_path / "copy").write_bytes(told)
    with (
        sites.make_site("sqlite", tmp_path / "other") as other,
        pytest.raises(SetupError, match="restore it with treewarden"),
    ):
        restore(other, tmp_path / "copy")


def test_what_changes_meanwhile_is_not_in_a_copy(full, tmp_path):
    back_up(full, tmp_path / "first")
    with full.unit() as unit:
        unit.connection.execute(update(audit).values(purpose="later"))
    back_up(full, tmp_path / "second")
    assert b"later" not in (tmp_path / "first").read_bytes()
    assert b"later" in (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("kind", sites.KINDS)
def test_a_decision_of_older_rules_is_restored_and_none_is_taken_by_them_afterwards(
    site, kind, tmp_path
):
    home = sites.add_organisation(site)
    ann, bob = (sites.add_account(site, home, name) for name in ("ann", "bob"))
    asked = make.queue_audit(site, bob, make.add_version(site, ann), None)
    with site.unit() as unit:
        release_id = open_release(unit, ann, NewRelease(audit_id=asked, title="Loans")).id
    with site.unit() as unit, _without_triggers(unit, "review"):
        unit.connection.execute(_review(home, release_id, ann, bob, unit.now))
    back_up(site, tmp_path / "copy")
    with sites.make_site(kind, tmp_path / "other") as other:
        restore(other, tmp_path / "copy")
        assert len(rows(other, review)) == 1
        with pytest.raises(IntegrityError, match="their own"), other.unit() as unit:
            unit.connection.execute(_review(home, release_id, ann, bob, unit.now))


def _review(home, release_id, ann, bob, at):
    return insert(review).values(
        id=new_id(),
        organisation_id=home,
        release_id=release_id,
        uploader_id=ann.account_id,
        opened_by=ann.account_id,
        reviewer_id=bob.account_id,
        decision="approve",
        comment="",
        at=at,
    )
