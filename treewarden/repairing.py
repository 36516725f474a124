"""Repairs a tree as a file: every proposal is audited as it would be read by whoever gets it, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from audit.parallel import default_jobs
from audit.processes import do_all
from audit.run import Audit
from policies.repair import Attempt, AuditAll, Given, Repair, repair
from policies.verdict import Verdict
from ppdm_models.errors import RemedyError, TreewardenError
from ppdm_models.load import formats, load_tree
from ppdm_models.tree import Tree
from treewarden.subject import Subject

WORTH_WORKERS_SECONDS = 8.0
"""What all re-audits together must be expected to take before processes are started for them."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair, and the file that it applies, in the format that the original came in (None: none passes)."""

    repair: Repair
    file: bytes | None

    @property
    def audit(self) -> Audit:
        """The audit of the tree that is written, else of the original."""
        best = self.repair.applied
        return self.repair.audit if best is None or best.audit is None else best.audit

    def choosing(self, attempt: Attempt) -> Repaired:
        """Return the same with another attempt that passes applied.

        Raises:
            ValueError: it does not pass.
        """
        if attempt.verdict is not Verdict.PASS:
            raise ValueError(f"{attempt.name} does not pass")
        return Repaired(replace(self.repair, applied=attempt), _written(attempt.proposal.tree))


@dataclass(frozen=True, slots=True)
class Reaudit:
    """The audit of one proposal, as a job that another process can do; the file is read as its receiver would."""

    file: bytes
    name: str
    subject: Subject

    def __call__(self) -> Audit:
        """Read the file and audit it."""
        return self.subject.audit(load_tree(self.file, self.name))


def repair_file(subject: Subject, name: str, given: Given | None = None) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called.

    Raises:
        RemedyError: the original's format is only read, so no repair could be written in it.
        TreewardenError: the original cannot be audited.
    """
    _written(subject.tree)
    begun = time.monotonic()
    original = subject.audit(subject.tree)
    seconds = time.monotonic() - begun

    def processes(trees: int) -> int:
        jobs = subject.options.jobs or default_jobs()
        return min(jobs, trees) if seconds * trees >= WORTH_WORKERS_SECONDS else 1

    found = repair(
        subject.tree,
        subject.population,
        lambda tree: original,
        subject.pack,
        given,
        auditing(subject, name, processes),
    )
    best = found.recommended
    return Repaired(found, None if best is None else _written(best.proposal.tree))


def auditing(subject: Subject, name: str, processes: Callable[[int], int]) -> AuditAll:
    """Return what audits several trees over as many processes as ``processes`` says for their number."""

    def audit_all(trees: Sequence[Tree]) -> list[Audit | TreewardenError]:
        count = processes(len(trees))
        options = replace(subject.options, jobs=1) if count > 1 else subject.options
        asked = replace(subject, options=options)
        files = [_file_of(tree) for tree in trees]
        jobs = [Reaudit(file, name, asked) for file in files if isinstance(file, bytes)]
        audits = iter(do_all(jobs, count))
        results = [next(audits) if isinstance(file, bytes) else file for file in files]
        return [LOST if result is None else result for result in results]

    return audit_all


LOST = RemedyError("the audit", "its process ended before it was done; is there enough memory?")


def _file_of(tree: Tree) -> bytes | TreewardenError:
    try:
        return _written(tree)
    except TreewardenError as error:
        return error


def _written(tree: Tree) -> bytes:
    plugins = formats()
    data = plugins[tree.format].write(tree)
    if data is None:
        can = ", ".join(name for name, plugin in plugins.items() if plugin.write(tree) is not None)
        problem = f"the format {tree.format} is only read here; give the model as {can}"
        raise RemedyError(tree.source, problem)
    return data
