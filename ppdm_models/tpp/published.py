"""Step 3 of tree-pattern-preserving sanitisation as it is printed; it does not always keep the tree.

Two splits that share a boundary value both write their interval, and the second moves the threshold of the first;
values strictly between the boundaries of a split become small groups of their own. Both are shown in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tpp.splits import Cut


def as_printed(distinct: FloatArray, counts: FloatArray, cuts: Sequence[Cut]) -> FloatArray:
    """Return the new value of each ascending distinct value, shape (U,); ``counts`` are records per value.

    Means are over records, and an interval with two boundaries is halved by its distinct values: the text leaves both
    open. An interval without a boundary becomes its mean.
    """
    interval = _intervals(distinct, cuts)
    totals = np.bincount(interval, weights=distinct * counts)
    means = totals / np.bincount(interval, weights=counts)
    values = means.copy()
    for cut in cuts:
        left, right = (interval[np.searchsorted(distinct, v)] for v in (cut.left, cut.right))
        shift = min(cut.left - means[left], means[right] - cut.right)
        values[left], values[right] = cut.left - shift, cut.right + shift
    moved: FloatArray = values[interval]
    return moved


def _intervals(
    distinct: FloatArray, cuts: Sequence[Cut]
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the interval of each distinct value: one ends at each left boundary, one starts at each right one."""
    ends = {int(np.searchsorted(distinct, cut.left)) for cut in cuts}
    starts = {int(np.searchsorted(distinct, cut.right)) for cut in cuts}
    opened = sorted({0, *starts, *(end + 1 for end in ends if end + 1 < len(distinct))})
    halves = []
    for first, after in zip(opened, [*opened[1:], len(distinct)], strict=True):
        if first in starts and after - 1 in ends and after - first > 1:
            halves.append(first + (after - first + 1) // 2)
    begins = np.zeros(len(distinct), dtype=np.intp)
    begins[[*opened, *halves]] = 1
    return np.cumsum(begins) - 1
