"""From an attestation that holds to the entry of its model in a gate: the verdict, and on whose word."""

from __future__ import annotations

from treewarden.audit.measures import measures
from treewarden.jobs.attesting.checking import Attested
from treewarden.jobs.attesting.statement import Clause
from treewarden.policies.judging.figures import figure
from treewarden.policies.pack import Pack, asked
from treewarden.policies.rules import rules
from treewarden.reports.document.gate import ClauseOutcome, Entry, Result, Rule
from treewarden.reports.document.naming import finding_id
from treewarden.reports.document.parts import Accepted

OUTCOME = {"PASS": "met", "FAIL": "not met", "UNDETERMINED": "not decided"}
ABOUT_THE_EVIDENCE = "whether the file and the table can be believed"


def attested_entry(
    attested: Attested, pack: Pack, name: str = "", file: str = "", assumed: str = ""
) -> Entry:
    """Return the entry of a model that was audited elsewhere, under this very pack; it knows no leaves.

    ``assumed`` says in one line which columns were assumed known, as far as the model's file tells.
    """
    predicate = attested.predicate
    (subject,) = attested.statement.subject
    plain = {each.clause: _plain(pack, each.clause) for each in predicate.clauses}
    ends = f", until {predicate.expires}" if predicate.expires else ""
    weights = predicate.knowledge.weights
    weighed = "" if weights == "none" else f", with {weights} weights"
    return Entry(
        name=name or subject.name,
        file=file or subject.name,
        outcome=predicate.verdict,
        headline=f"attested {predicate.issued}{ends}{weighed}, by the key {attested.key}",
        policy=pack.name,
        basis="attestation",
        assumed_known=assumed,
        rules=tuple(_rule(pack, each, plain[each.clause]) for each in predicate.clauses),
        clauses=tuple(
            ClauseOutcome(
                clause=each.clause,
                verdict=each.verdict,
                severity=each.severity,
                message=_message(each, plain[each.clause]),
                accepted=_accepted(each),
            )
            for each in predicate.clauses
        ),
        results=tuple(
            Result(
                id=finding_id(each.clause),
                clause=each.clause,
                verdict=each.verdict,
                severity=each.severity,
                message=_message(each, plain[each.clause]),
                leaf="",
                path="",
                node="",
                line=None,
                accepted=_accepted(each),
            )
            for each in predicate.clauses
            if each.verdict != "PASS"
        ),
    )


def _plain(pack: Pack, name: str) -> str:
    """Return what a clause asks about, in words; one that is no clause of the pack doubts the evidence."""
    clause = next((each for each in pack.clauses if each.id == name), None)
    if clause is None:
        return ABOUT_THE_EVIDENCE
    measure = measures().get(clause.measure or "")
    return name if measure is None else measure.words(dict(asked(clause).parameters))


def _rule(pack: Pack, said: Clause, plain: str) -> Rule:
    clause = next((each for each in pack.clauses if each.id == said.clause), None)
    measure = None if clause is None else measures().get(clause.measure or "")
    asks = "–"
    if clause is not None and measure is not None and clause.limit is not None:
        asks = f"{rules()[clause.rule].words} {figure(clause.limit, measure.unit)}"
    return Rule(
        clause=said.clause,
        plain=plain,
        asks=asks,
        why="" if clause is None else clause.why,
        source="" if clause is None else clause.source,
        severity=said.severity,
        policy=pack.name,
        version=pack.version,
    )


def _message(said: Clause, plain: str) -> str:
    return f"{plain[:1].upper()}{plain[1:]}: {OUTCOME[said.verdict]}, as attested"


def _accepted(said: Clause) -> Accepted | None:
    if said.accepted is None:
        return None
    return Accepted(by=said.accepted, reason="accepted where the audit was done")
