"""From a verdict to a model that passes: a repair asked for, its proposals, and one of them taken."""

import hashlib

import pytest
from sqlalchemy import select, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.treewarden.conftest import written as written_files
from treewarden.service.database.run_tables import proposal
from treewarden.service.database.tables import blob, data_table
from treewarden.service.use_cases.retention import sweep

API = "/api/v1"
BUDGET = 60
"""Seconds, so that a busy machine gets to the same end."""


@pytest.fixture
def client(site, home):
    return sites.open_client(site, sites.add_account(site, home, "ann", "submitter"))


@pytest.fixture
def flu(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    files = written_files(folder)
    return files.model.read_bytes(), files.table.read_bytes()


def a_table(client, data):
    body = {"digest": sites.upload_file(client, data, "table"), "file_name": "people.csv"}
    return client.post(f"{API}/tables", json=body).json()["id"]


def failed(site, client, flu, **more):
    """Return an audit that failed, as it is shown; its table is there only where ``keeps_table`` says so."""
    model, table = flu
    made = client.post(f"{API}/models", json={"name": "flu"}).json()
    body = {"digest": sites.upload_file(client, model, "model"), "file_name": "flu.pmml"}
    version = client.post(f"{API}/models/{made['id']}/versions", json=body).json()
    body = {
        "model_version_id": version["id"],
        "table_id": a_table(client, table),
        "options": {"sensitive": "flu", "worlds_budget": BUDGET},
        "purpose": "the register",
        **more,
    }
    asked = client.post(f"{API}/audits", json=body).json()
    make.do_all(site)
    done = client.get(f"{API}/audits/{asked['id']}").json()
    assert (done["state"], done["verdict"]) == ("done", "FAIL")
    return done


def start(client, audit, **more):
    return client.post(f"{API}/audits/{audit['id']}/repairs", json=more)


def test_from_a_failure_to_a_version_that_passes(site, client, flu):
    audit = failed(site, client, flu, keeps_table=True)
    assert client.get(f"{API}/audits/{audit['id']}/repairs").json()["can_start"]
    answer = start(client, audit)
    assert answer.status_code == 202, answer.text
    asked = answer.json()
    assert (asked["kind"], asked["original_audit_id"]) == ("repair", audit["id"])
    assert (asked["options"], asked["purpose"]) == (audit["options"], "the register")
    assert start(client, audit).json()["detail"].startswith("audit: is being repaired already")

    make.do_all(site)
    found = client.get(f"{API}/audits/{asked['id']}/proposals").json()
    best = found["items"][0]
    assert (best["verdict"], best["is_recommended"]) == ("PASS", True)
    assert best["cost"]["training accuracy"].endswith("%")
    assert "leaves" in best["cost"]
    assert all((each["href"] is None) == (each["verdict"] != "PASS") for each in found["items"])
    model = client.get(f"{API}/models/{audit['model_id']}").json()
    assert model["versions"] == 1  # nothing becomes a version by itself

    file = client.get(best["href"])
    assert file.headers["content-disposition"] == 'attachment; filename="flu-repaired.pmml"'
    taken = client.post(f"{API}/audits/{asked['id']}/proposals/1/version", json={})
    assert taken.status_code == 201, taken.text
    version = taken.json()["version"]
    assert version["digest"] == hashlib.sha256(file.content).hexdigest()
    assert (version["n"], version["uploaded_by"]) == (2, "ann")
    again = client.post(f"{API}/audits/{asked['id']}/proposals/1/version", json={})
    assert again.status_code == 409

    make.do_all(site)
    done = client.get(f"{API}/audits/{taken.json()['audit']['id']}").json()
    assert (done["model_version_id"], done["verdict"]) == (version["id"], "PASS")
    assert make.read_row(site, data_table, audit["table_id"]).state == "erased"
    assert client.get(f"{API}/audits/{asked['id']}").json()["repaired_version_id"] == version["id"]
    assert start(client, done).json()["detail"].startswith("audit: passes already")


def test_the_same_table_comes_again_where_it_is_erased_and_no_other(site, client, flu):
    audit = failed(site, client, flu)
    told = client.get(f"{API}/audits/{audit['id']}/repairs").json()
    assert (told["can_start"], told["needs_table"]) == (False, True)
    assert "upload the same table again" in told["why_not"]
    refused = start(client, audit)
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("table: its table was erased")
    other = a_table(client, flu[1] + b"30,m,yes\n")
    assert start(client, audit, table_id=other).json()["detail"].startswith("table: is not the")
    assert start(client, audit, table_id=a_table(client, flu[1])).status_code == 202
    make.do_all(site)
    (repair,) = client.get(f"{API}/audits/{audit['id']}/repairs").json()["items"]
    assert (repair["state"], repair["verdict"]) == ("done", "PASS")
    taken = client.post(f"{API}/audits/{repair['id']}/proposals/1/version", json={}).json()
    assert taken["audit"] is None
    assert "upload it again" in taken["why_no_audit"]


def test_a_cancelled_repair_leaves_the_table_for_another_one(site, client, flu):
    audit = failed(site, client, flu, keeps_table=True)
    asked = start(client, audit).json()
    assert client.post(f"{API}/audits/{asked['id']}/cancel").json()["state"] == "cancelled"
    assert make.read_row(site, data_table, audit["table_id"]).state == "ready"
    assert start(client, audit).status_code == 202


@pytest.mark.parametrize(
    ("has_table", "pack", "said"),
    [(False, "standard", "was made without a table"), (True, "accurate", "passes already")],
)
def test_what_cannot_be_repaired_is_refused_with_what_to_do(site, client, has_table, pack, said):
    made = client.post(f"{API}/models", json={"name": "illness"}).json()
    body = {
        "digest": sites.upload_file(client, make.write_tree(), "model"),
        "file_name": "illness.pmml",
    }
    version = client.post(f"{API}/models/{made['id']}/versions", json=body).json()
    table = a_table(client, make.write_table()) if has_table else None
    body = {"model_version_id": version["id"], "table_id": table, "pack": pack}
    body["options"] = {"sensitive": "illness", "worlds_budget": 1} if has_table else {}
    audit = client.post(f"{API}/audits", json=body).json()
    assert "has no verdict" in start(client, audit).json()["detail"]
    make.do_all(site)
    refused = start(client, audit)
    assert refused.status_code == 409
    assert said in refused.json()["detail"]
    assert said in client.get(f"{API}/audits/{audit['id']}/repairs").json()["why_not"]


def test_a_viewer_sees_that_it_passes_and_neither_cost_nor_file(site, home, client, flu):
    audit = failed(site, client, flu, keeps_table=True)
    repair = start(client, audit).json()
    make.do_all(site)
    viewer = sites.open_client(site, sites.add_account(site, home, "vera", "viewer"))
    told = viewer.get(f"{API}/audits/{repair['id']}/proposals").json()
    best = told["items"][0]
    assert (best["verdict"], best["cost"], best["title"], best["problem"]) == ("PASS", {}, "", "")
    assert (told["message"], told["refusals"], told["advice"]) == ("", [], [])
    path = f"{API}/audits/{repair['id']}/proposals/1"
    assert viewer.get(f"{path}/file").status_code == 403
    assert viewer.post(f"{path}/version", json={}).status_code == 403
    assert start(viewer, audit).status_code == 403


def test_the_file_of_a_proposal_goes_with_its_time_unless_it_was_taken(site, client, flu):
    audit = failed(site, client, flu, keeps_table=True)
    repair = start(client, audit).json()
    make.do_all(site)
    with site.unit() as unit:
        kept = unit.connection.execute(
            select(proposal.c.blob_id).where(proposal.c.blob_id.is_not(None))
        ).scalars()
        unit.connection.execute(
            update(blob).where(blob.c.id.in_(kept.all())).values(expires_at=unit.now)
        )
    sweep(site)
    path = f"{API}/audits/{repair['id']}/proposals/1"
    assert client.get(f"{path}/file").status_code == 404
    assert "was erased" in client.post(f"{path}/version", json={}).json()["detail"]
    assert client.get(f"{API}/audits/{repair['id']}/proposals").json()["items"][0]["href"] is None


def test_an_audit_with_a_register_is_repaired_by_a_repair_of_its_own(site, client, flu):
    model, table = flu
    register = a_table(client, table + table.split(b"\n", 1)[1])
    audit = failed(site, client, flu, keeps_table=True, register_id=register)
    told = client.get(f"{API}/audits/{audit['id']}/repairs").json()
    assert not told["can_start"]
    assert "with a register" in told["why_not"]
    assert start(client, audit).status_code == 409
