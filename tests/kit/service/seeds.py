"""What pages of reviewers and administrators show, put into a database as jobs and others would leave it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import insert

from tests.kit.service import sites
from tests.kit.service.sealing import seal_all
from treewarden.service.auth.principal import Principal, Role
from treewarden.service.database import run_tables, tables
from treewarden.service.errors import new_id
from treewarden.service.ledger.log import record

DIGEST = "ab12" * 16
NASTY = "<script>document.title = 'taken over'</script>"
"""What must never be more than text, wherever it stands."""


@dataclass(frozen=True)
class Seeded:
    """Who there is, and the ids of what they made."""

    ann: Principal
    rita: Principal
    olga: Principal
    release: str
    waiver: str
    webhook: str


def seeded(site) -> Seeded:
    """Put a release, waivers, a webhook, a worker and rows of the log there; ann made what rita may decide about."""
    organisation = sites.add_organisation(site)
    ann = sites.add_account(site, organisation, "ann", Role.SUBMITTER)
    rita = sites.add_account(site, organisation, "rita", Role.REVIEWER)
    olga = sites.add_account(site, organisation, "olga", Role.ADMINISTRATOR)
    version, audit = _an_audit(site, ann)
    release, waiver, webhook = new_id(), new_id(), new_id()
    with site.unit() as unit:

        def add(table, **values):
            row = {"organisation_id": organisation, **values}
            unit.connection.execute(insert(run_tables.SCHEMA.tables[table]).values(**row))

        add(
            "release",
            id=release,
            model_version_id=version,
            uploader_id=ann.account_id,
            audit_id=audit,
            title=f"For the register {NASTY}",
            purpose="Beside the paper",
            state="open",
            checklist=[{"id": "c0", "text": "The purpose is stated", "is_met": False}],
            opened_by=ann.account_id,
            opened_at=unit.now,
            revision=1,
        )
        waivers = ((waiver, "requested"), (new_id(), "approved"), (new_id(), "refused"))
        for number, (made, state) in enumerate(waivers):
            is_decided = state != "requested"
            add(
                "waiver",
                id=made,
                clause="smallest-leaf",
                leaf=f"{number:024x}",
                reason=f"All of them agreed {NASTY}",
                owner="Dr. Weiss",
                ticket="PRIV-118",
                expires=(date.today() + timedelta(days=9)).isoformat(),
                granted=date.today().isoformat() if state == "approved" else None,
                state=state,
                requested_by=ann.account_id,
                requested_at=unit.now,
                decided_by=rita.account_id if is_decided else None,
                decided_at=unit.now if is_decided else None,
            )
        add(
            "webhook",
            id=webhook,
            url="https://hooks.example/a",
            sealed_secret=site.vault.seal(b"secret"),
            events=["audit.finished"],
            created_by=olga.account_id,
            created_at=unit.now,
        )
        add(
            "delivery",
            id=new_id(),
            webhook_id=webhook,
            event="audit.finished",
            payload={"event": "audit.finished"},
            state="failed",
            attempts=6,
            problem="no answer within 10 seconds",
            created_at=unit.now,
        )
        unit.connection.execute(
            insert(run_tables.worker).values(
                id=new_id(),
                name="host/1",
                slots=1,
                version="1",
                started_at=unit.now,
                seen_at=unit.now,
            )
        )
        record(unit, ann, "release.opened", "release", release, {"title": NASTY})
    seal_all(site)
    sites.add_token(site, ann)
    return Seeded(ann, rita, olga, release, waiver, webhook)


def _an_audit(site, who):
    """Put an audit there that passed; return the ids of the version and of the audit."""
    blob, model, version, audit = (new_id() for _ in range(4))
    told = {"organisation_id": who.organisation_id}
    with site.unit() as unit:
        made = {"created_by": who.account_id, "created_at": unit.now}
        rows = (
            (
                tables.blob,
                {
                    "id": blob,
                    "digest": DIGEST,
                    "size": 9,
                    "kind": "model",
                    "sealed_key": b"k",
                    "created_at": unit.now,
                },
            ),
            (tables.model, {"id": model, "name": "Readmission", "description": "", **made}),
            (
                tables.model_version,
                {
                    "id": version,
                    "model_id": model,
                    "n": 1,
                    "blob_id": blob,
                    "digest": DIGEST,
                    "size": 9,
                    "file_name": "model.pmml",
                    "state": "ready",
                    "uploaded_by": who.account_id,
                    "created_at": unit.now,
                },
            ),
            (
                run_tables.audit,
                {
                    "id": audit,
                    "kind": "audit",
                    "model_version_id": version,
                    "pack_name": "standard",
                    "pack_digest": DIGEST,
                    "options": {},
                    "waivers": [],
                    "state": "done",
                    "verdict": "PASS",
                    "exit_code": 0,
                    "headline": "Everything that the policy asks for is met",
                    "finished_at": unit.now,
                    **made,
                },
            ),
            (
                run_tables.finding,
                {
                    "id": new_id(),
                    "audit_id": audit,
                    "n": 1,
                    "result_id": "r",
                    "clause": "smallest-leaf",
                    "verdict": "FAIL",
                    "severity": "error",
                    "message": "a leaf holds fewer than 10 people",
                    "accepted": {"owner": "Dr. Weiss", "reason": NASTY},
                },
            ),
        )
        for table, values in rows:
            unit.connection.execute(insert(table).values(**told, **values))
    return version, audit
