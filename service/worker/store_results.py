"""What a job found, committed once: all of it in one transaction that the fence lets through, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import insert, select, update

from treewarden.reports.document.gate import Entry
from treewarden.service.database.run_tables import audit, comparison, finding, proposal, report
from treewarden.service.database.tables import (
    blob,
    contributor,
    data_table,
    model_version,
    organisation,
)
from treewarden.service.errors import UnavailableError, new_id
from treewarden.service.ledger.log import Event, emit, record
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.blobs import add_contributors
from treewarden.service.use_cases.contradictions import seal_audit
from treewarden.service.use_cases.jobs import add_event, cancel_audit
from treewarden.service.use_cases.retention import (
    MOST_DAYS,
    Erased,
    erase_blob,
    erase_files,
    finish_with_tables,
    tables_of_audit,
)
from treewarden.service.vault.vault import Stored
from treewarden.service.worker.leases import JobClaim, end
from treewarden.service.worker.orders import JobAnswer, KeptFile, Proposed

EXITS = {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3}
NO_AUDIT = 4
MOST_REPORT = 2**30
File = tuple[KeptFile, Stored]
Say = Callable[[Unit, JobClaim, JobAnswer, Sequence[File]], None]


def store(site: Site, answer: JobAnswer, files: Sequence[bytes]) -> tuple[File, ...]:
    """Put the reports of an answer into the vault, where nobody finds them until their rows are written.

    Raises:
        UnavailableError: the vault cannot be written.
    """
    return tuple(
        (kept_file, site.vault.put([data], MOST_REPORT))
        for kept_file, data in zip(answer.kept, files, strict=True)
    )


def commit(site: Site, job_claim: JobClaim, answer: JobAnswer, files: Sequence[File]) -> bool:
    """Write down what a job found, and return whether this attempt still held it; if not, nothing is kept.

    Where the connection was lost at the very end, the database may have taken it all the same: so files stay until
    that is known, and whoever asks again with the same files is told.

    Raises:
        UnavailableError: the database cannot be reached, or was lost before it said that it took the result.
    """
    state = "error" if answer.problem else "done"
    try:
        ended = finish(
            site,
            job_claim,
            state,
            answer.problem,
            lambda unit: SAYS[job_claim.kind](unit, job_claim, answer, files),
            verdict=answer.verdict,
        ) or _is_taken(site, files)
    except UnavailableError:
        raise
    except Exception:  # whatever it is, it was undone
        discard(site, files)
        raise
    if not ended:
        discard(site, files)
    return ended


def discard(site: Site, files: Sequence[File]) -> None:
    """Remove files that no row will name."""
    erase_files(site, (Erased(stored.id, stored.digest) for _, stored in files))


def _is_taken(site: Site, files: Sequence[File]) -> bool:
    """Return whether the database took these very files before."""
    if not files:
        return False
    with site.reading() as unit:
        found = select(blob.c.id).where(blob.c.id == files[0][1].id)
        return unit.connection.execute(found).first() is not None


def finish(
    site: Site,
    job_claim: JobClaim,
    state: str,
    problem: str,
    say: Callable[[Unit], None],
    *,
    verdict: str | None = None,
) -> bool:
    """End a job in whatever way, with what is to be said of its subject.

    Its table goes where nobody else needs it, and nobody asked that it stay where the model does not pass. After an
    error it stays for its hours, so that a slip costs no upload.
    """
    erased: Iterable[Erased] = ()
    with site.unit() as unit:
        if not end(unit, job_claim, state, problem):
            return False
        add_event(unit, job_claim.id, job_claim.attempt, state, problem or state)
        # Rows are locked before the log is, as everybody does: else two could wait for each other.
        is_passed = state != "done" or verdict == "PASS"
        erased = () if state == "error" else _table_of(unit, job_claim, is_passed=is_passed)
        say(unit)
    erase_files(site, erased)
    return True


def _table_of(unit: Unit, job_claim: JobClaim, *, is_passed: bool) -> tuple[Erased, ...]:
    if job_claim.kind not in ("audit", "repair"):
        return ()
    found = unit.connection.execute(
        select(audit.c.keeps_table).where(audit.c.id == job_claim.subject_id)
    ).one()
    # what a repair found is audited next: its table is needed once more, whatever came of it
    stays = found.keeps_table and (job_claim.kind == "repair" or not is_passed)
    if stays:
        return ()
    return finish_with_tables(unit, *tables_of_audit(unit, job_claim.subject_id))


def say_of_model(unit: Unit, job_claim: JobClaim, answer: JobAnswer, files: Sequence[File]) -> None:
    """Write down what a model publishes, or why it was refused: then its file goes, as it may be a table by mistake."""
    state = "refused" if answer.problem else "ready"
    blob_id = unit.connection.execute(
        update(model_version)
        .where(model_version.c.id == job_claim.subject_id)
        .values(state=state, problem=answer.problem, format=answer.format, summary=answer.summary)
        .returning(model_version.c.blob_id)
    ).scalar_one()
    if answer.problem:
        unit.afterwards.append(partial(erase_files, unit.site, erase_blob(unit, blob_id)))
    record(unit, job_claim.organisation_id, f"version.{state}", "version", job_claim.subject_id)


def say_of_table(unit: Unit, job_claim: JobClaim, answer: JobAnswer, files: Sequence[File]) -> None:
    """Write down which columns a table has, or why it was refused."""
    state = "refused" if answer.problem else "ready"
    values: dict[str, Any] = {"state": state, "problem": answer.problem}
    if not answer.problem:
        columns = None if answer.columns is None else list(answer.columns)
        values |= {"columns": columns, "records": answer.records, "digest": answer.digest}
    unit.connection.execute(
        update(data_table)
        .where(data_table.c.id == job_claim.subject_id, data_table.c.state == "reading")
        .values(**values)
    )
    record(unit, job_claim.organisation_id, f"table.{state}", "table", job_claim.subject_id)


def say_of_comparison(
    unit: Unit, job_claim: JobClaim, answer: JobAnswer, files: Sequence[File]
) -> None:
    """Write down how two models differ."""
    trees = None if answer.trees is None else list(answer.trees)
    state = "refused" if answer.problem else "ready"
    unit.connection.execute(
        update(comparison)
        .where(comparison.c.id == job_claim.subject_id)
        .values(state=state, problem=answer.problem, trees=trees)
    )


def say_of_audit(unit: Unit, job_claim: JobClaim, answer: JobAnswer, files: Sequence[File]) -> None:
    """Write down a verdict with its findings and reports, or why there is none."""
    state = "error" if answer.problem else "done"
    found = unit.connection.execute(
        update(audit)
        .where(audit.c.id == job_claim.subject_id)
        .values(
            state=state,
            verdict=answer.verdict,
            exit_code=NO_AUDIT if answer.verdict is None else EXITS[answer.verdict],
            headline=answer.headline,
            problem=answer.problem,
            entry=answer.entry,
            provenance=answer.provenance,
            repair_summary=answer.repair_summary,
            result_attempt=job_claim.attempt,
            finished_at=unit.now,
        )
        .returning(audit)
    ).one()
    if answer.entry is not None:
        _keep_findings(unit, job_claim, Entry.model_validate(answer.entry))
    repaired = {
        kept_file.form: stored.id for kept_file, stored in files if kept_file.kind == "repaired"
    }
    for told, stored in files:
        _keep_blob(unit, job_claim, told, stored)
        if told.kind != "repaired":
            unit.connection.execute(
                insert(report).values(
                    id=new_id(),
                    organisation_id=job_claim.organisation_id,
                    audit_id=job_claim.subject_id,
                    kind=told.kind,
                    form=told.form,
                    blob_id=stored.id,
                    created_at=unit.now,
                )
            )
    _keep_proposals(unit, job_claim, answer.proposals, repaired)
    _pass_on_contributors(unit, found.model_version_id, repaired.values())
    told_of = {"state": state, "verdict": answer.verdict, "attempt": job_claim.attempt}
    seal = {} if answer.problem else {"seal": seal_audit(unit, job_claim.subject_id)}
    logged = told_of | seal
    record(
        unit,
        job_claim.organisation_id,
        f"{found.kind}.{state}",
        "audit",
        job_claim.subject_id,
        logged,
    )
    payload = {"audit_id": job_claim.subject_id, "kind": found.kind, **told_of}
    emit(unit, job_claim.organisation_id, Event.AUDIT_FINISHED, payload)


def say_cancelled(unit: Unit, job_claim: JobClaim) -> None:
    """Write down that a job was cancelled."""
    if job_claim.kind in ("audit", "repair"):
        cancel_audit(unit, job_claim.organisation_id, job_claim.subject_id)


def _keep_findings(unit: Unit, job_claim: JobClaim, entry: Entry) -> None:
    rows = [
        {
            "id": new_id(),
            "organisation_id": job_claim.organisation_id,
            "audit_id": job_claim.subject_id,
            "n": number,
            "result_id": result.id,
            "clause": result.clause,
            "verdict": result.verdict,
            "severity": result.severity,
            "message": result.message,
            "leaf": result.leaf,
            "path": result.path,
            "accepted": None
            if result.accepted is None
            else result.accepted.model_dump(mode="json", by_alias=True),
        }
        for number, result in enumerate(entry.results, start=1)
    ]
    if rows:
        unit.connection.execute(insert(finding), rows)


def _keep_blob(unit: Unit, job_claim: JobClaim, kept_file: KeptFile, stored: Stored) -> None:
    """Write a file down; one that a repair made is kept as long as reports are, unless somebody takes it before."""
    is_repaired = kept_file.kind == "repaired"
    unit.connection.execute(
        insert(blob).values(
            id=stored.id,
            organisation_id=job_claim.organisation_id,
            digest=stored.digest,
            size=stored.size,
            kind="model" if is_repaired else "report",
            sealed_key=stored.sealed_key,
            created_at=unit.now,
            expires_at=_report_end(unit, job_claim.organisation_id) if is_repaired else None,
        )
    )


def _report_end(unit: Unit, organisation_id: str) -> datetime:
    days = unit.connection.execute(
        select(organisation.c.report_days).where(organisation.c.id == organisation_id)
    ).scalar_one()
    return unit.now + timedelta(days=min(days, MOST_DAYS))


def _keep_proposals(
    unit: Unit, job_claim: JobClaim, proposals: Sequence[Proposed], repaired: Mapping[str, str]
) -> None:
    """Write down what a repair tried; ``repaired`` are the ids of the files that were kept, by number."""
    rows = [
        {
            **told.model_dump(mode="json"),
            "id": new_id(),
            "organisation_id": job_claim.organisation_id,
            "audit_id": job_claim.subject_id,
            "n": number,
            "blob_id": repaired.get(str(number)),
        }
        for number, told in enumerate(proposals, start=1)
    ]
    if rows:
        unit.connection.execute(insert(proposal), rows)


def _pass_on_contributors(unit: Unit, version_id: str, blob_ids: Iterable[str]) -> None:
    """Write down of repaired files that who brought the file before brought them too."""
    given = unit.connection.execute(
        select(model_version.c.blob_id, model_version.c.uploaded_by).where(
            model_version.c.id == version_id
        )
    ).one()
    before = unit.connection.execute(
        select(contributor.c.account_id).where(contributor.c.blob_id == given.blob_id)
    ).scalars()
    brought_by = [*before, given.uploaded_by]
    for blob_id in blob_ids:
        add_contributors(unit, blob_id, brought_by)


SAYS: Mapping[str, Say] = {
    "inspect_model": say_of_model,
    "inspect_table": say_of_table,
    "compare": say_of_comparison,
    "audit": say_of_audit,
    "repair": say_of_audit,
}
