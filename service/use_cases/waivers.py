"""Waivers: asked for by one, approved by another, in the same form as the files of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Row, Select, and_, func, insert, or_, select, true, update

from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.ppdm_models.errors import WaiverError
from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import account, waiver
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServiceError,
    as_invalid,
    new_id,
)
from treewarden.service.ledger.log import Event, emit, is_sealed, record, seal_of
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.releases import Deciding, Imported, NewWaiver, Waiver, WaiverSort
from treewarden.service.site import Unit
from treewarden.service.use_cases.contradictions import tell
from treewarden.service.use_cases.overview import is_own_model
from treewarden.service.use_cases.paging import NEWEST, OLDEST, ListOrder, narrowed, paged
from treewarden.service.use_cases.policies import longest_days

# A waiver as it is shown, and as it stands in a file of the command line.

ASKED, DECIDED = account.alias("asked"), account.alias("decided")
COLUMNS = ("clause", "leaf", "digest", "model", "reason", "owner", "ticket")


def waivers_from(organisation_id: str) -> Select[Any]:
    """Return what selects the waivers of an organisation, with who asked and who decided."""
    return _every().where(waiver.c.organisation_id == organisation_id)


@cache
def _every() -> Select[Any]:
    """Return what selects all waivers; put together once, as that takes longer than many a query."""
    return (
        select(
            waiver,
            ASKED.c.name.label("requested_name"),
            DECIDED.c.name.label("decided_name"),
        )
        .join(ASKED, ASKED.c.id == waiver.c.requested_by)
        .outerjoin(DECIDED, DECIDED.c.id == waiver.c.decided_by)
    )


def show_waiver(unit: Unit, row: Row[Any]) -> Waiver:
    """Return a waiver as it is shown."""
    expires = date.fromisoformat(row.expires)
    return Waiver(
        id=row.id,
        clause=row.clause,
        leaf=row.leaf,
        digest=row.digest,
        model=row.model_name,
        worst=None if row.worst is None else float(row.worst),
        reason=row.reason,
        owner=row.owner,
        ticket=row.ticket,
        expires=expires,
        granted=None if row.granted is None else date.fromisoformat(row.granted),
        state=row.state,
        is_in_force=row.state == "approved" and expires >= unit.now.date(),
        requested_by_id=row.requested_by,
        requested_by=row.requested_name,
        requested_at=row.requested_at,
        decided_by=row.decided_name or "",
        decided_at=row.decided_at,
        comment=row.comment,
    )


def as_file(rows: Iterable[Row[Any]]) -> bytes:
    """Return waivers as a file of the command line."""
    return "\n".join(_section(row) for row in rows).encode()


def _section(row: Row[Any]) -> str:
    said = {**row._mapping, "model": row.model_name}
    lines = ["[[waiver]]"]
    lines += [f"{key} = {_text(said[key])}" for key in COLUMNS if said[key]]
    if row.worst is not None:
        lines.append(f"worst = {row.worst}")
    lines += [f"{key} = {said[key]}" for key in ("expires", "granted") if said[key]]
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


SEARCHED = (
    waiver.c.clause,
    waiver.c.model_name,
    waiver.c.reason,
    waiver.c.owner,
    waiver.c.ticket,
    ASKED.c.name,
)
"""Where the words stand that waivers are looked for by."""
ORDERS: Mapping[WaiverSort, ListOrder] = {
    "newest": NEWEST,
    "oldest": OLDEST,
    "ends": ListOrder(waiver.c.expires),
    "clause": ListOrder(func.lower(waiver.c.clause)),
}
CHANGED = "was changed outside the service; refuse it, and ask for a new request"
OWN = "you requested it yourself; ask another person to decide"
OWN_MODEL = "you uploaded a model that it is for; ask another person to decide"


def request_waiver(unit: Unit, principal: Principal, new: NewWaiver) -> Waiver:
    """Ask that a finding be accepted until a day.

    Raises:
        InvalidError: it is for nothing, is over already, or the file format does not know such a waiver.
        ConflictError: the same is asked for or accepted already.
    """
    if new.expires < unit.now.date():
        raise InvalidError("expires", f"{new.expires} is in the past; give a day in the future")
    if not new.leaf and not new.digest:
        problem = "is missing; give a leaf (for one leaf) or a digest (for the whole file)"
        raise InvalidError("leaf", problem)
    longest = longest_days(unit, principal)
    if (new.expires - unit.now.date()).days > longest:
        problem = (
            f"{new.expires} is more than {longest} days from today, and no policy "
            "allows that; give an earlier day"
        )
        raise InvalidError("expires", problem)
    if _rival(unit, principal.organisation_id, new) is not None:
        problem = (
            f"a waiver of {new.clause!r} for the same place is requested or valid "
            "already; use that one"
        )
        raise ConflictError("waiver", problem)
    made = new_id()
    unit.connection.execute(
        insert(waiver).values(
            id=made,
            organisation_id=principal.organisation_id,
            clause=new.clause,
            leaf=new.leaf,
            digest=new.digest,
            model_name=new.model,
            worst=None if new.worst is None else repr(float(new.worst)),
            reason=new.reason,
            owner=new.owner,
            ticket=new.ticket,
            expires=new.expires.isoformat(),
            state="requested",
            requested_by=principal.account_id,
            requested_at=unit.now,
        )
    )
    _seal(unit, made)
    _check_file(_rows(unit, waiver.c.id == made))
    record(unit, principal, "waiver.requested", "waiver", made, {"clause": new.clause})
    payload = {"waiver_id": made, "clause": new.clause, "expires": new.expires.isoformat()}
    emit(unit, principal.organisation_id, Event.WAIVER_REQUESTED, payload)
    return get_waiver(unit, principal, made)


def list_waivers(
    unit: Unit,
    principal: Principal,
    page_request: PageRequest,
    state: str = "",
    *,
    text: str = "",
    sort: WaiverSort = "newest",
) -> Page[Waiver]:
    """Return waivers, of one state where it is named, and with all words of a text."""
    statement = narrowed(waivers_from(principal.organisation_id), text, SEARCHED)
    if state:
        statement = statement.where(waiver.c.state == state)
    rows, following = paged(unit, statement, waiver.c.id, page_request, ORDERS[sort])
    return Page(items=tuple(show_waiver(unit, row) for row in rows), next=following)


def get_waiver(unit: Unit, principal: Principal, waiver_id: str) -> Waiver:
    """Return a waiver.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    return show_waiver(unit, _row(unit, principal, waiver_id))


def approve_waiver(unit: Unit, principal: Principal, waiver_id: str, body: Deciding) -> Waiver:
    """Accept what somebody else asked for, from today on.

    Raises:
        NotFoundError: there is none of that id.
        ForbiddenError: it was asked for by who decides, or is for a model that who decides uploaded or brought.
        ConflictError: it is decided already, or over.
    """
    found = _row(unit, principal, waiver_id)
    refused = _refused(unit, principal, found)
    if refused is not None:
        if refused.problem == CHANGED:
            told = partial(tell, unit.site, principal.organisation_id, "waiver", found.id, CHANGED)
            unit.in_any_case.append(told)
        raise refused
    approved = _decide(unit, principal, found, "requested", "approved", body)
    # nobody else decides in the organisation until this is committed, so that all of them stay one file
    _check_file(_rows(unit, *_holding(unit, principal.organisation_id)))
    return approved


def why_not_approved(unit: Unit, principal: Principal, waiver_id: str) -> str:
    """Return why somebody would not be let approve a waiver, "" where nothing is known against it.

    Raises:
        NotFoundError: there is none of that id.
    """
    refused = _refused(unit, principal, _row(unit, principal, waiver_id))
    if refused is None:
        return ""
    return f"it {refused.problem}" if isinstance(refused, ConflictError) else refused.problem


def _refused(unit: Unit, principal: Principal, row: Row[Any]) -> ServiceError | None:
    """Return what an approval is refused with; None where it is not, or where it is decided already."""
    if not is_sealed(unit.site, "waiver", row._mapping):
        return ConflictError("waiver", CHANGED)
    if date.fromisoformat(row.expires) < unit.now.date():
        return ConflictError("waiver", f"would have expired on {row.expires}; refuse it")
    if is_own_model(unit, principal, row):
        return ForbiddenError("waiver", OWN_MODEL)
    return ForbiddenError("waiver", OWN) if row.requested_by == principal.account_id else None


def refuse_waiver(unit: Unit, principal: Principal, waiver_id: str, body: Deciding) -> Waiver:
    """Refuse what somebody else asked for.

    Raises:
        NotFoundError: there is none of that id.
        ForbiddenError: it was asked for by who decides.
        ConflictError: it is decided already.
    """
    return _decide(unit, principal, _row(unit, principal, waiver_id), "requested", "refused", body)


def revoke_waiver(unit: Unit, principal: Principal, waiver_id: str, body: Deciding) -> Waiver:
    """Take back a waiver that was approved: audits that rest on it pass no gate any more.

    Raises:
        NotFoundError: there is none of that id.
        ConflictError: it is not approved.
    """
    found = _row(unit, principal, waiver_id)
    if found.state != "approved":
        raise ConflictError("waiver", f"is {found.state}; only an approved one can be revoked")
    unit.connection.execute(
        update(waiver)
        .where(waiver.c.id == found.id)
        .values(state="revoked", comment=body.comment or found.comment)
    )
    _seal(unit, found.id)
    _tell(unit, principal, found.id, "revoked")
    return get_waiver(unit, principal, waiver_id)


def import_waivers(unit: Unit, principal: Principal, data: bytes) -> Imported:
    """Ask for every waiver of a file that is not known yet.

    Raises:
        InvalidError: the file is not understood, or one of them is over already.
    """
    requested, known = [], 0
    try:
        waiver_file = read_waivers(data, "waivers")
    except WaiverError as error:
        raise as_invalid(error) from error
    for each in waiver_file.each:
        if each.undecided:
            problem = (
                "can be used only on the command line and in the gate; leave it "
                "out, because a person decides here"
            )
            raise InvalidError(f"waivers: waiver {each.number}: undecided", problem)
        waiver_fields = each.model_dump(exclude={"granted", "number", "undecided"})
        try:
            new = NewWaiver.model_validate(waiver_fields)
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            problem = "is too long, or contains characters that cannot be stored; change it"
            raise InvalidError(f"waivers: waiver {each.number}: {field}", problem) from error
        if _same(unit, principal.organisation_id, new) is not None:
            known += 1
        else:
            requested.append(request_waiver(unit, principal, new))
    return Imported(requested=tuple(requested), known=known)


def export_waivers(unit: Unit, principal: Principal) -> bytes:
    """Return all waivers that hold today, as a file that ``treewarden audit --waivers`` reads."""
    return as_file(_sealed(unit, *_holding(unit, principal.organisation_id)))


def in_force(
    unit: Unit, organisation_id: str, digest: str, model_name: str, longest: int
) -> list[str]:
    """Return the ids of the waivers that hold today and may be meant for a model file, oldest first.

    Those that hold for more days than the ``longest`` that a pack allows are left out: to it they are none.
    """
    for_model = waiver.c.model_name.is_(None) | (waiver.c.model_name == model_name)
    for_file = (waiver.c.digest == "") | (waiver.c.digest == f"sha256:{digest}")
    found = _sealed(unit, *_holding(unit, organisation_id), for_model, for_file)
    return [row.id for row in found if _days(row) <= longest]


def waivers_of(unit: Unit, ids: Sequence[str]) -> bytes:
    """Return those of some waivers that are approved, as a file; one that was changed past the service is none."""
    return as_file(_sealed(unit, waiver.c.id.in_(ids), waiver.c.state == "approved"))


def _rows(unit: Unit, *those: ColumnElement[bool]) -> Sequence[Row[Any]]:
    return unit.connection.execute(select(waiver).where(*those).order_by(waiver.c.id)).all()


def _sealed(unit: Unit, *those: ColumnElement[bool]) -> list[Row[Any]]:
    """Return waivers as the service wrote them: a finding is accepted by no other."""
    rows = _rows(unit, *those)
    return [row for row in rows if is_sealed(unit.site, "waiver", row._mapping)]


def _seal(unit: Unit, waiver_id: str) -> None:
    (row,) = _rows(unit, waiver.c.id == waiver_id)
    seal = seal_of(unit.site, "waiver", row._mapping)
    unit.connection.execute(update(waiver).where(waiver.c.id == waiver_id).values(seal=seal))


def _holding(unit: Unit, organisation_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return what is true of the waivers of an organisation that hold today."""
    return (
        waiver.c.organisation_id == organisation_id,
        waiver.c.state == "approved",
        waiver.c.expires >= unit.now.date().isoformat(),
    )


def _days(row: Row[Any]) -> int:
    return (date.fromisoformat(row.expires) - date.fromisoformat(row.granted)).days


def _check_file(rows: Iterable[Row[Any]]) -> None:
    """Check that an audit can read waivers as one file: one that it cannot would keep every model from its audit."""
    try:
        read_waivers(as_file(rows), "waivers")
    except WaiverError as error:
        raise ConflictError(error.where, error.problem) from error


def _decide(
    unit: Unit, principal: Principal, row: Row[Any], before: str, after: str, body: Deciding
) -> Waiver:
    if row.requested_by == principal.account_id:
        raise ForbiddenError("waiver", OWN)
    granted = unit.now.date().isoformat() if after == "approved" else None
    decided = unit.connection.execute(
        update(waiver)
        .where(waiver.c.id == row.id, waiver.c.state == before)
        .values(
            state=after,
            granted=granted,
            decided_by=principal.account_id,
            decided_at=unit.now,
            comment=body.comment,
        )
    )
    if not decided.rowcount:
        raise ConflictError("waiver", f"is {row.state} already")
    _seal(unit, row.id)
    _tell(unit, principal, row.id, after)
    return get_waiver(unit, principal, row.id)


def _tell(unit: Unit, principal: Principal, waiver_id: str, state: str) -> None:
    record(unit, principal, f"waiver.{state}", "waiver", waiver_id)
    payload = {"waiver_id": waiver_id, "state": state}
    emit(unit, principal.organisation_id, Event.WAIVER_DECIDED, payload)


def _rival(unit: Unit, organisation_id: str, new: NewWaiver) -> Row[Any] | None:
    """Return a waiver that is asked for or holds, and that a file cannot hold beside a new one."""
    target = or_(
        *(
            column == value
            for column, value in ((waiver.c.leaf, new.leaf), (waiver.c.digest, new.digest))
            if value
        )
    )
    for_model = waiver.c.model_name.is_(None) | (waiver.c.model_name == new.model)
    found = _rows(
        unit,
        waiver.c.organisation_id == organisation_id,
        waiver.c.clause == new.clause,
        target,
        for_model if new.model is not None else true(),
        waiver.c.state.in_(("requested", "approved")),
        waiver.c.expires >= unit.now.date().isoformat(),
    )
    return next(iter(found), None)


def _same(unit: Unit, organisation_id: str, new: NewWaiver) -> Row[Any] | None:
    """Return the waiver for the same finding that is asked for or holds."""
    is_live = (waiver.c.state == "requested") | and_(
        waiver.c.state == "approved", waiver.c.expires >= unit.now.date().isoformat()
    )
    return unit.connection.execute(
        select(waiver).where(
            waiver.c.organisation_id == organisation_id,
            waiver.c.clause == new.clause,
            waiver.c.leaf == new.leaf,
            waiver.c.digest == new.digest,
            waiver.c.model_name.is_(None)
            if new.model is None
            else waiver.c.model_name == new.model,
            is_live,
        )
    ).first()


def _row(unit: Unit, principal: Principal, waiver_id: str) -> Row[Any]:
    found = unit.connection.execute(
        waivers_from(principal.organisation_id).where(waiver.c.id == waiver_id)
    ).first()
    if found is None:
        raise NotFoundError(f"waiver {waiver_id[:40]!r}", "nothing here has this id; check the id")
    return found
