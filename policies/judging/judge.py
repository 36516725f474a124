"""Holds what an audit read against a policy pack: findings, and the verdict over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from audit.adversary.knowledge import LeafLevel
from audit.evidence import NOT_RUN, Evidence
from audit.measures import Measure, measures
from audit.reading import Interval, Reading, Spot, Undetermined
from audit.result import NOT_MEASURED, Audit, Exposure
from audit.spots import MOST_SPOTS
from policies.judging.decision import Decision, Finding, Place
from policies.judging.figures import figure, span
from policies.judging.names import Names
from policies.pack import Clause, Pack, asked
from policies.rules import Rule, rules
from policies.verdict import Verdict, worst
from ppdm_models.tree.paths import path_text
from ppdm_models.tree.tree import Quality

BELIEF = "label_disclosure"
CERTAINTIES = ("confidence", "disclosure")


def judge(audit: Audit, pack: Pack) -> Decision:
    """Return the verdict of a pack on an audit, and why.

    Warnings never change it. Where the file contradicts itself or the table it is never better than undetermined.
    """
    findings = [each for exposure in audit.exposures for each in _findings(exposure, pack)]
    clauses = [f.verdict for f in findings if f.severity == "error" and f.measure]
    doubts = [f.verdict for f in findings if not f.measure]
    return Decision(max([worst(clauses), *doubts]), tuple(findings), pack)


def _findings(exposure: Exposure, pack: Pack) -> tuple[Finding, ...]:
    names = Names(exposure.evidence)
    judged = [_finding(exposure, clause, names) for clause in pack.clauses]
    return (*_doubts(exposure), *_believing_labels(exposure, pack, judged), *judged)


def _doubts(exposure: Exposure) -> Iterator[Finding]:
    source = exposure.evidence.source
    broken = [dropped for dropped in exposure.dropped if dropped.is_published]
    broken = broken or list(exposure.disagreements)
    if broken:
        first = broken[0]
        more = f" ({len(broken)} such contradictions in all)" if len(broken) > 1 else ""
        yield _doubt(
            "table-agrees",
            f"what the file publishes is not true of this table, so nothing read from both can be trusted: "
            f"{first.where}: {first.problem}{more}; audit with the table the tree was trained on",
        )
    rival = exposure.evidence.population.rival
    if rival:
        yield _doubt(
            "target-named",
            f"the file {source} does not name what it predicts, and its labels are right about {rival!r} at least "
            f"as often as about {exposure.evidence.target!r}, so which of them it was trained on cannot be told; "
            "export the model in a format that names its target, and audit that file",
        )
    wrong = [tree for tree in exposure.evidence.trees if tree.quality is Quality.INCONSISTENT]
    if wrong:
        notes = f": {'; '.join(wrong[0].notes)}" if wrong[0].notes else ""
        yield _doubt(
            "file-agrees",
            f"the numbers in {source} contradict each other, so what they say of people cannot be trusted{notes}",
        )


def _believing_labels(
    exposure: Exposure, pack: Pack, judged: Sequence[Finding]
) -> Iterator[Finding]:
    """Doubt a limit on certainty that holds only because the estimate does not believe the labels.

    Under labels alone the estimate is uniform, yet whoever believes a label is right about all who carry it.
    """
    if any(clause.measure == BELIEF and clause.severity == "error" for clause in pack.clauses):
        return
    limits = [
        finding.limit
        for finding in judged
        if finding.measure in CERTAINTIES
        and finding.severity == "error"
        and finding.verdict is Verdict.PASS
    ]
    held = [limit for limit in limits if limit is not None]
    if not held:
        return
    believed = exposure.measured(BELIEF).reading
    if isinstance(believed, Undetermined):
        if _hides_shares(exposure.evidence):
            yield _doubt(
                "labels-believed",
                "numbers are withheld, and how many are right to believe the labels could not be told: "
                f"{believed.reason}",
            )
    elif believed.high > min(held):
        share, limit = figure(believed.high, "share"), figure(min(held), "share")
        yield _doubt(
            "labels-believed",
            f"the adversary is unsure of everybody only while not believing the labels: of one leaf's "
            f"people {share} carry its label, and the policy's limit is {limit}; "
            f"add a clause on {BELIEF} that says how much of that is allowed, or prune",
        )


def _hides_shares(evidence: Evidence) -> bool:
    nodes = [
        tree.nodes[index]
        for tree, stops in zip(evidence.trees, evidence.stops, strict=True)
        for index in np.unique(stops[stops >= 0])
    ]
    bare = any(node.class_counts is None and node.class_shares is None for node in nodes)
    return bare or evidence.knowledge.leaf is LeafLevel.LABELS


def _doubt(name: str, reason: str) -> Finding:
    message = f"{reason[:1].upper()}{reason[1:]}."
    return Finding(
        name, "", (), "", None, "", "error", Undetermined(reason), Verdict.UNDETERMINED, message
    )


def _finding(exposure: Exposure, clause: Clause, names: Names) -> Finding:
    measure, rule, wanted = measures()[clause.measure], rules()[clause.rule], asked(clause)
    taken = exposure.readings.get(wanted, NOT_MEASURED)
    verdict = rule.judge(taken.reading, clause.limit)
    places: tuple[Place, ...] = ()
    if verdict is not Verdict.PASS:
        places = tuple(
            _place(exposure.evidence, spot, names)
            for spot in taken.spots
            if rule.judge(Interval(spot.low, spot.high), clause.limit) is not Verdict.PASS
        )
    return Finding(
        clause.id,
        clause.measure,
        wanted.parameters,
        clause.rule,
        clause.limit,
        measure.unit,
        clause.severity,
        taken.reading,
        verdict,
        _message(
            measure,
            measure.words(dict(wanted.parameters)),
            rule,
            clause.limit,
            taken.reading,
            verdict,
            places,
        ),
        clause.why,
        clause.source,
        places,
    )


def _place(evidence: Evidence, spot: Spot, names: Names) -> Place:
    if spot.kind == "file":
        return _file_place(evidence, spot)
    tree = evidence.tree_of(spot)
    node = tree.nodes[evidence.node_of(spot)]
    number = f"tree {spot.tree + 1}: " if evidence.forest.is_ensemble else ""
    profile = evidence.population.describe(spot.index) if spot.kind == "profile" else ""
    return Place(
        spot.kind,
        spot.index,
        node.index,
        f"{number}{node.name}",
        path_text(tree, node.index),
        profile,
        node.line,
        spot.low,
        spot.high,
        spot.note,
        spot.tree,
        names.of(spot),
    )


def _file_place(evidence: Evidence, spot: Spot) -> Place:
    """Return the place of a leak in the file."""
    assert not isinstance(evidence.leaks, Undetermined)
    leak = evidence.leaks[spot.index]
    return Place(
        spot.kind,
        spot.index,
        0,
        str(leak.kind),
        leak.where,
        "",
        None,
        spot.low,
        spot.high,
        spot.note,
    )


def _message(
    measure: Measure,
    words: str,
    rule: Rule,
    limit: float,
    reading: Reading,
    verdict: Verdict,
    places: tuple[Place, ...],
) -> str:
    said = f"{words[:1].upper()}{words[1:]}: "
    if isinstance(reading, Undetermined):
        how = "; leave out --no-worlds to run them" if reading == NOT_RUN else ""
        return f"{said}could not tell, because {reason_text(reading)}{how}."
    said += f"{span(reading, measure.unit, limit)}; the policy asks for {rule.words} {figure(limit, measure.unit)}"
    if verdict is Verdict.UNDETERMINED:
        more = " (a larger --worlds-budget may decide it)" if measure.is_of_worlds else ""
        return f"{said}, and which side it is on could not be told{more}."
    if not places:
        return f"{said}."
    kinds = {
        "leaf": ("leaf breaks", "leaves break"),
        "profile": ("profile breaks", "profiles break"),
        "file": ("part of the file breaks", "parts of the file break"),
    }
    one, several = kinds[places[0].kind]
    more = " or more" if len(places) >= MOST_SPOTS else ""
    return f"{said}; {len(places)}{more} {one if len(places) == 1 else several} that."


def reason_text(reading: Undetermined) -> str:
    """Return the reason of an undetermined reading without a closing stop."""
    return reading.reason.rstrip(".")
