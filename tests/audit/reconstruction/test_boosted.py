"""Records that leaf values of boosted models prove without a table: small tables, and the judge on a few cases."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from tests.judges.inverter_learners import is_there
from tests.judges.run_boosted_reconstruction import (
    UNBALANCED,
    WEIGHED,
    WEIGHED_LIGHTGBM,
    judge,
)
from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction import boosted
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.audit.reconstruction.of_table import rebuild_people
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import withheld

VALUES = np.array([(a, b) for a in (0, 1) for b in (0, 1, 2)] * 2, dtype=float)
LABELS = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0])
DOMAIN = DeclaredDomain(
    {"x0": DeclaredColumn((0.0, 1.0)), "x1": DeclaredColumn((0.0, 1.0, 2.0, 3.0))}
)


def gradient_boosting(**changes):
    """Return a boosted model of scikit-learn on twelve records."""
    settings = {"n_estimators": 8, "max_depth": 3, "random_state": 0} | changes
    return open_fitted(GradientBoostingClassifier(**settings).fit(VALUES, LABELS)).model


def hist_boosting():
    learner = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=1, random_state=0)
    return open_fitted(learner.fit(VALUES, LABELS)).model


def lightgbm_model(weight=None, labels=LABELS, **changes):
    library = pytest.importorskip("lightgbm")
    settings = {
        **{"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 8},
        **{"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0.0},
    } | changes
    data = library.Dataset(
        VALUES, label=labels, weight=weight, params=settings, feature_name=["x0", "x1"]
    )
    booster = library.train(settings, data, 8)
    return open_model(booster.model_to_string().encode(), "model.txt").model


def catboost_model(tmp_path, **changes):
    library = pytest.importorskip("catboost")
    settings = {"iterations": 8, "depth": 3, "verbose": False, "allow_writing_files": False}
    learner = library.CatBoostClassifier(**settings | {"random_seed": 0, **changes})
    learner.fit(VALUES, LABELS)
    path = tmp_path / "model.json"
    learner.save_model(str(path), format="json")
    return open_model(path.read_bytes(), path.name).model


def people_of(model, labels=LABELS):
    names = [feature.name for feature in model.features]
    columns = {name: [f"{v:g}" for v in VALUES[:, n]] for n, name in enumerate(names)}
    ill = [model.classes[label] for label in labels]
    return build_population(model, table_of({**columns, "ill": ill}), sensitive="ill")


@pytest.mark.parametrize("grow", [gradient_boosting, hist_boosting])
def test_sums_of_leaves_prove_every_record_of_a_small_table(grow):
    model = grow()
    found = reconstruct(model, FOREVER, DOMAIN)
    assert (found.records, found.records_proved) == (12, 12)
    assert found.whole_records >= 4
    assert "no record has a weight of its own" in found.assumed


def xgboost_model(weight=None, **changes):
    library = pytest.importorskip("xgboost")
    settings = {"objective": "binary:logistic", "nthread": 1, "verbosity": 0, "max_depth": 3}
    data = library.DMatrix(VALUES, LABELS, weight=weight, feature_names=["x0", "x1"])
    booster = library.train(settings | {"min_child_weight": 0} | changes, data, 8)
    return open_model(bytes(booster.save_raw("json")), "model.json").model


@pytest.mark.parametrize("seed", seeds(60, quick=4, second=12))
def test_class_weights_of_xgboost_are_divided_out_of_its_sums(seed):
    pytest.importorskip("xgboost")
    assert not judge(WEIGHED, seed).misses


@pytest.mark.parametrize("weight", [0.4, 3.0])
def test_a_weight_of_the_second_class_is_said_with_the_proofs_of_xgboost(weight):
    found = reconstruct(xgboost_model(scale_pos_weight=weight), FOREVER, DOMAIN)
    assert (found.records_proved, found.counts.low.sum(axis=0).tolist()) == (12, [5, 7])
    assert "no record has a weight of its own beside that of its class" in found.assumed


@pytest.mark.parametrize("seed", seeds(60, quick=4, second=12))
@pytest.mark.parametrize("learner", [WEIGHED_LIGHTGBM, UNBALANCED])
def test_class_weights_of_lightgbm_are_divided_out_of_its_sums(learner, seed):
    pytest.importorskip("lightgbm")
    assert not judge(learner, seed).misses


@pytest.mark.parametrize("weight", [0.4, 3.0])
@pytest.mark.parametrize("starts_at_average", [True, False])
def test_a_weight_of_the_second_class_is_said_with_the_proofs_of_lightgbm(
    weight, starts_at_average
):
    settings = {"scale_pos_weight": weight, "boost_from_average": starts_at_average}
    found = reconstruct(lightgbm_model(enable_bundle=False, **settings), FOREVER, DOMAIN)
    assert (found.records_proved, found.counts.low.sum(axis=0).tolist()) == (12, [5, 7])
    assert found.assumed == ("no record has a weight of its own beside that of its class",)


@pytest.mark.parametrize("starts_at_average", [True, False])
@pytest.mark.parametrize("labels", [LABELS, 1 - LABELS, np.arange(12) % 2], ids=["7", "5", "6"])
def test_weights_by_numbers_of_records_follow_from_the_first_tree(labels, starts_at_average):
    settings = {"is_unbalance": True, "boost_from_average": starts_at_average}
    found = reconstruct(
        lightgbm_model(labels=labels, enable_bundle=False, **settings), FOREVER, DOMAIN
    )
    second = int(labels.sum())
    assert found.records_proved == 12
    assert found.counts.low.sum(axis=0).tolist() == [12 - second, second]


def test_weights_by_numbers_of_records_that_the_first_tree_does_not_tell_leave_these_open():
    settings = {"is_unbalance": True, "lambda_l1": 0.1, "enable_bundle": False}
    found = reconstruct(lightgbm_model(**settings), FOREVER, DOMAIN)
    assert found.classes == ()
    assert found.records_proved == 12


@pytest.mark.parametrize(
    "settings",
    [
        {"scale_pos_weight": 1 / 3},  # the file rounds it to six digits
        {"scale_pos_weight": 3.0, "path_smooth": 1.0},
        {"is_unbalance": True, "path_smooth": 1.0},
    ],
)
def test_other_class_weights_of_lightgbm_leave_its_records_open(settings):
    model = lightgbm_model(enable_bundle=False, **settings)
    assert [*settings][-1] in reconstruct(model, FOREVER, DOMAIN).reason


def test_class_weights_of_lightgbm_leave_labels_open():
    model = lightgbm_model(enable_bundle=False, scale_pos_weight=3.0)
    assert "scale_pos_weight" in model.growth.refused


@pytest.mark.parametrize("grow", [xgboost_model, lightgbm_model])
def test_records_of_other_weights_prove_something_only_under_a_supposition(grow):
    weight = np.where(LABELS, 1.0, 2.5)
    options = {"enable_bundle": False} if grow is lightgbm_model else {}
    found = reconstruct(grow(weight=weight, **options), FOREVER, DOMAIN)
    if not isinstance(found, Undetermined):
        assert "no record has a weight of its own" in found.assumed


def test_leaf_values_that_a_constraint_may_have_bounded_prove_only_under_a_supposition():
    assert boosted.UNBOUNDED in reconstruct(xgboost_model(), FOREVER, DOMAIN).assumed
    assert boosted.UNBOUNDED not in reconstruct(gradient_boosting(), FOREVER, DOMAIN).assumed


def supposed_settings(model, **columns):
    """Return which settings of a file the proofs of its records suppose to have their defaults."""
    found = reconstruct(model, FOREVER, DeclaredDomain(columns))
    start = boosted.UNSTATED.split("(", maxsplit=1)[0]
    assert found.records_proved == 12
    return [said.removeprefix(start) for said in found.assumed if said.startswith(start)]


def test_settings_that_a_file_of_lightgbm_does_not_state_are_supposed():
    library = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1}
    data = library.Dataset(VALUES[:, 1:], label=LABELS, params=settings, feature_name=["x1"])
    text = library.train(settings | {"min_sum_hessian_in_leaf": 0.0}, data, 8).model_to_string()
    start, end = text.index("parameters:"), text.index("end of parameters")
    stated, silent = (
        open_model(t.encode(), "model.txt").model for t in (text, text[:start] + text[end:])
    )
    x1 = DOMAIN.columns["x1"]
    assert supposed_settings(stated, x1=x1) == []
    assert supposed_settings(silent, x1=x1) == [
        "(monotone_constraints, bagging_freq, boosting and 8 more)"
    ]


def test_settings_that_a_file_of_catboost_does_not_state_are_supposed(tmp_path):
    model = catboost_model(tmp_path)
    names = [feature.name for feature in model.features]
    columns = dict(zip(names, DOMAIN.columns.values(), strict=True))
    assert supposed_settings(model, **columns) == []
    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    params = document["model_info"]["params"]
    held = json.loads(params) if isinstance(params, str) else params
    del held["tree_learner_options"]["monotone_constraints"]
    document["model_info"]["params"] = json.dumps(held) if isinstance(params, str) else held
    silent = open_model(json.dumps(document).encode(), "model.json").model
    assert supposed_settings(silent, **columns) == ["(monotone_constraints)"]


def test_records_at_a_value_that_no_test_parts_are_proved_up_to_a_range():
    found = reconstruct(gradient_boosting(), FOREVER, DOMAIN)
    whole = found.columns_proved
    assert whole["x0"] == 12
    assert whole["x1"] < 12  # 2 and 3 lie on one side of all thresholds


def test_lightgbm_proves_records_unless_it_may_have_bundled_columns():
    assert "bundles" in reconstruct(lightgbm_model(), FOREVER).reason
    model = lightgbm_model(enable_bundle=False)
    domain = DeclaredDomain({name: DOMAIN.columns[name] for name in ("x0", "x1")})
    assert reconstruct(model, FOREVER, domain).records_proved == 12


@pytest.mark.parametrize("steps", [1, 10])
def test_catboost_proves_records_by_one_step_or_several(tmp_path, steps):
    model = catboost_model(tmp_path, leaf_estimation_iterations=steps)
    names = [feature.name for feature in model.features]
    domain = DeclaredDomain(dict(zip(names, DOMAIN.columns.values(), strict=True)))
    found = reconstruct(model, FOREVER, domain)
    assert (found.records, found.records_proved, len(found.classes)) == (12, 12, 2)


def test_a_table_is_held_against_the_proofs():
    model = gradient_boosting()
    people = people_of(model)
    found = rebuild_people(forest_of(model, people), people, FOREVER)
    # The other four share a cell with a value of the domain that no tree tells from theirs.
    assert (int(found.proved.sum()), int(found.people.sum())) == (8, 12)
    other = people_of(model, 1 - LABELS)
    found = rebuild_people(forest_of(model, other), other, FOREVER)
    assert isinstance(found, Undetermined)


def test_samples_and_withheld_settings_prove_nothing():
    sampled = gradient_boosting(subsample=0.5)
    assert "sample" in reconstruct(sampled, FOREVER, DOMAIN).reason
    model = gradient_boosting()
    facts = {**model.growth.facts, "learning_rate": withheld()}
    hidden = replace(model, growth=replace(model.growth, facts=facts))
    assert "learning_rate" in reconstruct(hidden, FOREVER, DOMAIN).reason


def test_a_domain_without_the_records_fits_no_table():
    narrow = DeclaredDomain({"x0": DeclaredColumn((0.0,)), "x1": DOMAIN.columns["x1"]})
    assert isinstance(reconstruct(gradient_boosting(), FOREVER, narrow), Undetermined)


def test_a_domain_that_takes_long_to_send_down_is_not_begun(monkeypatch):
    monkeypatch.setattr(boosted, "MOST_ROUTED", 10)
    assert reconstruct(gradient_boosting(), FOREVER, DOMAIN) == boosted.TOO_LARGE


LEARNERS = ("scikit-learn GB", "scikit-learn HGB", "CatBoost", "LightGBM", "XGBoost")


@pytest.mark.parametrize("learner", [name for name in LEARNERS if is_there(name)])
@pytest.mark.parametrize("seed", seeds(30, quick=(1, 3), second=8))
def test_every_table_that_grows_the_file_has_what_is_proved(learner, seed):
    assert not judge(learner, seed).misses
