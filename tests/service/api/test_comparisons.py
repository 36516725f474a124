"""Two audits side by side: what changed, and who is told how much of it."""

import pytest
from sqlalchemy import update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.tables import organisation
from treewarden.service.worker.supervising import forking

API = "/api/v1"


@pytest.fixture
def client(site, ann):
    return sites.open_client(site, ann)


def audits(site, ann, *leaves):
    """Return the ids of audits by one policy, each of a model and table of its own."""
    made = []
    for each in leaves:
        version = make.add_version(site, ann, make.write_tree(each))
        table = make.add_upload(site, ann, make.write_table(leaves=each))
        made.append(make.queue_audit(site, ann, version, table, pack="standard"))
    context = forking()
    while make.do_next(site, context):
        pass
    return made


MIXED, PURE = {"north": (60, 60), "south": (70, 50)}, {"north": (120, 0), "south": (70, 50)}


def test_clauses_and_findings_that_differ_are_told_and_readings_to_whom_they_may_be(
    site, ann, client
):
    with site.unit() as unit:
        unit.connection.execute(update(organisation).values(keeps_profiles=True))
    old, new = audits(site, ann, MIXED, PURE)
    both = client.get(f"{API}/audits/{old}/compare?to={new}").json()
    assert both["to_audit"]["verdict"] == "FAIL"
    assert (both["is_same_policy"], both["is_same_table"]) == (True, False)
    changed = [each for each in both["clauses"] if each["is_changed"]]
    assert changed
    assert both["clauses"][: len(changed)] == changed
    assert {each["to_verdict"] for each in changed} <= {"FAIL", "UNDETERMINED", "PASS"}
    assert {each["clause"] for each in both["new"]} >= {
        each["clause"] for each in changed if each["to_verdict"] == "FAIL"
    }
    assert both["is_internal"]
    assert all(each["from_value"] != each["to_value"] for each in both["readings"])
    assert both["readings"]
    back = client.get(f"{API}/audits/{new}/compare?to={old}").json()
    assert (back["new"], back["gone"]) == (both["gone"], both["new"])

    viewer = sites.open_client(site, sites.add_account(site, ann.organisation_id, "vera", "viewer"))
    told = viewer.get(f"{API}/audits/{old}/compare?to={new}").json()
    assert (told["is_internal"], told["readings"]) == (False, [])
    assert told["new"] == both["new"]


def test_two_audits_with_verdicts_are_compared_and_nothing_else(site, ann, client):
    version = make.add_version(site, ann)
    first, second = (make.queue_audit(site, ann, version, None) for _ in range(2))
    waits = client.get(f"{API}/audits/{first}/compare?to={second}")
    assert waits.status_code == 409
    assert "has no verdict" in waits.json()["detail"]
    eve = sites.open_client(
        site, sites.add_account(site, sites.add_organisation(site, "Bank"), "eve")
    )
    assert eve.get(f"{API}/audits/{first}/compare?to={second}").status_code == 404
    context = forking()
    while make.do_next(site, context):
        pass
    assert client.get(f"{API}/audits/{first}/compare?to={first}").status_code == 422
    both = client.get(f"{API}/audits/{first}/compare?to={second}").json()
    assert (both["is_same_table"], both["is_same_question"]) == (None, True)
