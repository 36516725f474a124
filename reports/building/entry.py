"""From the report of a model to its entry in a gate: what a pipeline may say of it where anybody may read along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.building.redacted import OUTCOME
from reports.document.document import Document
from reports.document.gate import ClauseOutcome, Entry, Gate, Outcome, Result, Rule
from reports.document.parts import Accepted, Finding, Place, Severity
from reports.document.words import counted

ORDER: Sequence[Outcome] = ("PASS", "UNDETERMINED", "FAIL", "NO AUDIT")


def entry_of(document: Document, name: str = "", file: str = "") -> Entry:
    """Return the entry of a model that was audited; ``name`` and ``file`` are those of its file where not given."""
    found = [each for each in document.findings if each.verdict != "PASS"]
    return Entry(
        name=name or document.model.file,
        file=file or document.model.file,
        outcome=document.verdict,
        headline=_headline(document),
        policy=document.policy.name,
        rules=tuple(_rule(document, each) for each in document.findings),
        clauses=tuple(
            ClauseOutcome(
                clause=each.clause,
                verdict=each.verdict,
                severity=each.severity,
                message=_message(each),
                accepted=each.accepted,
            )
            for each in document.findings
        ),
        results=tuple(result for each in found for result in _results(each)),
    )


def unaudited(name: str, file: str, problem: str) -> Entry:
    """Return the entry of a model of which there was no audit, and why."""
    return Entry(name=name, file=file, outcome="NO AUDIT", headline=problem, problem=problem)


def gate_of(entries: Sequence[Entry], fail_on: Severity, version: str = "") -> Gate:
    """Return all models of a run; nothing at all is undetermined."""
    outcomes = [each.outcome for each in entries]
    return Gate(
        version=version,
        outcome=max(outcomes, key=ORDER.index, default="UNDETERMINED"),
        fail_on=fail_on,
        entries=tuple(sorted(entries, key=lambda entry: entry.name)),
    )


def _headline(document: Document) -> str:
    broken = [
        each
        for each in document.findings
        if each.verdict != "PASS" and each.accepted is None and document.counts(each)
    ]
    if document.verdict == "PASS":
        return "every clause that counts is met"
    clauses = ", ".join(dict.fromkeys(each.clause for each in broken))
    return f"{counted(len(broken), 'clause is', 'clauses are')} not met: {clauses}"


def _rule(document: Document, found: Finding) -> Rule:
    return Rule(
        clause=found.clause,
        plain=found.plain,
        asks=found.limit_text,
        why=found.why,
        source=found.source,
        severity=found.severity,
        policy=document.policy.name,
        version=document.policy.version,
    )


def _results(found: Finding) -> Iterator[Result]:
    """Yield one result a leaf, whatever number of its profiles break the clause; else one for the model as a whole."""
    leaves: dict[str, list[Place]] = {}
    for place in found.where:
        leaves.setdefault(place.leaf, []).append(place)
    for leaf, places in leaves.items():
        if leaf:
            yield _result(found, places[0], _all_accepted(places))
    if not found.where or "" in leaves:
        yield _result(found, None, found.accepted)


def _all_accepted(places: Sequence[Place]) -> Accepted | None:
    accepted = [place.accepted for place in places]
    return accepted[0] if all(accepted) else None


def _result(found: Finding, place: Place | None, accepted: Accepted | None) -> Result:
    return Result(
        id=found.id if place is None else place.id,
        clause=found.clause,
        verdict=found.verdict,
        severity=found.severity,
        message=_message(found),
        leaf="" if place is None else place.leaf,
        path="" if place is None else place.path,
        node="" if place is None else place.node,
        line=None if place is None else place.line,
        tree=0 if place is None else place.tree,
        accepted=accepted,
    )


def _message(found: Finding) -> str:
    """Return what is asked and whether it is met, without how far: that may be a count of few people."""
    asks = f"; the policy asks for {found.limit_text}" if found.measure else ""
    return f"{found.plain[:1].upper()}{found.plain[1:]}: {OUTCOME[found.verdict]}{asks}"
