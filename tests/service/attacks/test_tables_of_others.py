"""Somebody with the right to submit asks questions of a table that is not theirs."""

import hashlib
import threading

import pytest
from sqlalchemy import update

from tests.kit.service import children, sites
from tests.kit.service import work_to_do as make
from tests.service.worker.test_fencing import begun_process, is_alive
from treewarden.service.database.run_tables import audit, job
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import new_id

API = "/api/v1"
DATA = make.write_table()
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def bob(site, home):
    return sites.add_account(site, home, "bob", "submitter")


@pytest.fixture
def table(site, ann):
    client = sites.open_client(site, ann)
    client.put(f"{API}/blobs/{DIGEST}?kind=table", content=DATA)
    made = client.post(f"{API}/tables", json={"digest": DIGEST, "file_name": "people.csv"}).json()
    return made["id"]


def asked(site, who, table_id, **more):
    """Ask for an audit of a model of one's own with a table, as an attacker with a crafted tree would."""
    version = make.add_version(site, who)
    body = {"model_version_id": version, "table_id": table_id, "pack": "accurate", **more}
    body.setdefault("options", {"sensitive": "illness", "worlds_budget": 1})
    return sites.open_client(site, who).post(f"{API}/audits", json=body)


def told(answer):
    return answer.status_code, answer.json()["detail"].partition(" is unknown")[1:]


def test_a_table_of_somebody_else_is_as_one_that_is_not_there(site, bob, table):
    client = sites.open_client(site, bob)
    for ask in (
        lambda key: asked(site, bob, key),
        lambda key: client.get(f"{API}/tables/{key}"),
        lambda key: client.delete(f"{API}/tables/{key}"),
        lambda key: client.post(f"{API}/tables/{key}/shares", json={"name": "bob"}),
    ):
        assert told(ask(table)) == told(ask(new_id()))
        assert ask(table).status_code == 404
    assert client.get(f"{API}/tables").json()["items"] == []
    pages = client.get(f"/submit/{make.add_version(site, bob)}?table={table}")
    assert pages.status_code == 404


def test_its_digest_gives_it_to_nobody_and_is_no_answer_to_whether_it_is_there(site, bob, table):
    client = sites.open_client(site, bob)
    by_digest = client.post(f"{API}/tables", json={"digest": DIGEST})
    unknown = client.post(f"{API}/tables", json={"digest": "0" * 64})
    assert by_digest.status_code == unknown.status_code == 404
    sent = client.put(f"{API}/blobs/{DIGEST}?kind=table", content=DATA)
    assert sent.status_code == 201  # as if nobody had sent these bytes before


def test_an_administrator_sees_that_it_is_there_and_erases_it_but_asks_nothing_of_it(
    site, home, table
):
    root = sites.add_account(site, home, "root")
    client = sites.open_client(site, root)
    while make.do_next(site):
        pass
    seen = client.get(f"{API}/tables/{table}").json()
    assert (seen["file_name"], seen["digest"], seen["columns"]) == ("people.csv", "", None)
    assert asked(site, root, table).status_code == 403
    shared = client.post(f"{API}/tables/{table}/shares", json={"name": "root"})
    assert shared.status_code == 403
    assert client.delete(f"{API}/tables/{table}").status_code == 204


def test_no_audit_keeps_a_table_from_its_owner(site, ann, bob, table):
    share(site, ann, table, "bob")
    waiting = [asked(site, bob, table).json()["id"] for _ in range(3)]
    key = make.read_row(site, blob, make.read_row(site, data_table, table).blob_id)
    assert sites.open_client(site, ann).delete(f"{API}/tables/{table}").status_code == 204
    assert not site.vault.path(key.id, key.digest).exists()
    for each in waiting:
        found = make.read_row(site, audit, each)
        assert (found.state, found.exit_code) == ("error", 4)
        assert found.problem.startswith("its table was erased by its owner")
        assert [row.state for row in make.read_jobs(site, each)] == ["error"]


def test_an_audit_that_reads_a_table_is_stopped_when_its_owner_erases_it(site, ann, bob, table):
    share(site, ann, table, "bob")
    drop_reading(site)
    running = asked(site, bob, table).json()["id"]
    thread = threading.Thread(target=make.do_next, args=(site, children.Instead(children.sleeps)))
    thread.start()
    pid = begun_process(site, make.read_jobs(site, running)[0].id)
    assert sites.open_client(site, ann).delete(f"{API}/tables/{table}").status_code == 204
    thread.join()
    assert not is_alive(pid)
    found = make.read_row(site, audit, running)
    assert (found.state, found.verdict) == ("cancelled", None)
    assert found.problem.startswith("its table was erased by its owner")


def test_what_an_audit_found_of_a_table_that_was_erased_meanwhile_is_kept_by_nobody(
    site, ann, table
):
    drop_reading(site)
    running = asked(site, ann, table).json()["id"]
    client = sites.open_client(site, ann)
    assert make.do_next(site, ErasedFirst(lambda: client.delete(f"{API}/tables/{table}")))
    found = make.read_row(site, audit, running)
    assert (found.state, found.verdict, found.entry) == ("cancelled", None, None)
    assert [row.state for row in make.read_jobs(site, running)] == ["cancelled"]


class ErasedFirst(children.Instead):
    """Has a table erased once its key was handed out, and answers before anybody looks again."""

    def __init__(self, erase):
        super().__init__(children.passes)
        self._erase = erase

    def Process(self, target, args, daemon):  # noqa: N802  # the name that a context has
        assert self._erase().status_code == 204
        return super().Process(target, args, daemon)


def test_whom_a_table_is_shared_with_audits_with_it_until_that_is_withdrawn(site, ann, bob, table):
    assert share(site, ann, table, "bob")["shared_with"] == [
        {"account_id": bob.account_id, "name": "bob"}
    ]
    seen = sites.open_client(site, bob).get(f"{API}/tables/{table}").json()
    assert (seen["is_owner"], seen["may_audit"], seen["shared_with"]) == (False, True, [])
    of_bob, of_ann = (asked(site, who, table).json()["id"] for who in (bob, ann))
    client = sites.open_client(site, ann)
    left = client.delete(f"{API}/tables/{table}/shares/{bob.account_id}").json()
    assert left["shared_with"] == []
    assert make.read_row(site, audit, of_bob).problem.startswith("its table is no longer shared")
    assert make.read_row(site, audit, of_bob).state == "error"
    assert make.read_row(site, audit, of_ann).state == "queued"
    assert asked(site, bob, table).status_code == 404


@pytest.mark.parametrize(("name", "status"), [("vera", 404), ("nobody", 404), ("ann", 409)])
def test_a_table_is_shared_with_others_who_may_submit_alone(site, home, ann, table, name, status):
    sites.add_account(site, home, "vera", "viewer")
    sites.add_account(site, sites.add_organisation(site, "Bank"), "nobody", "submitter")
    client = sites.open_client(site, ann)
    answer = client.post(f"{API}/tables/{table}/shares", json={"name": name})
    assert answer.status_code == status


def test_viewers_are_shown_no_digest_of_a_table(site, home, ann, table):
    checked = asked(site, ann, table).json()["id"]
    while make.do_next(site):
        pass
    assert make.read_row(site, audit, checked).state == "done"
    viewer = sites.open_client(site, sites.add_account(site, home, "vera", "viewer"))
    paths = [f"{API}/audits/{checked}", f"{API}/audits", f"{API}/audits/{checked}/findings"]
    paths += [f"{API}/audit-log?limit=200", f"{API}/audit-log.json", f"{API}/audit-log.csv"]
    paths += [f"/audits/{checked}", "/log", f"{API}/tables", "/"]
    reports = viewer.get(f"{API}/audits/{checked}").json()["reports"]
    assert reports
    for path in [*paths, *(each["href"] for each in reports)]:
        answer = viewer.get(path)
        assert answer.status_code == 200, path
        assert DIGEST[:12] not in answer.text, path
    submitter = sites.open_client(site, ann)
    assert (
        submitter.get(f"{API}/audits/{checked}").json()["provenance"]["table"]["sha256"] == DIGEST
    )
    # nor do they find rows of the log by it, which would confirm a guess as well
    assert "table.added" in submitter.get("/log", params={"text": DIGEST}).text
    assert "table.added" not in viewer.get("/log", params={"text": DIGEST}).text


def test_a_table_without_a_name_is_not_called_by_its_digest(site, ann):
    client = sites.open_client(site, ann)
    client.put(f"{API}/blobs/{DIGEST}?kind=table", content=DATA)
    made = client.post(f"{API}/tables", json={"digest": DIGEST}).json()
    assert made["file_name"] == "table"


def test_nobody_cancels_what_somebody_else_asked_for(site, home, ann, bob, table):
    waits = asked(site, ann, table).json()["id"]
    path = f"{API}/audits/{waits}/cancel"
    assert sites.open_client(site, bob).post(path).status_code == 403
    assert sites.open_client(site, bob).post(f"/audits/{waits}/cancel").status_code == 403
    assert make.read_row(site, audit, waits).state == "queued"
    root = sites.open_client(site, sites.add_account(site, home, "root"))
    assert root.post(path).json()["state"] == "cancelled"


def share(site, who, table_id, name):
    answer = sites.open_client(site, who).post(
        f"{API}/tables/{table_id}/shares", json={"name": name}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def drop_reading(site):
    """Take the job that reads the table out of the way of the one that audits it."""
    with site.unit() as unit:
        unit.connection.execute(
            update(job).where(job.c.kind == "inspect_table").values(state="done")
        )
