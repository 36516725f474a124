"""What a job found, committed once: all of it in one transaction that the fence lets through, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Row, insert, select, update

from reports.document.gate import Entry
from service.cases.blobs import add_contributors
from service.cases.contradictions import seal_audit
from service.cases.erasing import Erased, erase_blob, erase_files, finish_with_table
from service.cases.jobs import cancel_audit
from service.cases.queueing import add_event, queue_job
from service.database.tables import (
    audit,
    blob,
    comparison,
    contributor,
    data_table,
    finding,
    model,
    model_version,
    report,
)
from service.errors import UnavailableError
from service.ids import new_id
from service.jobs.leases import Claim, end
from service.jobs.orders import Answer, Kept
from service.ledger.events import Event, emit
from service.ledger.log import record
from service.site import Site, Unit
from service.vault.receiving import Stored

EXITS = {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3}
NO_AUDIT = 4
MOST_REPORT = 2**30
File = tuple[Kept, Stored]
Say = Callable[[Unit, Claim, Answer, Sequence[File]], None]


def store(site: Site, answer: Answer, files: Sequence[bytes]) -> tuple[File, ...]:
    """Put the reports of an answer into the vault, where nobody finds them until their rows are written.

    Raises:
        UnavailableError: the vault cannot be written.
    """
    return tuple(
        (told, site.vault.put([data], MOST_REPORT))
        for told, data in zip(answer.kept, files, strict=True)
    )


def commit(site: Site, of: Claim, answer: Answer, kept: Sequence[File]) -> bool:
    """Write down what a job found, and return whether this attempt still held it; if not, nothing is kept.

    Where the connection was lost at the very end, the database may have taken it all the same: so files stay until
    that is known, and whoever asks again with the same files is told.

    Raises:
        UnavailableError: the database cannot be reached, or was lost before it said that it took the result.
    """
    state = "error" if answer.problem else "done"
    try:
        ended = finish(
            site, of, state, answer.problem, lambda unit: SAYS[of.kind](unit, of, answer, kept)
        ) or _is_taken(site, kept)
    except UnavailableError:
        raise
    except Exception:  # whatever it is, it was undone
        discard(site, kept)
        raise
    if not ended:
        discard(site, kept)
    return ended


def discard(site: Site, kept: Sequence[File]) -> None:
    """Remove files that no row will name."""
    erase_files(site, (Erased(stored.id, stored.digest) for _, stored in kept))


def _is_taken(site: Site, kept: Sequence[File]) -> bool:
    """Return whether the database took these very files before."""
    if not kept:
        return False
    with site.reading() as unit:
        found = select(blob.c.id).where(blob.c.id == kept[0][1].id)
        return unit.connection.execute(found).first() is not None


def finish(site: Site, of: Claim, state: str, problem: str, say: Callable[[Unit], None]) -> bool:
    """End a job in whatever way, with what is to be said of its subject.

    Its table goes where nobody else needs it; after an error it stays for its hours, so that a slip costs no upload.
    """
    erased: Iterable[Erased] = ()
    with site.unit() as unit:
        if not end(unit, of, state, problem):
            return False
        add_event(unit, of.id, of.attempt, state, problem or state)
        # Rows are locked before the log is, as everybody does, the model's first: else two could wait for each other.
        _lock_model(unit, of)
        erased = () if state == "error" else _table_of(unit, of)
        say(unit)
    erase_files(site, erased)
    return True


def _lock_model(unit: Unit, of: Claim) -> None:
    """Lock the model that a repair may add a version to; numbers are given one at a time."""
    if of.kind == "repair":
        asked = (
            select(model_version.c.model_id)
            .join(audit, audit.c.model_version_id == model_version.c.id)
            .where(audit.c.id == of.subject_id)
        )
        unit.connection.execute(
            select(model.c.id).where(model.c.id == asked.scalar_subquery()).with_for_update()
        )


def _table_of(unit: Unit, of: Claim) -> tuple[Erased, ...]:
    if of.kind not in ("audit", "repair"):
        return ()
    table_id = unit.connection.execute(
        select(audit.c.data_table_id).where(audit.c.id == of.subject_id)
    ).scalar_one()
    return () if table_id is None else finish_with_table(unit, table_id)


def say_of_model(unit: Unit, of: Claim, answer: Answer, kept: Sequence[File]) -> None:
    """Write down what a model publishes, or why it was refused: then its file goes, as it may be a table by mistake."""
    state = "refused" if answer.problem else "ready"
    blob_id = unit.connection.execute(
        update(model_version)
        .where(model_version.c.id == of.subject_id)
        .values(state=state, problem=answer.problem, format=answer.format, summary=answer.summary)
        .returning(model_version.c.blob_id)
    ).scalar_one()
    if answer.problem:
        unit.afterwards.append(partial(erase_files, unit.site, erase_blob(unit, blob_id)))
    record(unit, of.organisation_id, f"version.{state}", "version", of.subject_id)


def say_of_table(unit: Unit, of: Claim, answer: Answer, kept: Sequence[File]) -> None:
    """Write down which columns a table has, or why it was refused."""
    state = "refused" if answer.problem else "ready"
    values: dict[str, Any] = {"state": state, "problem": answer.problem}
    if not answer.problem:
        columns = None if answer.columns is None else list(answer.columns)
        values |= {"columns": columns, "records": answer.records, "digest": answer.digest}
    unit.connection.execute(
        update(data_table)
        .where(data_table.c.id == of.subject_id, data_table.c.state == "reading")
        .values(**values)
    )
    record(unit, of.organisation_id, f"table.{state}", "table", of.subject_id)


def say_of_comparison(unit: Unit, of: Claim, answer: Answer, kept: Sequence[File]) -> None:
    """Write down how two models differ."""
    trees = None if answer.trees is None else list(answer.trees)
    state = "refused" if answer.problem else "ready"
    unit.connection.execute(
        update(comparison)
        .where(comparison.c.id == of.subject_id)
        .values(state=state, problem=answer.problem, trees=trees)
    )


def say_of_audit(unit: Unit, of: Claim, answer: Answer, kept: Sequence[File]) -> None:
    """Write down a verdict with its findings and reports, or why there is none."""
    state = "error" if answer.problem else "done"
    found = unit.connection.execute(
        update(audit)
        .where(audit.c.id == of.subject_id)
        .values(
            state=state,
            verdict=answer.verdict,
            exit_code=NO_AUDIT if answer.verdict is None else EXITS[answer.verdict],
            headline=answer.headline,
            problem=answer.problem,
            entry=answer.entry,
            provenance=answer.provenance,
            result_attempt=of.attempt,
            finished_at=unit.now,
        )
        .returning(audit)
    ).one()
    if answer.entry is not None:
        _keep_findings(unit, of, Entry.model_validate(answer.entry))
    for told, stored in kept:
        _keep_blob(unit, of, told, stored)
        if told.kind == "repaired":
            _keep_version(unit, found, stored)
        else:
            unit.connection.execute(
                insert(report).values(
                    id=new_id(),
                    organisation_id=of.organisation_id,
                    audit_id=of.subject_id,
                    kind=told.kind,
                    form=told.form,
                    blob_id=stored.id,
                    created_at=unit.now,
                )
            )
    told_of = {"state": state, "verdict": answer.verdict, "attempt": of.attempt}
    seal = {} if answer.problem else {"seal": seal_audit(unit, of.subject_id)}
    logged = told_of | seal
    record(unit, of.organisation_id, f"{found.kind}.{state}", "audit", of.subject_id, logged)
    payload = {"audit_id": of.subject_id, "kind": found.kind, **told_of}
    emit(unit, of.organisation_id, Event.AUDIT_FINISHED, payload)


def say_cancelled(unit: Unit, of: Claim) -> None:
    """Write down that a job was cancelled."""
    if of.kind in ("audit", "repair"):
        cancel_audit(unit, of.organisation_id, of.subject_id)


def _keep_findings(unit: Unit, of: Claim, entry: Entry) -> None:
    rows = [
        {
            "id": new_id(),
            "organisation_id": of.organisation_id,
            "audit_id": of.subject_id,
            "n": number,
            "result_id": each.id,
            "clause": each.clause,
            "verdict": each.verdict,
            "severity": each.severity,
            "message": each.message,
            "leaf": each.leaf,
            "path": each.path,
            "accepted": None
            if each.accepted is None
            else each.accepted.model_dump(mode="json", by_alias=True),
        }
        for number, each in enumerate(entry.results, start=1)
    ]
    if rows:
        unit.connection.execute(insert(finding), rows)


def _keep_blob(unit: Unit, of: Claim, told: Kept, stored: Stored) -> None:
    unit.connection.execute(
        insert(blob).values(
            id=stored.id,
            organisation_id=of.organisation_id,
            digest=stored.digest,
            size=stored.size,
            kind="model" if told.kind == "repaired" else "report",
            sealed_key=stored.sealed_key,
            created_at=unit.now,
        )
    )


def _keep_version(unit: Unit, found: Row[Any], stored: Stored) -> None:
    """Write the repaired file down as a new version, by whoever asked; who brought the file before brought it too."""
    given = unit.connection.execute(
        select(model_version).where(model_version.c.id == found.model_version_id)
    ).one()
    same = model_version.c.model_id == given.model_id
    last = unit.connection.execute(
        select(model_version.c.n).where(same).order_by(model_version.c.n.desc()).limit(1)
    ).scalar_one()
    made = new_id()
    unit.connection.execute(
        insert(model_version).values(
            id=made,
            organisation_id=given.organisation_id,
            model_id=given.model_id,
            n=last + 1,
            blob_id=stored.id,
            digest=stored.digest,
            size=stored.size,
            file_name=given.file_name,
            state="reading",
            uploaded_by=found.created_by,
            created_at=unit.now,
        )
    )
    unit.connection.execute(
        update(audit).where(audit.c.id == found.id).values(repaired_version_id=made)
    )
    before = unit.connection.execute(
        select(contributor.c.account_id).where(contributor.c.blob_id == given.blob_id)
    ).scalars()
    add_contributors(unit, stored.id, [*before, given.uploaded_by])
    queue_job(unit, given.organisation_id, "inspect_model", made)


SAYS: Mapping[str, Say] = {
    "inspect_model": say_of_model,
    "inspect_table": say_of_table,
    "compare": say_of_comparison,
    "audit": say_of_audit,
    "repair": say_of_audit,
}
