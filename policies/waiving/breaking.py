"""What of a finding may be accepted at all, and when a finding is accepted as a whole."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from treewarden.audit.of_releases import is_adversary
from treewarden.audit.reading import Interval, Reading, Undetermined
from treewarden.audit.spots import MOST_SPOTS
from treewarden.policies.judging.decision import Accepted, Decision, Finding, Place
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict, worst
from treewarden.ppdm_models.tree.fingerprint import LETTERS

ABOUT_THE_EVIDENCE = (
    "table-agrees",
    "facts-agree",
    "releases-linked",
    "target-named",
    "file-agrees",
    "labels-believed",
    "nothing-judged",
)
"""Findings that say whether anything can be believed; what they say is never accepted."""


def is_of_pack(finding: Finding) -> bool:
    """Return whether a finding is what came of a clause of the pack, and not about the evidence or about waivers."""
    return bool(finding.measure)


def groups_of(finding: Finding) -> Mapping[str, list[Place]]:
    """Return the places of a finding by what they are in any audit; those of which nothing says that are left out."""
    groups: dict[str, list[Place]] = {}
    for place in finding.places:
        key = group_of(finding, place)
        if key:
            groups.setdefault(key, []).append(place)
    return groups


def group_of(finding: Finding, place: Place) -> str:
    """Return what a place is in any audit: its leaf, by the fingerprint; "" where nothing says that.

    Who knows some columns only sees people in no leaf. There they are the same where the columns have the same values
    and the same is said of them (so many records with that value): a digest, as this is kept where no profile stands.
    """
    if place.leaf or place.kind != "profile" or not is_adversary(finding.of):
        return place.leaf
    said = json.dumps([place.profile, place.note])
    return f"profile {hashlib.sha256(said.encode('ascii')).hexdigest()[:LETTERS]}"


def verdict_at(finding: Finding, place: Place) -> Verdict:
    """Return the verdict on one place; UNDETERMINED where that is not told.

    Where a clause has no rule, as several measures make it up, its places read 1 where they fail, and from 0 to 1 where
    that is open.
    """
    if finding.limit is None or finding.rule not in rules():
        return Verdict.FAIL if place.low == place.high == 1 else Verdict.UNDETERMINED
    return rules()[finding.rule].judge(reading_at(place), finding.limit)


def reading_at(place: Place) -> Reading:
    """Return what was read at one place; what is no number is not told."""
    if math.isnan(place.low) or math.isnan(place.high):
        return Undetermined("not a number")
    return Interval(place.low, place.high)


def is_beyond(finding: Finding, reading: Interval, limit: float) -> bool:
    """Return whether a reading reaches further into danger than a number; true where that cannot be told."""
    if finding.rule not in rules():
        return True
    return reading.low < limit if rules()[finding.rule].risk == "low" else reading.high > limit


def is_listed(finding: Finding) -> bool:
    """Return whether the places that are named are all that breaks a clause, so that each can be accepted for itself.

    They are not where the list was cut, where nothing says which place one is, or where the reading is worse than what
    the places account for: as the worst of them, or as their sum.
    """
    if not 0 < len(finding.places) < MOST_SPOTS:
        return False
    if not all(group_of(finding, each) for each in finding.places):
        return False
    if isinstance(finding.reading, Undetermined):
        return False
    if finding.rule not in rules():  # then it is read how many places break it
        return finding.reading.high == len(finding.places)
    if rules()[finding.rule].risk == "low":
        return finding.reading.low == min(each.low for each in finding.places)
    highs = [each.high for each in finding.places]
    if finding.reading.high == max(highs):
        return True
    return all(map(math.isfinite, highs)) and math.isclose(finding.reading.high, math.fsum(highs))


def with_places(
    finding: Finding, accept: Callable[[Place], Accepted | None], whole: bool
) -> Finding:
    """Return a finding with more of its places accepted, and accepted itself where all are and these are the ``whole``.

    What is accepted stays so, for the reason it has.
    """
    places = tuple(
        each if each.accepted is not None else replace(each, accepted=accept(each))
        for each in finding.places
    )
    found = replace(finding, places=places)
    reasons = [each.accepted for each in places]
    if finding.accepted is not None or not whole or not reasons or not all(reasons):
        return found
    return replace(found, accepted=_joined([each for each in reasons if each is not None]))


def verdict_of(decision: Decision) -> Verdict:
    """Return the verdict over what counts and is not accepted; undetermined where no clause counts."""
    counted = [each for each in decision.findings if decision.counts(each)]
    clauses = [each.open_verdict for each in counted if is_of_pack(each)]
    others = [each.open_verdict for each in counted if not is_of_pack(each)]
    return max([worst(clauses), *others])


def _joined(reasons: list[Accepted]) -> Accepted:
    """Return one reason for several: each once; somebody's waiver is named rather than a baseline."""
    texts = "; ".join(dict.fromkeys(each.reason for each in reasons))
    is_waived = any(each.by == "waiver" for each in reasons)
    return Accepted("waiver" if is_waived else "baseline", texts)
