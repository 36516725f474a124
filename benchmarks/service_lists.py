"""Times the lists of a service that holds many audits, as the server answers them without a network.

Run as ``python -m benchmarks.service_lists [--audits 10000] [--models 200] [--databases sqlite]``: each audit has
five findings, eight reports and an entry of a usual size. Ends with 1 where the median of a list is 100 ms or more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import structlog
from sqlalchemy import insert, text

from tests.kit.service import sites
from treewarden.service.database.tables import (
    audit,
    blob,
    finding,
    job,
    model,
    model_version,
    report,
)
from treewarden.service.ids import new_id

GOAL_MS = 100.0
ASKED = (
    "/",
    "/models",
    "/audits",
    "/packs",
    "/api/v1/models?limit=50",
    "/api/v1/audits?limit=50",
    "/api/v1/audits?limit=200",
    "/api/v1/audits?limit=50&cursor={middle}",
    "/api/v1/audits/{middle}/findings",
    "/metrics",
)
FORMS = ("sarif", "junit", "markdown", "csv", "html", "json")
VERDICTS = ("FAIL", "FAIL", "PASS", "UNDETERMINED")
ENTRY = {
    "results": [{"message": "a group of the table is smaller than it may be"} for _ in range(150)]
}
AT_ONCE = 500


def main() -> int:
    """Fill, time, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--databases", nargs="+", choices=sites.NAMES, default=list(sites.NAMES))
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    is_slow = False
    for kind in asked.databases:
        if kind == "postgresql" and not sites.postgresql_is_there():
            print("postgresql    not here")
            continue
        with tempfile.TemporaryDirectory() as folder, sites.make_site(kind, Path(folder)) as site:
            is_slow |= measured(kind, site, asked)
    return int(is_slow)


def measured(kind, site, asked):
    """Fill a database, time each list, and return whether one was too slow."""
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    ids, models = filled(site, who, asked.audits, asked.models)
    with site.unit() as unit:
        unit.connection.execute(text("ANALYZE"))
    client = sites.open_client(site, who)
    print(f"{kind}: {asked.audits:,} audits of {asked.models:,} models")
    print(f"{'ms':44} {'least':>8} {'median':>8}")
    is_slow = False
    for path in ASKED:
        address = path.format(model=models[0], middle=ids[len(ids) // 2])
        taken = []
        for _ in range(asked.repeats + 1):
            started = time.perf_counter()
            assert client.get(address).status_code == 200, address
            taken.append(1000 * (time.perf_counter() - started))
        median = statistics.median(taken[1:])
        print(f"{path:44} {min(taken[1:]):8.1f} {median:8.1f}")
        is_slow |= median >= GOAL_MS and path != "/metrics"
    return is_slow


def filled(site, who, audits, models):
    """Write so many audits, and return their ids and those of the models."""
    own = {"organisation_id": who.organisation_id}
    made, of = [], [new_id() for _ in range(models)]
    with site.unit() as unit:
        at = {"created_at": unit.now}
        by = {"created_by": who.account_id}
        kept = {**own, "id": new_id(), "digest": "0" * 64, "size": 1, "kind": "report", **at}
        unit.connection.execute(insert(blob).values(**kept))
        rows = [{"id": each, "name": f"model {n}", **own, **at, **by} for n, each in enumerate(of)]
        unit.connection.execute(insert(model), rows)
        versions = [
            {
                "id": new_id(),
                "model_id": each,
                "n": n,
                "blob_id": kept["id"],
                "digest": "0" * 64,
                "size": 1,
                "file_name": "model.pmml",
                "state": "ready",
                "format": "pmml",
                "summary": None,
                "uploaded_by": who.account_id,
                **own,
                **at,
            }
            for each in of
            for n in (1, 2, 3)
        ]
        unit.connection.execute(insert(model_version), versions)
        for start in range(0, audits, AT_ONCE):
            part = range(start, min(start + AT_ONCE, audits))
            rows = [_audit(n, versions[n % len(versions)]["id"], own, at, by) for n in part]
            made += [each["id"] for each in rows]
            unit.connection.execute(insert(audit), rows)
            unit.connection.execute(insert(job), [_job(each, own, at) for each in rows])
            unit.connection.execute(
                insert(finding), [_finding(each, n, own) for each in rows for n in range(5)]
            )
            unit.connection.execute(
                insert(report),
                [_report(each, form, kept["id"], own, at) for each in rows for form in FORMS],
            )
    return made, of


def _audit(n, version, own, at, by):
    return {
        "id": new_id(),
        "kind": "audit",
        "model_version_id": version,
        "pack_name": "accurate",
        "pack_digest": "0" * 64,
        "options": {"sensitive": "illness"},
        "waivers": [],
        "state": "done",
        "verdict": VERDICTS[n % len(VERDICTS)],
        "exit_code": 1,
        "headline": "2 of 7 clauses are not met",
        "entry": ENTRY,
        "provenance": {"version": "0"},
        "finished_at": at["created_at"],
        **own,
        **at,
        **by,
    }


def _job(of, own, at):
    ended = {"started_at": at["created_at"], "finished_at": at["created_at"], "attempt": 1}
    return (
        {"id": new_id(), "kind": "audit", "subject_id": of["id"], "state": "done", **ended}
        | own
        | at
    )


def _finding(of, n, own):
    said = {"verdict": "FAIL", "severity": "high", "message": "a group is small"}
    return {
        "id": new_id(),
        "audit_id": of["id"],
        "n": n,
        "result_id": "r",
        "clause": "c",
        **said,
        **own,
    }


def _report(of, form, blob_id, own, at):
    return {
        "id": new_id(),
        "audit_id": of["id"],
        "kind": "public",
        "form": form,
        "blob_id": blob_id,
        **own,
        **at,
    }


if __name__ == "__main__":
    sys.exit(main())
