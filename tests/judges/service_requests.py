"""Sends requests generated from the service's own description, right ones and wrong ones, and looks for errors.

Run as ``python -m tests.judges.service_requests [--requests 5000] [--seed 1]``: on SQLite, and on PostgreSQL where one
answers (TREEWARDEN_TEST_POSTGRESQL); an administrator asks, a third of the time for things that are there. Ends with 1
where an answer is a server's error (5xx), a refusal is not problem+json, or a request is not taken as the
administrator's: what is sent to nobody's door finds nothing behind it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from sqlalchemy import select

from tests.kit.service import sites
from tests.kit.service.seeds import Seeded, seeded
from treewarden.service.database.run_tables import audit, delivery
from treewarden.service.database.tables import model_version
from treewarden.service.running import PREFIX

POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
UNKNOWN = 401
PROBLEM = "application/problem+json"


@dataclass
class Found:
    """How many answers of each status there were, and the requests that went wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many requests were answered."""
        return self.statuses.total()


def main() -> int:
    """Ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--requests", type=int, default=5000, help="at least so many, each database"
    )
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    is_wrong = False
    for kind in sites.NAMES:
        if kind == "postgresql" and not sites.postgresql_is_there():
            print("postgresql    none answers; left out")
            continue
        with tempfile.TemporaryDirectory() as folder, sites.make_site(kind, Path(folder)) as site:
            found = ask(site, asked.requests, asked.seed)
        told = ", ".join(f"{status}: {count}" for status, count in sorted(found.statuses.items()))
        print(f"{kind:<13} {found.requests} requests ({told}), {len(found.wrong)} went wrong")
        for each in found.wrong[:20]:
            print(f"  {each}")
        is_wrong |= bool(found.wrong) or found.requests < asked.requests
    return int(is_wrong)


def ask(site: Any, requests: int, begin: int = 1) -> Found:
    """Send at least so many requests to every route in turn."""
    there = seeded(site)
    client = sites.open_client(site, there.olga, raise_server_exceptions=False)
    operations = _operations_of(client.get(f"{PREFIX}/openapi.json").text)
    ids = _ids_of(site, there)
    found = Found()
    rounds = 0
    while found.requests < requests:
        left = requests - found.requests
        each_time = max(1, -(-left // (3 * len(operations))))
        for number, operation in enumerate(operations):
            known = {name: value for name, value in ids.items() if f"{{{name}}}" in operation.path}
            kinds = [(POSITIVE, {}), (NEGATIVE, {}), (POSITIVE, known)]
            for kind, given_ids in kinds:
                mark = begin + 1000 * rounds + number
                _send(client, operation, kind, given_ids, each_time, mark, found)
        rounds += 1
    return found


@cache
def _operations_of(description: str) -> list[Any]:
    """Return the operations of a description: working out what can be sent takes longer than sending it."""
    schema = schemathesis.openapi.from_dict(json.loads(description))
    return [each.ok() for each in schema.get_all_operations()]


def _ids_of(site: Any, there: Seeded) -> dict[str, str]:
    """Return the ids of what is there, by the names of parameters."""
    with site.reading() as unit:
        audited = unit.connection.execute(
            select(audit.c.id, audit.c.model_version_id, model_version.c.model_id).join(
                model_version, model_version.c.id == audit.c.model_version_id
            )
        ).one()
        delivered = unit.connection.execute(select(delivery.c.id)).scalar_one()
    return {
        "release_id": there.release,
        "waiver_id": there.waiver,
        "webhook_id": there.webhook,
        "delivery_id": delivered,
        "account_id": there.rita.account_id,
        "audit_id": audited.id,
        "version_id": audited.model_version_id,
        "model_id": audited.model_id,
        "check_id": "text-1",
        "name": "standard",
    }


def _send(
    client: Any,
    operation: Any,
    kind: GenerationMode,
    ids: dict[str, str],
    count: int,
    mark: int,
    found: Found,
) -> None:
    more = {"path_parameters": ids} if ids else {}

    @seed(mark)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(kind, **more))
    def send(case: Any) -> None:
        asked = case.as_transport_kwargs(base_url="http://testserver")
        known = {"method", "url", "headers", "params", "json", "data", "content"}
        client.cookies.clear()
        client.cookies.update(asked.get("cookies"))
        if isinstance(asked.get("data"), bytes | str):
            asked["content"] = asked.pop("data")
        answer = client.request(**{key: asked[key] for key in known & set(asked)})
        found.statuses[answer.status_code] += 1
        status = answer.status_code
        is_told = answer.headers.get("content-type", "") == PROBLEM
        if status >= 500 or status == UNKNOWN or (status >= 400 and not is_told):
            found.wrong.append(f"{answer.status_code} {case.as_curl_command()[:2000]}")

    with suppress(Unsatisfiable):  # a route that takes nothing can be asked nothing wrong
        send()


if __name__ == "__main__":
    raise SystemExit(main())
