"""What the measures of exact worlds share."""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.audit.worlds.result import Worlds
from treewarden.ppdm_models.arrays import BoolArray


def known_worlds(evidence: Evidence) -> Worlds | Undetermined:
    """Return the worlds, or why nothing can be read from them."""
    worlds = evidence.worlds
    if isinstance(worlds, Worlds) and not worlds.counts.sum():
        return Undetermined("the table has no records")
    return worlds


def true_values(evidence: Evidence, worlds: Worlds) -> BoolArray:
    """Return which values some record of each profile truly has, (P, m); where that is not known, all that may be."""
    truth = evidence.population.truth
    return np.asarray(worlds.high > 0 if isinstance(truth, Undetermined) else truth > 0)
