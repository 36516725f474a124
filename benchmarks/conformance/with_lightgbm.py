"""LightGBM's own predictions: the leaf where each record stops in each tree, and the scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.conformance.library import by_name, completed, library, numbers, two_classes
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, Model

PACKAGE = "lightgbm"
FORMATS = ("lightgbm_text", "lightgbm_dump")


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    if model.format == "lightgbm_dump":
        raise NoToolError("lightgbm does not load its dumps")
    lightgbm = library(PACKAGE)
    booster = lightgbm.Booster(model_str=path.read_text(encoding="utf-8"))
    features = by_name(model.features, booster.feature_name())
    table = numbers(features, completed(features, columns))
    options = {"num_threads": 1, "validate_features": False}
    leaves = booster.predict(table, pred_leaf=True, **options).reshape(len(table), -1)
    scores = None
    if isinstance(model, Ensemble) and model.link is not Link.UNKNOWN:
        scores = two_classes(booster.predict(table, **options), len(model.classes))
    silent = np.zeros(len(table), dtype=bool)
    stops = np.char.add("leaf ", leaves.astype(int).astype(str))
    return Said(columns, silent, scores=scores, stops=stops)
