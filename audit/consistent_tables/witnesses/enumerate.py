"""All consistent tables below a node, where they are few, and the exact posterior of each record over them.

The tables of leaves are listed, combined and tested, bottom up. In the posterior every data set is equally likely.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from treewarden.audit.bounds import StoppingPlace
from treewarden.audit.consistent_tables.facts.facts import Facts, joined, would_have_split
from treewarden.audit.consistent_tables.witnesses.witness_pool import node_holds
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray

CHUNK_CELLS = 2_000_000
TOGETHER_CELLS = 250_000
"""Cells of tables that are tested between two looks at the clock."""
MOST_RECORDS = 100_000
MOST_ROWS = 100_000
MOST_COUNTED = 10_000
PAIR_CELLS = 100_000
FEW_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class EnumerationLimits:
    """How many tables are kept per node, how many combinations are tried there, and cells tested in all."""

    kept: int = 2000
    tried: int = 50_000
    work: int = 600_000_000


def enumerated(
    facts: Facts,
    clock: Clock,
    limits: EnumerationLimits = EnumerationLimits(),
    *,
    splits: bool = True,
) -> dict[int, IntArray]:
    """Return, per node, every table (K, S, m) of its positions that obeys all rows at and below it.

    Nodes with too many tables are left out, and leaves of which all is known by the ends of their classes, unless the
    tables of a node above are made of theirs. With ``splits`` false the split rows are ignored.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    tables_by_node: dict[int, IntArray] = {}
    work = 0
    for node in reversed(facts.tree.nodes):
        clock.check()
        here = facts.span(node.index)
        if here.start == here.stop or (node.index and _is_plain(facts, node.index)):
            continue
        parts = parts_of(facts, node.index, tables_by_node, limits)
        if parts is None or math.prod(len(part) for part in parts) > limits.tried:
            continue
        cells = math.prod(len(part) for part in parts) * (here.stop - here.start) * facts.classes
        work += cells * len(facts.splits.get(node.index, ()))
        if work > limits.work:
            break
        tables = _combined(facts, node.index, parts, clock, limits, splits)
        if tables is not None:
            tables_by_node[node.index] = tables
    return tables_by_node


def parts_of(
    facts: Facts, node: int, tables_of_node: dict[int, IntArray], limits: EnumerationLimits
) -> list[IntArray] | None:
    """Return the tables of what stops at a node and of each child, in the order of positions; None: not all known.

    Those of plain leaves are listed when all others are known, and kept.
    """
    spans = {child: facts.span(child) for child in facts.tree.nodes[node].children}
    children = [child for child, span in spans.items() if span.start < span.stop]
    unlisted = [child for child in children if child not in tables_of_node]
    if not all(_is_plain(facts, child) for child in unlisted):
        return None
    places = [facts.places[leaf] for leaf in (node, *unlisted) if leaf in facts.places]
    if any(_are_surely_more(facts, place, limits.kept) for place in places):
        return None
    parts = []
    if node in facts.places:
        own = place_tables(facts, facts.places[node], limits.kept)
        if own is None:
            return None
        parts.append(own)
    for leaf in unlisted:
        tables = place_tables(facts, facts.places[leaf], limits.kept)
        if tables is None:
            return None
        tables_of_node[leaf] = tables
    # Positions follow the order of the leaves, and so do a node's children.
    return parts + [tables_of_node[child] for child in children]


def _is_plain(facts: Facts, node: int) -> bool:
    """Return whether records stop at a leaf of which nothing but the ends of its classes is known.

    Of these ends follow the sharp ones of each of its cells, so that its tables tell nothing more by themselves.
    """
    place = facts.places.get(node)
    if place is None or not place.is_possible or not facts.tree.nodes[node].is_leaf:
        return False
    if facts.splits.get(node) or facts.lines.get(node):
        return False
    label = place.label
    return label < 0 or all(
        place.low[label] - most >= place.leads[klass]
        for klass, most in enumerate(place.high)
        if klass != label
    )


def _combined(
    facts: Facts,
    node: int,
    parts: list[IntArray],
    clock: Clock,
    limits: EnumerationLimits,
    splits: bool,
) -> IntArray | None:
    if len(parts) == 1 and not facts.splits.get(node) and not facts.lines.get(node):
        return parts[0]
    width = sum(part.shape[1] for part in parts)
    tables_by_node: list[IntArray] = []
    size = 0
    for tables in combinations(parts):
        good = node_holds(facts, node, tables, clock, splits=splits)
        tables_by_node.append(tables[good])
        size += int(good.sum())
        if size > limits.kept:
            return None
    shape = (0, width, facts.classes)
    return np.concatenate(tables_by_node) if tables_by_node else np.zeros(shape, dtype=np.int64)


def combinations(parts: list[IntArray]) -> Iterator[IntArray]:
    """Yield every combination of tables of neighbouring positions, (K, S, m) at a time."""
    total = math.prod(len(part) for part in parts)
    step = max(1, TOGETHER_CELLS // max(1, sum(part[:1].size for part in parts)))
    for begin in range(0, total, step):
        index = np.arange(begin, min(begin + step, total))
        columns = []
        for part in parts:
            columns.append(part[index % len(part)])
            index = index // len(part)
        yield np.concatenate(columns, axis=1)


def place_tables(facts: Facts, place: StoppingPlace, most: int) -> IntArray | None:
    """Return every table of the profiles that stop at a place, shape (K, S, m); None where there are more than most."""
    if _are_surely_more(facts, place, most):
        return None
    counts = facts.counts[place.start : place.end]
    low, high = np.array(place.low), np.array(place.high)
    # The largest last: where the class counts are known it takes what is left.
    order = np.argsort(counts, kind="stable")
    rest = place.records
    totals = np.zeros((1, facts.classes), dtype=np.int64)
    tables = np.zeros((1, 0, facts.classes), dtype=np.int64)
    for number, count in enumerate(counts[order].tolist(), start=1):
        rest -= count
        if place.is_fixed and number == len(counts):
            tables = np.concatenate([tables, (low - totals)[:, None]], axis=1)
            totals = np.broadcast_to(low, totals.shape)
            break
        rows = _rows_once(count, tuple(min(count, int(h)) for h in high))
        if len(rows) * len(tables) * facts.classes > CHUNK_CELLS:
            return None
        pairs = _that_fit(totals, rows, (low, high, rest), most)
        if pairs is None:
            return None
        old, new = pairs
        totals = totals[old] + rows[new]
        tables = np.concatenate([tables[old], rows[new][:, None]], axis=1)
    return tables[place.holds(totals)][:, np.argsort(order)]


def _that_fit(
    totals: IntArray, rows: IntArray, limits: tuple[IntArray, IntArray, int], most: int
) -> tuple[IntArray, IntArray] | None:
    """Return which totals and rows go together, by number; None where that is more than most pairs."""
    low, high, rest = limits
    step = max(1, PAIR_CELLS // max(1, rows.size))
    found, size = [(np.zeros(0, dtype=np.int64),) * 2], 0
    # Class by class, as sums over a few neighbouring numbers take many times as long; no row has any other class.
    classes = np.flatnonzero((high != 0) | (low > 0))
    floors, caps = low[classes, None, None], high[classes, None, None]
    before, added = totals.T[classes, :, None], np.ascontiguousarray(rows.T[classes, None])
    needs_lift = int(low.sum()) > rest
    for begin in range(0, len(totals), step):
        now = before[:, begin : begin + step] + added
        # No class may pass its cap, and what is still to come must be able to lift every class to its floor.
        fits = (now <= caps).all(axis=0)
        if needs_lift:
            fits &= np.maximum(floors - now, 0).sum(axis=0) <= rest
        old, new = np.nonzero(fits)
        found.append((old + begin, new))
        size += len(old)
        if size > most:
            return None
    return np.concatenate([old for old, _ in found]), np.concatenate([new for _, new in found])


def _are_surely_more(facts: Facts, place: StoppingPlace, most: int) -> bool:
    return _are_more(place, facts.counts[place.start : place.end].tolist(), most)


def _are_more(place: StoppingPlace, counts: list[int], most: int) -> bool:
    """Return whether there are surely more tables than most, or too many rows of one profile to list.

    There are at least as many as the data sets over the most that one table stands for, and, as any row of a profile
    can be completed where the class counts are known, as rows of any profile.
    """
    if place.records > MOST_RECORDS:
        return True
    logs = [math.lgamma(place.records + 1) if place.is_fixed else 0.0]
    logs += [-math.lgamma(count + 1) for count in (place.low if place.is_fixed else ())]
    size = len(place.low)
    for count in counts:
        even, extra = divmod(count, size)
        most_even = (size - extra) * math.lgamma(even + 1) + extra * math.lgamma(even + 2)
        logs.append(most_even - math.lgamma(count + 1))
    if math.fsum(logs) > math.log(most) + 1.0:
        return True
    limit = most if place.is_fixed else MOST_ROWS
    return any(_row_number(count, place.high, limit) > limit for count in set(counts))


def _row_number(count: int, caps: Sequence[int], limit: int) -> int:
    """Return in how many ways a profile's records can be parted over classes within caps; no less, if over a limit."""
    spare = sorted(min(count, cap) for cap in caps)
    size = min(count, sum(spare) - count)  # as many ways to fill as to leave free
    if size < 0:
        return 0
    small = math.prod(cap + 1 for cap in spare[:-1])
    if small <= limit or size > MOST_COUNTED:
        return small
    if len(spare) == 2:
        return size + 1
    ways = [1] + [0] * size
    for cap in spare:
        sums = [0, *itertools.accumulate(ways)]
        ways = [sums[n + 1] - sums[max(0, n - cap)] for n in range(size + 1)]
    return ways[size]


def _rows_once(count: int, caps: tuple[int, ...]) -> IntArray:
    """Return what ``_rows`` does; few rows are remembered, as profiles of other leaves ask for the same."""
    few = _row_number(count, caps, FEW_ROWS) <= FEW_ROWS
    return _few_rows(count, caps) if few else _rows(count, caps)


@lru_cache(maxsize=256)
def _few_rows(count: int, caps: tuple[int, ...]) -> IntArray:
    rows = _rows(count, caps)
    rows.flags.writeable = False
    return rows


def _rows(count: int, caps: Sequence[int]) -> IntArray:
    """Return every way (R, m) to part a profile's records over classes within caps."""
    rows, left = np.zeros((1, len(caps)), dtype=np.int64), np.array([count])
    later = sum(caps)
    for klass, cap in enumerate(caps):
        if not cap:
            continue
        later -= cap
        least, most = np.maximum(left - later, 0), np.minimum(left, cap)
        ways = np.maximum(most - least + 1, 0)
        old = np.repeat(np.arange(len(left)), ways)
        rows = rows[old]
        rows[:, klass] = np.arange(len(old)) - np.repeat(np.cumsum(ways) - ways, ways) + least[old]
        left = left[old] - rows[:, klass]
    return np.asarray(rows[left == 0])


def data_sets(facts: Facts, start: int, tables: IntArray, clock: Clock = FOREVER) -> list[int]:
    """Return how many data sets of told-apart records each table stands for: product of n_q! / product of n[q, c]!.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    size = facts.counts[start : start + tables.shape[1]].tolist()
    ways = []
    for table in tables.tolist():
        clock.check()
        number = 1
        for count, row in zip(size, table, strict=True):
            for cell in row:
                number *= math.comb(count, cell)
                count -= cell
        ways.append(number)
    return ways


# Why all tables below a node agree on something: which splits would otherwise have been taken.

BY_COUNTS = "the counts of its leaf"
MOST_CELLS = 4_000_000


class ListedReasons:
    """The combinations of tables from the parts below a node, and which of the node's rows each of them breaks."""

    def __init__(
        self,
        facts: Facts,
        node: int,
        tables_of_node: dict[int, IntArray],
        limits: EnumerationLimits,
        clock: Clock,
    ) -> None:
        self.facts, self.node, self.number = facts, node, len(tables_of_node[node])
        self.start = facts.span(node).start
        self.found, self.limits, self.clock = tables_of_node, limits, clock
        splits = facts.splits.get(node, ())
        self.names = [would_have_split(facts, s, a) for s in splits for a in range(s.size)]

    @cached_property
    def others(self) -> tuple[IntArray, BoolArray] | None:
        """The combinations (K, S, m) and which rows each surely breaks (K, A); None where they are too many."""
        parts = parts_of(self.facts, self.node, self.found, self.limits)
        splits = self.facts.splits.get(self.node, ())
        total = 0.0 if parts is None else math.prod(float(len(part)) for part in parts)
        if parts is None or not splits or total * len(self.names) > MOST_CELLS:
            return None
        tables = np.concatenate(list(combinations(parts)))
        return tables, np.concatenate([s.surely_broken(tables) for s in splits], axis=1)

    def reasons_for(self, position: int, klass: int, bound: int, sign: int) -> str:
        """Return why ``sign * cell >= bound``: the fewest rows that each other combination breaks one of."""
        if not self.names and not self.facts.lines.get(self.node):
            return BY_COUNTS
        # It is proved whichever rows it rests on, so without time only their names are missing.
        if self.clock.is_over or self.others is None:
            return self._by_number()
        tables, broken = self.others
        said = self._rows_that_break(broken[sign * tables[:, position - self.start, klass] < bound])
        return joined(self.facts, self.node, said) if said else self._by_number()

    def of_none(self) -> tuple[str, ...]:
        """Return why no table is left: rows of which each combination breaks one, and rows across leaves."""
        said = self._rows_that_break(self.others[1]) if self.others is not None else []
        if said:
            return tuple(said)
        lines = (line.origin.where for line in self.facts.lines.get(self.node, ()))
        name = self.facts.tree.nodes[self.node].name
        return (f"no table below node {name} obeys its split rows and leaves", *lines)

    def _rows_that_break(self, left: BoolArray) -> list[str]:
        """Return rows of which each combination (K, A) breaks one, the strongest first; none where one obeys all."""
        said: list[str] = []
        while len(left):
            kills = left.sum(axis=0)
            best = int(kills.argmax())
            if not kills[best]:
                return []
            said.append(self.names[best])
            left = left[~left[:, best]]
        return said

    def _by_number(self) -> str:
        name = self.facts.tree.nodes[self.node].name
        if self.number == 1:
            return f"only one table fits below node {name}"
        return f"all {self.number} tables that fit below node {name} say so"


@dataclass(frozen=True, slots=True)
class UniformPosterior:
    """P(class | profile) under a uniform prior over data sets, shape (P, m) each; low == high where it is exact.

    ``draws`` is 0 where all worlds were counted; otherwise all intervals hold at once with probability 1 - ERROR.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    draws: int = 0


# The posterior of each record over all consistent tables, each equally likely: exact, or with intervals.


@dataclass(frozen=True, slots=True)
class TableNumbers:
    """How many worlds and data sets obey the facts, and how many would without the split rows (None: not counted)."""

    worlds: int
    data_sets: int
    worlds_without_splits: int | None = None
    data_sets_without_splits: int | None = None


def counted_posterior(
    facts: Facts, tables: IntArray, clock: Clock = FOREVER
) -> tuple[UniformPosterior, int]:
    """Return the exact posterior from the list of all worlds (K, P, m) in position order, and their data sets.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    ways = data_sets(facts, 0, tables, clock)
    total = sum(ways)
    means = np.zeros(tables.shape[1:])
    for position, count in enumerate(facts.counts.tolist()):
        clock.check()
        for klass in range(facts.classes):
            cells = tables[:, position, klass].tolist()
            weight = sum(way * cell for way, cell in zip(ways, cells, strict=True))
            means[position, klass] = float(Fraction(weight, total * count)) if count else 0.0
    return UniformPosterior(means, means, means), total
