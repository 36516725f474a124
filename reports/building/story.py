"""The verdict in words a manager understands: what it says, what the file gives away, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.inverters import facts_of
from treewarden.audit.knowledge.knowledge import understated
from treewarden.audit.reading import NOT_LINKED, Undetermined
from treewarden.audit.run_inputs import NOT_JOINED
from treewarden.policies.judging.decision import (
    Decision,
    Finding,
)
from treewarden.policies.verdict import FindingKind, Verdict
from treewarden.ppdm_models.files.load import formats, writers
from treewarden.ppdm_models.formats import ESTIMATOR
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import kinds_of
from treewarden.reports.building.assumed import accepted_words, untold
from treewarden.reports.building.facts import quoted_column
from treewarden.reports.document.names import is_about_waivers
from treewarden.reports.document.words import counted, listed, percent, sentence

if TYPE_CHECKING:
    from treewarden.policies.repair.attempts import RepairSearch

# A file's side channels in words, and the command that takes them out.

REDACTED = "-redacted"
WRITTEN = ("pmml", "treewarden_json")


def publish_step(evidence: Evidence) -> str:
    """Return the step after a pass: only a file that gives nothing else away is to be published as it is."""
    source, leaks = evidence.source, evidence.leaks
    if isinstance(leaks, Undetermined):
        return f"Do not publish {source} yet: {leaks.reason}."
    if evidence.model.format == ESTIMATOR:
        return _from_memory(evidence.model)
    if not leaks:
        return f"Publish exactly this file, {source}; a changed file needs an audit of its own."
    told = f"{counted(len(leaks), 'finding', 'findings')} outside its trees ({listed(list(kinds_of(leaks)))})"
    return (
        f"Before you publish {source}, look at what else it contains: {told}. {removal(evidence)}"
    )


def removal(evidence: Evidence) -> str:
    """Return how what stands beside the trees is taken out, or what to do where the format does not let it go."""
    assert not isinstance(evidence.leaks, Undetermined)
    if evidence.model.format == ESTIMATOR:
        return _from_memory(evidence.model)
    goes = [leak for leak in evidence.leaks if leak.removable]
    stays = [leak for leak in evidence.leaks if not leak.removable]
    said = []
    if goes:
        some = "all of it" if not stays else listed(list(kinds_of(goes)))
        said.append(
            f"“{redact_command(evidence.source)}” removes {some}. Audit the file that it writes."
        )
    if stays:
        form = evidence.model.format
        kinds = listed(list(kinds_of(stays)))
        said.append(f"The format {form} cannot be written without this: {kinds}.")
        said.append(_otherwise(evidence.model, evidence.source))
    return " ".join(said)


def _from_memory(model: Model) -> str:
    """Return how an estimator becomes a file to publish: its own attributes stay behind where the trees are alone."""
    from treewarden.ppdm_models.files.convert import SUFFIXES, writable  # what can be written

    able = writable(model)
    forms = [suffix for suffix, form in SUFFIXES.items() if form in able]
    if not forms:
        return "Do not publish a pickle of it: this verdict covers its trees only, and no format can hold them alone."
    return (
        "Do not publish a pickle of it: this verdict covers its trees only. Write them to a file in Python "
        f"(“result.save_model('model{forms[0]}')”), audit that file, and publish exactly that file."
    )


def _otherwise(model: Model, source: str) -> str:
    """Return what to do about what stays; PMML is written as it was read, so that converting it again is no help."""
    from treewarden.ppdm_models.files.convert import writable  # what can be written

    if model.format in WRITTEN or "pmml" not in writable(model):
        return "Export the model again without it."
    output = _typed(f"{PurePath(source).stem}.pmml")
    convert = f"treewarden convert {_typed(source)} {output}"
    return f"Export the model again without it, or write only the trees (“{convert}”) and audit that file."


def redact_command(source: str) -> str:
    """Return the command that takes out what can go, as it is typed where the file is."""
    path = PurePath(source)
    output = f"{path.stem}{REDACTED}{path.suffix}"
    return f"treewarden redact {_typed(path.name)} -o {_typed(output)}"


def _typed(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


# What to do next, as steps to follow: for the format at hand, and for what could not be decided.

MOST_REASONS = 4
TRIES = "it tries changes, audits each, and shows the cost in accuracy."
SETTINGS = "(min_samples_leaf, min_data_in_leaf, min_child_weight)"
ONE_ID = (
    "Name the column that identifies a person in all tables: --id COLUMN, or id in a gate and in a notebook. "
    "Pseudonyms are enough. If all models were trained on one table, give it once."
)


def releases_steps(evidence: Evidence, decision: Decision) -> Iterator[str]:
    """Yield what is to be known of several releases: what repair can do there, and what no change of the last mends."""
    yield (
        f"“treewarden repair” looks at {evidence.source} and its table only. Audit what it writes again together with "
        "the earlier releases."
    )
    if any(finding.of for finding in decision.failing):
        yield (
            f"Other releases fail by themselves (audit each of them). No change of {evidence.source} fixes that."
        )


def repair_target(model: Model) -> str | None:
    """Return the format that a repair has to name: "" where it writes what it read; None where none says the model."""
    if not _is_only_read(model):
        return ""
    from treewarden.ppdm_models.files.convert import first_writable  # what can be written

    return first_writable(model)


def _is_only_read(model: Model) -> bool:
    known = formats().get(model.format)
    return known is not None and not known.rewrites and model.format not in writers()


def repair_steps(evidence: Evidence, command: str = "") -> Iterator[str]:
    """Yield how the model is repaired: with the command that its format allows, else by whoever trained it.

    ``command`` is all of it, where it is known how it is typed.
    """
    model = evidence.model
    anew = "train the trees again" if evidence.forest.is_ensemble else "train the tree again"
    anew += f" with larger leaves {SETTINGS}"
    is_only_read = model.format != ESTIMATOR and _is_only_read(model)
    # Where there is a command, a format was found for it, which takes long: the model is written to see that it can be.
    target = repair_target(model) if is_only_read and not command else ""
    read_only = f"the format {model.format} is only read, not written"
    if model.format == ESTIMATOR:
        yield f"Call treewarden.repair with the same estimator and table: {TRIES}"
    elif target is None:
        yield (
            f"“treewarden repair” cannot help: {read_only}, and no other format can hold this model. "
            f"Instead, {anew}, and audit the new file."
        )
        return
    elif command:
        yield f"Run this command{f', as {read_only}' if is_only_read else ''}: {TRIES}"
        yield command
    elif target:
        yield f"Run “treewarden repair --to {target}” with the same files, as {read_only}: {TRIES}"
    else:
        yield f"Run “treewarden repair” with the same files: {TRIES}"
    if evidence.forest.is_ensemble:
        yield f"If that costs too much accuracy, {anew}."


def undecided_steps(decision: Decision) -> Iterator[str]:
    """Yield what could not be decided, why, and what can be done about it: once for each reason."""
    clauses: dict[str, list[str]] = {}
    for finding in decision.failing:
        if finding.requirement.measure and isinstance(finding.reading, Undetermined):
            if finding.reading.reason.startswith(NOT_LINKED):
                continue  # the finding about the releases says what to do
            named = clauses.setdefault(finding.reading.reason, [])
            named += [finding.clause] if finding.clause not in named else []
    for reason, named in list(clauses.items())[:MOST_REASONS]:
        yield f"{listed(named)}: not decided, because {reason.rstrip('. ')}. {_way_out(reason, named)}"


def _way_out(reason: str, clauses: list[str]) -> str:
    if reason == NOT_RUN.reason:
        return "Audit again without --no-worlds."
    what = "this check" if len(clauses) == 1 else "these checks"
    openly = f"a policy without {what}, and say so openly"
    if reason.startswith(NOT_JOINED):
        return f"Publish a single tree, for which this can be decided, or use {openly}."
    return f"If you cannot fix that, use {openly}."


SAY_WHAT_TO_DO = (FindingKind.FACTS_AGREE, FindingKind.NOTHING_JUDGED, FindingKind.RELEASES_LINKED)
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
        Verdict.UNDETERMINED: "Undetermined: the file alone does not decide it."
        if is_alone
        else "Undetermined: the audit could not decide.",
        Verdict.FAIL: f"Do not publish this {whole} as it is.",
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
    if decision.verdict is Verdict.FAIL:
        steps = _after_fail(evidence, decision, command)
    elif decision.verdict is Verdict.PASS:
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
    if best is not None and best.audit and best.decision:
        cost, mended = best.cost, best.audit.full.evidence
        kept = f"It keeps {cost.leaves_after} of {cost.leaves_before} leaves"
        told = cost.predictions_changed
        unknown = "how many predictions change is not decided"
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
                "Check in the table of attempts that the model is still useful at this cost.",
                "Check that nobody outside knows more than is listed under “Knowledge assumed”.",
            ),
        )
    return Story(
        f"No repair was found: do not publish this {whole}.",
        f"{_meaning(evidence, repair.decision, quoted_column(repair.audit, evidence.secret_name))}"
        f"{untold(repair.audit)}",
        (
            "Read in the table of attempts which checks each change still fails.",
            f"Consider training a new {whole}: larger leaves, fewer tests, or without the columns on the marked paths.",
            "If a check is stricter than your case needs, change the policy openly, and audit again.",
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
            "To audit the repaired file by itself, write what it withholds into a knowledge file (--knowledge): "
            f"[training], and below it a line for each of {said}."
        )


def _of_repaired(evidence: Evidence) -> str:
    if evidence.leaks == ():
        return "Publish exactly the repaired file, never the original."
    return f"Never publish the original. {publish_step(evidence)}"


def _meaning(evidence: Evidence, decision: Decision, secret: str = "") -> str:
    verdicts = _by_demand(decision, lambda finding: finding.open_verdict)
    failed = sum(verdict is Verdict.FAIL for verdict in verdicts.values())
    open_ = sum(verdict is Verdict.UNDETERMINED for verdict in verdicts.values())
    waived = accepted_words(decision)
    apart = f" {waived[:1].upper()}{waived[1:]}." if waived else ""
    policy = f"the policy “{decision.pack.title}”"
    doubts = [f.message for f in decision.findings if f.is_about_evidence and decision.counts(f)]
    if decision.verdict is Verdict.PASS:
        weak = sum(f.open_verdict is not Verdict.PASS for f in decision.findings)
        warned = (
            f" {counted(weak, 'advisory check', 'advisory checks')} raised a warning; see the findings."
            if weak
            else ""
        )
        checks = counted(len(verdicts), "required check", "required checks")
        held = f"{len(verdicts)} of {checks} passed"
        if waived:
            shown = _by_demand(decision, lambda finding: finding.verdict)
            met = sum(verdict is Verdict.PASS for verdict in shown.values())
            held = f"{met} of {checks} passed"
        return (
            f"{held[:1].upper()}{held[1:]} of {policy}, even in the worst case that the audit could not exclude. "
            f"This holds for an adversary who knows what is listed below, and no more.{apart}{warned}"
        )
    if decision.verdict is Verdict.UNDETERMINED:
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
    whose = f" people’s {named}" if evidence.secret_name else " people"
    return (
        f"{sentence(_part(failed, len(verdicts)))[:-1]} of {policy} failed{undecided}. "
        f"An adversary could learn more about{whose} from the {_whole(evidence)} than the policy allows.{apart}"
    )


def _by_demand(decision: Decision, verdict: Callable[[Finding], Verdict]) -> dict[str, Verdict]:
    """Return the verdict on each demand that counts: of several releases, the worst of them."""
    verdicts: dict[str, Verdict] = {}
    for finding in decision.findings:
        if decision.counts(finding) and not finding.is_about_evidence:
            verdicts[finding.clause] = max(
                verdicts.get(finding.clause, Verdict.PASS), verdict(finding)
            )
    return verdicts


def _part(some: int, all_: int) -> str:
    return f"{some} of {counted(all_, 'required check', 'required checks')}"


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
    yield "Check that nobody outside knows more than is listed under “Knowledge assumed”."
    yield "Keep this report inside: it describes the table."


def _after_doubt(evidence: Evidence, decision: Decision) -> Iterator[str]:
    if evidence.population.is_absent:
        yield "Audit the file with its training table, or ask the owner of the table for an attestation."
    yield from _beside_steps(evidence, decision)
    yield from decision_steps(decision)
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
    failed = [f for f in decision.failing if f.verdict is Verdict.FAIL and not f.is_about_evidence]
    about_leaves = _each_once(f.clause for f in failed if f.is_of_leaves)
    about_file = _each_once(f.clause for f in decision.failing if f.is_of_file)
    others = _each_once(f.clause for f in failed if f.clause not in (*about_leaves, *about_file))
    yield from _beside_steps(evidence, decision)
    if not evidence.population.is_absent:
        yield from repair_steps(evidence, command)
    if about_leaves:
        yield (
            f"To fix {listed(about_leaves)}, merge leaves, or train a model with larger leaves. Removing numbers from "
            "the file does not help."
        )
    if others:
        yield (
            f"To fix {listed(others)}, merge leaves, or remove numbers from the file. After numbers are removed, the "
            "adversary is less sure, but is right just as often."
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


def decision_steps(decision: Decision) -> Iterator[str]:
    """Yield what can be done so that the audit can decide, each reason once."""
    doubted = [finding for finding in decision.failing if finding.is_about_evidence]
    doubted = [
        finding
        for finding in doubted
        if not is_about_waivers(finding.clause, finding.requirement.measure)
    ]
    if any(finding.clause not in SAY_WHAT_TO_DO for finding in doubted):
        yield "Find out first whether the file or the table is wrong, and audit the two that belong together."
    if any(finding.clause == FindingKind.FACTS_AGREE for finding in doubted):
        yield (
            "Correct or remove the fact that the table contradicts. Write a rounded share as two facts, with >= and <=."
        )
    if any(finding.clause == FindingKind.RELEASES_LINKED for finding in doubted):
        yield ONE_ID
    yield from undecided_steps(decision)
