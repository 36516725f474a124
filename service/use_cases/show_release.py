"""A release as it is shown: with its checklist, reviews and remarks, and whether who asks may decide.

What the service holds of a release, as a section of the report that is filed: who asked, who decided, on what.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, select

from treewarden.reports.figures.remaining import Block, Cell, Paragraph, ReportSection, ReportTable
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import audit, log_entry
from treewarden.service.database.tables import (
    account,
    comment,
    model,
    model_version,
    organisation,
    pack_version,
    release,
    waiver,
)
from treewarden.service.database.tables import review as reviews
from treewarden.service.schemas.releases import Check, Comment, Party, Release, Review, Waiver
from treewarden.service.site import Unit
from treewarden.service.use_cases.contradictions import ADVICE, contradiction_of
from treewarden.service.use_cases.gate import lapsed, waivers_by_id
from treewarden.service.use_cases.overview import deciders_of, parties_of, why_own
from treewarden.service.use_cases.policies import PackComparison, compare_with_least
from treewarden.service.use_cases.waivers import show_waiver, waivers_from

UNDECIDED = ("open", "changes")
UPLOADER, OPENER = account.alias("uploader"), account.alias("opener")


def releases_of(principal: Principal) -> Select[Any]:
    """Return what selects the releases of an organisation, with all that is shown of each."""
    return _every().where(release.c.organisation_id == principal.organisation_id)


@cache
def _every() -> Select[Any]:
    """Return what selects all releases; put together once, as that takes longer than many a query."""
    asker, author = account.alias("asker"), account.alias("author")
    return (
        select(
            release,
            UPLOADER.c.name.label("uploader_name"),
            OPENER.c.name.label("opener_name"),
            model_version.c.n,
            model_version.c.digest,
            model_version.c.model_id,
            model_version.c.state.label("version_state"),
            model.c.name.label("model_name"),
            audit.c.state.label("audit_state"),
            audit.c.verdict,
            audit.c.waivers,
            audit.c.pack_name,
            audit.c.pack_digest,
            asker.c.name.label("asker_name"),
            author.c.name.label("author_name"),
            organisation.c.least_pack,
        )
        .join(UPLOADER, UPLOADER.c.id == release.c.uploader_id)
        .join(OPENER, OPENER.c.id == release.c.opened_by)
        .join(model_version, model_version.c.id == release.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .join(audit, audit.c.id == release.c.audit_id)
        .join(asker, asker.c.id == audit.c.created_by)
        .join(organisation, organisation.c.id == release.c.organisation_id)
        .outerjoin(pack_version, pack_version.c.id == audit.c.pack_version_id)
        .outerjoin(author, author.c.id == pack_version.c.created_by)
    )


LEAST = "least-policy"
AGREES = "agrees"
AGREEMENT = "Verdict, findings, reports, decisions and log agree with their seals"
AUTOMATIC: Mapping[str, str] = {
    "audited": "The audit is done",
    "passed": "The audit passed",
    "waivers": "All waivers of the audit are still valid",
    "read": "The file of this version could be read",
}


def checks(unit: Unit, row: Row[Any]) -> tuple[Check, ...]:
    """Return the checklist of a release: what the service keeps by itself, then what reviewers tick."""
    gone = lapsed(row.waivers, waivers_by_id(unit, row.waivers), unit.now)
    return _checks(row, gone, _compared(unit, row))


def _checks(row: Row[Any], gone: str, policy: PackComparison) -> tuple[Check, ...]:
    return (*_automatic(row, gone), *_policy_check(row, policy), *_ticked(row))


def _compared(unit: Unit, row: Row[Any]) -> PackComparison:
    return compare_with_least(
        unit, row.organisation_id, row.least_pack, row.pack_name, row.pack_digest
    )


def _policies(row: Row[Any]) -> tuple[str | None, ...]:
    """Return what the comparison of a release's policy with the least one depends on."""
    return row.organisation_id, row.least_pack, row.pack_name, row.pack_digest


def _policy_check(row: Row[Any], policy: PackComparison) -> Iterator[Check]:
    """Yield the line about the least policy, where the organisation has one."""
    why = {
        "laxer": f"{row.pack_name!r} requires less than {row.least_pack!r}",
        "different": (
            f"it is not proved that {row.pack_name!r} requires as much as {row.least_pack!r}"
        ),
    }.get(policy.standing, "")
    if policy.standing != "not set":
        text = "The policy requires at least as much as the organisation’s minimum policy"
        yield Check(id=LEAST, text=text, automatic=True, is_met=not why, why=why)


def _automatic(row: Row[Any], gone: str) -> Iterator[Check]:
    found = {
        "audited": (row.audit_state == "done", f"it is {row.audit_state}"),
        "passed": (row.verdict == "PASS", f"the verdict is {row.verdict or 'not known yet'}"),
        "waivers": (not gone, gone),
        "read": (row.version_state == "ready", f"it is {row.version_state}"),
    }
    for key, text in AUTOMATIC.items():
        is_met, why = found[key]
        yield Check(id=key, text=text, automatic=True, is_met=is_met, why="" if is_met else why)


def _ticked(row: Row[Any]) -> Iterator[Check]:
    for number, each in enumerate(row.checklist, start=1):
        yield Check(
            id=f"text-{number}",
            text=each["text"],
            automatic=False,
            is_met=each["is_met"],
            by=each.get("by", ""),
            at=each.get("at"),
        )


def show_release(unit: Unit, principal: Principal, row: Row[Any]) -> Release:
    """Return a release as it is shown to somebody, with who may decide, and whether what is written of it agrees."""
    parties = parties_of(unit, [row.id])[row.id]
    problem = contradiction_of(unit, row.organisation_id, row.id, row.audit_id)
    line = Check(id=AGREES, text=AGREEMENT, automatic=True, is_met=not problem, why=problem)
    found = all_shown(unit, principal, [row])[0]
    told: dict[str, Any] = (
        {"may_review": False, "why_not": f"{problem}; {ADVICE}"} if problem else {}
    )
    deciders = deciders_of(unit, principal, parties)
    checklist = (line, *found.checklist)
    return found.model_copy(update={"checklist": checklist, "deciders": deciders, **told})


def all_shown(unit: Unit, principal: Principal, rows: Sequence[Row[Any]]) -> tuple[Release, ...]:
    """Return releases as they are shown to somebody; what belongs to them is looked up once."""
    if not rows:
        return ()
    ids = [row.id for row in rows]
    said, decided = _comments(unit, ids), _reviews(unit, ids)
    parties = parties_of(unit, ids)
    waivers = waivers_by_id(unit, {waiver for row in rows for waiver in row.waivers})
    # many releases rest on few policies, and each comparison asks for two of them
    policies = {_policies(row): row for row in rows}
    standings = {key: _compared(unit, row) for key, row in policies.items()}
    return tuple(
        _release_body(
            principal,
            row,
            lapsed(row.waivers, waivers, unit.now),
            policy=standings[_policies(row)],
            parties=parties[row.id],
            decided=tuple(decided[row.id]),
            comments=tuple(said[row.id]),
        )
        for row in rows
    )


def _release_body(
    principal: Principal,
    row: Row[Any],
    gone: str,
    policy: PackComparison,
    parties: Sequence[Row[Any]],
    decided: tuple[Review, ...],
    comments: tuple[Comment, ...],
) -> Release:
    own = why_own(parties, principal)
    if not own and not principal.may(Permission.REVIEW):
        own = "your role may not decide on releases"
    if not own and row.state not in UNDECIDED:
        own = f"the release is {row.state}"
    return Release(
        id=row.id,
        title=row.title,
        purpose=row.purpose,
        state=row.state,
        revision=row.revision,
        model_id=row.model_id,
        model_name=row.model_name,
        model_version_id=row.model_version_id,
        version=row.n,
        digest=row.digest,
        audit_id=row.audit_id,
        verdict=row.verdict,
        uploader=row.uploader_name,
        opened_by=row.opener_name,
        opened_at=row.opened_at,
        decided_at=row.decided_at,
        asked_by=row.asker_name,
        policy=row.pack_name,
        policy_author=row.author_name or "",
        least_policy=row.least_pack or "",
        policy_standing=policy.standing,
        policy_differences=policy.lines,
        parties=tuple(Party(name=party.name, part=party.part) for party in parties),
        checklist=_checks(row, gone, policy),
        reviews=decided,
        comments=comments,
        may_review=not own,
        why_not=own,
    )


def _reviews(unit: Unit, release_ids: Sequence[str]) -> defaultdict[str, list[Review]]:
    rows = unit.connection.execute(
        select(reviews, account.c.name.label("by"))
        .join(account, account.c.id == reviews.c.reviewer_id)
        .where(reviews.c.release_id.in_(release_ids))
        .order_by(reviews.c.id)
    )
    found: defaultdict[str, list[Review]] = defaultdict(list)
    for row in rows:
        review = Review(
            id=row.id, reviewer=row.by, decision=row.decision, comment=row.comment, at=row.at
        )
        found[row.release_id].append(review)
    return found


def _comments(unit: Unit, release_ids: Sequence[str]) -> defaultdict[str, list[Comment]]:
    rows = unit.connection.execute(
        select(comment, account.c.name.label("by"))
        .join(account, account.c.id == comment.c.author_id)
        .where(comment.c.release_id.in_(release_ids))
        .order_by(comment.c.id)
    )
    found: defaultdict[str, list[Comment]] = defaultdict(list)
    for row in rows:
        found[row.release_id].append(Comment(id=row.id, author=row.by, text=row.text, at=row.at))
    return found


DECIDED = {"approve": "approved", "reject": "rejected", "changes": "asked for changes"}
ABOUT = (
    "This is what the service had on record when the report was made. The digest is that "
    "of the last log row about this release. Each row contains the digest of the row "
    "before it, so a change of any row is noticed."
)


def release_record(unit: Unit, principal: Principal, release: Release) -> ReportSection:
    """Return who asked for a release, who decided about it and when, by which policy, waivers and log."""
    return ReportSection("record", "Release on record", tuple(_blocks(unit, principal, release)))


def _blocks(unit: Unit, principal: Principal, release: Release) -> Iterator[Block]:
    yield Paragraph(ABOUT, "note")
    yield _facts(unit, principal, release)
    if release.reviews:
        yield _decisions(release)
    else:
        yield Paragraph("No decision has been made yet.")
    waivers = _waivers(unit, principal, release)
    if waivers:
        yield _accepted(waivers)
    else:
        yield Paragraph("The audit used no waiver.")


def _facts(unit: Unit, principal: Principal, release: Release) -> ReportTable:
    asked_at = unit.connection.execute(
        select(audit.c.created_at, audit.c.pack_digest).where(
            audit.c.organisation_id == principal.organisation_id, audit.c.id == release.audit_id
        )
    ).one()
    author = f", written by {release.policy_author}" if release.policy_author else ", built in"
    seals = next((check for check in release.checklist if check.id == AGREES), None)
    agrees = "not checked" if seals is None else seals.why or "agrees with its seals"
    rows = (
        ("Release", Cell(release.title, note=release.id)),
        ("State", Cell(release.state)),
        ("Version", Cell(f"{release.model_name}, version {release.version}")),
        ("SHA-256 of the file", Cell(release.digest, kind="code")),
        ("Uploaded by", Cell(release.uploader)),
        ("Audit requested by", Cell(f"{release.asked_by}, {_moment(asked_at.created_at)}")),
        ("Release requested by", Cell(f"{release.opened_by}, {_moment(release.opened_at)}")),
        ("Decided", Cell(_moment(release.decided_at))),
        ("Policy version", Cell(f"{release.policy}{author}")),
        ("SHA-256 of the policy", Cell(asked_at.pack_digest, kind="code")),
        ("Log rows about it", Cell(agrees)),
        *_logged(unit, principal, release),
    )
    said = tuple((Cell(name), cell) for name, cell in rows)
    return ReportTable("The release", ("Item", "What it is"), said, (25, 75))


def _logged(unit: Unit, principal: Principal, release: Release) -> Iterator[tuple[str, Cell]]:
    row = unit.connection.execute(
        select(log_entry.c.seq, log_entry.c.hash)
        .where(
            log_entry.c.organisation_id == principal.organisation_id,
            log_entry.c.object_id == release.id,
        )
        .order_by(log_entry.c.seq.desc())
        .limit(1)
    ).first()
    if row is None:
        yield "Log", Cell("no row is about this release")
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


def _waivers(unit: Unit, principal: Principal, release: Release) -> list[Waiver]:
    of = select(audit.c.waivers).where(
        audit.c.organisation_id == principal.organisation_id, audit.c.id == release.audit_id
    )
    ids = unit.connection.execute(of).scalar_one()
    if not ids:
        return []
    found = (
        waivers_from(principal.organisation_id).where(waiver.c.id.in_(ids)).order_by(waiver.c.id)
    )
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
    headings = ("Check", "Requested by", "Decided by", "State")
    return ReportTable("Waivers of the audit", headings, rows, (35, 20, 20, 25))


def _moment(at: datetime | None) -> str:
    return "not yet" if at is None else at.strftime("%Y-%m-%d %H:%M UTC")
