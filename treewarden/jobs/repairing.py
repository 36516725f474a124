"""Repairs a model as a file: looks for a change that passes, and writes it as it was audited."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from treewarden.audit.levels import with_levels
from treewarden.audit.options import AuditOptions
from treewarden.audit.result import Audit
from treewarden.audit.run import with_grades
from treewarden.audit.solver.parallel import default_jobs
from treewarden.audit.stages import Step, silent
from treewarden.jobs.reauditing import (
    LARGE_CELLS,
    auditing,
    glancing,
    published,
    within,
    written,
)
from treewarden.jobs.subject import Subject
from treewarden.policies.judging.judge import verdict_of
from treewarden.policies.repairing.attempts import Attempt, Ended, Repair
from treewarden.policies.repairing.deadline import NO_LIMIT, Deadline
from treewarden.policies.repairing.given import Given
from treewarden.policies.repairing.repair import repair
from treewarden.policies.repairing.search import Tell, to_nobody
from treewarden.policies.verdict import Verdict

WORTH_WORKERS_SECONDS = 4.0
"""What all re-audits together must be expected to take before processes are started that nobody asked for."""
SETTLED_SHARE = 4
"""Part of the budget for whole records that the original has where its leaves fail anyway."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair, and the file that it applies (None: none passes); ``target`` is its format, None the original's."""

    repair: Repair
    file: bytes | None
    target: str | None = None

    @property
    def audit(self) -> Audit:
        """The audit of the model that is written, else of the original."""
        best = self.repair.applied
        return self.repair.audit if best is None or best.audit is None else best.audit

    def choosing(self, attempt: Attempt, subject: Subject) -> Repaired:
        """Return the same with another attempt that passes applied.

        Raises:
            ValueError: it does not pass.
        """
        if attempt.verdict is not Verdict.PASS:
            raise ValueError(f"{attempt.name} does not pass")
        file = published(subject, attempt.proposal, self.target)
        found = replace(self.repair, applied=attempt)
        return replace(self, repair=_graded(found, subject.options), file=file)

    def with_levels(
        self, subject: Subject, step: Step = silent, deadline: Deadline = NO_LIMIT
    ) -> Repaired:
        """Return the same, with what each kind of information adds in the audit that a report is about, in time."""
        if not subject.options.levels or deadline.is_over:
            return self
        told = with_levels(self.audit, within(deadline, subject.options), step)
        best = self.repair.applied
        if best is None or best.audit is None:
            return replace(self, repair=replace(self.repair, audit=told))
        return replace(self, repair=self.repair.exchanging(best, replace(best, audit=told)))


def repair_file(
    subject: Subject,
    name: str,
    given: Given | None = None,
    target: str | None = None,
    step: Step = silent,
    *,
    deadline: Deadline = NO_LIMIT,
    every: bool = False,
    wanted: str = "",
    tell: Tell = to_nobody,
    large: int = LARGE_CELLS,
) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called, ``target`` its format.

    Levels of knowledge are left out, as nobody asks for those of every change: see ``Repaired.with_levels``. At the
    deadline, or a keyboard interrupt, the search ends with what it has; after an interrupt there is no file. For
    ``every``, ``wanted`` and ``tell`` see ``repair``, for ``large`` see ``Reaudit``.

    Without a target it is written as the original was: the original file with its trees changed where its format can do
    that, else the tree alone.

    Raises:
        RemedyError: the format is only read and no other is asked for.
        OutputError: the format cannot say something that the tree holds.
        TreewardenError: the original cannot be audited.
    """
    own = subject.tree
    subject = replace(subject, options=replace(subject.options, levels=False))
    written(subject, own, target)
    begun = time.monotonic()
    is_settled = verdict_of(subject.glance(subject.file), subject.pack) is Verdict.FAIL
    options = within(deadline, subject.options, SETTLED_SHARE if is_settled else 1)
    original = replace(subject, options=options).audit(subject.file, step)
    longest = time.monotonic() - begun
    given = replace(given or Given(), trees_alone=target not in (None, own.format))

    def processes(models: int) -> int:
        wanted = subject.options.jobs
        count = min(wanted or default_jobs(), models)
        is_worth = wanted is not None or longest * models >= WORTH_WORKERS_SECONDS
        return count if count > 1 and is_worth else 0

    def took(seconds: float) -> None:
        nonlocal longest
        longest = max(longest, seconds)

    found = repair(
        own,
        subject.population,
        lambda model: original,
        subject.pack,
        given,
        auditing(subject, name, processes, target, deadline, took, large),
        step,
        glance=glancing(subject, name, target),
        deadline=deadline,
        every=every,
        wanted=wanted,
        tell=tell,
    )
    best = found.recommended
    is_written = best is not None and found.ended is not Ended.INTERRUPTED
    if best is None or not is_written:
        return Repaired(found, None, target)
    file = published(subject, best.proposal, target)
    return Repaired(_graded(found, within(deadline, subject.options)), file, target)


def _graded(found: Repair, options: AuditOptions) -> Repair:
    """Return the same where the learner was run again for the report of the change that is applied."""
    best = found.applied
    if best is None or best.audit is None:
        return found
    return found.exchanging(best, replace(best, audit=with_grades(best.audit, options)))
