"""One tree's rows are a problem like any other: the engine takes the linear part, and no more of it than it can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.consistent_tables.test_worlds_against_brute_force import LEVELS, small_case
from treewarden.audit.consistent_tables.facts.facts import facts_of, without_splits
from treewarden.audit.consistent_tables.proofs.bounds import closed_form, spread
from treewarden.audit.engine.counts import bound_by_rows, counts_of
from treewarden.audit.engine.problem import breaking
from treewarden.audit.system.system import build_system


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(12))
def test_the_engine_proves_of_leaves_what_the_tiers_of_one_tree_prove_of_them(seed, level):
    case = small_case(seed, level)
    facts = without_splits(build_system(case))
    bounds = closed_form(facts)
    while spread(facts, bounds):
        pass
    low, high = bound_by_rows(replace(facts.problem, exact=None))
    assert (low == bounds.low).all()
    assert (high == bounds.high).all()


@pytest.mark.parametrize("seed", range(6))
def test_leaves_are_read_off_the_rows_of_the_problem(seed):
    case = small_case(seed, "labels")
    facts = without_splits(build_system(case))
    matrix = facts.problem.matrix.to_sparse().toarray()
    assert (matrix[:: facts.classes].sum(axis=0) == 1).all()
    for number, place in enumerate(facts.places.values()):
        rows = slice(number * facts.classes, (number + 1) * facts.classes)
        assert (facts.place_of()[place.start : place.end] == place.node).all()
        assert np.flatnonzero(matrix[rows].any(axis=0)).tolist() == [*range(place.start, place.end)]
        assert (facts.problem.low[rows].tolist(), facts.problem.high[rows].tolist()) == (
            [*place.low],
            [*place.high],
        )
    truth = facts.arranged(case.population.truth)
    sparse_rows = replace(facts.problem, matrix=facts.problem.matrix.to_sparse())
    assert not len(breaking(sparse_rows, truth))


def test_the_engine_refuses_rows_that_no_matrix_holds():
    facts = facts_of(build_system(small_case(0, "counts")))
    assert facts.problem.exact.splits
    with pytest.raises(ValueError, match="one tree"):
        counts_of(facts.problem)
