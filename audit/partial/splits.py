"""What the choice of each split says to somebody who knows only some columns: other splits on these would be no better.

Of a candidate split on a known column both the people of a branch and their classes are sums of the estimate, and what
is left of impurity is concave in them. So where no candidate beats the chosen split at the estimate of greatest entropy
without such rows, that is the estimate with them too. Candidates on hidden columns say nothing of where people are:
whatever people are in a leaf, the hidden values that lead there can be given to them in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from audit.partial.network import Network
from audit.partial.scaling import Spread
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from ppdm_models.tree.column import Column, NumericColumn
from ppdm_models.tree.impurity import Criterion
from ppdm_models.tree.tree import Tree

BROKEN = (
    "no estimate: {broken:,} of {rows:,} other splits on known columns would be better than the chosen ones at the "
    "estimate without them, which is not solved again"
)
SureSplits = Mapping[tuple[int, str], BoolArray]
"""Which candidates bind, by node and column: each cut between neighbouring values, (V - 1,), or all sets, (1,)."""
NONE_SURE = np.zeros(1, dtype=bool)
CLOSE = 1e-9
"""Impurities that are nearer than that, for each record of a node, are the same."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How the splits of a tree were chosen, as far as somebody knows who knows the ``columns`` of P profiles.

    ``nodes`` (L,) are those where people stop. A branch of fewer people than ``least`` is none that the learner surely
    compares; ``sure`` says which others it did.
    """

    tree: Tree
    nodes: IndexArray
    columns: Mapping[str, Column]
    criterion: Criterion
    least: float
    sure: SureSplits

    @property
    def asked(self) -> dict[str, Column]:
        """The known columns on which some candidate binds, by name."""
        binding = {name for (_, name), is_sure in self.sure.items() if is_sure.any()}
        names = (each.name for each in self.tree.features)
        return {each: self.columns[each] for each in names if each in binding & self.columns.keys()}


@dataclass(frozen=True, slots=True)
class Held:
    """Where an estimate has people: ``people`` (P,) of each profile, all of the lump ``lump`` (P,).

    Of one person of each of S lumps ``places`` (S, J) is at each place, and of one person there ``over`` (J, X) at each
    leaf; or, where classes are told apart, at each leaf with each class (J, L * m), class by class within a leaf.
    """

    people: FloatArray
    lump: IndexArray
    places: sparse.csr_array
    over: sparse.csr_array

    def of_classes(self, shares: FloatArray) -> Held:
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

    def of_values(self, of: IndexArray, values: int) -> FloatArray:
        """Return how many people of each of so many values are where, (V, X), given that of each profile, (P,)."""
        shape = values, self.places.shape[0]
        parts = sparse.coo_array((self.people, (of, self.lump)), shape=shape).tocsr()
        return np.asarray((parts @ self.places @ self.over).toarray())


@dataclass(frozen=True, slots=True)
class Compared:
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


def compared(choice: Choice, parts: Sequence[Held]) -> Compared | None:
    """Return how the candidates on known columns fare at an estimate; None where that cannot be told.

    ``parts`` are all people, by class. Of categories all ways to part them are held at once: none leaves less impurity
    than a branch for each.
    """
    tree, criterion = choice.tree, choice.criterion
    if criterion is Criterion.GAIN_RATIO or not all(
        tree.nodes[each].is_leaf for each in choice.nodes.tolist()
    ):
        return None
    if any(column.missing.any() for column in choice.asked.values()):
        return None
    everybody = [each.of_values(np.zeros(len(each.people), dtype=np.intp), 1) for each in parts]
    chosen = left_by_chosen(choice, np.sum(everybody, axis=0).reshape(len(choice.nodes), -1))
    rows = broken = 0
    for beside in besides(choice, parts):
        size = beside.table.sum()
        found = _left_by_candidates(beside, choice)
        rows += len(found)
        broken += int((found < chosen[beside.node] - CLOSE * max(size, 1.0)).sum())
    return Compared(rows, broken)


@dataclass(frozen=True, slots=True)
class Beside:
    """The people of a node by the value of a column and their class, ``table`` (V', m).

    ``there`` (V',) are the values that somebody has, of all V; ``of`` (P,) is each profile's. Of numbers ``is_sure``
    (V' - 1,) says which cuts between them may bind, of categories all ways to part them do.
    """

    node: int
    there: IndexArray
    table: FloatArray
    of: IndexArray
    is_sure: BoolArray
    is_number: bool

    def cuts(self, choice: Choice) -> tuple[FloatArray, BoolArray]:
        """Return what each cut leaves of impurity, times people, (V' - 1,), and which of them bind.

        A branch of nobody leaves what the node has, which no chosen split leaves more of, so that where one person is
        enough for a branch no cut can be better in any table, and so none in the mean of tables.
        """
        one = np.cumsum(self.table, axis=0)[:-1]
        other = np.maximum(self.table.sum(axis=0) - one, 0.0)
        left = left_of(one, choice.criterion) + left_of(other, choice.criterion)
        if choice.least <= 1:
            return left, self.is_sure
        is_large = (one.sum(axis=1) >= choice.least) & (other.sum(axis=1) >= choice.least)
        return left, self.is_sure & is_large


def besides(choice: Choice, parts: Sequence[Held]) -> Iterator[Beside]:
    """Yield each node and column on which candidates may bind, with people as they are held there."""
    place = {leaf: at for at, leaf in enumerate(choice.nodes.tolist())}
    for name, column in choice.asked.items():
        assert column.keys is not None
        values, of = np.unique(column.keys, return_inverse=True)
        of = of.reshape(-1)
        spread = np.sum([each.of_values(of, len(values)) for each in parts], axis=0)
        spread = spread.reshape(len(values), len(choice.nodes), -1)
        nobody, tables = np.zeros((len(values), spread.shape[2])), dict[int, FloatArray]()
        for node in reversed(choice.tree.nodes):
            if node.is_leaf:
                at = place.get(node.index)
                tables[node.index] = nobody if at is None else spread[:, at]
                continue
            table = np.sum([tables.pop(child) for child in node.children], axis=0)
            tables[node.index] = table
            is_sure = choice.sure.get((node.index, name), NONE_SURE)
            there = np.flatnonzero(table.any(axis=1))
            if is_sure.any() and len(there) > 1:
                is_number = isinstance(column, NumericColumn)
                if is_number:
                    # Cuts with nobody between them part people alike.
                    is_sure = np.logical_or.reduceat(is_sure[: there[-1]], there[:-1])
                yield Beside(node.index, there, table[there], of, is_sure, is_number)


def left_by_chosen(choice: Choice, classes: FloatArray) -> dict[int, float]:
    """Return what each chosen split leaves of impurity, times people, given the classes of each leaf, (L, m)."""
    below = leaves_below(choice.tree, choice.nodes)
    found = {}
    for node in choice.tree.nodes:
        if not node.is_leaf:
            branches = np.stack([classes[below[each]].sum(axis=0) for each in node.children])
            found[node.index] = float(left_of(branches, choice.criterion).sum())
    return found


def held(
    people: FloatArray, lump: IndexArray, net: Network, found: Spread, sizes: FloatArray
) -> Held:
    """Return people as they are spread over leaves of these sizes, (L,); each group's by the sizes of its leaves."""
    groups, leaves = net.groups, len(net.group_of)
    share = sizes / net.demand[net.group_of]
    over = sparse.csr_array((share, (net.group_of, np.arange(leaves))), shape=(groups, leaves))
    places = sparse.csr_array(sparse.diags_array(1 / net.supply) @ found.people)
    return Held(people, lump, places, over)


def leaves_below(tree: Tree, nodes: IndexArray) -> dict[int, IndexArray]:
    """Return the places among ``nodes`` of the leaves below each node, and of each leaf itself."""
    found: dict[int, list[int]] = {each.index: [] for each in tree.nodes}
    for place, leaf in enumerate(nodes.tolist()):
        at: int | None = leaf
        while at is not None:
            found[at].append(place)
            at = tree.nodes[at].parent
    return {node: np.array(places, dtype=np.intp) for node, places in found.items()}


def _left_by_candidates(beside: Beside, choice: Choice) -> FloatArray:
    """Return the impurity that each candidate leaves that binds, times people."""
    if not beside.is_number:
        return np.array([left_of(beside.table, choice.criterion).sum()])
    left, is_bound = beside.cuts(choice)
    return left[is_bound]


def left_of(counts: FloatArray, criterion: Criterion) -> FloatArray:
    """Return the impurity of branches times their people, (B,), given their classes, (B, m)."""
    total = counts.sum(axis=1)
    if criterion is Criterion.GINI:
        squares = (counts**2).sum(axis=1)
        return np.asarray(
            total - np.divide(squares, total, out=np.zeros_like(total), where=total > 0)
        )
    return np.asarray(_log(total) - _log(counts).sum(axis=1))


def _log(values: FloatArray) -> FloatArray:
    return np.asarray(values * np.log(values, out=np.zeros_like(values), where=values > 0))
