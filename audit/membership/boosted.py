"""Members of boosted models: the rows that leaf values are over a register, and what these prove together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.real_rows import RealRows, tighten
from treewarden.audit.inverters import GrownCase, MemberSums, member_sums, taking_defaults
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.result import MembershipInference
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.growth import EnsembleGrowth
from treewarden.ppdm_models.tree.tree import Tree

NOT_ESTIMATED = Undetermined(
    "how likely somebody is a member whom the leaf values neither prove to be one nor exclude is not worked out"
)
OTHER_PEOPLE = (
    "the members of the table do not have the sums that its leaves say; the model was grown on other people, on a "
    "sample or with weights"
)
OPEN_MEMBERS = "that other members have the same sums is not shown, so that whoever is not proved is not decided"


def infer_boosted_members(
    growth: EnsembleGrowth,
    trees: Sequence[Tree],
    stops: IndexArray,
    candidates: Candidates,
    until: Clock,
) -> MembershipInference | Undetermined:
    """Return what leaf values say of who of a register is in the table; ``stops`` (T, G) is where groups stop."""
    sizes = candidates.sizes
    case = GrownCase(growth, tuple(trees), stops, sizes.astype(np.float64), len(candidates.classes))
    rows = _true_rows(case, candidates)
    if isinstance(rows, Undetermined):
        taken = taking_defaults(case)
        by_default = rows if taken is None else _true_rows(taken, candidates)
        if isinstance(by_default, Undetermined):
            return rows
        rows = by_default
    low, high = _start(candidates)
    try:
        low, high = tighten(rows, low, high, until)
    except ContradictionError as error:
        return Undetermined(str(error))
    inside = candidates.members.sum(axis=1)
    low, high = low[: len(sizes)], high[: len(sizes)]
    return MembershipInference(
        candidates=candidates,
        low=low,
        high=high,
        shown_low=inside,
        shown_high=inside,
        probability=_certain_probability(low, high, sizes),
        left=() if (low == high).all() else (OPEN_MEMBERS,),
    )


def _true_rows(case: GrownCase, candidates: Candidates) -> RealRows | Undetermined:
    """Return what leaf values say of the register, if the true members fulfil it; else why nothing is said."""
    sums = member_sums(case)
    if isinstance(sums, Undetermined):
        return sums
    rows = _rows(sums, candidates)
    is_true = rows.holds(_true_unknowns(candidates)).all()
    return rows if is_true else Undetermined(OTHER_PEOPLE)


def _certain_probability(
    low: IntArray, high: IntArray, sizes: IntArray
) -> FloatArray | Undetermined:
    """Return the share of each group that is in, where it is proved of all of them."""
    return low / sizes if (low == high).all() else NOT_ESTIMATED


def _start(candidates: Candidates) -> tuple[IntArray, IntArray]:
    """Return the boxes of the unknowns: the members of each group, then those who have each class but the first."""
    high = candidates.sizes
    if not candidates.is_labelled:
        high = np.tile(high, len(candidates.classes))
    return np.zeros_like(high), high


def _true_unknowns(candidates: Candidates) -> IntArray:
    inside = np.asarray(candidates.members.sum(axis=1))
    if candidates.is_labelled:
        return inside
    return np.concatenate([inside, *candidates.members[:, 1:].T])


def _rows(sums: Sequence[MemberSums], candidates: Candidates) -> RealRows:
    """Return all sums as rows over the unknowns.

    Where the register says no classes a member of the class k adds what the first class does and the difference, so
    that the unknowns are the members of a group and, of these, those with each class but the first.
    """
    size, parts, spreads, low, high = len(candidates.sizes), [], [], [], []
    groups = np.arange(size)
    for one in sums:
        shape = (len(one.nodes), size)
        half = (one.each.high - one.each.low) / 2
        middle = one.each.low + half
        half = half + 4 * 2.0**-53 * (np.abs(middle) + 1)
        if candidates.class_of is not None:
            middle = middle + one.of_class[candidates.class_of]
            blocks, widths = [middle], [half]
        else:
            steps = one.of_class[1:] - one.of_class[0]
            blocks = [middle + one.of_class[0], *(np.full(size, step) for step in steps)]
            widths = [half, *(np.zeros(size) for _ in steps)]
        made = [
            [sparse.csr_array((numbers, (one.place, groups)), shape=shape) for numbers in each]
            for each in (blocks, widths)
        ]
        parts.append(sparse.hstack(made[0], format="csr"))
        spreads.append(sparse.hstack(made[1], format="csr"))
        low.append(one.total.low)
        high.append(one.total.high)
    if not candidates.is_labelled:
        matrix = _classes_within(size, len(candidates.classes))
        parts.append(matrix)
        spreads.append(
            sparse.csr_array(
                (np.zeros(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
            )
        )
        low.append(np.zeros(size))
        high.append(candidates.sizes.astype(np.float64))
    return RealRows(
        sparse.csr_array(sparse.vstack(parts, format="csr")),
        sparse.csr_array(sparse.vstack(spreads, format="csr")),
        np.concatenate(low),
        np.concatenate(high),
    )


def _classes_within(size: int, classes: int) -> sparse.csr_array:
    """Return rows of the members of each group less those with each class but the first, which are no fewer than 0."""
    one = sparse.eye_array(size, format="csr")
    return sparse.csr_array(sparse.hstack([one, *(-one for _ in range(classes - 1))], format="csr"))
