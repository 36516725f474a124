"""Survey weights: people are counted as people, and what the file publishes as sums of their weights."""

from __future__ import annotations

import numpy as np
import pytest

from audit.knowledge import Knowledge
from audit.reading import Interval
from audit.run import MeasureCall, run
from audit.search import SolveOptions
from tests.audit.weighed_trees import fitting_columns, people_forced, people_of, weighed_tree

LEAVES = Knowledge(split="none")
QUICK = SolveOptions(worlds_budget=5.0, jobs=1)
CALLS = tuple(
    MeasureCall(name) for name in ("k_anonymity", "certain_disclosure", "label_disclosure")
)


def audit_of(tree, people, knowledge=LEAVES, calls=CALLS):
    return run(tree, people, knowledge, calls, QUICK)


def reading(audit, name):
    return audit.measurements[MeasureCall(name)].reading


def drawn(seed, choices):
    """Return ages, classes and weights of nine people."""
    draw = np.random.default_rng(seed)
    ages = draw.integers(20, 26, 9).astype(float).tolist()
    classes = ["no", "yes", *draw.choice(["no", "yes"], 7).tolist()]
    return ages, classes, draw.choice(choices, 9).tolist()


@pytest.mark.parametrize("choices", [[50.0, 20.0, 30.0], [1.5, 0.7, 2.25, 3.1], [1 / 3, 0.1, 0.7]])
@pytest.mark.parametrize("seed", range(8))
def test_who_is_certain_is_who_has_one_class_in_every_table_that_fits(seed, choices):
    ages, classes, weights = drawn(seed, choices)
    tree, table = weighed_tree(ages, classes, weights, max_leaf_nodes=3)
    columns = fitting_columns(tree, ages, weights)
    audit = audit_of(tree, people_of(tree, table))
    forced = people_forced(columns, ages, weights)
    assert reading(audit, "certain_disclosure") == Interval(forced, forced)
    assert not audit.dropped
