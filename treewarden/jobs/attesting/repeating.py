"""Checks a report by doing its audit again: are the files the same, and does all come out as it says?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from treewarden.audit.adversary.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.stages import Step, silent
from treewarden.jobs.attesting.alike import Compared, Outcome
from treewarden.jobs.attesting.comparing import compared
from treewarden.jobs.attesting.errors import MalformedError
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.inputs import told, told_table
from treewarden.jobs.provenance import Clock
from treewarden.jobs.subject import Request
from treewarden.policies.pack import load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.reports.building.build import audit_document
from treewarden.reports.document.document import Document

MOST_BYTES = 256 * 1024 * 1024


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
