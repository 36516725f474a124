"""What is of one organisation is not there for another, on every route with an id: generated from the description."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select

from tests.kit.service.seeds import DIGEST, seeded
from tests.kit.service.sites import add_account, add_organisation, make_site, open_client
from treewarden.service.database import run_tables, tables
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX

METHODS = ("get", "put", "post", "patch", "delete")
BODIES = {
    "patch /accounts/{account_id}": {"role": "viewer"},
    "post /audits/{audit_id}/proposals/{number}/version": {},
    "post /audits/{audit_id}/repairs": {},
    "post /models/{model_id}/versions": {"digest": DIGEST, "file_name": "m.pmml"},
    "put /releases/{release_id}/checklist/{check_id}": {"is_met": True},
    "post /tables/{table_id}/shares": {"name": "olga"},
    "post /releases/{release_id}/comments": {"text": "Fine"},
    "post /releases/{release_id}/reviews": {"decision": "approve"},
    "post /waivers/{waiver_id}/approve": {},
    "post /waivers/{waiver_id}/refuse": {},
    "post /waivers/{waiver_id}/revoke": {},
}
"""What has to be sent for a route to look at the id at all; a route that is missing here is answered with 422."""
PACK = """
name = "ours"
version = "1"
title = "Ours"
description = "Ours"

[[clause]]
id = "smallest-leaf"
measure = "k_anonymity"
rule = "at_least"
limit = 5
why = "A rule about very few people describes each of them."
"""
NOT_KEPT = ("/reports/", "/compliance.", "/file", "/events", "/compare")
"""What the seeds have no bytes of, no job, and no second version."""
OF_NOBODY = ("/blobs/",)
"""Addresses that say what is sent, and not whose it is."""


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    with make_site("sqlite", tmp_path_factory.mktemp("site")) as site:
        seeds = seeded(site)
        eve = add_account(site, add_organisation(site, "Elsewhere"), "eve")
        ids = ids_of(site, seeds)
        yield site, open_client(site, seeds.olga), open_client(site, eve), ids


def ids_of(site, seeds):
    """Return what stands in addresses, each of a thing of the first organisation."""
    pack, table, session_id, made_by = new_id(), new_id(), new_id(), seeds.ann.account_id
    organisation = seeds.ann.organisation_id
    with site.unit() as unit:

        def add(into, **values):
            row = {"organisation_id": organisation, "created_at": unit.now, **values}
            unit.connection.execute(insert(into).values(**row))

        add(
            tables.data_table,
            id=table,
            kind="path",
            path="/t.csv",
            file_name="t.csv",
            state="ready",
            expires_at=unit.now,
            uploaded_by=made_by,
        )
        unit.connection.execute(
            insert(tables.session).values(
                id=session_id,
                hash=DIGEST,
                account_id=made_by,
                created_at=unit.now,
                expires_at=unit.now + timedelta(hours=1),
            )
        )
        add(tables.pack, id=pack, name="ours", created_by=made_by)
        add(
            tables.pack_version,
            id=new_id(),
            pack_id=pack,
            n=1,
            digest=DIGEST,
            toml=PACK,
            created_by=made_by,
        )

        def one(table):
            statement = select(table.c.id).where(table.c.organisation_id == organisation).limit(1)
            return unit.connection.execute(statement).scalar_one()

        return {
            "account_id": seeds.ann.account_id,
            "audit_id": one(run_tables.audit),
            "check_id": "c0",
            "delivery_id": one(run_tables.delivery),
            "form": "html",
            "kind": "public",
            "model_id": one(tables.model),
            "name": "ours",
            "number": 1,
            "release_id": seeds.release,
            "table_id": table,
            "session_id": session_id,
            "token_id": one(tables.token),
            "version_id": one(tables.model_version),
            "waiver_id": seeds.waiver,
            "webhook_id": seeds.webhook,
        }


def routes(client):
    for path, each in client.get(f"{PREFIX}/openapi.json").json()["paths"].items():
        if "{" in path and not any(part in path for part in OF_NOBODY):
            yield from ((method, path) for method in each if method in METHODS)


def asked(client, method, path, ids):
    body = BODIES.get(f"{method} {path.removeprefix(PREFIX)}")
    query = {"from": ids["version_id"], "to": ids["version_id"]} if "compare" in path else {}
    return client.request(method, path.format_map(ids), json=body, params=query)


def test_what_is_of_another_organisation_is_answered_like_what_is_not_there(there):
    site, _, eve, ids = there
    unknown = {
        name: value if name in ("form", "kind", "number") else new_id()
        for name, value in ids.items()
    }
    before = rows(site)
    found = list(routes(eve))
    assert len(found) > 20
    for method, path in found:
        answer, other = (asked(eve, method, path, each) for each in (ids, unknown))
        assert answer.status_code == 404, (method, path, answer.text)
        assert told(answer) == told(other), (method, path)
    assert rows(site) == before


def test_the_ids_are_those_of_things_that_are_there(there):
    _, olga, _, ids = there
    for method, path in routes(olga):
        if method == "get" and not any(part in path for part in NOT_KEPT):
            answer = asked(olga, method, path, ids)
            assert answer.status_code == 200, (method, path, answer.text)


def told(answer):
    return re.sub(r"[0-9a-f]{32}|ours", "", answer.json()["detail"])


def rows(site):
    """Return how many rows each table has but that of tokens, whose use is noted."""
    with site.reading() as unit:
        return {
            name: unit.connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in run_tables.SCHEMA.tables.items()
        }
