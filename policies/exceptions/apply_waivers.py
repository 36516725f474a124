"""Applies waivers to a decision: what they accept, what they may accept at all, and what is wrong with them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from treewarden.audit.reading import (
    MOST_SPOTS,
    Interval,
    Reading,
    Undetermined,
    exactly,
    is_adversary,
)
from treewarden.policies.clause import Waivers as Settings
from treewarden.policies.exceptions.waivers import Waiver, WaiverFile
from treewarden.policies.judging.decision import (
    Accepted,
    ClauseRequirement,
    Decision,
    Finding,
    Location,
    Waived,
    WaiverUses,
)
from treewarden.policies.judging.figures import recorded_note
from treewarden.policies.rules import rules
from treewarden.policies.verdict import FindingKind, PolicyVerdict, Severity, worst
from treewarden.ppdm_models.tree.fingerprint import LETTERS

# Which parts of a finding may be accepted at all, and when a finding is accepted as a whole.

ABOUT_EVIDENCE = frozenset(kind for kind in FindingKind if kind.is_about_evidence)
"""Findings that say whether anything can be believed; what they say is never accepted."""


def is_of_pack(finding: Finding) -> bool:
    """Return whether a finding is what came of a clause of the pack, and not about the evidence or about waivers."""
    return bool(finding.requirement.measure)


def groups_of(finding: Finding) -> Mapping[str, list[Location]]:
    """Return the places of a finding by what they are in any audit; those of which nothing says that are left out."""
    groups: dict[str, list[Location]] = {}
    for place in finding.places:
        key = group_of(finding, place)
        if key:
            groups.setdefault(key, []).append(place)
    return groups


def group_of(finding: Finding, place: Location) -> str:
    """Return what a place is in any audit: its leaf, by the fingerprint; "" where nothing says that.

    Who knows some columns only sees people in no leaf. There they are the same where the columns have the same values
    and the same is said of them (so many records with that value): a digest, as this is kept where no profile stands.
    """
    if place.leaf or place.kind != "profile" or not is_adversary(finding.of):
        return place.leaf
    said = json.dumps([place.profile, recorded_note(place.note)])
    return f"profile {hashlib.sha256(said.encode('ascii')).hexdigest()[:LETTERS]}"


def verdict_at(finding: Finding, place: Location) -> PolicyVerdict:
    """Return the verdict on one place; UNDETERMINED where that is not told.

    Where a clause has no rule, as several measures make it up, its places read 1 where they fail, and from 0 to 1 where
    that is open.
    """
    if finding.requirement.limit is None or finding.requirement.rule not in rules():
        return PolicyVerdict.FAIL if place.low == place.high == 1 else PolicyVerdict.UNDETERMINED
    return rules()[finding.requirement.rule].judge(reading_at(place), finding.requirement.limit)


def reading_at(place: Location) -> Reading:
    """Return what was read at one place; what is no number is not told."""
    if math.isnan(place.low) or math.isnan(place.high):
        return Undetermined("not a number")
    return Interval(place.low, place.high)


def is_beyond(finding: Finding, reading: Interval, limit: float) -> bool:
    """Return whether a reading reaches further into danger than a number; true where that cannot be told."""
    if finding.requirement.rule not in rules():
        return True
    return (
        reading.low < limit
        if rules()[finding.requirement.rule].risk == "low"
        else reading.high > limit
    )


def is_listed(finding: Finding) -> bool:
    """Return whether the places that are named are all that breaks a clause, so that each can be accepted for itself.

    They are not where the list was cut, where nothing says which place one is, or where the reading is worse than what
    the places account for: as the worst of them, or as their sum.
    """
    if not 0 < len(finding.places) < MOST_SPOTS:
        return False
    if not all(group_of(finding, place) for place in finding.places):
        return False
    if isinstance(finding.reading, Undetermined):
        return False
    if finding.requirement.rule not in rules():  # then it is read how many places break it
        return finding.reading.high == len(finding.places)
    if rules()[finding.requirement.rule].risk == "low":
        return finding.reading.low == min(place.low for place in finding.places)
    highs = [place.high for place in finding.places]
    if finding.reading.high == max(highs):
        return True
    return all(map(math.isfinite, highs)) and math.isclose(finding.reading.high, math.fsum(highs))


def with_places(
    finding: Finding, accept: Callable[[Location], Accepted | None], whole: bool
) -> Finding:
    """Return a finding with more of its places accepted, and accepted itself where all are and these are the ``whole``.

    What is accepted stays so, for the reason it has.
    """
    places = tuple(
        place if place.accepted is not None else replace(place, accepted=accept(place))
        for place in finding.places
    )
    found = replace(finding, places=places)
    reasons = [place.accepted for place in places]
    if finding.accepted is not None or not whole or not reasons or not all(reasons):
        return found
    return replace(found, accepted=_joined([reason for reason in reasons if reason is not None]))


def verdict_of(decision: Decision) -> PolicyVerdict:
    """Return the verdict over what counts and is not accepted; undetermined where no clause counts."""
    findings = [finding for finding in decision.findings if decision.counts(finding)]
    clauses = [finding.open_verdict for finding in findings if is_of_pack(finding)]
    verdicts = [finding.open_verdict for finding in findings if not is_of_pack(finding)]
    return max([worst(clauses), *verdicts])


def _joined(reasons: list[Accepted]) -> Accepted:
    """Return one reason for several: each once; somebody's waiver is named rather than a baseline."""
    texts = "; ".join(dict.fromkeys(reason.reason for reason in reasons))
    is_waived = any(reason.by == "waiver" for reason in reasons)
    return Accepted("waiver" if is_waived else "baseline", texts)


MOST_LEAVES = 20
NOT_WAIVED = "which no waiver can accept, only a baseline file (--write-baseline)"


@dataclass(frozen=True, slots=True)
class WaiverFault:
    """What is wrong with a waiver: the id of the finding about it, and a sentence."""

    finding: FindingKind
    waiver: Waiver
    problem: str


@dataclass(frozen=True, slots=True)
class WaivedModel:
    """The model that a decision is about: its digest, its name, and the fingerprints of all leaves with people.

    ``is_one_of_many`` says that the same waivers are held against other models too: what is wrong with a waiver that
    may be meant for another model is then for ``unused`` to tell.
    """

    digest: str
    name: str
    leaves: frozenset[str]
    is_one_of_many: bool = False


def accepted(decision: Decision, waivers: WaiverFile, model: WaivedModel, today: date) -> Waived:
    """Return a decision in which what is waived does not count, and the findings about the waivers themselves."""
    settings = decision.pack.waivers
    meant = [waiver for waiver in waivers.each if waiver.is_for(model.name)]
    checked = [(waiver, _wrong(waiver, decision, model, today)) for waiver in meant]
    waiver_faults = [
        waiver_fault
        for waiver, waiver_fault in checked
        if waiver_fault is not None and (_is_here(waiver, model) or _is_only_for(waiver, model))
    ]
    in_order = [
        waiver
        for waiver, waiver_fault in checked
        if waiver_fault is None and _is_here(waiver, model)
    ]
    applying = _Applying(decision, waivers.source, model, settings)
    findings = [applying.to(finding, in_order) for finding in decision.findings]
    waiver_faults += applying.told
    needless = [waiver for waiver in in_order if waiver.number not in applying.needed]
    waiver_faults += [
        waiver_fault
        for waiver_fault in map(applying.out_of_reach, needless)
        if waiver_fault is not None
    ]
    known = {waiver_fault.waiver.number for waiver_fault in waiver_faults} | applying.needed
    if not model.is_one_of_many:
        waiver_faults += [_unused(waiver) for waiver in meant if waiver.number not in known]
    uses = WaiverUses(
        frozenset(applying.needed),
        frozenset(waiver_fault.waiver.number for waiver_fault in waiver_faults),
    )
    about = findings_about(waivers.source, waiver_faults, settings)
    result = replace(decision, findings=(*about, *findings))
    return Waived(replace(result, verdict=verdict_of(result)), uses)


def unused(waivers: WaiverFile, uses: Iterable[WaiverUses], today: date) -> tuple[WaiverFault, ...]:
    """Return what is wrong with the waivers that none of many models needed, and that was not told with one of them."""
    known: set[int] = set()
    for use in uses:
        known |= use.needed | use.told
    left = [waiver for waiver in waivers.each if waiver.number not in known]
    return tuple(next(_by_itself(waiver, today), _unused(waiver)) for waiver in left)


def findings_about(
    source: str, waiver_faults: Iterable[WaiverFault], settings: Settings
) -> tuple[Finding, ...]:
    """Return one finding for each kind of thing that is wrong with waivers."""
    kinds: dict[FindingKind, list[WaiverFault]] = {}
    for waiver_fault in waiver_faults:
        kinds.setdefault(waiver_fault.finding, []).append(waiver_fault)
    return tuple(_finding(source, kind, kinds[kind], settings) for kind in sorted(kinds))


def _finding(
    source: str, kind: FindingKind, waiver_faults: list[WaiverFault], settings: Settings
) -> Finding:
    severity: Severity = "error"
    if kind in (
        FindingKind.WAIVER_UNUSED,
        FindingKind.WAIVER_OUT_OF_REACH,
        FindingKind.WAIVER_UNDETERMINED,
    ):
        severity = "warning" if kind == FindingKind.WAIVER_UNDETERMINED else settings.unused
    message = " ".join(
        f"{source}: waiver {waiver_fault.waiver.number}: {waiver_fault.problem}."
        for waiver_fault in waiver_faults
    )
    count = exactly(len({waiver_fault.waiver.number for waiver_fault in waiver_faults}))
    return Finding(
        clause=kind.value,
        requirement=ClauseRequirement(unit="waivers"),
        severity=severity,
        reading=count,
        verdict=PolicyVerdict.FAIL,
        message=message,
    )


def _is_here(waiver: Waiver, model: WaivedModel) -> bool:
    """Return whether the model has what a waiver is for."""
    return waiver.leaf in model.leaves or waiver.digest == f"sha256:{model.digest}"


def _is_only_for(waiver: Waiver, model: WaivedModel) -> bool:
    """Return whether a waiver that may be for a model can be for no other."""
    return not model.is_one_of_many or waiver.model is not None


def _wrong(
    waiver: Waiver, decision: Decision, model: WaivedModel, today: date
) -> WaiverFault | None:
    """Return why a waiver is not applied to a model, the first reason only."""
    waiver_fault = next(_by_itself(waiver, today), None)
    if waiver_fault is not None:
        return waiver_fault
    ids = [clause.id for clause in decision.pack.clauses]
    if waiver.clause in ABOUT_EVIDENCE and waiver.clause not in ids:
        problem = (
            f"{waiver.clause!r} means that the evidence is contradictory, and cannot be waived"
        )
        return WaiverFault(FindingKind.WAIVER_UNKNOWN, waiver, problem)
    if waiver.clause not in ids:
        have = ", ".join(ids)
        problem = f"the policy {decision.pack.name!r} has no check {waiver.clause!r}; it has {have}"
        return WaiverFault(FindingKind.WAIVER_UNKNOWN, waiver, problem)
    if waiver.leaf and waiver.leaf not in model.leaves:
        problem = f"no leaf of {model.name} has the fingerprint {waiver.leaf}; the model was changed or is another"
        return WaiverFault(FindingKind.WAIVER_UNKNOWN, waiver, problem)
    return None


def _by_itself(waiver: Waiver, today: date) -> Iterator[WaiverFault]:
    """Yield what is wrong with a waiver whatever model it is for."""
    if waiver.leaf and waiver.digest:
        problem = "it names both a leaf and a whole model file; remove one of them"
        yield WaiverFault(FindingKind.WAIVER_CONTRADICTS, waiver, problem)
    if waiver.granted is not None and waiver.granted > waiver.expires:
        problem = f"it was granted on {waiver.granted}, after it expires on {waiver.expires}"
        yield WaiverFault(FindingKind.WAIVER_CONTRADICTS, waiver, problem)
    if waiver.granted is not None and waiver.granted > today:
        problem = f"it was granted on {waiver.granted}, which is in the future (today is {today})"
        yield WaiverFault(FindingKind.WAIVER_CONTRADICTS, waiver, problem)
    if waiver.expires < today:
        problem = (
            f"it expired on {waiver.expires}: {waiver.clause!r} in {waiver.where} counts again; ask its owner, "
            f"{waiver.owner} ({waiver.ticket})"
        )
        yield WaiverFault(FindingKind.WAIVER_EXPIRED, waiver, problem)


def _unused(waiver: Waiver) -> WaiverFault:
    problem = f"{waiver.clause!r} no longer fails in {waiver.where}, or the waiver is for another model; remove it"
    return WaiverFault(FindingKind.WAIVER_UNUSED, waiver, problem)


class _Applying:
    """Holds the waivers that are in order against finding after finding."""

    def __init__(
        self, decision: Decision, source: str, model: WaivedModel, settings: Settings
    ) -> None:
        self._decision, self._source = decision, source
        self._model, self._settings = model, settings
        self.needed: set[int] = set()
        self.told: list[WaiverFault] = []

    def to(self, finding: Finding, waivers: Collection[Waiver]) -> Finding:
        """Return a finding with what is accepted of it.

        Waivers are of what everybody can tell of the model: of another release or an adversary nothing is accepted.
        """
        if finding.verdict is PolicyVerdict.PASS or not is_of_pack(finding):
            return finding
        mine = [waiver for waiver in waivers if waiver.clause == finding.clause]
        if finding.of:
            if not mine or not is_adversary(finding.of):
                return finding
            why = f"This is what an adversary with partial knowledge can infer, {NOT_WAIVED}."
            return replace(finding, message=f"{finding.message} {why}")
        digest = f"sha256:{self._model.digest}"
        whole = next((waiver for waiver in mine if waiver.digest == digest), None)
        if whole is not None and self._may(whole, finding):
            said = self._accepted_by(whole)
            places = tuple(replace(location, accepted=said) for location in finding.places)
            return replace(finding, places=places, accepted=said)
        by_leaf = {waiver.leaf: waiver for waiver in mine if waiver.leaf}
        return with_places(
            finding, lambda place: self._at(finding, place, by_leaf), is_listed(finding)
        )

    def out_of_reach(self, waiver: Waiver) -> WaiverFault | None:
        """Return that a waiver which nothing needs is of a clause that adversaries do not pass; None where all do."""
        who = [
            finding.of
            for finding in self._decision.findings
            if finding.clause == waiver.clause and finding.verdict is not PolicyVerdict.PASS
            if is_adversary(finding.of)
        ]
        if not who:
            return None
        more = f" and {len(who) - 1} more" if who[1:] else ""
        problem = (
            f"it accepts nothing here: {waiver.clause!r} fails because of what {who[0]}{more} can infer, {NOT_WAIVED}; "
            "remove it"
        )
        return WaiverFault(FindingKind.WAIVER_OUT_OF_REACH, waiver, problem)

    def _may(self, waiver: Waiver, finding: Finding) -> bool:
        """Return whether a clause may be waived in the whole model."""
        self.needed.add(waiver.number)
        verdicts = [finding.verdict, *(verdict_at(finding, place) for place in finding.places)]
        if waiver.undecided:
            return self._may_stay_open(waiver, finding, max(verdicts), finding.reading)
        broken = {place.leaf for place in finding.places}
        if is_listed(finding) and broken != self._model.leaves:
            named = sorted(broken)
            more = f" and {len(named) - MOST_LEAVES} more" if named[MOST_LEAVES:] else ""
            problem = (
                f"it waives {finding.clause!r} in the whole model, but only {len(named)} of "
                f"{len(self._model.leaves)} leaves fail it; waive these: {', '.join(named[:MOST_LEAVES])}{more}"
            )
            self.told.append(WaiverFault(FindingKind.WAIVER_BROAD, waiver, problem))
            return False
        if self._is_outgrown(waiver, finding, finding.reading):
            return False
        return self._is_decided(waiver, finding, PolicyVerdict.UNDETERMINED not in verdicts)

    def _at(self, finding: Finding, place: Location, by_leaf: dict[str, Waiver]) -> Accepted | None:
        waiver = by_leaf.get(place.leaf)
        if waiver is None:
            return None
        self.needed.add(waiver.number)
        if waiver.undecided:
            verdict = verdict_at(finding, place)
            is_fine = self._may_stay_open(waiver, finding, verdict, reading_at(place))
            return self._accepted_by(waiver) if is_fine else None
        if self._is_outgrown(waiver, finding, reading_at(place)):
            return None
        is_decided = verdict_at(finding, place) is not PolicyVerdict.UNDETERMINED
        return self._accepted_by(waiver) if self._is_decided(waiver, finding, is_decided) else None

    def _may_stay_open(
        self, waiver: Waiver, finding: Finding, verdict: PolicyVerdict, reading: Reading
    ) -> bool:
        """Return whether a waiver accepts that something is not decided; say so where it may not, or is decided now."""
        if verdict is PolicyVerdict.FAIL:
            problem = (
                f"{finding.clause!r} fails in {waiver.where}, and it accepts only that this was not decided; "
                f"{waiver.owner} answers for it ({waiver.ticket})"
            )
            self._tell(WaiverFault(FindingKind.WAIVER_OUTGROWN, waiver, problem))
            return False
        if waiver.worst is not None and self._is_outgrown(waiver, finding, reading):
            return False
        is_forbidden = "undetermined" in self._settings.model_fields_set
        return self._is_decided(waiver, finding, not is_forbidden)

    def _is_outgrown(self, waiver: Waiver, finding: Finding, reading: Reading) -> bool:
        """Return whether it is worse by now than what was waived; say so where it is."""
        if waiver.worst is None:
            return False
        if isinstance(reading, Interval) and not is_beyond(finding, reading, waiver.worst):
            return False
        problem = (
            f"{finding.clause!r} is now worse in {waiver.where} than the value that was waived; "
            f"ask its owner, {waiver.owner} ({waiver.ticket})"
        )
        self._tell(WaiverFault(FindingKind.WAIVER_OUTGROWN, waiver, problem))
        return True

    def _is_decided(self, waiver: Waiver, finding: Finding, is_decided: bool) -> bool:
        """Return whether it is known what is waived, or the pack lets the unknown be waived; say so where not."""
        if is_decided or self._settings.undetermined:
            return True
        problem = f"{finding.clause!r} is not decided in {waiver.where}, and " + (
            "the policy allows waivers only for decided checks (undetermined = false)"
            if waiver.undecided
            else "the waiver is only for a decided check; to accept it undecided, add undecided = true"
        )
        self._tell(WaiverFault(FindingKind.WAIVER_UNDETERMINED, waiver, problem))
        return False

    def _tell(self, waiver_fault: WaiverFault) -> None:
        if waiver_fault not in self.told:
            self.told.append(waiver_fault)

    def _accepted_by(self, waiver: Waiver) -> Accepted:
        open_words = "not decided, and accepted as such: " if waiver.undecided else ""
        return Accepted(
            "waiver",
            f"{open_words}{waiver.reason} ({waiver.owner}, {waiver.ticket}; until {waiver.expires}; "
            f"waiver {waiver.number} of {self._source})",
        )
