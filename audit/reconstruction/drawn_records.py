"""Records of bootstrapped forests whose seeds are published: how often each tree drew each row of the training table.

Nobody knows who is at row i of the table, but the seed of a tree says how often the tree drew that row. So the groups
of the problem are rows of the table that all trees drew equally often, and their alternatives are the cells of the
domain with each class. A leaf counts draws, so a row of the problem adds up alternatives times draws. Where the file
says how many different records a leaf holds, another row adds up those that were drawn at all. A record may be in a
leaf without counts of a tree that did not draw it. Records that no tree drew leave no trace: nothing is proved of them.

What is asked is how many records of all groups together have a cell and a class: the least number over all solutions is
in every table that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.counts import bound_by_rows
from treewarden.audit.engine.problem import Problem
from treewarden.audit.population.forest import draw_bootstrap
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    NO_COUNTS,
    NO_TIME,
    DomainCells,
    columns_of_points,
    group_points,
    records_by_class,
)
from treewarden.audit.reconstruction.domain import Domain
from treewarden.audit.reconstruction.problem import NO_RECORD, NOT_WHOLE, STOP_ABOVE, WHOLE_SLACK
from treewarden.audit.reconstruction.proved import (
    ProvedCounts,
    ProvedNumbers,
    fillings,
    prove_numbers,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray, alike
from treewarden.ppdm_models.tables.routing import Router
from treewarden.ppdm_models.tree.ensemble import SeededBootstrap, TreeSampling
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.plain_splits import is_inner
from treewarden.ppdm_models.tree.tree import Tree

MOST_ROUTED = 2**24
"""Trees times points of the domain, and trees times records, that are looked at."""
MOST_PAIRS = 2**26
"""Groups of records times cells times classes, before the counts exclude most of them."""
MOST_OPEN = 2**21
"""Groups of records times the cells and classes that some record may have."""
MOST_ENTRIES = 10_000_000
"""Entries of the rows: with more, not even single rows are looked at, as that takes too much memory."""
MOST_SEARCHED = 2_000_000
"""Entries of what single rows leave open: with more, nothing else is tried."""
AT_ONCE = 2**22
"""Pairs of groups and alternatives that are looked at together."""
MOST_OFTEN = 10
"""A sample of so many times as many draws as records is no bootstrap sample."""

OTHER_DRAWS = Undetermined(
    "each tree used a sample of the records, and the seeds in the file do not draw the numbers of records that its "
    "trees hold"
)
TOO_LARGE = Undetermined(
    "each tree used a sample of the records. The file says the seeds, so the samples are known, but there are too many "
    "records, trees or combinations of values to search; a smaller public domain (--domain) may decide it"
)
SEEDED = (
    "all trees drew their samples from the same records in the same order, by the seeds in the file"
)


@dataclass(frozen=True, slots=True, eq=False)
class SampleCounts:
    """What one tree publishes of its sample, by node: draws by class (N, m), different records (N,), which are leaves.

    ``often`` (n,) is how often the tree drew each row of the training table.
    """

    draws: IntArray
    distinct: IntArray
    is_leaf: BoolArray
    often: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """Rows over pairs of a group of records and an alternative: ``matrix`` (R, P), and sums ``ends`` (R,).

    ``sizes`` (G,) are how many records each group has. A pair is of ``group`` (P,) and of ``place`` (P,), a cell and a
    class taken flat, of ``shape``. ``undrawn`` is how many records no tree drew.
    """

    matrix: sparse.csr_array
    ends: IntArray
    trees: IndexArray
    nodes: IndexArray
    sizes: IntArray
    group: IndexArray
    place: IndexArray
    shape: tuple[int, int]
    undrawn: int

    def problem(self) -> tuple[Problem, IndexArray]:
        """Return the rows as the engine's problem, and where each pair stands in it (P,).

        Alternatives that no group has are left out.
        """
        _, kind = np.unique(self.place, return_inverse=True)
        width = max(int(kind.max(initial=0)) + 1, 3)
        allowed = np.zeros((len(self.sizes), width), dtype=bool)
        allowed[self.group, kind] = True
        at = self.group.astype(np.int64) * width + kind
        matrix = self.matrix
        entries = (matrix.data, at[matrix.indices], matrix.indptr)
        whole = sparse.csr_array(entries, shape=(len(self.ends), allowed.size))
        problem = Problem(
            matrix=whole,
            low=self.ends,
            high=self.ends,
            output=np.zeros(len(self.ends), dtype=np.intp),
            trees=self.trees,
            nodes=self.nodes,
            sizes=self.sizes,
            classes=width,
            allowed=allowed,
        )
        return problem, at


def read_samples(
    trees: Sequence[Tree], sampling: TreeSampling
) -> list[SampleCounts] | Undetermined | None:
    """Return what trees count of samples that their seeds draw again; None where the file does not say enough."""
    bootstrap, seeds = sampling.bootstrap, sampling.seeds
    if bootstrap is None or not len(seeds) == len(trees) == len(bootstrap.distinct):
        return None
    if bootstrap.records * len(trees) > MOST_ROUTED:
        return TOO_LARGE
    found = []
    for tree, seed, distinct in zip(trees, seeds, bootstrap.distinct, strict=True):
        sample = _sample(tree, seed, distinct, bootstrap)
        if isinstance(sample, Undetermined):
            return sample
        found.append(sample)
    return found


def _sample(
    tree: Tree, seed: int, distinct: IntArray, bootstrap: SeededBootstrap
) -> SampleCounts | Undetermined:
    counts = records_by_class(tree)
    if np.isnan(counts).any() or len(distinct) != len(counts) or not tree.classes:
        return NO_COUNTS
    draws = np.rint(counts)
    drawn = draws[0].sum()
    if (np.abs(counts - draws) > WHOLE_SLACK).any() or (draws < 0).any():
        return NOT_WHOLE
    if not 0 < drawn <= MOST_OFTEN * bootstrap.records:
        return OTHER_DRAWS
    inner, parents = is_inner(tree), parents_of(tree.nodes)
    both = np.column_stack([draws, distinct]).astype(np.int64)
    below = np.zeros_like(both)
    np.add.at(below, parents[1:], both[1:])
    if (below[inner] != both[inner]).any():
        return STOP_ABOVE
    often = draw_bootstrap(seed, bootstrap.records, int(drawn))
    if int((often > 0).sum()) != both[0, -1]:
        return OTHER_DRAWS
    return SampleCounts(both[:, :-1], both[:, -1], ~inner, often)


def prove_drawn(
    trees: Sequence[Tree], samples: Sequence[SampleCounts], domain: Domain, until: Clock
) -> tuple[DomainCells, ProvedCounts] | Undetermined:
    """Return the cells of a domain, and what samples prove of how many records each has.

    Raises:
        ContradictionError: no table fits.
    """
    points, classes = domain.points, len(trees[0].classes)
    if points * len(trees) > MOST_ROUTED:
        return TOO_LARGE
    often = np.stack([sample.often for sample in samples])
    first, group = alike(list(often))
    sizes = np.bincount(group, minlength=len(first))
    often = often[:, first]
    is_drawn = often.any(axis=0)
    undrawn, often, sizes = int(sizes[~is_drawn].sum()), often[:, is_drawn], sizes[is_drawn]
    if len(sizes) * points * classes > MOST_PAIRS:
        return TOO_LARGE
    cells = _cells(trees, domain, classes)
    pairs = _allowed_pairs(samples, often, cells, until)
    if pairs is None:
        return NO_TIME
    if sum(int((each[pairs[0]] > 0).sum()) for each in often) * 2 > MOST_ENTRIES:
        return TOO_LARGE
    if len(sizes) * len(np.unique(pairs[1])) > MOST_OPEN:
        return TOO_LARGE
    rows = _rows(samples, often, sizes, cells, pairs, undrawn)
    return cells, _prove(rows, cells, until)


def _cells(trees: Sequence[Tree], domain: Domain, classes: int) -> DomainCells:
    """Return all cells of a domain; a record that some trees did not draw may be where these count nobody."""
    points = np.arange(domain.points, dtype=np.int64)
    router = Router(columns_of_points(domain, points))
    stops = np.stack([router.routed(tree)[0] for tree in trees])
    return group_points(domain, points, np.ones((len(points), classes), dtype=bool), stops)


def _allowed_pairs(
    samples: Sequence[SampleCounts], often: IntArray, cells: DomainCells, until: Clock
) -> tuple[IndexArray, IndexArray] | None:
    """Return which group of records may have which alternative by each tree alone: (P,) each; None out of time."""
    ends = [
        _ends_of_draws(sample, stops) for sample, stops in zip(samples, cells.stops, strict=True)
    ]
    groups, places = often.shape[1], cells.alive.size
    step = max(1, AT_ONCE // max(places, 1))
    found: list[tuple[IndexArray, IndexArray]] = []
    for begin in range(0, groups, step):
        some = np.arange(begin, min(begin + step, groups))
        group, place = np.repeat(some, places), np.tile(np.arange(places), len(some))
        for (least, most), drawn in zip(ends, often, strict=True):
            if until.is_over:
                return None
            times = drawn[group]
            kept = (times == 0) | ((least[place] <= times) & (times <= most[place]))
            group, place = group[kept], place[kept]
        found.append((group, place))
    groups_of, places_of = zip(*found, strict=True)
    return np.concatenate(groups_of), np.concatenate(places_of)


def _ends_of_draws(sample: SampleCounts, stops: IndexArray) -> tuple[IntArray, IntArray]:
    """Return how often a record of each cell and class may be drawn, at least and at most, taken flat (C m,).

    Its leaf has as many draws of its class at least, and each other record there was drawn once at least. The only
    record of a leaf has all its draws.
    """
    total = sample.draws.sum(axis=1)[:, None]
    others = (sample.distinct - 1)[:, None]
    least = np.broadcast_to(np.where(others == 0, total, 1), sample.draws.shape)
    most = np.minimum(sample.draws, total - others)
    most = np.where(sample.is_leaf[:, None] & (others >= 0), most, 0)
    at, is_there = np.maximum(stops, 0), (stops >= 0)[:, None]
    return least[at].reshape(-1), np.where(is_there, most[at], 0).reshape(-1)


def _rows(
    samples: Sequence[SampleCounts],
    often: IntArray,
    sizes: IntArray,
    cells: DomainCells,
    pairs: tuple[IndexArray, IndexArray],
    undrawn: int,
) -> DrawnRows:
    """Return a row for the draws of each class in each leaf, and for the different records of the leaf.

    Raises:
        ContradictionError: a count is of records that cannot be.
    """
    shape = cells.alive.shape
    parts: list[_CountedRows] = []
    for tree, (sample, stops) in enumerate(zip(samples, cells.stops, strict=True)):
        times = often[tree][pairs[0]]
        drawn = np.flatnonzero(times > 0)
        cell, code = np.divmod(pairs[1][drawn], shape[1])
        leaf, is_leaf = stops[cell], sample.is_leaf
        draws = np.where(is_leaf[:, None], sample.draws, 0).reshape(-1)
        distinct = np.where(is_leaf, sample.distinct, 0)
        size = len(pairs[0])
        parts.append(_counted(tree, leaf * shape[1] + code, draws, (drawn, times[drawn]), size))
        parts.append(_counted(tree, leaf, distinct, (drawn, np.ones_like(drawn)), size))
    matrix = sparse.csr_array(sparse.vstack([part.matrix for part in parts], format="csr"))
    nodes = [part.kinds // (shape[1] if n % 2 == 0 else 1) for n, part in enumerate(parts)]
    return DrawnRows(
        matrix=matrix,
        ends=np.concatenate([part.ends for part in parts]),
        trees=np.concatenate([np.full(len(part.ends), part.tree) for part in parts]),
        nodes=np.concatenate(nodes),
        sizes=sizes,
        group=pairs[0],
        place=pairs[1],
        shape=shape,
        undrawn=undrawn,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CountedRows:
    """Rows of one tree over pairs: ``matrix`` (R, P), sums ``ends`` (R,), and what each counts (``kinds``)."""

    tree: int
    matrix: sparse.csr_array
    ends: IntArray
    kinds: IndexArray


def _counted(
    tree: int, kinds: IndexArray, counts: IntArray, drawn: tuple[IndexArray, IntArray], size: int
) -> _CountedRows:
    """Return a row for each count above 0, over the pairs of its kind; ``drawn`` are pairs, and what each adds.

    Raises:
        ContradictionError: a count has no pair.
    """
    used = np.flatnonzero(counts)
    if (np.bincount(kinds, minlength=len(counts))[used] == 0).any():
        raise ContradictionError(NO_RECORD)
    entries = (drawn[1], (np.searchsorted(used, kinds), drawn[0]))
    matrix = sparse.csr_array(entries, shape=(len(used), size), dtype=np.int64)
    return _CountedRows(tree, matrix, counts[used], used)


def _prove(rows: DrawnRows, cells: DomainCells, until: Clock) -> ProvedCounts:
    """Return what is proved of how many records have each cell and class.

    Raises:
        ContradictionError: no table fits.
    """
    problem, at = rows.problem()
    low, high = (box.reshape(-1)[at] for box in bound_by_rows(problem, until))
    used, kind = np.unique(rows.place, return_inverse=True)
    ones, every = np.ones(len(at), dtype=np.int64), np.arange(len(at))
    added = sparse.csr_array((ones, (kind, every)), shape=(len(used), len(at)))
    entries = np.bincount(rows.matrix.indices, minlength=len(at))[low < high].sum()
    if entries > MOST_SEARCHED:
        least, most = added @ low, added @ high
        return _counts_of(
            rows, used, cells, _not_searched(least, most), ": the rows over them are too many"
        )
    of_group = sparse.csr_array((ones, (rows.group, every)), shape=(len(rows.sizes), len(at)))
    own = sparse.eye_array(len(used), dtype=np.int64, format="csr")
    blocks = [[rows.matrix, None], [of_group, None], [-added, own]]
    matrix = sparse.csr_array(sparse.block_array(blocks, format="csr"))
    ends = np.concatenate([rows.ends, rows.sizes, np.zeros(len(used), dtype=np.int64)])
    boxes = np.concatenate([low, added @ low]), np.concatenate([high, added @ high])
    is_total = np.arange(len(at) + len(used)) >= len(at)
    found = prove_numbers(matrix, (ends, ends), boxes, is_total, until)
    every_total = {name: getattr(found, name)[len(at) :] for name in NUMBERS}
    table = None if found.table is None else found.table[len(at) :]
    why = " in time" if until.is_over else IDLE
    return _counts_of(rows, used, cells, replace(found, table=table, **every_total), why)


NUMBERS = ("low", "high", "shown_low", "shown_high")
IDLE = ": the search was ended, as it decided no more of them"


def _not_searched(low: IntArray, high: IntArray) -> ProvedNumbers:
    """Return numbers in boxes of which no table was looked for."""
    undecided = int((low < high).sum())
    return ProvedNumbers(low, high, high, low, table=None, undecided=undecided)


def _counts_of(
    rows: DrawnRows, used: IndexArray, cells: DomainCells, numbers: ProvedNumbers, why: str
) -> ProvedCounts:
    """Return what is proved of all cells and classes; records that no tree drew may have any."""

    def spread(sums: IntArray, added: int = 0) -> IntArray:
        every = np.zeros(cells.alive.size, dtype=np.int64)
        every[used] = sums
        return (every + added).reshape(rows.shape)

    left = f"{numbers.undecided:,} numbers of records were not decided{why}"
    low, high = spread(numbers.low), spread(numbers.high, rows.undrawn)
    is_one = bool((low == high).all())
    sizes = np.repeat(cells.sizes, rows.shape[1])
    return ProvedCounts(
        low=low,
        high=high,
        shown_low=spread(numbers.shown_low),
        shown_high=spread(numbers.shown_high, rows.undrawn),
        table=None if numbers.table is None or rows.undrawn else spread(numbers.table),
        tables=1 if is_one else None,
        filled=fillings(low.reshape(-1), sizes) if is_one else None,
        left=(left,) if numbers.undecided else (),
    )
