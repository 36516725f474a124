import hashlib
import json

import pytest

from tests.kit.service import refusing, sites

DATA = b"age,sick\n41,canary-7f3\n"
DIGEST = hashlib.sha256(DATA).hexdigest()


def test_a_table_is_taken_listed_and_erased(site, ann):
    client = refusing.open_client(site, ann)
    assert client.put(f"/api/v1/blobs/{DIGEST}?kind=table", content=DATA).status_code == 201
    answer = client.post("/api/v1/tables", json={"digest": DIGEST, "file_name": "people.csv"})
    assert answer.status_code == 202
    made = answer.json()
    assert (made["state"], made["uploaded_by"], made["kind"]) == ("reading", "ann", "upload")
    place = answer.headers["location"]
    assert client.get(place).json() == made
    assert client.get("/api/v1/tables").json() == {"items": [made], "next": None}
    assert client.delete(place).status_code == 204
    assert client.get(place).json()["state"] == "erased"
    assert client.post("/api/v1/tables", json={"digest": DIGEST}).status_code == 404


def test_a_model_is_no_table(site, ann):
    client = refusing.open_client(site, ann)
    client.put(f"/api/v1/blobs/{DIGEST}?kind=model", content=DATA)
    assert client.post("/api/v1/tables", json={"digest": DIGEST}).status_code == 404


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "file:///etc/passwd", "../x", "http://169.254.169.254/", "\ud800"]
)
def test_a_path_that_is_not_allowed_is_refused(site, ann, path):
    client = refusing.open_client(site, ann)
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/v1/tables", content=json.dumps({"path": path}), headers=headers)
    assert answer.status_code == 422
    assert client.get("/api/v1/tables").json()["items"] == []


def test_tables_of_others_are_unknown(site, ann):
    client = refusing.open_client(site, ann)
    client.put(f"/api/v1/blobs/{DIGEST}?kind=table", content=DATA)
    place = client.post("/api/v1/tables", json={"digest": DIGEST}).headers["location"]
    eve = refusing.open_client(
        site, sites.add_account(site, sites.add_organisation(site, "Other"), "eve")
    )
    assert eve.get(place).status_code == eve.delete(place).status_code == 404
    assert eve.get("/api/v1/tables").json()["items"] == []
    assert client.get(place).json()["state"] == "reading"
