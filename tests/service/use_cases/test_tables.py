from datetime import timedelta

import pytest
from sqlalchemy import update

from tests.kit.service import sites
from tests.kit.service.tables import DATA, add, an_audit, digest, ended, files, finish, put, rows
from treewarden.service.database.run_tables import job
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooLargeError,
)
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.models import NewShare, NewTable
from treewarden.service.use_cases.blobs import claim_blob
from treewarden.service.use_cases.retention import erase_files, sweep
from treewarden.service.use_cases.tables import (
    add_table,
    claim_table,
    erase_table,
    get_table,
    list_tables,
    share_table,
)


def test_an_upload_is_kept_once_and_sealed(site, ann):
    assert not put(site, ann).is_known
    assert put(site, ann).is_known
    (kept,) = files(site)
    assert b"canary" not in kept.read_bytes()
    (row,) = rows(site, blob)
    assert site.vault.read(row.id, row.digest, row.sealed_key) == DATA


def test_an_upload_is_known_in_its_organisation_only(site, ann):
    bob = sites.add_account(site, sites.add_organisation(site, "Other"), "bob")
    put(site, ann)
    with site.unit() as unit, pytest.raises(NotFoundError):
        claim_blob(unit, bob, digest(DATA), "table")
    assert not put(site, bob).is_known


def test_what_is_known_but_lost_on_disk_is_kept_anew(site, ann):
    put(site, ann, kind="model")
    files(site)[0].unlink()
    assert not put(site, ann, kind="model").is_known


def test_a_wrong_digest_or_too_many_bytes_leave_nothing(site, ann):
    with pytest.raises(InvalidError, match="nothing was stored"):
        put(site, ann, said="0" * 64)
    small = type(site)(site.settings.model_copy(update={"max_table": 99}), site.engine, site.vault)
    with pytest.raises(TooLargeError):
        put(small, ann)
    assert not files(site)
    assert not rows(site, blob)


def test_a_table_is_erased_with_the_last_audit_that_needs_it(site, ann):
    table = add(site, ann)
    first, second = an_audit(site, ann, table.id), an_audit(site, ann, table.id, "repair", "queued")
    ended(site, first)
    assert not finish(site, table.id)
    ended(site, second, "cancelled")
    assert len(finish(site, table.id)) == 1
    assert not finish(site, table.id)
    (row,) = [row for row in rows(site, blob) if row.kind == "table"]
    assert row.sealed_key is None
    assert not site.vault.path(row.id, row.digest).exists()
    with site.reading() as unit:
        assert get_table(unit, ann, table.id).state == "erased"
    with site.unit() as unit, pytest.raises(ConflictError, match="upload it again"):
        claim_table(unit, ann, table.id)


def test_the_same_bytes_stay_for_another_table(site, ann):
    put(site, ann)
    with site.unit() as unit:
        one, two = (add_table(unit, ann, NewTable(digest=digest(DATA))) for _ in range(2))
    assert not finish(site, one.id)
    assert len(files(site)) == 1
    assert len(finish(site, two.id)) == 1
    assert not files(site)


def test_bytes_sent_again_while_in_use_outlive_the_first_audit(site, ann):
    first = add(site, ann)
    assert not put(site, ann).is_known
    finish(site, first.id)
    with site.unit() as unit:
        assert add_table(unit, ann, NewTable(digest=digest(DATA))).state == "reading"


def test_only_who_uploaded_a_table_or_an_administrator_erases_it(site, ann):
    table = add(site, ann)
    bob = sites.add_account(site, ann.organisation_id, "bob", "submitter")
    eve = sites.add_account(site, sites.add_organisation(site, "Other"), "eve")
    for who in (bob, eve):
        with site.unit() as unit, pytest.raises(NotFoundError):
            erase_table(unit, who, table.id)
    with site.unit() as unit:
        share_table(unit, ann, table.id, NewShare(name="bob"))
    with (
        site.unit() as unit,
        pytest.raises(ForbiddenError, match="only the person who uploaded it"),
    ):
        erase_table(unit, bob, table.id)
    an_audit(site, ann, table.id)
    root = sites.add_account(site, ann.organisation_id, "root", "administrator")
    with site.unit() as unit:
        erased = erase_table(unit, root, table.id)
    erase_files(site, erased)
    assert len(files(site)) == 1  # the model's
    assert [row.cancel_requested for row in rows(site, job) if row.kind == "inspect_table"] == [
        True
    ]


def test_tables_are_listed_newest_first_in_pages(site, ann):
    made = [add(site, ann, b"%d" % n).id for n in range(3)]
    with site.reading() as unit:
        page = list_tables(unit, ann, PageRequest(limit=2))
        rest = list_tables(unit, ann, PageRequest(limit=2, cursor=page.next))
    assert [table.id for table in page.items + rest.items] == made[::-1]
    assert rest.next is None


def test_a_table_below_an_allowed_folder_is_taken_and_never_removed(site, ann, tmp_path):
    allowed = tmp_path / "tables"
    allowed.mkdir()
    (allowed / "people.csv").write_bytes(DATA)
    settings = site.settings.model_copy(update={"table_roots": (str(allowed),)})
    with type(site)(settings, site.engine, site.vault).unit() as unit:
        table = add_table(unit, ann, NewTable(path=f"{allowed}/people.csv"))
    assert not finish(site, table.id)
    assert rows(site, data_table)[0].state == "erased"
    assert (allowed / "people.csv").exists()
    with site.unit() as unit, pytest.raises(InvalidError, match="allowed folder"):
        add_table(unit, ann, NewTable(path=f"{allowed}/people.csv"))


def test_the_sweep_erases_what_has_had_its_time_and_nothing_else(site, ann):
    old, needed, fresh = (add(site, ann, data) for data in (b"old", b"needed", b"fresh"))
    put(site, ann, b"unclaimed")
    an_audit(site, ann, needed.id)
    with site.unit() as unit:
        past = unit.now - timedelta(seconds=1)
        inspecting = job.c.kind == "inspect_table"
        unit.connection.execute(update(job).where(inspecting).values(state="done"))
        late = data_table.c.id.in_([old.id, needed.id])
        unit.connection.execute(update(data_table).where(late).values(expires_at=past))
        late = blob.c.digest.in_([digest(b"unclaimed"), digest(b"needed"), digest(b"old")])
        unit.connection.execute(update(blob).where(late).values(expires_at=past))
    found = sweep(site)
    assert (found.tables, found.uploads, found.files) == (1, 1, 0)
    live = {row.digest for row in rows(site, blob) if row.sealed_key is not None}
    assert live == {digest(b"needed"), digest(b"fresh"), digest(b"model")}
    assert {path.name[:64] for path in files(site)} == live
    with site.reading() as unit:
        assert get_table(unit, ann, fresh.id).state == "reading"
    assert sweep(site).tables == 0
