"""Holds what an audit read against a policy pack: findings, and the verdict over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.knowledge.statement import FACT
from treewarden.audit.measures import measured, measures
from treewarden.audit.population.audited_columns import LACKS
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.population.table_counts import MOVED_SHARES
from treewarden.audit.progress import Share
from treewarden.audit.reading import Measurement, Undetermined
from treewarden.audit.result import NOT_MEASURED, Audit, Exposure
from treewarden.policies.clause import BELIEF, CERTAINTIES, Clause, Pack
from treewarden.policies.judging.applicability import applying, why_not
from treewarden.policies.judging.clause_evaluation import evaluate_clause
from treewarden.policies.judging.decision import (
    Decision,
    Finding,
    LeafNames,
    NamesByModel,
)
from treewarden.policies.judging.figures import figure
from treewarden.policies.judging.finding import doubt, finding_of
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import FindingKind, PolicyVerdict, worst
from treewarden.ppdm_models.semantics.consistency import label_misfit
from treewarden.ppdm_models.tree.plain_splits import tells_classes
from treewarden.ppdm_models.tree.tree import Quality


def judge(audit: Audit, pack: Pack, share: Share | None = None) -> Decision:
    """Return the verdict of a pack on an audit, and why.

    What does not count never changes it. Where the file contradicts itself or the table, or nothing that counts is
    about this model, it is never better than undetermined. A clause that assumes other knowledge is held against the
    exposure of that adversary; without one it is undetermined. Of other releases than the last, and of adversaries who
    know other columns, what passes is no finding where the same clause has one of the model. ``share`` is told how many
    clauses are judged.
    """
    return _decision(audit, pack, NamesByModel(), share)


def verdict_of(audit: Audit, pack: Pack) -> PolicyVerdict:
    """Return the verdict of a pack on an audit alone: where it does not pass is not looked up."""
    return _decision(audit, pack, None).verdict


def _decision(
    audit: Audit, pack: Pack, names_by_model: NamesByModel | None, share: Share | None = None
) -> Decision:
    model, extra_inputs = audit.full.evidence.model, audit.full.evidence.extra_inputs
    reasons = {
        clause.id: why_not(clause, model, audit.secret, extra_inputs=extra_inputs)
        for clause in pack.clauses
    }
    clauses = [clause for clause in pack.clauses if not reasons[clause.id]]
    judged = []
    for number, clause in enumerate(clauses, start=1):
        for exposure in _exposures(audit, clause):
            names = None if names_by_model is None else LeafNames(exposure.evidence, names_by_model)
            found = finding_of(exposure, clause, audit.full, names)
            judged.append((clause, exposure, _of_release(exposure, found)))
        if share is not None:
            share(number, len(clauses), "checks")
    counting = pack.model_copy(update={"clauses": tuple(filter(pack.counts, clauses))})
    doubts: dict[str, Finding] = {}
    for finding in _all_doubts(audit, counting, judged):
        doubts.setdefault(finding.clause, finding)
    not_judged = [(name, why) for name, why in reasons.items() if why]
    not_judged += [(each.id, f"left out by this policy: {each.reason}") for each in pack.dropped]
    told = {clause.id for clause, by, _ in judged if not by.of}
    kept = (
        found
        for clause, by, found in judged
        if not by.of or found.verdict is not PolicyVerdict.PASS or clause.id not in told
    )
    findings = (*doubts.values(), *kept)
    verdicts = [found.verdict for clause, _, found in judged if pack.counts(clause)]
    verdict = max([worst(verdicts), *(found.verdict for found in doubts.values())])
    return Decision(verdict, findings, pack, pack.fail_on, tuple(not_judged))


def _of_release(exposure: Exposure, finding: Finding) -> Finding:
    """Return a finding that says which release it is of, where that is not the model of the audit."""
    if not exposure.of:
        return finding
    return replace(finding, message=f"Of {exposure.of}: {finding.message}", of=exposure.of)


Judged = Sequence[tuple[Clause, Exposure, Finding]]


def _exposures(audit: Audit, clause: Clause) -> list[Exposure]:
    """Return what each adversary can infer who knows what a clause assumes; if nobody looked, what needs no looking."""
    exposures = list(audit.judged([atom.call for atom in clause.atoms], clause.under_words))
    if all(measures()[atom.call.measure].is_of_leaves for atom in clause.atoms):
        # Other knowledge, and that of other releases, changes nothing about a model's own leaves.
        exposures = [exposure for exposure in exposures if not exposure.is_alone]
    return exposures or [_untold(audit.full, clause)]


def _untold(base: Exposure, clause: Clause) -> Exposure:
    """Return an adversary of whom nothing was told but what no knowledge changes: of the leaves and the file."""
    known = measures()
    unknown = Undetermined(f"no audit was made under {clause.under_words}")
    evidence = replace(
        base.evidence, prior=unknown, posterior=unknown, worlds=unknown, without=unknown
    )
    readings = {
        call: base.readings.get(call, NOT_MEASURED)
        if known[call.measure].is_of_leaves or known[call.measure].is_of_file
        else Measurement(unknown)
        for call in (atom.call for atom in clause.atoms)
    }
    return replace(base, evidence=evidence, readings=readings, levels=(), under=clause.under_words)


def _all_doubts(audit: Audit, counting: Pack, judged: Judged) -> Iterator[Finding]:
    seen: set[int] = set()
    for exposure in audit.exposures:
        yield from _doubts(exposure)
        if id(exposure.evidence.model) not in seen:
            seen.add(id(exposure.evidence.model))
            yield from _odd_labels(exposure)
        own = [(clause, finding) for clause, by, finding in judged if by is exposure]
        yield from _believing_labels(exposure, counting, own)
        yield from _believing_numbers(exposure, counting, own)
    known = measures()
    is_asked = any(
        known[atom.call.measure].is_of_knowledge for each in counting.clauses for atom in each.atoms
    )
    if not counting.clauses or (audit.secret and not is_asked):
        yield doubt(FindingKind.NOTHING_JUDGED, _nothing(audit, counting))
    elif audit.adversaries and not is_asked:
        yield doubt(FindingKind.NOTHING_JUDGED, _nobody_asked(audit, counting))


def _nothing(audit: Audit, counting: Pack) -> str:
    weak = f" (required: severity {counting.fail_on} or higher)"
    return (
        f"no required check of the policy applies to {audit.full.evidence.source}, so nothing was decided about "
        f"it{weak}; choose a policy for such models"
    )


def _nobody_asked(audit: Audit, counting: Pack) -> str:
    first = audit.adversaries[0].adversary
    weak = f" (severity {counting.fail_on} or higher)"
    return (
        f"no required check of the policy{weak} limits what an adversary like “{first}” can infer, so nothing was "
        "decided about that; choose a policy that limits it, or leave such adversaries out"
    )


def _doubts(exposure: Exposure) -> Iterator[Finding]:
    source = exposure.evidence.source
    broken = [dropped for dropped in exposure.dropped if dropped.is_published]
    broken = broken or list(exposure.disagreements)
    if broken:
        first = broken[0]
        more = f" ({len(broken)} such contradictions in all)" if len(broken) > 1 else ""
        yield doubt(
            FindingKind.TABLE_AGREES,
            f"the file contradicts this table, so no metric of the two can be trusted: "
            f"{first.where}: {first.problem}{more}"
            f"{'' if MOVED_SHARES in first.problem else '; audit with the table that the tree was trained on'}",
        )
    untrue = [dropped for dropped in exposure.dropped if dropped.constraint == FACT]
    if untrue:
        first = untrue[0]
        more = f" ({len(untrue)} such facts in all)" if len(untrue) > 1 else ""
        yield doubt(
            FindingKind.FACTS_AGREE,
            f"a fact of the knowledge file contradicts this table, so nothing was decided about an adversary with this "
            f"knowledge: {first.where}: {first.problem}{more}; correct the fact, write a rounded share as two facts "
            "with >= and <=, or remove it",
        )
    if exposure.evidence.linkage_gap:
        yield doubt(FindingKind.RELEASES_LINKED, exposure.evidence.linkage_gap)
    rival = exposure.evidence.population.rival
    if rival:
        yield doubt(
            FindingKind.TARGET_NAMED,
            f"the file {source} does not name its target, and its labels are right for {rival!r} at least "
            f"as often as for {exposure.evidence.target!r}, so it is unknown which of them it was trained on; "
            "export the model in a format that names its target, and audit that file",
        )
    wrong = [tree for tree in exposure.evidence.trees if tree.quality is Quality.INCONSISTENT]
    if wrong:
        notes = f": {'; '.join(wrong[0].notes)}" if wrong[0].notes else ""
        yield doubt(
            FindingKind.FILE_AGREES,
            f"the numbers in {source} contradict each other, so metrics of people cannot be trusted{notes}",
        )


def _odd_labels(exposure: Exposure) -> Iterator[Finding]:
    """Doubt a file whose labels are not those of the numbers that it gives beside them."""
    misfit = next(filter(None, map(label_misfit, exposure.evidence.trees)), None)
    if misfit is not None:
        yield doubt(
            FindingKind.FILE_AGREES,
            f"a label in {exposure.evidence.source} contradicts the numbers in its leaf, and the file gives no reason "
            f"for that, so metrics of people cannot be trusted: {misfit}",
        )


def _believing_numbers(
    exposure: Exposure, counting: Pack, judged: Sequence[tuple[Clause, Finding]]
) -> Iterator[Finding]:
    """Doubt what an inference passes where the table lacks the target, so that nobody compared the file's counts."""
    evidence = exposure.evidence
    truth = evidence.population.truth
    is_unlabelled = isinstance(truth, Undetermined) and truth.reason.startswith(LACKS)
    if evidence.secret is not None or not is_unlabelled:
        return
    known = measures()
    passed = [
        clause.id
        for clause, finding in judged
        if counting.counts(clause) and finding.verdict is PolicyVerdict.PASS
        if any(known[atom.call.measure].is_of_knowledge for atom in clause.atoms)
    ]
    if passed:
        assert isinstance(truth, Undetermined)
        yield doubt(
            FindingKind.TABLE_AGREES,
            f"the numbers of people with each value in {evidence.source} could not be compared with the table, so "
            f"{', '.join(dict.fromkeys(passed))} cannot pass: {truth.reason}",
        )


def _believing_labels(
    exposure: Exposure, counting: Pack, judged: Sequence[tuple[Clause, Finding]]
) -> Iterator[Finding]:
    """Doubt a limit on certainty that holds only because the estimate does not believe the labels.

    Under labels alone the estimate is uniform, yet whoever believes a label is right about all who carry it.
    """
    if exposure.evidence.secret is not None:
        return  # labels say nothing of another column
    if any(atom.call.measure == BELIEF for clause in counting.clauses for atom in clause.demanded):
        return
    held = [
        atom.limit
        for clause, finding in judged
        if counting.counts(clause) and finding.verdict is PolicyVerdict.PASS
        if _rests_on_certainty(exposure, clause)
        for atom in clause.atoms
        if atom.call.measure in CERTAINTIES
    ]
    if not held:
        return
    believed = exposure.measured(BELIEF).reading
    if isinstance(believed, Undetermined):
        if _hides_shares(exposure.evidence):
            yield doubt(
                FindingKind.LABELS_BELIEVED,
                "numbers are withheld, and it is unknown for how many people the labels are right: "
                f"{believed.reason}",
            )
    elif believed.high > min(held):
        share, limit = figure(believed.high, "share"), figure(min(held), "share")
        yield doubt(
            FindingKind.LABELS_BELIEVED,
            f"the confidence is low only if the adversary does not believe the labels: one label is right for "
            f"{share} of its leaf, and the policy's limit is {limit}; "
            f"add a check of {BELIEF} with the limit that you allow, or prune",
        )


def _hides_shares(evidence: Evidence) -> bool:
    bare = any(
        not tells_classes(tree)[stops[stops >= 0]].all()
        for tree, stops in zip(evidence.trees, evidence.stops, strict=True)
    )
    return bare or evidence.knowledge.leaf is LeafLevel.LABELS


def _rests_on_certainty(exposure: Exposure, clause: Clause) -> bool:
    """Return whether a clause holds only because of what it says of certainty."""
    if not any(atom.call.measure in CERTAINTIES for atom in clause.atoms):
        return False
    evidence, readings = exposure.evidence, exposure.readings
    clause_evaluation = evaluate_clause(
        clause, evidence, lambda call: readings.get(call, NOT_MEASURED), CERTAINTIES
    )
    return clause_evaluation.verdict is not PolicyVerdict.PASS


# Where no change can help, as the policy caps certainty below the tree's accuracy; and which policy would pass.
#
# A tree's accuracy on its own table is the average over its leaves, by people, of the share of whom the label is true.
# So where a policy caps that share in every leaf, no tree passes that is more accurate than the cap, whatever is pruned
# or withheld. Nor does any at all where the commonest value alone is more frequent in the table than the cap: some leaf
# then has at least as much of it.

LABEL, CROWDING = "label_disclosure", "cl_diversity"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A clause that no tree as accurate as this one can meet.

    ``accuracy`` is the share of the table's people of whom the tree is right, ``cap`` the most that the clause allows,
    and ``commonest`` the share of the commonest value in the whole table.
    """

    clause: str
    cap: float
    accuracy: float
    commonest: float


def advised(audit: Audit, decision: Decision) -> Decision:
    """Return a decision whose finding about a cap that is out of reach says so, and what would pass."""
    found = ceiling(audit, decision.pack)
    if found is None:
        return decision
    said = out_of_reach(audit, decision)

    def with_reason(finding: Finding) -> Finding:
        if finding.clause != found.clause:
            return finding
        return replace(finding, message=f"{finding.message} {said}")

    return replace(decision, findings=tuple(map(with_reason, decision.findings)))


def out_of_reach(audit: Audit, decision: Decision) -> str:
    """Return in words that no tree as accurate as this one can pass, and which policy would; "" where some may."""
    found = ceiling(audit, decision.pack)
    if found is None:
        return ""
    accuracy, cap = (
        figure(found.accuracy, "share", found.cap),
        figure(found.cap, "share", found.accuracy),
    )
    said = (
        f"No tree as accurate as this one can pass {found.clause!r}: it is right for {accuracy} of the table's "
        f"people, which is an average over the leaves, and the check allows at most {cap} in each. "
    )
    if found.commonest > found.cap:
        said += (
            f"Nor can any other tree: {figure(found.commonest, 'share', found.cap)} of the people have one value, so "
            "at least one leaf has as large a share. "
        )
    else:
        said += f"Only a tree that is right for at most {cap} can pass. "
    return said + " ".join(_instead(audit, decision.pack, found.accuracy))


def ceiling(audit: Audit, pack: Pack) -> Ceiling | None:
    """Return the tightest clause that counts and no tree as accurate as this one can meet; None where there is none."""
    evidence = audit.full.evidence
    leaves = evidence.leaves
    if evidence.forest.is_ensemble or isinstance(leaves, Undetermined):
        return None
    accuracy = _accuracy(leaves)
    asked = applying(pack, evidence.model, audit.secret, extra_inputs=evidence.extra_inputs)
    caps = sorted((cap, clause.id) for clause, cap in _caps(asked) if cap < accuracy)
    if not caps or isinstance(leaves.whole, Undetermined):
        return None
    cap, clause = caps[0]
    return Ceiling(clause, cap, accuracy, float(leaves.whole.max() / leaves.whole.sum()))


def _accuracy(leaves: Leaves) -> float:
    """Return the share of the people of whom the label is true; 0 where that is not known, as no cap is below it."""
    if isinstance(leaves.classes, Undetermined) or isinstance(leaves.labels, Undetermined):
        return 0.0
    right = leaves.classes[np.arange(len(leaves.labels)), leaves.labels]
    return float(right.sum() / leaves.records.sum())


def _caps(pack: Pack) -> Iterator[tuple[Clause, float]]:
    """Yield the clauses that count and cap how many of a leaf carry its label, and the cap.

    Of a combination only what it asks in any case is a cap. Where d_1 < c (d_l + ... + d_m), the commonest value's
    share is less than c / (c + 1), as l is 2 or more.
    """
    for clause in pack.counting:
        for atom in clause.demanded:
            if atom.call.measure == LABEL:
                yield clause, atom.limit
            elif atom.call.measure == CROWDING and dict(atom.call.parameters)["basis"] == "real":
                yield clause, atom.limit / (atom.limit + 1)


def _instead(audit: Audit, pack: Pack, accuracy: float) -> Iterator[str]:
    """Yield which policy that ships passes this very audit, the nearest one; else which one a repair may reach."""
    shipped = [load_pack(name) for name in shipped_packs() if name != pack.name]
    packs = [each.model_copy(update={"fail_on": pack.fail_on}) for each in shipped]
    passing = [each for each in packs if _passes(audit, each)]
    if passing:
        nearest = min(passing, key=lambda candidate: _distance(pack, candidate))
        yield f"The built-in policy {nearest.name!r} passes it as it is."
        return
    yield "No other built-in policy passes it as it is."
    open_ = [each.name for each in packs if all(cap >= accuracy for _, cap in _caps(each))]
    if open_:
        *most, last = map(repr, open_)
        names = f"{', '.join(most)} and {last}" if most else last
        yield f"{names} {'sets' if len(open_) == 1 else 'set'} no such cap: repair may find a tree that passes."


def _passes(audit: Audit, pack: Pack) -> bool:
    """Return whether a pack passes what was audited; readings that nobody asked for before are taken now."""
    exposures = []
    for exposure in audit.exposures:
        missing = [
            measure_call for measure_call in calls(pack) if measure_call not in exposure.readings
        ]
        measurements = {
            measure_call: measured(measure_call, exposure.evidence) for measure_call in missing
        }
        exposures.append(replace(exposure, readings={**exposure.readings, **measurements}))
    return verdict_of(replace(audit, exposures=tuple(exposures)), pack) is PolicyVerdict.PASS


def _distance(pack: Pack, candidate: Pack) -> float:
    """Return how much of what one pack demands another does not: 1 for a clause that it lacks, less for a limit."""
    theirs = {atom.call: atom.limit for clause in candidate.counting for atom in clause.demanded}
    far = 0.0
    for atom in (atom for clause in pack.counting for atom in clause.demanded):
        limit = theirs.get(atom.call)
        most = max(abs(atom.limit), abs(limit or 0.0), 1e-9)
        far += 1.0 if limit is None else min(1.0, abs(limit - atom.limit) / most)
    return far
