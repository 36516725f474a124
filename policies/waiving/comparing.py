"""Holds a baseline against a decision: what was known and is no worse does not count."""

from __future__ import annotations

from dataclasses import replace

from treewarden.audit.reading import Interval, Reading, exactly
from treewarden.audit.spots import MOST_SPOTS
from treewarden.policies.judging.decision import Accepted, Decision, Finding, Place
from treewarden.policies.rules import rules
from treewarden.policies.severity import Severity
from treewarden.policies.verdict import Verdict
from treewarden.policies.waiving.baseline import (
    Baseline,
    Circumstances,
    Known,
    ModelBaseline,
    at_worst,
    notes_of,
    sayable,
)
from treewarden.policies.waiving.breaking import (
    group_of,
    groups_of,
    is_listed,
    is_of_pack,
    verdict_of,
    with_places,
)

OTHER_MODEL = "baseline-other-model"
OTHER_AUDIT = "baseline-other-audit"
KNOWN = Accepted("baseline", "known to the baseline, and no worse")


def held_against(
    decision: Decision, baseline: Baseline, name: str, under: Circumstances
) -> Decision:
    """Return a decision in which what a baseline knows of this model, and is no worse now, does not count.

    Where the baseline has no such model, or was written under other circumstances, nothing is hidden, and a finding
    says why.
    """
    old = baseline.models.get(sayable(name))
    if old is None:
        have = ", ".join(sorted(baseline.models)) or "none"
        problem = (
            f"The baseline has no model {name!r}, so that all its findings count; it has {have}."
        )
        return _noted(decision, OTHER_MODEL, problem, "note")
    other = _differing(old.circumstances, under)
    if other:
        problem = (
            f"The baseline of {name!r} was written with another {other}, so that it hides nothing; "
            "write a new one if these findings are to be known from now on."
        )
        return _noted(decision, OTHER_AUDIT, problem, "warning")
    findings = tuple(_hidden(each, old) for each in decision.findings)
    result = replace(decision, findings=findings)
    return replace(result, verdict=verdict_of(result))


def _differing(old: Circumstances, new: Circumstances) -> str:
    """Return in words what is not the same; "" where everything is."""
    words = {
        "target": "target",
        "policy_sha256": "policy",
        "policy": "policy",
        "version": "policy",
        "quasi_identifiers": "set of quasi-identifiers",
        "knowledge": "knowledge of the adversary",
    }
    return next((said for key, said in words.items() if getattr(old, key) != getattr(new, key)), "")


def _noted(decision: Decision, name: str, problem: str, severity: Severity) -> Decision:
    count = exactly(1)
    found = Finding(name, "", (), "", None, "", severity, count, Verdict.FAIL, problem)
    result = replace(decision, findings=(found, *decision.findings))
    return replace(result, verdict=verdict_of(result))


def _hidden(finding: Finding, old: ModelBaseline) -> Finding:
    """Return a finding with those of its leaves accepted that are known and no worse, all their places together.

    So it is with profiles of who knows some columns only, each by itself.
    """
    if finding.verdict is Verdict.PASS or not is_of_pack(finding):
        return finding
    known = {each.leaf: each for each in old.findings if each.clause == finding.key}
    before = known.get("")
    is_known = before is not None and not _is_worse(
        finding, finding.verdict, finding.reading, before
    )
    fine = {
        leaf
        for leaf, places in groups_of(finding).items()
        if leaf in known and _is_as_before(finding, places, known[leaf])
    }
    if not finding.places:
        return replace(finding, accepted=finding.accepted or (KNOWN if is_known else None))
    whole = len(finding.places) < MOST_SPOTS and (is_known or is_listed(finding))
    return with_places(
        finding, lambda place: KNOWN if group_of(finding, place) in fine else None, whole
    )


def _is_as_before(finding: Finding, places: list[Place], known: Known) -> bool:
    verdict, reading = at_worst(finding, places)
    is_same = notes_of(finding, places) == known.notes
    return (
        is_same and len(places) <= known.places and not _is_worse(finding, verdict, reading, known)
    )


def _is_worse(finding: Finding, verdict: Verdict, reading: Reading, known: Known) -> bool:
    """Return whether a verdict or either end of a reading moved toward danger, or what is open was not open before."""
    if verdict.word != known.verdict:
        return True
    before = known.reading
    if not isinstance(reading, Interval) or before is None:
        return isinstance(reading, Interval) or before is not None
    if finding.rule not in rules():
        return not known.leaf or reading != before
    if rules()[finding.rule].risk == "low":
        return reading.low < before.low or reading.high < before.high
    return reading.low > before.low or reading.high > before.high
