"""Whatever is proved holds in every table, whatever was reached is a table, and the estimate bounds them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from tests.judges.rows_by_hand import entropy, rows_of, some_rows, tables
from tests.kit.tiers import examples
from treewarden.audit.engine.counts import by_leaves, counts_of, propagate, settled
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.newton_steps import estimate, is_small, tightened, whole
from treewarden.audit.engine.problem import Estimate
from treewarden.audit.engine.search import one_off
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import FOREVER

SLOW = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def inner(counts, all_tables):
    """Return the tables as the numbers that are reasoned about, (T, C, w)."""
    return all_tables[:, :, -counts.width :]


def is_within(low, high, found):
    return bool(((low <= found) & (found <= high)).all())


@SLOW
@given(some_rows())
def test_each_kind_of_proof_finds_what_cheaper_ones_do_and_never_what_is_not_so(case):
    rows, _ = case
    counts, found = counts_of(rows), tables(rows)
    truly = (found == rows.sizes[:, None]).all(axis=0).any(axis=1)
    by_leaf = by_leaves(counts)
    by_row = propagate(counts, by_leaf)
    by_weights = estimate(counts, by_row, FOREVER).boxes
    known = [settled(counts, boxes) >= 0 for boxes in (by_leaf, by_row, by_weights)]
    assert (known[0] <= known[1]).all()
    assert (known[1] <= known[2]).all()
    assert (known[2] <= truly).all()
    for boxes in (by_leaf, by_row, by_weights):
        assert is_within(boxes.low, boxes.high, inner(counts, found))


@SLOW
@given(some_rows(), st.booleans())
def test_with_time_everything_is_decided_as_brute_force_decides_it(case, is_told):
    rows, truth = case
    found = tables(rows)
    joint = reason(rows, truth=truth if is_told else None, budget=TimeBudget(FOREVER))
    assert joint.problem == ""
    assert joint.left == ()
    truly = (found == rows.sizes[:, None]).all(axis=0).any(axis=1)
    assert [bool(how) for how in joint.how] == truly.tolist()
    assert is_within(joint.low, joint.high, found)
    low, high = found.min(axis=0), found.max(axis=0)
    assert (low <= joint.reached_low).all()
    assert (joint.reached_high <= high).all()
    # No number is open that is the same in all tables.
    assert ((joint.low == joint.high) == (low == high)).all()


@SLOW
@given(some_rows(), st.data())
def test_no_weights_at_all_cut_off_a_table(case, data):
    rows, _ = case
    counts, found = counts_of(rows), tables(rows)
    boxes = propagate(counts, by_leaves(counts))
    size = data.draw(st.sampled_from([1, 3, 1000, 10**9]))
    count = len(rows.low)
    for _ in range(5):
        d = data.draw(st.lists(st.integers(-size, size), min_size=count, max_size=count))
        low, high = tightened(counts, boxes.low, boxes.high, np.array(d, dtype=np.int64))
        assert is_within(low, high, inner(counts, found))
        assert is_within(boxes.low, boxes.high, low)
        assert is_within(boxes.low, boxes.high, high)


@SLOW
@given(some_rows())
def test_no_table_has_more_entropy_than_the_bound_and_the_estimate_fits(case):
    rows, _ = case
    counts = counts_of(rows)
    guess = estimate(counts, propagate(counts, by_leaves(counts)), FOREVER).estimate
    assert isinstance(guess, Estimate)
    assert max(entropy(table) for table in tables(rows)) <= guess.bound
    assert guess.values.sum(axis=1) == pytest.approx(np.ones(len(rows.sizes)))
    people = guess.values * rows.sizes[:, None]
    dense = rows.matrix.toarray()
    total = np.array([row @ people[:, k] for row, k in zip(dense, rows.output, strict=True)])
    assert (total >= rows.low - guess.residual - 1e-9).all()
    assert (total <= rows.high + guess.residual + 1e-9).all()
    assert guess.residual <= 1e-3
    assert guess.gap <= 1e-2


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(some_rows(most_cells=6, most_classes=2))
def test_no_other_optimiser_finds_more_entropy_than_the_estimate_has(case):
    rows, _ = case
    counts = counts_of(rows)
    found = estimate(counts, propagate(counts, by_leaves(counts)), FOREVER)
    boxes = found.boxes
    assume((boxes.low < boxes.high).any())
    n = rows.sizes.astype(float)
    start = tables(rows).mean(axis=0)[:, 1]

    def negative(x):
        p = np.clip(x / n, 1e-12, 1 - 1e-12)
        return float((n * (p * np.log(p) + (1 - p) * np.log(1 - p))).sum())

    is_exact = rows.low == rows.high
    inside = [
        LinearConstraint(rows.matrix.toarray()[chosen], rows.low[chosen], rows.high[chosen])
        for chosen in (is_exact, ~is_exact)
        if chosen.any()
    ]
    box = list(zip(boxes.low[:, 0], boxes.high[:, 0], strict=True))
    other = minimize(negative, start, bounds=box, constraints=inside, method="SLSQP")
    assert -other.fun <= found.estimate.bound + 1e-4
    # It fits (see above) and has as much entropy as any may have: there is no better one.
    assert -negative(found.estimate.values[:, 1] * n) == pytest.approx(
        found.estimate.bound, abs=1e-3
    )


@given(some_rows())
@SLOW
def test_tables_one_person_off_are_tables(case):
    rows, truth = case
    counts, found = counts_of(rows), tables(rows)
    x = truth[:, -counts.width :]
    low, high = one_off(counts, x)
    assert is_within(inner(counts, found).min(axis=0), inner(counts, found).max(axis=0), low)
    assert is_within(inner(counts, found).min(axis=0), inner(counts, found).max(axis=0), high)
    near = [t for t in inner(counts, found) if np.abs(t - x).sum() <= min(counts.width, 2)]
    alone = [t for t in near if (np.abs(t - x).sum(axis=1) > 0).sum() <= 1]
    assert (low == np.min(alone, axis=0)).all()
    assert (high == np.max(alone, axis=0)).all()


def test_weights_too_large_for_machine_integers_are_refused_and_made_smaller():
    counts = counts_of(rows_of(("ab cd", "ac bd"), [10**4] * 4, sizes=[10**4] * 4))
    d = np.full(4, 10**15)
    assert not is_small(counts, d)
    with pytest.raises(OverflowError):
        tightened(counts, *counts.start(), d)
    assert is_small(counts, whole(counts, d.astype(float)))
