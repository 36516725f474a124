"""Split rows as statements about whole records: what they prove is proved, and the estimate obeys them."""

import numpy as np
import pytest

from tests.judges.worlds_by_hand import brute_force
from tests.kit.cases import multiway_case
from tests.kit.grown_trees import grow_tree, heart
from tests.kit.tiers import cases
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.problem import interval_excess, whole_records
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import build_system, max_violation

SMALL = [(seed, split) for seed in range(14) for split in ("gini", "entropy")]


def small(seed: int, split: str, **knowledge: object):
    known = Knowledge(leaf="counts", split=split, **knowledge)
    return build_system(multiway_case(seed, known, classes=2, records=14))


@pytest.mark.parametrize(("seed", "split"), cases(SMALL, quick=10))
def test_what_is_proved_holds_in_every_world(seed, split):
    system = small(seed, split)
    whole = whole_records(system)
    if whole is None:
        assert not system.families
        return
    worlds = [np.array(table) for table, _ in brute_force(system)[0]]
    counts = system.case.population.counts
    proved = ~np.isnan(whole.shares).any(axis=1)
    assert len(worlds)
    for world in worlds:
        np.testing.assert_array_equal(world[proved], whole.shares[proved] * counts[proved, None])
        for number, ends in whole.intervals.items():
            assert interval_excess(system.families[number], ends, world.astype(float)).max() <= 0


@pytest.mark.parametrize(("seed", "split"), cases(SMALL, quick=10))
def test_the_estimate_obeys_the_whole_record_rows_and_has_no_more_entropy(seed, split):
    system = small(seed, split)
    integer, said = estimate(system)
    _, real = estimate(system, AuditOptions(rows="real"))
    mass = integer.values * system.case.population.counts[:, None]
    assert said.status in ("optimal", "closed form"), said.reason
    assert max_violation(system, mass) <= 1e-6
    assert said.entropy <= real.entropy + 1e-6
    assert said.entropy <= said.entropy_bound <= said.entropy_relaxed + 1e-5


@pytest.mark.parametrize(("criterion", "fixed"), [("gini", 169), ("entropy", 229)])
def test_heart_disease_gets_certain_where_real_rows_leave_it_open(criterion, fixed):
    case = grow_tree(*heart(), max_depth=5, criterion=criterion)
    system = build_system(case)
    integer, said = estimate(system)
    real, _ = estimate(system, AuditOptions(rows="real"))
    proved = ~np.isnan(whole_records(system).shares).any(axis=1)
    truth = case.population.truth / case.population.counts[:, None]
    assert said.status == "optimal", said.reason
    assert (said.split_rows, said.profiles_fixed) == ("integer", fixed)
    np.testing.assert_allclose(integer.values[proved], truth[proved], atol=1e-9)
    assert (real.values[proved].max(axis=1) < 0.99).sum() >= 10


@pytest.mark.parametrize("knowledge", [{"marginal": True}, {"leaf": "rates", "classes": 3}])
def test_real_rows_stay_where_whole_records_say_nothing_exact(knowledge):
    classes = knowledge.pop("classes", 2)
    known = Knowledge(**{"leaf": "counts", "split": "gini", **knowledge})
    system = build_system(multiway_case(3, known, classes=classes, records=20))
    assert whole_records(system) is None
    assert estimate(system)[1].split_rows == "real"


def test_a_feature_that_is_no_quasi_identifier_tells_no_group_apart():
    columns, labels = heart()
    known = [name for name in columns if name != "fbs"]
    one, other = (
        whole_records(
            build_system(grow_tree(columns, labels, qi=qi, criterion="gini", max_depth=3))
        )
        for qi in (known, [*known, "more"])
    )
    assert 0 < one.profiles_fixed <= other.profiles_fixed
