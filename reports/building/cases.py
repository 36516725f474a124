"""Where a tree breaks its policy, leaf by leaf: who is there, which demands break, and the worst of it as a story."""

from __future__ import annotations

from collections.abc import Sequence

from audit.evidence import Evidence
from audit.reading import Undetermined
from policies.judging.decision import SEVERITIES, Decision, Finding, Place, Severity
from policies.verdict import Verdict
from ppdm_models.tree.paths import path_text
from reports.building.nodes import node_label
from reports.building.values import place_value, word
from reports.document.parts import Break, LeafCase, number
from reports.document.words import count, counted, percent

MOST_CASES = 30
"""A report tells of so many leaves; the rest is counted, and every place stands with its finding in the document."""


def leaf_cases(evidence: Evidence, decision: Decision) -> tuple[LeafCase, ...]:
    """Return the leaves in which some demand is not met, those that break most first, and of these the smallest."""
    found: dict[tuple[int, int], list[tuple[Finding, list[Place]]]] = {}
    for finding in decision.findings:
        if finding.verdict is Verdict.PASS:
            continue
        here: dict[tuple[int, int], list[Place]] = {}
        for place in finding.places:
            if place.kind in ("leaf", "profile"):
                here.setdefault((place.tree, place.node), []).append(place)
        for key, places in here.items():
            found.setdefault(key, []).append((finding, places))
    cases = [_case(evidence, *key, broken) for key, broken in found.items()]
    grave = SEVERITIES[SEVERITIES.index(decision.fail_on) :]
    return tuple(sorted(cases, key=lambda case: _worst_first(case, grave)))


def _worst_first(case: LeafCase, grave: Sequence[Severity]) -> tuple[float, ...]:
    demands = [each for each in case.breaks if each.severity in grave]
    failed = sum(each.verdict == "FAIL" for each in demands)
    size = case.records if isinstance(case.records, int | float) else 0.0
    return (-failed, -len(demands), size)


def _case(
    evidence: Evidence, tree: int, node: int, broken: list[tuple[Finding, list[Place]]]
) -> LeafCase:
    first = broken[0][1][0]
    drawn = evidence.trees[tree]
    here = evidence.stops[tree] == node
    records = float(evidence.population.counts[here].sum())
    label, share = node_label(drawn, drawn.nodes[node]), _share(evidence, tree, node)
    breaks = tuple(_break(finding, places) for finding, places in broken)
    path = path_text(drawn, node) or "every record"
    story = f"{counted(records, 'person has', 'people have')} {path}."
    if share:
        story += f" The tree says “{label}” of them, which is true of {share}."
    told = next((each for each in breaks if each.profile), None)
    if told is not None:
        story += f" For instance {told.profile}: {told.note or told.text}."
    return LeafCase(
        tree=tree,
        node=first.name,
        line=first.line,
        path=path,
        label=label,
        records=number(records),
        records_text=count(records),
        label_share_text=share,
        breaks=breaks,
        story=story,
    )


def _break(finding: Finding, places: list[Place]) -> Break:
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
    )


def _share(evidence: Evidence, tree: int, node: int) -> str:
    """Return the share of a leaf's people of whom its label is true; "" where that cannot be told."""
    truth, own = evidence.truth, evidence.trees[tree]
    label = node_label(own, own.nodes[node])
    if isinstance(truth, Undetermined) or label not in evidence.classes:
        return ""
    here = truth[evidence.stops[tree] == node].sum(axis=0)
    total = float(here.sum())
    return percent(float(here[evidence.classes.index(label)]) / total) if total else ""
