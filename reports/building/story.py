"""The verdict in words a manager understands: what it says, what it means, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from treewarden.audit.adversary.knowledge import understated
from treewarden.audit.evidence import Evidence
from treewarden.audit.inverters import facts_of
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.decision import (
    FACTS_AGREE,
    NOTHING_JUDGED,
    RELEASES_LINKED,
    Decision,
    Finding,
)
from treewarden.policies.repairing.attempts import Repair
from treewarden.policies.verdict import Verdict
from treewarden.reports.building.acceptance import accepted_words
from treewarden.reports.building.advice import ONE_ID, releases_steps, repair_steps, undecided_steps
from treewarden.reports.building.assumed import untold
from treewarden.reports.building.beside import publish_step, removal
from treewarden.reports.document.naming import is_about_waivers
from treewarden.reports.document.words import counted, listed, percent, sentence

SAY_WHAT_TO_DO = (FACTS_AGREE, NOTHING_JUDGED, RELEASES_LINKED)
"""Doubts of which neither the file nor the table is the cause."""


@dataclass(frozen=True, slots=True)
class Story:
    """The opening of a report."""

    headline: str
    meaning: str
    next_steps: tuple[str, ...]


def headline(evidence: Evidence, decision: Decision) -> str:
    """Return a verdict in one sentence."""
    whole, is_alone = _whole(evidence), evidence.population.is_absent
    but = ", but for what is accepted" if accepted_words(decision) else ""
    but += ", as far as its file tells the truth" if is_alone else ""
    return {
        Verdict.PASS: f"The {whole} meets the policy{but}.",
        Verdict.UNDETERMINED: "Not cleared: the file alone does not decide it."
        if is_alone
        else "Not cleared: the audit could not decide.",
        Verdict.FAIL: f"Do not publish this {whole} as it is.",
    }[decision.verdict]


def _whole(evidence: Evidence) -> str:
    return "tree" if not evidence.forest.is_ensemble else "model"


def audit_story(
    evidence: Evidence, decision: Decision, command: str = "", contradicted: str = ""
) -> Story:
    """Return the opening of an audit's report; ``command`` is how the model is repaired, where that is known.

    ``contradicted`` says how much of what an adversary was to know the table contradicts.
    """
    if decision.verdict is Verdict.FAIL:
        steps = _after_fail(evidence, decision, command)
    elif decision.verdict is Verdict.PASS:
        steps = _after_pass(evidence, decision)
    else:
        steps = _after_doubt(evidence, decision)
    meaning = f"{_meaning(evidence, decision)}{contradicted}"
    return Story(headline(evidence, decision), meaning, tuple(steps))


def repair_story(repair: Repair) -> Story:
    """Return the opening of a repair's report."""
    evidence, best = repair.audit.full.evidence, repair.applied
    whole = _whole(evidence)
    if not repair.is_needed:
        story = audit_story(evidence, repair.decision, contradicted=untold(repair.audit))
        return Story(f"The {whole} passes as it is.", story.meaning, story.next_steps)
    if best is not None and best.audit and best.decision:
        cost, mended = best.cost, best.audit.full.evidence
        kept = f"It keeps {cost.leaves_after} of {cost.leaves_before} leaves"
        told = cost.predictions_changed
        unknown = "how many predictions change could not be told"
        changed = (
            unknown
            if isinstance(told, Undetermined)
            else f"{percent(told)} of the predictions change"
        )
        return Story(
            f"A repaired {whole} meets the policy.",
            f"The change: {best.proposal.title}. {kept}; {changed}. "
            f"{_meaning(mended, best.decision)}{untold(best.audit)}",
            (
                _of_repaired(mended),
                *_to_audit_again(mended),
                "Look at the cost in the table of attempts: is it still useful to those it is for?",
                "Check that nobody outside knows more than is listed under “Knowledge assumed”.",
            ),
        )
    return Story(
        f"No repair was found: do not publish this {whole}.",
        f"{_meaning(evidence, repair.decision)}{untold(repair.audit)}",
        (
            "Read in the table of attempts what each still lacks.",
            f"Consider training a new {whole}: larger leaves, fewer tests, or without the columns on the marked paths.",
            "If a demand is stricter than your case needs, change the policy openly, and audit again.",
        ),
    )


def _to_audit_again(evidence: Evidence) -> Iterator[str]:
    """Yield what somebody must know to audit the repaired file by itself: what it no longer says of its training."""
    told = facts_of(evidence.model)
    training = {
        name: value
        for name, value in evidence.knowledge.training.items()
        if name not in told or told[name].value is None
    }
    if training:
        said = ", ".join(f"{name} = {value:g}" for name, value in training.items())
        yield (
            "To audit the repaired file by itself, say in a knowledge file (--knowledge) what it withholds: "
            f"[training], and below it a line for each of {said}."
        )


def _of_repaired(evidence: Evidence) -> str:
    if evidence.leaks == ():
        return "Publish exactly the repaired file, never the original."
    return f"Never publish the original. {publish_step(evidence)}"


def _meaning(evidence: Evidence, decision: Decision) -> str:
    asked = _by_demand(decision, lambda finding: finding.open_verdict)
    failed = sum(verdict is Verdict.FAIL for verdict in asked.values())
    open_ = sum(verdict is Verdict.UNDETERMINED for verdict in asked.values())
    waived = accepted_words(decision)
    apart = f" {waived[:1].upper()}{waived[1:]}." if waived else ""
    policy = f"the policy “{decision.pack.title}”"
    doubts = [f.message for f in decision.findings if f.is_about_evidence and decision.counts(f)]
    if decision.verdict is Verdict.PASS:
        weak = sum(f.open_verdict is not Verdict.PASS for f in decision.findings)
        warned = (
            f" {counted(weak, 'warning is', 'warnings are')} not met; see the findings."
            if weak
            else ""
        )
        held = "the demand holds" if len(asked) == 1 else f"all {len(asked)} demands hold"
        if waived:
            shown = _by_demand(decision, lambda finding: finding.verdict)
            met = sum(verdict is Verdict.PASS for verdict in shown.values())
            held = f"{met} of {counted(len(asked), 'demand', 'demands')} {'holds' if met == 1 else 'hold'}"
        return (
            f"Of {policy}, {held}, even in the worst case that the audit could not exclude, against an adversary "
            f"who knows what is listed below and no more.{apart}{warned}"
        )
    if decision.verdict is Verdict.UNDETERMINED:
        if not asked:
            said = f"There is nothing in {policy} that this model has to meet."
            if not decision.pack.counting:
                said = f"There are only warnings in {policy}: it demands nothing."
            return " ".join([said, *doubts])
        said = f"Nothing was shown to fail, but {_part(open_, len(asked))} of {policy} "
        said += "could not be decided. That is not a pass."
        return " ".join(doubts) if doubts and not open_ else " ".join([said, *doubts])
    if not failed:
        return f"What counts of {policy} is met or open, but not all that is to be accepted is in order.{apart}"
    undecided = f"; {open_} more could not be decided" if open_ else ""
    whose = f" people’s “{evidence.secret_name}”" if evidence.secret_name else " people"
    return (
        f"{sentence(_part(failed, len(asked)))[:-1]} of {policy} {'is' if failed == 1 else 'are'} not met{undecided}. "
        f"Whoever reads the {_whole(evidence)} could learn more about{whose} than the policy allows.{apart}"
    )


def _by_demand(decision: Decision, verdict: Callable[[Finding], Verdict]) -> dict[str, Verdict]:
    """Return the verdict on each demand that counts: of several releases, the worst of them."""
    found: dict[str, Verdict] = {}
    for finding in decision.findings:
        if decision.counts(finding) and not finding.is_about_evidence:
            found[finding.clause] = max(found.get(finding.clause, Verdict.PASS), verdict(finding))
    return found


def _part(some: int, all_: int) -> str:
    return "the one demand" if all_ == 1 else f"{some} of {all_} demands"


def _after_pass(evidence: Evidence, decision: Decision) -> Iterator[str]:
    source, more = evidence.source, understated(evidence.knowledge, evidence.forest.drawn)
    if more:
        yield (
            f"Do not publish {source} yet: it publishes {more}, which this audit assumed nobody uses. "
            "Audit it as published."
        )
    else:
        yield publish_step(evidence)
    yield "Check that nobody outside knows more than is listed under “Knowledge assumed”."
    yield "Keep this report inside: it describes the table."


def _after_doubt(evidence: Evidence, decision: Decision) -> Iterator[str]:
    if evidence.population.is_absent:
        yield "Audit the file with the table that it was trained on, or ask whoever holds the table to attest it."
    yield from _reasons(decision)
    yield "Do not publish before an audit has passed; “could not decide” is never a pass."


def _after_fail(evidence: Evidence, decision: Decision, command: str) -> Iterator[str]:
    yield f"Do not publish {evidence.source}."
    if evidence.population.is_absent:
        yield "Audit or repair it with the table that it was trained on: more may be wrong than its file shows."
    if any(is_about_waivers(f.clause, f.measure) for f in decision.failing):
        yield "Mend the waivers: each holds for one clause, in leaves that break it, and until a day that is to come."
    failed = [f for f in decision.failing if f.verdict is Verdict.FAIL and not f.is_about_evidence]
    about_leaves = _each_once(f.clause for f in failed if f.is_of_leaves)
    about_file = _each_once(f.clause for f in failed if f.is_of_file)
    others = _each_once(f.clause for f in failed if f.clause not in (*about_leaves, *about_file))
    if about_file:
        yield f"{listed(about_file)}: no change of the tree mends what stands beside it. {removal(evidence)}"
    if about_leaves:
        yield (
            f"{listed(about_leaves)}: only other leaves mend this, for instance fewer and larger ones. "
            "Withholding numbers does not."
        )
    if others:
        yield (
            f"{listed(others)}: merging leaves or publishing fewer numbers may mend this. "
            "Publishing less lowers what an adversary can be sure of, never what is guessed right."
        )
    yield from _reasons(decision)
    if not evidence.population.is_absent:
        yield from repair_steps(evidence, command)
    if evidence.is_of_several:
        yield from releases_steps(evidence, decision)


def _each_once(clauses: Iterable[str]) -> list[str]:
    """Return clauses once each, as several releases may break the same."""
    return list(dict.fromkeys(clauses))


def _reasons(decision: Decision) -> Iterator[str]:
    """Yield what can be done so that the audit can decide, each reason once."""
    doubted = [each for each in decision.failing if each.is_about_evidence]
    doubted = [each for each in doubted if not is_about_waivers(each.clause, each.measure)]
    if any(each.clause not in SAY_WHAT_TO_DO for each in doubted):
        yield "Find out first whether the file or the table is wrong, and audit the two that belong together."
    if any(each.clause == FACTS_AGREE for each in doubted):
        yield (
            "Correct the fact that the table contradicts, or take it out; write a rounded share as two facts, with >= "
            "and <=."
        )
    if any(each.clause == RELEASES_LINKED for each in doubted):
        yield ONE_ID
    yield from undecided_steps(decision)
