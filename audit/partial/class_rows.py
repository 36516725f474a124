"""Rows over the classes in leaves that are not counted one by one, for an adversary who knows everybody's class.

Where the number of a class in a leaf is known, or only that of some classes together, these are places that people are
spread over. What else is said of leaves (a label, a band, how many are predicted right) are rows over the same people.
Where the estimate without such rows breaks none, it is the estimate with them; otherwise they are put in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.entropy.violated import VIOLATION_SHARE
from treewarden.audit.partial.fitting.flows import Allowance, Network
from treewarden.audit.partial.fitting.margins import HELD, MOST_GAP, ROUNDS, Margins
from treewarden.audit.partial.fitting.multipliers import Slopes
from treewarden.audit.partial.fitting.splits import PlacedEstimate
from treewarden.audit.partial.reachability import CompatibleValues
from treewarden.audit.partial.tree_context import LeafTable
from treewarden.audit.partial.value_rules import OPEN
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, leaf_knowledge, max_violation
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

# People, some of known class, spread over leaves that are split by class: each part holds one class alone.
#
# Where the number of each class in each leaf is known, a leaf is as many places as it has classes. Whoever's class is
# known can be in the places of that class only, everybody else in all of them. Where only the sum of some classes is
# known, these are one place together.


@dataclass(frozen=True, slots=True)
class ClassedLeaves:
    """Leaves parted by class: the leaf's place among L, and the class, of each of C parts, (C,) each.

    ``population`` are the people told apart by class too, who stop at their part; ``of`` is the profile of each row,
    and ``leaves`` the parts as leaves, both as others take leaves. A part of several classes has the first of them;
    ``together`` (L, m) is that of each class at each leaf, -1 where nobody of the class is there.
    """

    leaf: IndexArray
    klass: IndexArray
    together: IndexArray
    population: Population
    of: IndexArray
    leaves: LeafTable

    def parted(
        self, lump_of: IndexArray, arcs: sparse.csr_array, class_of_group: IndexArray
    ) -> tuple[IndexArray, sparse.csr_array]:
        """Return the lump of each profile, (P,), and what arcs hold from lumps to parts, (S', C).

        ``lump_of`` (P,) and ``arcs`` (S, L) are of leaves; ``class_of_group`` (P,) is the class known of each profile.
        """
        both, lump = np.unique(np.stack([lump_of, class_of_group]), axis=1, return_inverse=True)
        old, known = both
        cells = sparse.csr_array(arcs[old]).tocoo()
        own = np.where(known[cells.row] == OPEN, OPEN, self.part_of[cells.col, known[cells.row]])
        is_known = own != OPEN
        is_open = known == OPEN
        # Who may have any class can be in all parts of a leaf.
        whole = sparse.csr_array(sparse.diags_array(is_open.astype(np.float64)) @ arcs[old])
        whole.eliminate_zeros()
        one = (cells.data[is_known], (cells.row[is_known], own[is_known]))
        shape = (len(old), len(self.leaf))
        kept = sparse.coo_array(one, shape=shape).tocsr() + whole[:, self.leaf]
        return lump.reshape(-1), sparse.csr_array(kept)

    def arcs(
        self, arcs: CompatibleValues, nodes: IndexArray, class_of_group: IndexArray
    ) -> CompatibleValues:
        """Return arcs to the leaves ``nodes``, (L,), as arcs to parts; ``class_of_group`` is as of ``parted``."""
        place = np.searchsorted(nodes, arcs.node)
        inside = np.flatnonzero(np.isin(arcs.node, nodes))
        shape = (int(arcs.row.max(initial=-1)) + 1, len(nodes))
        kinds = sparse.csr_array(
            (arcs.kind[inside] + 1.0, (arcs.row[inside], place[inside])), shape=shape
        )
        lump_of, over = self.parted(arcs.lump_of, kinds, class_of_group)
        found = over.tocoo()
        kind = np.rint(found.data).astype(np.intp) - 1
        return replace(arcs, lump_of=lump_of, row=found.row, node=found.col, kind=kind)

    def by_class(self, placed: PlacedEstimate, leaves: int) -> PlacedEstimate:
        """Return people over parts as people of each class over so many leaves."""
        classes = self.together.shape[1]
        shape, parts = (len(self.leaf), leaves * classes), np.arange(len(self.leaf))
        gather = sparse.csr_array((np.ones(len(parts)), (parts, self.at)), shape=shape)
        return replace(placed, over=sparse.csr_array(placed.over @ gather))

    @property
    def part_of(self) -> IndexArray:
        """The part of each class of each leaf, (L, m), ``OPEN`` where nobody is."""
        leaves, classes = self.together.shape
        code = np.arange(leaves)[:, None] * classes + self.together
        part = np.searchsorted(self.at, code).clip(max=len(self.at) - 1)
        return np.where((self.together >= 0) & (self.at[part] == code), part, OPEN)

    @property
    def at(self) -> IndexArray:
        """The number of each part's leaf and class, leaf by leaf, (C,)."""
        return np.asarray(self.leaf * self.together.shape[1] + self.klass)

    @property
    def class_counts(self) -> FloatArray:
        """How many people of each class each leaf has, (L, m)."""
        found = np.zeros(self.together.size)
        found[self.at] = self.leaves.sizes
        return found.reshape(self.together.shape)

    @property
    def shares(self) -> FloatArray:
        """The classes of each part, (C, m): all people of one have its own."""
        truth = self.population.truth
        assert not isinstance(truth, Undetermined)
        return np.asarray(np.eye(truth.shape[1])[self.klass])


def leaves_by_class(
    leaves: LeafTable, population: Population, together: IndexArray | None = None
) -> ClassedLeaves:
    """Return leaves parted by class; the people's classes are known from the table.

    Each class of a leaf is counted unless ``together`` (L, m) says of which others only the sum is known with it, by
    the first of them; or that nobody of it is there, by -1.
    """
    truth = population.truth
    assert not isinstance(truth, Undetermined)
    size = truth.shape[1]
    if together is None:
        together = np.tile(np.arange(size), (len(leaves.nodes), 1))
    profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    own = truth[profile, klass]
    leaf_of = np.searchsorted(leaves.nodes, population.leaf)[profile]
    code = leaf_of * size + together[leaf_of, klass]
    codes, of_part = np.unique(code, return_inverse=True)
    parts = np.arange(len(codes), dtype=np.intp)
    people = replace(
        population,
        columns={name: column.take(profile) for name, column in population.columns.items()},
        counts=own,
        leaf=of_part,
        truth=np.eye(size)[klass] * own[:, None],
        order=None,
    )
    sizes = np.bincount(of_part, own, len(codes)).astype(np.float64)
    leaf, part_class = np.divmod(codes, size)
    of_parts = replace(leaves, nodes=parts, sizes=sizes)
    return ClassedLeaves(leaf, part_class, together, people, profile, of_parts)


NOT_SOLVED = Undetermined(
    "no inference: the class counts of leaves were not solved together with the classes of people"
)
"""Said where `fit_under_rows` finds nothing."""
NOT_USED = (
    "class counts were used for proofs leaf by leaf only, and tables with other class "
    "counts in the leaves were not searched for"
)
"""Said where that leaves something open."""


@dataclass(frozen=True, slots=True)
class ClassRows:
    """C rows over how many people of each class are in each leaf, (L * m,): between ``low`` and ``high``, (C,) each.

    ``people`` (C,) is how many each speaks of.
    """

    weights: sparse.csr_array
    low: FloatArray
    high: FloatArray
    people: FloatArray

    def broken(self, class_counts: FloatArray) -> list[tuple[int, bool]]:
        """Return which rows are broken where leaves hold so many of each class, (L, m), and whether at their most.

        A row whose ends are the same has one end.
        """
        value, off = self.weights @ class_counts.ravel(), HELD * self.people
        too_few, too_many = value < self.low - off, value > self.high + off
        is_most = too_many & (self.low < self.high)
        some = np.flatnonzero(too_few | too_many)
        return list(zip(some.tolist(), is_most[some].tolist(), strict=True))


def uncounted_places(leaves: LeafTable, until: Clock) -> tuple[IndexArray, IndexArray]:
    """Return of each class at each leaf, (L, m), the first of the classes of which only the sum is known with it.

    The second time it is -1 where whole records prove that nobody of a class is at a leaf; the estimate goes without.

    Raises:
        TableError: no table with these leaves has these numbers.
    """
    by_leaf, proved = leaf_knowledge(leaves.system), leaves.proved(until)
    together = np.empty((len(leaves.nodes), len(leaves.system.case.tree.classes)), dtype=np.intp)
    for place, node in enumerate(leaves.nodes.tolist()):
        is_open = np.isnan(by_leaf[node].known_masses)
        together[place] = np.where(is_open, is_open.argmax(), np.arange(len(is_open)))
    if isinstance(proved, Undetermined):
        return together, together
    return together, np.asarray(np.where(proved.high == 0, -1, together), dtype=np.intp)


def class_rows(leaves: LeafTable) -> ClassRows:
    """Return what is said of the classes in leaves."""
    system = leaves.system.estimated
    shape = len(leaves.nodes), len(system.case.tree.classes)
    said = list(_class_rows(leaves, system, shape[1]))
    number = np.repeat(np.arange(len(said)), [len(class_row.cell) for class_row in said])
    cells = np.concatenate([class_row.cell for class_row in said] or [np.zeros(0, dtype=np.intp)])
    weights = np.concatenate([class_row.weight for class_row in said] or [np.zeros(0)])
    matrix = sparse.coo_array((weights, (number, cells)), shape=(len(said), shape[0] * shape[1]))
    there = sparse.csr_array(
        (np.ones(len(cells)), (number, cells // shape[1])), shape=(len(said), shape[0])
    )
    people = (there > 0).astype(np.float64) @ leaves.sizes
    low, high = (
        np.array([getattr(class_row, end) for class_row in said]) for end in ("low", "high")
    )
    return ClassRows(matrix.tocsr(), low, high, np.asarray(people))


@dataclass(frozen=True, slots=True)
class _ClassRow:
    cell: IndexArray
    weight: FloatArray
    low: float
    high: float


def _class_rows(leaves: LeafTable, system: System, m: int) -> Iterator[_ClassRow]:
    place = {node: at for at, node in enumerate(leaves.nodes.tolist())}
    for node, ends in system.ends.items():
        for end in ends:
            yield _ClassRow(np.array([place[node] * m + end.klass]), np.ones(1), end.low, end.high)
    for node, lead in system.leads.items():
        for klass in range(m):
            if klass != lead.label:
                cells = place[node] * m + np.array([lead.label, klass])
                yield _ClassRow(cells, np.array([1.0, -1.0]), lead.margin, np.inf)
    for line in system.across:
        yield _ClassRow(line.profiles * m + line.classes, line.weights, line.low, line.high)


@dataclass(frozen=True, slots=True)
class _Over:
    """The leaf of each place, (J,), of so many, and the class of each lump, (S,), of m."""

    leaves: int
    m: int
    leaf: IndexArray
    klass: IndexArray

    def class_counts(self, table: sparse.csr_array) -> FloatArray:
        """Return how many of each class are in each leaf, (L, m), where people are so spread, (S, J)."""
        found = np.zeros((self.leaves, self.m))
        for klass in range(self.m):
            own = np.asarray(table[self.klass == klass].sum(axis=0)).ravel()
            found[:, klass] = np.bincount(self.leaf, own, self.leaves)
        return found

    def slopes(self, rows: ClassRows, row_numbers: IndexArray, is_most: BoolArray) -> Slopes:
        """Return some rows over lumps, whose branches are their classes, and places; of some the most is asked for."""
        cell = self.leaf[None] * self.m + np.arange(self.m)[:, None]
        sign = np.where(is_most, -1.0, 1.0)
        value = (
            sparse.diags_array(sign) @ sparse.csc_array(rows.weights[row_numbers])[:, cell.ravel()]
        )
        least = np.where(is_most, -rows.high[row_numbers], rows.low[row_numbers])
        is_equal = rows.low[row_numbers] == rows.high[row_numbers]
        return Slopes(self.klass, sparse.csr_array(value), least, is_equal)


def fit_under_rows(
    leaves: LeafTable,
    parts: ClassedLeaves,
    net: Network,
    klass: IndexArray,
    spread: sparse.csr_array,
    allowance: Allowance,
) -> tuple[sparse.csr_array, float] | None:
    """Return how lumps are spread, (S, J), where all holds that is said of leaves' classes, and how far that is off.

    That is ``spread`` itself where it breaks nothing; None where nothing was found, or it is too large. Everybody of a
    lump has the class ``klass``, (S,); the places are the ``parts``. How far is in records times nats.
    """
    over = _Over(len(leaves.nodes), len(leaves.system.case.tree.classes), parts.leaf, klass)
    rows, place_block = class_rows(leaves), net.block_of_group[net.group_of]
    can = sparse.csr_array(net.movable[:, net.group_of])
    margins = Margins(can, net.supply, parts.leaves.sizes, net.block_of_lump, place_block)
    put_in: dict[tuple[int, bool], None] = {}  # ends of rows, the least or the most, as they come
    gap, start = 0.0, np.zeros(0)
    for _ in range(ROUNDS):
        held = over.class_counts(spread)
        broken = rows.broken(held)
        if not broken:
            is_held = max_violation(leaves.system.estimated, held) <= VIOLATION_SHARE
            return (spread, gap) if is_held and gap <= MOST_GAP else None
        if put_in.keys() >= set(broken):
            return None
        put_in.update(dict.fromkeys(broken))
        numbers, is_most = (np.array(each) for each in zip(*put_in, strict=True))
        found = margins.under([over.slopes(rows, numbers, is_most)], start, allowance)
        if found is None:
            return None
        spread, gap, start = found.table, found.gap, found.multipliers
    return None
