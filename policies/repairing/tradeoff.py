"""Privacy against utility: how far a decision meets its policy, and which of several trees no other one beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import BoolArray

MOST = 2.0
"""Met twice over: more is not told apart."""


def privacy(decision: Decision) -> float | None:
    """Return how far the worst clause that counts is shown to be met, at most ``MOST``; None if it is not told.

    ``Rule.margin`` says how far that is: 1 at the limit, 0.5 half way. A combination has no one limit: it is met, 1, or
    not at all.
    """
    met = [
        _met(finding)
        for finding in decision.findings
        if decision.counts(finding) and not finding.is_about_evidence
    ]
    told = [each for each in met if each is not None]
    return min(told) if told and len(told) == len(met) else None


def _met(finding: Finding) -> float | None:
    if finding.limit is None:
        return {Verdict.PASS: 1.0, Verdict.FAIL: 0.0}.get(finding.verdict)
    margin = rules()[finding.rule].margin(finding.reading, finding.limit)
    return None if margin is None else min(margin, MOST)


def unbeaten(points: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each point whether it is on the Pareto front: none is as good in every number and better in one."""
    if not points:
        return []
    each = np.array(points, dtype=np.float64)
    as_good = (each[:, None] >= each[None, :]).all(axis=2)
    better = (each[:, None] > each[None, :]).any(axis=2)
    beats: BoolArray = np.logical_and(as_good, better)
    return [not bool(beats[:, point].any()) for point in range(len(points))]
