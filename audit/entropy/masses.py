"""The masses of a block as variables: one per lump and pool that its leaf leaves open, and the leaves' own rows."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, SplitRows, SplitTerms
from treewarden.audit.system.system import LeafKnowledge, complete
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

# Collects the variables and rows of one program, one by one.


@dataclass(slots=True)
class ProgramBuilder:
    """Collects variables and rows of one program."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    row_variables: array[int] = field(default_factory=lambda: array("q"))
    row_weights: array[float] = field(default_factory=lambda: array("d"))
    row_stops: list[int] = field(default_factory=lambda: [0])
    ends: list[tuple[float, float]] = field(default_factory=list)
    terms: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)
    splits: list[tuple[float, float, float]] = field(default_factory=list)
    sums: dict[tuple[tuple[int, ...], float], int] = field(default_factory=dict)
    parts: dict[int, list[int]] = field(default_factory=dict)
    is_impossible: bool = False

    def variable(self, start: float, upper: float = np.inf) -> int:
        """Add a variable and return its number."""
        self.lower.append(SMALLEST_MASS)
        self.upper.append(upper)
        self.start.append(max(start, SMALLEST_MASS))
        return len(self.start) - 1

    def row(
        self,
        variables: Sequence[int] | IndexArray,
        weights: Sequence[float] | FloatArray,
        low: float,
        high: float,
    ) -> None:
        """Add a linear row."""
        if isinstance(variables, np.ndarray):  # many at once
            self.row_variables.frombytes(variables.astype(np.int64).tobytes())
            self.row_weights.frombytes(np.asarray(weights, dtype=float).tobytes())
        else:
            self.row_variables.extend(variables)
            self.row_weights.extend(weights)
        self.row_stops.append(len(self.row_variables))
        self.ends.append((low, high))

    def groups(self, starts: FloatArray, records: FloatArray, kappa: IndexArray) -> IndexArray:
        """Add masses (L, k), a row for the ``records`` (L,) of each group, and return their numbers (L, k)."""
        groups, width = starts.shape
        first = len(self.start)
        numbers = np.arange(first, first + starts.size).reshape(groups, width)
        self.lower.extend([SMALLEST_MASS] * starts.size)
        self.upper.extend([np.inf] * starts.size)
        self.start.extend(np.maximum(starts, SMALLEST_MASS).ravel().tolist())
        self.scale.extend((records[:, None] * kappa).ravel().tolist())
        stop = len(self.row_variables)
        self.row_variables.frombytes(numbers.astype(np.int64).tobytes())
        self.row_weights.frombytes(np.ones(starts.size).tobytes())
        self.row_stops.extend(range(stop + width, stop + starts.size + 1, width))
        self.ends.extend((size, size) for size in records.tolist())
        return numbers

    def total(self, variables: Sequence[int], constant: float) -> int | None:
        """Return a variable that equals a sum of variables and a constant; None where nothing in it is free."""
        if not variables:
            return None
        key = (tuple(variables), constant)
        if len(variables) == 1 and constant == 0:
            return variables[0]
        if key not in self.sums:
            number = self.variable(sum(self.start[i] for i in variables) + constant)
            self.parts[number] = list(variables)
            self.row([*variables, number], [1.0] * len(variables) + [-1.0], -constant, -constant)
            self.sums[key] = number
        return self.sums[key]

    def members(self) -> sparse.csr_matrix:
        """Return the masses that each variable sums, shape (variables, masses)."""
        n, n_mass = len(self.start), len(self.scale)
        sums: dict[int, IndexArray] = {}
        for number in range(n_mass, n):  # a total comes after all that it sums
            parts = np.array(self.parts[number], dtype=np.intp)
            inner = [sums[part] for part in parts[parts >= n_mass].tolist()]
            sums[number] = np.concatenate([parts[parts < n_mass], *inner])
        widths = np.concatenate([np.ones(n_mass, dtype=np.intp), [len(s) for s in sums.values()]])
        masses = np.concatenate([np.arange(n_mass), *sums.values()])
        ends = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        return sparse.csr_matrix((np.ones(len(masses)), masses, ends), shape=(n, n_mass))

    def program(self, criterion: Criterion) -> BlockProgram:
        """Return what was collected, as arrays."""
        n_rows, n = len(self.ends), len(self.start)
        weights, variables = np.array(self.row_weights), np.array(self.row_variables)
        rows = sparse.csr_matrix((weights, variables, self.row_stops), shape=(n_rows, n))
        rows.sum_duplicates()
        terms = np.array(self.terms).reshape(-1, 6)
        splits = np.array(self.splits).reshape(-1, 3)
        ends = np.array(self.ends).reshape(-1, 2)
        return BlockProgram(
            criterion=criterion,
            scale=np.array(self.scale),
            start=np.array(self.start),
            lower=np.array(self.lower),
            upper=np.array(self.upper),
            rows=rows,
            low=ends[:, 0],
            high=ends[:, 1],
            cost=np.zeros(n),
            splits=SplitRows(
                SplitTerms(
                    row=terms[:, 0].astype(np.intp),
                    variable=terms[:, 1].astype(np.intp),
                    coefficient=terms[:, 2],
                    scale=terms[:, 3],
                    known=terms[:, 4],
                    most=terms[:, 5],
                ),
                constant=splits[:, 0],
                limit=splits[:, 1],
                records=splits[:, 2],
                linear=sparse.csr_matrix((len(splits), n)),
            ),
            is_impossible=self.is_impossible,
        )


@dataclass(frozen=True, slots=True)
class Lumping:
    """Profiles of a block (K,), the lump of each, the lumps' records and leaves, the classes' pools and their sizes.

    ``proved`` (L, G) are masses that whole records prove, NaN where they do not.
    """

    profiles: IndexArray
    of_profile: IndexArray
    weight: FloatArray
    leaf: IndexArray
    pools: IndexArray
    kappa: IndexArray
    proved: FloatArray


@dataclass(frozen=True, slots=True)
class MassCells:
    """The masses of each lump and pool (L, G): the variable, or -1 and the fixed mass; and what is known per leaf.

    ``most`` (G,) of each leaf is a pool's size times the most that one class of it can have: what is proved of bounds
    holds for all classes, and those of a pool are free to differ.
    """

    lumping: Lumping
    cell: IndexArray
    fixed: FloatArray
    build: ProgramBuilder
    leaves: dict[int, LeafKnowledge]
    most: dict[int, FloatArray]
    leaf_total: dict[tuple[int, int], tuple[int | None, float]]

    def by_pool(self, lumps: IndexArray) -> list[tuple[list[int], float]]:
        """Return for each pool the numbers of some lumps' variables, -1 where there is none, and what is fixed of it.

        Summed along what lies side by side, what is fixed is rounded as if each pool were summed alone.
        """
        fixed = np.ascontiguousarray(self.fixed[lumps].T).sum(axis=1)
        return list(zip(self.cell[lumps].T.tolist(), fixed.tolist(), strict=True))


def make_cells(
    knowledge: dict[int, LeafKnowledge], lumping: Lumping, start: FloatArray
) -> MassCells:
    """Make a variable of every mass that is not fixed by its leaf, and the rows that give each lump its records."""
    build = ProgramBuilder()
    cell = np.full(start.shape, -1, dtype=np.intp)
    fixed = np.zeros(start.shape)
    lumps_in_leaf = np.bincount(lumping.leaf)
    nodes = np.unique(lumping.leaf).tolist()
    pooled = {leaf: _pooled(knowledge[leaf], lumping) for leaf in nodes}
    most = {leaf: _most(knowledge[leaf], pooled[leaf], lumping) for leaf in nodes}
    proved: BoolArray = np.asarray(~np.isnan(lumping.proved).any(axis=1))
    fixed[proved] = lumping.proved[proved]
    openness = {leaf: _openness(pooled[leaf], lumping, lumps_in_leaf) for leaf in nodes}
    for lumps in _runs(lumping.leaf, proved):
        leaf = int(lumping.leaf[lumps[0]])
        possible, inside = openness[leaf].possible, np.ix_(lumps, openness[leaf].possible)
        records = lumping.weight[lumps]
        if openness[leaf].is_told:
            fixed[lumps] = pooled[leaf].low
        elif openness[leaf].is_one:
            fixed[inside] = records[:, None]
        else:
            cell[inside] = build.groups(start[inside], records, lumping.kappa[possible])
    return MassCells(
        lumping=lumping,
        cell=cell,
        fixed=fixed,
        build=build,
        leaves=pooled,
        most=most,
        leaf_total={},
    )


def _runs(leaf: IndexArray, proved: BoolArray) -> list[IndexArray]:
    """Return the lumps that are not proved, those of one leaf that stand side by side together."""
    lumps = np.flatnonzero(~proved)
    if not len(lumps):
        return []
    return np.split(lumps, np.flatnonzero(np.diff(leaf[lumps])) + 1)


@dataclass(frozen=True, slots=True)
class _Openness:
    """What a leaf leaves open of each of its lumps: the ``possible`` pools.

    It ``is_told`` where the leaf has one lump and says its masses; it ``is_one`` where one class alone is possible.
    """

    possible: IndexArray
    is_told: bool
    is_one: bool


def _openness(leaf: LeafKnowledge, lumping: Lumping, lumps_in_leaf: IndexArray) -> _Openness:
    """Return what is open in a leaf, by what is known of it per pool."""
    possible = np.flatnonzero(leaf.high > 1e-9 * leaf.records)
    is_alone = bool((lumping.kappa[possible] == 1).all())  # a pool's classes may differ
    is_exact = bool((leaf.low == leaf.high).all())
    return _Openness(
        possible,
        is_told=bool(lumps_in_leaf[leaf.node] == 1) and is_exact and is_alone,
        is_one=len(possible) == 1 and is_alone,
    )


def _pooled(leaf: LeafKnowledge, lumping: Lumping) -> LeafKnowledge:
    """Return what is known of a leaf per pool; a known label caps the other pools."""
    pools, kappa = lumping.pools, lumping.kappa
    low = np.bincount(pools, weights=leaf.low).astype(np.float64)
    high = np.minimum(np.bincount(pools, weights=leaf.high), leaf.records)
    label = None if leaf.label is None else int(pools[leaf.label])
    high = np.maximum(np.minimum(high, _cap(leaf, low, label, kappa)), low)
    complete(low, high, leaf.records)
    return LeafKnowledge(
        node=leaf.node,
        records=leaf.records,
        low=low,
        high=high,
        label=label,
        margin=leaf.margin,
        named=np.ones(len(low), dtype=bool),
    )


def _most(leaf: LeafKnowledge, pooled: LeafKnowledge, lumping: Lumping) -> FloatArray:
    """Return each pool's size times the most that one class of it can have in a leaf, shape (G,)."""
    alone = np.zeros(len(pooled.high))
    np.maximum.at(alone, lumping.pools, leaf.high)
    cap = _cap(leaf, pooled.low, pooled.label, lumping.kappa)
    most = np.minimum(alone * lumping.kappa, cap)
    return np.asarray(np.where(lumping.kappa == 1, pooled.high, np.maximum(most, pooled.high)))


def _cap(leaf: LeafKnowledge, low: FloatArray, label: int | None, kappa: IndexArray) -> FloatArray:
    """Return what a label whose mass is known leaves each pool, its classes each below the label, shape (G,)."""
    if label is None or low[label] != leaf.high[leaf.label]:
        return np.full(len(low), np.inf)
    cap = kappa * np.maximum(low[label] - leaf.margin, 0.0)
    cap[label] = np.inf
    return np.asarray(cap)


def add_leaf_rows(cells: MassCells) -> None:
    """Add each leaf's rows: known masses, ends, and the label's lead; note each leaf's total per pool."""
    build, kappa = cells.build, cells.lumping.kappa.tolist()
    order = np.argsort(cells.lumping.leaf, kind="stable")
    in_order = cells.lumping.leaf[order]
    for node, leaf_knowledge in cells.leaves.items():
        lumps = order[slice(*np.searchsorted(in_order, (node, node + 1)))]
        is_exact = leaf_knowledge.low == leaf_knowledge.high
        redundant = int(np.argmax(leaf_knowledge.high)) if is_exact.all() else -1
        exact, lows = is_exact.tolist(), leaf_knowledge.low.tolist()
        highs = leaf_knowledge.high.tolist()
        for pool, (numbers, constant) in enumerate(cells.by_pool(lumps)):
            variables = [number for number in numbers if number >= 0]
            if not variables:
                cells.leaf_total[node, pool] = (None, constant)
            elif exact[pool]:
                cells.leaf_total[node, pool] = (None, lows[pool])
                if pool != redundant:
                    rest = lows[pool] - constant
                    build.row(variables, [1.0] * len(variables), rest, rest)
                if kappa[pool] > 1:  # the pool's total is known, but not those of its classes
                    cells.leaf_total[node, pool] = (build.total(variables, constant), 0.0)
            else:
                total = build.total(variables, constant)
                assert total is not None
                build.upper[total] = min(build.upper[total], highs[pool])
                build.lower[total] = max(build.lower[total], lows[pool])
                cells.leaf_total[node, pool] = (total, 0.0)
        _lead(cells, node, leaf_knowledge)


def _lead(cells: MassCells, node: int, leaf_knowledge: LeafKnowledge) -> None:
    """Add the rows by which a label whose mass is not known leads the other pools."""
    if (
        leaf_knowledge.label is None
        or leaf_knowledge.low[leaf_knowledge.label] == leaf_knowledge.high[leaf_knowledge.label]
    ):
        return
    label, label_constant = cells.leaf_total[node, leaf_knowledge.label]
    if label is None:
        return
    for pool, kappa in enumerate(cells.lumping.kappa):
        total, constant = cells.leaf_total[node, pool]
        if pool == leaf_knowledge.label or (total is None and constant == 0):
            continue
        others = [] if total is None else [total]
        least = leaf_knowledge.margin + constant / kappa - label_constant
        cells.build.row(
            [label, *others], [1.0, *[-1.0 / float(kappa) for _ in others]], least, np.inf
        )
