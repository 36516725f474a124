"""Attestations: the audit is done where the table is, and its verdicts are signed as an in-toto Statement.

The predicate about the one model file is our own. It holds verdicts, never readings, counts, places or profiles. It
does not hold the digest of the table: whoever has a guess of a small table could confirm it by that. The digest of the
report is no such thing, as the report holds a random number.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

import treewarden
from treewarden.audit.option_spec import STATED_BY_ALL
from treewarden.audit.options import DEFAULT, KNOWLEDGE, OPTION_SPECS
from treewarden.jobs.attesting.keys import AttestationError, MalformedError, SignatureError, key_id
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.policies.judging.decision import Decision
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.tree.privacy_claim import plain_claims
from treewarden.reports.document.inferred_parts import Claim
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import Word

STATEMENT: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE: Literal["urn:treewarden-attestation:1"] = "urn:treewarden-attestation:1"
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$")
]
"""A second in universal time."""


class _StatementPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)


class Sha256(_StatementPart):
    """The digest of a file."""

    sha256: Digest


class ModelFile(_StatementPart):
    """The model file: what it was called, and the digest by which it is recognised."""

    name: str
    digest: Sha256


class JudgedBy(_StatementPart):
    """The policy; its digest is of what it says, whatever its layout."""

    name: str
    version: str
    sha256: Digest


class AttestedClause(_StatementPart):
    """What came of one clause; of one that was waived, or that a baseline knows, ``accepted`` says so.

    ``of`` names the adversary whom it is about, or the release, where that is not who knows all of the model.
    """

    clause: str
    verdict: Word
    severity: Severity
    accepted: Literal["waiver", "baseline"] | None = None
    of: str = ""


class AttestedAdversary(_StatementPart):
    """Somebody who knows these columns of everybody, and perhaps the value that the model predicts."""

    name: str
    knows: list[str]
    target: bool


class AttestedClaim(_StatementPart):
    """A claim of differential privacy, as the file and its owner make it, and what came of it."""

    words: str
    outcome: Literal["void", "refuted", "not refuted", "undetermined"]


class _AssumedBeside(_StatementPart):
    """What was assumed that no option of knowledge says; see ``Assumed``."""

    strict_ties: bool
    facts: int
    quasi_identifiers: list[str] | None
    weights: Literal["none", "frequencies", "sampling"]
    adversaries: list[AttestedAdversary] = []
    candidates: Sha256 | None = None
    columns: dict[str, str] | None = None
    sensitive: str | None = None
    claims: str | None = None
    domain: Sha256 | None = None


ABSENT = ("columns", "sensitive", "claims", "domain")
"""Keys that are absent where nothing is said: versions that do not know them read all other statements."""


def plain_value(value: object) -> object:
    """Return the value of an option as a statement writes it."""
    return value.value if isinstance(value, StrEnum) else value


def _stated(name: str) -> tuple[Any, Any]:
    """Return the type and the default of an option of knowledge; a word may be one that only later versions know."""
    spec = OPTION_SPECS[name]
    kind: Any = bool if bool in spec.kinds else int if int in spec.kinds else str
    if getattr(DEFAULT, name) is None:
        kind |= None
    return kind, ... if spec.attested.unstated is STATED_BY_ALL else spec.attested.unstated


if TYPE_CHECKING:

    class Assumed(_AssumedBeside):
        """What the adversary was assumed to know, as it was asked: the options of knowledge, and what is beside them.

        ``quasi_identifiers`` are null where those of the model were taken. ``facts`` counts what was said besides:
        facts may name people. ``adversaries`` are asked about beside who knows all. ``weights`` says what the rows of
        the table carried. Statements that say nothing of the order of records are of audits that repeated no draws, and
        so passed no model whose trees saw samples. ``candidates`` is the digest of the register that membership was
        judged with, null where it was not judged: who holds a register can tell whether it was theirs. ``columns`` are
        the table's columns that features were taken for, by the names in the model's file; absent where none was.
        ``sensitive`` is the column that was protected, absent where it is the one that the model's file names.
        ``claims`` is what the owner stated of differential privacy beside the file, absent where nothing was.
        ``domain`` is the digest of the values that were declared public of each column, absent where none were.
        """

        def __init__(self, **values: object) -> None: ...

else:
    Assumed = create_model(
        "Assumed",
        __base__=_AssumedBeside,
        __module__=__name__,
        **{name: _stated(name) for name in KNOWLEDGE},
    )


class Predicate(_StatementPart):
    """How the audit came out, and under what. ``expires`` is null where it holds until the policy changes.

    ``claim`` is absent where the model claims no differential privacy.
    """

    version: str
    verdict: Word
    fail_on: Severity
    clauses: list[AttestedClause]
    not_judged: list[str]
    policy: JudgedBy
    knowledge: Assumed
    report: Sha256 | None
    issued: Moment
    expires: Moment | None
    claim: AttestedClaim | None = None

    @model_validator(mode="after")
    def _holds_together(self) -> Predicate:
        if self.verdict == "PASS" and not self.clauses:
            raise ValueError("the verdict is PASS, but no check was judged")
        open_ = [
            clause for clause in self.clauses if clause.severity == "error" and not clause.accepted
        ]
        if self.verdict == "PASS" and any(
            attested_clause.verdict != "PASS" for attested_clause in open_
        ):
            raise ValueError("the verdict is PASS, but a check failed")
        if self.expires is None and any(clause.accepted for clause in self.clauses):
            raise ValueError(
                "failures are accepted for a limited time, but the attestation has no last day"
            )
        return self


class Attestation(_StatementPart):
    """The whole payload."""

    kind: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT, alias="_type")
    subject: Annotated[list[ModelFile], Field(min_length=1, max_length=1)]
    predicate_type: Literal["urn:treewarden-attestation:1"] = Field(
        default=PREDICATE, alias="predicateType"
    )
    predicate: Predicate


def written(statement: Attestation) -> bytes:
    """Return a statement as the payload of an envelope."""
    said = statement.model_dump(mode="json", by_alias=True)
    knowledge = said["predicate"]["knowledge"]
    for name in ABSENT:
        if knowledge[name] is None:
            del knowledge[name]
    if said["predicate"]["claim"] is None:
        del said["predicate"]["claim"]
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode("utf-8")


def read(payload: bytes, where: str) -> Attestation:
    """Return the statement in a payload.

    Raises:
        MalformedError: it is none, or of a schema that is not known.
    """
    try:
        return Attestation.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "payload"
        problem = f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}; known is {PREDICATE}"
        raise MalformedError(where, problem) from error


def moment(when: datetime) -> str:
    """Return a moment as statements write it."""
    return when.astimezone(UTC).isoformat(timespec="seconds")


# A DSSE envelope with one Ed25519 signature: read only in the one form in which it is written.
#
# DSSE (Dead Simple Signing Envelope, version 1) signs a type and the bytes of a payload together, so that neither can
# be taken for something else. What the signature does not cover (the layout of the JSON, spare bits of base64, the name
# of the key) must be exactly as written here: no byte of an envelope can be changed and still be believed.

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 1024 * 1024
"""An attestation says one line a clause: what is larger is none."""


def sealed(payload: bytes, key: Any) -> bytes:  # noqa: ANN401  # a private key, see keys
    """Return the envelope of a payload, signed."""
    return _written(payload, key.sign(_signed(payload)), key_id(key.public_key()))


def opened(envelope: bytes, key: Any, where: str) -> bytes:  # noqa: ANN401  # a public key, see keys
    """Return the payload of an envelope that was signed by this key.

    Raises:
        MalformedError: the bytes are no envelope as it is written here.
        SignatureError: another key signed it, or something in it was changed.
    """
    if len(envelope) > MOST_BYTES:
        raise MalformedError(where, f"more than {MOST_BYTES:,} bytes; give an attestation")
    try:
        said = json.loads(envelope.decode("utf-8"))
        (only,) = said["signatures"]
        payload = base64.b64decode(said["payload"], validate=True)
        signature = base64.b64decode(only["sig"], validate=True)
        name = str(only["keyid"])
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        problem = "not an attestation; give the file that treewarden attest wrote, unchanged"
        raise MalformedError(where, problem) from error
    if name != key_id(key):
        raise SignatureError(
            where,
            f"signed with the key {name!r:.90}, not with {key_id(key)}; give the signer's public key",
        )
    if envelope != _written(payload, signature, name):
        problem = (
            "changed since it was written; give the file exactly as treewarden attest wrote it"
        )
        raise SignatureError(where, problem)
    try:
        key.verify(signature, _signed(payload))
    except Exception as error:  # the library's InvalidSignature, of a package that may not be there
        problem = "the signature is not valid: the content was changed; ask for a new attestation"
        raise SignatureError(where, problem) from error
    return payload


def _signed(payload: bytes) -> bytes:
    """Return what is signed: DSSE's pre-authentication encoding."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _written(payload: bytes, signature: bytes, name: str) -> bytes:
    said = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [{"keyid": name, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    return (json.dumps(said, indent=1) + "\n").encode("utf-8")


WORDS: dict[str, Word] = {
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
    claims: Sequence[Claim] = (),
) -> bytes:
    """Return the signed statement about an audit; it names the files ``model`` and ``report`` by digest.

    ``candidates`` is the register that the audit was given, if any, and ``claims`` is what its report says of the claim
    of differential privacy.

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
            claim=next(
                (AttestedClaim(words=claim.words, outcome=claim.outcome) for claim in claims), None
            ),
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
        claims=None if options.claims is None else plain_claims(options.claims),
        domain=None if subject.domain is None else Sha256(sha256=subject.domain.digest),
    )
