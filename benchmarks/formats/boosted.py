"""Writes boosted models of a chosen size, by the real tools where they are installed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

RECORDS, ATTRIBUTES, DEPTH, SEED = 5_000, 20, 9, 0


def write_models(folder: Path, trees: int) -> Iterator[tuple[Path, Path]]:
    """Yield each model's file and a JSON file that holds the same trees: itself where it is JSON."""
    draw = np.random.default_rng(SEED)
    table = draw.normal(size=(RECORDS, ATTRIBUTES))
    target = (table[:, 0] * table[:, 1] + draw.normal(size=RECORDS) > 0).astype(float)
    xgboost = _library("xgboost")
    if xgboost is not None:
        path = folder / "xgboost.json"
        settings = {"max_depth": DEPTH, "objective": "binary:logistic", "nthread": 1}
        data = xgboost.DMatrix(table, label=target, nthread=1)
        booster = xgboost.train(settings, data, trees)
        booster.save_model(path)
        yield path, path
        path = folder / "xgboost-dump.json"
        booster.dump_model(path, with_stats=True, dump_format="json")
        yield path, path
    lightgbm = _library("lightgbm")
    if lightgbm is not None:
        settings = {"objective": "binary", "num_leaves": 255, "verbose": -1, "num_threads": 1}
        booster = lightgbm.train(settings, lightgbm.Dataset(table, target), trees)
        text, dump = folder / "lightgbm.txt", folder / "lightgbm.json"
        text.write_text(booster.model_to_string(), encoding="utf-8")
        dump.write_text(json.dumps(booster.dump_model()), encoding="utf-8")
        yield text, dump
        yield dump, dump


def _library(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
