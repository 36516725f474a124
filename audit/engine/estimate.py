"""The maximum-entropy estimate of groups of people: what is most likely of each, and how good that is proved to be."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    """The maximum-entropy estimate: shares of each class by group, ``values`` (C, m), rows sum to 1.

    ``bound`` is proved: no table that fits has more entropy (nats, summed over people); ``gap`` is how far the
    estimate's own entropy may be below it, and ``residual`` how many people a row is missed by at most.
    """

    values: FloatArray
    bound: float
    gap: float
    residual: float
