"""The repair of an order: what ``treewarden repair`` does, each change with what it costs, and the files that pass."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from treewarden.audit.progress import Step
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.repairing import published, repair_file
from treewarden.policies.repair.attempts import RepairAttempt, order
from treewarden.policies.repair.holdout import Deadline
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import RemedyError
from treewarden.reports.building.build import repair_document
from treewarden.reports.building.story import repair_target
from treewarden.reports.document.document import Attempt as AttemptPart
from treewarden.reports.document.document import Document, Provenance
from treewarden.service.worker.orders import JobOrder, Proposed

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
    order_: JobOrder, subject: AuditInputs, told: Provenance, step: Step
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
        deadline=Deadline.after(order_.seconds),
        every=order_.tries_all,
    ).with_levels(subject, step)
    document = repair_document(found.repair, told, order_.purpose)
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
