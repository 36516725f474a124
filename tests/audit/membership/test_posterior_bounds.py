"""Bounds of posteriors by rows over members, held against all sets that fit."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from tests.kit.tiers import cases
from treewarden.audit.engine.real_rows import RealRows, tighten
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.posterior_bounds import bound_probabilities
from treewarden.audit.progress import FOREVER


def register(members):
    members = np.asarray(members)
    return Candidates(
        columns={},
        sizes=np.ones(len(members), dtype=np.int64),
        class_of=np.zeros(len(members), dtype=np.intp),
        members=members[:, None].astype(np.int64),
        classes=("a",),
    )


def rows_of(weights, members, room=1e-6):
    matrix = sparse.csr_array(np.asarray(weights, dtype=float))
    sums = np.asarray(weights) @ np.asarray(members)
    return RealRows(matrix, 0.0 * matrix, sums - room, sums + room)


def bounds(weights, members):
    candidates, rows = register(members), rows_of(weights, members)
    size = len(members)
    boxes = tighten(rows, np.zeros(size, np.int64), np.ones(size, np.int64), FOREVER)
    return bound_probabilities(rows, boxes, candidates, FOREVER)


def test_counts_of_leaves_decide_exactly():
    # Two leaves with 1 of 4 and 2 of 3 people: their shares.
    found = bounds([[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]], [1, 0, 0, 0, 1, 1, 0])
    assert found.is_exact
    assert found.low.tolist() == pytest.approx([0.25] * 4 + [2 / 3] * 3)


def test_a_file_that_says_nothing_leaves_the_share_of_members():
    found = bounds(np.zeros((1, 4)), [1, 0, 0, 0])
    assert found.low.tolist() == found.high.tolist() == [0.25] * 4


def test_sums_that_several_sets_have_are_bounded():
    # 1 + 4 = 2 + 3: either pair, so that each is a member with probability 1/2, which rows only bound.
    found = bounds([[1, 2, 3, 4]], [1, 0, 0, 1])
    assert (found.low <= 0.5).all()
    assert (found.high >= 0.5).all()


@pytest.mark.parametrize("seed", cases(range(200), quick=20))
def test_the_exact_posterior_lies_within(seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(4, 10))
    kinds = draw.integers(0, 4, size)
    weights = draw.choice([0.0, 0.25, 0.5, 1.0], (int(draw.integers(1, 4)), 4))[:, kinds]
    members = (draw.permutation(size) < size // 2).astype(int)
    found = bounds(weights, members)
    sets = np.array(
        [np.isin(np.arange(size), chosen) for chosen in combinations(range(size), members.sum())]
    )
    fits = (np.abs(sets @ weights.T - weights @ members) <= 1e-6).all(axis=1)
    exact = sets[fits].mean(axis=0)
    assert (found.low <= exact + 1e-12).all()
    assert (exact <= found.high + 1e-12).all()
