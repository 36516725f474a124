"""What a model is worth on records that it was not fitted on: fitted again fold by fold, or relabelled."""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import numpy as np

from treewarden.api.messages import ArgumentError
from treewarden.api.training import Training, final_of
from treewarden.policies.repair.utility import UTILITY_NAMES, UtilityName

Utility = UtilityName
UTILITIES = UTILITY_NAMES
FOLDS = 5


def checked_utility(utility: str) -> Utility:
    """Return the name of a utility.

    Raises:
        ArgumentError: there is none of this name.
    """
    for name in UTILITIES:
        if name == utility:
            return name
    raise ArgumentError(
        "utility", f"unknown utility {utility!r}; use one of {', '.join(UTILITIES)}"
    )


def cross_validated(estimator: Any, training: Training, utility: Utility) -> float:  # noqa: ANN401  # of a library that is no dependency
    """Return the mean utility over five folds, fitted again on the other four each time; more is better.

    It is the accuracy, the area under the curve (of several classes: one against the rest), the log loss below 0, or of
    numbers the share of the variance that is explained. NaN where it cannot be told.
    """
    selection = importlib.import_module("sklearn.model_selection")
    classes = getattr(final_of(estimator)[0], "classes_", None)
    scoring = "r2" if classes is None else _scoring(utility, len(classes))
    folds = _folds(training, is_of_classes=classes is not None)
    if folds is None:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fold may lack a class, or a split that is allowed
        scores = selection.cross_val_score(
            importlib.import_module("sklearn.base").clone(estimator),
            training.inputs,
            training.target,
            cv=folds,
            scoring=scoring,
            error_score=math.nan,
        )
    return float(np.mean(scores))


def relabelled(estimator: Any, training: Training, utility: Utility) -> float:  # noqa: ANN401  # see above
    """Return the same of a tree that cannot be fitted again: its splits stay, and four folds say what leaves predict.

    The splits saw all records, so that this is more than new records would give. NaN where it cannot be told.
    """
    metrics = importlib.import_module("sklearn.metrics")
    final = final_of(estimator)[0]
    folds = _folds(training, is_of_classes=True)
    if folds is None or not hasattr(final, "classes_"):
        return math.nan
    inputs = training.inputs if final is estimator else estimator[:-1].transform(training.inputs)
    leaf, classes = final.apply(inputs), final.classes_
    codes = np.searchsorted(classes, training.target)
    scores = []
    for known, rest in folds.split(np.zeros(len(codes)), codes):
        counts = np.ones((int(leaf.max()) + 1, len(classes))) / len(classes)
        np.add.at(counts, (leaf[known], codes[known]), 1.0)
        shares = (counts / counts.sum(axis=1, keepdims=True))[leaf[rest]]
        scores.append(_score(metrics, utility, codes[rest], shares))
    return float(np.mean(scores))


def _scoring(utility: Utility, classes: int) -> str:
    if utility == "auc":
        return "roc_auc" if classes == 2 else "roc_auc_ovr"
    return "neg_log_loss" if utility == "log-loss" else "accuracy"


def _score(metrics: Any, utility: Utility, codes: Any, shares: Any) -> float:  # noqa: ANN401  # arrays, and a module
    labels = np.arange(shares.shape[1])
    if utility == "accuracy":
        return float((shares.argmax(axis=1) == codes).mean())
    if utility == "log-loss":
        return -float(metrics.log_loss(codes, shares, labels=labels))
    try:
        if len(labels) == 2:
            return float(metrics.roc_auc_score(codes, shares[:, 1]))
        return float(metrics.roc_auc_score(codes, shares, multi_class="ovr", labels=labels))
    except ValueError:  # a class that is not in the fold
        return math.nan


def _folds(training: Training, *, is_of_classes: bool) -> Any | None:  # noqa: ANN401  # see above
    """Return how records are parted, each class alike; None where some class has fewer than two."""
    selection = importlib.import_module("sklearn.model_selection")
    if not is_of_classes:
        return selection.KFold(FOLDS, shuffle=True, random_state=0)
    least = int(np.unique(np.asarray(training.target), return_counts=True)[1].min())
    if least < 2:
        return None
    return selection.StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=0)
