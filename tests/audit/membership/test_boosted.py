"""What boosted models prove of a register: thresholds of the whole table, counts and leaf values, by library."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from tests.judges.inverter_learners import LEARNERS, Lesson, is_there
from tests.judges.run_boosted_membership import TRIED, judge
from tests.kit.tiers import seeds
from treewarden.audit.inverters import GrownCase
from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.membership.learners import LearnerCuts, cuts_of_library
from treewarden.audit.membership.of_model import infer_boosted_members, known_cuts
from treewarden.audit.progress import FOREVER
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of

OF_TOOLS = ("XGBoost", "CatBoost")
"""Learners that only ``make test-tools`` has."""


def default_cuts(library: str) -> LearnerCuts:
    return cuts_of_library(library)[0]


@pytest.mark.parametrize(
    ("library", "below", "above", "threshold"),
    [
        ("lightgbm", 44.0, 50.0, np.nextafter(47.0, np.inf)),
        ("catboost", 44.0, 50.0, 47.0),
        ("sklearn_hist", 44.0, 50.0, 47.0),
        ("sklearn_boosting", 44.0, 50.0, 47.0),
        ("spark", 44.0, 50.0, 47.0),
        ("xgboost", 44.0, 50.0, 50.0),
        # In 32 bits half the sum of neighbours is the greater one: CatBoost takes the smaller.
        ("catboost", 1.0, float(np.nextafter(np.float32(1), np.float32(2))), 1.0),
    ],
)
def test_a_threshold_is_made_of_two_neighbours(library, below, above, threshold):
    assert default_cuts(library).threshold(np.array([below]), np.array([above])) == threshold


def test_xgboost_by_exact_search_cuts_half_way():
    exact = cuts_of_library("xgboost")[1]
    assert not exact.is_of_table
    assert exact.threshold(np.array([44.0]), np.array([50.0])) == 47.0


def test_the_ends_of_lightgbms_bin_of_zeros_say_nothing():
    assert not default_cuts("lightgbm").says(1.0000000180025095e-35)
    assert default_cuts("lightgbm").says(47.0)


def registered(published, values, classes, inside):
    """Return the case of a model over a register, each of whose people is a group of his own, and the candidates."""
    members = np.zeros((len(values), 2), dtype=np.int64)
    members[np.arange(len(values)), classes] = inside
    candidates = Candidates(
        columns={name: NumericColumn(values[:, n]) for n, name in enumerate("abc")},
        sizes=np.ones(len(values), dtype=np.int64),
        class_of=classes.astype(np.intp),
        members=members,
        classes=("0", "1"),
    )
    assert isinstance(published, Ensemble)
    trees = tuple(trees_of(published))
    stops = np.stack([route(tree, candidates.columns) for tree in trees])
    return GrownCase(published.growth, trees, stops, np.ones(len(values)), 2), candidates


def register_of(size, seed):
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 4000, (size, 3)).astype(float)
    classes = (values[:, 0] + draw.normal(0, 1000, size) > 2000).astype(int)
    inside = (draw.permutation(size) < size // 2).astype(int)
    return values, classes, inside


def hist_model(values, classes, inside, **settings):
    ensemble = pytest.importorskip("sklearn.ensemble")
    there = inside > 0
    fitted = ensemble.HistGradientBoostingClassifier(
        **{"max_iter": 3, "min_samples_leaf": 5, "early_stopping": False, **settings}
    )
    fitted.fit(pd.DataFrame(values[there], columns=list("abc")), classes[there])
    return open_fitted(fitted).model


def inferred(published, values, classes, inside):
    case, candidates = registered(published, values, classes, inside)
    found = infer_boosted_members(case.growth, case.trees, case.stops, candidates, FOREVER)
    assert isinstance(found, MembershipInference), found
    assert (found.low <= inside).all()
    assert (inside <= found.high).all()
    return found


def test_histogram_boosting_proves_members_and_others():
    register = register_of(60, seed=1)
    found = inferred(hist_model(*register), *register)
    assert found.proved_in.sum() > 0
    assert found.proved_out.sum() > 0


def test_thresholds_of_the_table_prove_where_leaf_values_cannot_be_inverted():
    # With class weights leaf values are sums of weights; the bins are those of the table all the same.
    values, classes, inside = register_of(60, seed=2)
    published = hist_model(values, classes, inside, class_weight={0: 1.0, 1: 3.0})
    found = inferred(published, values, classes, inside)
    assert found.proved_out.sum() > 0
    assert len(found.left) == 2


def test_thresholds_that_the_members_do_not_make_are_left_open():
    values, classes, inside = register_of(60, seed=3)
    published = hist_model(values, classes, inside)
    case, candidates = registered(published, values + 0.25, classes, inside)
    assert known_cuts(case, candidates) is None


def gradient_model(values, classes, inside):
    ensemble = pytest.importorskip("sklearn.ensemble")
    there = inside > 0
    fitted = ensemble.GradientBoostingClassifier(n_estimators=1, max_depth=2, random_state=0)
    fitted.fit(pd.DataFrame(values[there], columns=list("abc")), classes[there])
    return open_fitted(fitted).model


def test_the_posterior_by_all_sets_that_grow_the_file_lies_within_the_ends():
    # Two of these people add the same to all rows of the file, and only one set of four grows it: its splits tell.
    values = np.array([[1, 0, 0], [2, 1, 0], [1, 1, 0], [2, 0, 0], [1, 0, 0]], dtype=float)
    classes, inside = np.array([0, 0, 0, 0, 1]), np.array([1, 1, 0, 1, 1])
    published = gradient_model(values, classes, inside)
    found = inferred(published, values, classes, inside)
    sets = np.array([each for each in product((0, 1), repeat=5) if sum(each) == 4 and each[4]])
    same = [str(gradient_model(values, classes, each)) == str(published) for each in sets]
    exact = sets[same].mean(axis=0)
    assert exact.tolist() == inside.tolist()
    low, high = found.posterior_ends
    assert (low <= exact).all()
    assert (exact <= high).all()


@pytest.mark.parametrize("learner", TRIED)
def test_each_library_makes_thresholds_as_it_is_said_to(learner):
    if not is_there(learner):
        pytest.skip(f"compares with {learner} itself")
    values, classes, inside = register_of(80, seed=4)
    there = inside > 0
    table = pd.DataFrame(values[there], columns=list("abc"))
    known = 0
    for seed in range(6):
        published = LEARNERS[learner][1](
            Lesson(table, classes[there], 2), np.random.default_rng(seed)
        )
        if isinstance(published.model, Ensemble) and published.model.growth is not None:
            case, candidates = registered(published.model, values, classes, inside)
            known += known_cuts(case, candidates) is not None
    assert known >= 3  # the other settings grow no split, or draw thresholds


@pytest.mark.parametrize("learner", sorted(set(TRIED) - set(OF_TOOLS)))
@pytest.mark.parametrize("seed", seeds(40, quick=2, second=8))
def test_what_is_proved_holds_of_every_part_that_grows_the_file(learner, seed):
    tally = judge(learner, seed)
    assert not tally.misses


@pytest.mark.parametrize("learner", OF_TOOLS)
@pytest.mark.parametrize("seed", seeds(40, quick=2, second=8))
def test_what_files_of_tools_prove_holds_of_every_part_that_grows_them(learner, seed):
    if not is_there(learner):
        pytest.skip(f"compares with {learner} itself")
    tally = judge(learner, seed)
    assert not tally.misses


def test_cuts_of_samples_prove_nothing_though_the_members_make_them():
    # Each tree saw some of the records (subsample), by exact search: others may lie between the two that make a cut.
    if not is_there("XGBoost"):
        pytest.skip("compares with XGBoost itself")
    assert not judge("XGBoost", 20_002).misses
