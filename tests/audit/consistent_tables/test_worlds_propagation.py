"""What one row after the other proves, before any solver is asked."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import system_of
from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.proofs.propagate import propagate
from treewarden.audit.facts.rows import Grouping, SplitFamily
from treewarden.audit.progress import FOREVER


def drawn(seed, classes, grouping):
    """Return a system of a true table at random, with candidates that each put one of four values on the left."""
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 5, size=(8, classes)) + (draw.random((8, 1)) < 0.5)
    leaves = [tuple(int(n) for n in table[own].sum(axis=0)) for own in ([0, 1, 2, 3], [4, 5, 6, 7])]
    system = system_of(
        table.sum(axis=1),
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        leaves,
        [(0, "".join(map(str, draw.permutation([0, 0, 1, 1, 2, 2, 3, 3])))) for _ in range(2)],
        classes=classes,
    )
    codes = np.arange(4) if grouping is Grouping.ONE_AGAINST_REST else 1 << np.arange(4)
    rows = [
        replace(row, grouping=grouping, admissible=codes) if isinstance(row, SplitFamily) else row
        for row in system.rows
    ]
    return replace(system, rows=tuple(rows))


def proved(system):
    """Return the ends that rows prove, and which of them a row moved; or that they contradict each other."""
    facts = with_intervals(facts_of(system))
    bounds = closed_form(facts)
    try:
        propagate(facts, bounds, FOREVER, alone=facts.classes > 2)
    except ContradictionError:
        return "contradiction"
    return bounds.low.tolist(), bounds.high.tolist(), sorted(bounds.why)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_value_against_the_rest_proves_what_sets_of_one_value_prove(classes):
    found = [proved(drawn(seed, classes, Grouping.ONE_AGAINST_REST)) for seed in range(60)]
    assert found == [proved(drawn(seed, classes, Grouping.SUBSET)) for seed in range(60)]
    moved = [each for each in found if each != "contradiction" and each[2]]
    assert len(moved) > 10
