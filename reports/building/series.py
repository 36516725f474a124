"""The series behind a report's pictures: how sure of how many, and how far from the truth for how many."""

from __future__ import annotations

import numpy as np

from treewarden.audit.divergence import individual_divergences
from treewarden.audit.estimate.posterior import Posterior
from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Exposure
from treewarden.audit.worlds.result import Worlds
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.arrays import FloatArray, by_rows
from treewarden.reports.building.worded import value
from treewarden.reports.document.parts import Certainty, Divergence, Level, Plots
from treewarden.reports.document.words import count, percent

GRID = np.linspace(0.0, 1.0, 101)
BINS = 24
TIE = 1e-6
"""Probabilities are checked to 1e-6, so one that much below a mark has reached it."""
SURE = 0.9


def plots(exposure: Exposure, decision: Decision) -> Plots:
    """Return the series of an audit; each that cannot be drawn says why."""
    evidence = exposure.evidence
    estimate, truth = evidence.estimate, evidence.truth
    if isinstance(estimate, Undetermined):
        return Plots(certainty_reason=estimate.reason, divergence_reason=estimate.reason)
    sure = _certainty(evidence, estimate, truth, _limit(decision, "disclosure", "confidence"))
    if isinstance(truth, Undetermined):
        return Plots(certainty=sure, divergence_reason=truth.reason)
    return Plots(
        certainty=sure,
        divergence=_divergence(estimate, truth, _limit(decision, "kl_individual")),
        levels=tuple(
            Level(
                name=level.name,
                guess_accuracy=value(level.guess_accuracy, "share"),
                disclosure=value(level.disclosure, "share"),
                kl_overall=value(level.kl_overall, "nats per record"),
            )
            for level in exposure.levels
        ),
    )


def sure_records(
    evidence: Evidence, estimate: Posterior, mark: float
) -> tuple[float, float | None]:
    """Return how many records the adversary is that sure about, and how many of these guesses are right, if known."""
    truth = evidence.truth
    best = estimate.values.argmax(axis=1)
    reached = by_rows(np.maximum, estimate.high) >= mark - TIE
    sure = float(evidence.population.counts[reached].sum())
    if isinstance(truth, Undetermined):
        return sure, None
    return sure, float(truth[np.flatnonzero(reached), best[reached]].sum())


def _certainty(
    evidence: Evidence, estimate: Posterior, truth: FloatArray | Undetermined, limit: float | None
) -> Certainty:
    people = evidence.population
    sure, right = sure_records(evidence, estimate, SURE)
    known = "" if right is None or not sure else f", and is right about {count(right)} of them"
    whole_records = evidence.worlds
    worlds = certain = None
    if isinstance(whole_records, Worlds):
        proved = float(whole_records.counts[whole_records.certain].sum())
        known += f"; the value of {count(proved)} is proved by whole records"
        certain = proved / people.records
        worlds = _reached(_best_of_worlds(whole_records), people.counts)
    return Certainty(
        probability=_floats(GRID),
        guess=_reached(by_rows(np.maximum, estimate.high), people.counts),
        truth=None
        if isinstance(truth, Undetermined)
        else _reached(estimate.high.ravel(), truth.ravel()),
        worlds=worlds,
        worlds_are_proved_only=isinstance(whole_records, Worlds)
        and isinstance(whole_records.posterior, Undetermined),
        certain=certain,
        limit=limit,
        summary=f"The adversary is at least 90 % sure of the best guess about {count(sure)} of "
        f"{count(people.records)} records ({percent(sure / people.records)}){known}.",
    )


def _best_of_worlds(worlds: Worlds) -> FloatArray:
    """Return per profile the best guess's probability among all tables that fit, else what they all give at least."""
    if isinstance(worlds.posterior, Undetermined):
        return np.asarray(worlds.low.max(axis=1) / np.maximum(worlds.counts, 1))
    return np.asarray(worlds.posterior.values.max(axis=1))


def _divergence(estimate: Posterior, truth: FloatArray, limit: float | None) -> Divergence:
    low, _ = individual_divergences(estimate, truth)
    weights = truth.sum(axis=1) / truth.sum()
    finite = np.isfinite(low)
    top = float(low[finite].max(initial=0.0)) or 1.0
    shares, edges = np.histogram(low[finite], BINS, (0.0, top), weights=weights[finite])
    ruled_out = min(max(float(weights[~finite].sum()), 0.0), 1.0)
    said = (
        f" For {percent(ruled_out)} it is infinite: the adversary rules out what is true."
        if ruled_out
        else ""
    )
    near = float(weights[low < np.log(2)].sum())
    return Divergence(
        edges=_floats(edges),
        shares=_floats(shares),
        infinite=ruled_out,
        limit=limit,
        summary="Near 0 the adversary’s picture is the truth. Below 0.69 (ln 2), where a true value is given "
        f"more than an even chance, lie {percent(near)} of the records.{said}",
    )


def _reached(values: FloatArray, weights: FloatArray) -> tuple[float, ...]:
    """Return the share of the weight whose value is at least each mark of the grid."""
    order = np.argsort(values, kind="stable")
    above = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])
    first = np.searchsorted(values[order], GRID - TIE, side="left")
    return _floats(above[first] / weights.sum())


def _limit(decision: Decision, *names: str) -> float | None:
    """Return the limit of the first clause on one of the measures, in the order of the measures."""
    for name in names:
        for finding in decision.findings:
            if finding.measure == name and not finding.parameters:
                return finding.limit
    return None


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
