"""The choice of splits as constraints: no other split on known columns would have been better than the chosen one.

Of a candidate split on a known column both the people of a branch and their classes are sums of the estimate, and what
is left of impurity is concave in them. So where no candidate beats the chosen split at the estimate of greatest entropy
without such rows, that is the estimate with them too. Candidates on hidden columns say nothing of where people are:
whatever people are in a leaf, the hidden values that lead there can be given to them in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from treewarden.audit.partial.fitting.flows import Network
from treewarden.audit.partial.fitting.margin_fitting import FittedMargins
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.nodes import Criterion, parents_of
from treewarden.ppdm_models.tree.tree import Tree

BROKEN = (
    "no inference: {broken:,} of {rows:,} other splits on known columns would be better "
    "than the chosen ones under the inference, and it is not solved again"
)
SureSplits = Mapping[tuple[int, str], BoolArray]
"""Which candidates bind, by node and column: each cut between neighbouring values, (V - 1,), or all sets, (1,)."""
CLOSE = 1e-9
"""Impurities that are nearer than that, for each record of a node, are the same."""


MOST_AT_ONCE = 4_000_000
"""How many people of how many nodes, by value and class, are looked at at a time."""


@dataclass(frozen=True)
class SplitChoiceView:
    """How the splits of a tree were chosen, as far as the known ``columns`` of P profiles say.

    ``nodes`` (L,) are those where people stop. A branch of fewer people than ``least`` is none that the learner surely
    compares; ``sure`` says which others it did.
    """

    tree: Tree
    nodes: IndexArray
    columns: Mapping[str, Column]
    criterion: Criterion
    least: float
    sure: SureSplits

    def take(self, profiles: IndexArray) -> SplitChoiceView:
        """Return the same for people who are told apart further: some of the profiles, or one several times."""
        columns = {name: column.take(profiles) for name, column in self.columns.items()}
        return replace(self, columns=columns)

    @property
    def binding_columns(self) -> dict[str, Column]:
        """The known columns on which some candidate binds, by name."""
        binding = {name for (_, name), is_sure in self.sure.items() if is_sure.any()}
        names = (feature.name for feature in self.tree.features)
        return {each: self.columns[each] for each in names if each in binding & self.columns.keys()}

    @cached_property
    def below(self) -> sparse.csr_array:
        """Which of the nodes where people stop are at or below each node, (N, L), 1 where they are."""
        parent, at = parents_of(self.tree.nodes), np.asarray(self.nodes, dtype=np.intp)
        above, place = [at], np.arange(len(at))
        places = [place]
        while len(at):
            at, place = parent[at], place[parent[at] >= 0]
            at = at[at >= 0]
            above.append(at)
            places.append(place)
        cells = np.concatenate(above), np.concatenate(places)
        shape = len(self.tree.nodes), len(self.nodes)
        return sparse.csr_array((np.ones(len(cells[0])), cells), shape=shape)

    def left(self, classes: FloatArray) -> FloatArray:
        """Return what each node's split leaves of impurity, times people, (N,), given the classes of leaves, (L, m)."""
        parent = parents_of(self.tree.nodes)
        of_node = left_of(np.asarray(self.below @ classes), self.criterion)
        return np.asarray(np.bincount(parent[1:], of_node[1:], len(parent)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PlacedEstimate:
    """Where an estimate has people: ``people`` (P,) of each profile, all of the lump ``lump`` (P,).

    Of one person of each of S lumps ``places`` (S, J) is at each place, and of one person there ``over`` (J, X) at each
    leaf; or, where classes are told apart, at each leaf with each class (J, L * m), class by class within a leaf.
    """

    people: FloatArray
    lump: IndexArray
    places: sparse.csr_array
    over: sparse.csr_array

    def of_classes(self, shares: FloatArray) -> PlacedEstimate:
        """Return the same by class, given what share of a leaf's people has each, (L, m)."""
        leaves, classes = shares.shape
        at = np.arange(leaves * classes)
        apart = sparse.csr_array((shares.ravel(), (at // classes, at)), (leaves, leaves * classes))
        return replace(self, over=sparse.csr_array(self.over @ apart))

    def of_each_class(self, classes: int) -> FloatArray:
        """Return how many people of each profile have each of so many classes, (P, m), where these are told apart."""
        at = np.arange(self.over.shape[1])
        of_one = (self.places @ (self.over @ _gather(at % classes, classes))).toarray()
        return np.asarray(of_one[self.lump] * self.people[:, None])

    def over_leaves(self, leaves: int) -> sparse.csr_array:
        """Return what of one person at each place is at each of so many leaves, (J, L), whether or not by class."""
        classes = self.over.shape[1] // leaves
        return sparse.csr_array(self.over @ _gather(np.arange(leaves * classes) // classes, leaves))

    def of_values(self, value_of_profile: IndexArray, values: int) -> sparse.csr_array:
        """Return how many people of each of so many values are where, (V, X), given that of each profile, (P,)."""
        shape = values, self.places.shape[0]
        parts = sparse.coo_array((self.people, (value_of_profile, self.lump)), shape=shape).tocsr()
        return sparse.csr_array(parts @ self.places @ self.over)


@dataclass(frozen=True, slots=True)
class CandidateCounts:
    """How many candidate splits were held against the estimate, and how many of them beat the chosen one there."""

    rows: int
    broken: int

    @property
    def why(self) -> str:
        """Why the estimate without these rows is not the one with them; "" where it is."""
        return BROKEN.format(rows=self.rows, broken=self.broken) if self.broken else ""


def _gather(to: IndexArray, size: int) -> sparse.csr_array:
    """Return a matrix that sums columns by which of so many each goes to."""
    return sparse.csr_array((np.ones(len(to)), (np.arange(len(to)), to)), shape=(len(to), size))


def compared(choice: SplitChoiceView, placed: PlacedEstimate) -> CandidateCounts | None:
    """Return how the candidates on known columns fare at an estimate; None where that cannot be told.

    ``placed`` are the people, by class. Of categories all ways to part them are held at once: none leaves less impurity
    than a branch for each.
    """
    tree, criterion = choice.tree, choice.criterion
    if criterion is Criterion.GAIN_RATIO or not all(
        tree.nodes[each].is_leaf for each in choice.nodes.tolist()
    ):
        return None
    if any(column.missing.any() for column in choice.binding_columns.values()):
        return None
    classes = placed.of_values(np.zeros(len(placed.people), dtype=np.intp), 1).toarray()
    chosen = choice.left(classes.reshape(len(choice.nodes), -1))
    rows = broken = 0
    for beside in besides(choice, placed):
        enough = chosen[beside.nodes] - CLOSE * np.maximum(beside.people, 1.0)
        rows += int(np.isfinite(beside.left).sum())
        broken += int((beside.left < enough[:, None]).sum())
    return CandidateCounts(rows, broken)


@dataclass(frozen=True, slots=True)
class ColumnCandidates:
    """The candidates on one column at K nodes, of the people there by value and class, ``table`` (K, W, m).

    ``there`` (K, W) are the values that somebody has, in their order, and then V for none; ``of`` (P,) is the value of
    each profile. ``left`` (K, C) is what each candidate leaves of impurity, times people, infinite where it is none
    that binds: of numbers cut c is behind value c of these, C = W - 1; of categories all ways to part them are held at
    once, C = 1, a branch for each value.
    """

    nodes: IndexArray
    of: IndexArray
    there: IndexArray
    table: FloatArray
    left: FloatArray
    is_number: bool

    @property
    def people(self) -> FloatArray:
        """How many people each node has, (K,)."""
        return np.asarray(self.table.sum(axis=(1, 2)))


def besides(choice: SplitChoiceView, placed: PlacedEstimate) -> Iterator[ColumnCandidates]:
    """Yield the candidates on each known column, many nodes at a time, with people as they are held there.

    Nodes where nobody differs in a column have none on it.
    """
    for name, column in choice.binding_columns.items():
        assert column.keys is not None
        values, of = np.unique(column.keys, return_inverse=True)
        size, of = len(values), of.reshape(-1)
        sure = {node: each for (node, on), each in choice.sure.items() if on == name and each.any()}
        nodes = np.array(sorted(sure, reverse=True), dtype=np.intp)
        where, value, table = _by_value(choice, nodes, placed.of_values(of, size))
        number = np.bincount(where, minlength=len(nodes))
        at = np.arange(len(where)) - (np.cumsum(number) - number)[where]
        # Nodes with about as many values are looked at together.
        width = np.ceil(np.log2(np.maximum(number, 1))).astype(np.intp)
        for some in _together(width, np.maximum(2**width * table.shape[1], size)):
            most, local = int(number[some].max()), np.full(len(nodes), -1, dtype=np.intp)
            local[some] = np.arange(len(some))
            own = np.flatnonzero(local[where] >= 0)
            cells = local[where[own]], at[own]
            there = np.full((len(some), most), size, dtype=np.intp)
            counts = np.zeros((len(some), most, table.shape[1]))
            there[cells], counts[cells] = value[own], table[own]
            is_number = isinstance(column, NumericColumn)
            if is_number:
                is_sure = np.stack([sure[node] for node in nodes[some].tolist()])
                left = _of_cuts(counts, there, is_sure, choice)
            else:
                left = left_of(counts, choice.criterion).sum(axis=1, keepdims=True)
            yield ColumnCandidates(nodes[some], of, there, counts, left, is_number)


def _by_value(
    choice: SplitChoiceView, nodes: IndexArray, placed: sparse.csr_array
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the values that people of nodes have, node by node, with the place of the node, (E,) each, and (E, m).

    ``placed`` (V, L * m) says how many of each value are at which leaf with which class.
    """
    leaves, classes = len(choice.nodes), placed.shape[1] // len(choice.nodes)
    cells = placed.tocoo()
    leaf, klass = np.divmod(cells.col, classes)
    by_leaf = sparse.csr_array(
        (cells.data, (leaf, cells.row * classes + klass)),
        shape=(leaves, placed.shape[0] * classes),
    )
    found = sparse.csr_array(choice.below[nodes] @ by_leaf)
    found.eliminate_zeros()
    found.sort_indices()
    where = np.repeat(np.arange(len(nodes)), np.diff(found.indptr))
    value, klass = np.divmod(found.indices.astype(np.intp), classes)
    is_new = np.ones(len(where), dtype=bool)
    is_new[1:] = (where[1:] != where[:-1]) | (value[1:] != value[:-1])
    table = np.zeros((int(is_new.sum()), classes))
    table[np.cumsum(is_new) - 1, klass] = found.data
    return where[is_new], value[is_new], table


def _together(width: IndexArray, cost: IndexArray) -> Iterator[IndexArray]:
    """Yield which of some nodes to look at together: those of one width above 0, as many as memory holds."""
    for each in np.unique(width[width > 0]).tolist():
        nodes = np.flatnonzero(width == each)
        step = max(1, MOST_AT_ONCE // int(cost[nodes[0]]))
        for start in range(0, len(nodes), step):
            yield nodes[start : start + step]


def _of_cuts(
    table: FloatArray, there: IndexArray, is_sure: BoolArray, choice: SplitChoiceView
) -> FloatArray:
    """Return what each cut leaves of impurity, times people, (K, W - 1), infinite where it is none that binds.

    ``is_sure`` (K, V - 1) says which cuts between neighbouring values may bind; those with nobody between them part
    people alike. A branch of nobody leaves what the node has, which no chosen split leaves more of, so that where one
    person is enough for a branch no cut can be better in any table, and so none in the mean of tables.
    """
    one = np.cumsum(table, axis=1)[:, :-1]
    other = np.maximum(table.sum(axis=1, keepdims=True) - one, 0.0)
    left = left_of(one, choice.criterion) + left_of(other, choice.criterion)
    size = is_sure.shape[1] + 1
    until = np.zeros((len(table), size), dtype=np.int32)
    np.cumsum(is_sure, axis=1, out=until[:, 1:])
    before = np.take_along_axis(until, np.minimum(there, size - 1), axis=1)
    is_bound = (np.diff(before, axis=1) > 0) & (there[:, 1:] < size)
    if choice.least > 1:
        is_bound &= (one.sum(axis=2) >= choice.least) & (other.sum(axis=2) >= choice.least)
    return np.where(is_bound, left, np.inf)


def place_people(
    people: FloatArray, lump: IndexArray, net: Network, fitted: FittedMargins, sizes: FloatArray
) -> PlacedEstimate:
    """Return people as they are spread over leaves of these sizes, (L,); each group's by the sizes of its leaves."""
    groups, leaves = net.groups, len(net.group_of)
    share = sizes / net.demand[net.group_of]
    over = sparse.csr_array((share, (net.group_of, np.arange(leaves))), shape=(groups, leaves))
    places = sparse.csr_array(sparse.diags_array(1 / net.supply) @ fitted.people)
    return PlacedEstimate(people, lump, places, over)


def left_of(counts: FloatArray, criterion: Criterion) -> FloatArray:
    """Return the impurity of branches times their people, (..., B), given their classes, (..., B, m)."""
    total = counts.sum(axis=-1)
    if criterion is Criterion.GINI:
        squares = (counts**2).sum(axis=-1)
        return np.asarray(
            total - np.divide(squares, total, out=np.zeros_like(total), where=total > 0)
        )
    return np.asarray(_log(total) - _log(counts).sum(axis=-1))


def _log(values: FloatArray) -> FloatArray:
    return np.asarray(values * np.log(values, out=np.zeros_like(values), where=values > 0))
