"""How far an adversary's estimate is from the truth (Zhu & Du 2010, section 5)."""

from __future__ import annotations

import numpy as np

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.reading import Interval
from treewarden.ppdm_models.arrays import FloatArray, by_rows


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
