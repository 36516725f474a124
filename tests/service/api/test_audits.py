import hashlib
import threading

import pytest

from tests.kit import office_tables
from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import blob, data_table

API = "/api/v1"


@pytest.fixture
def client(site, home):
    return sites.open_client(site, sites.add_account(site, home, "ann", "submitter"))


def a_version(client, data=None):
    model = client.post(f"{API}/models", json={"name": "illness"}).json()
    digest = sites.upload_file(client, data or make.write_tree(), "model")
    body = {"digest": digest, "file_name": "illness.pmml"}
    answer = client.post(f"{API}/models/{model['id']}/versions", json=body)
    assert answer.status_code == 202
    return answer.json()


def a_table(client):
    digest = sites.upload_file(client, make.write_table(), "table")
    answer = client.post(f"{API}/tables", json={"digest": digest, "file_name": "people.csv"})
    assert answer.status_code == 202
    return answer.json()


def submitted(client, **more):
    version, table = a_version(client), a_table(client)
    body = {
        "model_version_id": version["id"],
        "table_id": table["id"],
        "pack": "accurate",
        "options": {"sensitive": "illness", "worlds_budget": 1},
        **more,
    }
    answer = client.post(f"{API}/audits", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"{API}/audits/{answer.json()['id']}"
    return answer.json()


def test_from_upload_to_report(site, client):
    asked = submitted(client)
    assert asked["state"] == "queued"
    make.do_all(site)
    done = client.get(f"{API}/audits/{asked['id']}").json()
    assert "assumed known to adversaries, so not judged: " in done["headline"]
    assert done["state"] == "done"
    assert done["exit_code"] == {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3}[done["verdict"]]
    report = client.get(next(r["href"] for r in done["reports"] if r["form"] == "html"))
    assert report.status_code == 200
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert make.CANARY not in report.text
    findings = client.get(f"{API}/audits/{asked['id']}/findings").json()
    assert len(findings["items"]) == done["findings"]
    assert done["provenance"]["model"]["sha256"] == hashlib.sha256(make.write_tree()).hexdigest()


def test_a_table_of_spss_is_read_in_the_confined_process(site, client, tmp_path):
    lines = [line.split(",") for line in make.write_table().decode().splitlines()]
    columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
    columns["illness"] = [float(each == "yes") for each in columns["illness"]]
    labels = {"illness": {0: "no", 1: "yes"}}
    path = office_tables.write(tmp_path / "people.sav", columns, labels=labels)
    digest = sites.upload_file(client, path.read_bytes(), "table")
    table = client.post(f"{API}/tables", json={"digest": digest, "file_name": path.name}).json()
    asked = submitted(client, table_id=table["id"])
    make.do_all(site)
    done = client.get(f"{API}/audits/{asked['id']}").json()
    assert (done["state"], done["verdict"]) == ("done", "PASS")
    assert done["provenance"]["table"]["name"] == "people.sav"


def test_progress_is_told_as_events_and_from_where_one_left_off(site, client):
    asked = submitted(client)
    make.do_all(site)
    address = f"{API}/audits/{asked['id']}/events"
    told = client.get(address)
    assert told.headers["content-type"].startswith("text/event-stream")
    kinds = [line[7:] for line in told.text.splitlines() if line.startswith("event: ")]
    assert kinds[0] == "queued"
    assert kinds[-1] == "done"
    rest = client.get(address, headers={"Last-Event-ID": "1"}).text
    assert "event: queued" not in rest
    assert "event: done" in rest


def test_whoever_listens_hears_of_the_end(site, client):
    asked = submitted(client)
    worker = threading.Thread(target=make.do_all, args=(site,))
    worker.start()
    told = client.get(f"{API}/audits/{asked['id']}/events").text
    worker.join()
    assert "event: done" in told


def test_a_waiting_audit_is_cancelled_at_once_and_its_table_goes(site, client):
    asked = submitted(client)
    done = client.post(f"{API}/audits/{asked['id']}/cancel").json()
    assert (done["state"], done["verdict"], done["exit_code"]) == ("cancelled", None, 4)
    table = make.read_row(site, data_table, asked["table_id"])
    kept = make.read_row(site, blob, table.blob_id)
    assert (table.state, kept.sealed_key) == ("erased", None)
    assert not site.vault.path(kept.id, kept.digest).exists()
    assert client.post(f"{API}/audits/{asked['id']}/cancel").status_code == 409


def test_a_table_is_for_the_audits_that_were_asked_for_while_it_was_there(site, client):
    asked = submitted(client)
    make.do_all(site)
    body = {"model_version_id": asked["model_version_id"], "table_id": asked["table_id"]}
    answer = client.post(f"{API}/audits", json=body)
    assert answer.status_code == 409
    assert "erased" in answer.json()["detail"]


REFUSED = [
    ({"options": {"jobs": 4}}, 422, "unknown; choose one of"),
    ({"options": {"leaf": "all"}}, 422, "all"),
    ({"options": {"worlds_budget": 1e6}}, 422, "is too much"),
    ({"options": {"qi": "age"}}, 422, ""),
    ({"pack": "none-such"}, 404, "there is no such policy"),
    ({"pack": "/etc/passwd"}, 404, "there is no such policy"),
    ({"knowledge": "not toml ["}, 422, "knowledge"),
    ({"kind": "repair", "table_id": None}, 422, "a repair audits each change with it"),
    ({"table_id": "0" * 32}, 404, ""),
    ({"model_version_id": "0" * 32}, 404, "nothing here has this id; check the id"),
    ({"unknown": 1}, 422, ""),
    ({"options": {"columns": {"f0": "a", "f1": "a"}}}, 422, "both are the column"),
    ({"options": {"columns": {"f0": 1}}}, 422, "give names"),
    ({"options": {"columns": [1]}}, 422, "give names"),
]


def test_what_cannot_be_asked_is_refused_with_words(client):
    version = a_version(client)
    for more, status, said in REFUSED:
        answer = client.post(f"{API}/audits", json={"model_version_id": version["id"], **more})
        assert answer.status_code == status, (more, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", more
        assert said in answer.text, more


def test_undetermined_is_a_verdict_and_no_error(site, client):
    version = a_version(client)
    body = {"model_version_id": version["id"], "pack": "standard"}
    asked = client.post(f"{API}/audits", json=body).json()
    make.do_all(site)
    done = client.get(f"{API}/audits/{asked['id']}")
    assert done.status_code == 200
    assert (done.json()["verdict"], done.json()["exit_code"]) == ("UNDETERMINED", 3)


def test_a_viewer_sees_no_internal_report(site, home, client):
    asked = submitted(client)
    make.do_all(site)
    viewer = sites.open_client(site, sites.add_account(site, home, "vera", "viewer"))
    base = f"{API}/audits/{asked['id']}/reports"
    assert viewer.get(f"{base}/internal.html").status_code == 403
    assert client.get(f"{base}/internal.html").status_code == 404  # not kept in this organisation
    assert viewer.get(f"{base}/public.html").status_code == 200
    assert client.get(f"{base}/public.exe").status_code == 404


def test_another_organisation_sees_nothing(site, client):
    asked = submitted(client)
    eve = sites.open_client(
        site, sites.add_account(site, sites.add_organisation(site, "Bank"), "eve")
    )
    for path in ("", "/findings", "/events", "/reports/public.html"):
        assert eve.get(f"{API}/audits/{asked['id']}{path}").status_code == 404
    assert eve.post(f"{API}/audits/{asked['id']}/cancel").status_code == 404
    assert eve.get(f"{API}/audits").json()["items"] == []
    assert make.read_row(site, audit, asked["id"]).state == "queued"


def test_two_versions_are_compared(site, client):
    first = a_version(client)
    other = make.write_tree({"north": (5, 7), "south": (7, 5)})
    digest = sites.upload_file(client, other, "model")
    base = f"{API}/models/{first['model_id']}"
    body = {"digest": digest, "file_name": "illness.pmml"}
    second = client.post(f"{base}/versions", json=body).json()
    address = f"{base}/compare?from={first['id']}&to={second['id']}"
    assert client.get(address).json()["trees"] is None
    make.do_all(site)
    lines = client.get(address).json()["trees"]
    assert any(line.startswith("leaf changed: ") for line in lines)
    same = client.post(f"{base}/versions", json=body)
    assert same.status_code == 409
    assert client.get(f"{base}/versions/{second['id']}/file").content == other
