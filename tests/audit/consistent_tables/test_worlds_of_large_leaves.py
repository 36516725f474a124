"""Draws from leaves of millions of records, which are not shuffled one by one."""

import numpy as np
import pytest

from tests.judges.worlds_by_hand import system_of
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.witnesses import sample
from treewarden.audit.consistent_tables.witnesses.enumerate import data_sets, place_tables
from treewarden.audit.consistent_tables.witnesses.sample import GaveUpError, Sampler
from treewarden.audit.progress import FOREVER

COUNTS = [1, 999_999, 2_000_000, 5]
TOTALS = (1_500_000, 1_000_000, 500_000)


def draws(leaf, number):
    system = system_of(COUNTS, [[0, 1, 2], [3]], [leaf, (5, 0, 0)], [], classes=3)
    return Sampler(facts_of(system), FOREVER).tables(number)


def test_each_draw_has_the_people_of_every_profile_and_the_classes_of_every_leaf():
    found = draws(TOTALS, 20)
    assert (found.sum(axis=2) == COUNTS).all()
    assert (found[:, :3].sum(axis=1) == TOTALS).all()
    assert (found >= 0).all()


def test_profiles_have_the_leafs_shares_but_for_chance():
    found = draws(TOTALS, 400)
    shares = np.array(TOTALS) / sum(TOTALS)
    assert np.abs(found[:, 0].mean(axis=0) - shares).max() < 0.1
    large = found[:, 1] / COUNTS[1]
    assert np.abs(large.mean(axis=0) - shares).max() < 1e-4
    # Without putting back: the variance is that of a hypergeometric count.
    n, whole = COUNTS[1], sum(TOTALS)
    spread = n * shares * (1 - shares) * (whole - n) / (whole - 1)
    assert found[:, 1].var(axis=0) == pytest.approx(spread, rel=0.3)


def test_a_large_leaf_whose_classes_are_not_known_is_given_up():
    with pytest.raises(GaveUpError, match="too large to shuffle"):
        draws({"label": 0}, 1)


def test_draws_that_are_made_in_parts_are_those_that_are_made_at_once(monkeypatch):
    system = system_of([3, 4, 5], [[0, 1, 2]], [(5, 4, 3)], [], classes=3)
    whole = Sampler(facts_of(system), FOREVER).tables(50)
    monkeypatch.setattr(sample, "BATCH_CELLS", 40)
    monkeypatch.setattr(sample, "SHUFFLED_PER_PROFILE", 1000)
    assert (Sampler(facts_of(system), FOREVER).tables(50) == whole).all()


def test_many_draws_of_many_records_cost_as_much_as_their_profiles(monkeypatch):
    def refuse(*_):
        raise AssertionError("records were shuffled one by one")

    monkeypatch.setattr(Sampler, "_classes", refuse)
    system = system_of([60_000, 40_000], [[0, 1]], [(70_000, 30_000)], [])
    found = Sampler(facts_of(system), FOREVER).tables(80)
    assert (found.sum(axis=1) == (70_000, 30_000)).all()
    assert len(np.unique(found[:, 0, 0])) > 40


@pytest.mark.parametrize("totals", [(1_800_000, 1_200_000), TOTALS])
def test_draws_one_by_one_are_those_that_are_made_together(totals):
    system = system_of(COUNTS[:3], [[0, 1, 2]], [totals], [], classes=len(totals))
    together = Sampler(facts_of(system), FOREVER).tables(9)
    alone = Sampler(facts_of(system), FOREVER)
    assert (np.concatenate([alone.tables(1) for _ in range(9)]) == together).all()
    assert (together.sum(axis=1) == totals).all()
    assert (together.sum(axis=2) == COUNTS[:3]).all()


def test_a_leaf_whose_classes_are_not_known_is_drawn_as_often_as_data_sets_fit():
    system = system_of([2, 2], [[0, 1]], [{"label": 0}], [], classes=3)
    facts = facts_of(system)
    (place,) = facts.places.values()
    tables = place_tables(facts, place, 1000)
    ways = np.array(data_sets(facts, 0, tables))
    found = Sampler(facts, FOREVER).tables(4000)
    number = {table.tobytes(): n for n, table in enumerate(tables)}
    drawn = np.bincount([number[table.astype(np.int64).tobytes()] for table in found])
    assert len(drawn) == len(tables) > 4
    assert np.abs(drawn / 4000 - ways / ways.sum()).max() < 0.02


def test_classes_of_many_records_of_a_leaf_that_is_known_by_its_label_are_those_it_allows():
    system = system_of([60_000, 40_000], [[0, 1]], [{"label": 0}], [])
    facts = facts_of(system)
    sampler = Sampler(facts, FOREVER)
    (place,) = facts.places.values()
    classes = sampler._classes(place, 2)
    totals = np.stack([np.bincount(row, minlength=2) for row in classes])
    assert classes.shape == (2, 100_000)
    assert place.holds(totals).all()
    assert np.abs(totals / 100_000 - 0.5).max() < 0.02
