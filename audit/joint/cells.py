"""Cells of people whom no leaf tells apart, and the rows that the sums of all leaves are over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from scipy import sparse

from treewarden.audit.engine.problem import (
    ALL_PEOPLE,
    KNOWN_FACT,
    NEW_PEOPLE,
    IntegerCellRows,
    Problem,
)
from treewarden.audit.inverters import Added, LeafSums
from treewarden.audit.joint.known_facts import KnownRows
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
    alike,
    grouped,
)

# Sums over people who each add a different number: scaled and rounded to whole coefficients, and the ends of each
# row moved apart by what that may do. Whatever fulfils the row as it was fulfils it still.

DIGITS, MOST_DIGITS = 34, 60
"""Binary digits that are kept of coefficients, and that sums may have in all."""


def scaled_of(added: Sequence[Added], first: IndexArray, sizes: IntArray) -> IntegerCellRows | None:
    """Return the sums as rows over cells of ``sizes`` (C,) people, of whom ``first`` (C,) is one profile each."""
    if not added:
        return None
    largest = max(float(np.abs(each.each).max(initial=1.0)) for each in added)
    spare = MOST_DIGITS - int(np.ceil(np.log2(largest * max(int(sizes.sum()), 1) + 1)))
    scale = 2.0 ** min(DIGITS, spare)
    parts, low, high, output = [], [], [], []
    for each in added:
        place, size = each.place[first], len(each.nodes)
        weights = np.rint(each.each[first] * scale).astype(np.int64)
        shape = (size, len(first))
        parts.append(sparse.csr_array((weights, (place, np.arange(len(first)))), shape=shape))
        room = np.bincount(place, sizes, size) + 2.0 + 2.0**-50 * scale * largest * sizes.sum()
        most = 2.0**61
        low.append(np.clip(np.floor(each.low * scale - room), -most, most).astype(np.int64))
        high.append(np.clip(np.ceil(each.high * scale + room), -most, most).astype(np.int64))
        output.append(np.full(size, each.output))
    matrix = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return IntegerCellRows(matrix, *(np.concatenate(column) for column in (low, high, output)))


OTHER_TOTALS = "the releases give different class totals: one of them was trained on other people"


@dataclass(frozen=True, slots=True, eq=False)
class PeopleCells:
    """Which cell each profile is in, shape (P,), the people of each cell (C,), and one profile of each (C,)."""

    of: IndexArray
    sizes: IntArray
    first: IndexArray

    def summed(self, truth: FloatArray) -> IntArray:
        """Return the people of each cell and class, shape (C, m), from those of each profile."""
        return np.rint(grouped(self.of, truth, len(self.sizes))).astype(np.int64)


def cells_of(
    stops: IndexArray,
    people: FloatArray,
    draws: IntArray | None = None,
    parts: IndexArray | None = None,
) -> PeopleCells:
    """Return the cells of profiles that stop at ``stops`` (T, P), of trees of one model or of several.

    Who is not among the people of a tree stops at -1 there. With ``draws`` (T, P) those are told apart too whom a tree
    drew another number of times; whom it did not draw at all it says nothing of. ``parts`` (P,) are numbers of those
    whom something else tells apart, from 0 on.
    """
    columns = [np.zeros(stops.shape[1], dtype=np.intp) if parts is None else parts]
    for tree, stopped in enumerate(stops):
        if draws is not None:
            often = int(draws[tree].max(initial=0))
            # They may be of 32 bits, which products do not fit in.
            places = stopped.astype(np.int64)
            stopped = np.where(draws[tree] > 0, places * often + draws[tree], 0)
        columns.append(stopped)
    first, of = alike(columns)
    return PeopleCells(of, np.rint(np.bincount(of, people)).astype(np.int64), first)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseCells:
    """One published model: where profiles stop in its trees (T, P), and what its leaves say.

    ``first_tree`` is its place among all trees of all releases, ``number`` its own among them. Who is not among its
    people stops at -1 in each tree. With ``draws`` (T, P) its sums count everybody as often as a tree drew him, with
    ``weights`` (P,) so often in every tree.
    """

    stops: IndexArray
    sums: LeafSums
    first_tree: int = 0
    number: int = 0
    draws: IntArray | None = None
    weights: IntArray | None = None

    def times(self, tree: int) -> IntArray | None:
        """Return how often everybody counts in a tree, (P,); None where it is once."""
        return self.weights if self.draws is None else self.draws[tree]


def first_trees(sums: LeafSums, trees: int) -> LeafSums:
    """Return what the leaves of the first trees say."""
    kept = sums.trees < trees
    columns = ("trees", "nodes", "output", "low", "high", "wide")
    added = tuple(each for each in sums.added if each.tree < trees)
    return replace(sums, added=added, **{name: getattr(sums, name)[kept] for name in columns})


def rows_of(
    releases: Sequence[ReleaseCells],
    cells: PeopleCells,
    classes: int,
    background: KnownRows | None = None,
) -> Problem | Undetermined:
    """Return what the leaves of all releases say of the cells, with a row for the people of each as a whole.

    A row over all people is what one-row reasoning needs to see that one release has somebody more than another. What
    is ``background`` of the people beside is a row for each fact.
    """
    parts: list[PartingRows] = []
    totals: list[tuple[int, list[PartingRows]]] = []
    for release in releases:
        parts += _leaves(release, cells)
        found = _totals(release, cells)
        if isinstance(found, Undetermined):
            return found
        totals.append((release.number, found))
        parts += found
    parts += new_people_rows(totals, len(cells.sizes))
    parts += _background_parts(background, cells)
    if any((part.low > part.high).any() for part in parts):
        return Undetermined(OTHER_TOTALS)
    scaled = scaled_of(
        [each for release_cells in releases for each in release_cells.sums.added],
        cells.first,
        cells.sizes,
    )
    return replace(problem_of(parts, cells, classes), scaled=scaled)


def problem_of(parts: Sequence[PartingRows], cells: PeopleCells, classes: int) -> Problem:
    """Return all parts' rows over the cells as one problem.

    Raises:
        ValueError: nothing can fulfil a row.
    """
    size = len(cells.sizes)
    entries = zip(*(part.entries(size) for part in parts), strict=True)
    indices, times, lengths = (np.concatenate(each) for each in entries)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    low, high, output, trees, nodes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("low", "high", "output", "trees", "nodes")
    )
    return Problem(
        matrix=sparse.csr_array((times, indices, ends), shape=(len(lengths), size)),
        low=low,
        high=high,
        output=output,
        trees=trees,
        nodes=nodes,
        sizes=cells.sizes,
        classes=classes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PartingRows:
    """Rows that part the cells: those of one tree and class.

    ``place`` (C,) is each cell's row, -1 where it is in none of them; None where one row has all cells. ``times`` (C,)
    is how often each person of a cell counts there, None where it is once.
    """

    low: IntArray
    high: IntArray
    output: IndexArray
    trees: IndexArray
    nodes: IndexArray
    place: IndexArray | None
    times: IntArray | None = None

    def entries(self, size: int) -> tuple[IndexArray, IndexArray, IntArray]:
        """Return the cells of each row, how often each counts there, both row by row, and how many each row has."""
        if self.place is None:
            cells, lengths = np.arange(size), np.array([size])
        else:
            is_in = self.place >= 0 if self.times is None else (self.place >= 0) & (self.times > 0)
            order = np.argsort(self.place, kind="stable")
            cells = order[is_in[order]]
            lengths = np.bincount(self.place[is_in], minlength=len(self.low))
        times = np.ones(len(cells), dtype=np.int64) if self.times is None else self.times[cells]
        return cells, times, lengths


def _leaves(release: ReleaseCells, cells: PeopleCells) -> list[PartingRows]:
    sums, parting_rows = release.sums, []
    order = np.lexsort((sums.nodes, sums.output, sums.trees))
    keys = np.stack((sums.trees[order], sums.output[order]))
    cuts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0), True])
    for start, end in zip(cuts[:-1], cuts[1:], strict=True):
        rows = order[start:end]
        tree = int(sums.trees[rows[0]])
        stopped = release.stops[tree][cells.first]
        times = release.times(tree)
        parting_rows.append(
            PartingRows(
                low=sums.low[rows],
                high=sums.high[rows],
                output=sums.output[rows],
                trees=sums.trees[rows] + release.first_tree,
                nodes=sums.nodes[rows],
                place=np.where(stopped < 0, -1, np.searchsorted(sums.nodes[rows], stopped)),
                times=None if times is None else times[cells.first],
            )
        )
    return parting_rows


def _totals(release: ReleaseCells, cells: PeopleCells) -> list[PartingRows] | Undetermined:
    """Return how many of all people have each class: what every tree says of it at once, unless each drew others."""
    sums, parting_rows = release.sums, list[PartingRows]()
    is_absent = release.stops[0][cells.first] < 0
    times = None if release.weights is None else release.weights[cells.first]
    if times is not None:
        is_absent |= times == 0
    place = np.where(is_absent, -1, 0) if is_absent.any() else None
    for output in np.unique(sums.output).tolist():
        if release.draws is not None and output not in sums.totals:
            continue
        low, high = sums.totals.get(output, (0, np.iinfo(np.int64).max))
        if release.draws is None:
            here = sums.output == output
            trees = np.unique(sums.trees[here], return_inverse=True)[1].reshape(-1)
            low = max(low, int(np.bincount(trees, sums.low[here]).max()))
            high = min(high, int(np.bincount(trees, sums.high[here]).min()))
        if low > high:
            return Undetermined(
                "its trees give different class totals: some of them were trained on other people"
            )
        ends = (np.array([low]), np.array([high]), np.array([output]))
        origin = np.array([ALL_PEOPLE]), np.array([release.number])
        parting_rows.append(PartingRows(*ends, *origin, place, times))
    return parting_rows


def new_people_rows(
    totals: Sequence[tuple[int, Sequence[PartingRows]]], size: int
) -> list[PartingRows]:
    """Return how many have each class of those whom a release has and another has not, where it has all of the other's.

    Of numbers it is what theirs add up to. No leaf says this by itself, and who applies one row at a time would not
    see it.
    """
    parting_rows, several = [], 1 + max(number for number, _ in totals)
    for (first, fewer), (second, more) in permutations(totals, 2):
        for had, has in product(fewer, more):
            place = _new(had, has, size)
            if had.output[0] == has.output[0] and place is not None:
                ends = np.maximum(has.low - had.high, 0), has.high - had.low
                leaf = np.array([NEW_PEOPLE]), np.array([first * several + second])
                parting_rows.append(PartingRows(*ends, has.output, *leaf, place, has.times))
    return parting_rows


def _background_parts(background: KnownRows | None, cells: PeopleCells) -> list[PartingRows]:
    """Return what is known of some cells from elsewhere; facts never part a cell."""
    if background is None:
        return []
    return [
        PartingRows(
            low=background.low[[fact]],
            high=background.high[[fact]],
            output=background.output[[fact]],
            trees=np.array([KNOWN_FACT]),
            nodes=np.array([fact]),
            place=np.where(background.inside[fact][cells.first], 0, -1),
            times=None if background.times is None else background.times[fact][cells.first],
        )
        for fact in range(len(background.low))
    ]


def _new(fewer: PartingRows, finer: PartingRows, size: int) -> IndexArray | None:
    """Return the place of the cells that one part has beyond another; None where it has none, or lacks some.

    Nor is there one where those whom both have count otherwise in one of them.
    """
    if fewer.place is None:
        return None
    has = np.ones(size, dtype=bool) if finer.place is None else finer.place == 0
    had = fewer.place == 0
    if (had & ~has).any() or not (has & ~had).any():
        return None
    times = [np.ones(size, dtype=np.int64) if p.times is None else p.times for p in (fewer, finer)]
    return np.where(has & ~had, 0, -1) if (times[0] == times[1])[had].all() else None


def is_weighed(rows: Problem, row: int) -> bool:
    """Whether a row counts some people more than once."""
    return bool((rows.matrix.data[rows.matrix.indptr[row] : rows.matrix.indptr[row + 1]] > 1).any())


def class_by_leaf(rows: Problem, cells: PeopleCells, trees: int | None = None) -> IntArray:
    """Return the class that all people of a leaf of each profile provably have, -1 where no leaf proves one; (P,).

    Rows from ``trees`` on are of no leaves.
    """
    people, found = rows.people, np.full(len(cells.sizes), -1, dtype=np.int64)
    is_leaf = (rows.trees >= 0) & (people > 0)
    if trees is not None:
        is_leaf &= rows.trees < trees
    for output in range(rows.classes):
        pure = (rows.low == people) & (rows.output == output)
        if rows.classes == 2:
            pure |= (rows.high == 0) & (rows.output == 1 - output)
        found[rows.matrix[np.flatnonzero(pure & is_leaf)].sum(axis=0) > 0] = output
    return np.asarray(found[cells.of])
