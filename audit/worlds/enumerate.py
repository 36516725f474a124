"""All worlds below a node, where they are few: each leaf's tables are listed, combined and tested, bottom up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.worlds.check import node_holds
from audit.worlds.clock import Clock
from audit.worlds.facts import Facts
from audit.worlds.places import Place

IntArray = NDArray[np.int64]
CHUNK_CELLS = 2_000_000
MOST_RECORDS = 100_000
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How many tables are kept per node, how many combinations are tried there, and cells tested in all."""

    kept: int = 2000
    tried: int = 50_000
    work: int = 600_000_000


def enumerated(
    facts: Facts, clock: Clock, limits: Limits = Limits(), *, splits: bool = True
) -> dict[int, IntArray]:
    """Return, per node, every table (K, S, m) of its positions that obeys all rows at and below it.

    Nodes with too many tables are left out. With ``splits`` false the split rows are ignored.
    """
    found: dict[int, IntArray] = {}
    work = 0
    for node in reversed(facts.tree.nodes):
        if clock.is_over:
            break
        here = facts.span(node.index)
        if here.start == here.stop:
            continue
        parts = parts_of(facts, node.index, found, limits)
        if parts is None or math.prod(len(part) for part in parts) > limits.tried:
            continue
        cells = math.prod(len(part) for part in parts) * (here.stop - here.start) * facts.classes
        work += cells * len(facts.splits.get(node.index, ()))
        if work > limits.work:
            break
        tables = _combined(facts, node.index, parts, clock, limits, splits)
        if tables is not None:
            found[node.index] = tables
    return found


def parts_of(
    facts: Facts, node: int, found: Mapping[int, IntArray], limits: Limits
) -> list[IntArray] | None:
    """Return the tables of what stops at a node and of each child, in the order of positions; None: not all known."""
    parts = []
    if node in facts.places:
        own = place_tables(facts, facts.places[node], limits.kept)
        if own is None:
            return None
        parts.append(own)
    for child in facts.tree.nodes[node].children:
        span = facts.span(child)
        if span.start == span.stop:
            continue
        if child not in found:
            return None
        parts.append(found[child])
    # Positions follow the order of the leaves, and so do a node's children.
    return parts


def _combined(
    facts: Facts, node: int, parts: list[IntArray], clock: Clock, limits: Limits, splits: bool
) -> IntArray | None:
    if len(parts) == 1 and not facts.splits.get(node) and not facts.lines.get(node):
        return parts[0]
    width = sum(part.shape[1] for part in parts)
    kept: list[IntArray] = []
    size = 0
    for tables in combinations(parts):
        if clock.is_over:
            return None
        good = node_holds(facts, node, tables) if splits else _lines_hold(facts, node, tables)
        kept.append(tables[good])
        size += int(good.sum())
        if size > limits.kept:
            return None
    shape = (0, width, facts.classes)
    return np.concatenate(kept) if kept else np.zeros(shape, dtype=np.int64)


def combinations(parts: list[IntArray]) -> Iterator[IntArray]:
    """Yield every combination of tables of neighbouring positions, (K, S, m) at a time."""
    total = math.prod(len(part) for part in parts)
    step = max(1, CHUNK_CELLS // max(1, sum(part[:1].size for part in parts)))
    for begin in range(0, total, step):
        index = np.arange(begin, min(begin + step, total))
        columns = []
        for part in parts:
            columns.append(part[index % len(part)])
            index = index // len(part)
        yield np.concatenate(columns, axis=1)


def _lines_hold(facts: Facts, node: int, tables: IntArray) -> NDArray[np.bool_]:
    start = facts.span(node).start
    rows = facts.lines.get(node, ())
    return np.array(
        [all(line.holds(table, start) for line in rows) for table in tables], dtype=bool
    )


def place_tables(facts: Facts, place: Place, most: int) -> IntArray | None:
    """Return every table of the profiles that stop at a place, shape (K, S, m); None where there are more than most."""
    counts = facts.counts[place.start : place.end].tolist()
    if _are_more(place, counts, most):
        return None
    low, high = np.array(place.low), np.array(place.high)
    rest = place.records
    totals = np.zeros((1, facts.classes), dtype=np.int64)
    tables = np.zeros((1, 0, facts.classes), dtype=np.int64)
    for count in counts:
        rest -= count
        caps = [min(count, int(h)) for h in high]
        if math.prod(cap + 1 for cap in caps[1:]) > MOST_ROWS and len(caps) > 1:
            return None
        rows = np.array(_rows(count, caps), dtype=np.int64).reshape(-1, facts.classes)
        if len(rows) * len(tables) * facts.classes > CHUNK_CELLS:
            return None
        now = totals[:, None] + rows[None]
        # No class may pass its cap, and what is still to come must be able to lift every class to its floor.
        fits = (now <= high).all(axis=2) & (np.maximum(low - now, 0).sum(axis=2) <= rest)
        old, new = np.nonzero(fits)
        if len(old) > most:
            return None
        totals = now[old, new]
        tables = np.concatenate([tables[old], rows[new][:, None]], axis=1)
    return tables[place.holds(totals)]


def _are_more(place: Place, counts: list[int], most: int) -> bool:
    """Return whether there are surely more tables than most: data sets over the most that one table stands for."""
    if place.records > MOST_RECORDS:
        return True
    logs = [math.lgamma(place.records + 1) if place.is_fixed else 0.0]
    logs += [-math.lgamma(count + 1) for count in (place.low if place.is_fixed else ())]
    size = len(place.low)
    for count in counts:
        even, extra = divmod(count, size)
        most_even = (size - extra) * math.lgamma(even + 1) + extra * math.lgamma(even + 2)
        logs.append(most_even - math.lgamma(count + 1))
    return math.fsum(logs) > math.log(most) + 1.0


def _rows(count: int, caps: list[int]) -> list[tuple[int, ...]]:
    """Return every way to part a profile's records over classes within caps."""
    if len(caps) == 1:
        return [(count,)] if count <= caps[0] else []
    later = sum(caps[1:])
    found = []
    for first in range(max(0, count - later), min(count, caps[0]) + 1):
        found += [(first, *others) for others in _rows(count - first, caps[1:])]
    return found


def data_sets(facts: Facts, start: int, tables: IntArray) -> list[int]:
    """Return how many data sets of told-apart records each table stands for: product of n_q! / product of n[q, c]!."""
    size = facts.counts[start : start + tables.shape[1]].tolist()
    ways = []
    for table in tables.tolist():
        number = 1
        for count, row in zip(size, table, strict=True):
            for cell in row:
                number *= math.comb(count, cell)
                count -= cell
        ways.append(number)
    return ways
