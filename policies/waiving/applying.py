"""Holds waivers against a decision: what they accept, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from treewarden.audit.of_releases import is_adversary
from treewarden.audit.reading import Interval, Reading, exactly
from treewarden.policies.clause import Waivers as Settings
from treewarden.policies.judging.decision import Accepted, Decision, Finding, Place
from treewarden.policies.severity import Severity
from treewarden.policies.verdict import Verdict
from treewarden.policies.waiving.breaking import (
    ABOUT_THE_EVIDENCE,
    is_beyond,
    is_listed,
    is_of_pack,
    reading_at,
    verdict_at,
    verdict_of,
    with_places,
)
from treewarden.policies.waiving.waivers import Waiver, Waivers

EXPIRED = "waiver-expired"
UNKNOWN = "waiver-unknown"
BROAD = "waiver-over-broad"
CONTRADICTS = "waiver-contradicts-itself"
UNUSED = "waiver-unused"
OUT_OF_REACH = "waiver-out-of-reach"
OPEN = "waiver-undetermined"
OUTGROWN = "waiver-outgrown"
MOST_LEAVES = 20
NOT_WAIVED = "which no waiver accepts, only a baseline (--write-baseline)"


@dataclass(frozen=True, slots=True)
class Told:
    """What is wrong with a waiver: the id of the finding about it, and a sentence."""

    finding: str
    waiver: Waiver
    problem: str


@dataclass(frozen=True, slots=True)
class Uses:
    """By number: the waivers that were needed by a model, and those that are told of with it."""

    needed: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Waived:
    """A decision with what was waived, and which waivers that took."""

    decision: Decision
    uses: Uses = Uses()


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a decision is about: its digest, its name, and the fingerprints of all leaves with people.

    ``is_one_of_many`` says that the same waivers are held against other models too: what is wrong with a waiver that
    may be meant for another model is then for ``unused`` to tell.
    """

    digest: str
    name: str
    leaves: frozenset[str]
    is_one_of_many: bool = False


def accepted(decision: Decision, waivers: Waivers, model: Model, today: date) -> Waived:
    """Return a decision in which what is waived does not count, and the findings about the waivers themselves."""
    settings = decision.pack.waivers
    meant = [each for each in waivers.each if each.is_for(model.name)]
    checked = [(each, _wrong(each, decision, model, today)) for each in meant]
    told = [
        found
        for each, found in checked
        if found is not None and (_is_here(each, model) or _is_only_for(each, model))
    ]
    in_order = [each for each, found in checked if found is None and _is_here(each, model)]
    applying = _Applying(decision, waivers.source, model, settings)
    findings = [applying.to(finding, in_order) for finding in decision.findings]
    told += applying.told
    needless = [each for each in in_order if each.number not in applying.needed]
    told += [each for each in map(applying.out_of_reach, needless) if each is not None]
    known = {each.waiver.number for each in told} | applying.needed
    if not model.is_one_of_many:
        told += [_unused(each) for each in meant if each.number not in known]
    uses = Uses(frozenset(applying.needed), frozenset(each.waiver.number for each in told))
    about = findings_about(waivers.source, told, settings)
    result = replace(decision, findings=(*about, *findings))
    return Waived(replace(result, verdict=verdict_of(result)), uses)


def unused(waivers: Waivers, uses: Iterable[Uses], today: date) -> tuple[Told, ...]:
    """Return what is wrong with the waivers that none of many models needed, and that was not told with one of them."""
    known: set[int] = set()
    for each in uses:
        known |= each.needed | each.told
    left = [each for each in waivers.each if each.number not in known]
    return tuple(next(_by_itself(each, today), _unused(each)) for each in left)


def findings_about(source: str, told: Iterable[Told], settings: Settings) -> tuple[Finding, ...]:
    """Return one finding for each kind of thing that is wrong with waivers."""
    kinds: dict[str, list[Told]] = {}
    for each in told:
        kinds.setdefault(each.finding, []).append(each)
    return tuple(_finding(source, kind, kinds[kind], settings) for kind in sorted(kinds))


def _finding(source: str, kind: str, told: list[Told], settings: Settings) -> Finding:
    severity: Severity = "error"
    if kind in (UNUSED, OUT_OF_REACH, OPEN):
        severity = "warning" if kind == OPEN else settings.unused
    message = " ".join(f"{source}: waiver {each.waiver.number}: {each.problem}." for each in told)
    count = exactly(len({each.waiver.number for each in told}))
    return Finding(kind, "", (), "", None, "waivers", severity, count, Verdict.FAIL, message)


def _is_here(waiver: Waiver, model: Model) -> bool:
    """Return whether the model has what a waiver is for."""
    return waiver.leaf in model.leaves or waiver.digest == f"sha256:{model.digest}"


def _is_only_for(waiver: Waiver, model: Model) -> bool:
    """Return whether a waiver that may be for a model can be for no other."""
    return not model.is_one_of_many or waiver.model is not None


def _wrong(waiver: Waiver, decision: Decision, model: Model, today: date) -> Told | None:
    """Return why a waiver is not applied to a model, the first reason only."""
    found = next(_by_itself(waiver, today), None)
    if found is not None:
        return found
    ids = [clause.id for clause in decision.pack.clauses]
    if waiver.clause in ABOUT_THE_EVIDENCE and waiver.clause not in ids:
        problem = (
            f"{waiver.clause!r} says that the evidence cannot be believed, which nobody can waive"
        )
        return Told(UNKNOWN, waiver, problem)
    if waiver.clause not in ids:
        have = ", ".join(ids)
        problem = f"the policy {decision.pack.name!r} has no clause {waiver.clause!r}; have {have}"
        return Told(UNKNOWN, waiver, problem)
    if waiver.leaf and waiver.leaf not in model.leaves:
        problem = f"no leaf of {model.name} has the fingerprint {waiver.leaf}; the model was changed, or is another"
        return Told(UNKNOWN, waiver, problem)
    return None


def _by_itself(waiver: Waiver, today: date) -> Iterator[Told]:
    """Yield what is wrong with a waiver whatever model it is for."""
    if waiver.leaf and waiver.digest:
        problem = "it is for a leaf and for a whole model file at once; leave out one of them"
        yield Told(CONTRADICTS, waiver, problem)
    if waiver.granted is not None and waiver.granted > waiver.expires:
        problem = f"it was granted on {waiver.granted}, after it expires on {waiver.expires}"
        yield Told(CONTRADICTS, waiver, problem)
    if waiver.granted is not None and waiver.granted > today:
        problem = f"it says that it was granted on {waiver.granted}, and today is {today}"
        yield Told(CONTRADICTS, waiver, problem)
    if waiver.expires < today:
        problem = (
            f"it expired on {waiver.expires}: {waiver.clause!r} in {waiver.where} counts again; {waiver.owner} answers "
            f"for it ({waiver.ticket})"
        )
        yield Told(EXPIRED, waiver, problem)


def _unused(waiver: Waiver) -> Told:
    problem = f"nothing breaks {waiver.clause!r} in {waiver.where} any more, or it is of another model; take it out"
    return Told(UNUSED, waiver, problem)


class _Applying:
    """Holds the waivers that are in order against finding after finding."""

    def __init__(self, decision: Decision, source: str, model: Model, settings: Settings) -> None:
        self._decision, self._source = decision, source
        self._model, self._settings = model, settings
        self.needed: set[int] = set()
        self.told: list[Told] = []

    def to(self, finding: Finding, waivers: Collection[Waiver]) -> Finding:
        """Return a finding with what is accepted of it.

        Waivers are of what everybody can tell of the model: of another release or an adversary nothing is accepted.
        """
        if finding.verdict is Verdict.PASS or not is_of_pack(finding):
            return finding
        mine = [each for each in waivers if each.clause == finding.clause]
        if finding.of:
            if not mine or not is_adversary(finding.of):
                return finding
            why = f"This is what an adversary learns, {NOT_WAIVED}."
            return replace(finding, message=f"{finding.message} {why}")
        digest = f"sha256:{self._model.digest}"
        whole = next((each for each in mine if each.digest == digest), None)
        if whole is not None and self._may(whole, finding):
            said = self._said(whole)
            places = tuple(replace(each, accepted=said) for each in finding.places)
            return replace(finding, places=places, accepted=said)
        by_leaf = {each.leaf: each for each in mine if each.leaf}
        return with_places(
            finding, lambda place: self._at(finding, place, by_leaf), is_listed(finding)
        )

    def out_of_reach(self, waiver: Waiver) -> Told | None:
        """Return that a waiver which nothing needs is of a clause that adversaries do not pass; None where all do."""
        who = [
            finding.of
            for finding in self._decision.findings
            if finding.clause == waiver.clause and finding.verdict is not Verdict.PASS
            if is_adversary(finding.of)
        ]
        if not who:
            return None
        more = f" and {len(who) - 1} more" if who[1:] else ""
        problem = (
            f"it accepts nothing here: {waiver.clause!r} is not met by what {who[0]}{more} can learn, {NOT_WAIVED}; "
            "take it out"
        )
        return Told(OUT_OF_REACH, waiver, problem)

    def _may(self, waiver: Waiver, finding: Finding) -> bool:
        """Return whether a clause may be waived in the whole model."""
        self.needed.add(waiver.number)
        broken = {each.leaf for each in finding.places}
        if is_listed(finding) and broken != self._model.leaves:
            named = sorted(broken)
            more = f" and {len(named) - MOST_LEAVES} more" if named[MOST_LEAVES:] else ""
            problem = (
                f"it waives {finding.clause!r} in the whole model, of whose {len(self._model.leaves)} leaves "
                f"{len(named)} break it; waive these: {', '.join(named[:MOST_LEAVES])}{more}"
            )
            self.told.append(Told(BROAD, waiver, problem))
            return False
        if self._is_outgrown(waiver, finding, finding.reading):
            return False
        verdicts = [finding.verdict, *(verdict_at(finding, each) for each in finding.places)]
        return self._is_decided(waiver, finding, Verdict.UNDETERMINED not in verdicts)

    def _at(self, finding: Finding, place: Place, by_leaf: dict[str, Waiver]) -> Accepted | None:
        waiver = by_leaf.get(place.leaf)
        if waiver is None:
            return None
        self.needed.add(waiver.number)
        if self._is_outgrown(waiver, finding, reading_at(place)):
            return None
        is_decided = verdict_at(finding, place) is not Verdict.UNDETERMINED
        return self._said(waiver) if self._is_decided(waiver, finding, is_decided) else None

    def _is_outgrown(self, waiver: Waiver, finding: Finding, reading: Reading) -> bool:
        """Return whether it is worse by now than what was waived; say so where it is."""
        if waiver.worst is None:
            return False
        if isinstance(reading, Interval) and not is_beyond(finding, reading, waiver.worst):
            return False
        problem = (
            f"{finding.clause!r} is worse in {waiver.where} than what was waived; "
            f"{waiver.owner} answers for it ({waiver.ticket})"
        )
        self._tell(Told(OUTGROWN, waiver, problem))
        return True

    def _is_decided(self, waiver: Waiver, finding: Finding, is_decided: bool) -> bool:
        """Return whether it is known what is waived, or the pack lets the unknown be waived; say so where not."""
        if is_decided or self._settings.undetermined:
            return True
        problem = (
            f"what {finding.clause!r} comes to in {waiver.where} could not all be told, and the policy lets only what "
            "is known be waived"
        )
        self._tell(Told(OPEN, waiver, problem))
        return False

    def _tell(self, told: Told) -> None:
        if told not in self.told:
            self.told.append(told)

    def _said(self, waiver: Waiver) -> Accepted:
        return Accepted(
            "waiver",
            f"{waiver.reason} ({waiver.owner}, {waiver.ticket}; until {waiver.expires}; waiver {waiver.number} of "
            f"{self._source})",
        )
