"""Between which ends the posterior of each candidate lies, by rows of sums over members.

Before the file every set of as many people of the register is equally likely. Whoever adds the same to all rows can
change places with each other in every set that fits, so that all of them are members with the same probability: the
expected number of members among them, divided by how many they are. That number lies between the fewest and the most
members that rows leave them. Where these are the same the posterior is exact. It is the posterior of what rows say:
what the choice of splits says beside them is not in it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from treewarden.audit.engine.real_rows import RealRows, tighten
from treewarden.audit.membership.candidates import Candidates, ProbabilityBounds
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import IndexArray, IntArray


def bound_probabilities(
    rows: RealRows, boxes: tuple[IntArray, IntArray], candidates: Candidates, until: Clock
) -> ProbabilityBounds:
    """Return the ends; ``boxes`` are those of all unknowns of the rows, of which members come first.

    Raises:
        ContradictionError: no set of as many members fits.
    """
    low, high = boxes
    sizes = candidates.sizes
    kind_of_group = _exchangeable(rows, low, high, sizes)
    kinds = int(kind_of_group.max()) + 1
    unknowns = len(low) // len(sizes)
    kind_of_unknown = np.concatenate([kind_of_group + kinds * block for block in range(unknowns)])
    merged = _merged(rows, kind_of_unknown, kinds * unknowns)
    total = sparse.csr_array(
        (np.ones(kinds), (np.zeros(kinds, dtype=int), np.arange(kinds))),
        shape=(1, kinds * unknowns),
    )
    count = float(candidates.members_in_all)
    merged = RealRows(
        sparse.csr_array(sparse.vstack([merged.matrix, total], format="csr")),
        sparse.csr_array(sparse.vstack([merged.spread, 0.0 * total], format="csr")),
        np.r_[merged.low, count],
        np.r_[merged.high, count],
    )
    least, most = (
        np.rint(np.bincount(kind_of_unknown, ends, kinds * unknowns)).astype(np.int64)
        for ends in (low, high)
    )
    least, most = tighten(merged, least, most, until)
    people = np.bincount(kind_of_group, sizes, kinds)
    return ProbabilityBounds(
        (least[:kinds] / people)[kind_of_group], (most[:kinds] / people)[kind_of_group]
    )


def _exchangeable(rows: RealRows, low: IntArray, high: IntArray, sizes: IntArray) -> IndexArray:
    """Return the kind of each group, (G,): those that add the same to all rows, and are proved alike."""
    matrix, spread = rows.matrix.tocsc(), rows.spread.tocsc()
    size, unknowns = len(sizes), len(low) // len(sizes)
    proved = np.where(high[:size] == 0, 1, np.where(low[:size] == sizes, 2, 0)).tolist()
    numbers: dict[object, int] = {}
    kind = np.zeros(size, dtype=np.intp)
    for group in range(size):
        key: list[object] = [proved[group]]
        for column in range(group, size * unknowns, size):
            part = slice(matrix.indptr[column], matrix.indptr[column + 1])
            key += [matrix.indices[part].tobytes(), matrix.data[part].tobytes()]
            key.append(spread.data[part].tobytes())
        kind[group] = numbers.setdefault(tuple(key), len(numbers))
    return kind


def _merged(rows: RealRows, kind_of_unknown: IndexArray, kinds: int) -> RealRows:
    """Return rows over the sums of unknowns of one kind, which have the same coefficients."""
    first = np.unique(kind_of_unknown, return_index=True)[1]
    assert len(first) == kinds
    matrix, spread = (
        sparse.csr_array(part.tocsc()[:, first].tocsr()) for part in (rows.matrix, rows.spread)
    )
    return RealRows(matrix, spread, rows.low, rows.high)
