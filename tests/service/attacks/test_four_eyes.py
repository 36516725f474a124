"""Somebody approves what is their own by a roundabout way: as asker, author, bringer, or by a waiver of theirs."""

from datetime import date, timedelta

import pytest
from sqlalchemy import insert, text, update
from sqlalchemy.exc import IntegrityError

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.sealing import seal_all
from tests.kit.service.tables import digest, put
from tests.service.worker.test_fencing import REPAIRED, claimed
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import review
from treewarden.service.errors import ForbiddenError, new_id
from treewarden.service.schemas.audits import NewAudit, Taking
from treewarden.service.schemas.models import NewModel, NewVersion
from treewarden.service.schemas.releases import Deciding, NewPack, NewRelease, NewReview, NewWaiver
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.audits import submit
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.models import add_version, create_model
from treewarden.service.use_cases.policies import add_pack
from treewarden.service.use_cases.repairs import take_proposal
from treewarden.service.use_cases.waivers import approve_waiver, request_waiver
from treewarden.service.worker.store_results import commit, store

API = "/api/v1"
APPROVE = NewReview(decision="approve")
PACK = 'name = "own"\nversion = "1"\ntitle = "Own"\nextends = "accurate"\n'


@pytest.fixture
def eve(site, home):
    return sites.add_account(site, home, "eve")


def a_release(site, ann, *, version=None, asker=None, pack="accurate", waivers=()):
    """Return a release of a version that passed, asked for by Ann, ready to be approved."""
    new = NewAudit(model_version_id=version or make.add_version(site, ann), pack=pack)
    done = {"state": "done", "verdict": "PASS", "exit_code": 0, "waivers": list(waivers)}
    with site.unit() as unit:
        made = submit(unit, asker or ann, new).id
        unit.connection.execute(update(audit).where(audit.c.id == made).values(**done))
    seal_all(site)
    with site.unit() as unit:
        return releases.open_release(unit, ann, NewRelease(audit_id=made, title="Loans")).id


def _on(site, table):
    return f" ON {table}" if site.engine.dialect.name == "postgresql" else ""


def asked_by(site, ann, eve):
    return a_release(site, ann, asker=eve)


def brought_by(site, ann, eve):
    put(site, eve, make.write_tree(), "model")
    return named_by(site, ann)


def brought_again_by(site, ann, eve):
    put(site, ann, make.write_tree(), "model")
    assert put(site, eve, make.write_tree(), "model").is_known
    return named_by(site, ann)


def named_before_by(site, ann, eve):
    put(site, ann, make.write_tree(), "model")
    named_by(site, eve, "elsewhere")
    return named_by(site, ann)


def named_by(site, ann, name="loans"):
    with site.unit() as unit:
        model = create_model(unit, ann, NewModel(name=name))
        new = NewVersion(digest=digest(make.write_tree()), file_name="loans.pmml")
        version = add_version(unit, ann, model.id, new).id
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE model_version SET state = 'ready'"))
    return a_release(site, ann, version=version)


def judged_by_a_pack_of(site, ann, eve):
    with site.unit() as unit:
        add_pack(unit, eve, NewPack(toml=PACK))
    return a_release(site, ann, pack="own")


def waived_by(site, ann, eve):
    return a_release(site, ann, waivers=[a_waiver(site, eve)])


def a_waiver(site, who, **more):
    last = date.today() + timedelta(days=20)
    words = {"reason": "known", "owner": "x", "ticket": "T-1", "expires": last}
    with site.unit() as unit:
        new = NewWaiver(clause="k", **({"leaf": "0" * 24} | words | more))
        return request_waiver(unit, who, new).id


WAYS = (
    asked_by,
    brought_by,
    brought_again_by,
    named_before_by,
    judged_by_a_pack_of,
    waived_by,
)


@pytest.mark.parametrize("way", WAYS)
def test_who_had_a_part_in_it_neither_ticks_nor_decides(site, ann, eve, way):
    made = way(site, ann, eve)
    client = sites.open_client(site, eve)
    tick = client.put(f"{API}/releases/{made}/checklist/text-1", json={"is_met": True})
    assert tick.status_code == 403
    answer = client.post(f"{API}/releases/{made}/reviews", json={"decision": "approve"})
    assert answer.status_code == 403
    assert "so another person must decide" in answer.json()["detail"]
    assert not client.get(f"{API}/releases/{made}").json()["may_review"]
    overview = client.get(f"/releases/{made}").text
    assert "Your decision" in overview
    assert 'value="approve"' not in overview


@pytest.mark.parametrize("way", WAYS)
def test_the_database_refuses_it_too_and_the_gate_does_not_count_it(site, home, ann, eve, way):
    made = way(site, ann, eve)
    with pytest.raises(IntegrityError, match="their own"), site.unit() as unit:
        write_approval(unit, home, made, ann, eve)
    with site.unit() as unit:  # as if by somebody who owns the database
        for what in ("_insert", "_update") if site.engine.dialect.name == "sqlite" else ("",):
            name = f"review_four_eyes{what}"
            unit.connection.execute(text(f"DROP TRIGGER {name}" + _on(site, "review")))
        write_approval(unit, home, made, ann, eve)
        unit.connection.execute(text("UPDATE release SET state = 'approved'"))
    with site.reading() as unit:
        answer = gate_answer(unit, ann, made)
    assert (answer.outcome, answer.exit_code) == ("UNDETERMINED", 3)


def write_approval(unit, home, made, ann, eve):
    unit.connection.execute(
        insert(review).values(
            id=new_id(),
            organisation_id=home,
            release_id=made,
            uploader_id=ann.account_id,
            opened_by=ann.account_id,
            reviewer_id=eve.account_id,
            decision="approve",
            comment="",
            at=unit.now,
        )
    )


def test_what_somebody_does_later_takes_no_approval_back(site, ann, bob):
    made = a_release(site, ann)
    with site.unit() as unit:
        releases.tick(unit, bob, made, "text-1", True)
        releases.review(unit, bob, made, APPROVE)
    put(site, bob, make.write_tree(), "model")
    with site.reading() as unit:
        assert gate_answer(unit, ann, made).exit_code == 0


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE pack_version SET created_by = :bob",
        "UPDATE waiver SET requested_by = :bob",
        "UPDATE contributor SET account_id = :bob",
        "DELETE FROM contributor",
    ],
)
def test_the_database_refuses_to_forget_who_had_a_part(site, ann, eve, bob, lie):
    brought_by(site, ann, eve)
    judged_by_a_pack_of(site, ann, eve)
    a_waiver(site, eve)
    used = {"bob": bob.account_id} if ":bob" in lie else {}
    with pytest.raises(IntegrityError, match="never changes"), site.unit() as unit:
        unit.connection.execute(text(lie), used)


def test_the_database_refuses_to_forget_who_asked(site, ann, bob):
    make.queue_audit(site, ann, make.add_version(site, ann), None)
    lie = text("UPDATE audit SET created_by = :bob")
    with pytest.raises(IntegrityError, match="never changes"), site.unit() as unit:
        unit.connection.execute(lie, {"bob": bob.account_id})


@pytest.mark.parametrize("is_for", ["model", "digest", "leaf"])
def test_nobody_approves_a_waiver_for_a_model_of_his_own(site, home, ann, eve, bob, is_for):
    put(site, bob, make.write_tree(), "model")
    made = named_by(site, ann)
    with site.reading() as unit:
        found = releases.get_release(unit, ann, made)
    with site.unit() as unit:
        unit.connection.execute(
            text(
                "INSERT INTO finding (id, organisation_id, audit_id, n, result_id, clause, verdict, severity, "
                "message, leaf, path) VALUES (:id, :home, :audit, 1, 'r', 'k', 'FAIL', 'error', '', :leaf, '')"
            ),
            {"id": new_id(), "home": home, "audit": found.audit_id, "leaf": "0" * 24},
        )
    more = {
        "model": {"model": "loans", "leaf": "1" * 24},
        "digest": {"leaf": "", "digest": f"sha256:{digest(make.write_tree())}"},
        "leaf": {},
    }[is_for]
    asked = a_waiver(site, eve, **more)
    for who in (ann, bob):
        with pytest.raises(ForbiddenError, match="uploaded a model"), site.unit() as unit:
            approve_waiver(unit, who, asked, Deciding())
    cleo = sites.add_account(site, home, "cleo", "reviewer")
    with site.unit() as unit:
        assert approve_waiver(unit, cleo, asked, Deciding()).state == "approved"


def test_who_repairs_a_file_does_not_part_it_from_who_brought_it(site, ann, eve):
    table = make.add_upload(site, ann)
    put(site, eve, make.write_tree(), "model")
    with site.unit() as unit:
        model = create_model(unit, ann, NewModel(name="loans"))
        new = NewVersion(digest=digest(make.write_tree()), file_name="loans.pmml")
        version = add_version(unit, ann, model.id, new).id
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE model_version SET state = 'ready'"))
        unit.connection.execute(text("UPDATE job SET state = 'done'"))
    repaired = make.queue_audit(site, ann, version, table, "repair")
    assert commit(site, claimed(site), REPAIRED, store(site, REPAIRED, [b"<PMML/>"]))
    with site.unit() as unit:
        taken = take_proposal(unit, ann, repaired, 1, Taking(audits=False)).version
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE model_version SET state = 'ready'"))
    made = a_release(site, ann, version=taken.id)
    with pytest.raises(ForbiddenError, match="uploaded the bytes"), site.unit() as unit:
        releases.review(unit, eve, made, APPROVE)


def test_an_organisation_of_one_decides_nothing_and_is_told_whom_it_needs(site, home):
    alone = sites.add_account(site, home, "only")
    made = a_release(site, alone)
    client = sites.open_client(site, alone)
    found = client.get(f"{API}/releases/{made}").json()
    assert (found["may_review"], found["deciders"]) == (False, [])
    assert "Nobody can decide" in client.get(f"/releases/{made}").text
    assert client.get(f"{API}/releases/{made}/gate").json()["exit_code"] is None
    sites.add_account(site, home, "second", "reviewer")
    assert client.get(f"{API}/releases/{made}").json()["deciders"] == ["second"]
