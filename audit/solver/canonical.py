"""A program with its parts in an order that depends on its numbers alone, not on how anything is named.

Solvers go another way where rows and variables stand in another order, or where sums were formed in another order and
differ in their last bits, and may end in another local optimum. In this order and with these numbers the same problem
is solved alike, whatever its classes, profiles and attributes are named, however finely its profiles are told apart.

In its elastic form every split row may be violated at a price, so that its optimum bounds all others.

The price is 1 per unit and chain, weighted by how far split rows bend the problem (see the chain condition below), seen
from the program's start. So the multipliers at its optimum are about as large as they may be for the Lagrangian to lie
above its tangent there, and no point of the program has a lower objective than the tangent has. What is proved does not
rest on IPOPT, or on where it started: `floor` holds for any point and multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, SplitRows
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

ROUNDS = 3
"""How often variables and rows are told apart by their neighbours: far enough to see a whole small block."""
BITS = 30
"""Numbers are compared after rounding to so many bits: sums depend a little on their order."""
START_BITS = 12
"""A start may be the answer of a solver, of which the last digits are noise."""
NUMBER_BITS = 44
"""The program's numbers are rounded to so many bits, so that sums that differ by rounding alone are the same number."""
BEGIN_BITS = 40
"""The same for a start, of which nothing is proved."""
NOTHING_RECORDS = 1e-14
"""What is left of the difference of two equal sums."""
AT_ONCE = 16_384
"""Numbers that are mixed at a time, as many as a processor keeps at hand: there may be millions."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Canonical:
    """A program in canonical order, and where its variables, split rows and their terms stood before."""

    program: BlockProgram
    variables: IndexArray
    splits: IndexArray
    terms: IndexArray

    def begin(self, start: FloatArray) -> FloatArray:
        """Return a start for the program in this order."""
        return _rounded(start[self.variables], BEGIN_BITS)

    def chains(self, chains: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return chains (terms, masses), as described below, for the program in this order."""
        return sparse.csr_matrix(chains[self.terms][:, self.variables[: chains.shape[1]]])


def restored(values: FloatArray, order: IndexArray) -> FloatArray:
    """Return values that stand in a canonical order as they stood before."""
    found = np.empty(len(values))
    found[order] = values
    return found


def canonical(program: BlockProgram) -> Canonical:
    """Return a program in canonical order: masses before totals, both sorted by what the rows say about them.

    This is colour refinement of the graph of variables and rows: what it cannot tell apart is, as a rule, symmetric.
    The start only orders what the rows leave alike.
    """
    program = rounded_program(program)
    n_rows = program.rows.shape[0]
    rows, variables = _refined(program, np.zeros(program.size, dtype=np.uint64))
    is_total = np.arange(program.size) >= len(program.scale)
    rows_there, variables_there = rows, variables
    if not (_are_distinct(rows) and _are_distinct(variables)):
        rows_there, variables_there = _refined(program, _hash(program.start, bits=START_BITS))
    order = np.lexsort((variables_there, variables, is_total))
    linear = np.lexsort((rows_there[:n_rows], rows[:n_rows]))
    splits = np.lexsort((rows_there[n_rows:], rows[n_rows:]))
    new_variable, new_split = np.argsort(order), np.argsort(splits)
    matrix = _reordered(program.rows, linear, new_variable)
    moved = replace(
        program.splits.terms,
        row=new_split[program.splits.terms.row],
        variable=new_variable[program.splits.terms.variable],
    )
    terms = np.lexsort((moved.coefficient, moved.variable, moved.row))
    sorted_program = replace(
        program,
        scale=program.scale[order[: len(program.scale)]],
        start=program.start[order],
        lower=program.lower[order],
        upper=program.upper[order],
        rows=matrix,
        low=program.low[linear],
        high=program.high[linear],
        cost=program.cost[order],
        splits=SplitRows(
            moved.only(terms),
            constant=program.splits.constant[splits],
            limit=program.splits.limit[splits],
            records=program.splits.records[splits],
            linear=sparse.csr_matrix(program.splits.linear[splits][:, order]),
        ),
    )
    return Canonical(sorted_program, order, splits, terms)


def _reordered(
    rows: sparse.csr_matrix, order: IndexArray, new_variable: IndexArray
) -> sparse.csr_matrix:
    """Return rows in some order, with each variable at its new place and each row's entries by place."""
    moved = sparse.csr_matrix(rows[order])
    moved = sparse.csr_matrix((moved.data, new_variable[moved.indices], moved.indptr), moved.shape)
    return sparse.csr_matrix(moved.tocsc().tocsr())  # sorts them in linear time


def rounded_program(program: BlockProgram) -> BlockProgram:
    """Return a program without the last bits of its numbers, which depend on the order that sums were formed in."""
    rows = program.rows.copy()
    rows.data = _rounded(rows.data)
    return replace(
        program,
        rows=rows,
        start=_rounded(program.start, BEGIN_BITS),
        scale=_rounded(program.scale),
        lower=_rounded(program.lower),
        upper=_rounded(program.upper),
        low=_rounded(_something(program.low)),
        high=_rounded(_something(program.high)),
        splits=_rounded_splits(program.splits),
    )


def _rounded_splits(splits: SplitRows) -> SplitRows:
    terms = splits.terms
    return replace(
        splits,
        terms=replace(
            terms,
            coefficient=_rounded(terms.coefficient),
            scale=_rounded(terms.scale),
            known=_rounded(terms.known),
            most=_rounded(terms.most),
        ),
        constant=_rounded(_something(splits.constant)),
        limit=_rounded(splits.limit),
        records=_rounded(splits.records),
    )


def _something(records: FloatArray) -> FloatArray:
    return np.where(np.abs(records) < NOTHING_RECORDS, 0.0, records)


def refined(program: BlockProgram, begin: Hashes) -> Hashes:
    """Return a number for each variable: alike where neither rows nor ``begin`` (variables,) tell them apart."""
    return _refined(program, begin)[1]


def _refined(program: BlockProgram, begin: Hashes) -> tuple[Hashes, Hashes]:
    """Return a number for each row, linear before split, and each variable: alike where nothing tells them apart.

    ``begin`` (variables,) tells variables apart too.
    """
    splits, terms = program.splits, program.splits.terms
    linear, across = program.rows.tocoo(), splits.linear.tocoo()
    n_rows = program.rows.shape[0]
    row = np.concatenate([linear.row, n_rows + terms.row, n_rows + across.row])
    variable = np.concatenate([linear.col, terms.variable, across.col])
    edges = np.concatenate(
        [
            _hash(linear.data),
            _hash(terms.coefficient, terms.scale),
            _hash(across.data),
        ]
    )
    rows = np.concatenate([_hash(program.low, program.high), _hash(splits.constant, splits.limit)])
    scale = np.zeros(program.size)
    scale[: len(program.scale)] = program.scale
    variables = _mixed(_hash(scale, program.lower, program.upper, program.cost), begin)
    for _ in range(ROUNDS):
        # A convex program has one optimum: any order that its numbers decide will do.
        if program.is_convex and _are_distinct(rows) and _are_distinct(variables):
            break
        rows = _mixed(rows, _sums(len(rows), row, _mixed(edges, variables[variable])))
        variables = _mixed(variables, _sums(len(variables), variable, _mixed(edges, rows[row])))
    return rows, variables


def _are_distinct(hashes: Hashes) -> bool:
    """Whether no two numbers are alike: what else could order them is not asked then."""
    return not (np.diff(np.sort(hashes)) == 0).any()


def _sums(size: int, place: IndexArray, values: Hashes) -> Hashes:
    """Return the sum of what is said at each place: it does not depend on the order."""
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, place, values)
    return sums


def _hash(*columns: FloatArray, bits: int = BITS) -> Hashes:
    """Return a number for each entry of columns of equal length, by their values."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        found = _mixed(found, _rounded(column, bits).view(np.uint64))
    return found


def _rounded(numbers: FloatArray, bits: int = NUMBER_BITS) -> FloatArray:
    """Return numbers rounded to so many bits, none of them a negative zero."""
    # Half to even, in the bits of the numbers themselves: a third of the time of taking them apart.
    dropped = np.uint64(53 - bits)
    mask = ~((np.uint64(1) << dropped) - np.uint64(1))
    rounded = np.array(numbers, dtype=np.float64)
    every = rounded.view(np.uint64)
    for start in range(0, len(every), AT_ONCE):
        words = every[start : start + AT_ONCE]
        half = (words >> dropped) & np.uint64(1)
        half += (np.uint64(1) << (dropped - np.uint64(1))) - np.uint64(1)
        words += half
        words &= mask
    rounded += 0.0
    return rounded


def _mixed(one: Hashes, second: Hashes) -> Hashes:
    """Return a number that pairs of others rarely share (the finaliser of SplitMix64, Steele et al. 2014)."""
    every = np.empty(len(one), dtype=np.uint64)
    for start in range(0, len(one), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        mixed = every[part]
        np.multiply(one[part], np.uint64(0x9E3779B97F4A7C15), out=mixed)
        mixed += second[part]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return every


# How far split rows can bend the problem away from convex, chain by chain.
#
# A chain is the terms of the chosen splits that a mass is in, node by node. Seen from a point, the entropy of masses
# y rises above its tangent by D(y|p) = sum y log(y / p) - y + p, and by at least D(v|w) for their total v, w at the
# point (log-sum inequality). A term of a chosen split falls below its tangent: by c (v - w)^2 / s for gini, by c D(v
# + k|w + k) for the entropy, k the known mass beside them. The ratio of its fall to D(v|w) grows with v (that of the
# second derivatives does), so it is largest at the most that v can be: the term's weight. Where weights times
# multipliers sum to 1 or less along every chain, each term can have its own part of the entropy, and the Lagrangian
# lies above its tangent at that point. From any point the weights are at most 2 c v / s and c v / (v + k), v at its
# most (Cauchy-Schwarz): under these the Lagrangian is convex.
#
# All this holds for every class by itself. Pooled, each class has its share of the pool's masses, and the same weight.

NEAR_SHARE = 1e-3
"""Totals nearer to their most than this share of it get the weight of all points: the other's digits would cancel."""
DIGITS = 1e12
"""Weights are rounded up to so many parts of 1: those that differ by rounding are one."""
ROUNDING_SHARE = 1e-9
"""What rounding may take from a weight that is not near its most."""


def chains(program: BlockProgram, members: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return which terms of the chosen splits each mass is in, 1 or 0, shape (terms, masses).

    ``members`` (variables, masses) says which masses each variable sums.
    """
    terms = program.splits.terms
    bent = sparse.diags_array((terms.coefficient > 0).astype(float))
    return sparse.csr_matrix(bent @ members[terms.variable])


def weights(
    program: BlockProgram,
    chains: sparse.csr_matrix,
    z: FloatArray | None = None,
    margin: float = 1.0,
) -> sparse.csr_matrix:
    """Return the weight of each split row in each chain, seen from a point, or the most it is from any point.

    Seen from a point, each term is taken ``margin`` times, but no more than from any point. Shape (split rows, chains);
    chains with the same weights are one, chains without weight are left out.
    """
    terms = program.splits.terms
    shape = (len(program.splits), len(terms))
    bend = _most(program)
    if z is not None:
        bend = np.minimum(margin * _from(program, chains, z), bend)
    bend = np.where(terms.coefficient > 0, terms.coefficient * bend, 0.0)
    by_row = sparse.csr_matrix((bend, (terms.row, np.arange(shape[1]))), shape=shape)
    dense = (by_row @ chains).toarray()
    dense = np.ceil(dense[:, dense.any(axis=0)] * DIGITS) / DIGITS
    return sparse.csr_matrix(np.unique(dense, axis=1) if dense.size else dense)


def _most(program: BlockProgram) -> FloatArray:
    """Return the weight of each term that no point exceeds."""
    terms = program.splits.terms
    free = terms.most - terms.known
    if program.criterion is Criterion.GINI:
        return np.asarray(2 * free / terms.scale)
    return np.divide(free, terms.most, out=np.zeros_like(free), where=free > 0)


def _from(program: BlockProgram, chains: sparse.csr_matrix, z: FloatArray) -> FloatArray:
    """Return the weight of each term seen from a point."""
    terms, total = program.splits.terms, np.maximum(chains @ z[: len(program.scale)], SMALLEST_MASS)
    beside = np.maximum(z[terms.variable] - total, 0.0)
    most = terms.most - beside
    far = most - total > NEAR_SHARE * most
    w, v = np.where(far, total, 1.0), np.where(far, most, 2.0)
    is_gini = program.criterion is Criterion.GINI
    fall = (v - w) ** 2 / terms.scale if is_gini else _divergence(v + beside, w + beside)
    return np.where(far, fall / _divergence(v, w) * (1 + ROUNDING_SHARE), _most(program))


def _divergence(v: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(v * np.log(v / w) - v + w)


ELASTIC_ROUNDING_SHARE = 1e-7
"""What rounding may cost a floor, as a share of the masses' scales, beyond which it proves nothing."""
MARGIN = 1.06
"""How much heavier chains are taken to be than they are seen from the start: from the optimum they may be heavier."""
LOAD_SHARE = 1e-6
"""By how much a chain may be overloaded where that is the solver's tolerance."""
FLAT_SHARE = 1e-2
"""A chain whose weighted multipliers come this close to 1 has flat directions: other estimates are as good."""


def elastic(program: BlockProgram, chains: sparse.csr_matrix, z: FloatArray | None) -> BlockProgram:
    """Return the elastic form: one more variable per chain, with its price; ``z`` is as of ``weights``."""
    prices = weights(program, chains, z, MARGIN)
    extra = prices.shape[1]
    wide = sparse.csr_matrix((program.rows.shape[0], extra))
    return replace(
        program,
        start=np.concatenate([program.start, np.full(extra, 1e-3)]),
        lower=np.concatenate([program.lower, np.zeros(extra)]),
        upper=np.concatenate([program.upper, np.full(extra, np.inf)]),
        rows=sparse.csr_matrix(sparse.hstack([program.rows, wide])),
        cost=np.concatenate([program.cost, np.ones(extra)]),
        splits=replace(
            program.splits,
            linear=sparse.csr_matrix(sparse.hstack([program.splits.linear, -prices])),
        ),
    )


def is_overloaded(
    program: BlockProgram, chains: sparse.csr_matrix, z: FloatArray, split: FloatArray
) -> bool:
    """Return whether multipliers break the chain condition seen from a point: then they prove little."""
    loads = weights(program, chains, z).T @ np.maximum(split, 0.0)
    return bool(loads.max(initial=0.0) > 1 + LOAD_SHARE)


def is_flat(program: BlockProgram, chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers ``split`` of the split rows leave flat directions along some chain."""
    loads = weights(program, chains).T @ split
    return bool((np.abs(loads - 1) <= FLAT_SHARE).any())


def is_convex_at(program: BlockProgram, chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers meet the chain condition: then the Lagrangian is convex and no direction can help."""
    return bool((weights(program, chains).T @ split).max(initial=0.0) <= 1)


def floor(
    program: BlockProgram,
    chains: sparse.csr_matrix,
    z: FloatArray,
    linear: FloatArray,
    split: FloatArray,
) -> float:
    """Return a number that the objective goes below at no point of the program, proved by any point and multipliers.

    Rounding is taken off; it is minus infinity where multipliers are so large that rounding leaves nothing.

    ``z`` satisfies the rows that define aggregates. The multipliers of the split rows are brought to 0 or more and
    under the chain condition seen from ``z``. The Lagrangian then lies above its tangent at ``z``, which is lowest at a
    corner of the box of the variables.
    """
    prices = np.maximum(split, 0.0)
    loads = weights(program, chains, z).T @ prices
    prices = prices / max(1.0, float(loads.max(initial=0.0)))
    ends = np.where(linear > 0, program.high, program.low)
    duals = np.where(np.isfinite(ends), linear, 0.0)
    misses = program.rows @ z - np.where(np.isfinite(ends), ends, 0.0)
    value = program.objective(z) + prices @ program.split_values(z) + duals @ misses
    slope = program.gradient(z, 0.0) + program.rows.T @ duals + program.split_jacobian(z).T @ prices
    most = np.full(program.size, float(program.scale.sum()))
    most[: len(program.scale)] = program.scale
    most = np.minimum(most, program.upper)
    corner = np.where(slope > 0, -z, most - z)
    margin = _rounding(program, z, duals, prices, np.maximum(np.abs(z), np.abs(most - z)))
    if margin > ELASTIC_ROUNDING_SHARE * float(program.scale.sum()):
        return -np.inf
    return float(value + slope @ corner - margin)


def _rounding(
    program: BlockProgram, z: FloatArray, duals: FloatArray, prices: FloatArray, reach: FloatArray
) -> float:
    """Return how far floating point may put a floor too high (Higham 2002, section 3.1).

    Rows that leave no interior have multipliers of 1e13 and more, which cancel each other. The program's own numbers
    may have been rounded, as described above.
    """
    rows, huge = abs(program.rows), np.abs(duals)
    slope = np.abs(program.gradient(z, 0.0)) + rows.T @ huge
    slope = slope + abs(program.split_jacobian(z)).T @ prices
    ends = np.where(np.isfinite(program.low), np.abs(program.low), 0.0)
    ends = np.maximum(ends, np.where(np.isfinite(program.high), np.abs(program.high), 0.0))
    value = huge @ (rows @ np.abs(z) + ends) + slope @ np.abs(z)
    operations = program.size + len(duals) + len(prices) + 2.0 ** (53 - NUMBER_BITS)
    nothing = NOTHING_RECORDS * (huge.sum() + prices.sum())
    return float(operations * np.finfo(float).eps * (value + slope @ reach) + nothing)
