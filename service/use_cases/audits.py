"""Audits and repairs: submitted, looked at, cancelled; a worker does them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Row, Select, and_, func, insert, select

from treewarden.audit.knowledge.knowledge import read_knowledge
from treewarden.audit.option_spec import OptionDoor
from treewarden.audit.options import OPTION_SPECS, AuditOptions, find_conflict, options_of
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.reports.building.redacted import problem_of
from treewarden.reports.renderers import names, renderer
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import (
    audit,
    finding,
    job,
    job_event,
    report,
)
from treewarden.service.database.tables import account, blob, model, model_version
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    new_id,
)
from treewarden.service.ledger.log import record
from treewarden.service.schemas.audits import Audit, Finding, NewAudit, Progress, Sort
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import is_text
from treewarden.service.use_cases.blobs import check_waiting
from treewarden.service.use_cases.jobs import cancel_job, queue_job
from treewarden.service.use_cases.models import get_version
from treewarden.service.use_cases.paging import NEWEST, OLDEST, ListOrder, narrowed, paged
from treewarden.service.use_cases.policies import chosen_pack, days_allowed
from treewarden.service.use_cases.requested_files import add_files, claim_files, further_files
from treewarden.service.use_cases.retention import erase_files
from treewarden.service.use_cases.show_audit import (
    all_shown,
    audits_of,
    finding_shown,
    show_audit,
    shown_state,
)
from treewarden.service.use_cases.waivers import in_force

# The options of an audit as somebody submits them, in the words of the command line.

NAMES = options_of(OptionDoor.SERVICE)
"""Options that a submitter sets; the service decides how many processes an audit has, and with which solver."""
MOST_BUDGET = 600.0
"""Seconds that whole records may have at most: the processors are everybody's."""
MOST = 1e9
"""No number is larger, also not without end."""


def audit_options(stated_options: Mapping[str, Any]) -> AuditOptions:
    """Return how an audit is done: in one process, as others have the other processors.

    Raises:
        InvalidError: an option is unknown, or cannot be.
    """
    for name, value in stated_options.items():
        if name not in NAMES:
            more = "; only the command line offers it: treewarden audit" * (name in OPTION_SPECS)
            raise InvalidError(
                f"options: {name[:80]!a}", f"unknown; choose one of {', '.join(NAMES)}{more}"
            )
        _check(name, value)
    budget = stated_options.get("worlds_budget")
    if isinstance(budget, int | float) and budget > MOST_BUDGET:
        problem = f"{budget:g} is too much; give at most {MOST_BUDGET:g} seconds"
        raise InvalidError("options: worlds_budget", problem)
    try:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in stated_options.items()
        }
        options = AuditOptions(**values, jobs=1)
    except (TypeError, ValueError) as error:
        raise InvalidError("options", str(error)) from error
    conflict = find_conflict(options)
    if conflict is not None:
        raise InvalidError(f"options: {conflict.name}", conflict.problem)
    return options


def _check(name: str, value: Any) -> None:  # noqa: ANN401  # whatever JSON holds
    """Refuse what can be neither a column nor a number nor kept, before anything repeats it."""
    place = f"options: {name}"
    if isinstance(value, int | float) and abs(value) > MOST:
        raise InvalidError(
            place, f"is more than {MOST:g} or less than -{MOST:g}; give another number"
        )
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if isinstance(value, dict):
        texts = [*value, *value.values()]
    for text in texts:
        if not isinstance(text, str) or not text or not is_text(text):
            raise InvalidError(
                place, "contains an empty name, or a value that is not text; give names"
            )


SEARCHED = (
    model.c.name,
    audit.c.pack_name,
    audit.c.headline,
    audit.c.problem,
    audit.c.purpose,
    account.c.name,
)
"""Where the words stand that audits are looked for by."""
ORDERS: Mapping[Sort, ListOrder] = {
    "newest": NEWEST,
    "oldest": OLDEST,
    "model": ListOrder(func.lower(model.c.name)),
}


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report that is kept: what the file is called, its media type, and its bytes as they are unsealed."""

    name: str
    media_type: str
    kind: str
    form: str
    chunks: Iterator[bytes]


def submit(unit: Unit, principal: Principal, new: NewAudit) -> Audit:
    """Queue an audit or a repair. Waivers that hold longer than its pack allows do not hold for it.

    Raises:
        NotFoundError: there is no such version, table or pack.
        ConflictError: the file was refused, or the table was refused or erased.
        InvalidError: an option, the knowledge or the domain cannot be, or an option names no column of the table.
        TooManyError: the organisation has as many jobs waiting as it may.
    """
    check_waiting(unit, principal)
    version = get_version(unit, principal, new.model_version_id)
    if version.state == "refused":
        raise ConflictError(version.file_name, f"cannot be audited: {version.problem}")
    chosen = chosen_pack(unit, principal.organisation_id, new.pack)
    audit_options(new.options)
    if new.kind == "repair" and new.table_id is None:
        raise InvalidError(
            "table_id", "is missing, but a repair audits each change with it; give the table"
        )
    if new.knowledge:
        try:
            read_knowledge(new.knowledge.encode(), "knowledge")
        except KnowledgeError as error:
            # what it says may be facts about somebody
            raise InvalidError("knowledge", problem_of(error).partition(": ")[2]) from error
    _check_domain(new)
    claim_files(unit, principal, new)
    waivers = (
        in_force(
            unit,
            principal.organisation_id,
            version.digest,
            version.model_name,
            days_allowed(chosen),
        )
        if new.waivers
        else []
    )
    made = new_id()
    unit.connection.execute(
        insert(audit).values(
            id=made,
            organisation_id=principal.organisation_id,
            kind=new.kind,
            model_version_id=version.id,
            data_table_id=new.table_id,
            register_id=new.register_id,
            pack_version_id=chosen.pack_version_id,
            pack_name=chosen.name
            if chosen.pack_version_id is None
            else f"{chosen.name}@{chosen.n}",
            pack_digest=chosen.digest,
            options=new.options,
            knowledge=new.knowledge,
            domain=new.domain,
            waivers=waivers,
            purpose=new.purpose,
            keeps_table=new.keeps_table and new.table_id is not None,
            created_by=principal.account_id,
            created_at=unit.now,
            state="queued",
        )
    )
    add_files(unit, principal, made, further_files(new))
    queue_job(unit, principal.organisation_id, new.kind, made)
    detail = {"version": version.id, "outputs": list(new.output_ids)}
    record(unit, principal, f"{new.kind}.submitted", "audit", made, detail)
    return get_audit(unit, principal, made)


def _check_domain(new: NewAudit) -> None:
    """Refuse a public domain that is not understood, or that there is no table for."""
    if not new.domain:
        return
    from treewarden.jobs.further_files import read_public_domain  # heavy, and few audits have one

    if new.table_id is None:
        raise InvalidError("domain", "can be used only with the training table; give the table too")
    try:
        read_public_domain(new.domain.encode(), "domain")
    except KnowledgeError as error:
        raise InvalidError("domain", str(error).removeprefix("domain: ")) from error


def list_audits(
    unit: Unit,
    principal: Principal,
    page_request: PageRequest,
    state: str = "",
    verdict: str = "",
    model_id: str = "",
    *,
    text: str = "",
    sort: Sort = "newest",
) -> Page[Audit]:
    """Return audits, of one state, verdict or model where these are named, and with all words of a text.

    A repair has no verdict here: its own is about a file that nobody has taken as a version yet.
    """
    statement = narrowed(audits_of(principal), text, SEARCHED)
    for column, value in (
        (shown_state(), state),
        (audit.c.verdict, verdict),
        (audit.c.kind, "audit" if verdict else ""),
        (model_version.c.model_id, model_id),
    ):
        if value:
            statement = statement.where(column == value)
    rows, following = paged(unit, statement, audit.c.id, page_request, ORDERS[sort])
    return Page(items=all_shown(unit, principal, rows), next=following)


def comparable_audits(
    unit: Unit, principal: Principal, audited: Audit, most: int
) -> list[Row[Any]]:
    """Return the newest audits that are done, but for one: so many of its model, then so many of all; no repairs.

    Rows of ``id``, ``verdict``, ``model_name``, ``version`` and ``created_at``: a choice shows no more of them.
    """
    wanted: Select[Any] = (
        select(
            audit.c.id,
            audit.c.verdict,
            model.c.name.label("model_name"),
            model_version.c.n.label("version"),
            audit.c.created_at,
        )
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .where(
            audit.c.organisation_id == principal.organisation_id,
            audit.c.kind == "audit",
            audit.c.state == "done",
            audit.c.id != audited.id,
        )
        .order_by(audit.c.id.desc())
        .limit(most)
    )
    same = wanted.where(model_version.c.model_id == audited.model_id)
    rows = (row for statement in (same, wanted) for row in unit.connection.execute(statement))
    return list({row.id: row for row in rows}.values())


def newest_audits(unit: Unit, principal: Principal, version_ids: Sequence[str]) -> dict[str, Audit]:
    """Return the newest audit of each of some versions, by the version; ids are ordered by time.

    The verdict of a repair is about a file that it made, so it is none of the version that failed.
    Which these are is asked first: asked for in one, PostgreSQL may look for the newest anew for each audit there is.
    """
    if not version_ids:
        return {}
    its = and_(audit.c.model_version_id == model_version.c.id, audit.c.kind == "audit")
    last = select(func.max(audit.c.id)).where(its).scalar_subquery()
    newest = unit.connection.execute(select(last).where(model_version.c.id.in_(version_ids)))
    ids = [each for each in newest.scalars() if each is not None]
    rows = (
        unit.connection.execute(audits_of(principal).where(audit.c.id.in_(ids))).all()
        if ids
        else []
    )
    return {each.model_version_id: each for each in all_shown(unit, principal, rows)}


def get_audit(unit: Unit, principal: Principal, audit_id: str) -> Audit:
    """Return an audit.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    return show_audit(unit, principal, _row(unit, principal, audit_id))


def list_findings(
    unit: Unit, principal: Principal, audit_id: str, page_request: PageRequest
) -> Page[Finding]:
    """Return what is not met, in the order of the report; the cursor is a number here.

    Raises:
        NotFoundError: the organisation has no such audit.
        InvalidError: the cursor is none that a list gave.
    """
    _check_there(unit, principal, audit_id)
    if page_request.cursor and not (
        page_request.cursor.isascii() and page_request.cursor.isdigit()
    ):
        raise InvalidError(
            "cursor", "was not given by a list; leave it out to start at the beginning"
        )
    after = int(page_request.cursor[:9] or 0)
    rows = unit.connection.execute(
        select(finding)
        .where(finding.c.audit_id == audit_id, finding.c.n > after)
        .order_by(finding.c.n)
        .limit(page_request.limit + 1)
    ).all()
    shown = rows[: page_request.limit]
    return Page(
        items=tuple(finding_shown(row) for row in shown),
        next=str(shown[-1].n) if len(rows) > page_request.limit else None,
    )


def get_report(unit: Unit, principal: Principal, audit_id: str, kind: str, form: str) -> ReportFile:
    """Return a report that is kept.

    Raises:
        NotFoundError: there is none; the internal one is only kept where the organisation allows that.
        ForbiddenError: it is the internal one, and who asks may not see it.
    """
    _check_there(unit, principal, audit_id)
    if kind == "internal":
        principal.check(Permission.INTERNAL)
    if form not in names():
        raise NotFoundError(
            "report", f"there is no such format; choose one of {', '.join(names())}"
        )
    found = unit.connection.execute(
        select(blob)
        .join(report, report.c.blob_id == blob.c.id)
        .where(report.c.audit_id == audit_id, report.c.kind == kind, report.c.form == form)
    ).first()
    if found is None:
        raise NotFoundError(
            f"report {kind}.{form}"[:80],
            "is not stored for this audit; see the list of its reports",
        )
    of = renderer(form)
    return ReportFile(
        f"audit-{audit_id[:12]}-{kind}.{of.suffix}",
        of.media_type,
        kind,
        form,
        unit.site.vault.chunks(found.id, found.digest, found.sealed_key),
    )


def cancel(unit: Unit, principal: Principal, audit_id: str) -> Audit:
    """Cancel an audit: at once where it waits, else as soon as its worker hears of it.

    Raises:
        NotFoundError: the organisation has no such audit.
        ForbiddenError: somebody else asked for it, and who cancels is no administrator.
        ConflictError: it has ended already, or no job does it.
    """
    row = _row(unit, principal, audit_id)
    if row.created_by != principal.account_id and not principal.may(Permission.ADMIN):
        problem = (
            "was requested by another person; ask that person or an administrator to cancel it"
        )
        raise ForbiddenError("audit", problem)
    found = _job(unit, audit_id)
    if found is None:
        raise ConflictError("audit", "has no job; there is nothing to cancel")
    erased = cancel_job(unit, found.id)
    unit.afterwards.append(partial(erase_files, unit.site, erased))
    record(unit, principal, "audit.cancel_requested", "audit", audit_id)
    return get_audit(unit, principal, audit_id)


def progress(unit: Unit, principal: Principal, audit_id: str, after: int) -> tuple[Progress, ...]:
    """Return what happened to an audit since the event of a number; nothing where no job is left of it.

    Raises:
        NotFoundError: the organisation has no such audit.
    """
    _check_there(unit, principal, audit_id)
    found = _job(unit, audit_id)
    if found is None:
        return ()
    rows = unit.connection.execute(
        select(job_event)
        .where(job_event.c.job_id == found.id, job_event.c.seq > after)
        .order_by(job_event.c.seq)
        .limit(1000)
    )
    return tuple(
        Progress(seq=row.seq, attempt=row.attempt, kind=row.kind, text=row.text, at=row.at)
        for row in rows
    )


def _job(unit: Unit, audit_id: str) -> Row[Any] | None:
    """Return the newest job of an audit; None where there is none, as after a part of a database was lost."""
    return unit.connection.execute(
        select(job).where(job.c.subject_id == audit_id).order_by(job.c.id.desc()).limit(1)
    ).first()


def _row(unit: Unit, principal: Principal, audit_id: str) -> Row[Any]:
    found = unit.connection.execute(audits_of(principal).where(audit.c.id == audit_id)).first()
    if found is None:
        raise _missing(audit_id)
    return found


def _check_there(unit: Unit, principal: Principal, audit_id: str) -> None:
    """Check that the organisation has an audit, without all that is shown of it."""
    wanted = select(audit.c.id).where(
        audit.c.id == audit_id, audit.c.organisation_id == principal.organisation_id
    )
    if unit.connection.execute(wanted).first() is None:
        raise _missing(audit_id)


def _missing(audit_id: str) -> NotFoundError:
    return NotFoundError(f"audit {audit_id[:40]!r}", "nothing here has this id; check the id")
