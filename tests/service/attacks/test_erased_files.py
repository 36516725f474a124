"""What was erased is refused with a status of its own, and never with an answer that breaks off."""

from sqlalchemy import update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.tables import blob, data_table, model_version
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.worker.supervising import forking

API = "/api/v1"


def test_the_file_of_a_refused_version_was_erased(site, ann):
    version = make.add_version(site, ann, b"age,sick\n41,yes\n", "people.csv")
    with site.unit() as unit:
        queue_job(unit, ann.organisation_id, "inspect_model", version)
    assert make.do_next(site)
    client = sites.open_client(site, ann, raise_server_exceptions=False)
    model_id = make.read_row(site, model_version, version).model_id
    answer = client.get(f"{API}/models/{model_id}/versions/{version}/file")
    assert answer.status_code == 410
    assert answer.headers["content-type"] == "application/problem+json"
    assert "people.csv: was erased" in answer.json()["detail"]


def test_a_report_whose_key_or_file_is_gone_was_erased(site, ann):
    checked = make.queue_audit(site, ann, make.add_version(site, ann), make.add_upload(site, ann))
    assert make.do_next(site)
    client = sites.open_client(site, ann, raise_server_exceptions=False)
    first, second = (
        each["href"] for each in client.get(f"{API}/audits/{checked}").json()["reports"][:2]
    )
    assert client.get(first).status_code == 200
    for path in site.vault.folder.rglob("*-*"):
        path.unlink()
    assert client.get(first).status_code == 410
    with site.unit() as unit:
        unit.connection.execute(update(blob).values(sealed_key=None, erased_at=unit.now))
    assert client.get(second).status_code == 410
    assert client.head(second).status_code == 410


def test_a_file_that_was_cut_off_is_refused_before_anything_is_sent(site, ann):
    version = make.add_version(site, ann)
    for path in site.vault.folder.rglob("*-*"):
        path.write_bytes(path.read_bytes()[:-1])
    client = sites.open_client(site, ann, raise_server_exceptions=False)
    found = make.read_row(site, model_version, version)
    answer = client.get(f"{API}/models/{found.model_id}/versions/{version}/file")
    assert answer.status_code == 503


def test_a_slip_of_the_pen_costs_neither_the_audit_nor_the_table(site, ann):
    table = make.add_upload(site, ann)
    with site.unit() as unit:
        unit.connection.execute(
            update(data_table).values(
                columns=[{"name": each, "kind": "category"} for each in ("place", "illness")]
            )
        )
    client = sites.open_client(site, ann)
    body = {"model_version_id": make.add_version(site, ann), "table_id": table, "pack": "accurate"}
    for option, said in (
        ("sensitive", "ilness"),
        ("qi", ["place", "ilness"]),
        ("secret", "ilness"),
    ):
        answer = client.post(f"{API}/audits", json=body | {"options": {option: said}})
        assert answer.status_code == 422
        detail = answer.json()["detail"]
        assert detail.startswith(
            f"options: {option}: the table has no column 'ilness'; the most similar names are illness"
        )
    assert make.read_row(site, data_table, table).erased_at is None
    answer = client.post(f"{API}/audits", json=body | {"options": {"sensitive": "Illness"}})
    assert answer.status_code == 202  # as names are matched without regard to case


def test_a_table_outlives_an_audit_that_ended_in_an_error(site, ann):
    table = make.add_upload(site, ann)
    context = forking()
    broken = make.queue_audit(site, ann, make.add_version(site, ann), table, qi=["none-such"])
    assert make.do_next(site, context)
    assert [row.state for row in make.read_jobs(site, broken)] == ["error"]
    assert make.read_row(site, data_table, table).erased_at is None
    again = make.queue_audit(site, ann, make.add_version(site, ann), table)
    assert make.do_next(site, context)
    assert [row.state for row in make.read_jobs(site, again)] == ["done"]
    assert make.read_row(site, data_table, table).erased_at is not None
