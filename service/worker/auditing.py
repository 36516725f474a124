"""The audit or repair of an order: what ``treewarden audit`` and ``repair`` do, told as an entry and as reports.

A repair tells each change with what it costs, and keeps the files that pass. Whoever imports this is about to audit:
what every audit needs is made ready then, once for all processes that come of this one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from multiprocessing.connection import Connection
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

import treewarden
from treewarden.audit.knowledge.knowledge import read_knowledge
from treewarden.audit.knowledge.levels import KnowledgeSection
from treewarden.audit.measures import measures
from treewarden.audit.option_spec import OptionDoor
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.audit.system.system import kinds_of_facts
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import AuditFiles, Request, keys_for_flags
from treewarden.jobs.auditing import asked_of
from treewarden.jobs.exceptions import Accepting
from treewarden.jobs.inputs import ModelBytes, OutputBytes, file_of_source
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import published, repair_file
from treewarden.policies.clause import Section
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import advised, judge
from treewarden.policies.pack import read_pack
from treewarden.policies.repair.attempts import RepairAttempt, order
from treewarden.policies.repair.utility import Deadline
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import OutputError, RemedyError, TreewardenError
from treewarden.ppdm_models.files.load import WRITTEN_SUFFIXES
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.entry import entry_of
from treewarden.reports.building.redacted import problem_of, redacted
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.building.steps import repair_target
from treewarden.reports.document.document import Attempt as AttemptPart
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.document.parts import File, Part
from treewarden.reports.figures.pages import environment
from treewarden.reports.renderers import rendered, renderer
from treewarden.service.errors import ServiceError
from treewarden.service.use_cases.audits import audit_options
from treewarden.service.worker.orders import (
    READ,
    JobAnswer,
    JobOrder,
    KeptFile,
    Proposed,
    receive,
    send,
)
from treewarden.service.worker.reading import (
    compared,
    content,
    dictionary_in,
    inspected_dictionary,
    inspected_model,
    inspected_output,
    inspected_table,
    named_content,
    table_of,
)
from treewarden.service.worker.sandbox import ProcessLimits, confine

if TYPE_CHECKING:
    from treewarden.audit.reconstruction.domain import DeclaredDomain

MOST_FILES = 5
"""So many of the changes that pass are kept as files, the cheapest ones."""
MOST_PROPOSALS = 200
NO_FORMAT = (
    "the format {} is only read here, and no format that is written says this model; "
    "train it anew with larger leaves"
)
WITHHELD = "could not be audited; the full report states the reason, if it is stored"
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
        repair_attempt
        for repair_attempt in attempts
        if repair_attempt.verdict is PolicyVerdict.PASS
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
    return f"{path.stem}-repaired{WRITTEN_SUFFIXES.get(target or '', path.suffix)}"


def _proposed(part: AttemptPart, file_name: str, problem: str) -> Proposed:
    loss = part.loss_after
    cost = {
        "leaves": part.leaves_text,
        "predictions changed": part.predictions_changed_text,
        "training accuracy": f"{part.accuracy_after.text}, was {part.accuracy_before.text}",
        "numbers withheld": part.numbers_withheld_text,
        "checks passed": part.privacy.text,
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


PUBLIC_FORMS = ("html", "json")
"""Redacted; the others say no more of anybody than an entry does."""
PIPELINE_FORMS = ("sarif", "junit", "markdown", "csv")
INTERNAL_FORMS = ("html", "json")
WAIVERS = "waivers.toml"


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
    further = order.further
    register, register_file = (
        (None, None) if further.candidates is None else table_of(further.candidates)
    )
    knowledge = (
        read_knowledge(order.knowledge.encode(), "knowledge.toml") if order.knowledge else None
    )
    outputs = tuple(OutputBytes(named_content(file), file.name) for file in further.outputs)
    request = Request(
        ModelBytes(data, order.model.name),
        table,
        audit_options(order.options),
        AuditFiles(
            knowledge=knowledge,
            dictionary=None if further.dictionary is None else dictionary_in(further.dictionary),
            population=register,
            beside=outputs,
            domain=_domain_in(further.domain),
        ),
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
        outputs=tuple(map(file_of_source, outputs)),
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


def _domain_in(text: str) -> DeclaredDomain | None:
    if not text:
        return None
    from treewarden.jobs.further_files import read_public_domain  # where one is declared

    return read_public_domain(text.encode(), "domain")


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
        verdict=document.verdict,
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


TOO_LITTLE = (
    "needs more memory than one audit may use here; try fewer quasi-identifiers or a smaller tree"
)
SELDOM_SECONDS = 0.3
PLAIN: dict[str, Callable[[JobOrder], JobAnswer]] = {
    "inspect_model": inspected_model,
    "inspect_table": inspected_table,
    "inspect_output": inspected_output,
    "inspect_dictionary": inspected_dictionary,
    "compare": compared,
}


def run(connection: Connection, limits: ProcessLimits) -> None:
    """Do the one job that is asked over a connection, and answer there; started in a process of its own."""
    confine(limits)
    order = JobOrder.model_validate(receive(connection).said)
    answer, files = _answered(order, connection)
    send(connection, {"answer": answer.model_dump(mode="json")}, files)
    connection.close()
    os._exit(0)  # nothing is left to do, and tidying up large results takes its time


def load_ahead() -> None:
    """Make what each audit would make anew in its process, and what takes most of a small one's time.

    Plug-ins are imported, the models of packs and documents are built, and the templates of reports are compiled. No
    thread is started, as the processes of jobs are to come of this one.
    """
    for plug_ins in (measures(), kinds_of_facts(), rules()):
        list(plug_ins.values())
    todo: list[type[BaseModel]] = [Section, KnowledgeSection, Part]
    while todo:
        record = todo.pop()
        record.model_rebuild()
        todo += record.__subclasses__()
    pages = environment()
    for name in pages.list_templates(extensions=["j2"]):
        pages.get_template(name)


def naming_options(text: str) -> str:
    """Return a message with options of a request in place of flags of the command line."""
    return keys_for_flags(text, OptionDoor.SERVICE, "in the options of the request")


def _answered(order: JobOrder, connection: Connection) -> tuple[JobAnswer, tuple[bytes, ...]]:
    told = [0.0]

    @contextmanager
    def step(doing: str) -> Iterator[None]:
        if time.monotonic() - told[0] >= SELDOM_SECONDS:
            told[0] = time.monotonic()
            send(connection, {"stage": doing})
        yield

    try:
        if order.kind in PLAIN:
            return PLAIN[order.kind](order), ()
        return audited(order, step, lambda: send(connection, {"stage": READ}))
    except MemoryError:
        return JobAnswer(problem=TOO_LITTLE), ()
    except ServiceError as error:
        return JobAnswer(problem=str(error)), ()
    except TreewardenError as error:
        return JobAnswer(problem=naming_options(problem_of(error))), ()
    except Exception as error:  # whatever a stranger's file did here, it ends with this process
        if os.environ.get("TREEWARDEN_TRACEBACK"):
            traceback.print_exc()
        return JobAnswer(problem=problem_of(error)), ()


load_ahead()
