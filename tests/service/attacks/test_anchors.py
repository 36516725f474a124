"""A log that is cut off with all its seals: what was said elsewhere before still tells of the rows that are gone."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from sqlalchemy import delete, insert, select, text, update

from tests.kit.service import sites
from treewarden.cli import cli
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.database.run_tables import delivery, log_entry, log_head, webhook
from treewarden.service.errors import SetupError, new_id
from treewarden.service.ledger.log import Event, record
from treewarden.service.use_cases.log import anchor, anchor_problems, read_anchors

TRIGGERS = {
    "sqlite": ["DROP TRIGGER log_entry_no_delete"],
    "postgresql": ["ALTER TABLE log_entry DISABLE TRIGGER log_entry_unchanged"],
}


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path):
    with sites.make_site(
        request.param, tmp_path / "data", anchor_file=tmp_path / "anchors"
    ) as found:
        yield found


@pytest.fixture
def ann(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    write(site, who, 3)
    return who


def write(site, who, number):
    with site.unit() as unit:
        for each in range(number):
            record(unit, who, "model.created", "model", f"{each:032x}")


def cut(site, head):
    """Cut the log back to what its end was once, with the seal that it had then."""
    with site.unit() as unit:
        for each in TRIGGERS[site.engine.dialect.name]:
            unit.connection.execute(text(each))
        unit.connection.execute(delete(log_entry).where(log_entry.c.seq > head.seq))
        unit.connection.execute(update(log_head).values(**head._mapping))


def head_of(site):
    with site.reading() as unit:
        return unit.connection.execute(select(log_head)).one()


def checked(site, *more):
    url = site.engine.url.render_as_string(hide_password=False)
    words = ["db", "check", "--data-dir", str(site.settings.data_dir), "--database", url]
    done = CliRunner().invoke(cli, [*words, *map(str, more)])
    return done.exit_code, done.output


def test_a_log_that_was_cut_back_is_found_by_an_anchor_alone(site, ann):
    head = head_of(site)
    write(site, ann, 2)
    anchor(site, {})
    file = site.settings.anchor_file
    assert checked(site, "--anchor", file)[0] == 0
    cut(site, head)
    assert checked(site)[0] == 0  # nothing in the database tells of what is gone
    code, said = checked(site, "--anchor", file)
    assert code == 1
    assert "row 5, the last one on" in said
    assert "the end of the log was cut off" in said


def test_a_log_that_was_written_anew_is_found_by_an_anchor(site, ann):
    head = head_of(site)
    write(site, ann, 2)
    anchor(site, {})
    cut(site, head)
    write(site, ann, 4)
    with site.reading() as unit:
        (problem,) = anchor_problems(unit, read_anchors(site.settings.anchor_file))
    assert "row 5" in problem
    assert "is a different one" in problem


def test_an_end_is_said_once_and_again_when_it_moves(site, ann):
    known = {}
    assert [each.seq for each in anchor(site, known)] == [3]
    assert anchor(site, known) == ()
    write(site, ann, 1)
    assert [each.seq for each in anchor(site, known)] == [4]
    said = [each.seq for each in read_anchors(site.settings.anchor_file)]
    assert said == [3, 4]
    assert site.settings.anchor_file.stat().st_mode & 0o077 == 0


def test_what_a_webhook_received_is_an_anchor_too(site, ann, tmp_path):
    with site.unit() as unit:
        values = {"id": new_id(), "organisation_id": ann.organisation_id}
        values |= {"events": [Event.LOG_ANCHORED], "url": "https://hooks.example/a"}
        values |= {"sealed_secret": site.vault.seal(b"secret"), "created_at": unit.now}
        unit.connection.execute(insert(webhook).values(**values, created_by=ann.account_id))
    (expected,) = anchor(site, {})
    with site.reading() as unit:
        payload = unit.connection.execute(select(delivery.c.payload)).scalar_one()
    (tmp_path / "received").write_text(json.dumps(payload) + "\n")
    assert read_anchors(tmp_path / "received") == (expected,)


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"[" * 100_000, b"\xff\n", b'{"seq": 1}\n'])
def test_a_file_that_is_no_anchor_is_refused(data, tmp_path):
    (tmp_path / "anchors").write_bytes(data)
    with pytest.raises(SetupError, match="anchor; "):
        read_anchors(tmp_path / "anchors")


def test_an_anchor_file_that_cannot_be_written_is_said_and_tried_again(site, ann):
    site.settings.anchor_file.mkdir()
    known = {}
    with pytest.raises(TreewardenError, match="TREEWARDEN_ANCHOR_FILE"):
        anchor(site, known)
    assert known == {}
