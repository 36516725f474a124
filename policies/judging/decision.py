"""What a policy says of an audit: findings with their places, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import MeasureCall, measures
from treewarden.audit.reading import Reading, Spot
from treewarden.policies.clause import Atom, Guidance, Pack
from treewarden.policies.verdict import PolicyVerdict, Severity, counts
from treewarden.ppdm_models.tree.fingerprint import fingerprints
from treewarden.ppdm_models.tree.paths import path_text


@dataclass(frozen=True, slots=True)
class Accepted:
    """Why what breaks a clause does not count: somebody waived it, or a baseline knows it; ``reason`` in words."""

    by: Literal["waiver", "baseline"]
    reason: str


@dataclass(frozen=True, slots=True)
class Location:
    """A leaf or profile that does not pass: the node where its records stop, the path there, its line in the file.

    ``tree`` counts the trees of an ensemble, from 0. Of what the file gives away beside its trees, ``name`` is the kind
    of leak and ``path`` the place in the file; of a table of noisy records ``name`` is a column. ``leaf`` is the
    fingerprint of the leaf, the same in any format and however nodes are numbered; of all else "".
    """

    kind: Literal["leaf", "profile", "file", "tree", "column"]
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
class PlaceGroup:
    """All places of one leaf that do not pass: how many, the worst verdict, and the worst ends of what was read.

    ``leaf`` is its fingerprint; of people who are in no leaf it is a digest of all that is read of them. ``notes`` is a
    digest of what measures read there where several make up the clause.
    """

    leaf: str
    places: int
    verdict: PolicyVerdict
    low: float
    high: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClausePiece:
    """An atom of a combined clause, and what it reads of the model as a whole."""

    atom: Atom
    reading: Reading
    verdict: PolicyVerdict


@dataclass(frozen=True, slots=True)
class ClauseRequirement:
    """What a clause requires: a measure with its parameters, the rule that its reading is held by, and the limit.

    ``scope`` is where the clause says that it is judged, ``under`` what it says that the adversary knows; "" where it
    does not. Of a combined clause ``measure`` is "all of", "any of" or "not", there is no rule and no limit, and
    ``asks`` says in words what it asks for. ``unit`` is that of the reading.
    """

    measure: str = ""
    parameters: tuple[tuple[str, float | str], ...] = ()
    rule: str = ""
    limit: float | None = None
    unit: str = ""
    asks: str = ""
    scope: str = ""
    under: str = ""

    @property
    def call(self) -> MeasureCall:
        """The measure with its parameters."""
        return MeasureCall(self.measure, self.parameters)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one clause. ``places`` are those that do not pass, worst first.

    A finding about the evidence itself (the file contradicts itself or the table) requires no measure and has no limit.
    What is ``accepted`` as a whole stays visible and no longer counts. ``guidance`` is what the clause says that it
    serves. A combined clause has ``pieces``, its atoms; its reading is how many places break it. ``of`` names the
    release that it is about, where that is not the model of the audit: no waiver reaches it. Where ``places`` were cut,
    ``groups`` count all of them.
    """

    clause: str
    requirement: ClauseRequirement
    severity: Severity
    reading: Reading
    verdict: PolicyVerdict
    message: str
    why: str = ""
    source: str = ""
    places: tuple[Location, ...] = ()
    accepted: Accepted | None = None
    guidance: tuple[Guidance, ...] = ()
    pieces: tuple[ClausePiece, ...] = ()
    of: str = ""
    groups: tuple[PlaceGroup, ...] = ()

    @property
    def key(self) -> str:
        """What tells it from the others of one decision, and is the same in the next one."""
        return f"{self.clause}, {self.of}" if self.of else self.clause

    @property
    def is_about_evidence(self) -> bool:
        """Whether it says of the evidence itself that it cannot be judged; no clause asked for anything."""
        return not self.requirement.measure

    @property
    def is_combined(self) -> bool:
        """Whether several atoms make it up, so that it has no one limit."""
        return bool(self.pieces)

    @property
    def calls(self) -> tuple[MeasureCall, ...]:
        """Every measure that it was judged by; none where it is about the evidence."""
        if self.pieces:
            return tuple(piece.atom.call for piece in self.pieces)
        return () if self.is_about_evidence else (self.requirement.call,)

    @property
    def is_of_leaves(self) -> bool:
        """Whether only the leaves' own records count, so that nothing but other leaves mends it."""
        known = measures()
        return bool(self.calls) and all(known[call.measure].is_of_leaves for call in self.calls)

    @property
    def is_of_file(self) -> bool:
        """Whether only what stands beside the trees counts, so that no change of the trees mends it."""
        known = measures()
        return bool(self.calls) and all(known[call.measure].is_of_file for call in self.calls)

    @property
    def open_verdict(self) -> PolicyVerdict:
        """The verdict that counts: a pass where all that breaks the clause was accepted, else its own."""
        return PolicyVerdict.PASS if self.accepted is not None else self.verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of a pack on an audit; findings in the pack's order, those about the evidence first.

    Findings of the severity ``fail_on`` or a graver one make up the verdict. ``not_judged`` names the clauses that do
    not apply to this model, each with the reason.
    """

    verdict: PolicyVerdict
    findings: tuple[Finding, ...]
    pack: Pack
    fail_on: Severity = "error"
    not_judged: tuple[tuple[str, str], ...] = ()

    def counts(self, finding: Finding) -> bool:
        """Return whether a finding is grave enough to make up the verdict."""
        return counts(finding.severity, self.fail_on)

    @property
    def own_findings(self) -> tuple[Finding, ...]:
        """The findings of the model of the audit, whose places are in its trees; not those of other releases."""
        return tuple(finding for finding in self.findings if not finding.of)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that keep the verdict from being a pass, worst first."""
        kept = (f for f in self.findings if self.counts(f) and f.open_verdict > PolicyVerdict.PASS)
        return tuple(sorted(kept, key=lambda finding: -finding.verdict))


# Names of the audited leaves: their fingerprints, and their paths in words, made when asked for.


@dataclass(frozen=True, slots=True)
class NamesByModel:
    """What is known of models that are held meanwhile, by the identity of each.

    ``fingerprints`` are by what it predicts too, ``paths`` by the place of a tree and its node.
    """

    fingerprints: dict[tuple[int, str], tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    paths: dict[tuple[int, int, int], str] = field(default_factory=dict)


class LeafNames:
    """How the leaves of one model are called, whatever its file numbers them."""

    def __init__(self, evidence: Evidence, names_by_model: NamesByModel | None = None) -> None:
        """Take the evidence about the model, and what ``names_by_model`` has of it: adversaries share it."""
        self._evidence = evidence
        self._known = NamesByModel() if names_by_model is None else names_by_model

    def fingerprint_of(self, spot: Spot) -> str:
        """Return the fingerprint of a leaf, or of the leaf where a profile stops; "" of the file and where none is."""
        if spot.kind in ("file", "cell"):
            return ""
        node = self._evidence.node_of(spot)
        return self._all[spot.tree][node] if node >= 0 else ""

    def path(self, spot: Spot) -> str:
        """Return what leads to a leaf, or to the leaf where a profile stops, in words."""
        node, found = self._evidence.node_of(spot), self._known.paths
        key = id(self._evidence.model), spot.tree, node
        if key not in found:
            found[key] = path_text(self._evidence.tree_of(spot), node)
        return found[key]

    @cached_property
    def with_people(self) -> frozenset[str]:
        """The fingerprints of the places where records stop."""
        held = self._evidence.population.counts > 0
        return frozenset(
            names[node]
            for names, stops in zip(self._all, self._evidence.stops, strict=True)
            for node in np.unique(stops[held]).tolist()
            if node >= 0 and names[node]
        )

    @cached_property
    def _all(self) -> tuple[tuple[str, ...], ...]:
        model, target = self._evidence.model, self._evidence.target
        key = id(model), target
        found = self._known.fingerprints
        if key not in found:
            found[key] = fingerprints(model, target)
        return found[key]


# What is left of a decision once exceptions are taken out of it.


@dataclass(frozen=True, slots=True)
class WaiverUses:
    """By number: the waivers that were needed by a model, and those that are told of with it."""

    needed: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Waived:
    """A decision with what was waived, and which waivers that took."""

    decision: Decision
    uses: WaiverUses = WaiverUses()
