"""Audits a model as a file, start to end: what the command line, a notebook and a gate all call."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import treewarden
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.progress import Step, silent
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import file_of_source, told_table
from treewarden.jobs.read_inputs import read_subject
from treewarden.policies.judging.decision import Decision, Waived, WaiverUses
from treewarden.policies.judging.judge import advised, judge
from treewarden.policies.pack import Pack
from treewarden.reports.document.document import EarlierFiles, Provenance, StatedRequest
from treewarden.reports.document.parts import File, number

if TYPE_CHECKING:
    from treewarden.jobs.exceptions import Accepting


@dataclass(frozen=True, slots=True)
class JudgedAudit:
    """What was read, what an adversary can infer from it, and whether the policy allows that.

    ``uses`` says which waivers were needed, for whoever holds the same ones against several models.
    """

    subject: AuditInputs
    audit: Audit
    decision: Decision
    uses: WaiverUses = WaiverUses()


def audit_file(request: Request, step: Step = silent, *, grades: bool = True) -> JudgedAudit:
    """Read the files of a request, audit the model and judge it; ``step`` is told of each stage.

    Without ``grades`` the learner is not run again on the tables that reports show: no verdict needs it.

    Raises:
        TreewardenError: a file cannot be read, the files do not fit each other, or no audit is possible.
    """
    accepting = _exceptions(request)
    if request.options.attack is not None:
        from treewarden.jobs.attacking import check_attack  # heavy: for attacks only

        check_attack(request)
    subject = read_subject(request, step)
    if accepting is not None:
        accepting.check(subject.pack)
    audit = subject.audit(subject.file, step, grades=grades)
    if request.options.attack is not None:
        from treewarden.jobs.attacking import with_attacks  # heavy: for attacks only

        audit = with_attacks(audit, subject, request, step)
    with step("judging") as share:
        decision = advised(audit, judge(audit, subject.pack, share))
        waived = Waived(decision) if accepting is None else accepting.accept(audit, decision)
    return JudgedAudit(subject, audit, waived.decision, waived.uses)


def _exceptions(request: Request) -> Accepting | None:
    """Return the waivers and the baseline of a request, read; None where it has neither."""
    if request.waivers is None and request.baseline is None:
        return None
    from treewarden.jobs.exceptions import read_accepted  # for waivers and baselines only

    return read_accepted(request)


# Where a report comes from: the version, the files by name and digest, and when.


@dataclass(frozen=True, slots=True)
class CommandClock:
    """Started with the command; the only clock there is."""

    begun: float = field(default_factory=time.monotonic)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def provenance(
        self,
        request: Request,
        pack: Pack,
        knowledge: Knowledge | None = None,
        table: File | None = None,
    ) -> Provenance:
        """Return the provenance of a result that is finished now; with the ``knowledge``, what was asked too.

        ``table`` is what is told of a table that was counted, whose digest was taken meanwhile.
        """
        register = request.files.population
        if table is None and request.data is not None:
            table = told_table(request.data)
        return Provenance(
            version=treewarden.__version__,
            model=file_of_source(request.model),
            table=table,
            earlier=tuple(
                EarlierFiles(model=file_of_source(earlier.model), table=told_table(earlier.data))
                for earlier in request.earlier
            ),
            candidates=None if register is None else told_table(register),
            outputs=tuple(map(file_of_source, request.files.beside)),
            pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
            created=self.created.isoformat(timespec="seconds"),
            seconds=number(round(time.monotonic() - self.begun, 2)),
            asked=None if knowledge is None else asked_of(request, knowledge),
        )


def asked_of(request: Request, knowledge: Knowledge) -> StatedRequest:
    """Return what was asked of an audit: its options, and what the adversary is taken to know."""
    known = knowledge.model_dump(mode="json", by_alias=True)
    facts = tuple(json.dumps(fact, sort_keys=True) for fact in known.pop("facts"))
    training, seeds = known.pop("training"), known.pop("seeds")
    adversaries = tuple(json.dumps(each, sort_keys=True) for each in known.pop("adversaries"))
    secret = known.pop("secret")
    return StatedRequest(
        options=asdict(request.options),
        knowledge=known,
        facts=facts,
        training=training,
        seeds=seeds,
        adversaries=adversaries,
        secret="" if secret is None else json.dumps(secret, sort_keys=True),
    )
