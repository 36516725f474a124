"""Repairs a model as a file: every proposal is audited as it would be read by whoever gets it, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from audit.levels import with_levels
from audit.result import Audit
from audit.solver.parallel import default_jobs
from audit.solver.processes import do_all
from audit.stages import Step, silent
from policies.remedies import Proposal
from policies.repairing.repair import Attempt, AuditAll, Given, Repair, repair
from policies.verdict import Verdict
from ppdm_models.errors import RemedyError, TreewardenError
from ppdm_models.files.convert import converted, writable
from ppdm_models.files.load import OpenedFile, open_model, writers
from ppdm_models.formats import Opened, Rewritable
from ppdm_models.tree.ensemble import Model
from ppdm_models.tree.tree import Tree
from treewarden.jobs.redacting import without_leaks
from treewarden.jobs.subject import Subject

WORTH_WORKERS_SECONDS = 8.0
"""What all re-audits together must be expected to take before processes are started for them."""
LOST = RemedyError("the audit", "its process ended before it was done; is there enough memory?")


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
        file = _published(subject, attempt.proposal, self.target)
        return replace(self, repair=replace(self.repair, applied=attempt), file=file)

    def with_levels(self, subject: Subject, step: Step = silent) -> Repaired:
        """Return the same, with what each kind of information adds in the audit that a report is about."""
        if not subject.options.levels:
            return self
        told = with_levels(self.audit, subject.options, step)
        best = self.repair.applied
        if best is None or best.audit is None:
            return replace(self, repair=replace(self.repair, audit=told))
        return replace(self, repair=self.repair.exchanging(best, replace(best, audit=told)))


@dataclass(frozen=True, slots=True)
class Reaudit:
    """The audit of one proposal, as a job that another process can do; the file is read as its receiver would."""

    file: bytes
    name: str
    subject: Subject

    def __call__(self) -> Audit:
        """Read the file and audit it."""
        return self.subject.audit(open_model(self.file, self.name))


def repair_file(
    subject: Subject,
    name: str,
    given: Given | None = None,
    target: str | None = None,
    step: Step = silent,
) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called, ``target`` its format.

    Levels of knowledge are left out, as nobody asks for those of every change: see ``Repaired.with_levels``.

    Without a target it is written as the original was: the original file with its trees changed where its format can do
    that, else the tree alone.

    Raises:
        RemedyError: the format is only read and no other is asked for.
        OutputError: the format cannot say something that the tree holds.
        TreewardenError: the original cannot be audited.
    """
    own, options = subject.tree, subject.options
    subject = replace(subject, options=replace(options, levels=False))
    _written(subject, own, target)
    begun = time.monotonic()
    original = subject.audit(subject.file, step)
    seconds = time.monotonic() - begun
    given = replace(given or Given(), trees_alone=target not in (None, own.format))

    def processes(models: int) -> int:
        jobs = subject.options.jobs or default_jobs()
        return min(jobs, models) if seconds * models >= WORTH_WORKERS_SECONDS else 1

    found = repair(
        own,
        subject.population,
        lambda model: original,
        subject.pack,
        given,
        auditing(subject, name, processes, target),
        step,
    )
    best = found.recommended
    file = None if best is None else _published(subject, best.proposal, target)
    return Repaired(found, file, target)


def auditing(
    subject: Subject, name: str, processes: Callable[[int], int], target: str | None = None
) -> AuditAll:
    """Return what audits several proposals over as many processes as ``processes`` says for their number."""

    def audit_all(proposals: Sequence[Proposal]) -> list[Audit | TreewardenError]:
        count = processes(len(proposals))
        options = replace(subject.options, jobs=1) if count > 1 else subject.options
        asked = replace(subject, file=_apart(subject.file), options=options)
        files = [_file_of(subject, proposal, target) for proposal in proposals]
        jobs = [Reaudit(file, name, asked) for file in files if isinstance(file, bytes)]
        audits = iter(do_all(jobs, count))
        results = [next(audits) if isinstance(file, bytes) else file for file in files]
        return [LOST if result is None else result for result in results]

    return audit_all


def _apart(file: OpenedFile) -> OpenedFile:
    """Return a file without what changes it: all that a process needs that audits other files, and no bytes."""
    return replace(file, opened=Opened(file.model))


def _file_of(subject: Subject, proposal: Proposal, target: str | None) -> bytes | TreewardenError:
    try:
        return _published(subject, proposal, target)
    except TreewardenError as error:
        return error


def _published(subject: Subject, proposal: Proposal, target: str | None) -> bytes:
    """Return the file as it would be published: what is audited again is what is written."""
    data = _written(subject, proposal.model, target)
    return without_leaks(data, subject.tree.source) if proposal.is_bare else data


def _written(subject: Subject, model: Model, target: str | None) -> bytes:
    own, opened = subject.tree, subject.file.opened
    if target is not None and target != own.format:
        return converted(model, target)
    if isinstance(opened, Rewritable):
        return opened.rewrite(model)
    if own.format in writers():
        return writers()[own.format].write(model)
    raise RemedyError(
        own.source,
        f"the format {own.format} is only read here, so no repaired model is written in it; {_instead(own)}",
    )


def _instead(own: Model) -> str:
    """Return what to do about a format that is only read."""
    targets = [f"--to {target}" for target in reversed(writable(own))]
    if not targets:
        return "convert cannot write it either, so train it anew with larger leaves"
    what = "tree" if isinstance(own, Tree) else "trees"
    return f"say {' or '.join(targets)} to have the {what} alone"
