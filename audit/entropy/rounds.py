"""Solves block by block, adding the split rows that the estimate violates, and says how good the result is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import numpy as np

from treewarden.audit.entropy.posterior import entropies
from treewarden.audit.entropy.problem import Block, EntropyProblem, ViolatedCandidate, blocks
from treewarden.audit.entropy.reduce import SolvedBlock, shares
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.entropy.violated import (
    VIOLATION_SHARE,
    Certificate,
    EstimateSpan,
    SolvedRounds,
    Violated,
    violated,
)
from treewarden.audit.ipopt.program import BlockProgram
from treewarden.audit.solver.canonical import Hashes, is_flat, refined, rounded_program
from treewarden.audit.solver.task import AS_GOOD_NATS, KKT_ERROR, SAME_SHARE, SMALL_PROGRAM
from treewarden.audit.system.system import System, max_violation, rows_by_leaf
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

log = logging.getLogger(__name__)

ROUNDS = 40


def solve_in_rounds(problem: EntropyProblem, seen: Violated) -> SolvedRounds:
    """Solve block by block, adding split rows until none is violated; ``seen`` is what is known of them before."""
    search = EntropySearch.from_problem(problem)
    system = search.system
    relaxed, last = search.closed, BEGINNING
    active: tuple[ViolatedCandidate, ...] = ()
    # The last estimate that violated nothing, before a better one was looked for.
    settled: FloatArray | None = None
    for number in range(ROUNDS):
        parts = blocks(system, tuple(search.knowledge), active)
        last = search.solve(parts, last)
        seen = violated(search, search.placed(last.solved), seen)
        relaxed = seen.values if number == 0 else relaxed
        new = seen.worst(active, last.solved)
        if not new:
            last, settled = search.searched(last, settled), seen.values
            seen = violated(search, search.placed(last.solved), seen)
            new = seen.worst(active, last.solved)
        if not new:
            last = search.improved(last)
            seen = violated(search, search.placed(last.solved), seen)
            new = seen.worst(active, last.solved)
        log.info(
            "round %d: %d parts, %d split rows, %d more violated",
            number,
            len(parts),
            len(active),
            len(new),
        )
        if not new or search.is_out_of_time:
            break
        active = tuple(sorted((*active, *new), key=lambda c: (c.family, c.position)))
    good = span(system, last.solved.values(), seen.values)
    proved = certificate(search, last.solved, relaxed)
    return SolvedRounds(last.solved, seen, relaxed, len(active), good, proved)


# How good the estimate can be proved to be: an upper bound on its entropy.


def certificate(
    search: EntropySearch, solved: Mapping[Block, SolvedBlock], relaxed: FloatArray
) -> Certificate:
    """Return the best proved upper bound on the entropy of the whole estimate; ``relaxed`` (P, m) knows no split rows.

    Blocks add up. A convex block's optimum is its own bound; another block has the elastic bound, or the relaxation's.
    """
    counts = search.system.case.population.counts
    in_records = entropies(relaxed, counts)
    total = float(in_records.sum())
    arguments = {"closed form"}
    for solved_block in solved.values():
        inside = solved_block.reduced.profiles
        relaxation = float(in_records[inside].sum())
        if solved_block.answer.is_accepted and solved_block.reduced.program.is_convex:
            total += (
                solved_block.entropy(counts) - relaxation + KKT_ERROR * float(counts[inside].sum())
            )
            arguments.add("convex")
        else:
            arguments.add("elastic" if solved_block.bound < relaxation else "relaxation")
            total += min(solved_block.bound - relaxation, 0.0)
    said = [
        name for name in ("closed form", "convex", "elastic", "relaxation") if name in arguments
    ]
    return Certificate(total / float(counts.sum()), ", ".join(said[1:] or said))


# Mirror images of a point: variables that a program's numbers do not distinguish may change places.
#
# Two classes with equal totals, or two leaves that are alike in everything, play the same part in a problem. An optimum
# in which they differ is not the only one: with their places exchanged it is another that is exactly as good.

MOST_EXCHANGES = 40
"""Pairs of variables whose exchange is tried for one point: each takes some milliseconds."""
ERROR_RECORDS = 1e-6
"""By how much more than a point its image may break a row, in records."""
MARK = np.uint64(0x9E3779B97F4A7C15)


def mirror_images(
    program: BlockProgram, z: FloatArray, fixed_group: IndexArray
) -> Iterator[FloatArray]:
    """Yield points that differ from ``z`` in the places of variables, and are as good; none for a large program.

    Variables with other numbers in ``fixed_group`` (variables,) do not change places.
    """
    if program.size > SMALL_PROGRAM:
        return
    program, begin = rounded_program(program), fixed_group.astype(np.uint64)
    colours, low, high, tried = refined(program, begin), z.copy(), z.copy(), 0
    for v in range(len(program.scale)):
        slack = SAME_SHARE * program.scale[v]
        for w in np.flatnonzero(colours == colours[v]).tolist():
            if low[w] - slack <= z[v] <= high[w] + slack:
                continue
            if tried == MOST_EXCHANGES:
                return
            tried += 1
            image = _exchanged(program, z, begin, (v, w))
            if _is_as_good(program, image, z):
                low, high = np.minimum(low, image), np.maximum(high, image)
                yield image


def _exchanged(
    program: BlockProgram, z: FloatArray, begin: Hashes, pair: tuple[int, int]
) -> FloatArray:
    """Return ``z`` moved such that the second of a pair takes the first's place, the rest as the rows then ask for.

    What they leave open is decided by telling one more variable apart, the same on both sides.
    """
    here, there = begin.copy(), begin.copy()
    here[pair[0]] = there[pair[1]] = MARK
    while True:
        here, there = refined(program, here), refined(program, there)
        before, after = np.argsort(here, kind="stable"), np.argsort(there, kind="stable")
        is_open = (np.diff(here[before]) == 0) & (np.abs(np.diff(z[before])) > ERROR_RECORDS)
        if not is_open.any():
            break
        first = int(np.argmax(is_open))
        here[before[first]] = there[after[first]] = MARK
    image = np.empty_like(z)
    image[after] = z[before]
    return image


def _is_as_good(program: BlockProgram, image: FloatArray, z: FloatArray) -> bool:
    """Return whether an image breaks no row more than the point does, and has its objective: then it is one."""
    records = float(program.splits.records.max(initial=1.0))
    return (
        program.linear_error(image) <= program.linear_error(z) + ERROR_RECORDS
        and program.split_error(image) <= program.split_error(z) + ERROR_RECORDS / records
        and abs(program.objective(image) - program.objective(z)) <= ERROR_RECORDS
    )


# The estimates that are as good as the given one, and the bounds between which they lie.
#
# A problem that is not convex may have several optima that no reading may choose between: points of one flat optimum,
# optima of about the same entropy that the starts of a search ended at, and the mirror images of an estimate in which
# classes that no row tells apart differ. Each is as good an estimate as the one given, so readings span them all.


def span(system: System, solved: Iterable[SolvedBlock], values: FloatArray) -> EstimateSpan:
    """Return the ends between which estimates as good as ``values`` (P, m) lie.

    A flat block was solved once more with ten times the weight of the eps term: another point of the same flat optimum.
    The ends are what the estimates span that were met, not a proof that no other lies outside.
    """
    low, high = values.copy(), values.copy()
    flat = several = 0
    by_leaf = cache(lambda: rows_by_leaf(system))
    for solved_block in solved:
        if not solved_block.answer.is_accepted or solved_block.reduced.program.is_convex:
            continue
        inside, own = solved_block.reduced.profiles, values[solved_block.reduced.profiles]
        met = (*solved_block.met(), *_images(solved_block))
        apart = list(_as_good(system, solved_block, met, values, by_leaf))
        several += bool(apart) or _differ_in(own, solved_block.reduced.alike)
        if is_flat(
            solved_block.reduced.program, solved_block.reduced.chains, solved_block.answer.split
        ):
            flat += 1
            if solved_block.answer.other is not None:
                apart.append(shares(solved_block.reduced, solved_block.answer.other))
        points = np.stack([own, *apart])
        low[inside], high[inside] = _with_mirrors(points, solved_block.reduced.alike)
    return EstimateSpan(low, high, flat, several)


def _images(one: SolvedBlock) -> Iterator[FloatArray]:
    """Yield mirror images (K, m) of a block's answer, but for the places of classes that no row tells apart."""
    form = one.reduced
    held = np.zeros(form.program.size, dtype=np.intp)
    if not one.is_symmetric:
        for klass in form.alike.tolist():
            numbers = form.cell[:, klass]
            held[numbers[numbers >= 0]] = klass + 1
    for z in mirror_images(form.program, one.answer.z, held):
        yield shares(form, z)


def _as_good(
    system: System,
    one: SolvedBlock,
    met: Iterable[FloatArray],
    values: FloatArray,
    by_leaf: Callable[[], Mapping[int, list[int]]],
) -> Iterator[FloatArray]:
    """Yield what was met of a block (K, m) that is as good and, put in ``values`` (P, m), breaks no row.

    Only the rows ``by_leaf`` that concern the block's own people can be broken by it.
    """
    counts, inside = system.case.population.counts, one.reduced.profiles
    least = one.entropy(counts) - AS_GOOD_NATS * float(counts[inside].sum())
    for point in met:
        if np.abs(point - values[inside]).max(initial=0.0) <= SAME_SHARE:
            continue
        if float(entropies(point, counts[inside]).sum()) < least:
            continue
        whole = values.copy()
        whole[inside] = point
        leaves = np.unique(system.case.population.leaf[inside]).tolist()
        numbers = {number for leaf in leaves for number in by_leaf()[leaf]}
        if max_violation(system, whole * counts[:, None], numbers=numbers) <= VIOLATION_SHARE:
            yield point


def _differ_in(values: FloatArray, alike: IndexArray) -> bool:
    """Return whether an estimate tells classes apart that no row tells apart: then it has mirror images."""
    return len(alike) > 0 and bool(np.ptp(values[:, alike], axis=1).max(initial=0.0) > SAME_SHARE)


def _with_mirrors(points: FloatArray, alike: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of points (N, K, m) and of what becomes of them when classes ``alike`` change places."""
    low, high = points.min(axis=0), points.max(axis=0)
    if len(alike):
        low[:, alike] = low[:, alike].min(axis=1, keepdims=True)
        high[:, alike] = high[:, alike].max(axis=1, keepdims=True)
    return low, high
