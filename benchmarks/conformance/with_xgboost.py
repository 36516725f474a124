"""XGBoost's own predictions: the node where each record stops in each tree, and the scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.conformance.library import by_name, completed, library, numbers, two_classes
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, Model

PACKAGE = "xgboost"
FORMATS = ("xgboost_model", "xgboost_dump")


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    """Ask the booster; that of a dump is the model saved beside it."""
    xgboost = library(PACKAGE)
    saved = path if model.format == "xgboost_model" else _saved_beside(path)
    booster = xgboost.Booster(model_file=bytearray(saved.read_bytes()))
    features = by_name(model.features, booster.feature_names)
    table = numbers(features, completed(features, columns)).astype(np.float32)
    kinds = booster.feature_types or ["q" if feature.numeric else "c" for feature in features]
    data = xgboost.DMatrix(
        table,
        feature_names=booster.feature_names,
        feature_types=kinds,
        enable_categorical=True,
        nthread=1,
    )
    stops = booster.predict(data, pred_leaf=True).reshape(len(table), -1).astype(int).astype(str)
    scores = None
    if isinstance(model, Ensemble) and model.link is not Link.UNKNOWN:
        scores = two_classes(booster.predict(data), len(model.classes))
    silent = np.zeros(len(table), dtype=bool)
    return Said(columns, silent, scores=scores, stops=stops, tolerance=2e-5)


def _saved_beside(path: Path) -> Path:
    saved = path.with_name(path.name.partition(".")[0] + ".save_model.json")
    if not saved.exists():
        raise NoToolError("xgboost does not load its dumps, and the saved model is not beside it")
    return saved
