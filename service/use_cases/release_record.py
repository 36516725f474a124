"""What the service holds of a release, as a section of the report that is filed: who asked, who decided, on what."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import select

from treewarden.reports.figures.remaining import Block, Cell, Paragraph, ReportSection, ReportTable
from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import audit, log_entry, waiver
from treewarden.service.schemas.policies import Waiver
from treewarden.service.schemas.releases import Release
from treewarden.service.site import Unit
from treewarden.service.use_cases.show_release import AGREES
from treewarden.service.use_cases.waivers import show_waiver, waivers_from

DECIDED = {"approve": "approved", "reject": "rejected", "changes": "asked for changes"}
ABOUT = (
    "This is what the service had on record when the report was made. The digest is that of the last row that its log "
    "holds of this release; each row holds the digest of the one before, so that none can be changed unseen."
)


def release_record(unit: Unit, who: Principal, release: Release) -> ReportSection:
    """Return who asked for a release, who decided about it and when, by which policy, waivers and log."""
    return ReportSection("record", "Release on record", tuple(_blocks(unit, who, release)))


def _blocks(unit: Unit, who: Principal, release: Release) -> Iterator[Block]:
    yield Paragraph(ABOUT, "note")
    yield _facts(unit, who, release)
    if release.reviews:
        yield _decisions(release)
    else:
        yield Paragraph("Nobody has decided about it yet.")
    waivers = _waivers(unit, who, release)
    if waivers:
        yield _accepted(waivers)
    else:
        yield Paragraph("The audit rests on no waiver.")


def _facts(unit: Unit, who: Principal, release: Release) -> ReportTable:
    asked_at = unit.connection.execute(
        select(audit.c.created_at, audit.c.pack_digest).where(
            audit.c.organisation_id == who.organisation_id, audit.c.id == release.audit_id
        )
    ).one()
    author = f", written by {release.policy_author}" if release.policy_author else ", as it ships"
    seals = next((check for check in release.checklist if check.id == AGREES), None)
    agrees = "not looked at" if seals is None else seals.why or "agrees with its seals"
    rows = (
        ("Release", Cell(release.title, note=release.id)),
        ("State", Cell(release.state)),
        ("Version", Cell(f"{release.model_name}, version {release.version}")),
        ("SHA-256 of the file", Cell(release.digest, kind="code")),
        ("Uploaded by", Cell(release.uploader)),
        ("Audit asked for by", Cell(f"{release.asked_by}, {_moment(asked_at.created_at)}")),
        ("Release asked for by", Cell(f"{release.opened_by}, {_moment(release.opened_at)}")),
        ("Decided", Cell(_moment(release.decided_at))),
        ("Policy version", Cell(f"{release.policy}{author}")),
        ("SHA-256 of the policy", Cell(asked_at.pack_digest, kind="code")),
        ("What is written of it", Cell(agrees)),
        *_logged(unit, who, release),
    )
    said = tuple((Cell(name), cell) for name, cell in rows)
    return ReportTable("The release", ("Item", "What it is"), said, (25, 75))


def _logged(unit: Unit, who: Principal, release: Release) -> Iterator[tuple[str, Cell]]:
    row = unit.connection.execute(
        select(log_entry.c.seq, log_entry.c.hash)
        .where(
            log_entry.c.organisation_id == who.organisation_id,
            log_entry.c.object_id == release.id,
        )
        .order_by(log_entry.c.seq.desc())
        .limit(1)
    ).first()
    if row is None:
        yield "Log", Cell("no row tells of this release")
    else:
        yield f"Log, digest of row {row.seq}", Cell(row.hash, kind="code")


def _decisions(release: Release) -> ReportTable:
    rows = tuple(
        (
            Cell(review.reviewer),
            Cell(DECIDED[review.decision], note=review.comment),
            Cell(_moment(review.at)),
        )
        for review in release.reviews
    )
    return ReportTable("Decisions", ("Who", "Decision", "When"), rows, (30, 45, 25))


def _waivers(unit: Unit, who: Principal, release: Release) -> list[Waiver]:
    of = select(audit.c.waivers).where(
        audit.c.organisation_id == who.organisation_id, audit.c.id == release.audit_id
    )
    ids = unit.connection.execute(of).scalar_one()
    if not ids:
        return []
    found = waivers_from(who.organisation_id).where(waiver.c.id.in_(ids)).order_by(waiver.c.id)
    return [show_waiver(unit, row) for row in unit.connection.execute(found)]


def _accepted(waivers: list[Waiver]) -> ReportTable:
    rows = tuple(
        (
            Cell(each.clause, note=each.reason),
            Cell(each.requested_by),
            Cell(each.decided_by or "nobody", note=_moment(each.decided_at)),
            Cell(f"{each.state}, until {each.expires.isoformat()}", note=each.ticket),
        )
        for each in waivers
    )
    headings = ("Clause", "Asked for by", "Decided by", "State")
    return ReportTable("Waivers that the audit was given", headings, rows, (35, 20, 20, 25))


def _moment(at: datetime | None) -> str:
    return "not yet" if at is None else at.strftime("%Y-%m-%d %H:%M UTC")
