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

from treewarden.audit.ipopt.program import BlockProgram
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
    term_row, term_variable = new_split[program.term_row], new_variable[program.term_variable]
    terms = np.lexsort((program.term_coefficient, term_variable, term_row))
    sorted_program = replace(
        program,
        scale=program.scale[order[: len(program.scale)]],
        start=program.start[order],
        lower=program.lower[order],
        upper=program.upper[order],
        rows=matrix,
        low=program.low[linear],
        high=program.high[linear],
        term_row=term_row[terms],
        term_variable=term_variable[terms],
        term_coefficient=program.term_coefficient[terms],
        term_scale=program.term_scale[terms],
        term_known=program.term_known[terms],
        term_most=program.term_most[terms],
        split_constant=program.split_constant[splits],
        split_limit=program.split_limit[splits],
        split_records=program.split_records[splits],
        cost=program.cost[order],
        split_linear=sparse.csr_matrix(program.split_linear[splits][:, order]),
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
        term_coefficient=_rounded(program.term_coefficient),
        term_scale=_rounded(program.term_scale),
        term_known=_rounded(program.term_known),
        term_most=_rounded(program.term_most),
        split_constant=_rounded(_something(program.split_constant)),
        split_limit=_rounded(program.split_limit),
        split_records=_rounded(program.split_records),
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
    linear, across = program.rows.tocoo(), program.split_linear.tocoo()
    n_rows = program.rows.shape[0]
    row = np.concatenate([linear.row, n_rows + program.term_row, n_rows + across.row])
    variable = np.concatenate([linear.col, program.term_variable, across.col])
    edges = np.concatenate(
        [
            _hash(linear.data),
            _hash(program.term_coefficient, program.term_scale),
            _hash(across.data),
        ]
    )
    rows = np.concatenate(
        [_hash(program.low, program.high), _hash(program.split_constant, program.split_limit)]
    )
    scale = np.zeros(program.size)
    scale[: len(program.scale)] = program.scale
    variables = _mixed(_hash(scale, program.lower, program.upper, program.cost), begin)
    for _ in range(ROUNDS):
        rows = _mixed(rows, _sums(len(rows), row, _mixed(edges, variables[variable])))
        variables = _mixed(variables, _sums(len(variables), variable, _mixed(edges, rows[row])))
    return rows, variables


def _sums(size: int, place: IndexArray, said: Hashes) -> Hashes:
    """Return the sum of what is said at each place: it does not depend on the order."""
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, place, said)
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


def _mixed(one: Hashes, other: Hashes) -> Hashes:
    """Return a number that pairs of others rarely share (the finaliser of SplitMix64, Steele et al. 2014)."""
    mixed = one * np.uint64(0x9E3779B97F4A7C15) + other
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
