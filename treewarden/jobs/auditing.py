"""Audits a model as a file, start to end: what the command line, a notebook and a gate all call."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.audit.result import Audit
from treewarden.audit.stages import Step, silent
from treewarden.jobs.accepting import read_accepted
from treewarden.jobs.subject import Request, Subject, read_subject
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge
from treewarden.policies.judging.reachable import advised
from treewarden.policies.waiving.applying import Uses


@dataclass(frozen=True, slots=True)
class Audited:
    """What was read, what an adversary can infer from it, and whether the policy allows that.

    ``uses`` says which waivers were needed, for whoever holds the same ones against several models.
    """

    subject: Subject
    audit: Audit
    decision: Decision
    uses: Uses = Uses()


def audit_file(request: Request, step: Step = silent) -> Audited:
    """Read the files of a request, audit the model and judge it; ``step`` is told of each stage.

    Raises:
        TreewardenError: a file cannot be read, the files do not fit each other, or no audit is possible.
    """
    given = read_accepted(request)
    subject = read_subject(request, step)
    given.check(subject.pack)
    audit = subject.audit(subject.file, step)
    with step("judging"):
        waived = given.accept(audit, advised(audit, judge(audit, subject.pack)))
    return Audited(subject, audit, waived.decision, waived.uses)
