"""Audits a model as a file, start to end: what the command line, a notebook and a gate all call."""

from __future__ import annotations

from dataclasses import dataclass

from audit.result import Audit
from audit.stages import Step, silent
from policies.judging.decision import Decision
from policies.judging.judge import judge
from policies.judging.reachable import advised
from treewarden.jobs.subject import Request, Subject, read_subject


@dataclass(frozen=True, slots=True)
class Audited:
    """What was read, what an adversary can infer from it, and whether the policy allows that."""

    subject: Subject
    audit: Audit
    decision: Decision


def audit_file(request: Request, step: Step = silent) -> Audited:
    """Read the files of a request, audit the model and judge it; ``step`` is told of each stage.

    Raises:
        TreewardenError: a file cannot be read, the files do not fit each other, or no audit is possible.
    """
    subject = read_subject(request, step)
    audit = subject.audit(subject.file, step)
    return Audited(subject, audit, advised(audit, judge(audit, subject.pack)))
