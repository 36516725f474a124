"""A register beside the table: sealed, read and erased as the table is, and told in the result."""

import pytest
from sqlalchemy import select

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.treewarden.conftest import written as written_files
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import new_id

API = "/api/v1"


@pytest.fixture
def client(site, home):
    return sites.open_client(site, sites.add_account(site, home, "ann", "submitter"))


@pytest.fixture
def flu(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    return written_files(folder)


def put_table(client, data, name="people.csv"):
    body = {"digest": sites.upload_file(client, data, "table"), "file_name": name}
    return client.post(f"{API}/tables", json=body).json()["id"]


def put_version(client, files):
    made = client.post(f"{API}/models", json={"name": "flu"}).json()
    digest = sites.upload_file(client, files.model.read_bytes(), "model")
    body = {"digest": digest, "file_name": "flu.pmml"}
    return client.post(f"{API}/models/{made['id']}/versions", json=body).json()["id"]


def submit(client, version, table, register, **more):
    body = {
        "model_version_id": version,
        "table_id": table,
        "register_id": register,
        "pack": "strict",
        "options": {"sensitive": "flu", "worlds": False},
        **more,
    }
    return client.post(f"{API}/audits", json=body)


def states(site, *tables):
    with site.reading() as unit:
        rows = unit.connection.execute(
            select(data_table.c.state, blob.c.sealed_key)
            .join(blob, blob.c.id == data_table.c.blob_id)
            .where(data_table.c.id.in_(tables))
        )
        return [(row.state, row.sealed_key is None) for row in rows]


def test_membership_is_judged_with_a_register_which_goes_with_the_table(site, home, client, flu):
    data = flu.table.read_bytes()
    version, table = put_version(client, flu), put_table(client, data)
    register = put_table(client, data + data.split(b"\n", 1)[1], "register.csv")
    answer = submit(client, version, table, register)
    assert answer.status_code == 202, answer.text
    make.do_all(site)
    done = client.get(f"{API}/audits/{answer.json()['id']}").json()
    assert (done["state"], done["register_id"]) == ("done", register), done["problem"]
    assert done["provenance"]["candidates"]["name"] == "register.csv"
    viewer = sites.open_client(site, sites.add_account(site, home, "cay", "viewer"))
    seen = viewer.get(f"{API}/audits/{done['id']}").json()["provenance"]
    assert seen["candidates"] == {"name": "register.csv", "sha256": ""}
    assert states(site, table, register) == [("erased", True), ("erased", True)]
    report = client.get(f"{API}/audits/{done['id']}/reports/public.json").json()
    assert "membership" in {finding["clause"] for finding in report["findings"]}


def test_a_register_that_another_audit_needs_stays(site, client, flu):
    data = flu.table.read_bytes()
    version, table = put_version(client, flu), put_table(client, data)
    register = put_table(client, data + data.split(b"\n", 1)[1], "register.csv")
    first = submit(client, version, table, register).json()["id"]
    again = put_table(client, data)
    submit(client, version, again, register)
    client.post(f"{API}/audits/{first}/cancel")
    assert states(site, table)[0][0] == "erased"
    assert states(site, register)[0][0] != "erased"
    make.do_all(site)
    assert states(site, register)[0][0] == "erased"


def test_an_audit_ends_where_its_register_is_erased_before(site, client, flu):
    data = flu.table.read_bytes()
    version, table = put_version(client, flu), put_table(client, data)
    register = put_table(client, data, "register.csv")
    audit = submit(client, version, table, register).json()["id"]
    assert client.delete(f"{API}/tables/{register}").status_code == 204
    assert client.get(f"{API}/audits/{audit}").json()["state"] == "error"


def test_what_cannot_be_a_register_is_refused(site, client, flu):
    version, table = put_version(client, flu), put_table(client, flu.table.read_bytes())
    for told, register in (("is the training table itself", table), ("unknown", new_id())):
        answer = submit(client, version, table, register)
        assert told in answer.text
    answer = submit(client, version, None, table)
    assert "can be judged only with the training table" in answer.text


def test_somebody_elses_register_is_none(site, home, client, flu):
    data = flu.table.read_bytes()
    version, table = put_version(client, flu), put_table(client, data)
    other = sites.open_client(site, sites.add_account(site, home, "bob", "submitter"))
    answer = submit(client, version, table, put_table(other, data, "register.csv"))
    assert answer.status_code == 404


def test_a_register_is_chosen_on_the_page_among_the_tables_that_are_there(site, client, flu):
    data = flu.table.read_bytes()
    version, table = put_version(client, flu), put_table(client, data)
    make.do_all(site)
    page = f"/submit/{version}?table={table}"
    assert "Register of candidates" not in client.get(page).text
    register = put_table(client, data + data.split(b"\n", 1)[1], "register.csv")
    make.do_all(site)
    assert "register.csv" in client.get(page).text
    client.follow_redirects = False
    sent = client.post(page, data={"sensitive": "flu", "register_id": register})
    assert sent.status_code == 303, sent.text
    audit = client.get(f"{API}{sent.headers['location']}").json()
    assert audit["register_id"] == register
    assert "membership was judged" in client.get(sent.headers["location"]).text
