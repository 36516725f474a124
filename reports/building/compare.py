"""The part of a repair's report that sets the model as given beside the changed one, and lists what was tried."""

from __future__ import annotations

import math
from dataclasses import replace

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Reading as Taken
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Decision
from treewarden.policies.repairing import attempts as repairs
from treewarden.policies.repairing.attempts import Repair, order
from treewarden.policies.repairing.tradeoff import privacy
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.nodes import tree_nodes
from treewarden.reports.building.story import headline
from treewarden.reports.building.values import readings
from treewarden.reports.building.worded import UNKNOWN, value, word
from treewarden.reports.document.document import Attempt, Compared, Side
from treewarden.reports.document.document import Repair as RepairPart
from treewarden.reports.document.parts import Reading, Value, number
from treewarden.reports.document.words import count, counted, percent, sentence


def repair_part(repair: Repair) -> RepairPart:
    """Return what was tried, best first; ``after`` is the applied attempt, else the nearest that was audited."""
    after, shown = repair.applied or repair.nearest, repair.audit.full.evidence.forest.shown
    after = None if after is None or after.not_audited else after
    return RepairPart(
        message=repair.message,
        is_found=repair.applied is not None,
        privacy=_privacy(privacy(repair.decision)),
        before=_side("Before: as given", repair.audit, repair.decision, shown),
        after=_side(_title(repair), after.audit, after.decision, shown)
        if after and after.audit and after.decision
        else None,
        compared=_compared(repair.audit, after.audit) if after and after.audit else (),
        attempts=tuple(_attempt(each, repair) for each in sorted(repair.attempts, key=order)),
        refusals=tuple(
            f"{' then '.join(each.remedies)}: {sentence(each.reason)}" for each in repair.refusals
        ),
        summary=_summary(repair),
        advice=repair.advice,
    )


def _title(repair: Repair) -> str:
    if repair.applied is None:
        return "Nearest attempt, still not enough"
    return f"After: {'recommended' if repair.applied is repair.recommended else 'chosen'}"


def _summary(repair: Repair) -> str:
    """Return what the picture of privacy against utility shows, in words."""
    tried = sum(each.is_tried for each in repair.attempts)
    left = len(repair.attempts) - tried
    passing = sum(each.verdict is Verdict.PASS for each in repair.attempts)
    said = f"{counted(tried, 'change was', 'changes were')} tried, {count(passing)} of them "
    said += f"{'passes' if passing == 1 else 'pass'}."
    said += f" {counted(left, 'more was', 'more were')} not audited." if left else ""
    if repair.recommended is not None:
        kept = value(repair.recommended.cost.accuracy_after, "share").text
        said += f" Recommended is {repair.recommended.name}, with a training accuracy of {kept}."
    return said


def _side(title: str, audit: Audit, decision: Decision, shown: int) -> Side:
    evidence = _showing(audit.full.evidence, shown)
    several = len(evidence.trees) > 1
    return Side(
        title=f"{title}; drawn is tree {evidence.forest.shown + 1} of {len(evidence.trees)}"
        if several
        else title,
        verdict=word(decision.verdict),
        headline=headline(evidence, decision),
        leaves=sum(tree.leaf_count for tree in evidence.trees),
        failing=tuple(finding.clause for finding in decision.failing),
        tree=tree_nodes(evidence, decision),
    )


def _showing(evidence: Evidence, shown: int) -> Evidence:
    """Return the evidence with one tree of the ensemble drawn, so that both sides show the same where both have it."""
    here = min(shown, len(evidence.trees) - 1)
    return replace(evidence, forest=replace(evidence.forest, shown=here))


def _compared(before: Audit, after: Audit) -> tuple[Compared, ...]:
    """Return the readings that both audits took."""
    was, now = readings(before), readings(after)
    return tuple(
        Compared(plain=was[key].plain, before=_bare(was[key]), after=_bare(now[key]))
        for key in was
        if key in now
    )


def _bare(reading: Reading) -> Value:
    return Value(low=reading.low, high=reading.high, text=reading.text, reason=reading.reason)


def _attempt(tried: repairs.Attempt, repair: Repair) -> Attempt:
    cost = tried.cost
    changed = cost.predictions_changed
    return Attempt(
        name=tried.name,
        title=tried.proposal.title,
        remedies=tried.proposal.remedies,
        verdict=word(tried.verdict),
        is_recommended=tried is repair.recommended,
        is_applied=tried is repair.applied,
        is_unbeaten=tried.is_unbeaten,
        privacy=_privacy(tried.privacy),
        leaves=cost.leaves_after,
        leaves_lost=cost.leaves_lost,
        leaves_text=f"{cost.leaves_after} of {cost.leaves_before}",
        predictions_changed=None if isinstance(changed, Undetermined) else number(changed),
        predictions_changed_text=UNKNOWN if isinstance(changed, Undetermined) else percent(changed),
        accuracy_before=value(cost.accuracy_before, "share"),
        accuracy_after=value(cost.accuracy_after, "share"),
        loss_before=_loss(cost.loss_before, repair),
        loss_after=_loss(cost.loss_after, repair),
        numbers_withheld=number(cost.numbers_withheld),
        numbers_withheld_text=percent(cost.numbers_withheld),
        withheld=tried.proposal.withheld,
        failing=tuple(finding.clause for finding in tried.failing),
        problem=tried.problem,
        not_audited=tried.not_audited,
    )


def _loss(loss: Taken | None, repair: Repair) -> Value | None:
    is_share = repair.audit.full.evidence.task is Task.CLASSIFICATION
    return None if loss is None else value(loss, "share" if is_share else "")


def _privacy(met: float | None) -> Value:
    """Return how far the worst clause is met, rounded so that only what meets it says 100 % or more."""
    if met is None:
        reason = "a clause of the policy could not be told"
        return Value(low=None, high=None, text=UNKNOWN, reason=reason)
    text = f"{math.floor(100 * met + 1e-9)} %"
    return Value(low=number(met), high=number(met), text=text)
