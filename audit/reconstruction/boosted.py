"""Leaf values of boosted models as rows over cells of the public domain, and what these prove of records.

What a boosted model predicted for a record before each tree follows from the record's cell alone. So each record of a
cell adds the same number to the sums of derivatives that its leaf publishes (Chen & Guestrin 2016, equation 5), and
these sums are linear in the numbers of records by cell and class. Coefficients and sums are known between ends, the
rounding of the library's own arithmetic included: a table that gives the file fulfils all rows, but one that fulfils
them need not give the file. Rows therefore prove records, and never show another table.

How many records each cell has is asked first, by the sums that no class changes. Where that is known, the leaf values
of every library are inverted into whole numbers of records with each class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.real_rows import RealRows, tighten
from treewarden.audit.inverters import (
    GrownCase,
    LeafSums,
    MemberSums,
    inverters,
    knowing,
    leaf_sums,
    member_sums,
    taking_defaults,
)
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    EQUAL_WEIGHTS,
    ONLY_CLASSES,
    DomainCells,
    NodeRecords,
)
from treewarden.audit.reconstruction.problem import LARGEST, NO_RECORD
from treewarden.audit.reconstruction.proved import OpenPart, ProvedCounts, decide_part, fillings
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Ensemble, EnsembleGrowth, GrownTree
from treewarden.ppdm_models.tree.tree import Tree

MOST_ENTRIES = 8_000_000
"""Rows of more numbers than this are not made: their proofs would take longer than anybody waits."""
MOST_ROUTED = 50_000_000
"""So many points times trees are sent down at most: cells of larger domains are mostly too many for their rows."""
MOST_SEARCHED = 50_000
"""Rows of more numbers are not given to the solver of whole numbers."""
SCALE = 2.0**24
"""Coefficients are made whole by this factor, rounded outward, before the solver of whole numbers has them."""
NO_SIZES = Undetermined(
    "its leaves publish no sums that bound how many records each combination of values has"
)
TOO_LARGE = Undetermined(
    "its leaves times the combinations of values that they allow are too many; a smaller public "
    "domain (--domain) may decide it"
)
NO_TABLE = Undetermined(
    "no table within the public domain has the sums of its leaves, so the model was trained on a "
    "sample, with weights or with unpublished settings"
)
BY_DEFAULT = "the training settings that the file withholds are the library's defaults"
ALL_RECORDS = "each tree used all records, as the file does not say otherwise"
UNBOUNDED = (
    "no constraint bounded its leaf values (monotone_constraints), which the file never says"
)
UNSTATED = "the training settings that the file does not state have their defaults ({})"
MOST_NAMED = 3
"""So many settings are named that a file does not state."""
MORE_DIGITS = "sums of leaves are used as far as the library's rounding lets them be known"


@dataclass(frozen=True, slots=True)
class KnownTraining:
    """What an adversary knows of a training beside the file: ``settings`` that it may withhold.

    ``is_checked`` says that a table is there to hold rows against, so that the library's defaults may be tried: without
    it a proof by settings that are not known would be none.
    """

    settings: Mapping[str, float] = field(default_factory=dict)
    is_checked: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SumRows:
    """Rows over numbers of records by cell and class, flat (C m,), whose numbers are real and known between ends."""

    rows: RealRows

    def fits(self, table: IntArray) -> bool:
        """Whether a table, numbers of records by cell and class (C, m), fulfils all rows."""
        return bool(self.rows.holds(table.reshape(-1)).all())


@dataclass(frozen=True, slots=True, eq=False)
class BoostedProofs:
    """What leaf values prove: ``counts``, of one class where no class is published, and the ``rows`` that say it.

    ``assumed`` is what they rest on beside the file, and ``records`` how many records there are, None if not known.
    """

    counts: ProvedCounts
    rows: SumRows
    records: int | None
    assumed: tuple[str, ...]


def leaves_of_growth(growth: EnsembleGrowth, classes: int) -> list[NodeRecords]:
    """Return which nodes are leaves, and those of them that are known to hold nobody."""
    found = []
    for tree in growth.trees:
        counts = np.full((len(tree.is_leaf), classes), np.nan)
        if tree.counts is not None:
            counts[tree.counts == 0] = 0
        found.append(NodeRecords(counts, np.asarray(tree.is_leaf)))
    return found


def prove_sums(
    model: Ensemble,
    trees: Sequence[Tree],
    cells: DomainCells,
    until: Clock,
    training: KnownTraining,
) -> BoostedProofs | Undetermined:
    """Return what the leaf values of a boosted model prove of how many records each cell has, or why nothing.

    Raises:
        ContradictionError: no table within the domain has the sums.
    """
    assert model.growth is not None
    classes = cells.alive.shape[1]
    growth = knowing(model.growth, training.settings)
    if len(growth.trees) * cells.stops.shape[1] * classes > MOST_ENTRIES:
        return TOO_LARGE
    if not all(map(_reached, growth.trees, cells.stops)):
        raise ContradictionError(NO_RECORD)
    case = GrownCase(growth, tuple(trees), cells.stops, np.ones(cells.stops.shape[1]), classes)
    assumed = [EQUAL_WEIGHTS]
    sums = member_sums(case)
    taken = taking_defaults(case) if training.is_checked else None
    if isinstance(sums, Undetermined) and taken is not None:
        by_default = member_sums(taken)
        if not isinstance(by_default, Undetermined):
            case, sums, assumed = taken, by_default, [*assumed, BY_DEFAULT]
    if isinstance(sums, Undetermined):
        return sums
    everybody = _most_in_all(_sizes(sums), cells.stops.shape[1])
    if not np.isfinite(everybody):
        return NO_SIZES
    # How far a library's sums may be off depends on how many records it added up.
    people = np.full(cells.stops.shape[1], max(everybody / max(cells.stops.shape[1], 1), 1.0))
    sums = member_sums(replace(case, people=people))
    if isinstance(sums, Undetermined):
        return sums
    if any(one.times is not None for one in sums):
        assumed[0] = ONLY_CLASSES
    if inverters()[growth.library].is_sampled(growth) is None:
        assumed.append(ALL_RECORDS)
    if not inverters()[growth.library].says_bounds:
        assumed.append(UNBOUNDED)
    if growth.unstated:
        assumed.append(UNSTATED.format(_some_names(growth.unstated)))
    return _Proving(case, sums, cells, until).run(tuple(assumed))


def _some_names(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


class _Proving:
    """The rows of one model, and how far the numbers of records are narrowed."""

    def __init__(
        self, case: GrownCase, sums: Sequence[MemberSums], cells: DomainCells, until: Clock
    ) -> None:
        self.case, self.sums, self.cells, self.until = case, sums, cells, until
        self.classes = cells.alive.shape[1]

    def run(self, assumed: tuple[str, ...]) -> BoostedProofs | Undetermined:
        """Narrow the numbers of records of cells, then those of their classes."""
        sizes = _sizes(self.sums)
        most = _most_records(sizes, self.cells.stops.shape[1])
        if not np.isfinite(most).all():
            return NO_SIZES
        low, high = np.zeros(len(most), dtype=np.int64), most.astype(np.int64)
        total = _rows_over(sizes, len(most), 1)
        low, high = tighten(total, low, high, self.until)
        records = int(low.sum()) if (low == high).all() else None
        more = list(self._inverted(low, high))
        has_weights = any(one.times is not None for one in self.sums)
        if not more and len(sizes) == len(self.sums) and not has_weights:
            self.classes, rows = 1, total
        else:
            rows = _stacked([_rows_over(self.sums, len(most), self.classes), *more])
            low, high = _by_class(rows, low, high, self.cells.alive, self.until)
        low, high = self._searched(rows, low, high)
        return BoostedProofs(self._counts(low, high), SumRows(rows), records, assumed)

    def _inverted(self, low: IntArray, high: IntArray) -> Iterator[RealRows]:
        """Yield how many records of each leaf have a class, once it is known how many each cell has."""
        if (low < high).any():
            return
        there = np.flatnonzero(high)
        case = replace(
            self.case, stops=self.case.stops[:, there], people=high[there].astype(np.float64)
        )
        sums = leaf_sums(case)
        if isinstance(sums, LeafSums):
            yield _rows_of_labels(sums, self.case, self.classes)

    def _searched(self, rows: RealRows, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Return boxes narrowed by a solver of whole numbers, as far as the time goes."""
        part, places = rows.open_part(low, high)
        if not len(places) or part.matrix.nnz > MOST_SEARCHED or self.until.is_over:
            return low, high
        found = decide_part(_whole_part(part, low[places], high[places]), self.until)
        low, high = low.copy(), high.copy()
        low[places], high[places] = found
        return low, high

    def _counts(self, low: IntArray, high: IntArray) -> ProvedCounts:
        shape = (len(low) // self.classes, self.classes)
        is_open = low < high
        left = f"{int(is_open.sum()):,} numbers of records were not decided: {MORE_DIGITS}"
        is_one = not is_open.any()
        return ProvedCounts(
            low=low.reshape(shape),
            high=high.reshape(shape),
            # Rows show no table, so whatever is open may be so in the one that gives the file.
            shown_low=high.reshape(shape),
            shown_high=low.reshape(shape),
            table=low.reshape(shape) if is_one else None,
            tables=1 if is_one else None,
            filled=fillings(low, np.repeat(self.cells.sizes, self.classes)) if is_one else None,
            left=() if is_one else (left,),
        )


def _reached(tree: GrownTree, stops: IndexArray) -> bool:
    """Whether each leaf that may hold a record has a cell of the domain."""
    may_hold = tree.is_leaf if tree.counts is None else tree.is_leaf & (tree.counts != 0)
    return bool(np.isin(np.flatnonzero(may_hold), stops).all())


def _sizes(sums: Sequence[MemberSums]) -> list[MemberSums]:
    """Return the sums that no class changes; where classes have weights, with room for each of them."""
    return [one.over_classes() for one in sums if not one.of_class.any()]


def _most_in_all(sizes: Sequence[MemberSums], cells: int) -> float:
    """Return how many records there are at most by some tree's sums; infinite where none says it."""
    most = np.inf
    for one in sizes:
        each = np.full(len(one.nodes), np.inf)
        np.minimum.at(each, one.place, one.each.low)
        if (each > 0).all() and len(each):
            most = min(most, float((_above(one.total.high) / each).sum()))
    return most if most <= LARGEST or not cells else np.inf


def _above(numbers: FloatArray) -> FloatArray:
    """Return numbers with more room than any rounding takes."""
    return np.maximum(numbers, 0.0) * (1 + 2.0**-20) + 2.0**-10


def _most_records(sizes: Sequence[MemberSums], cells: int) -> FloatArray:
    """Return how many records each cell may have at most by any sum of numbers above 0, (C,); infinite without one."""
    most = np.full(cells, np.inf)
    for one in sizes:
        each, total = one.each.low, one.total.high[one.place]
        with np.errstate(divide="ignore", invalid="ignore"):
            here = np.where(each > 0, _above(total) / each, np.inf)
        most = np.fmin(most, np.floor(here))
    return np.where(most > LARGEST, np.inf, most)


def _rows_over(sums: Sequence[MemberSums], cells: int, classes: int) -> RealRows:
    """Return sums as rows over records by cell and class, flat (C m,)."""
    parts, spreads = [], []
    places = np.arange(cells * classes)
    for one in sums:
        shape = (len(one.nodes), cells * classes)
        half = (one.each.high - one.each.low) / 2
        middle = one.each.low + half
        half = half + 4 * 2.0**-53 * (np.abs(middle) + 1)
        of_class = one.of_class if classes > 1 else np.zeros(1)
        times = np.ones(classes) if one.times is None else one.times
        numbers = ((middle[:, None] + of_class[None, :]) * times).reshape(-1)
        where = (np.repeat(one.place, classes), places)
        parts.append(sparse.csr_array((numbers, where), shape=shape))
        spread = (half[:, None] * np.maximum(times, 1.0)).reshape(-1)
        spreads.append(sparse.csr_array((spread, where), shape=shape))
    return RealRows(
        sparse.csr_array(sparse.vstack(parts, format="csr")),
        sparse.csr_array(sparse.vstack(spreads, format="csr")),
        np.concatenate([one.total.low for one in sums]),
        np.concatenate([one.total.high for one in sums]),
    )


def _rows_of_labels(sums: LeafSums, case: GrownCase, classes: int) -> RealRows:
    """Return how many records of each leaf have a class as rows over records by cell and class."""
    cells = case.stops.shape[1]
    rows, columns = [], []
    for place, (tree, node, output) in enumerate(
        zip(sums.trees.tolist(), sums.nodes.tolist(), sums.output.tolist(), strict=True)
    ):
        here = np.flatnonzero(case.stops[tree] == node) * classes + output
        rows.append(np.full(len(here), place))
        columns.append(here)
    where = (np.concatenate(rows), np.concatenate(columns))
    shape = (len(sums.nodes), cells * classes)
    ones = sparse.csr_array((np.ones(len(where[0])), where), shape=shape)
    nothing = sparse.csr_array((np.zeros(ones.nnz), ones.indices, ones.indptr), shape=shape)
    return RealRows(ones, nothing, sums.low.astype(np.float64), sums.high.astype(np.float64))


def _stacked(parts: Sequence[RealRows]) -> RealRows:
    return RealRows(
        sparse.csr_array(sparse.vstack([part.matrix for part in parts], format="csr")),
        sparse.csr_array(sparse.vstack([part.spread for part in parts], format="csr")),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
    )


def _by_class(
    rows: RealRows, low: IntArray, high: IntArray, alive: BoolArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return between which ends the records of each cell and class lie, flat, by how many each cell has."""
    cells, classes = alive.shape
    owner = np.repeat(np.arange(cells), classes)
    ones = sparse.csr_array(
        (np.ones(cells * classes), (owner, np.arange(cells * classes))),
        shape=(cells, cells * classes),
    )
    nothing = sparse.csr_array((np.zeros(ones.nnz), ones.indices, ones.indptr), shape=ones.shape)
    within = RealRows(ones, nothing, low.astype(np.float64), high.astype(np.float64))
    most = np.where(alive, high[:, None], 0).reshape(-1)
    return tighten(_stacked([rows, within]), np.zeros_like(most), most, until)


def _whole_part(part: RealRows, low: IntArray, high: IntArray) -> OpenPart:
    """Return rows in whole numbers that hold wherever the real ones do: each end of a row with its own coefficients.

    Numbers of records are at least 0, so the least of each coefficient is in the row's upper end.
    """
    room = part.rounding(np.abs(part.matrix) @ high.astype(np.float64))
    least = np.floor((part.matrix.data - part.spread.data) * SCALE - 1)
    most = np.ceil((part.matrix.data + part.spread.data) * SCALE + 1)
    upper = np.ceil((part.high + room) * SCALE + 1)
    lower = np.floor((part.low - room) * SCALE - 1)
    blocks, ends = [], []
    for data, start, stop in ((least, None, upper), (most, lower, None)):
        limit = upper if stop is not None else lower
        kept = np.flatnonzero(np.isfinite(limit))
        whole = sparse.csr_array(
            (data.astype(np.int64), part.matrix.indices, part.matrix.indptr),
            shape=part.matrix.shape,
        )
        blocks.append(sparse.csr_array(whole[kept]))
        far = np.full(len(kept), 2**62)
        ends.append(
            (-far, upper[kept].astype(np.int64))
            if start is None
            else (lower[kept].astype(np.int64), far)
        )
    return OpenPart(
        places=np.arange(len(low)),
        matrix=sparse.csr_array(sparse.vstack(blocks, format="csr")),
        least=np.concatenate([end[0] for end in ends]),
        most=np.concatenate([end[1] for end in ends]),
        low=low,
        high=high,
    )
