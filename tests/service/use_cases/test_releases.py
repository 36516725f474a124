import threading
from datetime import date, timedelta
from itertools import product

import pytest
from sqlalchemy import insert, text, update
from sqlalchemy.exc import IntegrityError

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.sealing import seal_all
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import release, waiver
from treewarden.service.database.tables import review as reviews
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StaleError,
    new_id,
)
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.releases import (
    Deciding,
    NewComment,
    NewRelease,
    NewReview,
    NewWaiver,
)
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.waivers import approve_waiver, request_waiver, revoke_waiver

APPROVE = NewReview(decision="approve")


def audited(site, who, verdict="PASS", waivers=()):
    made = make.queue_audit(site, who, make.add_version(site, who), None)
    return make.end_audit(site, made, verdict, waivers=list(waivers))


def opened(site, who, audit_id):
    with site.unit() as unit:
        return releases.open_release(unit, who, NewRelease(audit_id=audit_id, title="Loans")).id


def ready(site, who, release_id):
    with site.unit() as unit:
        return releases.tick(unit, who, release_id, "text-1", True)


def exit_code(site, who, release_id):
    with site.reading() as unit:
        return gate_answer(unit, who, release_id).exit_code


def test_one_asks_another_decides_and_the_gate_opens(site, ann, bob):
    made = opened(site, ann, audited(site, ann))
    assert exit_code(site, ann, made) is None
    ready(site, bob, made)
    with site.unit() as unit:
        assert releases.review(unit, bob, made, APPROVE).state == "approved"
    assert exit_code(site, ann, made) == 0
    with site.unit() as unit:
        assert releases.release_it(unit, ann, made).state == "released"
    assert exit_code(site, ann, made) == 0


def test_nobody_decides_about_what_is_his_own(site, home, ann):
    admin = sites.add_account(site, home, "admin")
    own = opened(site, admin, audited(site, admin))
    uploaded = opened(site, ann, audited(site, admin))
    for made in (own, uploaded):
        for refused in (
            lambda unit, made=made: releases.review(unit, admin, made, APPROVE),
            lambda unit, made=made: releases.tick(unit, admin, made, "text-1", True),
        ):
            with (
                pytest.raises(ForbiddenError, match="another person must decide"),
                site.unit() as unit,
            ):
                refused(unit)
        with site.reading() as unit:
            assert not releases.get_release(unit, admin, made).may_review


@pytest.mark.parametrize("of", ["uploader_id", "opened_by"])
def test_the_database_refuses_a_review_of_ones_own_whoever_writes_it(site, home, ann, bob, of):
    made = opened(site, ann, audited(site, bob))
    row = make.read_row(site, release, made)
    with pytest.raises(IntegrityError, match="not_the_uploader|not_who_asked"), site.unit() as unit:
        unit.connection.execute(
            insert(reviews).values(
                id=new_id(),
                organisation_id=home,
                release_id=made,
                uploader_id=row.uploader_id,
                opened_by=row.opened_by,
                reviewer_id=getattr(row, of),
                decision="approve",
                comment="",
                at=unit.now,
            )
        )


def test_the_database_refuses_a_review_that_lies_about_the_uploader(site, home, ann, bob):
    cleo = sites.add_account(site, home, "cleo")
    made = opened(site, ann, audited(site, bob))
    with pytest.raises(IntegrityError), site.unit() as unit:
        unit.connection.execute(
            insert(reviews).values(
                id=new_id(),
                organisation_id=home,
                release_id=made,
                uploader_id=cleo.account_id,
                opened_by=ann.account_id,
                reviewer_id=bob.account_id,
                decision="approve",
                comment="",
                at=unit.now,
            )
        )


@pytest.mark.parametrize("verdict", ["FAIL", "UNDETERMINED"])
def test_what_does_not_pass_is_not_approved(site, ann, bob, verdict):
    made = opened(site, ann, audited(site, ann, verdict))
    ready(site, bob, made)
    with pytest.raises(ConflictError, match="The audit passed"), site.unit() as unit:
        releases.review(unit, bob, made, APPROVE)
    assert exit_code(site, ann, made) == {"FAIL": 1, "UNDETERMINED": 3}[verdict]


def test_an_open_line_of_the_checklist_keeps_it_from_being_approved(site, ann, bob):
    made = opened(site, ann, audited(site, ann))
    with pytest.raises(ConflictError, match="The purpose is stated"), site.unit() as unit:
        releases.review(unit, bob, made, APPROVE)


def test_a_line_that_the_service_keeps_is_not_ticked_by_hand(site, ann, bob):
    made = opened(site, ann, audited(site, ann, "FAIL"))
    with pytest.raises(ConflictError, match="by itself"), site.unit() as unit:
        releases.tick(unit, bob, made, "passed", True)


def test_whoever_read_an_older_state_is_told(site, ann, bob):
    made = opened(site, ann, audited(site, ann))
    revision = ready(site, bob, made).revision
    with pytest.raises(StaleError), site.unit() as unit:
        releases.review(unit, bob, made, APPROVE, revision - 1)
    with site.unit() as unit:
        assert releases.review(unit, bob, made, APPROVE, revision).state == "approved"


def test_a_revoked_waiver_closes_the_gate_again(site, ann, bob):
    new = NewWaiver(
        clause="k",
        leaf="0" * 24,
        reason="known",
        owner="ann",
        ticket="T-1",
        expires=date.today() + timedelta(days=20),
    )
    with site.unit() as unit:
        waived = request_waiver(unit, ann, new).id
    with site.unit() as unit:
        approve_waiver(unit, bob, waived, Deciding())
    made = opened(site, ann, audited(site, ann, waivers=[waived]))
    ready(site, bob, made)
    with site.unit() as unit:
        releases.review(unit, bob, made, APPROVE)
    assert exit_code(site, ann, made) == 0
    with site.unit() as unit:
        revoke_waiver(unit, bob, waived, Deciding(comment="a mistake"))
    assert exit_code(site, ann, made) == 3
    with pytest.raises(ConflictError, match="was revoked"), site.unit() as unit:
        releases.release_it(unit, ann, made)


def test_changes_can_be_asked_for_and_a_rejection_is_final(site, ann, bob):
    made = opened(site, ann, audited(site, ann))
    with site.unit() as unit:
        asked = releases.review(unit, bob, made, NewReview(decision="changes", comment="why?"))
    assert asked.state == "changes"
    with site.unit() as unit:
        releases.add_comment(unit, ann, made, NewComment(text="because"))
        rejected = releases.review(unit, bob, made, NewReview(decision="reject"))
    assert [each.decision for each in rejected.reviews] == ["changes", "reject"]
    assert [each.text for each in rejected.comments] == ["because"]
    assert exit_code(site, ann, made) == 1
    with pytest.raises(ConflictError, match="is rejected already"), site.unit() as unit:
        releases.review(unit, bob, made, APPROVE)


def test_another_organisation_sees_nothing(site, ann):
    made = opened(site, ann, audited(site, ann))
    eve = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve")
    for asked in (releases.get_release, gate_answer):
        with pytest.raises(NotFoundError), site.reading() as unit:
            asked(unit, eve, made)
    with site.reading() as unit:
        assert releases.list_releases(unit, eve, PageRequest()).items == ()


def at_once(*calls):
    """Call all at the same time, and return what each returned or raised."""
    start, found = threading.Barrier(len(calls)), [None] * len(calls)

    def run(number, call):
        start.wait()
        try:
            found[number] = call()
        except TreewardenError as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def approved(site, ann, bob):
    made = opened(site, ann, audited(site, ann))
    ready(site, bob, made)
    with site.unit() as unit:
        releases.review(unit, bob, made, APPROVE)
    return made


def test_of_several_who_ask_at_once_one_opens_a_release(site, ann):
    asked = audited(site, ann)
    found = at_once(*[lambda: opened(site, ann, asked)] * 4)
    refused = [each for each in found if isinstance(each, ConflictError)]
    assert (len(refused), len(found)) == (3, 4)


def test_of_two_who_decide_at_once_one_does(site, home, ann, bob):
    cleo = sites.add_account(site, home, "cleo", "reviewer")
    made = opened(site, ann, audited(site, ann))
    ready(site, bob, made)

    def decide(who, decision):
        with site.unit() as unit:
            return releases.review(unit, who, made, NewReview(decision=decision)).state

    found = at_once(lambda: decide(bob, "approve"), lambda: decide(cleo, "reject"))
    (state,) = [each for each in found if not isinstance(each, ConflictError)]
    with site.reading() as unit:
        told = releases.get_release(unit, ann, made)
    assert (told.state, len(told.reviews)) == (state, 1)


@pytest.mark.parametrize("state", ["approved", "released"])
def test_a_state_written_by_hand_opens_no_gate(site, ann, bob, state):
    made = opened(site, ann, audited(site, ann))
    with site.unit() as unit:
        releases.review(unit, bob, made, NewReview(decision="changes"))
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE release SET state = :state"), {"state": state})
    assert exit_code(site, ann, made) == 3


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE review SET reviewer_id = :ann",
        "UPDATE review SET reviewer_id = :ann, uploader_id = :bob, opened_by = :bob",
        "UPDATE release SET opened_by = :bob",
        "UPDATE release SET uploader_id = :bob",
        "UPDATE model_version SET uploaded_by = :bob",
        "UPDATE release SET model_version_id = :other",
        "UPDATE release SET audit_id = :foreign",
        "DELETE FROM release",
    ],
)
def test_the_database_refuses_to_turn_an_approval_into_ones_own(site, ann, bob, lie):
    approved(site, ann, bob)
    foreign = audited(site, bob)
    values = {
        "ann": ann.account_id,
        "bob": bob.account_id,
        "foreign": foreign,
        "other": make.read_row(site, audit, foreign).model_version_id,
    }
    used = {key: value for key, value in values.items() if f":{key}" in lie}
    with pytest.raises(IntegrityError), site.unit() as unit:
        unit.connection.execute(text(lie), used)


@pytest.mark.parametrize("waived", [None, "approved", "expired", "requested", "refused", "revoked"])
def test_the_gate_says_of_every_row_what_it_says_of_its_state(site, home, ann, bob, waived):
    waivers = [] if waived is None else [a_waiver(site, home, ann, bob, waived)]
    checked = audited(site, ann, waivers=waivers)
    made = opened(site, ann, checked)
    a_review(site, home, made, bob)
    for audit_state, verdict in product(
        ("queued", "running", "done", "error", "cancelled"), (None, "PASS", "FAIL", "UNDETERMINED")
    ):
        if (audit_state == "done") != (verdict is not None):
            continue  # the database keeps no such audit
        for state in ("open", "changes", "approved", "rejected", "withdrawn", "released"):
            with site.unit() as unit:
                unit.connection.execute(
                    update(audit)
                    .where(audit.c.id == checked)
                    .values(state=audit_state, verdict=verdict)
                )
                unit.connection.execute(update(release).values(state=state))
            seal_all(site)
            assert exit_code(site, ann, made) == expected(audit_state, verdict, state, waived), (
                audit_state,
                verdict,
                state,
            )


def expected(audit_state, verdict, state, waived):
    """Return the exit code by the words of the contract, written apart from the code."""
    if audit_state in ("error", "cancelled"):
        return 4
    if audit_state in ("queued", "running"):
        return None
    if verdict == "FAIL" or state in ("rejected", "withdrawn"):
        return 1
    if verdict == "UNDETERMINED" or waived not in (None, "approved"):
        return 3
    return 0 if state in ("approved", "released") else None


def a_waiver(site, home, ann, bob, kind):
    made, is_decided = new_id(), kind != "requested"
    with site.unit() as unit:
        days = -1 if kind == "expired" else 0  # the last day counts
        unit.connection.execute(
            insert(waiver).values(
                id=made,
                organisation_id=home,
                clause="k",
                reason="known",
                owner="ann",
                ticket="T-1",
                expires=(unit.now.date() + timedelta(days=days)).isoformat(),
                state="approved" if kind == "expired" else kind,
                requested_by=ann.account_id,
                requested_at=unit.now,
                decided_by=bob.account_id if is_decided else None,
                decided_at=unit.now if is_decided else None,
            )
        )
    return made


def a_review(site, home, made, who):
    row = make.read_row(site, release, made)
    with site.unit() as unit:
        unit.connection.execute(
            insert(reviews).values(
                id=new_id(),
                organisation_id=home,
                release_id=made,
                uploader_id=row.uploader_id,
                opened_by=row.opened_by,
                reviewer_id=who.account_id,
                decision="approve",
                at=unit.now,
            )
        )
