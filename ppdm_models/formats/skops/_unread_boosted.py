"""What a skops file of a GradientBoosting estimator holds that no reader of it knows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models.formats.skops._estimator import BOOSTED, Fitted
from treewarden.ppdm_models.formats.skops._parts import FilePart
from treewarden.ppdm_models.formats.skops._unread import (
    NAMES,
    SETTINGS,
    Strange,
    is_of_model,
    is_setting,
    is_size,
    is_version,
    strange_of_trees,
)
from treewarden.ppdm_models.formats.skops._unread_binned import strange_of_loss

MODULES = ("sklearn.ensemble._gb", "sklearn.dummy")
SETTINGS_OF_BOOSTING = SETTINGS | {
    *("loss", "learning_rate", "subsample", "init", "alpha", "validation_fraction"),
    *("n_iter_no_change", "tol"),
}
STRATEGIES = ("prior", "mean", "median", "quantile", "constant")
SETTINGS_OF_START = ("constant", "quantile", "sparse_output_")
NOT_READ = "which is not read"
SHARES_SLACK = 1e-12
"""By how much the shares of all classes may miss 1: each is a count by the same total, rounded."""


def is_of_boosting(part: FilePart) -> bool:
    """Return whether an estimator is one of GradientBoosting, as scikit-learn has it."""
    return part.module == MODULES[0] and part.kind.startswith(BOOSTED)


def strange_of_boosting(part: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what stands in an estimator that no reader knows; ``part`` is it without what the training left."""
    rounds = part.attributes()["estimators_"].raw.get("content")
    outputs = len(fitted.classes) if len(fitted.classes) > 2 else 1
    sizes = {
        "n_features_in_": fitted.width,
        "n_classes_": len(fitted.classes) or 1,
        "n_trees_per_iteration_": outputs,
        "n_estimators_": len(rounds) if isinstance(rounds, list) else 0,
    }
    for name, value in part.attributes().items():
        if name == "_loss":
            yield from strange_of_loss(value)
        elif name == "init_":
            yield from _of_start(value, fitted)
        elif name == "estimators_":
            for tree in value.items():  # trees of numbers, whatever the model predicts
                yield from strange_of_trees(tree, replace(fitted, classes=()), is_root=False)
        elif not _is_known(name, value, fitted, sizes):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _is_known(name: str, value: FilePart, fitted: Fitted, sizes: dict[str, int]) -> bool:
    if name in SETTINGS_OF_BOOSTING:
        return value.loader == "JsonNode" and is_setting(value.plain())
    if name in NAMES:
        return is_of_model(name, value, fitted)
    if name == "random_state":
        return value.loader == "JsonNode" and value.plain() is None
    if name == "oob_score_":  # a leak of its own
        return isinstance(value.plain(), float)
    if name == "max_features_":
        return is_size(value.plain())
    if name == "_sklearn_version":
        return is_version(value.plain())
    return name in sizes and type(value.plain()) is int and value.plain() == sizes[name]


def _of_start(part: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what stands in the constant that boosting starts from beside that constant, which the model has."""
    if part.loader == "JsonNode":
        return  # "zero": the reader refuses any other
    if part.module != MODULES[1] or part.kind not in ("DummyClassifier", "DummyRegressor"):
        yield Strange(part.steps, f"a start of a kind {NOT_READ}")
    for name, value in part.attributes().items():
        if not _is_of_start(name, value, fitted):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _is_of_start(name: str, value: FilePart, fitted: Fitted) -> bool:
    if name in ("strategy", "_strategy"):
        return value.loader == "JsonNode" and value.plain() in STRATEGIES
    if name in SETTINGS_OF_START:
        return value.loader == "JsonNode" and is_setting(value.plain())
    if name == "random_state":
        return value.loader == "JsonNode" and value.plain() is None
    if name == "classes_":
        places = list(range(len(fitted.classes)))  # boosting numbers its classes
        own = fitted.known["classes_"].array().tolist() if fitted.classes else []
        return bool(fitted.classes) and value.array().tolist() in (places, own)
    if name == "class_prior_":  # of two classes the model has the second, and none has their sum
        shares = value.array().reshape(-1).tolist()
        total = sum(share for share in shares if isinstance(share, float))
        return bool(fitted.classes) and math.isclose(total, 1.0, abs_tol=SHARES_SLACK)
    if name == "constant_":
        return not fitted.classes
    if name == "_sklearn_version":
        return is_version(value.plain())
    told = {
        "n_features_in_": fitted.width,
        "n_outputs_": 1,
        "n_classes_": len(fitted.classes) or 1,
    }
    return name in told and type(value.plain()) is int and value.plain() == told[name]
