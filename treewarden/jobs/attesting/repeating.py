"""Checks a report by doing its audit again: are the files the same, and do verdict and readings come out as it says?

Whole records are reasoned over for a time, so two runs may prove more or less: readings agree where they overlap, and
what one run could not tell is open, neither agreement nor contradiction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from audit.adversary.knowledge import Knowledge
from audit.options import AuditOptions
from audit.stages import Step, silent
from policies.pack import load_pack
from policies.shipped import shipped_packs
from reports.building.build import audit_document
from reports.document.document import Document
from reports.document.parts import Finding, Number, Value
from treewarden.jobs.attesting.errors import MalformedError
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.inputs import told, told_table
from treewarden.jobs.provenance import Clock
from treewarden.jobs.subject import Request

TOLERANCE = 1e-5
"""Relative to the larger of the two (and to 1): what the solver may leave between two runs."""
MOST_BYTES = 256 * 1024 * 1024
SAME = ("knowledge", "population", "policy", "model", "fail_on", "basis")
"""Parts of a report that say what was audited and how; they must come out to the letter."""


class Outcome(StrEnum):
    """What came of one thing that a report says."""

    AGREES = "agrees"
    DIFFERS = "differs"
    OPEN = "could not tell"


@dataclass(frozen=True, slots=True)
class Compared:
    """One thing that a report says, and what came of it."""

    name: str
    outcome: Outcome
    detail: str = ""


def read_report(path: Path) -> Document:
    """Return the report in a JSON file.

    Raises:
        MalformedError: it is none, or none of an audit.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except OSError as error:
        raise MalformedError(str(path), f"{error.strerror}; give a report in JSON") from error
    if size > MOST_BYTES:
        raise MalformedError(str(path), f"more than {MOST_BYTES:,} bytes; give a report in JSON")
    try:
        document = Document.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "file"
        problem = f"no report in JSON ({place}: {first['msg'].lower()}); audit with --format json"
        raise MalformedError(str(path), problem) from error
    if document.kind != "audit":
        raise MalformedError(
            str(path), "of a repair; audit the model that it wrote, and verify that"
        )
    return document


def repeated(
    document: Document,
    model: Path,
    data: Path | None,
    policy: str | None,
    sensitive: str | None = None,
    step: Step = silent,
) -> Iterator[Compared]:
    """Yield what agrees and what does not: the digests first, and if these agree all that an audit done again says.

    Raises:
        TreewardenError: the report does not say enough to repeat it, a file cannot be read, or no audit is possible.
    """
    request = _request(document, model, data, policy, sensitive)
    digests = tuple(_digests(document, request))
    yield from digests
    if any(each.outcome is Outcome.DIFFERS for each in digests):
        return
    clock = Clock()
    done = audit_file(request, step)
    told_ = clock.provenance(request, done.subject.pack, table=done.subject.table)
    yield from compared(document, audit_document(done.audit, done.decision, told_))


def compared(old: Document, new: Document) -> Iterator[Compared]:
    """Yield how each thing that a report says compares with another report of the same files."""
    for name in SAME:
        same = getattr(old, name) == getattr(new, name)
        yield Compared(name, Outcome.AGREES if same else Outcome.DIFFERS)
    yield Compared("verdict", *_words(old.verdict, new.verdict))
    if old.verdict == new.verdict:
        said_same = (old.title, old.headline) == (new.title, new.headline)
        yield Compared("headline", Outcome.AGREES if said_same else Outcome.DIFFERS)
    findings = {_called(each): each for each in new.findings}
    for said in old.findings:
        found = findings.pop(_called(said), None)
        name = f"clause {_called(said)}"
        if found is None:
            yield Compared(name, Outcome.DIFFERS, "the report has it, and the audit has not")
        elif (said.measure, said.parameters, said.rule, said.limit, said.severity) != (
            found.measure,
            found.parameters,
            found.rule,
            found.limit,
            found.severity,
        ):
            yield Compared(name, Outcome.DIFFERS, "it asks for something else than the policy does")
        else:
            yield Compared(name, *_words(said.verdict, found.verdict))
            yield Compared(f"{name}, its reading", *_values(said.value, found.value))
            yield from _told(name, said, found)
    for left in findings:
        yield Compared(
            f"clause {left}", Outcome.DIFFERS, "the audit has it, and the report has not"
        )
    for name, value in old.readings.items():
        other = new.readings.get(name)
        if other is None:
            yield Compared(f"reading {name}", Outcome.OPEN, "this version does not take it")
        else:
            yield Compared(f"reading {name}", *_values(value, other))


def _called(found: Finding) -> str:
    return f"{found.clause} of {found.of}" if found.of else found.clause


def overall(found: list[Compared]) -> Outcome:
    """Return the worst of all: a difference, else what could not be told."""
    outcomes = {each.outcome for each in found}
    for outcome in (Outcome.DIFFERS, Outcome.OPEN):
        if outcome in outcomes:
            return outcome
    return Outcome.AGREES if found else Outcome.OPEN


def _request(
    document: Document, model: Path, data: Path | None, policy: str | None, sensitive: str | None
) -> Request:
    asked, where = document.provenance.asked, document.title
    if document.redacted_below is not None:
        raise MalformedError(
            where, "redacted: it does not say how it was asked; verify the full one"
        )
    if document.provenance.earlier:
        problem = "of several releases together; audit them once more and compare the two reports"
        raise MalformedError(where, problem)
    if asked is None:
        problem = "does not say how it was asked, as an older version wrote it; audit again"
        raise MalformedError(where, problem)
    if (data is None) != (document.basis == "file"):
        wanted = "the file alone; leave out --data" if data else "a table; give it with --data"
        raise MalformedError(where, f"rests on {wanted}")
    try:
        options = AuditOptions(**_options(asked.options, sensitive))
        facts = [json.loads(fact) for fact in asked.facts]
        knowledge = Knowledge.model_validate(
            {
                **asked.knowledge,
                "facts": facts,
                "training": asked.training,
                "seeds": asked.seeds,
                "adversaries": list(map(json.loads, asked.adversaries)),
                "secret": json.loads(asked.secret) if asked.secret else None,
            }
        )
    except (ValueError, TypeError, RecursionError) as error:
        problem = f"how it was asked is not understood ({str(error).splitlines()[0]})"
        raise MalformedError(where, f"{problem}; was it changed?") from error
    if policy is None and document.policy.name not in shipped_packs():
        raise MalformedError(where, f"judged by {document.policy.name!r}; give that with --policy")
    return Request(model, data, options, knowledge, policy or document.policy.name)


ELSEWHERE = ("solver", "jobs", "knows", "secret", "bins", "target_known")
"""What this machine has to say, and what the knowledge says already."""


def _options(said: Mapping[str, object], sensitive: str | None) -> dict[str, Any]:
    """Return the options as they were given; which door and how many processes is for this machine to say."""
    known = {each.name for each in fields(AuditOptions)}
    if unknown := sorted(set(said) - known):
        raise ValueError(f"unknown option {unknown[0]!r}")
    options: dict[str, Any] = {name: value for name, value in said.items() if name not in ELSEWHERE}
    if sensitive is not None:
        options["sensitive"] = sensitive
    return options


def _digests(document: Document, request: Request) -> Iterator[Compared]:
    said = document.provenance
    yield _digest("model", said.model.sha256, told(request.model).sha256)
    if request.data is not None and said.table is not None:
        yield _digest("table", said.table.sha256, told_table(request.data).sha256)
    assert isinstance(request.policy, str)
    pack = load_pack(request.policy)
    yield _digest("policy", said.pack.sha256, pack.digest)


def _digest(name: str, said: str, here: str) -> Compared:
    detail = "" if said == here else f"the report says {said:.16}..., the file has {here:.16}..."
    return Compared(
        f"digest of the {name}", Outcome.AGREES if said == here else Outcome.DIFFERS, detail
    )


def _told(name: str, said: Finding, found: Finding) -> Iterator[Compared]:
    """Yield whether a finding is told in the same words, and of the same places, where its numbers are the same."""
    if (said.verdict, said.value) != (found.verdict, found.value):
        return
    if said.model_copy(update={"where": ()}) != found.model_copy(update={"where": ()}):
        yield Compared(f"{name}, its words", Outcome.DIFFERS, "the report tells it otherwise")
    elif said.where != found.where:
        yield Compared(f"{name}, its places", Outcome.OPEN, "the report names others")


def _words(old: str, new: str) -> tuple[Outcome, str]:
    if old == new:
        return Outcome.AGREES, old
    said = f"the report says {old}, the audit {new}"
    return (Outcome.OPEN if "UNDETERMINED" in (old, new) else Outcome.DIFFERS), said


def _values(old: Value, new: Value) -> tuple[Outcome, str]:
    if old.low is None or new.low is None:
        same = old.low is None and new.low is None
        return (Outcome.AGREES if same else Outcome.OPEN), f"{old.text}; {new.text}"
    a, b, c, d = (_float(end) for end in (old.low, old.high, new.low, new.high))
    if (a, b) == (c, d) and old.text != new.text:
        return Outcome.DIFFERS, f"the report writes {old.text}, the audit {new.text}"
    finite = [abs(end) for end in (a, b, c, d) if abs(end) != float("inf")]
    close = TOLERANCE * max([1.0, *finite])
    overlap = a <= d + close and c <= b + close
    detail = old.text if old.text == new.text else f"{old.text}; {new.text}"
    return (Outcome.AGREES if overlap else Outcome.DIFFERS), detail


def _float(end: Number | None) -> float:
    assert end is not None
    return float(end)
