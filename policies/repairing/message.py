"""What came of a search for a repair, in words."""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.policies.judging.decision import Decision
from treewarden.policies.remedies import NoProposal
from treewarden.policies.repairing.attempts import Attempt, Ended
from treewarden.policies.verdict import Verdict
from treewarden.policies.words import capital


def doubts(decision: Decision) -> bool:
    """Return whether the evidence itself is in doubt, so that no change of the tree can lead to a pass."""
    return any(finding.is_about_evidence for finding in decision.findings)


def message(
    whole: str,
    decision: Decision,
    attempts: Sequence[Attempt],
    recommended: Attempt | None,
    nearest: Attempt | None,
    refusals: Sequence[NoProposal],
    ended: Ended,
) -> str:
    """Return what came of the search; ``whole`` is what the model is called."""
    if decision.verdict is Verdict.PASS:
        return f"The {whole} passes as it is; nothing needs to change."
    if doubts(decision):
        doubt = next(finding for finding in decision.findings if finding.is_about_evidence)
        return f"No change to the {whole} can help. {doubt.message}"
    if recommended is not None:
        return " ".join([f"This passes: {recommended.proposal.title}.", *_early(attempts, ended)])
    if nearest is None and ended is not Ended.DONE:
        said = ["Nothing was found that passes.", *_early(attempts, ended)]
    elif nearest is None:
        said = [f"No remedy has anything to propose for this {whole}. What is not met:"]
        said += [finding.message for finding in decision.failing]
    else:
        said = ["Nothing that was tried passes.", *_early(attempts, ended)]
        said.append(f"Nearest: {nearest.proposal.title}. What it does not meet:")
        lacks = [finding.message for finding in nearest.failing]
        said += lacks or [f"It could not be audited in full: {nearest.problem}."]
    reasons = dict.fromkeys(each.reason for each in refusals)
    said += [f"{capital(reason)}." for reason in reasons]
    return " ".join(said)


def _early(attempts: Sequence[Attempt], ended: Ended) -> list[str]:
    """Return why the search is not complete, if so, and how many changes were left."""
    if ended is Ended.DONE:
        return []
    left = sum(not attempt.is_tried for attempt in attempts)
    changes = f"{left} {'change was' if left == 1 else 'changes were'} not tried"
    why = "was interrupted" if ended is Ended.INTERRUPTED else "ran out of time"
    more = "" if ended is Ended.INTERRUPTED else "; a larger --time-limit may find more"
    return [f"The search {why}: {changes}{more}."]
