"""The audit or repair of an order: what ``treewarden audit`` and ``repair`` do, told as an entry and as reports.

A repair tells each change with what it costs, and keeps the files that pass.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePath
from typing import Any, Literal

import treewarden
from treewarden.audit.knowledge.knowledge import read_knowledge
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import AuditFiles, Request
from treewarden.jobs.auditing import asked_of
from treewarden.jobs.exceptions import Accepting
from treewarden.jobs.inputs import ModelBytes
from treewarden.jobs.inspecting import said_of
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import published, repair_file
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import advised, judge
from treewarden.policies.pack import read_pack
from treewarden.policies.repair.attempts import RepairAttempt, order
from treewarden.policies.repair.utility import Deadline
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import OutputError, RemedyError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.semantics.describe import describe, leaf_entries
from treewarden.ppdm_models.tables.read_table import read_table_bytes
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.entry import entry_of
from treewarden.reports.building.redacted import redacted
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.building.story import repair_target
from treewarden.reports.document.document import Attempt as AttemptPart
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import counted, printable
from treewarden.reports.renderers import rendered, renderer
from treewarden.service.errors import ConflictError
from treewarden.service.use_cases.audits import audit_options
from treewarden.service.vault.addresses import open_below
from treewarden.service.vault.sealing import opened_stream
from treewarden.service.worker.orders import (
    JobAnswer,
    JobOrder,
    KeptFile,
    PlainFile,
    Proposed,
    SealedFile,
)

MOST_FILES = 5
"""So many of the changes that pass are kept as files, the cheapest ones."""
MOST_PROPOSALS = 200
SUFFIXES = {"pmml": ".pmml", "treewarden_json": ".json"}
NO_FORMAT = (
    "the format {} is only read here, and no format that is written says this model; "
    "train it anew with larger leaves"
)
WITHHELD = "could not be audited; the full report says why, where it is kept"
SAYS_OPTION = re.compile(r"--[a-z]")
"""A piece of advice that names an option of the command line, which is nothing that a page has."""


@dataclass(frozen=True, slots=True)
class Repairing:
    """What a search came to: its report, every change that was tried, and the files of those that pass, by number."""

    document: Document
    proposals: tuple[Proposed, ...]
    files: tuple[tuple[int, bytes], ...]

    @property
    def summary(self) -> dict[str, object]:
        """What the search says of itself: what came of it, what could not be tried, how to train the model anew."""
        repair = self.document.repair
        assert repair is not None
        advice = [each for each in repair.advice if not SAYS_OPTION.search(each)]
        return {"message": repair.message, "refusals": list(repair.refusals), "advice": advice}


def search_repairs(
    order_: JobOrder, subject: AuditInputs, provenance: Provenance, step: Step
) -> Repairing:
    """Look for changes that pass; a model of a format that is only read is written in another one.

    Raises:
        RemedyError: no format that is written says the model.
        TreewardenError: the model cannot be audited.
    """
    assert order_.model is not None
    name, target = order_.model.name, repair_target(subject.tree)
    if target is None:
        raise RemedyError(name, NO_FORMAT.format(subject.tree.format))
    wanted = target or None
    found = repair_file(
        subject,
        name,
        target=wanted,
        step=step,
        deadline=Deadline.after(order_.limits.seconds),
        every=order_.limits.tries_all,
    ).with_levels(subject, step)
    document = repair_document(found.repair, provenance, order_.purpose)
    attempts = sorted(found.repair.attempts, key=order)[:MOST_PROPOSALS]
    passing = [
        repair_attempt for repair_attempt in attempts if repair_attempt.verdict is Verdict.PASS
    ][:MOST_FILES]
    file_name = _repaired_name(name, wanted)
    assert document.repair is not None
    return Repairing(
        document,
        tuple(
            _proposed(
                part,
                file_name if attempt in passing else "",
                # it may quote the table, as the full report does that is kept only where that is allowed
                part.problem if order_.is_internal or not part.problem else WITHHELD,
            )
            for attempt, part in zip(attempts, document.repair.attempts, strict=False)
        ),
        tuple(
            (number, _file(subject, attempt, wanted))
            for number, attempt in enumerate(attempts, start=1)
            if attempt in passing
        ),
    )


def _file(subject: AuditInputs, attempt: RepairAttempt, target: str | None) -> bytes:
    return published(subject, attempt.proposal, target)


def _repaired_name(name: str, target: str | None) -> str:
    path = PurePath(name)
    return f"{path.stem}-repaired{SUFFIXES.get(target or '', path.suffix)}"


def _proposed(part: AttemptPart, file_name: str, problem: str) -> Proposed:
    loss = part.loss_after
    cost = {
        "leaves": part.leaves_text,
        "predictions changed": part.predictions_changed_text,
        "training accuracy": f"{part.accuracy_after.text}, was {part.accuracy_before.text}",
        "numbers withheld": part.numbers_withheld_text,
        "clauses met": part.privacy.text,
    }
    if loss is not None and part.loss_before is not None:
        cost["loss"] = f"{loss.text}, was {part.loss_before.text}"
    return Proposed(
        name=part.name,
        title=part.title,
        remedies=part.remedies,
        verdict=part.verdict,
        is_recommended=part.is_recommended,
        cost=cost,
        failing=part.failing,
        problem=problem or part.not_audited,
        file_name=file_name,
    )


# Opens what an order names, in the process of the job: sealed files are read into memory, and stay there.


def content(file: SealedFile | PlainFile) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnavailableError: it was erased, or cannot be unsealed.
        InvalidError: its path is not allowed any more.
    """
    if isinstance(file, PlainFile):
        with open_below(file.path, file.roots, file.most) as plain:
            return plain.read()
    with Path(file.place).open("rb") as sealed:
        return b"".join(opened_stream(sealed, bytes.fromhex(file.key)))


def table_of(file: SealedFile | PlainFile) -> tuple[Table, File]:
    """Return a table, and what a report tells of its file.

    Raises:
        ConflictError: it was changed since it was named: what was said of it is of another table.
        TableError: it is no table that can be read.
    """
    data = content(file)
    digest = hashlib.sha256(data).hexdigest()
    if file.digest and digest != file.digest:
        raise ConflictError(file.name, "was changed since it was named; name it again")
    return read_table_bytes(data, file.name), File(name=file.name, sha256=digest)


PUBLIC_FORMS = ("html", "json")
"""Redacted; the others say no more of anybody than an entry does."""
PIPELINE_FORMS = ("sarif", "junit", "markdown", "csv")
INTERNAL_FORMS = ("html", "json")
WAIVERS = "waivers.toml"
VERDICTS: Mapping[str, Literal["PASS", "FAIL", "UNDETERMINED"]] = {
    "PASS": "PASS",
    "FAIL": "FAIL",
    "UNDETERMINED": "UNDETERMINED",
}


def audited(
    order: JobOrder, step: Step, say_read: Callable[[], None]
) -> tuple[JobAnswer, tuple[bytes, ...]]:
    """Return the verdict of an order's audit, and its reports; of a repair, the models that pass.

    ``say_read`` is called once the model and the table are read.

    Raises:
        TreewardenError: no audit is possible.
    """
    assert order.model is not None
    data = content(order.model)
    table, file = (None, None) if order.table is None else table_of(order.table)
    register, register_file = (
        (None, None) if order.candidates is None else table_of(order.candidates)
    )
    knowledge = (
        read_knowledge(order.knowledge.encode(), "knowledge.toml") if order.knowledge else None
    )
    request = Request(
        ModelBytes(data, order.model.name),
        table,
        audit_options(order.options),
        AuditFiles(knowledge=knowledge, population=register),
        read_pack(order.pack.encode(), order.pack_name),
        name=order.model_name,
        today=date.fromisoformat(order.today),
    )
    accepting = Accepting(
        request,
        read_waivers(order.waivers.encode(), WAIVERS) if order.waivers else None,
        None,
        date.fromisoformat(order.today),
    )
    subject = read_subject(request, step)
    say_read()
    accepting.check(subject.pack)
    provenance = Provenance(
        version=treewarden.__version__,
        model=File(name=order.model.name, sha256=hashlib.sha256(data).hexdigest()),
        table=file,
        candidates=register_file,
        pack=File(name=subject.pack.name.replace("/", "_"), sha256=subject.pack.digest),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        asked=asked_of(request, subject.knowledge),
    )
    if order.kind == "repair":
        repairing = search_repairs(order, subject, provenance, step)
        return _answer(order, repairing.document, repairing)
    audit = subject.audit(subject.file, step)
    decision = _accepted(accepting, audit, advised(audit, judge(audit, subject.pack)))
    return _answer(order, audit_document(audit, decision, provenance, order.purpose), None)


def _accepted(accepting: Accepting, audit: Audit, decision: Decision) -> Decision:
    return accepting.accept(audit, decision).decision


def _answer(
    order: JobOrder, document: Document, repairing: Repairing | None
) -> tuple[JobAnswer, tuple[bytes, ...]]:
    assert order.model is not None
    entry = entry_of(document, order.model_name, order.model.name)
    made = list(_reports(order, document))
    for number, data in () if repairing is None else repairing.files:
        made.append((KeptFile(kind="repaired", form=str(number)), data))
    answer = JobAnswer(
        verdict=VERDICTS[document.verdict],
        headline="; ".join(each for each in (entry.headline, entry.assumed_known) if each),
        entry=json.loads(entry.model_dump_json(by_alias=True)),
        provenance=_provenance(document.provenance),
        kept=tuple(kept_file for kept_file, _ in made),
        proposals=() if repairing is None else repairing.proposals,
        repair_summary=None if repairing is None else repairing.summary,
    )
    return answer, tuple(data for _, data in made)


def _reports(order: JobOrder, document: Document) -> Iterator[tuple[KeptFile, bytes]]:
    assert order.model is not None
    name = order.model.name
    for form in PIPELINE_FORMS:
        yield KeptFile(kind="public", form=form), rendered(renderer(form), document, name)
    try:
        shown = redacted(document)
    except OutputError:  # too few people for anything to be said of them
        shown = None
    if shown is not None:
        for form in PUBLIC_FORMS:
            yield KeptFile(kind="public", form=form), rendered(renderer(form), shown, name)
    if order.is_internal:
        for form in INTERNAL_FORMS:
            yield KeptFile(kind="internal", form=form), rendered(renderer(form), document, name)


def _provenance(provenance: Provenance) -> dict[str, Any]:
    """Return versions and digests: knowledge may hold facts about somebody, and stays in the internal report."""
    said: dict[str, Any] = json.loads(provenance.model_dump_json(by_alias=True))
    said.pop("asked", None)
    return said


# What is read from a model or a table on arrival: what it publishes, and names and kinds of columns; no values.


def inspected_model(order: JobOrder) -> JobAnswer:
    """Return what ``treewarden inspect`` says of a model."""
    assert order.model is not None
    said = said_of(ModelBytes(content(order.model), order.model.name))
    return JobAnswer(summary=said, format=str(said["format"]))


def inspected_table(order: JobOrder) -> JobAnswer:
    """Return the columns of a table, and how many records it has."""
    assert order.table is not None
    table, file = table_of(order.table)
    columns = tuple(
        {"name": name, "kind": "number" if table.guessed(name).numeric else "category"}
        for name in table.columns
    )
    return JobAnswer(columns=columns, records=table.rows, digest=file.sha256)


# How the trees of two files differ, in words: what they are, and their leaves by the way that leads to them.

TOLD = {
    "task": "what it predicts",
    "target": "the target",
    "classes": "the classes",
    "trees": "the number of trees",
    "nodes": "the number of nodes",
    "leaves": "the number of leaves",
    "depth": "the depth",
    "criterion": "the criterion",
    "format": "the format",
}
MOST_LINES = 200


def compared(order: JobOrder) -> JobAnswer:
    """Return how the trees of two models differ."""
    assert order.model is not None
    assert order.other is not None
    old = open_model(content(order.model), order.model.name)
    new = open_model(content(order.other), order.other.name)
    said = [
        {"format": opened_file.model.format, **describe(opened_file.model, opened_file.leaks)}
        for opened_file in (old, new)
    ]
    lines = [*_facts(*said), *_leaves(old.model, new.model)]
    more = len(lines) - MOST_LINES
    if more > 0:
        lines = [*lines[:MOST_LINES], f"and {counted(more, 'more difference', 'more differences')}"]
    return JobAnswer(trees=tuple(map(printable, lines)))


def _facts(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for key, words in TOLD.items():
        if old.get(key) != new.get(key):
            yield f"{words}: {_text(old.get(key))}, now {_text(new.get(key))}"


def _leaves(old: Model, new: Model) -> Iterator[str]:
    """Yield leaves by the way that leads to them: those that went, that came, and that say something else."""
    before, after = _by_region(old), _by_region(new)
    for region, said in before.items():
        if region not in after:
            yield f"leaf gone: {region}"
        elif after[region] != said:
            yield f"leaf changed: {region}: {said}, now {after[region]}"
    for region in after:
        if region not in before:
            yield f"leaf new: {region}"


def _by_region(model: Model) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in leaf_entries(model, exact=True):
        records = "" if entry["records"] is None else f", {entry['records']:g} records"
        region = f"tree {entry['tree']}, {entry['region']}"
        found[region] = f"says {_text(entry['says'])}{records}"
    return found


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "nothing" if value in (None, "") else str(value)
