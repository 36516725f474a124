"""Releases: asked for by one, checked line by line, decided by another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

from sqlalchemy import Row, func, insert, select, update

from treewarden.reports.document.document import Document
from treewarden.reports.figures.remaining import ReportSection
from treewarden.reports.renderers import FilingRenderer, renderer
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import comment, model, model_version, organisation, release
from treewarden.service.database.tables import review as reviews
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StaleError,
    new_id,
)
from treewarden.service.ledger.log import Event, emit, record, seal_of
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.releases import (
    NewComment,
    NewRelease,
    NewReview,
    Release,
    Sort,
)
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import get_audit
from treewarden.service.use_cases.contradictions import ADVICE, contradiction_of
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.overview import parties_of, why_own
from treewarden.service.use_cases.paging import NEWEST, OLDEST, ListOrder, narrowed, paged
from treewarden.service.use_cases.show_audit import kept_document, kinds_for
from treewarden.service.use_cases.show_release import (
    AGREES,
    AUTOMATIC,
    LEAST,
    OPENER,
    UNDECIDED,
    UPLOADER,
    all_shown,
    checks,
    release_record,
    releases_of,
    show_release,
)

SEARCHED = (
    release.c.title,
    release.c.purpose,
    model.c.name,
    UPLOADER.c.name,
    OPENER.c.name,
)
"""Where the words stand that releases are looked for by."""
ORDERS: Mapping[Sort, ListOrder] = {
    "newest": NEWEST,
    "oldest": OLDEST,
    "title": ListOrder(func.lower(release.c.title)),
}
AFTER = {"approve": "approved", "reject": "rejected", "changes": "changes"}


def open_release(unit: Unit, principal: Principal, new: NewRelease) -> Release:
    """Ask that a version be released, on the strength of an audit of it.

    Raises:
        NotFoundError: there is no such audit.
        ConflictError: it is a repair, or a release with this audit is undecided.
    """
    found = unit.connection.execute(
        select(audit, model_version.c.uploaded_by, organisation.c.checklist)
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(organisation, organisation.c.id == audit.c.organisation_id)
        .where(audit.c.organisation_id == principal.organisation_id, audit.c.id == new.audit_id)
        .with_for_update(of=audit)  # so that two who ask at once see each other's release
    ).first()
    if found is None:
        raise NotFoundError(
            f"audit {new.audit_id[:40]!r}", "nothing here has this id; check the id"
        )
    if found.kind != "audit":
        problem = "is a repair; audit the version that it wrote, and use that audit"
        raise ConflictError("audit", problem)
    if found.state in ("error", "cancelled"):
        raise ConflictError(
            "audit",
            f"has the state {found.state!r}, but a release needs a finished "
            "audit; audit the version again",
        )
    same = select(release.c.id).where(
        release.c.audit_id == new.audit_id, release.c.state.in_(UNDECIDED)
    )
    if unit.connection.execute(same).first() is not None:
        raise ConflictError(
            "release", "a release with this audit already waits for a decision; open that one"
        )
    made = new_id()
    texts = [{"text": text, "is_met": False} for text in found.checklist]
    unit.connection.execute(
        insert(release).values(
            id=made,
            organisation_id=principal.organisation_id,
            model_version_id=found.model_version_id,
            uploader_id=found.uploaded_by,
            audit_id=new.audit_id,
            title=new.title,
            purpose=new.purpose,
            state="open",
            checklist=texts,
            opened_by=principal.account_id,
            opened_at=unit.now,
            revision=1,
        )
    )
    detail = {"audit": new.audit_id, "seal": _seal(unit, made)}
    record(unit, principal, "release.opened", "release", made, detail)
    _tell(unit, principal, Event.RELEASE_OPENED, made, "open")
    return get_release(unit, principal, made)


def list_releases(
    unit: Unit,
    principal: Principal,
    page_request: PageRequest,
    state: str | None = None,
    *,
    text: str = "",
    sort: Sort = "newest",
) -> Page[Release]:
    """Return releases, of one state where it is named, and with all words of a text."""
    statement = narrowed(releases_of(principal), text, SEARCHED)
    if state:
        statement = statement.where(release.c.state == state)
    rows, following = paged(unit, statement, release.c.id, page_request, ORDERS[sort])
    return Page(items=all_shown(unit, principal, rows), next=following)


def get_release(unit: Unit, principal: Principal, release_id: str) -> Release:
    """Return a release with its checklist, reviews and remarks.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    return show_release(unit, principal, _row(unit, principal, release_id))


def tick(
    unit: Unit,
    principal: Principal,
    release_id: str,
    check_id: str,
    is_met: bool,
    revision: int | None = None,
) -> Release:
    """Tick a line of the checklist, or take the tick back.

    Raises:
        NotFoundError: there is no such release or line.
        ForbiddenError: who has a part in it does not tick.
        ConflictError: the line is kept by the service, or the release is decided.
        StaleError: the release was changed meanwhile.
    """
    row = _undecided(unit, principal, release_id, revision)
    _refuse_own(unit, row, principal)
    number = _number(row, check_id)
    lines = [dict(each) for each in row.checklist]
    lines[number] = {
        "text": lines[number]["text"],
        "is_met": is_met,
        "by": principal.name,
        "at": unit.now.isoformat(),
    }
    seal = _change(unit, row, checklist=lines)
    detail = {"line": lines[number]["text"], "is_met": is_met, "seal": seal}
    record(unit, principal, "release.ticked", "release", release_id, detail)
    return get_release(unit, principal, release_id)


def add_comment(unit: Unit, principal: Principal, release_id: str, new: NewComment) -> Release:
    """Make a remark.

    Raises:
        NotFoundError: the organisation has no such release.
    """
    _row(unit, principal, release_id)
    unit.connection.execute(
        insert(comment).values(
            id=new_id(),
            organisation_id=principal.organisation_id,
            release_id=release_id,
            author_id=principal.account_id,
            text=new.text,
            at=unit.now,
        )
    )
    record(unit, principal, "release.commented", "release", release_id)
    return get_release(unit, principal, release_id)


def review(
    unit: Unit, principal: Principal, release_id: str, new: NewReview, revision: int | None = None
) -> Release:
    """Decide about what somebody else asks for.

    Raises:
        NotFoundError: the organisation has no such release.
        ForbiddenError: it is the own of who decides; ``treewarden.service.use_cases.overview`` says when.
        ConflictError: it is decided already, or something that an approval needs is not met.
        StaleError: the release was changed meanwhile.
    """
    row = _undecided(unit, principal, release_id, revision)
    _refuse_own(unit, row, principal)
    if new.decision == "approve":
        open_lines = [check.text for check in checks(unit, row) if not check.is_met]
        if open_lines:
            problem = f"these lines of the checklist are open: {', '.join(open_lines)}"
            raise ConflictError("checklist", f"{problem}; tick all lines before you approve")
    made: dict[str, Any] = {
        "id": new_id(),
        "organisation_id": principal.organisation_id,
        "release_id": release_id,
        "uploader_id": row.uploader_id,
        "opened_by": row.opened_by,
        "reviewer_id": principal.account_id,
        "decision": new.decision,
        "comment": new.comment,
        "at": unit.now,
    }
    made["seal"] = seal_of(unit.site, "review", made)
    unit.connection.execute(insert(reviews).values(made))
    state = AFTER[new.decision]
    seal = _change(unit, row, state=state, decided_at=None if state == "changes" else unit.now)
    detail = {"review": made["id"], "seal": seal}
    record(unit, principal, f"release.{state}", "release", release_id, detail)
    _tell(unit, principal, Event.RELEASE_DECIDED, release_id, state)
    return get_release(unit, principal, release_id)


def withdraw(
    unit: Unit, principal: Principal, release_id: str, revision: int | None = None
) -> Release:
    """Take the wish back; also one that was approved and is not out yet.

    Raises:
        NotFoundError: the organisation has no such release.
        ForbiddenError: somebody else opened it.
        ConflictError: it is too late.
        StaleError: the release was changed meanwhile.
    """
    row = _current(unit, principal, release_id, revision)
    if principal.account_id != row.opened_by and not principal.may(Permission.ADMIN):
        raise ForbiddenError(
            "release",
            "only the person who opened it or an administrator may withdraw it; ask one of them",
        )
    if row.state not in (*UNDECIDED, "approved"):
        raise ConflictError("release", f"is {row.state}, so it cannot be withdrawn")
    seal = _change(unit, row, state="withdrawn", decided_at=unit.now)
    record(unit, principal, "release.withdrawn", "release", release_id, {"seal": seal})
    _tell(unit, principal, Event.RELEASE_DECIDED, release_id, "withdrawn")
    return get_release(unit, principal, release_id)


def release_it(
    unit: Unit, principal: Principal, release_id: str, revision: int | None = None
) -> Release:
    """Write down that an approved version went out.

    Raises:
        NotFoundError: the organisation has no such release.
        ConflictError: it is not approved, or the gate does not say so any more.
        StaleError: the release was changed meanwhile.
    """
    row = _current(unit, principal, release_id, revision)
    if row.state != "approved":
        raise ConflictError("release", f"is {row.state}; only an approved release may be published")
    answer = gate_answer(unit, principal, release_id)
    if answer.exit_code != 0:
        raise ConflictError("release", answer.why)
    seal = _change(unit, row, state="released")
    record(unit, principal, "release.released", "release", release_id, {"seal": seal})
    _tell(unit, principal, Event.RELEASE_RELEASED, release_id, "released")
    return get_release(unit, principal, release_id)


def _row(unit: Unit, principal: Principal, release_id: str, *, is_locked: bool = False) -> Row[Any]:
    statement = releases_of(principal).where(release.c.id == release_id)
    if is_locked:
        statement = statement.with_for_update(of=release)
    found = unit.connection.execute(statement).first()
    if found is None:
        raise NotFoundError(
            f"release {release_id[:40]!r}", "nothing here has this id; check the id"
        )
    return found


def _current(unit: Unit, principal: Principal, release_id: str, revision: int | None) -> Row[Any]:
    row = _row(unit, principal, release_id, is_locked=True)
    if revision is not None and row.revision != revision:
        raise StaleError("release", "was changed since you read it; read it again, then decide")
    return row


def _undecided(unit: Unit, principal: Principal, release_id: str, revision: int | None) -> Row[Any]:
    row = _current(unit, principal, release_id, revision)
    if row.state not in UNDECIDED:
        raise ConflictError("release", f"is {row.state} already")
    problem = contradiction_of(unit, principal.organisation_id, row.id, row.audit_id)
    if problem:  # what is written next would be sealed with it
        raise ConflictError("release", f"{problem}; {ADVICE}")
    return row


def _refuse_own(unit: Unit, row: Row[Any], principal: Principal) -> None:
    why = why_own(parties_of(unit, [row.id])[row.id], principal)
    if why:
        raise ForbiddenError("release", why)


def _change(unit: Unit, row: Row[Any], **values: Any) -> str:  # noqa: ANN401  # columns of the table
    """Change a release, and return the seal of what it is then."""
    changed = unit.connection.execute(
        update(release)
        .where(release.c.id == row.id, release.c.revision == row.revision)
        .values(**values, revision=row.revision + 1)
    )
    if not changed.rowcount:
        raise StaleError("release", "was changed in the meantime; read it again, then decide")
    return _seal(unit, row.id)


def _seal(unit: Unit, release_id: str) -> str:
    its = release.c.id == release_id
    row = unit.connection.execute(select(release).where(its)).one()
    seal = seal_of(unit.site, "release", row._mapping)
    unit.connection.execute(update(release).where(its).values(seal=seal))
    return seal


def _tell(unit: Unit, principal: Principal, event: Event, release_id: str, state: str) -> None:
    emit(unit, principal.organisation_id, event, {"release_id": release_id, "state": state})


def _number(row: Row[Any], check_id: str) -> int:
    for number in range(len(row.checklist)):
        if check_id == f"text-{number + 1}":
            return number
    if check_id in (*AUTOMATIC, AGREES, LEAST):
        raise ConflictError("checklist", "the service ticks this line by itself; leave it out")
    raise NotFoundError(f"line {check_id[:40]!r}", "nothing here has this id; check the id")


Form = Literal["html", "pdf"]
RENDERERS = {"html": "compliance", "pdf": "pdf"}
NO_PDF = (
    "a PDF needs the package typst, which is not installed here; print the page, or "
    "run: pip install 'treewarden[pdf]'"
)
NO_REPORT = (
    "no stored report of the audit contains enough; audit the version again, and use the new audit"
)


def makes_pdf() -> bool:
    """Return whether PDFs can be made here."""
    return find_spec("typst") is not None


def audit_compliance(unit: Unit, principal: Principal, audit_id: str, form: Form) -> bytes:
    """Return the compliance report of an audit: the full one for who may see it where it is kept.

    Raises:
        NotFoundError: the organisation has no such audit, no report of it is kept, or no PDF can be made.
    """
    audit = get_audit(unit, principal, audit_id)
    return _rendered(_document(unit, principal, audit.id), form)


def release_compliance(unit: Unit, principal: Principal, release_id: str, form: Form) -> bytes:
    """Return the compliance report of a release: the full one for who may see it where it is kept.

    Where the audit named no purpose, that of the release stands in it; what the service holds of the release is a
    section of its own.

    Raises:
        NotFoundError: the organisation has no such release, no report of its audit is kept, or no PDF can be made.
    """
    release = get_release(unit, principal, release_id)
    document = _document(unit, principal, release.audit_id)
    if not document.purpose:
        document = document.model_copy(update={"purpose": release.purpose})
    return _rendered(document, form, (release_record(unit, principal, release),))


def _document(unit: Unit, principal: Principal, audit_id: str) -> Document:
    documents = (kept_document(unit, audit_id, kind) for kind in kinds_for(principal))
    document = next((each for each in documents if each is not None), None)
    if document is None:
        raise NotFoundError("report", NO_REPORT)
    return document


def _rendered(document: Document, form: Form, sections: Sequence[ReportSection] = ()) -> bytes:
    if form == "pdf" and not makes_pdf():
        raise NotFoundError("report", NO_PDF)
    made = renderer(RENDERERS[form])
    assert isinstance(made, FilingRenderer)
    return made.render_with(document, tuple(sections))
