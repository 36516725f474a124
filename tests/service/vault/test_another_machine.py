"""With an object store, a worker needs nothing of the server's machine but the database, the bucket and the key."""

import hashlib
import os
import sys

import pytest

from tests.kit.service import buckets, machines, serving, sites, work_to_do

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]
PROGRAM = [sys.executable, "-m", "treewarden"]


@pytest.fixture
def machine():
    with machines.another_machine() as found:
        yield found


@pytest.fixture
def site(machine, tmp_path, monkeypatch):
    for name, value in buckets.KEY.items():
        monkeypatch.setenv(name, value)
    with buckets.server("0.0.0.0") as address:  # noqa: S104  # the other machine asks from outside
        endpoint = address.replace("0.0.0.0", machine.address)
        folder = tmp_path / "server"
        said = buckets.settings_of(endpoint, folder)
        with sites.make_site("postgresql", folder, **said) as found:
            yield found


def variables(site, machine, port, root):
    """Return what a worker of the other machine is told."""
    settings, url = site.settings, site.engine.url.set(host=machine.address, port=port)
    root.mkdir()
    key = root / "master.key"
    key.write_text(settings.key_file.read_text())
    return {
        **os.environ,
        "TREEWARDEN_DATA_DIR": str(root),
        "TREEWARDEN_KEY_FILE": str(key),
        "TREEWARDEN_DATABASE": url.render_as_string(hide_password=False),
        "TREEWARDEN_BUCKET": settings.bucket,
        "TREEWARDEN_BUCKET_ENDPOINT": settings.bucket_endpoint,
        "TREEWARDEN_BUCKET_PREFIX": settings.bucket_prefix,
        "TREEWARDEN_BUCKET_REGION": settings.bucket_region,
        "TREEWARDEN_BUCKET_HTTP": "true",
    }


def submitted(client):
    """Submit an audit through the server, and return its id."""
    model, table = work_to_do.write_tree(), work_to_do.write_table()
    digests = [hashlib.sha256(data).hexdigest() for data in (model, table)]
    for digest, data, kind in zip(digests, (model, table), ("model", "table"), strict=True):
        sent = client.put(f"/api/v1/blobs/{digest}?kind={kind}", content=data)
        assert sent.status_code == 201
    made = client.post("/api/v1/models", json={"name": "illness"}).json()["id"]
    file = {"digest": digests[0], "file_name": "illness.pmml"}
    version = client.post(f"/api/v1/models/{made}/versions", json=file).json()["id"]
    file = {"digest": digests[1], "file_name": "people.csv"}
    of = client.post("/api/v1/tables", json=file).json()["id"]
    asked = {"model_version_id": version, "table_id": of, "pack": "accurate"}
    options = {"options": {"sensitive": "illness", "worlds_budget": 1}}
    return client.post("/api/v1/audits", json=asked | options).json()["id"]


def test_a_worker_with_an_empty_root_does_an_audit_that_the_server_shows(site, machine, tmp_path):
    client = sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    audit = submitted(client)
    root = tmp_path / "other"
    with (
        machines.forwarded(machine.address, site.engine.url.port or 5432) as port,
        (tmp_path / "worker.log").open("wb") as log,
    ):
        worker = machine.start(
            [*PROGRAM, "worker", "--slots", "1"],
            site.settings.data_dir,
            env=variables(site, machine, port, root),
            stderr=log,
        )
        try:
            serving.until(
                lambda: (
                    worker.poll() is not None
                    or client.get(f"/api/v1/audits/{audit}").json()["finished_at"]
                )
            )
        finally:
            worker.terminate()
            worker.wait()
    shown = client.get(f"/api/v1/audits/{audit}").json()
    assert shown["state"] == "done", (shown, (tmp_path / "worker.log").read_text())
    report = client.get(shown["reports"][0]["href"])
    assert report.status_code == 200
    assert report.content
    left = [path for path in root.rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["master.key"]
    table = client.get(f"/api/v1/tables/{shown['table_id']}").json()
    assert table["erased_at"]
    kept = {each.blob_id for page in site.vault.store.files() for each in page}
    assert len(kept) == 1 + len(shown["reports"])
