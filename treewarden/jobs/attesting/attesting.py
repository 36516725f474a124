"""Makes an attestation of an audit done where the table is: its verdicts, signed, and nothing of the people."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

import treewarden
from treewarden.audit.options import DEFAULT, KNOWLEDGE, OPTION_SPECS
from treewarden.jobs.attesting.keys import AttestationError
from treewarden.jobs.attesting.statement import (
    Assumed,
    Attestation,
    AttestedAdversary,
    AttestedClause,
    JudgedBy,
    ModelFile,
    Predicate,
    Sha256,
    moment,
    plain_value,
    sealed,
    written,
)
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.policies.judging.decision import Decision
from treewarden.reports.document.parts import File

WORDS: dict[str, Literal["PASS", "UNDETERMINED", "FAIL"]] = {
    "pass": "PASS",
    "undetermined": "UNDETERMINED",
    "fail": "FAIL",
}


def attestation(
    subject: AuditInputs,
    decision: Decision,
    model: File,
    key: Any,  # noqa: ANN401  # a private key, see keys
    *,
    report: bytes | None,
    issued: datetime,
    expires: datetime | None = None,
    candidates: File | None = None,
) -> bytes:
    """Return the signed statement about an audit; it names the files ``model`` and ``report`` by digest.

    ``candidates`` is the register that the audit was given, if any.

    Raises:
        AttestationError: something that breaks the policy was accepted, which holds for a time, and no end is named; or
            the audit asked of another column than the target.
    """
    if subject.secret:
        problem = (
            "an attestation covers only the column that the model predicts, but the audit protects "
            f"{subject.secret!r}; remove --secret"
        )
        raise AttestationError(model.name, problem)
    waived = next((finding.clause for finding in decision.findings if finding.accepted), None)
    if waived is not None and expires is None:
        problem = (
            f"failures of the check {waived!r} are accepted for a limited time; add the last day of "
            "the attestation: --expires DAY"
        )
        raise AttestationError(model.name, problem)
    statement = Attestation(
        subject=[ModelFile(name=model.name, digest=Sha256(sha256=model.sha256))],
        predicate=Predicate(
            version=treewarden.__version__,
            verdict=WORDS[decision.verdict.word],
            fail_on=decision.fail_on,
            clauses=[
                AttestedClause(
                    clause=finding.clause,
                    verdict=WORDS[finding.verdict.word],
                    severity=finding.severity,
                    accepted=None if finding.accepted is None else finding.accepted.by,
                    of=finding.of,
                )
                for finding in decision.findings
            ],
            not_judged=[name for name, _ in decision.not_judged],
            policy=JudgedBy(
                name=decision.pack.name, version=decision.pack.version, sha256=decision.pack.digest
            ),
            knowledge=_assumed(subject, candidates),
            report=None if report is None else Sha256(sha256=hashlib.sha256(report).hexdigest()),
            issued=moment(issued),
            expires=None if expires is None else moment(expires),
        ),
    )
    return sealed(written(statement), key)


class UnstatedOption(NamedTuple):
    """An option that no attestation states: its name on the command line, and what to do instead."""

    flag: str
    instead: str


def unstated_options(request: Request) -> Iterator[UnstatedOption]:
    """Yield the options of a request that an attestation could not state: without them it would say too much."""
    for name, spec in OPTION_SPECS.items():
        if spec.attested.instead and getattr(request.options, name) != getattr(DEFAULT, name):
            yield UnstatedOption(name.replace("_", "-"), spec.attested.instead)
    for given in request.files.given_files():
        if given.spec.not_attested:
            yield UnstatedOption(given.spec.flag, given.spec.not_attested)


def salt() -> str:
    """Return a random number for a report: its digest then confirms no guess of what is in it."""
    return secrets.token_hex(16)


def _assumed(subject: AuditInputs, candidates: File | None) -> Assumed:
    knowledge, options, people = subject.knowledge, subject.options, subject.population
    return Assumed(
        **{name: plain_value(getattr(knowledge, name)) for name in KNOWLEDGE},
        strict_ties=options.strict_ties,
        facts=len(knowledge.facts),
        quasi_identifiers=None if options.qi is None else sorted(people.qi),
        weights=people.weights.value,
        adversaries=[
            AttestedAdversary(
                name=adversary.name, knows=list(adversary.knows or ()), target=adversary.target
            )
            for adversary in subject.asked.partial
        ],
        candidates=None if candidates is None else Sha256(sha256=candidates.sha256),
        columns=options.column_of_feature or None,
        sensitive=None if options.sensitive == subject.file.model.target else options.sensitive,
    )
