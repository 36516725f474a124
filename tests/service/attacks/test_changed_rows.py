"""Rows that somebody changes past the service, who can write into the database and has no key file: nothing passes."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from sqlalchemy import func, insert, select, text, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import (
    audit,
    delivery,
    finding,
    log_entry,
    log_head,
    webhook,
)
from treewarden.service.database.tables import release, waiver
from treewarden.service.database.tables import review as reviews
from treewarden.service.errors import ConflictError, new_id
from treewarden.service.ledger.log import FIRST, Event, digest_of
from treewarden.service.operations.integrity import check
from treewarden.service.running import PREFIX
from treewarden.service.schemas.releases import Deciding, NewRelease, NewReview, NewWaiver
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.waivers import (
    approve_waiver,
    in_force,
    request_waiver,
    revoke_waiver,
)
from treewarden.service.worker.leases import claim
from treewarden.service.worker.orders import JobAnswer, KeptFile
from treewarden.service.worker.store_results import commit, store

TRIGGERS = {
    "sqlite": ["DROP TRIGGER log_entry_no_update", "DROP TRIGGER log_entry_no_delete"],
    "postgresql": ["ALTER TABLE log_entry DISABLE TRIGGER log_entry_unchanged"],
}
"""What somebody has to do first who changes the log."""
RESULT = {
    "id": "r1",
    "clause": "smallest-leaf",
    "verdict": "FAIL",
    "severity": "error",
    "message": "a leaf holds fewer people than the policy asks for",
    "leaf": "0" * 24,
    "path": "place is north",
    "node": "1",
    "line": 7,
}


@dataclass(frozen=True)
class Case:
    """A release that ann opened and bob may decide about, of a version that was audited."""

    ann: Principal
    bob: Principal
    version: str
    audit: str
    release: str
    waiver: str


def judged(site, who, version, verdict, waivers=()):
    """Have a version audited as a worker does it, with an entry, findings, a report and a row of the log."""
    made = make.queue_audit(site, who, version, None)
    with site.unit() as unit:
        unit.connection.execute(
            update(audit).where(audit.c.id == made).values(waivers=list(waivers))
        )
    results = [] if verdict == "PASS" else [RESULT]
    entry = {"name": "m", "file": "m.pmml", "outcome": verdict, "headline": "h", "results": results}
    answer = JobAnswer(verdict=verdict, entry=entry, kept=(KeptFile(kind="public", form="sarif"),))
    with site.unit() as unit:
        claimed = claim(unit, "test", 30.0)
    assert commit(site, claimed, answer, store(site, answer, [verdict.encode()]))
    return made


def opened(site, verdict):
    organisation = sites.add_organisation(site)
    ann = sites.add_account(site, organisation, "ann", "submitter")
    bob = sites.add_account(site, organisation, "bob", "reviewer")
    waived = a_waiver(site, ann, bob)
    version = make.add_version(site, ann)
    made = judged(site, ann, version, verdict, [waived])
    with site.unit() as unit:
        asked = releases.open_release(unit, ann, NewRelease(audit_id=made, title="Loans")).id
    return Case(ann, bob, version, made, asked, waived)


def a_waiver(site, ann, bob):
    with site.unit() as unit:
        day = unit.now.date().replace(month=12, day=31)
        new = NewWaiver(
            clause="k", leaf="1" * 24, reason="known", owner="ann", ticket="T-1", expires=day
        )
        made = request_waiver(unit, ann, new).id
        approve_waiver(unit, bob, made, Deciding())
    return made


def decide(site, case, decision):
    with site.unit() as unit:
        releases.tick(unit, case.bob, case.release, "text-1", True)
        releases.review(unit, case.bob, case.release, NewReview(decision=decision))


@pytest.fixture
def failed(site):
    return opened(site, "FAIL")


@pytest.fixture
def approved(site):
    case = opened(site, "PASS")
    decide(site, case, "approve")
    assert answered(site, case).exit_code == 0
    assert problems(site) == []
    return case


def answered(site, case):
    with site.reading() as unit:
        return gate_answer(unit, case.ann, case.release)


def problems(site):
    return [each.problem for each in check(site) if each.problem]


def write(site, *statements, **values):
    """Write past the service."""
    with site.unit() as unit:
        for each in statements:
            used = {key: value for key, value in values.items() if f":{key}" in each}
            unit.connection.execute(text(each), used)


def without_triggers(site):
    write(site, *TRIGGERS[site.engine.dialect.name])


VERDICT = "UPDATE audit SET verdict = 'PASS', exit_code = 0 WHERE id = :audit"


def with_its_verdict(site, case):
    write(site, VERDICT, audit=case.audit)


def with_its_entry_too(site, case):
    with_its_verdict(site, case)
    entry = json.dumps(
        make.read_row(site, audit, case.audit).entry | {"outcome": "PASS", "results": []}
    )
    write(site, "UPDATE audit SET entry = :entry WHERE id = :audit", audit=case.audit, entry=entry)


def with_its_findings_too(site, case):
    with_its_entry_too(site, case)
    write(site, "DELETE FROM finding WHERE audit_id = :audit", audit=case.audit)


def with_its_row_of_the_log_too(site, case):
    with_its_findings_too(site, case)
    without_triggers(site)
    its = (log_entry.c.object_id == case.audit) & (log_entry.c.action == "audit.done")
    with site.unit() as unit:
        row = unit.connection.execute(select(log_entry).where(its)).one()
        detail = row.detail | {"verdict": "PASS"}
        values = {"detail": detail, "hash": digest_of({**row._mapping, "detail": detail})}
        unit.connection.execute(update(log_entry).where(its).values(**values))


def with_the_whole_log_too(site, case):
    with_its_row_of_the_log_too(site, case)
    with site.unit() as unit:
        previous = FIRST
        for row in unit.connection.execute(select(log_entry).order_by(log_entry.c.seq)).all():
            told = {**row._mapping, "previous_hash": previous}
            previous = digest_of(told)
            its = log_entry.c.seq == row.seq
            values = {"previous_hash": told["previous_hash"], "hash": previous}
            unit.connection.execute(update(log_entry).where(its).values(**values))
        unit.connection.execute(update(log_head).values(hash=previous))


def with_the_report_of_another_too(site, case):
    with_its_findings_too(site, case)
    other = judged(site, case.ann, make.add_version(site, case.ann), "PASS")
    blob = "(SELECT blob_id FROM report WHERE audit_id = :other)"
    statement = f"UPDATE report SET blob_id = {blob} WHERE audit_id = :audit"
    write(site, statement, audit=case.audit, other=other)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_its_verdict, "the verdict is PASS, but its own entry states FAIL"),
        (with_its_entry_too, "the verdict was changed outside the service"),
        (with_its_findings_too, "the verdict was changed outside the service"),
        (with_its_row_of_the_log_too, "the verdict was changed outside the service"),
        (with_the_whole_log_too, "the verdict was changed outside the service"),
        (with_the_report_of_another_too, "the verdict was changed outside the service"),
    ],
)
def test_a_verdict_that_was_changed_passes_nowhere(site, failed, change, why):
    assert answered(site, failed).exit_code == 1
    change(site, failed)
    found = answered(site, failed)
    assert (found.outcome, found.exit_code) == ("UNDETERMINED", 3)
    assert why in found.why
    assert "treewarden db check" in found.why
    with pytest.raises(ConflictError, match=why):
        decide(site, failed, "approve")
    assert any(why in each for each in problems(site))


def test_nobody_is_offered_to_approve_what_was_changed_and_is_told_why(site, failed):
    with_its_verdict(site, failed)
    with site.reading() as unit:
        shown = releases.get_release(unit, failed.bob, failed.release)
    assert not shown.may_review
    assert "its own entry states FAIL" in shown.why_not
    (line,) = [each for each in shown.checklist if each.id == "agrees"]
    assert (line.is_met, "its own entry states FAIL" in line.why) == (False, True)


def of(name):
    """Return a change that is one statement."""
    return lambda site, case: write(site, STATEMENTS[name], **case_values(site, case))


STATEMENTS = {
    "the file that was audited": "UPDATE model_version SET digest = :digest WHERE id = :version",
    "what was asked": "UPDATE audit SET options = '{}' WHERE id = :audit",
    "the policy": "UPDATE audit SET pack_digest = :digest WHERE id = :audit",
    "the waivers of an audit": "UPDATE audit SET waivers = '[]' WHERE id = :audit",
    "a seal": "UPDATE audit SET seal = NULL WHERE id = :audit",
    "findings": "INSERT INTO finding SELECT id, organisation_id, id, 1, 'r', 'c', 'PASS', 'error', 'm', "
    "'', '', NULL FROM audit WHERE id = :audit",
    "the report": "UPDATE blob SET digest = :digest WHERE id IN (SELECT blob_id FROM report)",
    "the checklist": "UPDATE release SET checklist = '[]' WHERE id = :release",
    "the purpose": "UPDATE release SET purpose = 'for everybody' WHERE id = :release",
    "who decided": "UPDATE review SET reviewer_id = :cleo",
    "the end of a waiver": "UPDATE waiver SET expires = '2999-12-31' WHERE id = :waiver",
    "the leaf of a waiver": "UPDATE waiver SET leaf = '222222222222222222222222' WHERE id = :waiver",
    "the end of the log": "DELETE FROM log_head",
}


def case_values(site, case):
    cleo = sites.add_account(site, case.ann.organisation_id, "cleo", "reviewer").account_id
    values = {"digest": "f" * 64, "cleo": cleo, "version": case.version, "audit": case.audit}
    return values | {"release": case.release, "waiver": case.waiver}


@pytest.mark.parametrize("name", STATEMENTS)
def test_an_approval_rests_on_what_was_written_by_the_service_alone(site, approved, name):
    of(name)(site, approved)
    assert answered(site, approved).exit_code == 3
    assert problems(site)
    with pytest.raises(ConflictError), site.unit() as unit:
        releases.release_it(unit, approved.ann, approved.release)


def test_a_decision_that_was_changed_is_no_approval(site):
    case = opened(site, "PASS")
    decide(site, case, "reject")
    write(site, "UPDATE review SET decision = 'approve'", "UPDATE release SET state = 'approved'")
    assert answered(site, case).exit_code == 3
    assert problems(site)


def test_a_decision_that_was_written_past_the_service_is_no_approval(site):
    case = opened(site, "PASS")
    row = make.read_row(site, release, case.release)
    with site.unit() as unit:
        values = {"release_id": row.id, "uploader_id": row.uploader_id, "opened_by": row.opened_by}
        values |= {"reviewer_id": case.bob.account_id, "decision": "approve", "at": unit.now}
        values |= {"id": new_id(), "organisation_id": row.organisation_id}
        unit.connection.execute(insert(reviews).values(**values))
    write(site, "UPDATE release SET state = 'approved'")
    assert answered(site, case).exit_code == 3
    assert problems(site)


def test_an_older_state_with_its_own_seal_is_not_the_one_that_the_log_tells_of(site, approved):
    before = make.read_row(site, release, approved.release)
    with site.unit() as unit:
        releases.withdraw(unit, approved.ann, approved.release)
    assert answered(site, approved).exit_code == 1
    with site.unit() as unit:
        unit.connection.execute(update(release).values(**before._mapping))
    found = answered(site, approved)
    assert found.exit_code == 3
    assert "its state is approved, the log says withdrawn" in found.why
    assert problems(site)


def test_a_log_whose_end_was_cut_off_lets_nothing_pass(site, approved):
    before = make.read_row(site, release, approved.release)
    with site.unit() as unit:
        releases.withdraw(unit, approved.ann, approved.release)
    without_triggers(site)
    write(site, "DELETE FROM log_entry WHERE action = 'release.withdrawn'")
    with site.unit() as unit:
        unit.connection.execute(update(release).values(**before._mapping))
    found = answered(site, approved)
    assert found.exit_code == 3
    assert "last row is not the sealed row" in found.why
    assert any("last row is not the sealed row" in each for each in problems(site))
    with site.unit() as unit:  # what is written afterwards does not seal the cut
        releases.open_release(unit, approved.ann, NewRelease(audit_id=approved.audit, title="2"))
    assert answered(site, approved).exit_code == 3


def test_a_waiver_that_was_revoked_stays_revoked(site, approved):
    with site.unit() as unit:
        revoke_waiver(unit, approved.bob, approved.waiver, Deciding())
    write(site, "UPDATE waiver SET state = 'approved'")
    assert answered(site, approved).exit_code == 3
    assert problems(site)


def test_a_waiver_that_was_written_past_the_service_accepts_nothing(site, approved):
    row = make.read_row(site, waiver, approved.waiver)
    with site.unit() as unit:
        values = {**row._mapping, "id": new_id(), "leaf": "3" * 24}
        unit.connection.execute(insert(waiver).values(**values))
    with site.reading() as unit:
        held = in_force(unit, row.organisation_id, "f" * 64, "m", 1000)
    assert held == [approved.waiver]
    assert any("was changed outside the service" in each for each in problems(site))


def test_a_wish_that_was_changed_is_not_approved(site, approved):
    with site.unit() as unit:
        day = unit.now.date().replace(month=12, day=31)
        new = NewWaiver(
            clause="k", leaf="4" * 24, reason="known", owner="ann", ticket="T-2", expires=day
        )
        made = request_waiver(unit, approved.ann, new).id
    write(site, "UPDATE waiver SET leaf = '5' WHERE id = :made", made=made)
    with pytest.raises(ConflictError, match="was changed outside the service"), site.unit() as unit:
        approve_waiver(unit, approved.bob, made, Deciding())


def test_a_contradiction_is_told_once_however_often_a_pipeline_asks(site, failed):
    olga = sites.add_account(site, failed.ann.organisation_id, "olga")
    client = sites.open_client(site, olga)
    a_webhook(site, olga, [Event.CONTRADICTION_FOUND])
    with_its_verdict(site, failed)
    for _ in range(3):
        said = client.get(f"{PREFIX}/releases/{failed.release}/gate").json()
        assert said["exit_code"] == 3
    with site.reading() as unit:
        told = unit.connection.execute(select(delivery)).all()
        logged = unit.connection.execute(
            select(log_entry).where(log_entry.c.action == "contradiction.found")
        ).all()
    assert [each.event for each in told] == ["contradiction.found"]
    assert "its own entry states FAIL" in told[0].payload["data"]["problem"]
    assert [each.object_id for each in logged] == [failed.release]


def a_webhook(site, who, events):
    with site.unit() as unit:
        values = {"id": new_id(), "organisation_id": who.organisation_id, "events": events}
        values |= {"url": "https://hooks.example/a", "sealed_secret": site.vault.seal(b"secret")}
        values |= {"created_by": who.account_id, "created_at": unit.now}
        unit.connection.execute(insert(webhook).values(**values))


def test_findings_that_were_taken_out_are_missed(site, failed):
    write(site, "DELETE FROM finding WHERE audit_id = :audit", audit=failed.audit)
    with site.reading() as unit:
        assert unit.connection.execute(select(func.count()).select_from(finding)).scalar() == 0
    assert any("its 0 findings are not the 1 of its entry" in each for each in problems(site))
