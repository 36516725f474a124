"""The part of a repair's report that sets the tree as given beside the changed one, and lists what was tried."""

from __future__ import annotations

from audit.run import Audit
from policies import repair as repairs
from policies.decision import Decision
from policies.repair import Repair
from reports.document import Attempt, Compared, Side
from reports.document import Repair as RepairPart
from reports.nodes import tree_nodes
from reports.parts import Reading, Value, number
from reports.story import headline
from reports.values import readings, value, word
from reports.words import percent, sentence


def repair_part(repair: Repair) -> RepairPart:
    """Return what was tried; ``after`` is the recommended attempt, else the nearest that was audited."""
    after = repair.recommended or repair.nearest
    title = "After: recommended" if repair.recommended else "Nearest attempt, still not enough"
    return RepairPart(
        message=repair.message,
        is_found=repair.recommended is not None,
        before=_side("Before: as given", repair.audit, repair.decision),
        after=_side(title, after.audit, after.decision)
        if after and after.audit and after.decision
        else None,
        compared=_compared(repair.audit, after.audit) if after and after.audit else (),
        attempts=tuple(_attempt(each, each is repair.recommended) for each in repair.attempts),
        refusals=tuple(
            f"{' then '.join(each.remedies)}: {sentence(each.reason)}" for each in repair.refusals
        ),
    )


def _side(title: str, audit: Audit, decision: Decision) -> Side:
    return Side(
        title=title,
        verdict=word(decision.verdict),
        headline=headline(decision),
        leaves=len(audit.evidence.tree.leaves),
        failing=tuple(finding.clause for finding in decision.failing),
        tree=tree_nodes(audit.evidence, decision),
    )


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


def _attempt(tried: repairs.Attempt, is_recommended: bool) -> Attempt:
    cost, decision = tried.cost, tried.decision
    return Attempt(
        title=tried.proposal.title,
        remedies=tried.proposal.remedies,
        verdict=word(tried.verdict),
        is_recommended=is_recommended,
        leaves=cost.leaves_after,
        leaves_lost=cost.leaves_lost,
        predictions_changed=number(cost.predictions_changed),
        predictions_changed_text=percent(cost.predictions_changed),
        accuracy_before=value(cost.accuracy_before, "share"),
        accuracy_after=value(cost.accuracy_after, "share"),
        withheld=tried.proposal.withheld,
        failing=() if decision is None else tuple(f.clause for f in decision.failing),
        problem=tried.problem,
    )
