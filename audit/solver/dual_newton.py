"""Newton's method on the dual of an entropy problem: the multipliers of linear rows over groups of masses.

The dual is concave and smooth but for a kink at 0 of each row that is an interval. Each step stays on one side of every
kink (Andrew and Gao 2007), so that rows join and leave the binding ones one by one or by thousands.

The second derivatives of the dual are kept over the rows that bind, in the form that suits the rows. Within a group the
masses share its records, so a row's curvature is the variance of its weights, times the records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import splu

from treewarden.audit.ipopt.program import DualGroups, DualRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

LEAST_RIDGE, NEXT_RIDGE, MOST_RIDGE, RIDGE_FACTOR = 1e-12, 1e-8, 1.0, 100.0
"""Added to the curvature, relative to its diagonal: rows often follow from others. More where their ends disagree."""
NO_ROOM = 1e-10
"""Curvature of a row, relative to its weights and the people it concerns: below it, nothing can move the row."""
FEW_ROWS, DENSE_ROWS = 16, 1500
DENSE_ENTRIES = 30_000_000
DENSE_SHARE = 0.1
"""Rows whose matrix has so many entries and no more, and is so densely filled, are multiplied as they are."""


class DualCurvature(Protocol):
    """The second derivatives of the dual, as far as Newton's steps need them."""

    def of_rows(self, z: FloatArray, binding: IndexArray) -> CurvatureMatrix:
        """Return the second derivatives over some rows."""


class CurvatureMatrix(Protocol):
    """Second derivatives over some rows (b,)."""

    def __matmul__(self, vector: FloatArray) -> FloatArray: ...

    def solved(
        self, left: IndexArray, right: FloatArray, ridge: float = LEAST_RIDGE
    ) -> FloatArray | None:
        """Return the step of the rows that are ``left``, with a ridge; None if nothing can move one of them."""


def is_densely_filled(weights: sparse.csr_matrix) -> BoolArray:
    """Return which rows (r,) are about so many of all masses that they are multiplied as they stand."""
    return np.asarray(np.diff(weights.indptr) > DENSE_SHARE * weights.shape[1])


def curvature_of(
    weights: sparse.csr_matrix,
    group: IndexArray,
    records: FloatArray,
    of_first: DualCurvature | None = None,
) -> DualCurvature:
    """Return the curvature of rows (r, n) over masses, each in a ``group`` (n,) that shares its ``records`` (G,).

    ``of_first`` is that of the first of the rows, if it is known: then only the others are looked at.
    """
    if weights.shape[0] > DENSE_ROWS:
        return _SparseCurvature(group, records, weights)
    entries, is_full = weights.shape[0] * weights.shape[1], is_densely_filled(weights)
    is_few = weights.shape[0] <= FEW_ROWS
    order = np.argsort(group, kind="stable")
    if (np.bincount(group) == 2).all() and (is_few or is_full.any()):
        if int(is_full.sum()) * weights.shape[1] <= DENSE_ENTRIES:
            known = of_first if isinstance(of_first, _PairCurvature) else None
            count = 0 if known is None else len(known.place)
            added = _PairCurvature.from_rows(weights[count:], group, records, order)
            return added if known is None else known.followed_by(added)
    elif entries <= DENSE_ENTRIES and (is_few or weights.nnz > DENSE_SHARE * entries):
        columns = np.ascontiguousarray(weights.toarray()[:, order])
        starts = np.searchsorted(group[order], np.arange(len(records)))
        return _DenseCurvature(records, _squared(weights), columns, order, starts)
    return _SparseCurvature(group, records, weights)


@dataclass(frozen=True, slots=True)
class _PairCurvature:
    """Rows with groups of two masses each: what matters is how far ``apart`` (r, G) a row weighs these.

    Rows about many groups are kept as they stand, ``full`` (f, G), those about few as ``sparse`` (s, G). ``place`` (r,)
    is where each row stands among its kind, and ``is_full`` (r,) which kind it is. Rows of one leaf meet those of no
    other, so that of many leaves hardly any products are left.
    """

    records: FloatArray
    squares: sparse.csr_matrix
    full: FloatArray
    sparse: sparse.csr_matrix
    place: IndexArray
    is_full: BoolArray
    order: IndexArray

    @classmethod
    def from_rows(
        cls,
        weights: sparse.csr_matrix,
        group: IndexArray,
        records: FloatArray,
        order: IndexArray,
    ) -> _PairCurvature:
        """Return the curvature of rows (r, n); ``order`` (n,) puts the masses of a group side by side."""
        is_second = np.zeros(len(group), dtype=bool)
        is_second[order[1::2]] = True
        apart = weights.copy()
        apart.data = np.where(is_second[apart.indices], apart.data, -apart.data)
        shape = (weights.shape[0], len(records))
        summed = sparse.csr_matrix((apart.data, group[apart.indices], apart.indptr), shape=shape)
        is_full = is_densely_filled(weights)
        place = np.where(is_full, np.cumsum(is_full), np.cumsum(~is_full)) - 1
        few = sparse.csr_matrix(summed[~is_full])
        few.sum_duplicates()
        return cls(
            records=records,
            squares=_squared(weights),
            full=summed[is_full].toarray(),
            sparse=few,
            place=place,
            is_full=is_full,
            order=order,
        )

    def followed_by(self, added: _PairCurvature) -> _PairCurvature:
        """Return the curvature of these rows and further ones."""
        if not len(added.place):
            return self
        before = np.where(added.is_full, len(self.full), self.sparse.shape[0])
        return replace(
            self,
            squares=sparse.csr_matrix(sparse.vstack([self.squares, added.squares])),
            full=np.concatenate([self.full, added.full]),
            sparse=sparse.csr_matrix(sparse.vstack([self.sparse, added.sparse])),
            place=np.concatenate([self.place, before + added.place]),
            is_full=np.concatenate([self.is_full, added.is_full]),
        )

    def of_rows(self, z: FloatArray, binding: IndexArray) -> CurvatureMatrix:
        first, second = z[self.order[::2]], z[self.order[1::2]]
        root, is_full = np.sqrt(first * second / self.records), self.is_full[binding]
        chosen = self.place[binding[is_full]]
        full = (self.full if len(chosen) == len(self.full) else self.full[chosen]) * root
        size = (self.squares @ z)[binding]
        if is_full.all():
            return _DenseMatrix(full @ full.T, size)
        few = _times(sparse.csr_matrix(self.sparse[self.place[binding[~is_full]]]), root)
        across = few @ full.T
        entries = np.empty((len(binding), len(binding)))
        at_full, at_few = np.flatnonzero(is_full), np.flatnonzero(~is_full)
        entries[np.ix_(at_full, at_full)] = full @ full.T
        entries[np.ix_(at_few, at_few)] = (few @ few.T).toarray()
        entries[np.ix_(at_few, at_full)] = across
        entries[np.ix_(at_full, at_few)] = across.T
        return _DenseMatrix(entries, size)


@dataclass(frozen=True, slots=True)
class _DenseCurvature:
    """Rows (r, n) with masses in the ``order`` of their groups, which begin at ``starts``."""

    records: FloatArray
    squares: sparse.csr_matrix
    columns: FloatArray
    order: IndexArray
    starts: IndexArray

    def of_rows(self, z: FloatArray, binding: IndexArray) -> CurvatureMatrix:
        size, z = (self.squares @ z)[binding], z[self.order]
        part = self.columns if len(binding) == len(self.columns) else self.columns[binding]
        weighed = part * np.sqrt(z)
        mean = np.add.reduceat(part * z, self.starts, axis=1) / np.sqrt(self.records)
        return _DenseMatrix(weighed @ weighed.T - mean @ mean.T, size)


@dataclass(frozen=True, slots=True)
class _DenseMatrix:
    """Second derivatives (b, b), and how large they would be without groups (b,)."""

    entries: FloatArray
    size: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return np.asarray(self.entries @ vector)

    def solved(
        self, left: IndexArray, right: FloatArray, ridge: float = LEAST_RIDGE
    ) -> FloatArray | None:
        entries = self.entries[np.ix_(left, left)]
        diagonal = np.diag(entries).copy()
        if (diagonal <= NO_ROOM * self.size[left]).any():
            return None
        unit = np.sqrt(diagonal)
        scaled = entries / np.outer(unit, unit)
        while ridge < 1.0:
            try:
                factor = cho_factor(scaled + ridge * np.eye(len(left)), check_finite=False)
            except LinAlgError:
                ridge *= 100.0
                continue
            return np.asarray(cho_solve(factor, right[left] / unit, check_finite=False) / unit)
        return None


@dataclass(frozen=True, slots=True)
class _SparseCurvature:
    """Rows (r, n) of few masses each: those of one leaf meet each other, and the few that all leaves meet."""

    group: IndexArray
    records: FloatArray
    weights: sparse.csr_matrix

    def of_rows(self, z: FloatArray, binding: IndexArray) -> CurvatureMatrix:
        group, records, root = self.group, self.records, np.sqrt(z)
        weighed = _times(sparse.csr_matrix(self.weights[binding]), root)
        at = (root, (np.arange(len(z)), group))
        inside = sparse.csr_matrix(at, shape=(len(z), len(records)))
        mean = _times(sparse.csr_matrix(weighed @ inside), 1 / np.sqrt(records))
        size = np.asarray(weighed.multiply(weighed).sum(axis=1)).reshape(-1)
        return _SparseMatrix(sparse.csr_matrix(weighed @ weighed.T - mean @ mean.T), size)


@dataclass(frozen=True, slots=True)
class _SparseMatrix:
    """Second derivatives (b, b), and how large they would be without groups (b,)."""

    entries: sparse.csr_matrix
    size: FloatArray

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        return np.asarray(self.entries @ vector)

    def solved(
        self, left: IndexArray, right: FloatArray, ridge: float = LEAST_RIDGE
    ) -> FloatArray | None:
        entries = self.entries
        if len(left) < len(right):
            entries = sparse.csr_matrix(entries[left][:, left])
        diagonal = entries.diagonal()
        if (diagonal <= NO_ROOM * self.size[left]).any():
            return None
        unit = 1 / np.sqrt(diagonal)
        scaled = sparse.diags(unit) @ entries @ sparse.diags(unit)
        try:
            factor = splu(
                sparse.csc_matrix(scaled + ridge * sparse.identity(len(left))),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # singular, whatever was added
            return None
        return np.asarray(factor.solve(right[left] * unit) * unit)


def _squared(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return a matrix with the square of each entry."""
    found = matrix.copy()
    found.data = found.data**2
    return found


def _times(matrix: sparse.csr_matrix, columns: FloatArray) -> sparse.csr_matrix:
    """Return a matrix with its columns times numbers."""
    found = matrix.copy()
    found.data = found.data * columns[found.indices]
    return found


MOST_STEPS = 200
CLOSE_RECORDS = 1e-9
LEAST_RISE = 1e-4
NO_RISE = 1e-10
SHORTEST_STEP = 1e-7
LONGEST_STEP = 2.0
"""By which the logarithm of a mass changes in a step, as far as one row changes it."""
POOR_GAIN, GOOD_GAIN = 0.02, 0.3
"""Shares of what a step gains at first: below the one the ridge grows, above the other it shrinks."""
MOST_STOPS = 12
"""How often in a step multipliers are stopped at their kinks."""


@dataclass(frozen=True, slots=True)
class _DualPoint:
    """Multipliers ``price`` (r,), and what follows: masses ``z`` (n,), each row's ``value`` (r,) and the ``dual``."""

    price: FloatArray
    z: FloatArray
    value: FloatArray
    dual: float


def find_multipliers(
    groups: DualGroups,
    rows: DualRows,
    price: FloatArray,
    of_first: DualCurvature | None = None,
) -> tuple[FloatArray, int] | None:
    """Return the rows' multipliers and the steps to them, else None; ``of_first`` is the first rows' curvature."""
    close = CLOSE_RECORDS * max(1.0, float(groups.records.sum()) ** 0.5)
    across = rows.weights.T
    is_equal, is_near = rows.low == rows.high, False
    point = _point(groups, rows, across, price)
    curvature = curvature_of(rows.weights, groups.group, groups.records, of_first)
    longest = LONGEST_STEP / rows.largest_weights()
    ridge = LEAST_RIDGE
    for number in range(MOST_STEPS):
        # The side of its kink on which a multiplier is, or that it is drawn to.
        side = np.sign(point.price)
        is_at_kink = (side == 0) & ~is_equal
        side += is_at_kink & (point.value > rows.high + close)
        side -= is_at_kink & (point.value < rows.low - close)
        binding = np.flatnonzero(is_equal | (side != 0))
        miss = point.value - rows.ends(side)
        most = float(np.abs(miss[binding]).max(initial=0.0))
        if most <= close:
            return point.price, number
        matrix = curvature.of_rows(point.z, binding)
        found = _step(matrix, rows, point, (side * ~is_equal, binding), ridge)
        if found is None:
            return None
        step, side, ridge = found
        step, rise = _shortened(rows, point, (step, side), longest)
        is_near = rise <= NO_RISE * max(1.0, abs(point.dual))  # the dual shows no progress there
        moved = _moved(groups, rows, across, point, _DualDirection(step, side, rise, is_near))
        if moved is None:
            if ridge >= MOST_RIDGE:
                return None
            ridge = _next_ridge(ridge, 0.0)
            continue
        if not is_near:
            ridge = _next_ridge(ridge, (moved.dual - point.dual) / rise)
        if is_near and rows.largest_miss(moved.value) > most / 2:
            return point.price, number  # rows that say the same, but for their last digits
        point = moved
    return None


def _next_ridge(ridge: float, gain: float) -> float:
    """Return the ridge of the next step after one with a ``gain``, relative to what it gains at first.

    A step that gains next to nothing goes along rows which nearly follow from each other, far beyond their kinks; a
    ridge holds it where the model is true (Levenberg 1944). One that gains what it should needs less of it.
    """
    if gain < POOR_GAIN:
        return min(max(ridge * RIDGE_FACTOR, NEXT_RIDGE), MOST_RIDGE)
    return max(ridge / RIDGE_FACTOR, LEAST_RIDGE) if gain > GOOD_GAIN else ridge


def _step(
    matrix: CurvatureMatrix,
    rows: DualRows,
    point: _DualPoint,
    sides: tuple[FloatArray, IndexArray],
    ridge: float,
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return Newton's step (r,) of the binding rows, the sides that it takes them to, and its ridge.

    ``sides`` are those of all rows, and the rows that bind. The ridge is the first with which it is clear which
    multipliers stop at their kinks. If there is none, kinks are left out: such a step is never downhill. None if a step
    leads to infinity, as rows that force masses to 0 have it.
    """
    side, binding = sides
    step, newton = np.zeros(len(point.price)), None
    while True:
        found = _kinked_step(matrix, rows, point, sides, ridge)
        if found is None:
            return None
        newton = found[0] if newton is None else newton
        if found[1] is not None:
            side, (step[binding], side[binding]) = side.copy(), found[1:]
            return step, side, ridge
        if ridge >= MOST_RIDGE:
            break
        ridge = _next_ridge(ridge, 0.0)
    step[binding] = newton
    return step, side, ridge


def _kinked_step(
    matrix: CurvatureMatrix,
    rows: DualRows,
    point: _DualPoint,
    sides: tuple[FloatArray, IndexArray],
    ridge: float,
) -> tuple[FloatArray, FloatArray | None, FloatArray] | None:
    """Return Newton's step without kinks, that to where the dual's model with kinks is greatest, and the sides there.

    A multiplier that would go to the other side of its kink stops there, and goes on if the model then draws it that
    way (a primal-dual active set, Hintermüller and others 2003). It may come to no end: then that step is None.
    """
    side, binding = sides[0][sides[1]], sides[1]
    low, high = rows.low[binding], rows.high[binding]
    price, value = point.price[binding], point.value[binding]
    step, is_free, is_equal = np.zeros(len(binding)), np.ones(len(binding), dtype=bool), low == high
    newton: FloatArray | None = None
    for _ in range(MOST_STOPS):
        left, miss = np.flatnonzero(is_free), value - np.where(side > 0, high, low)
        found = matrix.solved(left, miss - matrix @ np.where(is_free, 0.0, step), ridge)
        if found is None or not np.isfinite(found).all():
            return None
        newton = found if newton is None else newton
        step[left] = found
        there = value - matrix @ step
        stops = is_free & ~is_equal & (side * (price + step) < 0)
        rises, drops = ~is_free & (there > high), ~is_free & (there < low)
        if not (stops | rises | drops).any():
            return newton, step, side
        step[stops] = -price[stops]
        is_free = (is_free & ~stops) | rises | drops
        side = np.where(rises, 1.0, np.where(drops, -1.0, side))
    assert newton is not None
    return newton, None, side


def _shortened(
    rows: DualRows, point: _DualPoint, to: tuple[FloatArray, FloatArray], longest: FloatArray
) -> tuple[FloatArray, float]:
    """Return a step (r,) as far as Newton's model is one of an exponential, and what the dual gains by it at first.

    A multiplier moves by its ``longest`` step (r,) at most. ``to`` is the step, and the sides that it leads to.
    """
    step, side = to
    short = np.clip(step, -longest, longest)
    rise = _gain(rows, point, point.price + short, side)
    if rise <= 0:
        short = step * float((longest / np.maximum(np.abs(step), longest)).min(initial=1.0))
        rise = _gain(rows, point, point.price + short, side)
    return short, rise


def _gain(rows: DualRows, point: _DualPoint, price: FloatArray, side: FloatArray) -> float:
    """Return what the dual gains at most by going to other multipliers: all but its kinks taken as straight.

    Those that go to the other ``side`` have its end from their kink on.
    """
    before = np.sign(point.price)
    crosses = (before * side < 0) & (price * side > 0)
    ends = rows.ends(np.where(crosses | (before == 0), side, before))
    gains = (point.value - ends) * (price - point.price)
    gains[crosses] -= (point.price * (ends - rows.ends(before)))[crosses]
    return float(gains.sum())


@dataclass(frozen=True, slots=True)
class _DualDirection:
    """A step of the multipliers, the ``side`` of its kink that each keeps to, and what the dual gains at first."""

    step: FloatArray
    side: FloatArray
    rise: float
    is_near: bool


def _moved(
    groups: DualGroups,
    rows: DualRows,
    across: sparse.csc_matrix,
    point: _DualPoint,
    way: _DualDirection,
) -> _DualPoint | None:
    """Return the point after the longest step that gains enough, with what crosses its kink stopped there.

    If the stops spoil the step at every length, it ends where the first multiplier comes to its kink.
    """
    is_free = (rows.low == rows.high) | (point.price * way.side < 0)
    length = 1.0
    while length >= SHORTEST_STEP:
        price = point.price + length * way.step
        price = np.where(is_free | (price * way.side > 0), price, 0.0)
        there = _point(groups, rows, across, price)
        gain = _gain(rows, point, price, way.side)
        if way.is_near or (gain > 0 and there.dual >= point.dual + LEAST_RISE * gain):
            return there
        length /= 2
    crossing = ~is_free & (point.price * way.step < 0)
    room = float((-point.price[crossing] / way.step[crossing]).min(initial=1.0))
    length = room
    while length >= SHORTEST_STEP * room:
        price = point.price + length * way.step
        price = np.where(is_free | (price * way.side > 0), price, 0.0)
        there = _point(groups, rows, across, price)
        if there.dual >= point.dual + LEAST_RISE * length * way.rise:
            return there
        length /= 2
    return None


def _point(
    groups: DualGroups, rows: DualRows, across: sparse.csc_matrix, price: FloatArray
) -> _DualPoint:
    z, level = groups.masses(-(across @ price))
    paid = float(price @ rows.ends(np.sign(price)))
    return _DualPoint(price, z, rows.weights @ z, -float(groups.records @ level) - paid)
