"""What a policy says of an audit: findings with their places, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from audit.reading import Reading
from policies.pack import Pack
from policies.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Place:
    """A leaf or profile that does not pass: the node where its records stop, the path there, its line in the file.

    ``tree`` counts the trees of an ensemble, from 0. Of what the file gives away beside its trees, ``name`` is the kind
    of leak and ``path`` the place in the file.
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


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one clause. ``places`` are those that do not pass, worst first.

    A finding about the evidence itself (the file contradicts itself or the table) has no measure and no limit.
    """

    clause: str
    measure: str
    parameters: tuple[tuple[str, float | str], ...]
    rule: str
    limit: float | None
    unit: str
    severity: Literal["error", "warning"]
    reading: Reading
    verdict: Verdict
    message: str
    why: str = ""
    source: str = ""
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of a pack on an audit; findings in the pack's order, those about the evidence first."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    pack: Pack

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that keep the verdict from being a pass, worst first."""
        kept = (f for f in self.findings if f.severity == "error" and f.verdict > Verdict.PASS)
        return tuple(sorted(kept, key=lambda finding: -finding.verdict))
