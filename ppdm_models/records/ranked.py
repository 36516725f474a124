"""The middle or the largest of what the members of an ensemble say."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import Combination


def ranked(combination: Combination, said: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the middle or the largest of what the members say; nothing where one of them says nothing."""
    asked = weights != 0.0
    silent = (asked & np.isnan(said).any(axis=2)).any(axis=0) | ~asked.any(axis=0)
    kept = np.where(asked[:, :, None] & ~silent[None, :, None], said, np.nan)
    kept[0, silent] = 0.0
    if combination is Combination.MAX:
        total = np.nanmax(kept, axis=0)
    elif combination is Combination.MEDIAN:
        total = np.nanmedian(kept, axis=0)
    else:
        total = _weighted_median(kept, weights)
    total[silent] = np.nan
    return np.asarray(total)


def _weighted_median(said: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the least number that half of the weight is not above (as scikit-learn's AdaBoostRegressor has it)."""
    order = said.argsort(axis=0)
    upto = np.take_along_axis(weights[:, :, None], order, axis=0).cumsum(axis=0)
    middle = np.argmax(upto >= 0.5 * upto[-1], axis=0)
    chosen = np.take_along_axis(order, middle[None], axis=0)
    return np.asarray(np.take_along_axis(said, chosen, axis=0)[0])
