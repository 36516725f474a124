"""From an audit and its decision, or a repair, to the document that renderers print."""

from __future__ import annotations

import math
from dataclasses import replace

from treewarden.audit.evidence import ONE_TREE, Evidence
from treewarden.audit.measures import measures
from treewarden.audit.reading import Reading as Taken
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging import decision as decisions
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.figures import figure
from treewarden.policies.pack import Pack
from treewarden.policies.repair import attempts as repairs
from treewarden.policies.repair.attempts import RepairSearch, order, privacy
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.adversaries import MOST_CASES, adversaries, leaf_cases
from treewarden.reports.building.assumed import (
    ABOUT_WAIVERS,
    assumed_known,
    knowledge,
    secret_steps,
    untold,
)
from treewarden.reports.building.certain import worlds_part
from treewarden.reports.building.ensembles import ensemble_part, values_part
from treewarden.reports.building.facts import model, population, solver
from treewarden.reports.building.lessons import lessons, plots, tree_nodes
from treewarden.reports.building.meanings import column_parts, quoted_column
from treewarden.reports.building.story import Story, audit_story, headline, repair_story
from treewarden.reports.building.values import parameters, place_value, plain, readings
from treewarden.reports.building.worded import UNKNOWN, value, word
from treewarden.reports.document.document import (
    Attempt,
    Compared,
    Document,
    Dropped,
    Policy,
    Provenance,
    Side,
)
from treewarden.reports.document.document import Repair as RepairPart
from treewarden.reports.document.names import finding_id, is_about_waivers
from treewarden.reports.document.parts import (
    Accepted,
    AssumedKnown,
    Finding,
    Guidance,
    Piece,
    Place,
    Reading,
    Row,
    Value,
    number,
)
from treewarden.reports.document.words import LOG_LOSS, count, counted, percent, sentence

# The part of a repair's report that sets the model as given beside the changed one, and lists what was tried.


def repair_part(repair: RepairSearch) -> RepairPart:
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
        attempts=tuple(_attempt(attempt, repair) for attempt in sorted(repair.attempts, key=order)),
        refusals=tuple(
            f"{' then '.join(refusal.remedies)}: {sentence(refusal.reason)}"
            for refusal in repair.refusals
        ),
        summary=_summary(repair),
        advice=repair.advice,
        utility=_utility_words(repair),
    )


UTILITY_WORDS = {"accuracy": "accuracy", "auc": "AUC", "log-loss": LOG_LOSS}
CROSS_VALIDATED = (
    "Changes are compared by their {}, cross-validated over five folds: the splits stay as published, and the people "
    "of the other folds decide what each leaf predicts."
)


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
    return CROSS_VALIDATED.format(_utility_name(repair))


def _utility_value(taken: Taken | None, repair: RepairSearch) -> Value | None:
    """Return a utility as it is usually given: a log loss above 0, all else as a share."""
    if taken is None or isinstance(taken, Undetermined) or repair.utility != "log-loss":
        return None if taken is None else value(taken, "share")
    loss = number(-taken.low)
    return Value(low=loss, high=loss, text=f"{-taken.low:.3f}")


def _title(repair: RepairSearch) -> str:
    if repair.applied is None:
        return "Nearest attempt, still not enough"
    return f"After: {'recommended' if repair.applied is repair.recommended else 'chosen'}"


def _summary(repair: RepairSearch) -> str:
    """Return what the picture of privacy against utility shows, in words."""
    tried = sum(attempt.is_tried for attempt in repair.attempts)
    left = len(repair.attempts) - tried
    passing = sum(attempt.verdict is Verdict.PASS for attempt in repair.attempts)
    said = f"{counted(tried, 'change was', 'changes were')} tried, {count(passing)} of them "
    said += f"{'passes' if passing == 1 else 'pass'}."
    said += f" {counted(left, 'more was', 'more were')} not audited." if left else ""
    if repair.recommended is not None:
        cost = repair.recommended.cost
        kept = _utility_value(cost.utility_after, repair)
        name = f"{_article(_utility_name(repair))} in cross-validation"
        if kept is None:
            kept, name = value(cost.accuracy_after, "share"), "a training accuracy"
        said += f" Recommended is {repair.recommended.name}, with {name} of {kept.text}."
    return said


def _article(name: str) -> str:
    return f"a {name}" if name == LOG_LOSS else f"an {name}"


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


def _attempt(tried: repairs.RepairAttempt, repair: RepairSearch) -> Attempt:
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


CONFIDENTIAL = (
    "Confidential: this report names groups, counts and true values of people in the table. Keep it with the table; "
    "--redacted writes one without them."
)
COMBINED = "several requirements combined"
JUDGED = {
    "": "of the model as a whole",
    "model": "of the model as a whole",
    "leaf": "leaf by leaf",
    "profile": "profile by profile",
    "tree": "tree by tree",
}
OF_THE_FILE = (
    "Confidential until the model is published: this report holds nothing of a table, and what it counts stands in the "
    "model's file."
)
ALONE = (
    "No table was given: this rests on the file alone. What its own numbers prove was judged; whether they are true of "
    "the people was not checked; no check that needs people is decided."
)
ABOUT_THE_EVIDENCE = "whether the file and the table can be believed"
ABOUT = {
    decisions.FACTS_AGREE: "whether what the adversary is said to know is true of the table",
    decisions.RELEASES_LINKED: "whether it is known who is who in the tables of the releases",
}
ABOUT_THE_POLICY = "whether the policy asks what is to be judged"


def audit_document(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    purpose: str = "",
    command: str = "",
    assumed: AssumedKnown | None = None,
) -> Document:
    """Return the report of an audit; ``purpose`` is what the model is to be published for, in its owner's words.

    ``command`` is how the model is repaired, as it is typed where the audit was asked for. ``assumed`` is what was
    assumed known, where another report of this audit has worked it out.
    """
    evidence = audit.full.evidence
    title = f"Privacy audit of {evidence.source}"
    secret = quoted_column(audit, evidence.secret_name) if evidence.secret_name else ""
    story = audit_story(evidence, decision, command, untold(audit), secret)
    return _document(
        audit,
        decision,
        provenance,
        kind="audit",
        title=title,
        story=story,
        purpose=purpose,
        assumed=assumed,
    )


def repair_document(repair: RepairSearch, provenance: Provenance, purpose: str = "") -> Document:
    """Return the report of a repair: on the model that is written, else on the model as it was given."""
    audit, decision = repair.audit, repair.decision
    best = repair.applied
    if best is not None and best.audit is not None and best.decision is not None:
        audit, decision = best.audit, best.decision
    title, story = f"Repair of {repair.audit.full.evidence.source}", repair_story(repair)
    document = _document(
        audit, decision, provenance, kind="repair", title=title, story=story, purpose=purpose
    )
    return document.model_copy(update={"repair": repair_part(repair)})


def _document(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    kind: str,
    title: str,
    story: Story,
    purpose: str,
    assumed: AssumedKnown | None = None,
) -> Document:
    exposure, pack = audit.full, decision.pack
    evidence = exposure.evidence
    cases, assumed = leaf_cases(evidence, decision), assumed or assumed_known(audit)
    return Document(
        kind="repair" if kind == "repair" else "audit",
        confidential=OF_THE_FILE if evidence.population.is_absent else CONFIDENTIAL,
        title=title,
        purpose=purpose,
        verdict=word(decision.verdict),
        headline=story.headline,
        meaning=story.meaning,
        next_steps=(*story.next_steps, *secret_steps(assumed)),
        lessons=lessons(audit),
        findings=tuple(map(finding_part, decision.findings)),
        fail_on=decision.fail_on,
        not_judged=tuple(Row(name=name, text=why) for name, why in decision.not_judged),
        assumed_known=assumed,
        basis="file" if evidence.population.is_absent else "table",
        rests_on=ALONE if evidence.population.is_absent else "",
        leaves=cases[:MOST_CASES],
        leaves_broken=len(cases),
        readings=readings(audit),
        solver=solver(exposure, len(audit.dropped)),
        population=population(evidence),
        model=model(evidence),
        knowledge=knowledge(evidence, audit.dropped),
        policy=policy_part(pack),
        dropped=tuple(
            Dropped(
                constraint=dropped_row.constraint,
                where=dropped_row.where,
                problem=dropped_row.problem,
                is_published=dropped_row.is_published,
            )
            for dropped_row in audit.dropped
        ),
        warnings=audit.warnings,
        tree=tree_nodes(evidence, decision),
        plots=plots(audit.told, decision),
        worlds=worlds_part(evidence) if asks_worlds(evidence) and not audit.secret else None,
        ensemble=ensemble_part(evidence) if asks_together(evidence) else None,
        values=values_part(evidence) if asks_values(evidence) else None,
        adversaries=adversaries(audit, decision),
        columns=column_parts(audit),
        provenance=provenance,
    )


def policy_part(pack: Pack) -> Policy:
    """Return the pack as documents name it."""
    return Policy(
        name=pack.name,
        version=pack.version,
        title=pack.title,
        description=pack.description,
        sha256=pack.digest,
        extends=tuple(f"{base.name} {base.version}" for base in pack.bases),
    )


def asks_worlds(evidence: Evidence) -> bool:
    """Return whether whole records can be reasoned over: of a tree, or of trees whose leaves say who is in them."""
    if evidence.population.is_absent or evidence.task is Task.REGRESSION:
        return False
    return not asks_together(evidence) or not isinstance(evidence.together, Undetermined)


def asks_together(evidence: Evidence) -> bool:
    """Return whether there are several trees whose leaves could prove something of people together.

    Of numbers the part about values says that, and only what each of several releases adds is told beside it.
    """
    has_several = evidence.forest.is_ensemble or evidence.together is not ONE_TREE
    is_told = evidence.task is not Task.REGRESSION or evidence.is_of_several
    return has_several and not evidence.population.is_absent and is_told


def asks_values(evidence: Evidence) -> bool:
    """Return whether leaves could prove something of people's numbers."""
    return evidence.task is Task.REGRESSION and not evidence.population.is_absent


def finding_part(found: decisions.Finding) -> Finding:
    """Return what came of a clause as documents hold it."""
    requirement, limit = found.requirement, found.requirement.limit
    return Finding(
        clause=found.clause,
        measure=requirement.measure,
        parameters=parameters(requirement.parameters),
        plain=_plain(found),
        rule=requirement.rule,
        limit=None if limit is None else number(limit),
        limit_text=_limit_text(requirement.rule, limit, requirement.unit)
        if limit is not None
        else _asks(found),
        unit=requirement.unit,
        value=value(found.reading, requirement.unit, limit),
        verdict=word(found.verdict),
        severity=found.severity,
        message=found.message,
        why=found.why,
        source=found.source,
        id=finding_id(found.key),
        accepted=_accepted(found.accepted),
        guidance=tuple(
            Guidance(document=guidance.document, paragraph=guidance.paragraph, says=guidance.says)
            for guidance in found.guidance
        ),
        where=tuple(
            Place(
                kind=place.kind,
                path=place.path,
                node=place.name,
                index=place.index,
                line=place.line,
                profile=place.profile,
                value=place_value(found, place),
                note="" if found.is_combined else place.note,
                tree=place.tree,
                id=finding_id(found.key, place.leaf),
                leaf=place.leaf,
                accepted=_accepted(place.accepted),
            )
            for place in found.places
        ),
        scope=requirement.scope,
        under=requirement.under,
        of=found.of,
        parts=tuple(map(_piece, found.pieces)),
    )


def _piece(found: decisions.ClausePiece) -> Piece:
    atom = found.atom
    unit = measures()[atom.call.measure].unit
    return Piece(
        measure=atom.call.measure,
        parameters=parameters(atom.call.parameters),
        plain=plain(atom.call),
        rule=atom.rule,
        limit=number(atom.limit),
        limit_text=_limit_text(atom.rule, atom.limit, unit),
        unit=unit,
        value=value(found.reading, unit, atom.limit),
        verdict=word(found.verdict),
    )


def _plain(found: decisions.Finding) -> str:
    if found.clause == decisions.NOTHING_JUDGED:
        return ABOUT_THE_POLICY
    if found.is_about_evidence:
        is_waivers = is_about_waivers(found.clause, found.requirement.measure)
        if found.clause in ABOUT:
            return ABOUT[found.clause]
        return ABOUT_WAIVERS if is_waivers else ABOUT_THE_EVIDENCE
    if found.is_combined:
        return f"{COMBINED}, {JUDGED[found.requirement.scope]}"
    return plain(found.requirement.call)


def _asks(found: decisions.Finding) -> str:
    return found.requirement.asks if found.is_combined else "–"


def _limit_text(rule: str, limit: float, unit: str) -> str:
    return f"{rules()[rule].words} {figure(limit, unit)}"


def _accepted(found: decisions.Accepted | None) -> Accepted | None:
    return None if found is None else Accepted(by=found.by, reason=found.reason)
