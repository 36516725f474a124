"""The adversary's best unbiased guess: P*(sensitive value | quasi-identifiers) for every profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray


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


def entropy(values: FloatArray, counts: FloatArray) -> float:
    """Return H(class | profile) in nats per record (Zhu & Du 2010, section 4)."""
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return float(-(counts[:, None] * values * logs).sum() / counts.sum())
