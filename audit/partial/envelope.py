"""Inference by an adversary who may know a thing or not: the estimate spans both, and tables count that fit both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.reading import Undetermined

SAYING_NOT_USED = "what other columns say of the secret is not used of tables that fit"


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


def keep_common_tables(
    worlds: ConsistentTables | Undetermined, saying: ConsistentTables | Undetermined
) -> ConsistentTables | Undetermined:
    """Return proofs with those tables only that fit what other columns say of the secret too."""
    if isinstance(worlds, Undetermined) or isinstance(saying, Undetermined):
        return worlds if isinstance(worlds, Undetermined) else saying
    return replace(
        worlds,
        reached_low=np.maximum(worlds.reached_low, saying.reached_low),
        reached_high=np.minimum(worlds.reached_high, saying.reached_high),
        witnesses=(),
        not_decided=(*worlds.not_decided, SAYING_NOT_USED),
    )
