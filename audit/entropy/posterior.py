"""The adversary's posterior by maximum entropy: P*(sensitive value | quasi-identifiers) for every profile.

It comes with its distance from the true distribution (Zhu & Du 2010, section 5), and with how it was found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.reading import Interval, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, by_rows


@dataclass(frozen=True, slots=True)
class Posterior:
    """One row per profile, one column per class; rows sum to 1.

    ``decided`` says per profile whether its row was found and checked: a profile whose part of the problem stalled is
    not, and whatever reads it must be undetermined. ``low`` and ``high`` bound what equally good estimates give, where
    the optimum is known not to be unique; they equal ``values`` elsewhere.
    """

    values: FloatArray
    decided: BoolArray
    low: FloatArray
    high: FloatArray


def certain(values: FloatArray) -> Posterior:
    """Return a posterior that is known for every profile."""
    return Posterior(values, np.ones(len(values), dtype=bool), values, values)


def span_estimates(
    posterior: Posterior | Undetermined, *others: Posterior | Undetermined
) -> Posterior | Undetermined:
    """Return an estimate whose ends take in other estimates of the same people."""
    for other in others:
        if isinstance(posterior, Undetermined) or isinstance(other, Undetermined):
            return posterior if isinstance(posterior, Undetermined) else other
        low, high = np.minimum(posterior.low, other.low), np.maximum(posterior.high, other.high)
        posterior = Posterior(posterior.values, posterior.decided & other.decided, low, high)
    return posterior


def entropy(values: FloatArray, counts: FloatArray) -> float:
    """Return H(class | profile) in nats per record (Zhu & Du 2010, section 4)."""
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return float(-(counts[:, None] * values * logs).sum() / counts.sum())


def entropies(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return each profile's entropy times its records, in nats, shape (K,)."""
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(-counts * by_rows(np.add, values * logs))


# The leave-one-out estimate, of the table that lacks one person: a record that measures read without any solver.


@dataclass(frozen=True, slots=True)
class Without:
    """What is believed of each class among the rest of a profile, in the table without one record of just these.

    ``low`` and ``high`` have shape (P, m); they are 0 and 1 where the estimate was not made again.
    """

    low: FloatArray
    high: FloatArray


def span_without(
    estimates: Without | Undetermined, *others: Without | Undetermined
) -> Without | Undetermined:
    """Return leave-one-out estimates whose ends take in others of the same people."""
    for other in others:
        if isinstance(estimates, Undetermined) or isinstance(other, Undetermined):
            return estimates if isinstance(estimates, Undetermined) else other
        low = np.minimum(estimates.low, other.low)
        estimates = Without(low, np.maximum(estimates.high, other.high))
    return estimates


# How an estimate was found, and how good it is.


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """How many blocks the estimate was solved in, and how many of them are of a kind.

    ``stalled`` ones were not solved; in ``flat`` ones other estimates beside the one found are as good, in ``several``
    others apart from it; in ``symmetric_broken`` ones classes that no row tells apart had to differ, and in ``saddle``
    ones letting them differ would raise the entropy.
    """

    total: int = 0
    stalled: int = 0
    flat: int = 0
    several: int = 0
    symmetric_broken: int = 0
    saddle: int = 0


@dataclass(frozen=True, slots=True)
class SolverRun:
    """What the solver did, and how exact that is.

    ``door`` is the backend. ``max_violation`` is the largest relative violation over all rows, re-checked outside the
    solver, and ``kkt_error`` the largest stationarity residual.
    """

    door: str = "none"
    iterations: int = 0
    seconds: float = field(default=0.0, compare=False)
    max_violation: float | None = None
    kkt_error: float | None = None


@dataclass(frozen=True, slots=True)
class SolverReport:
    """How the estimate was found, and how good it is. Entropies in nats per record.

    ``status`` is "closed form", "optimal", "stalled" or "not run"; ``entropy_bound`` is the best proved upper bound on
    the entropy and ``bound_argument`` what proves it: "closed form", "convex", "elastic" or "relaxation";
    ``entropy_relaxed`` is the entropy without the split rows. ``is_unique`` is true where the optimum is proved to be
    the only one.
    ``split_rows`` is "integer" where split rows are statements about whole records, "real" otherwise;
    ``profiles_fixed`` counts the profiles of which whole records prove everything. ``signatures`` is how many kinds of
    profiles the estimate tells apart, which is what it costs: those of a kind have a leaf in common and, where it has
    blocks, the side in each of their rows.
    """

    status: str
    entropy: float | None = None
    entropy_bound: float | None = None
    entropy_relaxed: float | None = None
    bound_argument: str = ""
    run: SolverRun = SolverRun()
    rows: int = 0
    rows_active: int = 0
    blocks: BlockCounts = BlockCounts()
    profiles_fixed: int = 0
    signatures: int = 0
    split_rows: str = "real"
    is_convex: bool = True
    is_unique: bool = False
    reason: str = ""


def individual_divergences(estimate: Posterior, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the low and the high end of each profile's divergence in nats, shape (P,) each.

    D_individual = sum_c P(c|q) ln(P(c|q) / P*(c|q)) (Zhu & Du 2010, section 5); infinite where the estimate rules a
    true value out, 0 for a profile without records.
    """
    totals = by_rows(np.add, truth)[:, None]
    shares = np.divide(truth, totals, out=np.zeros_like(truth), where=totals > 0)
    low = _divergence(shares, estimate.high)
    if np.array_equal(estimate.low, estimate.high):
        return low, low
    return low, _divergence(shares, estimate.low)


def overall_divergence(estimate: Posterior, truth: FloatArray) -> Interval:
    """Return D_overall = sum_q P(q) D_individual(q), in nats per record.

    No divergence is negative, so where some are infinite the finite ones still bound the sum from below.
    """
    low, high = individual_divergences(estimate, truth)
    weights = by_rows(np.add, truth) / truth.sum()
    low = np.where(np.isfinite(low), low, 0.0)
    # Both ends are added up in the same order, so that rounding cannot bring them past each other.
    return Interval(float((weights * low).sum()), float((weights * high).sum()))


def _divergence(shares: FloatArray, estimate: FloatArray) -> FloatArray:
    true = shares > 0
    ratios = np.divide(estimate, shares, out=np.ones_like(shares), where=true)
    with np.errstate(divide="ignore"):
        terms = np.where(true, -shares * np.log(np.where(true, ratios, 1.0)), 0.0)
    return np.asarray(np.maximum(by_rows(np.add, terms), 0.0))
