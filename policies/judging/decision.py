"""What a policy says of an audit: findings with their places, and the verdict over them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from audit.reading import Reading
from policies.pack import Pack
from policies.verdict import Verdict

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Why what breaks a clause does not count: somebody waived it, or a baseline knows it; ``reason`` in words."""

    by: Literal["waiver", "baseline"]
    reason: str


@dataclass(frozen=True, slots=True)
class Guidance:
    """A paragraph of named guidance that a clause serves; ``says`` is what it asks for, in short."""

    document: str
    paragraph: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A leaf or profile that does not pass: the node where its records stop, the path there, its line in the file.

    ``tree`` counts the trees of an ensemble, from 0. Of what the file gives away beside its trees, ``name`` is the kind
    of leak and ``path`` the place in the file. ``leaf`` is the fingerprint of the leaf, the same in any format and
    however nodes are numbered; of the file "".
    """

    kind: Literal["leaf", "profile", "file"]
    index: int
    node: int
    name: str
    path: str
    profile: str
    line: int | None
    low: float
    high: float
    note: str
    tree: int = 0
    leaf: str = ""
    accepted: Accepted | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one clause. ``places`` are those that do not pass, worst first.

    A finding about the evidence itself (the file contradicts itself or the table) has no measure and no limit. What is
    ``accepted`` as a whole stays visible and no longer counts. ``guidance`` is what the clause says that it serves.
    """

    clause: str
    measure: str
    parameters: tuple[tuple[str, float | str], ...]
    rule: str
    limit: float | None
    unit: str
    severity: Severity
    reading: Reading
    verdict: Verdict
    message: str
    why: str = ""
    source: str = ""
    places: tuple[Place, ...] = ()
    accepted: Accepted | None = None
    guidance: tuple[Guidance, ...] = ()

    @property
    def open_verdict(self) -> Verdict:
        """The verdict that counts: a pass where all that breaks the clause was accepted, else its own."""
        return Verdict.PASS if self.accepted is not None else self.verdict


def finding_id(clause: str, leaf: str = "") -> str:
    """Return the name of what breaks a clause in a leaf, or in the model as a whole: the same in every output."""
    return hashlib.sha256(f"{clause}\n{leaf}".encode("utf-8", "backslashreplace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of a pack on an audit; findings in the pack's order, those about the evidence first.

    Findings of the severity ``fail_on`` or a graver one make up the verdict. ``not_judged`` names the clauses that do
    not apply to this model, each with the reason.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    pack: Pack
    fail_on: Severity = "error"
    not_judged: tuple[tuple[str, str], ...] = ()

    def counts(self, finding: Finding) -> bool:
        """Return whether a finding is grave enough to make up the verdict."""
        return SEVERITIES.index(finding.severity) >= SEVERITIES.index(self.fail_on)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that keep the verdict from being a pass, worst first."""
        kept = (f for f in self.findings if self.counts(f) and f.open_verdict > Verdict.PASS)
        return tuple(sorted(kept, key=lambda finding: -finding.verdict))
