"""The cell suppression problem as a least withholding: a table of sdcTable's documentation, and tables by hand.

The counts are those of the table by gender and region that the documentation of ``primarySuppression`` shows (100
people). A count of at most 2 is sensitive. As in that package, a cell costs its count, and the sensitive cell must not
be calculated exactly from what is published, where all totals are cells too.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tests.kit.rows import rows
from treewarden.audit.blame.certainty import CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.withholding import withhold_least
from treewarden.audit.engine.problem import Problem
from treewarden.audit.progress import clock

FEMALE, MALE = [2, 19, 10, 14], [18, 14, 12, 11]


def table_numbers(cells):
    """Return cells (R, C) and their totals as published numbers, each costing its count.

    A sensitive cell is a group of as many people as it counts: it is certain where all of them must be there. Other
    cells may hold anybody, and prove nobody.
    """
    table = np.array(cells)
    places = np.arange(table.size).reshape(table.shape)
    parts = [[place] for place in places.reshape(-1).tolist()]
    parts += [row.tolist() for row in places] + [column.tolist() for column in places.T]
    parts.append(places.reshape(-1).tolist())
    inside = np.zeros((len(parts), table.size), dtype=np.int64)
    for row, part in zip(inside, parts, strict=True):
        row[part] = 1
    counts = table.reshape(-1)
    sizes = np.where(counts <= 2, counts, 10 * counts.sum())
    exact = inside @ counts
    problem = Problem(
        matrix=sparse.csr_array(inside),
        low=exact,
        high=exact,
        output=np.ones(len(parts), dtype=np.intp),
        trees=np.zeros(len(parts), dtype=np.intp),
        nodes=np.arange(len(parts)),
        sizes=sizes,
        classes=2,
    )
    truth = np.stack([sizes - counts, counts], axis=1)
    names = tuple(map(str, range(len(parts))))
    return PublishedNumbers(problem, np.arange(len(parts)), names, exact, truth)


def is_protected(numbers, withheld):
    """Return whether linear programs leave each sensitive cell a range, as ``attack`` of sdcTable judges it."""
    kept = [row for row in range(len(numbers.names)) if row not in withheld]
    matrix = numbers.problem.matrix.toarray()[kept].astype(float)
    ends = numbers.problem.low[kept].astype(float)
    for cell in np.flatnonzero(numbers.problem.sizes <= 2).tolist():
        goal = np.zeros(matrix.shape[1])
        goal[cell] = 1.0
        low, high = (
            linprog(sign * goal, A_eq=matrix, b_eq=ends, bounds=(0, None)) for sign in (1, -1)
        )
        if low.status == high.status == 0 and abs(low.fun + high.fun) < 1e-6:
            return False
    return True


def least_of(numbers):
    return withhold_least(CertaintyOracle(numbers, clock(20.0)))


def test_the_table_of_sdctable_is_protected_at_the_published_weight():
    numbers = table_numbers([FEMALE, MALE])
    least = least_of(numbers)
    # the sensitive cell, the other one of its region, and both of region C: 2 + 18 + 10 + 12
    assert least.withheld == {0, 2, 4, 6}
    assert (least.cost, least.is_optimal) == (42, True)
    assert is_protected(numbers, least.withheld)


def cheapest(numbers):
    """Return the least cost of cells after which linear programs leave each sensitive cell a range."""
    cells = range(len(numbers.names))
    chosen = (set(each) for size in range(7) for each in itertools.combinations(cells, size))
    costs = ((int(numbers.costs[sorted(each)].sum()), each) for each in chosen if 0 in each)
    return next(
        cost
        for cost, each in sorted(costs, key=lambda pair: pair[0])
        if is_protected(numbers, each)
    )


@rows(
    ("cells",),
    [
        ([[2, 5, 9], [7, 4, 6]],),
        ([[1, 8], [9, 3]],),
        ([[2, 3, 4], [5, 6, 30]],),
        ([[2, 20, 20], [20, 3, 4]],),
    ],
)
def test_no_cheaper_cells_protect_a_small_table(cells):
    numbers = table_numbers(cells)
    least = least_of(numbers)
    assert least.is_optimal
    assert is_protected(numbers, least.withheld)
    assert least.cost == cheapest(numbers)
