"""Boosted models on random small tables, by the libraries themselves and with settings drawn at random."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import Model

Settings = dict[str, Any]


@dataclass(frozen=True)
class Lesson:
    """A table, the class of each record by number, how many classes there are, and whether records may weigh more."""

    table: pd.DataFrame
    labels: np.ndarray
    classes: int
    may_weigh: bool = True


@dataclass(frozen=True)
class Published:
    """A model as its file tells of it, the settings it was grown with, and whether any of them veils its sums."""

    model: Model
    settings: Settings
    is_plain: bool


class NotGrownError(Exception):
    """A library grows no model with these settings on this table."""


def lesson(draw: np.random.Generator) -> Lesson:
    """Return a table of few values, so that some records are alike, with labels that it says something of."""
    rows, classes = int(draw.integers(20, 120)), int(draw.choice([2, 2, 3]))
    table = draw.integers(0, int(draw.choice([3, 6, 12])), (rows, 3)).astype(float)
    score = table[:, 0] + 2 * table[:, 1] + draw.normal(0, 4, rows)
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes + 0.07))
    labels[:classes] = np.arange(classes)
    return Lesson(pd.DataFrame(table, columns=["a", "b", "c"]), labels, classes)


def xgboost(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by XGBoost, and read what ``save_model`` writes."""
    library = importlib.import_module("xgboost")
    settings: Settings = {
        "objective": "binary:logistic" if given.classes == 2 else "multi:softprob",
        "eta": _rate(draw),
        "lambda": float(draw.choice([0.0, 1.0, 2.5, 0.731])),
        "max_depth": int(draw.integers(1, 7)),
        "min_child_weight": float(draw.choice([0.0, 1.0, 3.0])),
        "tree_method": str(draw.choice(["exact", "hist", "approx"])),
        "nthread": 1,
        "verbosity": 0,
    }
    veils = [
        {"alpha": 0.5},
        {"max_delta_step": 0.4},
        {"subsample": 0.7},
        {"scale_pos_weight": 3.0},
        {"booster": "dart", "rate_drop": 0.5},
        {"gamma": 0.5},
        {"num_parallel_tree": 2},
        {"monotone_constraints": "(1,1,0)"},
    ]
    if given.classes == 2:
        settings |= draw.choice([{}, {}, {"base_score": 0.5}])
    else:
        settings["num_class"] = given.classes
    is_plain = _veiled(settings, veils, draw)
    weights = _weights(given, draw)
    data = library.DMatrix(given.table, given.labels, weight=weights)
    booster = library.train(settings, data, int(draw.integers(1, 10)))
    model = open_model(bytes(booster.save_raw("json")), "model.json").model
    return Published(model, settings, is_plain and weights is None)


def lightgbm(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by LightGBM, and read the text that it writes."""
    library = importlib.import_module("lightgbm")
    settings: Settings = {
        "objective": "binary",
        "learning_rate": _rate(draw),
        "lambda_l2": float(draw.choice([0.0, 0.0, 1.0, 0.731])),
        "num_leaves": int(draw.integers(2, 12)),
        "min_data_in_leaf": int(draw.choice([1, 3, 10])),
        "min_sum_hessian_in_leaf": float(draw.choice([0.0, 1e-3, 1.0])),
        "min_data_in_bin": 1,
        "num_threads": 1,
        "verbose": -1,
        "boost_from_average": bool(draw.random() < 0.8),
    }
    veils = [
        {"lambda_l1": 0.5},
        {"max_delta_step": 0.4},
        {"bagging_fraction": 0.7, "bagging_freq": 1},
        {"boosting": "dart"},
        {"data_sample_strategy": "goss"},
        {"path_smooth": 1.0},
        {"extra_trees": True},
        {"use_quantized_grad": True},
        {"monotone_constraints": [1, 1, 0]},
        {"linear_tree": True},
    ]
    if given.classes == 2:
        veils += [{"scale_pos_weight": 3.0}, {"is_unbalance": True}, {"sigmoid": 2.5}]
    else:
        objective = str(draw.choice(["multiclass", "multiclassova"]))
        settings |= {"objective": objective, "num_class": given.classes}
    is_plain = _veiled(settings, veils, draw)
    weights = _weights(given, draw)
    if not given.may_weigh:  # who is a member is told by leaf values only then
        settings["enable_bundle"] = bool(draw.random() < 0.5)
    quiet = {"verbose": -1, "min_data_in_bin": 1, "linear_tree": "linear_tree" in settings}
    quiet["enable_bundle"] = settings.get("enable_bundle", True)
    data = library.Dataset(given.table, label=given.labels, weight=weights, params=quiet)
    try:
        booster = library.train(settings, data, int(draw.integers(1, 10)))
    except library.basic.LightGBMError as error:
        raise NotGrownError(str(error)) from error
    model = open_model(booster.model_to_string().encode(), "model.txt").model
    return Published(model, settings, is_plain and weights is None)


def gradient_boosting(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by scikit-learn's GradientBoosting; its attributes are read."""
    settings: Settings = {
        "learning_rate": _rate(draw),
        "n_estimators": int(draw.integers(1, 10)),
        "max_depth": int(draw.integers(1, 6)),
        "min_samples_leaf": int(draw.choice([1, 3, 10])),
        "random_state": 0,
    }
    veils = [{"subsample": 0.7}, {"init": "zero"}, {"n_iter_no_change": 2}, {"max_features": 0.5}]
    return _sklearn("GradientBoostingClassifier", settings, veils, given, draw)


def hist_gradient_boosting(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by scikit-learn's HistGradientBoosting; its attributes are read."""
    settings: Settings = {
        "learning_rate": _rate(draw),
        "l2_regularization": float(draw.choice([0.0, 0.0, 1.0, 0.731])),
        "max_iter": int(draw.integers(1, 10)),
        "max_leaf_nodes": int(draw.integers(2, 12)),
        "min_samples_leaf": int(draw.choice([1, 3, 10])),
        "random_state": 0,
    }
    veils = [
        {"early_stopping": True},
        {"class_weight": "balanced"},
        {"monotonic_cst": [1, 0, 0]} if given.classes == 2 else {"max_bins": 4},
        {"max_features": 0.5},
    ]
    return _sklearn("HistGradientBoostingClassifier", settings, veils, given, draw)


def catboost(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by CatBoost, and read the JSON that it writes."""
    library = importlib.import_module("catboost")
    settings: Settings = {
        "loss_function": "Logloss" if given.classes == 2 else "MultiClass",
        "learning_rate": _rate(draw),
        "l2_leaf_reg": float(draw.choice([0.0, 1.0, 3.0, 0.731])),
        "iterations": int(draw.integers(1, 10)),
        "depth": int(draw.integers(1, 5)),
        "boosting_type": str(draw.choice(["Plain", "Ordered"])),
        "leaf_estimation_method": str(draw.choice(["Newton", "Gradient"])),
        "leaf_estimation_iterations": int(draw.choice([1, 1, 10])),
        "allow_writing_files": False,
        "thread_count": 1,
        "verbose": False,
    }
    veils = [
        {"bootstrap_type": "Bernoulli", "subsample": 0.5},
        {"bootstrap_type": "Bayesian"},
        {"bootstrap_type": "MVS", "subsample": 0.8},
        {"rsm": 0.5},
        {"grow_policy": "Depthwise", "boosting_type": "Plain"},
        {"grow_policy": "Lossguide", "boosting_type": "Plain"},
        {"leaf_estimation_iterations": 5, "leaf_estimation_backtracking": "No"},
        {"leaf_estimation_iterations": 3},
        {"auto_class_weights": "Balanced"},
        {"langevin": True},
        {"model_shrink_rate": 0.2},
        {"monotone_constraints": [1, 0, 0], "boosting_type": "Plain"},
    ]
    if given.classes == 2:
        veils += [{"boost_from_average": True}, {"loss_function": "CrossEntropy"}]
    is_plain = _veiled(settings, veils, draw)
    weights = _weights(given, draw)
    fitted = library.CatBoostClassifier(**settings)
    try:
        fitted.fit(given.table, given.labels, sample_weight=weights)
    except library.CatBoostError as error:
        raise NotGrownError(str(error)) from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        fitted.save_model(str(path), format="json")
        model = open_model(path.read_bytes(), path.name).model
    return Published(model, settings, is_plain and weights is None)


def spark(given: Lesson, draw: np.random.Generator) -> Published:
    """Grow by Spark (which needs Java), and read the folder that it saves."""
    if given.classes > 2:
        raise NotGrownError("it boosts two classes only")
    sql, ml = (importlib.import_module(f"pyspark.{name}") for name in ("sql", "ml"))
    made_of = importlib.import_module("pyspark.ml.feature").VectorAssembler
    learner = importlib.import_module("pyspark.ml.classification").GBTClassifier
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false")
    session = session.config("spark.log.level", "OFF").getOrCreate()
    settings: Settings = {
        "stepSize": _rate(draw),
        "maxIter": int(draw.integers(1, 6)),
        "maxDepth": int(draw.integers(1, 4)),
        "minInstancesPerNode": int(draw.choice([1, 3, 10])),
        "seed": 0,
    }
    veils = [{"subsamplingRate": 0.7}, {"featureSubsetStrategy": "onethird"}, {"maxBins": 4}]
    is_plain = _veiled(settings, veils, draw)
    frame = given.table.assign(label=given.labels.astype(float))
    weights = _weights(given, draw)
    if weights is not None:
        frame, settings = frame.assign(heavy=weights), {**settings, "weightCol": "heavy"}
    vector = made_of(inputCols=list(given.table.columns), outputCol="features")
    rows = session.createDataFrame(frame.to_dict("records"))
    fitted = ml.Pipeline(stages=[vector, learner(**settings)]).fit(rows)
    with tempfile.TemporaryDirectory() as folder:
        fitted.write().overwrite().save(f"{folder}/model")
        packed = Path(shutil.make_archive(f"{folder}/packed", "zip", f"{folder}/model"))
        model = open_model(packed.read_bytes(), packed.name).model
    return Published(model, settings, is_plain and weights is None)


LEARNERS: dict[str, tuple[str, Callable[[Lesson, np.random.Generator], Published]]] = {
    "XGBoost": ("xgboost", xgboost),
    "LightGBM": ("lightgbm", lightgbm),
    "scikit-learn GB": ("sklearn", gradient_boosting),
    "scikit-learn HGB": ("sklearn", hist_gradient_boosting),
    "CatBoost": ("catboost", catboost),
    "Spark": ("pyspark", spark),
}


def is_there(name: str) -> bool:
    """Whether the library of a learner is installed, and what it runs on."""
    if name == "Spark" and shutil.which("java") is None:
        return False
    return importlib.util.find_spec(LEARNERS[name][0]) is not None


def _sklearn(
    name: str,
    settings: Settings,
    veils: list[Settings],
    given: Lesson,
    draw: np.random.Generator,
) -> Published:
    library = importlib.import_module("sklearn.ensemble")
    is_plain = _veiled(settings, veils, draw)
    weights = _weights(given, draw)
    fitted = getattr(library, name)(**settings)
    fitted.fit(given.table, given.labels, sample_weight=weights)
    return Published(open_fitted(fitted).model, settings, is_plain and weights is None)


def _rate(draw: np.random.Generator) -> float:
    return float(draw.choice([0.3, 0.1, 1.0, 0.0873645123]))


def _veiled(settings: Settings, veils: list[Settings], draw: np.random.Generator) -> bool:
    """Add something that veils the sums to one model in three; return whether nothing was."""
    if draw.random() > 1 / 3:
        return True
    settings |= veils[int(draw.integers(len(veils)))]
    return False


def _weights(given: Lesson, draw: np.random.Generator) -> np.ndarray | None:
    """Return weights of records, for one model in ten."""
    size = len(given.labels)
    weights = draw.choice([0.5, 1.0, 2.0], size) if draw.random() < 0.1 else None
    return weights if given.may_weigh else None
