"""From a repair to the document that renderers print: the original model and the changed one, and what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Reading as Taken
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Decision
from treewarden.policies.repair import attempts as repairs
from treewarden.policies.repair.attempts import RepairSearch, order, privacy
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.tree import Task, Tree
from treewarden.reports.building.adversaries import readings
from treewarden.reports.building.build import document_of
from treewarden.reports.building.lessons import tree_nodes
from treewarden.reports.building.story import headline, repair_story
from treewarden.reports.building.worded import UNKNOWN, value, word
from treewarden.reports.document.document import (
    Attempt,
    Compared,
    Document,
    Provenance,
    Side,
)
from treewarden.reports.document.document import Repair as RepairPart
from treewarden.reports.document.parts import Reading, Value, number
from treewarden.reports.document.words import LOG_LOSS, count, counted, percent, sentence


def repair_document(repair: RepairSearch, provenance: Provenance, purpose: str = "") -> Document:
    """Return the report of a repair: on the model that is written, else on the model as it was given."""
    audit, decision = repair.audit, repair.decision
    best = repair.applied
    if best is not None and best.audit is not None and best.decision is not None:
        audit, decision = best.audit, best.decision
    title, story = f"Repair of {repair.audit.full.evidence.source}", repair_story(repair)
    document = document_of(
        audit, decision, provenance, kind="repair", title=title, story=story, purpose=purpose
    )
    return document.model_copy(update={"repair": repair_part(repair)})


# The part of a repair's report that sets the model as given beside the changed one, and lists what was tried.


def repair_part(repair: RepairSearch) -> RepairPart:
    """Return what was tried, best first; ``after`` is the applied attempt, else the nearest that was audited."""
    after, tree_shown = repair.applied or repair.nearest, repair.audit.full.evidence.forest.shown
    after = None if after is None or after.not_audited else after
    return RepairPart(
        message=repair.message,
        is_found=repair.applied is not None,
        privacy=_privacy(privacy(repair.decision)),
        before=_side("Before the repair", repair.audit, repair.decision, tree_shown),
        after=_side(_title(repair), after.audit, after.decision, tree_shown)
        if after and after.audit and after.decision
        else None,
        compared=_compared(repair.audit, after.audit) if after and after.audit else (),
        attempts=tuple(_attempt(attempt, repair) for attempt in sorted(repair.attempts, key=order)),
        refusals=tuple(_refusals(repair)),
        summary=_summary(repair),
        advice=repair.advice,
        utility=_utility_words(repair),
        search_cut=repair.search_cut,
    )


def _refusals(repair: RepairSearch) -> Iterator[str]:
    """Yield what could not be tried and why, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for refusal in repair.refusals:
        by_reason.setdefault(refusal.reason, []).append(" then ".join(refusal.remedies))
    for reason, names in by_reason.items():
        yield f"{', '.join(dict.fromkeys(names))}: {sentence(reason)}"


UTILITY_WORDS = {"accuracy": "accuracy", "auc": "AUC", "log-loss": LOG_LOSS}
CROSS_VALIDATED = (
    "Changes are compared by {} in five-fold cross-validation. The splits stay as published; only the leaf values "
    "are computed again."
)
TRAINED_IN_FOLDS = " What was trained anew is trained again in each fold, a stricter comparison."


def _utility_name(repair: RepairSearch) -> str:
    is_of_classes = repair.audit.full.evidence.task is Task.CLASSIFICATION
    return UTILITY_WORDS[repair.utility] if is_of_classes else "explained variance"


def _utility_words(repair: RepairSearch) -> str:
    """Return by what the changes were compared, or why not by what is asked for."""
    if not repair.attempts or repair.validation is None:
        return ""
    if isinstance(repair.validation, Undetermined):
        why = repair.validation.reason
        return f"Changes are compared by training accuracy, not cross-validated: {sentence(why)}"
    has_tree = any(attempt.is_new_model for attempt in repair.attempts)
    return CROSS_VALIDATED.format(_utility_name(repair)) + TRAINED_IN_FOLDS * has_tree


def _utility_value(taken: Taken | None, repair: RepairSearch) -> Value | None:
    """Return a utility as it is usually given: a log loss above 0, all else as a share."""
    if taken is None or isinstance(taken, Undetermined) or repair.utility != "log-loss":
        return None if taken is None else value(taken, "share")
    loss = number(-taken.low)
    return Value(low=loss, high=loss, text=f"{-taken.low:.3f}")


def _title(repair: RepairSearch) -> str:
    if repair.applied is None:
        return "Nearest attempt, still not enough"
    if repair.applied.is_new_model:
        return f"After: the new {'tree' if isinstance(repair.applied.proposal.model, Tree) else 'model'}"
    return f"After: {'recommended' if repair.applied is repair.recommended else 'chosen'}"


def _summary(repair: RepairSearch) -> str:
    """Return what the picture of privacy against utility shows, in words."""
    tried = sum(attempt.is_tried for attempt in repair.attempts)
    left = len(repair.attempts) - tried
    passing = sum(attempt.verdict is PolicyVerdict.PASS for attempt in repair.attempts)
    said = f"{counted(tried, 'change was', 'changes were')} tried, and "
    said += f"{count(passing)} of them {'passes' if passing == 1 else 'pass'}."
    if tried == 1:
        said = f"1 change was tried, and it {'passes' if passing else 'does not pass'}."
    said += f" {counted(left, 'more was', 'more were')} not audited." if left else ""
    if repair.recommended is not None:
        cost = repair.recommended.cost
        kept = _utility_value(cost.utility_after, repair)
        name = f"cross-validated {_utility_name(repair)}"
        if kept is None:
            kept, name = value(cost.accuracy_after, "share"), "training accuracy"
        said += f" Recommended: {repair.recommended.name} ({name} {kept.text})."
    return said


def _side(title: str, audit: Audit, decision: Decision, tree_shown: int) -> Side:
    evidence = _showing(audit.full.evidence, tree_shown)
    several = len(evidence.trees) > 1
    return Side(
        title=(
            f"{title}; the picture shows tree {evidence.forest.shown + 1} of {len(evidence.trees)}"
        )
        if several
        else title,
        verdict=word(decision.verdict),
        headline=headline(evidence, decision),
        leaves=sum(tree.leaf_count for tree in evidence.trees),
        failing=tuple(finding.clause for finding in decision.failing),
        tree=tree_nodes(evidence, decision),
    )


def _showing(evidence: Evidence, tree_shown: int) -> Evidence:
    """Return the evidence with one tree of the ensemble drawn, so that both sides show the same where both have it."""
    here = min(tree_shown, len(evidence.trees) - 1)
    return replace(evidence, forest=replace(evidence.forest, shown=here))


def _compared(before: Audit, after: Audit) -> tuple[Compared, ...]:
    """Return the readings that both audits took."""
    was, now = readings(before), readings(after)
    return tuple(
        Compared(plain=was[key].plain, before=_bare(was[key]), after=_bare(now[key]))
        for key in was
        if key in now and not _tells_nothing(was[key], now[key])
    )


def _tells_nothing(before: Reading, after: Reading) -> bool:
    """Return whether neither is known, for the same reason: such as a metric that is not of this kind of model."""
    return before.low is None and after.low is None and before.reason == after.reason


def _bare(reading: Reading) -> Value:
    return Value(low=reading.low, high=reading.high, text=reading.text, reason=reading.reason)


def _attempt(tried: repairs.RepairAttempt, repair: RepairSearch) -> Attempt:
    cost = tried.cost
    changed = cost.predictions_changed
    return Attempt(
        name=tried.name,
        title=tried.title,
        remedies=tried.proposal.remedies,
        verdict=word(tried.verdict),
        is_recommended=tried is repair.recommended,
        is_applied=tried is repair.applied,
        is_unbeaten=tried.is_unbeaten,
        privacy=_privacy(tried.privacy),
        leaves=cost.leaves_after,
        leaves_lost=max(0, cost.leaves_lost),
        leaves_text=f"{cost.leaves_after} new"
        if tried.is_new_model
        else f"{cost.leaves_after} of {cost.leaves_before}",
        predictions_changed=None if isinstance(changed, Undetermined) else number(changed),
        predictions_changed_text=UNKNOWN if isinstance(changed, Undetermined) else percent(changed),
        accuracy_before=value(cost.accuracy_before, "share"),
        accuracy_after=value(cost.accuracy_after, "share"),
        loss_before=_loss(cost.loss_before, repair),
        loss_after=_loss(cost.loss_after, repair),
        utility_name="" if cost.utility_after is None else _utility_name(repair),
        utility_before=_utility_value(cost.utility_before, repair),
        utility_after=_utility_value(cost.utility_after, repair),
        numbers_withheld=number(cost.numbers_withheld),
        numbers_withheld_text=percent(cost.numbers_withheld),
        withheld=tried.proposal.withheld,
        failing=tuple(finding.clause for finding in tried.failing),
        problem=tried.problem,
        not_audited=tried.not_audited,
    )


def _loss(loss: Taken | None, repair: RepairSearch) -> Value | None:
    is_share = repair.audit.full.evidence.task is Task.CLASSIFICATION
    return None if loss is None else value(loss, "share" if is_share else "")


def _privacy(met: float | None) -> Value:
    """Return how far the worst clause is met, rounded so that only what meets it says 100 % or more."""
    if met is None:
        reason = "a check of the policy is not decided"
        return Value(low=None, high=None, text=UNKNOWN, reason=reason)
    text = f"{math.floor(100 * met + 1e-9)} %"
    return Value(low=number(met), high=number(met), text=text)
