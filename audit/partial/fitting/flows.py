"""How many people of a lump can have a value in some table that fits: the most and the least, as flows.

In one table the lump's people with the value, and its other people, stand in leaves that have only so much room for
either. More of them have the value in another table exactly as far as people can be moved along arcs of the residual
graph from one kind of room to the other, so that the most is one maximum flow, and the least another. Every whole
number between them occurs. What a flow leaves is itself a table that fits.
What may be spent on one adversary is counted, in operations and in arcs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.audit.ipopt.backends import AUTO, check_door
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import FOREVER, Clock, clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, grouped

# Where people can be in some consistent table: people of lumps spread over leaves of known sizes, as flows.
#
# Tables that fit form a transportation polytope. From one of them, the true one, all others are reached along the
# arcs of its residual graph: an arc that is empty here is empty in every table if and only if its ends lie in
# different strongly connected components. Everything is exact, in whole records.


@dataclass(frozen=True, slots=True)
class Network:
    """S lumps of people over G groups of leaves, as they can be in some table.

    ``supply`` (S,) and ``demand`` (G,) are people; ``movable`` (S, G) says where people of a lump are in some table
    that fits, and ``held`` (S, G) how many are in one, the true one. ``group_of`` (L,) is the group of each leaf: the
    same lumps can reach all leaves of one.
    ``block_of_lump`` (S,) and ``block_of_group`` (G,) are parts between which nobody can move.
    """

    supply: FloatArray
    demand: FloatArray
    movable: sparse.csr_array
    held: sparse.csr_array
    group_of: IndexArray
    block_of_lump: IndexArray
    block_of_group: IndexArray

    @property
    def groups(self) -> int:
        """How many groups of leaves there are."""
        return len(self.demand)

    def over_groups(self, leaves: FloatArray) -> FloatArray:
        """Return sums over the leaves of each group, (G, m), of what is said of each leaf, (L, m)."""
        return grouped(self.group_of, leaves, self.groups)


def network(
    arcs: sparse.csr_array, world: sparse.csr_array, place_of: IndexArray | None = None
) -> Network:
    """Return who can be where, given where lumps can stop, (S, L), and where they do in truth, (S, L), people.

    With ``place_of``, (L,), the arcs lead to places, (S, C), and this is the place of each leaf.

    Raises:
        ValueError: somebody stops where their lump cannot.
    """
    group_of, first = _alike(arcs)
    group_of = group_of if place_of is None else group_of[place_of]
    gather = sparse.csr_array(
        (np.ones(len(group_of)), (np.arange(len(group_of)), group_of)),
        shape=(len(group_of), len(first)),
    )
    pattern, held = sparse.csr_array(arcs[:, first]), sparse.csr_array(world @ gather)
    held.eliminate_zeros()
    if (held - held.multiply(pattern)).count_nonzero():
        raise ValueError("somebody stops where nobody like them can")
    lumps, groups = pattern.shape
    graph = sparse.block_array([[None, pattern], [held.T, None]], format="csr")
    if graph.shape != (lumps + groups, lumps + groups):
        raise ValueError("a lump or a leaf without any arc")
    _, part = csgraph.connected_components(graph, directed=True, connection="strong")
    ends = pattern.tocoo()
    inside = part[ends.row] == part[lumps + ends.col]
    movable = sparse.csr_array(
        (np.ones(int(inside.sum())), (ends.row[inside], ends.col[inside])), shape=pattern.shape
    )
    return Network(
        supply=np.asarray(held.sum(axis=1)).ravel(),
        demand=np.asarray(held.sum(axis=0)).ravel(),
        movable=movable,
        held=held,
        group_of=group_of,
        block_of_lump=part[:lumps].astype(np.intp),
        block_of_group=part[lumps:].astype(np.intp),
    )


def _alike(arcs: sparse.csr_array) -> tuple[IndexArray, IndexArray]:
    """Return the group of each leaf that the same lumps can reach, (L,), and the first leaf of each group, (G,)."""
    columns = sparse.csc_array(arcs)
    columns.sort_indices()
    group: dict[bytes, int] = {}
    first, found = [], np.empty(columns.shape[1], dtype=np.intp)
    for leaf, (start, end) in enumerate(zip(columns.indptr, columns.indptr[1:], strict=False)):
        key = columns.indices[start:end].tobytes()
        if key not in group:
            group[key] = len(group)
            first.append(leaf)
        found[leaf] = group[key]
    return found, np.array(first, dtype=np.intp)


WORK = 2_000_000
"""Arcs to be looked at in all flows of an adversary, about half a second: the same on every machine."""
BEGUN = 2_000
"""Arcs that could be looked at while a flow is made ready."""
LOOKED = 100
"""The same while it is found out which flows of a lump need not be made."""
MOST_PEOPLE = 2**31 - 1
"""Flows are counted in 32 bits."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """How many people of each of m values some groups of leaves can hold, (A, m), and how many without it.

    Of one value alone both are (A,).
    """

    value: IntArray
    others: IntArray

    def at(self, groups: IndexArray) -> Rooms:
        """Return the room in some of the groups."""
        return Rooms(self.value[groups], self.others[groups])

    def for_value(self, value: int) -> Rooms:
        """Return the room for one value."""
        return Rooms(self.value[:, value], self.others[:, value])


@dataclass(frozen=True, slots=True)
class ValueBoundsOfGroups:
    """How many people of each lump have each value, (S, m), at least and at most; ``asked`` (S,) is of whom it is told.

    Of the others it is not told which of the numbers between occur, and there may be fewer.
    """

    least: IntArray
    most: IntArray
    asked: IndexArray


@dataclass(frozen=True, slots=True)
class Moved:
    """A table in which most or fewest people of a lump have a value: ``with_value`` in all, ``value`` (G,) by group.

    ``lump``, ``group`` and ``people``, (A,) each, are how many of which lump are where, among those that can move.
    """

    with_value: int
    value: IntArray
    lump: IndexArray
    group: IndexArray
    people: IntArray


def ends(
    net: Network, rooms_of: Callable[[int, IndexArray], Rooms], values: int, work: int = WORK
) -> ValueBoundsOfGroups:
    """Return how many of each lump have each of so many values, at least and at most.

    ``rooms_of(lump, groups)`` is the room for people of a lump in those groups where they can be. Where nobody need
    move for as many to have a value as there is room for, no flow is made. Lumps that can be in the fewest groups of
    leaves come first, until the work is done.
    """
    lumps = len(net.supply)
    least = np.zeros((lumps, values), dtype=np.int64)
    most = np.tile(np.rint(net.supply).astype(np.int64)[:, None], (1, values))
    asked = np.zeros(lumps, dtype=bool)
    if net.supply.sum() > MOST_PEOPLE:
        return ValueBoundsOfGroups(least, most, asked)
    arcs, blocks = _FlowArcs(net), dict[int, _FlowBlock]()
    freedom = np.diff(arcs.start)
    size = np.bincount(net.block_of_lump, freedom)
    order = np.argsort(freedom, kind="stable")[: work // LOOKED]
    work -= LOOKED * len(order)
    # Of two values, everybody has the one or the other.
    wanted = 1 if values == 2 else values
    for lump in order.tolist():
        own = arcs.from_lump(lump)
        rooms = rooms_of(lump, arcs.group[own])
        least[lump], most[lump], is_least, is_most = _unmoved(arcs.held[own], rooms)
        open_least, open_most = (np.flatnonzero(~each[:wanted]) for each in (is_least, is_most))
        part, number = int(net.block_of_lump[lump]), len(open_least) + len(open_most)
        cost = number * (int(size[part]) + BEGUN)
        if cost > work:
            continue
        if number and part not in blocks:
            blocks[part] = _FlowBlock(arcs, part)
        work -= cost
        for value in open_least.tolist():
            least[lump, value] = (
                blocks[part].flow(lump, rooms.for_value(value), up=False).with_value
            )
        for value in open_most.tolist():
            most[lump, value] = blocks[part].flow(lump, rooms.for_value(value), up=True).with_value
        if values == 2:
            people = int(np.rint(net.supply[lump]))
            most[lump, 1], least[lump, 1] = people - least[lump, 0], people - most[lump, 0]
        asked[lump] = True
    return ValueBoundsOfGroups(least, most, asked)


def _unmoved(
    people_of_arc: IntArray, rooms: Rooms
) -> tuple[IntArray, IntArray, BoolArray, BoolArray]:
    """Return how many people of a lump have each value at least and at most, (m,), for the room where they can be.

    ``people_of_arc`` (A,) is how many are where. Of each number is told whether it is so in some table: in one where
    nobody of them moves.
    """
    people = people_of_arc.sum()
    most, rest = (np.minimum(each.sum(axis=0), people) for each in (rooms.value, rooms.others))
    with_value, without = (
        np.minimum(each, people_of_arc[:, None]).sum(axis=0) for each in (rooms.value, rooms.others)
    )
    return people - rest, most, without == rest, with_value == most


def moved(net: Network, lump: int, room: Rooms, *, up: bool) -> Moved:
    """Return a table in which as many people of a lump have a value as can be, or as few; ``room`` of all groups."""
    arcs = _FlowArcs(net)
    at = arcs.group[arcs.from_lump(lump)]
    block = _FlowBlock(arcs, int(net.block_of_lump[lump]))
    return block.moved(lump, room.at(at), up=up)


def table_of(
    net: Network, lump: int, value: int, people_by_class: IntArray, *, up: bool
) -> IntArray:
    """Return how many of each lump have each value, (S, m), in a table with the most or fewest of a lump and value.

    ``people_by_class`` (G, m) is how many of each value each group of leaves has, in every table.
    """
    rooms = Rooms(people_by_class, people_by_class.sum(axis=1, keepdims=True) - people_by_class)
    found = moved(net, lump, rooms.for_value(value), up=up)
    people = sparse.coo_array((found.people, (found.lump, found.group)), shape=net.held.shape)
    inside = np.isin(np.arange(len(net.supply)), found.lump)
    rest = net.held.multiply(~inside[:, None])
    places = sparse.csc_array(people.tocsr() + rest)
    table = np.zeros((len(net.supply), people_by_class.shape[1]), dtype=np.int64)
    for group in range(net.groups):
        left = people_by_class[group].copy()
        there = slice(places.indptr[group], places.indptr[group + 1])
        rows, counts = places.indices[there], np.rint(places.data[there]).astype(np.int64)
        others = rows != lump
        if not others.all():
            with_value = int(found.value[group])
            rest = np.where(np.arange(len(left)) == value, 0, left)
            (part,) = filled(counts[~others] - with_value, rest)
            part[value] = with_value
            table[lump] += part
            left -= part
        table[rows[others]] += filled(counts[others], left)
    return table


def filled(people: IntArray, left: IntArray) -> IntArray:
    """Return values that are left, (m,), of lots of so many people, (K,), one lot after the other: (K, m).

    The first values go first.
    """
    until, last = np.cumsum(people), np.cumsum(left)
    both = np.minimum(until[:, None], last) - np.maximum((until - people)[:, None], last - left)
    found: IntArray = np.maximum(both, 0)
    return found


class _FlowArcs:
    """The groups where people of each lump can be, lump after lump, and how many are there in the true table."""

    def __init__(self, net: Network) -> None:
        self.net = net
        net.movable.sort_indices()
        self.start, self.group = net.movable.indptr, net.movable.indices.astype(np.intp)
        self.lump = np.repeat(np.arange(len(net.supply), dtype=np.intp), np.diff(self.start))
        self.held = _at(net.held, self.lump, self.group)

    def from_lump(self, lump: int) -> slice:
        """Return which arcs lead from a lump."""
        return slice(int(self.start[lump]), int(self.start[lump + 1]))


class _FlowBlock:
    """The lumps and groups of one part of a network, between which people can move, and where they are in one table.

    Arc a leads from the lump ``lumps[row[a]]`` to the group ``groups[column[a]]``, where ``held[a]`` people are.
    """

    def __init__(self, arcs: _FlowArcs, block: int) -> None:
        net = arcs.net
        self.lumps = np.flatnonzero(net.block_of_lump == block)
        self.groups = np.flatnonzero(net.block_of_group == block)
        inside = np.flatnonzero(net.block_of_lump[arcs.lump] == block)
        self.row = np.searchsorted(self.lumps, arcs.lump[inside])
        self.column = np.searchsorted(self.groups, arcs.group[inside])
        self.held = arcs.held[inside]
        self.people = int(self.held.sum())
        self.all_groups = net.groups

    def flow(self, lump: int, room: Rooms, *, up: bool) -> _BlockFlow:
        """Return how people move so that as many of a lump have a value as can be, or as few.

        ``room`` is that of the groups where they can be.
        """
        own = self.row == np.searchsorted(self.lumps, lump)
        at = self.column[own]
        most, most_others = room.value, room.others
        value = np.minimum(self.held[own], most)
        others = self.held[own] - value
        size = len(self.lumps)
        start, end = size + len(self.groups), size + len(self.groups) + 1
        row, group, held = self.row[~own], size + self.column[~own], self.held[~own]
        parts = [
            (row, group, np.full(len(row), self.people)),
            (group, row, held),
            (np.full(len(at), start), size + at, most - value),
            (size + at, np.full(len(at), start), value),
            (np.full(len(at), end), size + at, most_others - others),
            (size + at, np.full(len(at), end), others),
        ]
        tails, heads, able = (np.concatenate(each) for each in zip(*parts, strict=True))
        graph = sparse.coo_array(
            (np.minimum(able, self.people).astype(np.int32), (tails, heads)),
            shape=(end + 1, end + 1),
        ).tocsr()
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
        graph.eliminate_zeros()
        source, sink = (start, end) if up else (end, start)
        found = csgraph.maximum_flow(graph, source, sink)
        more = found.flow_value if up else -found.flow_value
        return _BlockFlow(own, value, others, found.flow, int(value.sum()) + int(more))

    def moved(self, lump: int, room: Rooms, *, up: bool) -> Moved:
        """Return a table in which as many people of a lump have a value as can be, or as few.

        ``room`` is that of the groups where they can be.
        """
        block_flow = self.flow(lump, room, up=up)
        own, size = block_flow.own, len(self.lumps)
        at, row, group = size + self.column[own], self.row[~own], size + self.column[~own]
        start, end = size + len(self.groups), size + len(self.groups) + 1
        tails = np.concatenate([np.full(len(at), start), np.full(len(at), end), row])
        came = _at(block_flow.flow, tails, np.concatenate([at, at, group]))
        with_value, without, others_moved = np.split(came, [len(at), 2 * len(at)])
        value = block_flow.value + with_value
        people = self.held.copy()
        people[~own] += others_moved
        people[own] = value + block_flow.others + without
        by_group = np.zeros(self.all_groups, dtype=np.int64)
        by_group[self.groups[self.column[own]]] = value
        places = self.lumps[self.row], self.groups[self.column]
        return Moved(block_flow.with_value, by_group, *places, people)


@dataclass(frozen=True, slots=True)
class _BlockFlow:
    """A flow in a block whose ``own`` arcs are the lump's: ``value`` and ``others`` stand there before anybody moves.

    Afterwards ``with_value`` people of the lump have the value.
    """

    own: BoolArray
    value: IntArray
    others: IntArray
    flow: sparse.csr_array
    with_value: int


def _at(matrix: sparse.csr_array, rows: IndexArray, columns: IndexArray) -> IntArray:
    """Return the whole numbers that stand at places of a matrix, 0 where none does."""
    # Many small matrices are read: what SciPy does to index one takes longer than this.
    matrix.sort_indices()
    lines, width = np.diff(matrix.indptr), matrix.shape[1]
    there = np.repeat(np.arange(len(lines)), lines) * width + matrix.indices
    wanted = rows * width + columns
    place = np.searchsorted(there, wanted)
    is_there = np.append(there, -1)[place] == wanted
    whole: IntArray = np.rint(np.append(matrix.data, 0)[place] * is_there).astype(np.int64)
    return whole


# How much work may be put into an estimate: counted, so that the same input gives the same answer on any machine.


@dataclass(frozen=True, slots=True)
class AdversaryBudget:
    """What may be spent on one adversary.

    ``enforcing`` is so many operations on numbers for each estimate into which the choice of splits is put, some
    minutes; ``flows`` so many arcs that are looked at for how many people have each value, and whether tables are
    shown.
    """

    enforcing: float = 2e11
    flows: int = WORK


FULL = AdversaryBudget()


@dataclass(slots=True)
class Allowance:
    """So many operations on numbers are left to spend, ``until`` a time limit, where one was set.

    ``door`` is that to IPOPT, where it is asked.
    """

    left: float
    until: Clock = FOREVER
    door: str = AUTO

    def spend(self, operations: float) -> bool:
        """Take away what something costs; return whether there was so much, and is time."""
        self.left -= operations
        return self.left >= 0 and not self.until.is_over


def allowed(options: AuditOptions, operations: float) -> Allowance:
    """Return an allowance that ends with the audit's time limit too, where it has one.

    Raises:
        SolverError: the wanted solver is not there.
    """
    until = FOREVER if options.time_limit is None else clock(options.time_limit)
    return Allowance(operations, until, check_door(options.solver))
