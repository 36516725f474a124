"""Leaf values that were cut to few digits, read again with what all leaves prove of each.

A value with few digits leaves bounds of the labels in its leaf. Other leaves may narrow these; then the value itself is
known better than its digits say it, so is what the model said of everybody before the next tree, and so are the sums of
all later leaves. Whoever has the file goes round until nothing moves.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.cells import Cells
from treewarden.audit.joint.counts import by_class, counts_of
from treewarden.audit.joint.propagation import by_leaves, propagate
from treewarden.audit.joint.rows import JointRows
from treewarden.audit.worlds.clock import Clock
from treewarden.ppdm_models.arrays import IndexArray, IntArray

MOST_ROUNDS = 30
"""So often leaves are read again with what one-row reasoning proves of them."""
MOST_PASSES = 3
"""So often they are with what all proofs together do."""
STILL_MOVING = (
    "leaf values were cut to few digits, and what all leaves prove of each narrowed them again and again; it was not "
    "followed to its end"
)


def narrower(
    sums: LeafSums, boxes: tuple[IntArray, IntArray], cells: Cells, stops: IndexArray
) -> tuple[IntArray, IntArray] | None:
    """Return the ends of sums, (R,), within which boxes by cell and class (C, m) leave them; None where none moves.

    ``stops`` (T, P) are where profiles stop in the trees that were joined; sums of later trees stay as they are.
    """
    low, high = sums.low.copy(), sums.high.copy()
    for tree, stopped in enumerate(stops):
        for output in np.unique(sums.output[sums.trees == tree]).tolist():
            rows = np.flatnonzero((sums.trees == tree) & (sums.output == output))
            place = np.searchsorted(sums.nodes[rows], stopped[cells.first])
            least, most = (
                np.rint(np.bincount(place, ends[:, output], len(rows))).astype(np.int64)
                for ends in boxes
            )
            low[rows], high[rows] = (
                np.maximum(low[rows], least),
                np.minimum(high[rows], most),
            )
    is_same = (low == sums.low).all() and (high == sums.high).all()
    return None if is_same else (low, high)


def proved_by_rows(rows: JointRows, until: Clock) -> tuple[IntArray, IntArray]:
    """Return the boxes (C, m) that one-row reasoning leaves.

    Raises:
        ContradictionError: no table fits.
    """
    counts = counts_of(rows)
    found = propagate(counts, by_leaves(counts), until)
    return by_class(counts, found.low, found.high)
