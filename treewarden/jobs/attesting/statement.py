"""What an attestation says: an in-toto Statement about one model file, with a predicate of our own.

It holds verdicts, never readings, counts, places or profiles. It does not hold the digest of the table: whoever has a
guess of a small table could confirm it by that. The digest of the report is no such thing, as the report holds a
random number.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from treewarden.jobs.attesting.errors import MalformedError
from treewarden.policies.severity import Severity
from treewarden.reports.document.words import Word

STATEMENT: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
PREDICATE: Literal["urn:treewarden-attestation:1"] = "urn:treewarden-attestation:1"
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$")
]
"""A second in universal time."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=True)


class Sha256(_Part):
    """The digest of a file."""

    sha256: Digest


class ModelFile(_Part):
    """The model file: what it was called, and the digest by which it is recognised."""

    name: str
    digest: Sha256


class JudgedBy(_Part):
    """The policy; its digest is of what it says, whatever its layout."""

    name: str
    version: str
    sha256: Digest


class Clause(_Part):
    """What came of one clause; of one that was waived, or that a baseline knows, ``accepted`` says so.

    ``of`` names the adversary whom it is about, or the release, where that is not who knows all of the model.
    """

    clause: str
    verdict: Word
    severity: Severity
    accepted: Literal["waiver", "baseline"] | None = None
    of: str = ""


class Declared(_Part):
    """Somebody who knows these columns of everybody, and perhaps the value that the model predicts."""

    name: str
    knows: list[str]
    target: bool


class Assumed(_Part):
    """What the adversary was assumed to know, as it was asked.

    ``quasi_identifiers`` are null where those of the model were taken. ``facts`` counts what was said besides: facts
    may name people. ``adversaries`` are asked about beside who knows all. ``weights`` says what the rows of the table
    carried. Statements that say nothing of the order of records are of audits that repeated no draws, and so passed no
    model whose trees saw samples.
    """

    leaf: str
    split: str
    marginal: bool
    accuracy: bool
    strict_labels: bool
    strict_ties: bool
    min_leaf: int | None
    learner: str | None
    facts: int
    quasi_identifiers: list[str] | None
    weights: Literal["none", "frequencies", "sampling"]
    row_order: Literal["known", "unknown"] = "known"
    adversaries: list[Declared] = []


class Predicate(_Part):
    """How the audit came out, and under what. ``expires`` is null where it holds until the policy changes."""

    version: str
    verdict: Word
    fail_on: Severity
    clauses: list[Clause]
    not_judged: list[str]
    policy: JudgedBy
    knowledge: Assumed
    report: Sha256 | None
    issued: Moment
    expires: Moment | None

    @model_validator(mode="after")
    def _holds_together(self) -> Predicate:
        if self.verdict == "PASS" and not self.clauses:
            raise ValueError("nothing was judged, so nothing passes")
        open_ = [each for each in self.clauses if each.severity == "error" and not each.accepted]
        if self.verdict == "PASS" and any(each.verdict != "PASS" for each in open_):
            raise ValueError("a pass in which a clause is not met")
        if self.expires is None and any(each.accepted for each in self.clauses):
            raise ValueError("what is accepted is accepted for a time, and no end is named")
        return self


class Statement(_Part):
    """The whole payload."""

    kind: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT, alias="_type")
    subject: Annotated[list[ModelFile], Field(min_length=1, max_length=1)]
    predicate_type: Literal["urn:treewarden-attestation:1"] = Field(
        default=PREDICATE, alias="predicateType"
    )
    predicate: Predicate


def written(statement: Statement) -> bytes:
    """Return a statement as the payload of an envelope."""
    said = statement.model_dump(mode="json", by_alias=True)
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode("utf-8")


def read(payload: bytes, where: str) -> Statement:
    """Return the statement in a payload.

    Raises:
        MalformedError: it is none, or of a schema that is not known.
    """
    try:
        return Statement.model_validate_json(payload)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "payload"
        problem = f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}; known is {PREDICATE}"
        raise MalformedError(where, problem) from error


def moment(when: datetime) -> str:
    """Return a moment as statements write it."""
    return when.astimezone(UTC).isoformat(timespec="seconds")
