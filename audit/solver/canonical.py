"""A program with its parts in an order that depends on its numbers alone, not on how anything is called.

Solvers go another way where rows and variables stand in another order, or where sums were formed in another order and
differ in their last bits, and may end in another local optimum. In this order and with these numbers the same problem
is solved alike, whatever its classes, profiles and attributes are named, however finely its profiles are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treewarden.audit.ipopt.program import BlockProgram, SplitRows
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

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
        """Return chains (terms, masses) of `treewarden.audit.solver.elastic` for the program in this order."""
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
    rows_there, variables_there = _refined(program, _hash(program.start, bits=START_BITS))
    is_total = np.arange(program.size) >= len(program.scale)
    order = np.lexsort((variables_there, variables, is_total))
    linear = np.lexsort((rows_there[:n_rows], rows[:n_rows]))
    splits = np.lexsort((rows_there[n_rows:], rows[n_rows:]))
    new_variable, new_split = np.argsort(order), np.argsort(splits)
    matrix = sparse.csr_matrix(program.rows[linear][:, order])
    matrix.sort_indices()
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
        rows = _mixed(rows, _sums(len(rows), row, _mixed(edges, variables[variable])))
        variables = _mixed(variables, _sums(len(variables), variable, _mixed(edges, rows[row])))
    return rows, variables


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
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits) + 0.0)


def _mixed(one: Hashes, second: Hashes) -> Hashes:
    """Return a number that pairs of others rarely share (the finaliser of SplitMix64, Steele et al. 2014)."""
    mixed = one * np.uint64(0x9E3779B97F4A7C15) + second
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
