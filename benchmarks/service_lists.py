"""Times the lists of a service that holds many audits, as the server answers them without a network.

Run as ``python -m benchmarks.service_lists [--audits 10000] [--models 200] [--databases sqlite]``: each audit has
five findings, six reports, a row of the log and an entry of a usual size; there are releases, half of them undecided,
waivers on which audits rest, packs of the organisation, and twenty people. PostgreSQL has counted its tables, as it
does by itself; SQLite has not, as nobody has it do so. Beside the time stands that of the processor in this process,
which other work on the machine changes less; with SQLite it is all there is. Ends with 1 where the median of a list is
100 ms or more.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import structlog
from sqlalchemy import insert, text

import treewarden.policies
from tests.kit.service import sites
from treewarden.service.database.run_tables import audit, finding, job, log_entry, report
from treewarden.service.database.tables import (
    blob,
    contributor,
    model,
    model_version,
    pack,
    pack_version,
    release,
    waiver,
)
from treewarden.service.errors import new_id

GOAL_MS = 100.0
ASKED = (
    "/",
    "/models",
    "/audits",
    "/audits?state=running",
    "/releases",
    "/waivers",
    "/packs",
    "/log",
    "/audits/{middle}",
    "/models/{model}",
    "/api/v1/models?limit=50",
    "/api/v1/audits?limit=50",
    "/api/v1/audits?limit=200",
    "/api/v1/audits?limit=50&cursor={middle}",
    "/api/v1/audits/{middle}/findings",
    "/api/v1/releases?limit=50",
    "/api/v1/waivers?limit=50",
    "/api/v1/packs",
    "/api/v1/audit-log?limit=50",
    "/metrics",
)
FORMS = ("sarif", "junit", "markdown", "csv", "html", "json")
VERDICTS = ("FAIL", "FAIL", "PASS", "UNDETERMINED")
ENTRY = {
    "results": [{"message": "a group of the table is smaller than it may be"} for _ in range(150)]
}
AT_ONCE = 500
PEOPLE, RELEASES, WAIVERS, PACKS = 20, 400, 200, 20
STATES = ("open", "changes", "released", "rejected")
FOLDER = Path(treewarden.policies.__file__).with_name("packs")
SHIPPED = "strict"


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
        with tempfile.TemporaryDirectory() as folder, open_site(kind, folder) as site:
            is_slow |= measured(kind, site, asked)
    return int(is_slow)


def open_site(kind, folder):
    """Return what gives a site with an empty database, whose figures may be read."""
    return sites.make_site(kind, Path(folder), metrics_open=True)


def measured(kind, site, asked):
    """Fill a database, time each list, and return whether one was too slow."""
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    ids, models = filled(site, who, asked.audits, asked.models)
    if kind == "postgresql":
        with site.unit() as unit:
            unit.connection.execute(text("ANALYZE"))
    client = sites.open_client(site, who)
    print(f"{kind}: {asked.audits:,} audits of {asked.models:,} models")
    print(f"{'ms':44} {'least':>8} {'median':>8} {'of processor':>13}")
    is_slow = False
    for path in ASKED:
        address = path.format(model=models[0], middle=ids[len(ids) // 2])
        taken, worked = [], []
        for _ in range(asked.repeats + 1):
            started, busy = time.perf_counter(), time.process_time()
            assert client.get(address).status_code == 200, address
            taken.append(1000 * (time.perf_counter() - started))
            worked.append(1000 * (time.process_time() - busy))
        median = statistics.median(taken[1:])
        busy = statistics.median(worked[1:])
        print(f"{path:44} {min(taken[1:]):8.1f} {median:8.1f} {busy:13.1f}")
        is_slow |= median >= GOAL_MS and path != "/metrics"
    return is_slow


def filled(site, who, audits, models):
    """Write so many audits, and return their ids and those of the models."""
    own = {"organisation_id": who.organisation_id}
    made, of = [], [new_id() for _ in range(models)]
    people = [who, *(sites.add_account(site, who.organisation_id, f"p{n}") for n in range(PEOPLE))]
    with site.unit() as unit:
        at = {"created_at": unit.now}
        by = {"created_by": who.account_id}
        kept = {**own, "id": new_id(), "digest": "0" * 64, "size": 1, "kind": "report", **at}
        unit.connection.execute(insert(blob).values(**kept))
        rows = [{"id": each, "name": f"model {n}", **own, **at, **by} for n, each in enumerate(of)]
        unit.connection.execute(insert(model), rows)
        versions = [
            _version(each, n, people[(k + n) % len(people)], own, at)
            for k, each in enumerate(of)
            for n in (1, 2, 3)
        ]
        files = [_file(each, own, at) for each in versions]
        unit.connection.execute(insert(blob), files)
        parts = [
            {"blob_id": each["blob_id"], "account_id": some.account_id, **at}
            for n, each in enumerate(versions)
            for some in {people[n % len(people)], people[(n + 1) % len(people)]}
        ]
        unit.connection.execute(insert(contributor), parts)
        unit.connection.execute(insert(model_version), versions)
        asked = [_waiver(n, people, own, unit.now) for n in range(WAIVERS)]
        unit.connection.execute(insert(waiver), asked)
        policies = _packs(unit, people, own, at)
        for start in range(0, audits, AT_ONCE):
            part = range(start, min(start + AT_ONCE, audits))
            rows = [_audit(n, versions[n % len(versions)]["id"], own, at, by) for n in part]
            for n, each in zip(part, rows, strict=True):
                each["created_by"] = people[n % len(people)].account_id
                each["waivers"] = [asked[n % len(asked)]["id"]] if n % 3 == 0 else []
                each["pack_version_id"] = policies[n % len(policies)] if n % 2 else None
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
            log = [_logged(n, each, who, own, unit.now) for n, each in zip(part, rows, strict=True)]
            unit.connection.execute(insert(log_entry), log)
        wishes = [
            _release(n, versions[n % len(versions)], made[n], people, own, unit.now)
            for n in range(min(RELEASES, audits))
        ]
        if wishes:
            unit.connection.execute(insert(release), wishes)
    return made, of


def _version(model_id, n, by, own, at):
    return {
        "id": new_id(),
        "model_id": model_id,
        "n": n,
        "blob_id": new_id(),
        "digest": secrets.token_hex(32),
        "size": 1,
        "file_name": "model.pmml",
        "state": "ready",
        "format": "pmml",
        "summary": None,
        "uploaded_by": by.account_id,
        **own,
        **at,
    }


def _file(of, own, at):
    said = {"size": 1, "kind": "model", "uploaded_by": of["uploaded_by"]}
    return {"id": of["blob_id"], "digest": of["digest"], **said, **own, **at}


def _waiver(n, people, own, now):
    decided = {"decided_by": people[1].account_id, "decided_at": now} if n % 2 else {}
    return {
        "id": new_id(),
        "clause": f"clause {n}",
        "leaf": "0" * 64,
        "digest": "",
        "model_name": f"model {n}",
        "reason": "known, and the table is public",
        "owner": "ann",
        "ticket": f"T-{n}",
        "expires": (now + timedelta(days=10)).date().isoformat(),
        "granted": now.date().isoformat() if n % 2 else None,
        "state": "approved" if n % 2 else "requested",
        "requested_by": people[2 + n % 9].account_id,
        "requested_at": now,
        "decided_by": None,
        "decided_at": None,
        **decided,
        **own,
    }


def _packs(unit, people, own, at):
    """Write packs of an organisation, three versions of each, and return the ids of the versions."""
    toml = (FOLDER / f"{SHIPPED}.toml").read_text()
    packs = [
        {"id": new_id(), "name": f"pack {n}", "created_by": people[3].account_id, **own, **at}
        for n in range(PACKS)
    ]
    unit.connection.execute(insert(pack), packs)
    versions = [
        {
            "id": new_id(),
            "pack_id": each["id"],
            "n": n,
            "digest": secrets.token_hex(32),
            "toml": toml,
            "created_by": people[3].account_id,
            **own,
            **at,
        }
        for each in packs
        for n in (1, 2, 3)
    ]
    unit.connection.execute(insert(pack_version), versions)
    return [each["id"] for each in versions]


def _release(n, version, audit_id, people, own, now):
    state = STATES[n % len(STATES)]
    return {
        "id": new_id(),
        "model_version_id": version["id"],
        "uploader_id": version["uploaded_by"],
        "audit_id": audit_id,
        "title": f"release {n}",
        "state": state,
        "checklist": [{"text": "The purpose is stated", "is_met": False}],
        "opened_by": people[n % 7].account_id,
        "opened_at": now,
        "decided_at": None if state in ("open", "changes") else now,
        **own,
    }


def _logged(n, of, who, own, now):
    return {
        "seq": n + 1,
        "at": now,
        "actor_id": who.account_id,
        "actor": who.name,
        "action": "audit.submitted",
        "object_kind": "audit",
        "object_id": of["id"],
        "detail": {"version": of["model_version_id"]},
        "previous_hash": "0" * 64,
        "hash": "0" * 64,
        **own,
    }


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
