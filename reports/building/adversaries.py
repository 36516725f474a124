"""The adversaries of an audit side by side, as report entries: what each knows and can infer, with its readings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, MeasureCall, call, measures, of_models
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.reading import Reading as Found
from treewarden.audit.result import Audit, Exposure, Lacking
from treewarden.policies.judging.decision import Decision, Finding, Location
from treewarden.policies.judging.figures import figure
from treewarden.policies.verdict import SEVERITIES, PolicyVerdict, Severity, worst
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.lessons import node_label
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.inferred_parts import Adversary, Lack
from treewarden.reports.document.parts import Accepted, Break, LeafCase, Number, Row, Value, number
from treewarden.reports.document.parts import Reading as ShownReading
from treewarden.reports.document.words import count, counted, percent

WORST = ("certain_disclosure", "disclosure", "confidence")
"""What is told of single people, the gravest first."""
MOST_WORST = 3


def adversaries(audit: Audit, decision: Decision) -> tuple[Adversary, ...]:
    """Return all who were asked about; none where that is only who knows every quasi-identifier."""
    if not audit.adversaries:
        return ()
    return tuple(_adversary(exposure, decision) for exposure in _declared_exposures(audit))


def _declared_exposures(audit: Audit) -> Iterator[Exposure]:
    if not audit.secret:
        yield audit.full
    yield from audit.adversaries


def _adversary(exposure: Exposure, decision: Decision) -> Adversary:
    evidence, adversary = exposure.evidence, exposure.who
    of_knowledge = [
        measure_call
        for measure_call in map(call, of_models())
        if _is_told(measure_call.measure) and _fits(measure_call.measure, evidence)
    ]
    verdicts = [
        finding.open_verdict
        for finding in decision.findings
        if finding.of == exposure.of
        and decision.counts(finding)
        and any(_is_told(measure_call.measure) for measure_call in finding.calls)
    ]
    return Adversary(
        name=exposure.adversary,
        knows=_knows(exposure),
        target_known=adversary is not None and adversary.target,
        secret=evidence.secret_name,
        verdict=word(_verdict(verdicts, decision)),
        readings={
            key(measure_call): reading(
                measure_call, exposure.measured(measure_call.measure).reading
            )
            for measure_call in of_knowledge
        },
        worst=() if adversary is None else tuple(_worst(exposure)),
        shown=() if adversary is None else tuple(_witness_rows(exposure)),
        lacking=tuple(map(_lack, exposure.lacking)),
    )


def _verdict(verdicts: list[PolicyVerdict], decision: Decision) -> PolicyVerdict:
    """Return the verdict of clauses of which only those that do not pass are findings; none, where none was asked."""
    if verdicts:
        return worst(verdicts)
    counting = (
        clause for clause in decision.pack.counting if clause.id not in dict(decision.not_judged)
    )
    is_asked = any(_is_told(atom.call.measure) for clause in counting for atom in clause.atoms)
    return PolicyVerdict.PASS if is_asked else PolicyVerdict.UNDETERMINED


def _knows(exposure: Exposure) -> tuple[str, ...]:
    """Return the columns that somebody knows, first those that he was said to; the target is told apart."""
    qi, adversary = exposure.evidence.population.qi, exposure.who
    if adversary is None:
        return qi
    known = dict.fromkeys((*adversary.declared, *qi))
    return tuple(name for name in known if not adversary.target or name != exposure.evidence.target)


def _worst(exposure: Exposure) -> Iterator[Row]:
    """Yield the people of whom an adversary is certain, then those of whom he is surest, each profile once."""
    told: set[int] = set()
    for measure in WORST:
        for spot in exposure.measured(measure).spots:
            if len(told) == MOST_WORST:
                return
            if spot.index in told or spot.low <= 0:
                continue
            told.add(spot.index)
            text = f"{figure(spot.low, measures()[measure].unit)}, {spot.note}"
            profile = _profile(exposure, spot.index)
            yield Row(name=profile, text=spot.note if measure == WORST[0] else text)


def _witness_rows(exposure: Exposure) -> Iterator[Row]:
    """Yield the people of whom a table was kept that fits and has others of their values."""
    worlds = exposure.evidence.worlds
    if not isinstance(worlds, Undetermined):
        for witness in worlds.witnesses:
            yield Row(name=_profile(exposure, witness.profile), text=witness.says)


def _profile(exposure: Exposure, index: int) -> str:
    return exposure.evidence.population.describe(index) or "everybody"


def _fits(measure: str, evidence: Evidence) -> bool:
    """Return whether a measure is of such models: of numbers only where one is predicted."""
    is_of_numbers = EvidenceSource.NUMBERS in measures()[measure].reads
    return not is_of_numbers or evidence.model.task is Task.REGRESSION


def _is_told(measure: str) -> bool:
    return measures()[measure].is_of_knowledge


def _lack(lacking: Lacking) -> Lack:
    return Lack(
        column=lacking.column,
        certain=value(lacking.certain_disclosure, "records"),
        confidence=value(lacking.confidence, "share"),
        guess_accuracy=value(lacking.guess_accuracy, "share"),
    )


# Where a tree breaks its policy, leaf by leaf: who is there, which checks fail, and the worst leaf as a story.

Key = tuple[int, int]
WORST_CASES = 3
"""The top of a page tells of so many leaves."""
MOST_CASES = 30
"""A report tells of so many leaves; the rest is counted, and every place stands with its finding in the document."""


@dataclass(frozen=True, slots=True)
class LeafCases:
    """The leaves in which some demand is not met, as far as they are told, and how many there are."""

    told: tuple[LeafCase, ...]
    number: int


def leaf_cases(evidence: Evidence, decision: Decision) -> LeafCases:
    """Return the leaves in which some demand is not met, those that break most first, and of these the smallest.

    The first few, of which a page tells at its top, are of different people where there are such: several trees have
    leaves of the same ones.
    """
    found: dict[Key, list[tuple[Finding, list[Location]]]] = {}
    for finding in decision.own_findings:
        if finding.verdict is PolicyVerdict.PASS:
            continue
        here: dict[Key, list[Location]] = {}
        for place in finding.places:
            if place.kind in ("leaf", "profile") and not _is_unknown(evidence, place):
                here.setdefault((place.tree, place.node), []).append(place)
        for node, places in here.items():
            found.setdefault(node, []).append((finding, places))
    grave = SEVERITIES[SEVERITIES.index(decision.fail_on) :]
    records = _records(evidence, {tree for tree, _ in found})
    worst = {
        key: _worst_first([finding for finding, _ in broken], records[key[0]][key[1]], grave)
        for key, broken in found.items()
    }
    keys = sorted(found, key=worst.__getitem__)
    first = _of_different_people(evidence, keys)
    shown = [*dict.fromkeys((*first, *keys))][:MOST_CASES]
    return LeafCases(tuple(_case(evidence, *key, found[key]) for key in shown), len(found))


def _records(evidence: Evidence, trees: Collection[int]) -> dict[int, FloatArray]:
    """Return the records of the table in each node where they stop, (N,), by tree."""
    records = {}
    for tree in trees:
        stops = evidence.stops[tree]
        sums = np.zeros(len(evidence.trees[tree].nodes))
        np.add.at(sums, stops[stops >= 0], evidence.population.counts[stops >= 0])
        records[tree] = sums
    return records


def _of_different_people(evidence: Evidence, keys: Sequence[Key]) -> list[Key]:
    """Return the first leaves, as trees and nodes, that have no people in common; else, that have others as well."""
    told = np.zeros(evidence.stops.shape[1], dtype=bool)
    found: list[Key] = []
    for may_share in (False, True):
        for tree, node in keys:
            if len(found) == WORST_CASES:
                return found
            here = evidence.stops[tree] == node
            if (here & ~told).any() and (may_share or not (here & told).any()):
                told |= here
                found.append((tree, node))
    return found


def _is_unknown(evidence: Evidence, place: Location) -> bool:
    """Whether a place stands for all of which nothing is known, as there is no table: it is no leaf."""
    return (
        evidence.population.is_absent and not evidence.trees[place.tree].nodes[place.node].is_leaf
    )


def _worst_first(
    findings: Sequence[Finding], records: float, grave: Sequence[Severity]
) -> tuple[float, ...]:
    demands = [finding for finding in findings if finding.severity in grave]
    failed = sum(demand.verdict is PolicyVerdict.FAIL for demand in demands)
    return (-failed, -len(demands), records)


def _case(
    evidence: Evidence, tree: int, node: int, broken: list[tuple[Finding, list[Location]]]
) -> LeafCase:
    first = broken[0][1][0]
    drawn = evidence.trees[tree]
    here = evidence.stops[tree] == node
    records = float(evidence.population.counts[here].sum())
    label, share = node_label(drawn, drawn.nodes[node]), _share(evidence, tree, node)
    breaks = tuple(_break(finding, places) for finding, places in broken)
    path = path_text(drawn, node)
    story = (
        f"{counted(records, 'person has', 'people have')} {path}."
        if path
        else f"The tree has one leaf, with {counted(records, 'person', 'people')}."
    )
    told = next((each for each in breaks if each.profile), None)
    is_one = records == 1
    predictor = "The tree" if len(evidence.trees) == 1 else f"Tree {tree + 1}"
    if share and is_one:
        right = "correct" if share == percent(1.0) else "wrong"
        story += f" {predictor} predicts “{label}”, which is {right} for this person."
    elif share:
        story += f" {predictor} predicts “{label}” for them, which is correct for {share} of them."
    if told is not None and is_one:
        story += f" This person has {told.profile}{_true_value(evidence, here)}."
    elif told is not None:
        story += f" Example of people in this leaf: {told.profile} ({told.note or told.text})."
    return LeafCase(
        tree=tree,
        node=first.name,
        line=first.line,
        path=path or "all people",
        label=label,
        records=number(records),
        records_text=count(records),
        label_share_text=share,
        breaks=breaks,
        story=story,
        leaf=first.leaf,
    )


def _true_value(evidence: Evidence, here: NDArray[np.bool_]) -> str:
    """Return, for the only person of a leaf, the true value; "" where that cannot be told."""
    if isinstance(evidence.truth, Undetermined):
        return ""
    found = np.flatnonzero(evidence.truth[here].sum(axis=0))
    return f" and the true value “{evidence.classes[found[0]]}”" if found.size == 1 else ""


def _break(finding: Finding, places: list[Location]) -> Break:
    worst = places[0]
    profiles = [place for place in places if place.kind == "profile"]
    return Break(
        clause=finding.clause,
        verdict=word(finding.verdict),
        severity=finding.severity,
        text=place_value(finding, worst).text,
        profiles=len(profiles),
        profile=worst.profile,
        note="" if finding.is_combined else worst.note,
        accepted=_accepted(places),
    )


def _accepted(places: list[Location]) -> Accepted | None:
    """Return why what breaks a demand in a leaf does not count; None where something of it does."""
    reasons = list(dict.fromkeys(place.accepted for place in places))
    if any(reason is None for reason in reasons):
        return None
    known = [reason for reason in reasons if reason is not None]
    return Accepted(by=known[0].by, reason="; ".join(each.reason for each in known))


def _share(evidence: Evidence, tree: int, node: int) -> str:
    """Return the share of a leaf's people of whom its label is true; "" where that cannot be told."""
    truth, own = evidence.truth, evidence.trees[tree]
    label = node_label(own, own.nodes[node])
    if isinstance(truth, Undetermined) or label not in evidence.classes:
        return ""
    here = truth[evidence.stops[tree] == node].sum(axis=0)
    total = float(here.sum())
    return percent(float(here[evidence.classes.index(label)]) / total) if total else ""


# A verdict and a reading as values of a document; what could not be told never becomes a number.


def place_value(finding: Finding, place: Location) -> Value:
    """Return what was read at a place; of a combined clause, what each of its measures reads there."""
    ends = Interval(place.low, place.high)
    if not finding.is_combined:
        return value(ends, finding.requirement.unit, finding.requirement.limit)
    return Value(low=number(ends.low), high=number(ends.high), text=place.note)


def parameters(pairs: Iterable[tuple[str, float | str]]) -> dict[str, Number | str]:
    """Return the parameters of a measure as a document holds them."""
    return {name: said if isinstance(said, str) else number(said) for name, said in pairs}


def readings(audit: Audit) -> dict[str, ShownReading]:
    """Return what was asked for, then every measure of models with its default parameters by its bare name.

    Readings with other parameters are keyed with those that differ: ``cl_diversity[l=3]``. Of several adversaries each
    is that of the one of whom it is worst.
    """
    asked = dict.fromkeys([*audit.full.asked, *map(call, of_models())])
    if not audit.adversaries:
        return {
            key(measure_call): reading(measure_call, audit.full.readings[measure_call].reading)
            for measure_call in asked
        }
    return {
        key(measure_call): reading(measure_call, audit.worst(measure_call))
        for measure_call in asked
    }


def reading(call: MeasureCall, measured: Found) -> ShownReading:
    """Return one reading as a document holds it."""
    measure = measures()[call.measure]
    said = value(measured, measure.unit)
    return ShownReading(
        low=said.low,
        high=said.high,
        text=said.text,
        reason=said.reason,
        measure=call.measure,
        parameters=parameters(call.parameters),
        plain=plain(call),
        unit=measure.unit,
        danger="small" if measure.risk == "low" else "large",
    )


def key(call: MeasureCall) -> str:
    """Return the name of a reading: the bare measure only where every parameter is the default."""
    changed = ",".join(f"{name}={said}" for name, said in _changed(call))
    return f"{call.measure}[{changed}]" if changed else call.measure


def plain(call: MeasureCall) -> str:
    """Return what a reading is, in the measure's own words, with the changed parameters that these do not tell."""
    changed = ", ".join(f"{name} = {said}" for name, said in _changed(call))
    measure = measures()[call.measure]
    words = measure.words(dict(call.parameters))
    return f"{words} ({changed})" if changed and words == measure.plain else words


def _changed(call: MeasureCall) -> list[tuple[str, str]]:
    declared = measures()[call.measure].parameters
    return [
        (name, said if isinstance(said, str) else f"{said:g}")
        for name, said in call.parameters
        if said != declared[name].default
    ]
