"""An audit stops early only where whole records prove that an error clause fails, whatever the estimate says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import evidence_of, flat_tree, only_world, pack_of, people_of
from treewarden.policies.judging.applicability import failing

TREE = flat_tree([[6, 4], [5, 0]])
CERTAIN = ("certain_disclosure", "at_most", 0)
OF_PURE = ("certain_disclosure", "at_most", 5)


def with_worlds(*, proves):
    """Return evidence of which whole records prove the five of the pure leaf, or leave them open."""
    worlds = only_world(people_of(TREE))
    low, high = np.array([[0, 0], [5, 0]]), np.array([[10, 10], [5, 0]])
    reached = np.array([[3, 3], [5, 0]]), np.array([[7, 7], [5, 0]])
    if not proves:
        low, high = np.zeros_like(low), np.full_like(high, 5)
    found = replace(worlds, low=low, high=high, reached_low=reached[0], reached_high=reached[1])
    return evidence_of(TREE, worlds=found)


@pytest.mark.parametrize(
    ("clauses", "proves", "expected"),
    [
        ([CERTAIN], True, True),
        ([CERTAIN], False, False),
        ([OF_PURE], True, False),
        ([OF_PURE, CERTAIN], True, True),
        ([(*CERTAIN, "warning"), OF_PURE], True, False),
        ([("disclosure", "at_most", 0.1), OF_PURE], True, False),
    ],
)
def test_it_fails_where_whole_records_prove_an_error_clause_broken(clauses, proves, expected):
    fails = failing(pack_of(*clauses))
    assert fails is not None
    assert fails(with_worlds(proves=proves)) is expected


@pytest.mark.parametrize(
    "clauses",
    [
        [("disclosure", "at_most", 0.9)],
        [(*CERTAIN, "warning")],
        [CERTAIN, ("own_contribution", "at_most", 0.1)],
    ],
)
def test_nothing_is_stopped_where_whole_records_alone_decide_no_clause(clauses):
    assert failing(pack_of(*clauses)) is None
