"""Checks an attestation against what is asked: this model, this policy, no less knowledge, a key that is trusted.

Nothing here opens a table or audits. Whatever does not fit is an error that says what; there is no partly valid
attestation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treewarden.audit.claims.result import ClaimFindings
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.leaf_only_audit import glance_at_file
from treewarden.audit.measures import measures
from treewarden.audit.options import KNOWLEDGE, OPTION_SPECS
from treewarden.jobs.attesting.attesting import (
    MOST_BYTES,
    Attestation,
    AttestedClause,
    Predicate,
    opened,
    plain_value,
    read,
)
from treewarden.jobs.attesting.keys import (
    AttestationError,
    ExpiredError,
    MalformedError,
    OtherModelError,
    OtherPolicyError,
    OtherQuestionError,
    key_id,
    public_key,
)
from treewarden.jobs.declared import claimed
from treewarden.jobs.inputs import ModelInput, file_of_source, model_name
from treewarden.jobs.inputs import opened as opened_model
from treewarden.policies.judging.figures import figure
from treewarden.policies.pack import Pack, measure_call
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import TreewardenError, reading_problem
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.gate import ClauseOutcome, Entry, Result, Rule
from treewarden.reports.document.parts import Accepted
from treewarden.reports.document.words import Word

LEAF_LEVELS = ("labels", "rates", "counts")
"""Each says what the one before it says, and more; "as-published" compares with none of them."""
CLOCKS_DIFFER = timedelta(minutes=10)
WORST = ("PASS", "UNDETERMINED", "FAIL")


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What whoever checks would have asked of an audit of their own; ``qi`` None: the model's own fields.

    Without a ``pack`` any policy will do, and without ``knowledge`` any knowledge. ``sensitive`` is the column to
    protect, None where that is the one that the model's file names. ``claims`` is what the owner states of differential
    privacy beside the file, in the plain form of its words. ``domain`` is the digest of the values that are declared
    public of the columns, None where they are those of the table.
    """

    pack: Pack | None = None
    knowledge: Knowledge | None = None
    qi: tuple[str, ...] | None = None
    fail_on: Severity | None = None
    strict_ties: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    sensitive: str | None = None
    claims: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Attested:
    """An attestation that holds: what it says, by which key, and where it was read."""

    statement: Attestation
    key: str
    where: str

    @property
    def predicate(self) -> Predicate:
        """How the audit came out, and under what."""
        return self.statement.predicate

    @property
    def verdict(self) -> Word:
        """The verdict of the audit."""
        return self.predicate.verdict


def checked(
    envelope: bytes,
    public_key_pem: bytes,
    model: ModelInput,
    pack: Pack,
    *,
    knowledge: Knowledge | None = None,
    qi: Sequence[str] | None = None,
    fail_on: Severity = "error",
    strict_ties: bool = False,
    now: datetime | None = None,
    where: str = "attestation",
) -> Attested:
    """Return what an attestation says, if it is by this key and answers the question that would be asked here.

    The model may be a file, or its bytes: then what was read once is what is meant. ``knowledge``, ``qi``, ``fail_on``
    and ``strict_ties`` are what an audit here would assume; ``now`` is the time that an expiry is held against.

    Raises:
        AttestationError: it does not; each reason has a class of its own.
        TreewardenError: the model cannot be read.
    """
    known = Knowledge() if knowledge is None else knowledge
    names = None if qi is None else tuple(qi)
    question = CheckRequest(pack, known, names, fail_on, strict_ties)
    return answered(envelope, public_key_pem, model, question, now=now, where=where)


def answered(
    envelope: bytes,
    public_key_pem: bytes,
    model: ModelInput,
    question: CheckRequest,
    *,
    now: datetime | None = None,
    where: str = "attestation",
) -> Attested:
    """Return what an attestation says, if it holds for this model and answers a question.

    Raises:
        AttestationError: it does not.
        TreewardenError: the model cannot be read.
    """
    key = public_key(public_key_pem)
    statement = read(opened(envelope, key, where), where)
    found = Attested(statement, key_id(key), where)
    _check_time(found, datetime.now(UTC) if now is None else now)
    _check_model(found, model)
    _check_claim(found, model)
    if question.pack is not None:
        _check_policy(found, question.pack)
    if question.fail_on is not None and question.fail_on != found.predicate.fail_on:
        said = found.predicate.fail_on
        problem = (
            f"attested with --fail-on {said}, but {question.fail_on} is required; attest again with "
            f"--fail-on {question.fail_on}"
        )
        raise OtherQuestionError(where, problem)
    if question.knowledge is not None:
        _check_knowledge(found, question, question.knowledge)
    return found


def any_of(
    envelopes: Iterable[tuple[str, bytes]],
    keys: Sequence[bytes],
    model: ModelInput,
    question: CheckRequest,
    *,
    now: datetime | None = None,
) -> tuple[Attested | None, tuple[str, ...]]:
    """Return the attestation that holds, of several by any of the keys, and why the others were refused.

    Where several hold, the one with the worst verdict counts: that a later audit passed does not undo one that failed.
    """
    held: list[Attested] = []
    refused: list[str] = []
    for where, envelope in envelopes:
        problems: list[AttestationError] = []
        for key in keys:
            try:
                held.append(answered(envelope, key, model, question, now=now, where=where))
                break
            except AttestationError as error:
                problems.append(error)
        else:
            refused.append(_telling(problems, where))
    worst = max(held, key=lambda clause: WORST.index(clause.verdict), default=None)
    return worst, tuple(refused)


def read_attestation(path: Path) -> bytes:
    """Return the bytes of an attestation; of a file that is too large for one, no more than shows that.

    Raises:
        MalformedError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise MalformedError(str(path), reading_problem(error, "give an attestation")) from error


def _telling(problems: Sequence[AttestationError], where: str) -> str:
    """Return the problem that tells most: one beyond the question of whose key it is, else the first."""
    if not problems:
        return f"{where}: no public key was given; give the signer's: --key FILE.pub"
    order = (OtherPolicyError, OtherQuestionError, OtherModelError, ExpiredError)
    best = next((problem for problem in problems if isinstance(problem, order)), problems[0])
    return str(best)


def _check_time(attested: Attested, now: datetime) -> None:
    issued, expires = attested.predicate.issued, attested.predicate.expires
    try:
        begun = datetime.fromisoformat(issued)
        ends = None if expires is None else datetime.fromisoformat(expires)
    except ValueError as error:
        raise MalformedError(
            attested.where, f"a date is not valid ({error}); ask for a new attestation"
        ) from error
    if begun > now + CLOCKS_DIFFER:
        raise ExpiredError(
            attested.where,
            f"issued {issued}, which is in the future; check the clocks of both machines",
        )
    if ends is not None and now >= ends:
        raise ExpiredError(attested.where, f"expired {expires}; have the model attested again")


def _check_model(attested: Attested, model: ModelInput) -> None:
    (subject,) = attested.statement.subject
    try:
        here = file_of_source(model).sha256
    except OSError as error:
        raise TreewardenError(
            model_name(model), reading_problem(error, "give the model file")
        ) from error
    if subject.digest.sha256 != here:
        problem = (
            f"the attestation is for another file ({subject.name!r}), not for {model_name(model)}"
        )
        raise OtherModelError(
            attested.where, f"{problem}; ask the signer for an attestation of this file"
        )


def _check_claim(attested: Attested, model: ModelInput) -> None:
    """Check a claim of differential privacy against the file: its words, and whether the file alone voids it."""
    said = attested.predicate.claim
    if said is None:
        return
    file = opened_model(model)
    stated = claimed(file.model, attested.predicate.knowledge.claims or "")
    found = glance_at_file(stated, Knowledge(), (), file.leaks).full.evidence.claim
    words = found.claim.words if isinstance(found, ClaimFindings) else ""
    if words != said.words:
        problem = f"attests the claim {said.words!r}, but the file claims {words!r}"
        raise OtherModelError(attested.where, f"{problem}; have the model attested again")
    if isinstance(found, ClaimFindings) and found.voids and said.outcome != "void":
        problem = "the model file shows that its differential-privacy claim is not valid, but the attestation"
        raise OtherModelError(
            attested.where, f"{problem} says {said.outcome!r}; ask the signer for a new attestation"
        )


def _check_policy(attested: Attested, pack: Pack) -> None:
    judged_by = attested.predicate.policy
    if judged_by.sha256 != pack.digest:
        problem = (
            f"judged by the policy {judged_by.name!r} {judged_by.version}, but {pack.name!r} "
            f"{pack.version} is required"
        )
        same = (judged_by.name, judged_by.version) == (pack.name, pack.version)
        more = " (same name and version, different content)" if same else ""
        raise OtherPolicyError(
            attested.where, f"{problem}{more}; have the model attested under the required policy"
        )


def _check_knowledge(attested: Attested, question: CheckRequest, knowledge: Knowledge) -> None:
    less = next(_weaker(attested.predicate, question, knowledge), None)
    if less is not None:
        problem = f"{less}; have the model attested under the assumptions made here"
        raise OtherQuestionError(attested.where, problem)


def _weaker(predicate: Predicate, question: CheckRequest, knowledge: Knowledge) -> Iterator[str]:
    """Yield what the attested audit assumed the adversary not to know, or what cannot be compared."""
    said = predicate.knowledge
    for name in KNOWLEDGE:
        yield from _less_known(name, getattr(said, name), plain_value(getattr(knowledge, name)))
    if question.strict_ties and not said.strict_ties:
        yield "the attested adversary did not know how ties are broken, which is required"
    if question.columns and dict(question.columns) != (said.columns or {}):
        yield (
            f"the attested audit took features for other columns ({_pairs(said.columns)}) than are required "
            f"({_pairs(question.columns)})"
        )
    if question.sensitive != said.sensitive:
        attested, required = (
            "the target that the file names" if name is None else name
            for name in (said.sensitive, question.sensitive)
        )
        yield f"the attested audit protected {attested}, but {required} is required"
    if question.claims != said.claims:
        attested, required = (words or "nothing" for words in (said.claims, question.claims))
        yield (
            f"the attested audit took {attested!r} as the owner's claim of differential privacy, but {required!r} is "
            "required"
        )
    domain = None if said.domain is None else said.domain.sha256
    if question.domain != domain:
        attested, required = (
            "no public domain" if digest is None else f"the public domain {digest[:12]}"
            for digest in (domain, question.domain)
        )
        yield f"the attested audit used {attested}, but {required} is required"
    if knowledge.facts:
        yield "known facts are required, and an attestation does not list them"
    if knowledge.adversaries or knowledge.secret is not None:
        yield (
            "adversaries with partial knowledge are required, but attestations do not cover them"
        )
    if knowledge.seeds:
        yield "seeds are required, and an attestation does not list those that were tried"
    if knowledge.training:
        yield "training settings are required, and an attestation does not list them"
    if question.qi is None and said.quasi_identifiers is not None:
        yield "the attestation is for chosen quasi-identifiers, but all columns of the model are required"
    if question.qi is not None and not set(question.qi) <= set(said.quasi_identifiers or ()):
        yield "the attested adversary did not know all required quasi-identifiers"


def _pairs(columns: Mapping[str, str] | None) -> str:
    """Return which column each feature was taken for, as the command line writes it."""
    return (
        ", ".join(f"{name}={column}" for name, column in sorted((columns or {}).items())) or "none"
    )


def _less_known(name: str, stated: object, required: object) -> Iterator[str]:
    """Yield why what an adversary was assumed to know of one thing is less than what is asked, or another."""
    attested = OPTION_SPECS[name].attested
    if required in (stated, attested.unknown, False) or (
        name == "leaf" and _tells_more_of_leaves(stated, required)
    ):
        return
    if required is True:
        yield f"the attested adversary did not know {name!r}, which is required"
    else:
        yield f"the attested adversary knew {attested.words or repr(name)} as {stated!r}, but {required!r} is required"


def _tells_more_of_leaves(stated: object, required: object) -> bool:
    if stated not in LEAF_LEVELS or required not in LEAF_LEVELS:
        return False
    return LEAF_LEVELS.index(stated) >= LEAF_LEVELS.index(required)


# From an attestation that holds to the entry of its model in a gate: the verdict, and on whose word.

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
    plain = {clause.clause: _plain(pack, clause.clause) for clause in predicate.clauses}
    ends = f", until {predicate.expires}" if predicate.expires else ""
    weights = predicate.knowledge.weights
    weighed = "" if weights == "none" else f", with {weights} weights"
    columns = predicate.knowledge.columns
    mapped = "" if not columns else f", with the columns {_pairs(columns)}"
    claim = predicate.claim
    claimed = "" if claim is None else f", with a claim of differential privacy ({claim.outcome})"
    named = predicate.knowledge.sensitive
    protected = "" if named is None else f", for the column {named}"
    protected += "" if predicate.knowledge.domain is None else ", within a declared public domain"
    return Entry(
        name=name or subject.name,
        file=file or subject.name,
        outcome=predicate.verdict,
        headline=f"attested {predicate.issued}{ends}{weighed}{mapped}{protected}{claimed}, by the key {attested.key}",
        policy=pack.name,
        basis="attestation",
        assumed_known=assumed,
        rules=tuple(_rule(pack, clause, plain[clause.clause]) for clause in predicate.clauses),
        clauses=tuple(
            ClauseOutcome(
                clause=clause.clause,
                verdict=clause.verdict,
                severity=clause.severity,
                message=_message(clause, plain[clause.clause]),
                accepted=_accepted(clause),
            )
            for clause in predicate.clauses
        ),
        results=tuple(
            Result(
                id=finding_id(clause.clause),
                clause=clause.clause,
                verdict=clause.verdict,
                severity=clause.severity,
                message=_message(clause, plain[clause.clause]),
                leaf="",
                path="",
                node="",
                line=None,
                accepted=_accepted(clause),
            )
            for clause in predicate.clauses
            if clause.verdict != "PASS"
        ),
    )


def _plain(pack: Pack, name: str) -> str:
    """Return what a clause asks about, in words; one that is no clause of the pack doubts the evidence."""
    clause = next((each for each in pack.clauses if each.id == name), None)
    if clause is None:
        return ABOUT_THE_EVIDENCE
    measure = measures().get(clause.measure or "")
    return name if measure is None else measure.words(dict(measure_call(clause).parameters))


def _rule(pack: Pack, attested_clause: AttestedClause, plain: str) -> Rule:
    clause = next((each for each in pack.clauses if each.id == attested_clause.clause), None)
    measure = None if clause is None else measures().get(clause.measure or "")
    asks = "–"
    if clause is not None and measure is not None and clause.limit is not None:
        asks = f"{rules()[clause.rule].words} {figure(clause.limit, measure.unit)}"
    return Rule(
        clause=attested_clause.clause,
        plain=plain,
        asks=asks,
        why="" if clause is None else clause.why,
        source="" if clause is None else clause.source,
        severity=attested_clause.severity,
        policy=pack.name,
        version=pack.version,
    )


def _message(clause: AttestedClause, plain: str) -> str:
    return f"{plain[:1].upper()}{plain[1:]}: {OUTCOME[clause.verdict]}, as attested"


def _accepted(attested_clause: AttestedClause) -> Accepted | None:
    if attested_clause.accepted is None:
        return None
    return Accepted(by=attested_clause.accepted, reason="accepted where the audit was done")
