"""What would be refused is not offered, and what is missing keeps no page from being shown."""

import pytest
from sqlalchemy import delete, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.tables import digest
from tests.service.attacks.test_four_eyes import a_release, a_waiver
from treewarden.service.database.run_tables import audit, job, job_event
from treewarden.service.database.tables import waiver


@pytest.fixture
def home(site):
    return sites.add_organisation(site)


@pytest.fixture
def ann(site, home):
    return sites.add_account(site, home, "ann", "reviewer")


@pytest.fixture
def bob(site, home):
    return sites.add_account(site, home, "bob", "reviewer")


def without_a_job(site, who):
    asked = make.queue_audit(site, who, make.add_version(site, who), None)
    with site.unit() as unit:
        unit.connection.execute(delete(job_event))
        unit.connection.execute(delete(job))
        unit.connection.execute(update(audit).where(audit.c.id == asked).values(headline="kept"))
    return asked


def test_an_audit_without_a_job_is_shown(site, home):
    admin = sites.add_account(site, home, "olga")
    asked, client = without_a_job(site, admin), sites.open_client(site, admin)
    for path in (f"/audits/{asked}", f"/audits/{asked}/progress"):
        assert client.get(path).status_code in (200, 204)
    assert client.get(f"/api/v1/audits/{asked}").json()["state"] == "queued"


def test_an_audit_without_a_job_is_not_cancelled(site, home):
    admin = sites.add_account(site, home, "olga")
    asked, client = without_a_job(site, admin), sites.open_client(site, admin)
    for path in (f"/api/v1/audits/{asked}/cancel", f"/audits/{asked}/cancel"):
        answer = client.post(path)
        assert answer.status_code == 409
        assert "no job" in answer.text


def test_who_brought_the_model_is_offered_no_approval_of_its_waiver(site, ann, bob):
    a_release(site, ann)
    asked = a_waiver(site, bob, leaf="", digest=f"sha256:{digest(make.write_tree())}")
    page = sites.open_client(site, ann).get(f"/waivers/{asked}").text
    assert "/approve" not in page
    assert "/refuse" in page
    assert "You cannot approve it: you uploaded a model that it is for" in page


def test_who_asked_for_a_waiver_is_offered_no_decision(site, bob):
    page = sites.open_client(site, bob).get(f"/waivers/{a_waiver(site, bob)}").text
    assert "/approve" not in page
    assert "You requested this waiver" in page


def test_anybody_else_is_offered_an_approval(site, ann, bob):
    page = sites.open_client(site, ann).get(f"/waivers/{a_waiver(site, bob)}").text
    assert "/approve" in page
    assert "You cannot approve it" not in page


def test_a_waiver_that_was_changed_is_offered_no_approval(site, ann, bob):
    asked = a_waiver(site, bob)
    with site.unit() as unit:
        its = waiver.c.id == asked
        unit.connection.execute(update(waiver).where(its).values(reason="another"))
    page = sites.open_client(site, ann).get(f"/waivers/{asked}").text
    assert "/approve" not in page
    assert "You cannot approve it: it was changed outside the service" in page
