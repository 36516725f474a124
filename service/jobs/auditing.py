"""The audit or repair of an order: what ``treewarden audit`` and ``repair`` do, told as an entry and as reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal

import treewarden
from treewarden.audit.knowledge.knowledge import read_knowledge
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import Request, read_subject
from treewarden.jobs.auditing import asked_of
from treewarden.jobs.exceptions import Accepting
from treewarden.jobs.inputs import ModelBytes
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import advised, judge
from treewarden.policies.pack import read_pack
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.entry import entry_of
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.document.parts import File
from treewarden.reports.renderers import rendered, renderer
from treewarden.service.cases.options import audit_options
from treewarden.service.jobs.orders import JobAnswer, JobOrder, KeptFile
from treewarden.service.jobs.reading import content, table_of
from treewarden.service.jobs.repairing import Repairing, search_repairs

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
    request = Request(
        ModelBytes(data, order.model.name),
        table,
        audit_options(order.options),
        read_knowledge(order.knowledge.encode(), "knowledge.toml") if order.knowledge else None,
        read_pack(order.pack.encode(), order.pack_name),
        name=order.model_name,
        today=date.fromisoformat(order.today),
    )
    given = Accepting(
        request,
        read_waivers(order.waivers.encode(), WAIVERS) if order.waivers else None,
        None,
        date.fromisoformat(order.today),
    )
    subject = read_subject(request, step)
    say_read()
    given.check(subject.pack)
    told = Provenance(
        version=treewarden.__version__,
        model=File(name=order.model.name, sha256=hashlib.sha256(data).hexdigest()),
        table=file,
        pack=File(name=subject.pack.name.replace("/", "_"), sha256=subject.pack.digest),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        asked=asked_of(request, subject.knowledge),
    )
    if order.kind == "repair":
        found = search_repairs(order, subject, told, step)
        return _answer(order, found.document, found)
    audit = subject.audit(subject.file, step)
    decision = _accepted(given, audit, advised(audit, judge(audit, subject.pack)))
    return _answer(order, audit_document(audit, decision, told, order.purpose), None)


def _accepted(given: Accepting, audit: Audit, decision: Decision) -> Decision:
    return given.accept(audit, decision).decision


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
        kept=tuple(kept for kept, _ in made),
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


def _provenance(told: Provenance) -> dict[str, Any]:
    """Return versions and digests: knowledge may hold facts about somebody, and stays in the internal report."""
    said: dict[str, Any] = json.loads(told.model_dump_json(by_alias=True))
    said.pop("asked", None)
    return said
