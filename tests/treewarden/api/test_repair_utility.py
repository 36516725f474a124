import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from treewarden.api import regrowing
from treewarden.api.refits import (
    UTILITIES,
    Training,
    boosted_candidates,
    boosting_library,
    cross_validated,
    relabelled,
)
from treewarden.ppdm_models.tables.read_table import table_of

ONE = table_of({"x": [1.0]})


@pytest.fixture(scope="module")
def wine():
    columns = ["alcohol", "flavanoids", "color_intensity", "proline", "target"]
    return load_wine(as_frame=True).frame[columns]


def fitted(frame, **settings):
    tree = DecisionTreeClassifier(random_state=0, **settings)
    return make_pipeline(StandardScaler(), tree).fit(frame.drop(columns="target"), frame["target"])


def training(frame):
    return Training(frame.drop(columns="target"), frame["target"].to_numpy(), ONE)


def test_a_repair_offers_no_tree_without_a_split_and_says_what_else_can_be_done(wine):
    frame = load_breast_cancer(as_frame=True).frame.iloc[:120]
    model = fitted(frame, max_depth=3)
    repair = tw.repair(model, frame, sensitive="target", regrow_seconds=15, jobs=1)
    assert not repair.is_found
    assert repair.estimator is None
    assert "grow=True" in repair.message
    assert (repair.attempts["leaves"] > 1).all()
    with pytest.raises(tw.FailedError):
        repair.raise_for_verdict()


@pytest.mark.more_cases
def test_a_tree_grown_under_the_policy_is_offered_where_it_is_asked_for(wine):
    model = fitted(wine)
    repair = tw.repair(
        model, wine, sensitive="target", grow=True, regrow_seconds=15, utility="auc", jobs=1
    )
    assert repair.is_found
    assert repair.result.passed
    assert repair.suggestion["policy"] == "standard"
    assert repair.estimator[-1].get_n_leaves() > 2
    best = repair.attempts[repair.attempts["verdict"] == "PASS"].iloc[-1]
    assert best["name"].startswith("PolicyTreeClassifier(policy='standard'")
    assert 0.7 < best["utility"] <= 1
    axes = repair.plot(Figure().subplots())
    assert best["name"] in {text.get_text() for text in axes.texts}
    assert "chosen" in {line.get_label() for line in axes.lines}
    file = tw.audit(repair.model_bytes, wine, sensitive="target", levels=False, jobs=1)
    assert file.passed


def test_utility_is_measured_on_records_that_were_held_out(wine):
    model = fitted(wine)
    score = model.score(wine.drop(columns="target"), wine["target"])
    assert score == 1
    assert cross_validated(model, training(wine), "accuracy") < score
    shuffled = wine.assign(target=np.random.default_rng(0).permutation(wine["target"]))
    guessing = fitted(shuffled)
    assert guessing.score(shuffled.drop(columns="target"), shuffled["target"]) == 1
    assert cross_validated(guessing, training(shuffled), "accuracy") < 0.6
    assert relabelled(guessing, training(shuffled), "accuracy") < 1


def test_each_utility_ranks_a_model_above_a_guess(wine):
    good, guess = fitted(wine), fitted(wine, max_depth=1, min_samples_leaf=80)
    for utility in UTILITIES:
        for measure in (cross_validated, relabelled):
            better, worse = (measure(model, training(wine), utility) for model in (good, guess))
            assert math.isfinite(better), (utility, measure)
            if measure is relabelled or utility != "log-loss":
                assert better > worse, (utility, measure)


def test_a_utility_that_there_is_not_is_refused_by_name(wine):
    with pytest.raises(
        tw.ArgumentError, match="utility: unknown utility 'f1'; use one of accuracy, auc, log-loss"
    ):
        tw.repair(fitted(wine), wine, sensitive="target", utility="f1")


class FakeBooster:
    """Stands for an estimator of XGBoost or LightGBM, with its settings and nothing else."""

    def __init__(self, **settings):
        self.settings = settings

    def get_params(self):
        return self.settings


def fake(package, **settings):
    kind = type("Fake", (FakeBooster,), {"__module__": f"{package}.sklearn"})
    return kind(**settings)


def test_boosted_models_are_fitted_again_with_larger_leaves_before_anything_else():
    for package, size, depth in (
        ("xgboost", "min_child_weight", {"max_depth": 2}),
        ("lightgbm", "min_child_samples", {"max_depth": 2, "num_leaves": 4}),
    ):
        estimator = fake(package, max_depth=3, n_estimators=20, num_leaves=31)
        assert boosting_library(estimator) == package
        found = list(boosted_candidates(estimator, 1000, "model__"))
        assert found[0] == {f"model__{size}": 5}, package
        assert {f"model__{name}": value for name, value in depth.items()} in found, package
        assert {"model__n_estimators": 10} in found, package
        assert max(each.get(f"model__{size}", 0) for each in found) == 100, package
        assert len({repr(each) for each in found}) == len(found), package
    assert boosting_library(fake("catboost")) == ""
    assert boosting_library(DecisionTreeClassifier()) == ""


def test_a_boosted_model_that_nothing_mends_is_told_what_to_train_and_that_repair_rounds():
    package = pytest.importorskip("lightgbm")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"age": draw.integers(20, 70, 80), "kids": draw.integers(0, 4, 80)})
    frame["ill"] = (frame["age"] > 45).astype(int)
    model = package.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1, enable_bundle=False)
    model.fit(frame[["age", "kids"]], frame["ill"])
    settings = {"sensitive": "ill", "jobs": 1, "worlds_budget": 0.5, "levels": False}
    repair = tw.repair(model, frame, regrow_seconds=0, **settings)
    assert not repair.is_found
    assert "much larger min_child_samples" in repair.message
    assert "rounds its leaf values" in repair.message
    assert "without a split" not in repair.message


@pytest.mark.tools
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_boosted_model_is_fitted_again_until_its_file_passes(library):
    package = pytest.importorskip(library)
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"age": draw.integers(20, 70, 600), "kids": draw.integers(0, 4, 600)})
    ill = draw.random(600) < 1 / (1 + np.exp(-0.05 * (frame["age"] - 45)))
    frame["ill"] = ill.astype(int)
    kind = package.XGBClassifier if library == "xgboost" else package.LGBMClassifier
    quiet = {"verbosity": 0} if library == "xgboost" else {"verbose": -1}
    model = kind(n_estimators=20, max_depth=3, n_jobs=1, **quiet)
    model.fit(frame[["age", "kids"]], frame["ill"])
    settings = {"sensitive": "ill", "jobs": 1, "worlds_budget": 2}
    repair = tw.repair(model, frame, regrow_seconds=60, **settings)
    assert repair.is_found
    assert type(repair.estimator) is type(model)
    sizes = {"min_child_weight", "min_child_samples", "max_depth", "n_estimators"}
    assert repair.suggestion.keys() & sizes
    assert repair.estimator_result.passed
    assert tw.audit(repair.model_bytes, frame, levels=False, **settings).passed


def ill_people(seed):
    draw = np.random.default_rng(seed)
    columns = {"age": (20, 70), "kids": (0, 4), "city": (0, 5)}
    frame = pd.DataFrame({name: draw.integers(*ends, 900) for name, ends in columns.items()})
    odds = 0.09 * (frame["age"] - 45) + 0.5 * (frame["kids"] - 1.5)
    frame["ill"] = (draw.random(900) < 1 / (1 + np.exp(-odds))).astype(int)
    return frame


@pytest.mark.parametrize(
    ("library", "size"),
    [("lightgbm", 30), pytest.param("xgboost", 6, marks=pytest.mark.tools)],
)
def test_leaf_values_of_a_model_trained_again_are_rounded_until_its_file_passes(
    library, size, monkeypatch, tmp_path
):
    package = pytest.importorskip(library)
    frame = ill_people(0)
    is_xgboost = library == "xgboost"
    if is_xgboost:
        model = package.XGBClassifier(n_estimators=8, max_depth=7, learning_rate=0.1, n_jobs=1)
        known = {"min_child_weight": size, "n_estimators": 10, "max_depth": 2}
    else:
        model = package.LGBMClassifier(n_estimators=6, max_depth=4, n_jobs=1, verbose=-1)
        known = {"min_child_samples": size, "n_estimators": 10, "max_depth": 2, "num_leaves": 4}
    monkeypatch.setattr(regrowing, "refit_candidates", lambda *_: iter([known]))
    inputs = frame[["age", "kids", "city"]]
    model.fit(inputs, frame["ill"])
    settings = {"sensitive": "ill", "jobs": 1, "worlds_budget": 2, "levels": False}
    repair = tw.repair(model, frame, regrow_seconds=60, **settings)
    assert repair.is_found
    assert repair.suggestion == known
    assert "round leaf values to" in repair.message
    assert repair.result.passed
    refit = type(model)(**{**model.get_params(), **known}).fit(inputs, frame["ill"])
    path = repair.save_model(tmp_path / ("model.json" if is_xgboost else "model.txt"))
    read = package.Booster(model_file=str(path))
    rounded = read.predict(package.DMatrix(inputs) if is_xgboost else inputs)
    shares = repair.estimator.predict_proba(inputs)[:, 1]
    assert np.allclose(shares, rounded, atol=1e-6)
    assert 0 < np.abs(shares - refit.predict_proba(inputs)[:, 1]).max() < 0.2
    page = repair.save(tmp_path / "repair.html").read_text("utf-8")
    assert "A new model meets the policy." in page
    assert ("write [training]" in page) == is_xgboost
    trained = {"eta": 0.1, "lambda": 1, "alpha": 0, "max_delta_step": 0, "subsample": 1}
    stated = {"knowledge": {"training": trained}} if is_xgboost else {}
    assert tw.audit(path, frame, **settings, **stated).passed
    assert not tw.audit(refit, frame, **settings).passed
