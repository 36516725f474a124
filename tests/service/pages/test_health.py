import io
import json
import logging
import re
from dataclasses import replace
from datetime import timedelta

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text, update

from tests.kit.service import sites
from tests.kit.service.tables import DATA, add, an_audit
from treewarden.service.database.run_tables import job
from treewarden.service.database.tables import data_table
from treewarden.service.errors import NotFoundError
from treewarden.service.operations.observability import log_as_json, tell_errors

OPEN = {"Authorization": "Bearer for-metrics"}


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path):
    with sites.make_site(request.param, tmp_path, metrics_token="for-metrics") as found:
        yield found


def figures(client):
    answer = client.get("/metrics", headers=OPEN)
    assert answer.status_code == 200
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_a_server_that_can_work_says_so_to_everybody(site):
    client = sites.open_client(site)
    assert client.get("/healthz").json() == {"status": "ok"}
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"] == {"database": "ok", "level": "ok", "vault": "ok"}


def test_a_server_is_not_ready_for_a_database_of_another_level(site):
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    answer = sites.open_client(site).get("/readyz")
    assert answer.status_code == 503
    assert "install the version that wrote it" in answer.json()["checks"]["level"]


def test_a_server_is_not_ready_without_its_vault_but_lives(site):
    for folder in sorted(site.vault.folder.rglob("*"), reverse=True):
        folder.rmdir()
    client = sites.open_client(site)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["vault"] == "cannot be reached"
    assert str(site.settings.data_dir) not in answer.text
    assert client.get("/healthz").status_code == 200


def test_a_server_is_not_ready_with_a_key_that_opens_nothing(site, ann):
    add(site, ann)
    other = replace(site, vault=replace(site.vault, master=bytes(32)))
    answer = sites.open_client(other).get("/readyz")
    assert answer.status_code == 503
    assert "does not fit the files stored here" in answer.json()["checks"]["vault"]


def test_figures_of_the_service_come_from_its_database(site, ann):
    table = add(site, ann)
    done = an_audit(site, ann, table.id)
    with site.unit() as unit:
        later = unit.now + timedelta(seconds=5)
        unit.connection.execute(
            update(job)
            .where(job.c.id == done)
            .values(state="done", attempt=4, failures=1, started_at=unit.now, finished_at=later)
        )
        unit.connection.execute(
            text("UPDATE audit SET state = 'done', verdict = 'FAIL', exit_code = 1")
        )
        unit.connection.execute(
            update(job).where(job.c.id != done).values(created_at=unit.now - timedelta(hours=1))
        )
        unit.connection.execute(update(data_table).values(expires_at=unit.now))
    found = figures(sites.open_client(site))
    assert found["treewarden_database_up",] == 1
    assert found["treewarden_jobs", "audit", "done"] == 1
    assert found["treewarden_jobs", "inspect_table", "queued"] == 1
    assert found["treewarden_oldest_queued_seconds",] >= 3600
    assert found["treewarden_job_takeovers_total",] == 2
    assert found["treewarden_job_failures_total",] == 1
    assert found["treewarden_audit_seconds_count", "FAIL"] == 1
    assert found["treewarden_audit_seconds_sum", "FAIL"] == pytest.approx(5, abs=0.01)
    assert found["treewarden_vault_bytes", "table"] == len(DATA)
    assert found["treewarden_tables_overdue",] == 1


def test_a_repair_counts_as_a_job_and_not_as_an_audit_with_its_verdict(site, ann):
    an_audit(site, ann, add(site, ann).id)
    with site.unit() as unit:
        ended = update(job).values(state="done", started_at=unit.now, finished_at=unit.now)
        unit.connection.execute(ended)
        unit.connection.execute(text("UPDATE audit SET state = 'done', verdict = 'PASS'"))
    assert figures(sites.open_client(site))["treewarden_audit_seconds_count", "PASS"] == 1
    with site.unit() as unit:
        unit.connection.execute(text("UPDATE audit SET kind = 'repair'"))
    assert ("treewarden_audit_seconds_count", "PASS") not in figures(sites.open_client(site))


def test_requests_are_counted_by_route_and_never_by_address(site, ann):
    client = sites.open_client(site, ann)
    client.get("/api/v1/me")
    client.get("/api/v1/tables/" + "0" * 32)
    client.get("/nowhere/canary-7f3?canary-7f3")
    assert "canary" not in client.get("/metrics", headers=OPEN).text
    found = figures(client)
    assert found["treewarden_requests_total", "/api/v1/me", "200", "GET"] == 1
    assert found["treewarden_requests_total", "/api/v1/tables/{table_id}", "404", "GET"] == 1
    assert found["treewarden_requests_total", "404", "GET", "none"] == 1


def test_figures_are_kept_from_whoever_lacks_their_token(tmp_path):
    with sites.make_site("sqlite", tmp_path, metrics_token="secret-word") as site:
        client = sites.open_client(site)
        assert client.get("/metrics").status_code == 401
        wrong = client.get("/metrics", headers={"Authorization": "Bearer secret-wörd".encode()})
        assert wrong.status_code == 401
        right = client.get("/metrics", headers={"Authorization": "Bearer secret-word"})
        assert right.status_code == 200


@pytest.fixture
def logged():
    """What was logged since it was last called, each line read as JSON."""
    root, said = logging.getLogger(), io.StringIO()
    before = root.handlers[:], root.level
    log_as_json("info", said)

    def lines():
        found = [json.loads(line) for line in said.getvalue().splitlines()]
        said.seek(0)
        said.truncate()
        return found

    yield lines
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_request_is_one_line_of_json_with_its_id_and_who(site, ann, logged):
    client = sites.open_client(site, ann)
    logged()
    answer = client.get("/api/v1/tables?cursor=canary-7f3")
    (line,) = [each for each in logged() if each["event"] == "request"]
    assert line["request"] == answer.headers["x-request-id"]
    assert line["account"] == ann.account_id
    assert (line["route"], line["status"]) == ("/api/v1/tables", answer.status_code)
    assert "canary" not in json.dumps(line)


def test_nobody_can_write_a_second_line_into_the_log(site, logged):
    structlog.get_logger("test").info('one\n{"event": "forged"}', why="two\r\nthree\u2028four")
    (line,) = logged()
    assert line["event"].startswith("one\n")


def test_what_an_error_says_is_logged_only_where_it_is_ours(logged):
    log = logging.getLogger("library")
    try:
        raise KeyError("canary-7f3")
    except KeyError:
        log.exception("it failed")
    try:
        raise NotFoundError("model", "is not there")
    except NotFoundError:
        log.exception("it failed")
    first, second = logged()
    assert "canary" not in json.dumps(first)
    assert first["error"] == "KeyError"
    assert re.search(r"test_health\.py:\d+ test_what", first["where"][-1])
    assert second["why"] == "model: is not there"


def test_an_event_without_an_error_is_left_as_it_is():
    assert tell_errors(None, "info", {"event": "x", "exc_info": (None, None, None)}) == {
        "event": "x"
    }
