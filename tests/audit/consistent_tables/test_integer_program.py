"""The linear program over whole tables: what it finds and proves, against every table of small cases."""

import random
from itertools import product

import numpy as np
import pytest

from tests.kit.tiers import seeds
from treewarden.audit.consistent_tables.proofs.linear import IntegerProgram, IntegerRows
from treewarden.audit.consistent_tables.proofs.rows import CellRow

START = 4
"""The number of the first profile: rows name cells of the whole case, the program those of its part."""


def drawn(seed):
    """Return rows over the cells of two or three profiles, ends of cells, and every table that obeys both."""
    rng = random.Random(seed)
    m, size = rng.choice([2, 3]), rng.choice([2, 3])
    counts = np.array([rng.randint(1, 3) for _ in range(size)])
    rows = []
    for number in range(rng.randint(1, 3)):
        weights = np.array([rng.randint(-2, 2) for _ in range(size * m)])
        cells = np.flatnonzero(weights)
        low = rng.randint(-3, 3)
        high = rng.choice([None, low, low + rng.randint(0, 2)])
        row = CellRow(cells + START * m, weights[cells], low, high, f"row {number}")
        rows.append(row)
    low = np.zeros((size, m), dtype=np.int64)
    high = np.repeat(counts[:, None], m, axis=1)
    if rng.random() < 0.3:
        low[0, 0] = high[0, 0] = rng.randint(0, int(counts[0]))
        if m == 2:
            low[0, 1] = high[0, 1] = counts[0] - low[0, 0]
    # Each profile has all its people: of two classes that is built in, of more it is a row.
    if m > 2:
        for place, count in enumerate(counts.tolist()):
            cells = np.arange(m) + (START + place) * m
            rows.append(CellRow(cells, np.ones(m, dtype=np.int64), count, count, "people"))
    own = [
        [c for c in product(range(count + 1), repeat=m) if sum(c) == count]
        for count in counts.tolist()
    ]
    tables = [np.array(table) for table in product(*own)]
    fitting = [
        table
        for table in tables
        if ((low <= table) & (table <= high)).all() and all(fits(row, table) for row in rows)
    ]
    integer_rows = IntegerRows(m, START, counts)
    integer_rows.add(rows)
    return IntegerProgram(integer_rows, low, high), fitting, counts, m


def fits(row, table):
    total = int(row.weights @ table.ravel()[row.cells - START * table.shape[1]])
    return (row.low is None or row.low <= total) and (row.high is None or total <= row.high)


def test_rows_that_join_later_stand_in_the_matrix_as_if_they_had_been_there():
    counts = np.array([2, 1, 3])
    rows = [
        CellRow(np.array([0, 4]) + START * 3, np.array([2, -1]), None, 3, "first"),
        CellRow(np.array([8]) + START * 3, np.array([5]), 0, 9, "second"),
        CellRow(np.array([1, 2, 7]) + START * 3, np.array([1, 1, 4]), 1, None, "third"),
    ]
    at_once, one_by_one = IntegerRows(3, START, counts), IntegerRows(3, START, counts)
    at_once.add(rows)
    for number, row in enumerate(rows, 1):
        assert one_by_one.add([row])
        assert one_by_one.matrix.shape == (number, 9)
    assert (one_by_one.matrix.toarray() == at_once.matrix.toarray()).all()
    assert one_by_one.matrix.toarray()[2].tolist() == [0, 1, 1, 0, 0, 0, 0, 4, 0]


@pytest.mark.parametrize("part", seeds(16, quick=1, second=5))
def test_what_is_proved_holds_in_every_table(part):
    decided = 0
    for seed in range(20 * part, 20 * (part + 1)):
        program, tables, counts, m = drawn(seed)
        named = program.farkas(5.0)
        assert not (tables and named), seed
        for cell, sign in product(product(range(len(counts)), range(m)), (-1, 1)):
            status, table, duals = program.solve((START + cell[0], cell[1]), sign, 5.0)
            if status == "infeasible":
                assert not tables, seed
                assert named, seed
                decided += 1
                continue
            assert status == "optimal", seed
            assert np.allclose(table.sum(axis=1), counts), seed
            least = sign * table[cell]
            bound = program.bound((START + cell[0], cell[1]), sign, duals)
            assert bound == np.ceil(least - 1e-6), (seed, cell, sign)
            assert all(sign * int(fitting[cell]) >= bound for fitting in tables), (seed, cell, sign)
            decided += 1
    assert decided > 60
