"""Where a tree breaks its policy, leaf by leaf: who is there, which demands break, and the worst of it as a story."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.decision import Decision, Finding, Place
from treewarden.policies.severity import SEVERITIES, Severity
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.reports.building.nodes import node_label
from treewarden.reports.building.values import place_value
from treewarden.reports.building.worded import word
from treewarden.reports.document.parts import Accepted, Break, LeafCase, number
from treewarden.reports.document.words import count, counted, percent

Key = tuple[int, int]
WORST = 3
"""The top of a page tells of so many leaves."""
MOST_CASES = 30
"""A report tells of so many leaves; the rest is counted, and every place stands with its finding in the document."""


def leaf_cases(evidence: Evidence, decision: Decision) -> tuple[LeafCase, ...]:
    """Return the leaves in which some demand is not met, those that break most first, and of these the smallest.

    The first few, of which a page tells at its top, are of different people where there are such: several trees have
    leaves of the same ones.
    """
    found: dict[Key, list[tuple[Finding, list[Place]]]] = {}
    for finding in decision.own:
        if finding.verdict is Verdict.PASS:
            continue
        here: dict[Key, list[Place]] = {}
        for place in finding.places:
            if place.kind in ("leaf", "profile") and not _is_unknown(evidence, place):
                here.setdefault((place.tree, place.node), []).append(place)
        for key, places in here.items():
            found.setdefault(key, []).append((finding, places))
    cases = {key: _case(evidence, *key, broken) for key, broken in found.items()}
    grave = SEVERITIES[SEVERITIES.index(decision.fail_on) :]
    keys = sorted(cases, key=lambda key: _worst_first(cases[key], grave))
    first = _of_different_people(evidence, keys)
    return tuple(cases[key] for key in dict.fromkeys((*first, *keys)))


def _of_different_people(evidence: Evidence, keys: Sequence[Key]) -> list[Key]:
    """Return the first leaves, as trees and nodes, that have no people in common; else, that have others as well."""
    told = np.zeros(evidence.stops.shape[1], dtype=bool)
    found: list[Key] = []
    for may_share in (False, True):
        for tree, node in keys:
            here = evidence.stops[tree] == node
            if (
                len(found) < WORST
                and (here & ~told).any()
                and (may_share or not (here & told).any())
            ):
                told |= here
                found.append((tree, node))
    return found


def _is_unknown(evidence: Evidence, place: Place) -> bool:
    """Whether a place stands for all of which nothing is known, as there is no table: it is no leaf."""
    return (
        evidence.population.is_absent and not evidence.trees[place.tree].nodes[place.node].is_leaf
    )


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
        leaf=first.leaf,
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
        accepted=_accepted(places),
    )


def _accepted(places: list[Place]) -> Accepted | None:
    """Return why what breaks a demand in a leaf does not count; None where something of it does."""
    reasons = list(dict.fromkeys(place.accepted for place in places))
    if any(each is None for each in reasons):
        return None
    known = [each for each in reasons if each is not None]
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
