"""What is certain, possible and likely for who knows only some columns, held against listing every table that fits."""

import numpy as np
import pytest

from tests.audit.partial.networks import drawn


@pytest.mark.parametrize("seed", range(60))
def test_certain_excluded_and_reachable_are_those_of_all_tables(seed):
    case = drawn(np.random.default_rng(seed))
    tables = np.array(list(case.tables()))
    people = tables.sum(axis=2)  # (W, P, m)
    assert (case.proved.excluded == (people.max(axis=0) == 0)).all()
    assert (case.proved.possible == (people.max(axis=0) > 0)).all()
    whole = people.min(axis=0) == case.people[:, None]
    assert (case.proved.certain == whole).all()
    movable = case.net.movable.toarray()[:, case.net.group_of] > 0
    assert (movable == (tables.sum(axis=3).max(axis=0) > 0)).all()


@pytest.mark.parametrize("seed", range(60))
def test_the_estimate_is_the_optimum_over_profiles_leaves_and_classes_at_once(seed):
    case = drawn(np.random.default_rng(1000 + seed))
    assert (case.spread.gap <= 1e-9).all()
    movable = case.net.movable.toarray()[:, case.net.group_of]
    table = movable[:, :, None] * np.ones(case.classes.shape[1])
    for _ in range(20_000):
        before = table.copy()
        total = table.sum(axis=0)
        table *= np.divide(case.classes, total, out=np.zeros_like(total), where=total > 0)
        table *= (case.people / table.sum(axis=(1, 2)))[:, None, None]
        if np.abs(table - before).max() < 1e-13:
            break
    expected = table.sum(axis=1) / case.people[:, None]
    assert case.estimate == pytest.approx(expected, abs=1e-6)
