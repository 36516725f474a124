"""Every query parameter of the service's own description is taken, alone and with all others, and does what it says."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy import insert, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.seeds import Seeded, seeded
from tests.kit.service.tables import digest
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import model, release, waiver
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX

STATES = {
    "/audits": ("queued", "running", "done", "error", "cancelled"),
    "/releases": ("open", "changes", "approved", "rejected", "withdrawn", "released"),
    "/waivers": ("requested", "approved", "refused", "revoked"),
}
VERDICTS = ("PASS", "FAIL", "UNDETERMINED")
BODY = b"what is uploaded"


@dataclass(frozen=True)
class Filled:
    """Who asks, and the ids of what is there: something in each state that a list can be asked for."""

    seeds: Seeded
    model: str
    versions: tuple[str, str]
    audit: str
    other_audit: str


@pytest.fixture
def filled(site):
    seeds = seeded(site)
    first, second = make.add_version(site, seeds.ann), make.add_version(site, seeds.ann)
    of_model = make.read_row(site, make.model_version, first).model_id
    with site.unit() as unit:
        unit.connection.execute(
            update(make.model_version)
            .where(make.model_version.c.id == second)
            .values(model_id=of_model, n=2)
        )
        unit.connection.execute(
            update(model).where(model.c.id == of_model).values(name="Loans 50 %")
        )
    audits = {state: make.queue_audit(site, seeds.ann, first, None) for state in STATES["/audits"]}
    audits |= {verdict: make.queue_audit(site, seeds.ann, first, None) for verdict in VERDICTS}
    _end_audits(site, audits)
    _add_releases(site, seeds)
    _add_a_revoked_waiver(site, seeds)
    return Filled(seeds, of_model, (first, second), audits["done"], audits["FAIL"])


def _end_audits(site, audits):
    with site.unit() as unit:
        for name, made in audits.items():
            values = {"state": name}
            if name in (*VERDICTS, "done"):
                values = {"state": "done", "verdict": name if name in VERDICTS else "PASS"}
            if name == "running":  # it waits, and its job is being done
                jobs = update(make.job).where(make.job.c.subject_id == made)
                unit.connection.execute(jobs.values(state="running"))
            elif name != "queued":
                unit.connection.execute(update(audit).where(audit.c.id == made).values(**values))


def _add_releases(site, seeds):
    row = make.read_row(site, release, seeds.release)
    with site.unit() as unit:
        for state in STATES["/releases"]:
            values = {**row._mapping, "id": new_id(), "state": state}
            unit.connection.execute(insert(release).values(**values))


def _add_a_revoked_waiver(site, seeds):
    row = make.read_row(site, waiver, seeds.waiver)
    decided = {"decided_by": seeds.rita.account_id, "decided_at": row.requested_at}
    values = {**row._mapping, "id": new_id(), "state": "revoked", **decided}
    with site.unit() as unit:
        unit.connection.execute(insert(waiver).values(**values))


def described(client):
    """Yield the method, path and query parameters of each route that has any."""
    paths = client.get(f"{PREFIX}/openapi.json").json()["paths"]
    for path, routes in paths.items():
        for method, route in routes.items():
            named = [each for each in route.get("parameters", ()) if each["in"] == "query"]
            if named:
                yield method, path.removeprefix(PREFIX), named


def address(filled, path):
    ids = {
        "audit_id": filled.audit,
        "model_id": filled.model,
        "webhook_id": filled.seeds.webhook,
        "sha256": digest(BODY),
        "account_id": filled.seeds.ann.account_id,
    }
    return PREFIX + path.format(**ids)


def values_of(filled, path, name):
    """Return what a parameter is tried with; one that is not known here fails the test."""
    if name == "cursor":
        is_numbered = path.endswith(("/findings", "/audit-log"))
        return ("", "1" if is_numbered else "f" * 32)
    if path == "/audits/{audit_id}/compare":
        return (filled.other_audit,)
    if name in ("from", "to"):
        first, second = ("standard", "health") if path == "/packs-difference" else filled.versions
        return (first if name == "from" else second,)
    known = {
        "limit": (1, 200),
        "state": ("", *STATES.get(path, ())),
        "verdict": ("", *VERDICTS),
        "model_id": ("", filled.model),
        "name": ("", "Loans"),
        "kind": ("model", "table"),
        "sha256": ("f" * 64, digest(BODY)),
    }
    return known[name]


def test_every_parameter_is_taken_alone_and_with_all_others(site, filled):
    client = sites.open_client(site, filled.seeds.olga)
    number = 0
    for method, path, parameters in described(client):
        body = {"content": BODY} if method == "put" else {}
        tried = {each["name"]: values_of(filled, path, each["name"]) for each in parameters}
        must = {each["name"]: tried[each["name"]][0] for each in parameters if each["required"]}
        queries = [must | {name: value} for name, values in tried.items() for value in values]
        queries.append({name: values[-1] for name, values in tried.items()})
        for query in queries:
            answer = client.request(method, address(filled, path), params=query, **body)
            assert answer.status_code in (200, 201), (method, path, query, answer.text)
            number += 1
    assert number > 50


@pytest.mark.parametrize(
    ("path", "field"), [*((path, "state") for path in STATES), ("/audits", "verdict")]
)
def test_a_filter_leaves_what_it_names_and_all_of_it(site, filled, path, field):
    client = sites.open_client(site, filled.seeds.olga)

    def asked(**query):
        return client.get(PREFIX + path, params={"limit": 200, **query}).json()["items"]

    everything = asked()
    for value in VERDICTS if field == "verdict" else STATES[path]:
        wanted = [each["id"] for each in everything if each[field] == value]
        assert wanted, value
        assert [each["id"] for each in asked(**{field: value})] == wanted


def test_several_filters_hold_together(site, filled):
    client = sites.open_client(site, filled.seeds.olga)
    query = {"state": "done", "verdict": "FAIL", "model_id": filled.model, "limit": 1}
    (found,) = client.get(f"{PREFIX}/audits", params=query).json()["items"]
    assert (found["verdict"], found["model_id"]) == ("FAIL", filled.model)
    query["model_id"] = new_id()
    assert client.get(f"{PREFIX}/audits", params=query).json()["items"] == []


def test_a_model_is_found_by_a_part_of_its_name_in_any_case(site, filled):
    client = sites.open_client(site, filled.seeds.olga)

    def found(name):
        items = client.get(f"{PREFIX}/models", params={"name": name}).json()["items"]
        return [each["id"] for each in items]

    assert found("lOANs 50 %") == [filled.model]
    assert found("%") == [filled.model]
    assert found("no such name") == []


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=x", "state=none", "more=1"])
def test_what_a_list_cannot_be_asked_is_refused_by_its_name(site, filled, query):
    client = sites.open_client(site, filled.seeds.olga)
    answer = client.get(f"{PREFIX}/releases?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in answer.json()["detail"]


def test_the_overview_leads_to_what_is_running(site, filled):
    shown = sites.open_client(site, filled.seeds.olga).get("/").text
    assert 'href="/audits?state=running"' in shown
