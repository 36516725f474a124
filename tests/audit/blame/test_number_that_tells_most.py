"""The number that tells most of an estimate: against an estimate from nothing without each number, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.kit.tiers import seeds
from treewarden.audit.blame.certainty import PublishedNumbers
from treewarden.audit.blame.inference_blame import blame_inference
from treewarden.audit.engine.counts import by_leaves, counts_of, propagate
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Problem
from treewarden.audit.engine.retained_estimate import RetainedEstimate
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined

EXACT = 2e-3
"""People by which two estimates may differ: that from nothing ends once no row is missed by 0.001."""


def drawn(seed):
    """Return numbers that are true of a drawn table of up to 12 groups: counts, ranges, weighed sums, some twice."""
    draw = np.random.default_rng(seed)
    groups, classes = int(draw.integers(3, 13)), int(draw.choice([2, 2, 3]))
    sizes = draw.integers(1, 5, groups)
    truth = np.stack([draw.multinomial(size, np.full(classes, 1 / classes)) for size in sizes])
    rows, low, high, output, of = [], [], [], [], []
    for number in range(int(draw.integers(2, 7))):
        inside = draw.random(groups) < draw.choice([0.4, 0.7, 1.0])
        if not inside.any():
            inside[0] = True
        weights = inside * (draw.integers(1, 30, groups) if draw.random() < 0.4 else 1)
        for _ in range(int(draw.integers(1, 3))):
            klass, width = int(draw.integers(classes)), int(draw.choice([0, 0, 1, 2]))
            total = int(weights @ truth[:, klass])
            rows.append(weights)
            low.append(max(total - int(draw.integers(0, width + 1)), 0))
            high.append(total + width)
            output.append(klass)
            of.append(number)
    problem = Problem(
        matrix=sparse.csr_array(np.array(rows, dtype=np.int64)),
        low=np.array(low),
        high=np.array(high),
        output=np.array(output, dtype=np.intp),
        trees=np.zeros(len(rows), dtype=np.intp),
        nodes=np.arange(len(rows)),
        sizes=sizes,
        classes=classes,
    )
    names = tuple(map(str, range(max(of) + 1)))
    return PublishedNumbers(
        problem, np.array(of), names, np.ones(len(names), dtype=np.int64), truth
    )


def expected_right(numbers, is_kept):
    """Return how many people have the value drawn by an estimate from nothing; None where it ends before that."""
    problem = numbers.problem.select(np.flatnonzero(is_kept))
    counts = counts_of(problem)
    boxes = propagate(counts, by_leaves(counts))
    found = estimate(counts, boxes, clock(20.0), proves=False).estimate
    if isinstance(found, Undetermined) or found.residual > 1e-3:
        return None
    return float((numbers.truth * found.values).sum())


@pytest.mark.parametrize("seed", seeds(400, quick=range(25)))
def test_each_number_withheld_lowers_what_it_does_by_an_estimate_from_nothing(seed):
    numbers = drawn(seed)
    all_rows = np.ones(len(numbers.number_of_row), dtype=bool)
    before = expected_right(numbers, all_rows)
    after = [expected_right(numbers, numbers.number_of_row != n) for n in numbers.everything]
    if before is None or None in after:
        pytest.skip("the estimate from nothing did not converge")
    found = blame_inference(numbers, clock(20.0))
    people = numbers.problem.sizes.sum()
    assert found.tried == len(after)
    assert found.before * people == pytest.approx(before, abs=EXACT)
    assert found.after * people == pytest.approx(min(after), abs=EXACT)
    assert after[found.number] == pytest.approx(min(after), abs=EXACT)


def retained(numbers):
    counts = counts_of(numbers.problem)
    return RetainedEstimate.of_rows(counts, propagate(counts, by_leaves(counts)), clock(20.0))


def test_a_number_that_follows_from_others_changes_nothing_and_takes_no_step():
    rows = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    problem = Problem(
        matrix=sparse.csr_array(rows),
        low=np.array([6, 2, 4]),
        high=np.array([6, 2, 4]),
        output=np.ones(3, dtype=np.intp),
        trees=np.arange(3),
        nodes=np.zeros(3, dtype=np.intp),
        sizes=np.full(6, 2),
        classes=2,
    )
    truth = np.array([[1, 1], [1, 1], [2, 0], [0, 2], [1, 1], [1, 1]])
    numbers = PublishedNumbers(
        problem, np.arange(3), ("a", "b", "c"), np.ones(3, dtype=np.int64), truth
    )
    found = retained(numbers)
    for number in range(3):
        fewer = found.without(np.arange(3) == number)
        assert fewer.shares()[:, 1] == pytest.approx([1 / 3] * 3 + [2 / 3] * 3, abs=1e-9)


def test_a_row_that_narrowed_a_box_is_not_taken_away_within_the_boxes():
    rows = np.array([[1, 1, 0], [1, 1, 1]])
    problem = Problem(
        matrix=sparse.csr_array(rows),
        low=np.array([2, 2]),
        high=np.array([2, 2]),
        output=np.ones(2, dtype=np.intp),
        trees=np.arange(2),
        nodes=np.zeros(2, dtype=np.intp),
        sizes=np.ones(3, dtype=np.int64),
        classes=2,
    )
    truth = np.array([[0, 1], [0, 1], [1, 0]])
    numbers = PublishedNumbers(problem, np.arange(2), ("a", "b"), np.ones(2, dtype=np.int64), truth)
    assert retained(numbers).without(np.array([True, False])) is None
    found = blame_inference(numbers, clock(20.0))
    assert (found.number, found.before) == (0, pytest.approx(1.0))
    assert found.after == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3, abs=1e-6)
