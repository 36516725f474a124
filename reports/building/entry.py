"""From the report of a model to its entry in a gate: what a pipeline may say of it where anybody may read along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treewarden.policies.verdict import FindingKind, Severity, counts, requirement
from treewarden.reports.building.redacted import OUTCOME
from treewarden.reports.document.document import (
    Document,
    accepted_undecided,
    finding_id,
    its_own_words,
    without_counts,
)
from treewarden.reports.document.gate import ClauseOutcome, Entry, Gate, Outcome, Result, Rule
from treewarden.reports.document.inferred_parts import BlamedLeaf, BlameReason
from treewarden.reports.document.parts import Accepted, Finding, Place
from treewarden.reports.document.words import counted

PLAIN: Mapping[str, str] = {
    FindingKind.NO_AUDIT: "whether there was an audit",
    FindingKind.NOT_JUDGED: "whether anything could be judged",
}
WHY: Mapping[str, str] = {
    FindingKind.NO_AUDIT: "A model that was not audited must not be published.",
    FindingKind.NOT_JUDGED: "Nothing was decided about this model, so it must not be published.",
}
ORDER: Sequence[Outcome] = ("PASS", "UNDETERMINED", "FAIL", "NO AUDIT")
IN_BASELINE = "the finding was there already when the baseline was written"
NO_LIMIT = ("", "–")
UNLIMITED = "no check of this policy limits what the file proves about people"
OF_PROOFS = frozenset({"certain_disclosure", "certain_in_small_groups"})
"""Metrics of people whose value is proved."""
MOST_TOGETHER = 20
"""So many leaves are named beside a result."""


def entry_of(document: Document, name: str = "", file: str = "") -> Entry:
    """Return the entry of a model that was audited.

    ``file`` is its path as a pipeline knows it, and ``name`` what it is called there; else its file's name alone.
    """
    findings = [finding for finding in document.findings if finding.verdict != "PASS"]
    file = file or document.model.file
    return Entry(
        name=name or file,
        file=file,
        outcome=document.verdict,
        headline=_headline(document),
        policy=document.policy.name,
        basis="file" if document.basis == "file" else "audit",
        rules=tuple(_rule(document, finding) for finding in document.findings),
        clauses=tuple(_clause(finding) for finding in document.findings),
        not_judged=document.not_judged,
        assumed_known=without_counts(document.assumed_known),
        unlimited=UNLIMITED if document.unlimited else "",
        results=tuple(
            result
            for finding in findings
            for result in _results(finding, _joint_reasons(document, finding))
        ),
    )


def unaudited(name: str, file: str, problem: str) -> Entry:
    """Return the entry of a model of which there was no audit, and why: of an error what ``problem_of`` says."""
    return Entry(name=name, file=file, outcome="NO AUDIT", headline=problem, problem=problem)


def undecided(name: str, file: str, reason: str) -> Entry:
    """Return the entry of a model of which nothing could be told, as its audit is too large, and why."""
    return Entry(name=name, file=file, outcome="UNDETERMINED", headline=reason)


def gate_of(entries: Sequence[Entry], fail_on: Severity, version: str = "") -> Gate:
    """Return all models of a run, each with a result that says why it does not pass; none at all is undetermined."""
    outcomes = [each.outcome for each in entries]
    return Gate(
        version=version,
        outcome=max(outcomes, key=ORDER.index, default="UNDETERMINED"),
        fail_on=fail_on,
        entries=tuple(
            sorted(
                (_explained(each, fail_on) for each in entries),
                key=lambda entry: (entry.name, entry.file),
            )
        ),
    )


def gate_of_one(document: Document, file: str = "") -> Gate:
    """Return the report of one model as a gate of that model."""
    return gate_of([entry_of(document, file=file)], document.fail_on, document.provenance.version)


def bare_rule(clause: str, severity: Severity = "error", *, policy: str = "") -> Rule:
    """Return the rule of what no clause of a policy stands for."""
    return Rule(
        clause=clause,
        plain=PLAIN.get(clause, clause),
        asks="",
        why=WHY.get(clause, ""),
        source="",
        severity=severity,
        policy=policy,
        version="",
    )


def _explained(entry: Entry, fail_on: Severity) -> Entry:
    """Return the entry; where none of its results says why it does not pass, with one that does."""
    is_told = any(
        each.accepted is None and counts(each.severity, fail_on) for each in entry.results
    )
    if entry.outcome == "PASS" or is_told:
        return entry
    is_absent = entry.outcome == "NO AUDIT"
    clause = (FindingKind.NO_AUDIT if is_absent else FindingKind.NOT_JUDGED).value
    said = "There was no audit" if is_absent else "The model does not pass"
    result = Result(
        id=finding_id(clause),
        clause=clause,
        verdict="FAIL" if entry.outcome == "FAIL" else "UNDETERMINED",
        severity="error",
        message=f"{said}: {(entry.problem or entry.headline).rstrip('.')}",
        leaf="",
        path="",
        node="",
        line=None,
    )
    more = {"rules": (*entry.rules, bare_rule(clause)), "results": (*entry.results, result)}
    return entry.model_copy(update=more)


def _headline(document: Document) -> str:
    """Return what keeps the model from passing, the clauses by name; what was accepted is counted beside it."""
    judged = [
        finding for finding in document.findings if counts(finding.severity, document.fail_on)
    ]
    broken = [
        finding for finding in judged if finding.verdict != "PASS" and finding.accepted is None
    ]
    accepted = sum(finding.verdict != "PASS" and finding.accepted is not None for finding in judged)
    beside = f"; {counted(accepted, 'check', 'checks')} accepted" if accepted else ""
    undecided_checks = accepted_undecided(
        [
            finding.model_copy(update={"accepted": _public_acceptance(finding.accepted)})
            for finding in judged
        ]
    )
    beside += "".join(f"; {words}" for words in undecided_checks)
    if document.verdict == "PASS":
        unlimited = f"; {UNLIMITED}" if document.unlimited else ""
        return f"all {'other ' if accepted else ''}required checks passed{beside}{unlimited}"
    if not broken:
        return "no required check of the policy applies to this model"
    said = [
        _named([finding.clause for finding in broken if finding.verdict == verdict], words)
        for verdict, words in (("FAIL", "failed"), ("UNDETERMINED", "not decided"))
    ]
    return "; ".join(each for each in said if each) + beside


def _named(clauses: Sequence[str], words: str) -> str:
    clauses = tuple(dict.fromkeys(clauses))
    if not clauses:
        return ""
    return f"{counted(len(clauses), 'required check', 'required checks')} {words}: {', '.join(clauses)}"


def _rule(document: Document, finding: Finding) -> Rule:
    return Rule(
        clause=_called(finding),
        plain=finding.plain,
        asks="" if finding.limit_text in NO_LIMIT else finding.limit_text,
        why=finding.why,
        source=finding.source,
        severity=finding.severity,
        policy=document.policy.name,
        version=document.policy.version,
    )


def _called(finding: Finding) -> str:
    """Return the name of a clause, with the release that it was judged of where that is not the last of several."""
    return f"{finding.clause} ({finding.of})" if finding.of else finding.clause


def _clause(finding: Finding) -> ClauseOutcome:
    return ClauseOutcome(
        clause=_called(finding),
        verdict=finding.verdict,
        severity=finding.severity,
        message=_message(finding),
        accepted=_public_acceptance(finding.accepted),
    )


def _joint_reasons(document: Document, finding: Finding) -> tuple[BlameReason, ...]:
    """Return, for a clause about proofs, the reasons that have several places, those of most people first."""
    is_of_proofs = finding.measure in OF_PROOFS and not finding.of
    if document.blame is None or not is_of_proofs or finding.verdict != "FAIL":
        return ()
    reasons = document.blame.reasons
    return tuple(reason for reason in reasons if len(reason.leaves) + len(reason.outputs) > 1)


def _at(reasons: Sequence[BlameReason], place: Place | None) -> list[BlameReason]:
    """Return the reasons that a place is a part of; all where there is none."""
    return [
        reason
        for reason in reasons
        if place is None or any(_is_at(leaf, place) for leaf in reason.leaves)
    ]


def _together(reasons: Sequence[BlameReason], place: Place | None) -> tuple[BlamedLeaf, ...]:
    """Return the leaves that prove values together with a place, or with one another where there is none."""
    chosen = [
        leaf
        for reason in _at(reasons, place)
        for leaf in reason.leaves
        if place is None or not _is_at(leaf, place)
    ]
    return tuple(dict.fromkeys(chosen))[:MOST_TOGETHER]


def _outputs(reasons: Sequence[BlameReason], place: Place | None) -> tuple[str, ...]:
    """Return the numbers beside the model that prove values together with a place."""
    chosen = [words for reason in _at(reasons, place) for words in reason.outputs]
    return tuple(dict.fromkeys(chosen))[:MOST_TOGETHER]


def _is_at(leaf: BlamedLeaf, place: Place) -> bool:
    return (leaf.tree, leaf.node) == (place.tree, place.node)


def _results(finding: Finding, joined: Sequence[BlameReason]) -> Iterator[Result]:
    """Yield one result a leaf, whatever number of its profiles break the clause; else one for the model as a whole.

    A clause that is still open is never left without an open result: its places may be the worst ones only.
    """
    leaves: dict[str, list[Place]] = {}
    for place in (
        finding.where if not finding.of else ()
    ):  # the leaves of another release are in another file
        leaves.setdefault(place.leaf, []).append(place)
    accepted = {leaf: finding.accepted or _all_accepted(places) for leaf, places in leaves.items()}
    for leaf, places in leaves.items():
        if leaf:
            yield _result(finding, places[0], accepted[leaf], joined)
    if "" in leaves:
        yield _result(finding, None, accepted[""], joined)
    elif not any(each is None for each in accepted.values()) and not (leaves and finding.accepted):
        yield _result(finding, None, finding.accepted, joined)


def _all_accepted(places: Sequence[Place]) -> Accepted | None:
    accepted = [place.accepted for place in places]
    return accepted[0] if all(accepted) else None


def _public_acceptance(accepted: Accepted | None) -> Accepted | None:
    """Return why something is accepted, without what a baseline keeps of it: that may be a count of few people."""
    if accepted is None or accepted.by == "waiver":
        return accepted
    return accepted.model_copy(update={"reason": IN_BASELINE})


def _result(
    finding: Finding,
    place: Place | None,
    accepted: Accepted | None,
    joined: Sequence[BlameReason],
) -> Result:
    return Result(
        id=finding.id if place is None else place.id,
        clause=_called(finding),
        verdict=finding.verdict,
        severity=finding.severity,
        message=_message(finding),
        leaf="" if place is None else place.leaf,
        path="" if place is None else place.path,
        node="" if place is None else place.node,
        line=None if place is None else place.line,
        tree=0 if place is None else place.tree,
        accepted=_public_acceptance(accepted),
        together=_together(joined, place),
        outputs=_outputs(joined, place),
    )


def _message(finding: Finding) -> str:
    """Return what is asked and whether it is met, without how far: that may be a count of few people."""
    own = its_own_words(finding)
    if own is not None:
        return own
    asks = "" if finding.limit_text in NO_LIMIT else f"; {requirement(finding.limit_text)}"
    release = f" of {finding.of}" if finding.of else ""
    return f"Check{release} {OUTCOME[finding.verdict]}: {finding.plain}{asks}"
