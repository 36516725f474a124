"""Rows over people written by hand or drawn at random, and all their tables by brute force, which judges proofs."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from treewarden.audit.engine.problem import Problem

MOST_TABLES = 4000


def rows_of(trees, low, high=None, sizes=None, classes=2):
    """Return rows from trees, each a list of leaves, each a string of cells: "ab cd" are two leaves of four cells.

    ``low`` and ``high`` are the numbers of the second class, leaf by leaf; of more classes, of each class in turn.
    """
    leaves = [(t, leaf) for t, tree in enumerate(trees) for leaf in tree.split()]
    cells = sorted({cell for _, leaf in leaves for cell in leaf})
    said = [1] if classes == 2 else range(classes)
    table = [[int(cell in leaf) for cell in cells] for _, leaf in leaves for _ in said]
    return Problem(
        sparse.csr_array(np.array(table, dtype=np.int64)),
        np.array(low, dtype=np.int64),
        np.array(low if high is None else high, dtype=np.int64),
        np.array([k for _ in leaves for k in said]),
        np.array([t for t, _ in leaves for _ in said]),
        np.array([n for n, _ in enumerate(leaves) for _ in said]),
        np.array([1] * len(cells) if sizes is None else sizes, dtype=np.int64),
        classes,
    )


def tables(rows):
    """Return every table that fits, shape (T, C, m), one by one from the definition."""
    each = [list(shared_out(size, rows.classes)) for size in rows.sizes.tolist()]
    dense = rows.matrix.toarray()
    found = []
    for table in itertools.product(*each):
        x = np.array(table)
        total = [int((row * x[:, k]).sum()) for row, k in zip(dense, rows.output, strict=True)]
        if all(a <= n <= b for a, n, b in zip(rows.low, total, rows.high, strict=True)):
            found.append(x)
    return np.array(found).reshape(-1, len(rows.sizes), rows.classes)


def shared_out(people, classes):
    """Yield each way to share people out among classes."""
    if classes == 1:
        yield (people,)
        return
    for first in range(people + 1):
        yield from ((first, *rest) for rest in shared_out(people - first, classes - 1))


def entropy(table):
    """Return the entropy of a table (C, m), in nats, summed over people."""
    sizes = table.sum(axis=1)
    return -sum(
        x * math.log(x / n) for row, n in zip(table, sizes, strict=True) for x in row if x > 0
    )


@st.composite
def some_rows(draw, most_cells=9, most_classes=3):
    """Draw rows of up to four trees that a table drawn as well fulfils; return both.

    Some are intervals, and in some people count as often as they were drawn, or not at all.
    """
    classes = draw(st.integers(2, most_classes))
    sizes, ways = [], 1
    for size in draw(st.lists(st.sampled_from([1, 1, 1, 2, 3]), min_size=1, max_size=most_cells)):
        ways *= math.comb(size + classes - 1, classes - 1)
        if ways > MOST_TABLES:
            break
        sizes.append(size)
    cells = len(sizes)
    truth = np.array([draw(st.sampled_from(list(shared_out(n, classes)))) for n in sizes])
    slack, often = draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([1, 1, 2, 4]))
    matrix, low, high, output, trees, nodes = [], [], [], [], [], []
    for tree in range(draw(st.integers(1, 4))):
        leaf = np.array(draw(st.lists(st.integers(0, 2), min_size=cells, max_size=cells)))
        times = np.ones(cells, dtype=np.int64)
        if often > 1:
            drawn = st.integers(0, often)
            times = np.array(draw(st.lists(drawn, min_size=cells, max_size=cells)))
        for node in np.unique(leaf).tolist():
            inside = leaf == node
            for k in [1] if classes == 2 else range(classes):
                here = inside * times
                total = int(here @ truth[:, k])
                below, above = draw(st.integers(0, slack)), draw(st.integers(0, slack))
                matrix.append(here)
                low.append(max(total - below, 0))
                high.append(min(total + above, int(here @ np.array(sizes))))
                output.append(k)
                trees.append(tree)
                nodes.append(node)
    rows = Problem(
        sparse.csr_array(np.array(matrix)),
        *(np.array(each) for each in (low, high, output, trees, nodes, sizes)),
        classes,
    )
    return rows, truth
