"""Findings as a page shows them: what is asked once, with all places that do not meet it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treewarden.service.schemas.audits import Finding

WORST = ("FAIL", "UNDETERMINED")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """A clause, the worst of its verdicts, and its findings: those that count first."""

    clause: str
    verdict: str
    severity: str
    message: str
    findings: tuple[Finding, ...]

    @property
    def is_accepted(self) -> bool:
        """Whether waivers speak for all of it."""
        return all(each.accepted for each in self.findings)


def grouped(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Return findings by clause: what counts before what is a warning or accepted, failures before doubts."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        found.setdefault((each.clause, each.message), []).append(each)
    groups = [_group(several) for several in found.values()]
    return tuple(sorted(groups, key=_rank))


def _group(findings: list[Finding]) -> FindingGroup:
    several = sorted(findings, key=lambda each: (bool(each.accepted), _gravity(each.verdict)))
    first = several[0]
    return FindingGroup(first.clause, first.verdict, first.severity, first.message, tuple(several))


def _rank(group: FindingGroup) -> tuple[bool, bool, int]:
    return group.is_accepted, group.severity != "error", _gravity(group.verdict)


def _gravity(verdict: str) -> int:
    return WORST.index(verdict) if verdict in WORST else len(WORST)
