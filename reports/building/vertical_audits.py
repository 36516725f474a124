"""The audit of a tree that parties grew, as the document of what they learnt tells of it."""

from __future__ import annotations

from treewarden.policies.judging.decision import Decision
from treewarden.policies.verdict import Verdict
from treewarden.reports.building.worded import word
from treewarden.reports.document.methods import Audited
from treewarden.reports.document.words import count, counted

MOST_FINDINGS = 12


def audited(name: str, decision: Decision) -> Audited:
    """Return the verdict on a tree, and what was found that is no pass."""
    no_pass = (finding for finding in decision.findings if finding.verdict is not Verdict.PASS)
    open_ones = sorted(no_pass, key=lambda each: -each.verdict)
    holds = "all checks of the policy pass" if decision.findings else "the policy has no checks"
    told = [
        f"{word(open_one.verdict)}: {open_one.clause}: {open_one.message}" for open_one in open_ones
    ]
    more = len(told) - MOST_FINDINGS
    if more > 0:
        told = [*told[:MOST_FINDINGS], f"and {count(more)} more"]
    return Audited(
        name=name,
        verdict=word(decision.verdict),
        headline=f"{counted(len(open_ones), 'finding is', 'findings are')} no pass"
        if open_ones
        else holds,
        policy=decision.pack.name,
        policy_sha256=decision.pack.digest,
        findings=tuple(told),
    )
