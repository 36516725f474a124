"""What the choice of each split says to somebody who knows only some columns: other splits on these would be no better.

Of a candidate split on a known column both the people of a branch and their classes are sums of the estimate, and what
is left of impurity is concave in them. So where no candidate beats the chosen split at the estimate of greatest entropy
without such rows, that is the estimate with them too. Candidates on hidden columns say nothing of where people are:
whatever people are in a leaf, the hidden values that lead there can be given to them in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Held:
    """People of one class as the estimate has them: ``people`` (P,) of each profile, all of the lump ``lump`` (P,).

    Of one person of each of S lumps ``places`` (S, L) is at each leaf.
    """

    people: FloatArray
    lump: IndexArray
    places: sparse.csr_array


@dataclass(frozen=True, slots=True)
class Compared:
    """How many candidate splits were held against the estimate, and how many of them beat the chosen one there."""

    rows: int
    broken: int

    @property
    def why(self) -> str:
        """Why the estimate without these rows is not the one with them; "" where it is."""
        return BROKEN.format(rows=self.rows, broken=self.broken) if self.broken else ""


def compared(choice: Choice, classes: Sequence[Held]) -> Compared | None:
    """Return how the candidates on known columns fare at an estimate; None where that cannot be told.

    Of categories all ways to part them are held at once: none leaves less impurity than a branch for each.
    """
    tree, nodes, criterion = choice.tree, choice.nodes, choice.criterion
    if criterion is Criterion.GAIN_RATIO or not all(
        tree.nodes[each].is_leaf for each in nodes.tolist()
    ):
        return None
    below = leaves_below(tree, nodes)
    own = [np.asarray(each.people @ each.places[each.lump]).ravel() for each in classes]
    of_leaf = np.stack(own, axis=1)
    chosen = {
        node: sum(
            float(left_of(of_leaf[below[child]].sum(axis=0)[None], criterion)[0])
            for child in tree.nodes[node].children
        )
        for node in below
        if not tree.nodes[node].is_leaf
    }
    rows = broken = 0
    for feature in tree.features:
        column, name = choice.columns.get(feature.name), feature.name
        binds = {node: choice.sure[node, name] for node in chosen if (node, name) in choice.sure}
        if column is None or not any(each.any() for each in binds.values()):
            continue
        if column.missing.any():
            return None
        spread = [_by_value(column, each) for each in classes]
        for node, is_sure in binds.items():
            left = chosen[node]
            table = np.stack([each[:, below[node]].sum(axis=1) for each in spread], axis=1)
            size = table.sum()
            is_number = isinstance(column, NumericColumn)
            for found in _candidates(table, is_sure, criterion, choice.least, is_number=is_number):
                rows += len(found)
                broken += int((found < left - CLOSE * max(size, 1.0)).sum())
    return Compared(rows, broken)


def held(
    people: FloatArray, lump: IndexArray, net: Network, found: Spread, sizes: FloatArray
) -> Held:
    """Return people as they are spread over leaves of these sizes, (L,); each group's by the sizes of its leaves."""
    groups, leaves = net.groups, len(net.group_of)
    share = sizes / net.demand[net.group_of]
    gather = sparse.csr_array((share, (net.group_of, np.arange(leaves))), shape=(groups, leaves))
    places = sparse.diags_array(1 / net.supply) @ found.people @ gather
    return Held(people, lump, sparse.csr_array(places))


def leaves_below(tree: Tree, nodes: IndexArray) -> dict[int, IndexArray]:
    """Return the places among ``nodes`` of the leaves below each node, and of each leaf itself."""
    found: dict[int, list[int]] = {each.index: [] for each in tree.nodes}
    for place, leaf in enumerate(nodes.tolist()):
        at: int | None = leaf
        while at is not None:
            found[at].append(place)
            at = tree.nodes[at].parent
    return {node: np.array(places, dtype=np.intp) for node, places in found.items()}


def _by_value(column: Column, held: Held) -> FloatArray:
    """Return how many people of each value of a column are at each leaf, (V, L); numbers in their order."""
    assert column.keys is not None
    values, of = np.unique(column.keys, return_inverse=True)
    shape = (len(values), held.places.shape[0])
    parts = sparse.coo_array((held.people, (of.reshape(-1), held.lump)), shape=shape).tocsr()
    return np.asarray((parts @ held.places).toarray())


def _candidates(
    table: FloatArray, is_sure: BoolArray, criterion: Criterion, least: float, *, is_number: bool
) -> Iterator[FloatArray]:
    """Yield the impurity that candidates leave, times people, given how many of each value have each class, (V, m)."""
    there = np.flatnonzero(table.sum(axis=1) > 0)
    kept = table[there]
    if len(kept) < 2:
        return
    if not is_number:
        if is_sure.any():
            yield np.array([left_of(kept, criterion).sum()])
        return
    one = np.cumsum(kept, axis=0)[:-1]
    other = kept.sum(axis=0) - one
    is_compared: BoolArray = (one.sum(axis=1) >= least) & (other.sum(axis=1) >= least)
    # Cuts with nobody between them part people alike.
    is_compared &= np.logical_or.reduceat(is_sure[: there[-1]], there[:-1])
    yield (left_of(one, criterion) + left_of(np.maximum(other, 0.0), criterion))[is_compared]


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
