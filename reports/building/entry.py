"""From the report of a model to its entry in a gate: what a pipeline may say of it where anybody may read along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treewarden.policies.verdict import FindingKind, Severity, counts
from treewarden.reports.building.redacted import OUTCOME
from treewarden.reports.document.document import Document
from treewarden.reports.document.gate import ClauseOutcome, Entry, Gate, Outcome, Result, Rule
from treewarden.reports.document.names import (
    accepted_undecided,
    finding_id,
    its_own_words,
    without_counts,
)
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
IN_BASELINE = "it was there when the baseline was written"
NO_LIMIT = ("", "–")


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
        results=tuple(result for finding in findings for result in _results(finding)),
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
        return f"all {'other ' if accepted else ''}required checks passed{beside}"
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


def _rule(document: Document, found: Finding) -> Rule:
    return Rule(
        clause=_called(found),
        plain=found.plain,
        asks="" if found.limit_text in NO_LIMIT else found.limit_text,
        why=found.why,
        source=found.source,
        severity=found.severity,
        policy=document.policy.name,
        version=document.policy.version,
    )


def _called(found: Finding) -> str:
    """Return the name of a clause, with the release that it was judged of where that is not the last of several."""
    return f"{found.clause} ({found.of})" if found.of else found.clause


def _clause(found: Finding) -> ClauseOutcome:
    return ClauseOutcome(
        clause=_called(found),
        verdict=found.verdict,
        severity=found.severity,
        message=_message(found),
        accepted=_public_acceptance(found.accepted),
    )


def _results(found: Finding) -> Iterator[Result]:
    """Yield one result a leaf, whatever number of its profiles break the clause; else one for the model as a whole.

    A clause that is still open is never left without an open result: its places may be the worst ones only.
    """
    leaves: dict[str, list[Place]] = {}
    for place in (
        found.where if not found.of else ()
    ):  # the leaves of another release are in another file
        leaves.setdefault(place.leaf, []).append(place)
    accepted = {leaf: found.accepted or _all_accepted(places) for leaf, places in leaves.items()}
    for leaf, places in leaves.items():
        if leaf:
            yield _result(found, places[0], accepted[leaf])
    if "" in leaves:
        yield _result(found, None, accepted[""])
    elif not any(each is None for each in accepted.values()) and not (leaves and found.accepted):
        yield _result(found, None, found.accepted)


def _all_accepted(places: Sequence[Place]) -> Accepted | None:
    accepted = [place.accepted for place in places]
    return accepted[0] if all(accepted) else None


def _public_acceptance(accepted: Accepted | None) -> Accepted | None:
    """Return why something is accepted, without what a baseline keeps of it: that may be a count of few people."""
    if accepted is None or accepted.by == "waiver":
        return accepted
    return accepted.model_copy(update={"reason": IN_BASELINE})


def _result(found: Finding, place: Place | None, accepted: Accepted | None) -> Result:
    return Result(
        id=found.id if place is None else place.id,
        clause=_called(found),
        verdict=found.verdict,
        severity=found.severity,
        message=_message(found),
        leaf="" if place is None else place.leaf,
        path="" if place is None else place.path,
        node="" if place is None else place.node,
        line=None if place is None else place.line,
        tree=0 if place is None else place.tree,
        accepted=_public_acceptance(accepted),
    )


def _message(found: Finding) -> str:
    """Return what is asked and whether it is met, without how far: that may be a count of few people."""
    own = its_own_words(found)
    if own is not None:
        return own
    asks = "" if found.limit_text in NO_LIMIT else f"; the policy requires {found.limit_text}"
    release = f"Of {found.of}: " if found.of else ""
    return f"{release}{found.plain[:1].upper()}{found.plain[1:]}: {OUTCOME[found.verdict]}{asks}"
