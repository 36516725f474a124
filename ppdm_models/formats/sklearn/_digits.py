"""Whether the numbers of a scikit-learn tree have the digits that its counts give, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.formats.sklearn._arrays import TreeArrays

ULP = 4 * float(np.finfo(np.float64).eps)
"""How far a share may be from its counts, relatively; scikit-learn divides once."""
IMPURITY = 1e-12
"""How far an impurity may be from that of its counts."""
MOST_FRACTION = 0.01
"""How far a count may be from a whole number: beyond it records had weights, whose sums happen to be whole."""


def odd_digits(
    arrays: TreeArrays, *, is_class: bool, criterion: object
) -> Iterator[tuple[str, str]]:
    """Yield "nodes" or "values", and what in them whole counts do not give; weighted counts may be any numbers."""
    inner = arrays.children_left >= 0
    left, right = arrays.children_left[inner], arrays.children_right[inner]
    if (arrays.samples[left] + arrays.samples[right] != arrays.samples[inner]).any():
        yield "nodes", "numbers of records that do not add up"
    if not is_class or (arrays.weighted != np.round(arrays.weighted)).any():
        return
    value, weighted = arrays.value, arrays.weighted[:, None]
    if not weighted.any():
        if not ((value == 0) | (value == 1)).all():
            yield "values", "class shares of nodes that count nobody"
        return
    if (arrays.samples > arrays.weighted).any() or not weighted.all():
        yield "nodes", "more records in a node than were drawn for it, or a node of none"
        return
    are_shares = bool(np.allclose(value.sum(axis=1), 1.0)) and value.max() <= 1
    counts = value * weighted if are_shares else value
    whole = np.round(counts)
    if (np.abs(counts - whole) > MOST_FRACTION).any():
        return
    exact = whole / weighted if are_shares else whole
    if (np.abs(value - exact) > ULP * np.maximum(exact, ULP)).any():
        yield "values", "digits of class shares that no counts give"
    if arrays.impurity is None:
        return
    expected = _impurity(whole / weighted, criterion)
    if expected is None or (np.abs(arrays.impurity - expected) > IMPURITY).any():
        yield "nodes", "impurities that are not those of the class counts"


def _impurity(shares: FloatArray, criterion: object) -> FloatArray | None:
    """Return the impurity of each node, (n,), None for a criterion that is not known."""
    if criterion == "gini":
        squares: FloatArray = (shares**2).sum(axis=1)
        return 1.0 - squares
    if criterion not in ("entropy", "log_loss"):
        return None
    entropies: FloatArray = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return entropies
