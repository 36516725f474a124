"""What became of a model from version to version: verdicts, how much was not met, the smallest leaf of each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Text, cast, func, or_, select

from treewarden.service.cases.models import list_versions
from treewarden.service.database.tables import audit, finding
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.models import Version
from treewarden.service.site import Unit

MOST = 12
"""So many versions are told of, the newest ones."""


@dataclass(frozen=True, slots=True)
class VersionVerdict:
    """The newest verdict about a version, and how many findings it rests on; ``worst`` is the clause with most of them.

    Findings that a waiver accepts are in ``accepted`` alone.
    """

    audit_id: str
    verdict: str
    policy: str
    failed: int
    undecided: int
    accepted: int
    worst: str


@dataclass(frozen=True, slots=True)
class Past:
    """A version: its number, the newest verdict, and the people in the smallest leaf as its file says.

    ``audited`` is None before there is a verdict, ``smallest_leaf`` where the file does not say or was not read.
    """

    n: int
    audited: VersionVerdict | None
    smallest_leaf: int | None


def model_history(unit: Unit, who: Principal, model_id: str) -> tuple[Past, ...]:
    """Return the newest versions of a model, oldest first.

    Raises:
        NotFoundError: the organisation has no such model.
    """
    versions = list_versions(unit, who, model_id, PageRequest(limit=MOST)).items
    audits = _newest_verdicts(unit, who, [each.id for each in versions])
    found = _findings(unit, [row.id for row in audits.values()])
    return tuple(
        Past(
            n=version.n,
            audited=_audited(audits[version.id], found) if version.id in audits else None,
            smallest_leaf=_smallest_leaf(version),
        )
        for version in sorted(versions, key=lambda version: version.n)
    )


def _newest_verdicts(unit: Unit, who: Principal, version_ids: Sequence[str]) -> dict[str, Row[Any]]:
    """Return by version the newest audit with a verdict; that of a repair is about another file."""
    last = (
        select(func.max(audit.c.id))
        .where(
            audit.c.organisation_id == who.organisation_id,
            audit.c.model_version_id.in_(version_ids),
            audit.c.kind == "audit",
            audit.c.state == "done",
        )
        .group_by(audit.c.model_version_id)
    )
    columns: tuple[Any, ...] = (
        audit.c.id,
        audit.c.model_version_id,
        audit.c.verdict,
        audit.c.pack_name,
    )
    rows = unit.connection.execute(select(*columns).where(audit.c.id.in_(last)))
    return {row.model_version_id: row for row in rows}


def _findings(unit: Unit, audit_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """Return how many findings there are of each audit, clause and verdict, accepted or not."""
    is_open = or_(finding.c.accepted.is_(None), cast(finding.c.accepted, Text) == "null")
    kinds = (finding.c.audit_id, finding.c.clause, finding.c.verdict, is_open.label("is_open"))
    return unit.connection.execute(
        select(*kinds, func.count().label("number"))
        .where(finding.c.audit_id.in_(audit_ids))
        .group_by(*kinds)
        .order_by(finding.c.clause)
    ).all()


def _audited(row: Row[Any], findings: Sequence[Row[Any]]) -> VersionVerdict:
    own = [each for each in findings if each.audit_id == row.id]
    counting = [each for each in own if each.is_open]
    worst = max(counting, key=lambda each: (each.verdict == "FAIL", each.number), default=None)
    return VersionVerdict(
        audit_id=row.id,
        verdict=row.verdict,
        policy=row.pack_name,
        failed=sum(_numbers(counting, "FAIL")),
        undecided=sum(_numbers(counting, "UNDETERMINED")),
        accepted=sum(each.number for each in own if not each.is_open),
        worst="" if worst is None else worst.clause,
    )


def _numbers(findings: Sequence[Row[Any]], verdict: str) -> Iterator[int]:
    return (each.number for each in findings if each.verdict == verdict)


def _smallest_leaf(version: Version) -> int | None:
    size = ((version.summary or {}).get("support") or {}).get("smallest_leaf")
    return int(size) if isinstance(size, int | float) else None
