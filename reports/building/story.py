"""The verdict in words a manager understands: what it says, what the file gives away, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewarden.audit.evidence import Evidence
from treewarden.audit.inverters import facts_of
from treewarden.audit.knowledge.knowledge import possible_criteria, understated
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import (
    Decision,
    Finding,
)
from treewarden.policies.verdict import FindingKind, PolicyVerdict
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.facts import accepted_words, quoted_column, untold
from treewarden.reports.building.steps import (
    OF_TABLES,
    ONE_ID,
    OTHER_TABLES,
    SAY_WHAT_TO_DO,
    SETTINGS_FILE,
    files_step,
    lacks_target,
    publish_step,
    releases_steps,
    removal,
    repair_steps,
    undecided_steps,
)
from treewarden.reports.document.document import is_about_waivers
from treewarden.reports.document.words import counted, listed, percent, sentence

if TYPE_CHECKING:
    from treewarden.policies.repair.attempts import RepairSearch


WHO_KNOWS_MORE = (
    "Consider who could know more than is listed under “Knowledge assumed”. If someone could, add this knowledge and "
    "audit again."
)


@dataclass(frozen=True, slots=True)
class Story:
    """The opening of a report."""

    headline: str
    meaning: str
    next_steps: tuple[str, ...]


def headline(evidence: Evidence, decision: Decision) -> str:
    """Return a verdict in one sentence."""
    whole, is_alone = _whole(evidence), evidence.population.is_absent
    but = ", except for the accepted findings" if accepted_words(decision) else ""
    but += ", if the numbers in its file are correct" if is_alone else ""
    return {
        PolicyVerdict.PASS: f"The {whole} meets the policy{but}.",
        PolicyVerdict.UNDETERMINED: "The file alone is not enough to decide."
        if is_alone
        else "The audit could not decide.",
        PolicyVerdict.FAIL: f"Do not publish this {whole} as it is.",
    }[decision.verdict]


def _whole(evidence: Evidence) -> str:
    return "tree" if not evidence.forest.is_ensemble else "model"


def audit_story(
    evidence: Evidence,
    decision: Decision,
    command: str = "",
    contradicted: str = "",
    secret: str = "",
) -> Story:
    """Return the opening of an audit's report; ``command`` is how the model is repaired, where that is known.

    ``contradicted`` says how much of what an adversary was to know the table contradicts. ``secret`` is the column that
    is to stay so, in quotes and with its label.
    """
    if decision.verdict is PolicyVerdict.FAIL:
        steps = _after_fail(evidence, decision, command)
    elif decision.verdict is PolicyVerdict.PASS:
        steps = _after_pass(evidence, decision)
    else:
        steps = _after_doubt(evidence, decision)
    meaning = f"{_meaning(evidence, decision, secret)}{contradicted}"
    return Story(headline(evidence, decision), meaning, tuple(steps))


def repair_story(repair: RepairSearch) -> Story:
    """Return the opening of a repair's report."""
    evidence, best = repair.audit.full.evidence, repair.applied
    whole = _whole(evidence)
    if not repair.is_needed:
        story = audit_story(evidence, repair.decision, contradicted=untold(repair.audit))
        return Story(f"The {whole} passes as it is.", story.meaning, story.next_steps)
    if best is not None and best.is_new_model and best.audit and best.decision:
        return _of_new_model(repair, best.audit, best.decision)
    if best is not None and best.audit and best.decision:
        cost, mended = best.cost, best.audit.full.evidence
        title = best.title
        kept = f"{cost.leaves_after} of {cost.leaves_before} leaves remain"
        kept = "" if "leaves remain" in title else f"; {kept}"
        told = cost.predictions_changed
        unknown = "it is not known how many predictions change"
        changed = (
            unknown
            if isinstance(told, Undetermined)
            else f"{percent(told)} of the predictions change"
        )
        return Story(
            f"A repaired {whole} meets the policy.",
            f"The change: {title}{kept}; {changed}. "
            f"{_meaning(mended, best.decision)}{untold(best.audit)}",
            (
                _of_repaired(mended),
                *_to_audit_again(mended),
                *([best.proposal.caution] if best.proposal.caution else []),
                "Check in the table “All changes and their cost” that the model is still useful at this cost.",
                WHO_KNOWS_MORE,
            ),
        )
    meaning = (
        f"{_meaning(evidence, repair.decision, quoted_column(repair.audit, evidence.secret_name))}"
        f"{untold(repair.audit)}"
    )
    if lacks_target(repair.decision):
        steps = tuple(decision_steps(repair.decision))
        said = f"Do not publish this {whole}: it cannot be repaired with this table."
        return Story(said, meaning, steps)
    if repair.has_new_model:
        return Story(
            f"Do not publish this {whole}: no change of it passes. A new tree that passes was written.",
            meaning,
            (
                f"Publish only the new tree. This report is on the old {whole}: to report on the new one, audit it.",
                "Check that the new tree is useful enough.",
                WHO_KNOWS_MORE,
            ),
        )
    return Story(
        f"No repair was found: do not publish this {whole}.",
        meaning,
        (
            "Read in the table of attempts which checks each change still fails.",
            f"Consider training a new {whole}: larger leaves, fewer tests, or without the columns on the marked paths.",
            "If a check is stricter than your case needs, change the policy openly, and audit again.",
        ),
    )


def _of_new_model(repair: RepairSearch, audit: Audit, decision: Decision) -> Story:
    """Return the opening where another model was trained in place of one."""
    evidence, whole = audit.full.evidence, _whole(repair.audit.full.evidence)
    new = _whole(evidence)
    changes = [attempt for attempt in repair.attempts if not attempt.is_new_model]
    is_alone = not any(attempt.verdict is PolicyVerdict.PASS for attempt in changes)
    return Story(
        f"A new {new} meets the policy.{f' No change of the old {whole} does.' * is_alone}",
        f"{_meaning(evidence, decision)}{untold(audit)}",
        (
            f"Publish only the new {new}, never the old {whole}.",
            *_to_audit_again(evidence),
            f"Check in the table “All changes and their cost” that the new {new} is useful enough.",
            WHO_KNOWS_MORE,
        ),
    )


def _to_audit_again(evidence: Evidence) -> Iterator[str]:
    """Yield what somebody must know to audit the repaired file by itself: what it no longer says of its training."""
    facts = facts_of(evidence.model)
    training = {
        name: value
        for name, value in evidence.knowledge.training.items()
        if name not in facts or facts[name].value is None
    }
    if training:
        said = ", ".join(f"{name} = {value:g}" for name, value in training.items())
        yield (
            "To audit the repaired file by itself, list the withheld settings in a "
            f"knowledge file such as {SETTINGS_FILE} (--knowledge): write [training], and below it one line for "
            f"each of {said}."
        )


def _of_repaired(evidence: Evidence) -> str:
    if evidence.leaks == ():
        return "Publish exactly the repaired file, never the original."
    return f"Never publish the original. {publish_step(evidence)}"


def _meaning(evidence: Evidence, decision: Decision, secret: str = "") -> str:
    verdicts = _by_demand(decision, lambda finding: finding.open_verdict)
    failed = sum(verdict is PolicyVerdict.FAIL for verdict in verdicts.values())
    open_ = sum(verdict is PolicyVerdict.UNDETERMINED for verdict in verdicts.values())
    waived = accepted_words(decision)
    apart = f" {waived[:1].upper()}{waived[1:]}." if waived else ""
    policy = f"the policy “{decision.pack.name}”"
    doubts = [f.message for f in decision.findings if f.is_about_evidence and decision.counts(f)]
    if decision.verdict is PolicyVerdict.PASS:
        weak = sum(f.open_verdict is not PolicyVerdict.PASS for f in decision.findings)
        warned = (
            (
                f" {counted(weak, 'advisory check', 'advisory checks')} did not pass (see the "
                "findings)."
            )
            if weak
            else ""
        )
        checks = counted(len(verdicts), "required check", "required checks")
        held = f"{len(verdicts)} of {checks} of {policy} passed"
        if waived:
            shown = _by_demand(decision, lambda finding: finding.verdict)
            met = sum(verdict is PolicyVerdict.PASS for verdict in shown.values())
            held = f"{met} of {checks} of {policy} passed"
        return (
            f"{held[:1].upper()}{held[1:]}. Where a result is a range, its worse end was compared with the limit. "
            "The PASS covers an adversary who knows what is listed under “Knowledge assumed”, and no more."
            f"{apart}{warned}"
        )
    if decision.verdict is PolicyVerdict.UNDETERMINED:
        if not verdicts:
            said = f"No required check of {policy} applies to this model."
            if not decision.pack.counting:
                said = f"{policy[:1].upper()}{policy[1:]} has advisory checks only: it requires nothing."
            return " ".join([said, *doubts])
        said = (
            f"No check failed, but {_part(open_, len(verdicts))} of {policy} could not be decided. "
        )
        said += "Treat this as a FAIL."
        return " ".join(doubts) if doubts and not open_ else " ".join([said, *doubts])
    if not failed:
        return (
            f"No required check of {policy} failed, but a waiver or baseline file is not "
            f"valid.{apart}"
        )
    undecided = f"; {open_} more could not be decided" if open_ else ""
    named = secret or f"“{evidence.secret_name}”"
    whose = f" the column {named}" if evidence.secret_name else " people"
    return (
        f"{sentence(_part(failed, len(verdicts)))[:-1]} of {policy} failed{undecided}. "
        f"An adversary could learn more about{whose} from the {_whole(evidence)} than the policy allows.{apart}"
    )


def _by_demand(
    decision: Decision, verdict: Callable[[Finding], PolicyVerdict]
) -> dict[str, PolicyVerdict]:
    """Return the verdict on each demand that counts: of several releases, the worst of them."""
    verdicts: dict[str, PolicyVerdict] = {}
    for finding in decision.findings:
        if decision.counts(finding) and not finding.is_about_evidence:
            verdicts[finding.clause] = max(
                verdicts.get(finding.clause, PolicyVerdict.PASS), verdict(finding)
            )
    return verdicts


def _part(number: int, all_: int) -> str:
    return f"{number} of {counted(all_, 'required check', 'required checks')}"


def clearance_step(evidence: Evidence) -> str:
    """Return the first step after a pass: to publish exactly this file, or what comes before that."""
    source, more = evidence.source, understated(evidence.knowledge, evidence.forest.drawn)
    if more:
        return (
            f"Do not publish {source} yet: it contains {more}, which the assumed adversary does not "
            "use. Audit it as published."
        )
    return publish_step(evidence)


def _after_pass(evidence: Evidence, decision: Decision) -> Iterator[str]:
    yield clearance_step(evidence)
    yield WHO_KNOWS_MORE
    yield "Keep this report inside your organisation: it describes the table."


def _after_doubt(evidence: Evidence, decision: Decision) -> Iterator[str]:
    if evidence.population.is_absent:
        yield "Audit the file with its training table, or ask the owner of the table for an attestation."
    yield from _beside_steps(evidence, decision)
    yield from decision_steps(decision)
    if is_criterion_open(evidence):
        yield f"{NAME_CRITERION} (--split)."
    yield "Do not publish before an audit has passed. Treat UNDETERMINED as a FAIL."


def _after_fail(evidence: Evidence, decision: Decision, command: str) -> Iterator[str]:
    yield f"Do not publish {evidence.source}."
    if evidence.population.is_absent:
        yield "Audit or repair it with its training table: more checks may fail than the file alone shows."
    if any(is_about_waivers(f.clause, f.requirement.measure) for f in decision.failing):
        yield (
            "Correct the waivers: each needs one check, a leaf that fails it, and a last day in "
            "the future."
        )
    failed = [
        f for f in decision.failing if f.verdict is PolicyVerdict.FAIL and not f.is_about_evidence
    ]
    about_leaves = _each_once(f.clause for f in failed if f.is_of_leaves)
    about_file = _each_once(f.clause for f in decision.failing if f.is_of_file)
    of_tables = _each_once(f.clause for f in failed if f.requirement.measure == OF_TABLES)
    others = _each_once(
        f.clause for f in failed if f.clause not in (*about_leaves, *about_file, *of_tables)
    )
    is_of_another = any(f.clause == FindingKind.TABLE_AGREES for f in decision.failing)
    if is_of_another or lacks_target(decision):
        yield from decision_steps(decision)  # what is repaired with another table may still fail
        return
    yield from _beside_steps(evidence, decision)
    if of_tables:
        yield f"To fix {listed(of_tables)}: {OTHER_TABLES[:1].lower()}{OTHER_TABLES[1:]}."
    if not evidence.population.is_absent and (about_leaves or others or not of_tables):
        yield from repair_steps(evidence, decision, command)
    if about_leaves:
        yield (
            f"To fix {listed(about_leaves)}, merge leaves, or train a model with larger leaves. Removing numbers from "
            "the file does not help."
        )
    if others:
        yield (
            f"To fix {listed(others)}, merge leaves, or remove numbers from the file. "
            "Removing numbers only makes the adversary less sure. The guesses are still right just as often; to reduce "
            "that, merge leaves."
        )
    yield from decision_steps(decision)
    if evidence.is_of_several:
        yield from releases_steps(evidence, decision)


def _beside_steps(evidence: Evidence, decision: Decision) -> Iterator[str]:
    """Yield how the file comes to hold its trees alone, where a check of what is beside them did not pass."""
    clauses = _each_once(f.clause for f in decision.failing if f.is_of_file)
    if clauses and not isinstance(evidence.leaks, Undetermined):
        yield f"{listed(clauses)}: changing the tree does not fix this. {removal(evidence)}"


def _each_once(clauses: Iterable[str]) -> list[str]:
    """Return clauses once each, as several releases may break the same."""
    return list(dict.fromkeys(clauses))


NAME_CRITERION = (
    "Name the criterion by which training chose the splits, as the file does not (scikit-learn and rpart take gini "
    "unless told otherwise)"
)


def is_criterion_open(evidence: Evidence) -> bool:
    """Whether an adversary may suppose a criterion of splits that neither the file nor the owner of the model names."""
    tree = evidence.model
    return isinstance(tree, Tree) and bool(possible_criteria(evidence.knowledge, tree))


def decision_steps(decision: Decision) -> Iterator[str]:
    """Yield what can be done so that the audit can decide, each reason once."""
    doubted = [finding for finding in decision.failing if finding.is_about_evidence]
    doubted = [
        finding
        for finding in doubted
        if not is_about_waivers(finding.clause, finding.requirement.measure)
    ]
    if any(finding.clause not in SAY_WHAT_TO_DO for finding in doubted):
        yield files_step(decision)
    if any(finding.clause == FindingKind.FACTS_AGREE for finding in doubted):
        yield (
            "Correct or remove the fact that the table contradicts. Write a rounded share as two facts, with >= and <=."
        )
    if any(finding.clause == FindingKind.RELEASES_LINKED for finding in doubted):
        yield ONE_ID
    yield from undecided_steps(decision)
