"""The models of the study of ensembles: grown by the libraries themselves, written, and read back as published."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.studies.ensembles_data import Data
from treewarden.ppdm_models.files.load import OpenedFile, open_model

Learner = Callable[..., OpenedFile]


def xgboost(data: Data, rounds: int, **more: Any) -> OpenedFile:
    """Grow by XGBoost: depth 6 and a rate of .3, as it does by itself."""
    library = importlib.import_module("xgboost")
    loss = "reg:squarederror" if data.is_number else "binary:logistic"
    settings = {"objective": loss, "nthread": 2, **more}
    matrix = library.DMatrix(data.columns, data.labels)
    return _published(library.train(settings, matrix, rounds).save_model, "model.json")


def lightgbm(data: Data, rounds: int, **more: Any) -> OpenedFile:
    """Grow by LightGBM: 31 leaves and a rate of .1, as it does by itself."""
    library = importlib.import_module("lightgbm")
    settings = {
        "objective": "regression" if data.is_number else "binary",
        "num_threads": 2,
        "verbose": -1,
        "deterministic": True,
        **more,
    }
    grown = library.train(settings, library.Dataset(data.columns, data.labels), rounds)
    return _published(grown.save_model, "model.txt")


def catboost(data: Data, rounds: int, **more: Any) -> OpenedFile:
    """Grow by CatBoost: depth 6, its own rate, as it does by itself."""
    library = importlib.import_module("catboost")
    settings = {"allow_writing_files": False, "verbose": False, "thread_count": 2, **more}
    grown = library.CatBoostClassifier(iterations=rounds, **settings).fit(data.columns, data.labels)
    return _published(lambda path: grown.save_model(path, format="json"), "model.json")


def scikit(kind: str) -> Learner:
    """Return what grows a model of scikit-learn's ``ensemble`` by the name of its class, without its last word."""

    def grow(data: Data, rounds: int, **more: Any) -> OpenedFile:
        module = importlib.import_module("sklearn.ensemble")
        size = "max_iter" if kind.startswith("Hist") else "n_estimators"
        name = kind + ("Regressor" if data.is_number else "Classifier")
        estimator = getattr(module, name)(**{size: rounds, "random_state": 0, **more})
        return _dumped(estimator.fit(data.columns, data.labels))

    return grow


def tree(data: Data, **more: Any) -> OpenedFile:
    """Grow one tree by scikit-learn."""
    grown = importlib.import_module("sklearn.tree").DecisionTreeClassifier(random_state=0, **more)
    return _dumped(grown.fit(data.columns, data.labels))


LEARNERS: dict[str, Learner] = {
    "XGBoost": xgboost,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
    "GradientBoosting": scikit("GradientBoosting"),
    "HistGradientBoosting": scikit("HistGradientBoosting"),
}


def _dumped(estimator: object) -> OpenedFile:
    dump = importlib.import_module("skops.io").dump
    return _published(lambda path: dump(estimator, path), "model.skops")


def _published(write: Callable[[str], object], name: str) -> OpenedFile:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(str(path))
        return open_model(path.read_bytes(), name)
