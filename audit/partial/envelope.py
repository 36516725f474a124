"""What somebody believes who may know a thing or not: his estimate spans both, and tables show what fits both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.reading import Undetermined

SAYING_NOT_USED = "what other columns say of the secret is not used of tables that fit"


def spanning(
    own: Posterior | Undetermined, *others: Posterior | Undetermined
) -> Posterior | Undetermined:
    """Return an estimate whose ends take in other estimates of the same people."""
    for other in others:
        if isinstance(own, Undetermined) or isinstance(other, Undetermined):
            return own if isinstance(own, Undetermined) else other
        low, high = np.minimum(own.low, other.low), np.maximum(own.high, other.high)
        own = Posterior(own.values, own.decided & other.decided, low, high)
    return own


def shown_by_both(
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
