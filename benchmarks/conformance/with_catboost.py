"""CatBoost's own predictions: the scores, which it sums in double precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.conformance.library import by_name, completed, library, two_classes
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, Model

PACKAGE = "catboost"
FORMATS = ("catboost_json",)
COMPUTED = ("target statistic", "hash of ")
KIND = {Link.LOGISTIC: "Probability", Link.SOFTMAX: "Probability", Link.EXP: "Exponent"}


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    catboost, pandas = library(PACKAGE), library("pandas")
    if any(name.startswith(COMPUTED) for name in columns):
        raise NoToolError(
            "tests what catboost computes from a record: statistics of the target, hashes"
        )
    theirs = catboost.CatBoost().load_model(str(path), format="json")
    features = by_name(model.features, None)
    if len(features) == len(theirs.feature_names_):
        order = {feature.name for feature in features}
        if order == set(theirs.feature_names_):
            features = by_name(features, theirs.feature_names_)
    every = completed(features, columns)
    table = pandas.DataFrame({f.name: _values(every[f.name]) for f in features})
    words = [place for place, feature in enumerate(features) if not feature.numeric]
    silent = np.zeros(len(table), dtype=bool)
    for place in words:
        silent |= every[features[place].name].missing  # a category is never missing in CatBoost
    kind = KIND.get(model.link, "RawFormulaVal") if isinstance(model, Ensemble) else "RawFormulaVal"
    pool = catboost.Pool(table, cat_features=words, feature_names=list(theirs.feature_names_))
    scores = theirs.predict(pool, prediction_type=kind, thread_count=1)
    return Said(columns, silent, scores=two_classes(scores, len(model.classes)), tolerance=1e-10)


def _values(column: Column) -> list[str] | np.ndarray:
    if isinstance(column, NumericColumn):
        return column.numbers.astype(np.float32)
    assert isinstance(column, CategoricalColumn)
    names = [*column.categories, ""]
    return [names[code] for code in column.codes]
