"""A repair asked for with other people than those of the audit: each change would be judged by the wrong ones."""

import hashlib

import pytest

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.run_tables import audit

API = "/api/v1"
PURE, OTHERS = {"north": (120, 0), "south": (70, 50)}, {"north": (60, 60), "south": (70, 50)}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tables"
    made.mkdir()
    return made


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path, folder):
    with sites.make_site(request.param, tmp_path / "data", table_roots=(str(folder),)) as found:
        yield found


@pytest.fixture
def client(site):
    home = sites.add_organisation(site)
    return sites.open_client(site, sites.add_account(site, home, "ann", "submitter"))


def a_version(client):
    data = make.write_tree(PURE)
    digest = hashlib.sha256(data).hexdigest()
    client.put(f"{API}/blobs/{digest}?kind=model", content=data)
    model = client.post(f"{API}/models", json={"name": "illness"}).json()["id"]
    body = {"digest": digest, "file_name": "illness.pmml"}
    return client.post(f"{API}/models/{model}/versions", json=body).json()["id"]


def test_a_file_that_was_exchanged_under_its_name_repairs_nothing(site, client, folder):
    path = folder / "people.csv"
    path.write_bytes(make.write_table(leaves=PURE))
    table = client.post(f"{API}/tables", json={"path": str(path)}).json()["id"]
    body = {
        "model_version_id": a_version(client),
        "table_id": table,
        "options": {"sensitive": "illness", "worlds_budget": 1},
    }
    asked = client.post(f"{API}/audits", json=body).json()["id"]
    make.do_all(site)
    assert make.read_row(site, audit, asked).verdict == "FAIL"

    path.write_bytes(make.write_table(leaves=OTHERS))
    again = client.post(f"{API}/tables", json={"path": str(path)}).json()["id"]
    repair = client.post(f"{API}/audits/{asked}/repairs", json={"table_id": again})
    assert repair.status_code == 202  # what the file holds is known once it was read
    make.do_all(site)
    ended = client.get(f"{API}/audits/{repair.json()['id']}").json()
    assert (ended["state"], ended["verdict"]) == ("error", None)
    assert "is not the table of the audit" in ended["problem"]
    assert client.get(f"{API}/audits/{ended['id']}/proposals").json()["items"] == []
