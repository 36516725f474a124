"""What a skops file of a HistGradientBoosting or GradientBoosting estimator holds that no reader of it knows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models.formats.skops._estimator import BINNED, BOOSTED, Fitted
from treewarden.ppdm_models.formats.skops._parts import FilePart
from treewarden.ppdm_models.formats.skops._rewriting import EMPTIED
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

MODULE = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
BINS = EMPTIED
SETTINGS_OF_BOOSTING = SETTINGS | {
    *("loss", "learning_rate", "max_iter", "l2_regularization", "max_bins", "interaction_cst"),
    *("categorical_features", "early_stopping", "scoring", "validation_fraction", "quantile"),
    *("n_iter_no_change", "tol", "do_early_stopping_", "_use_validation_data", "_scorer"),
    *("is_categorical_", "_preprocessor", "_is_categorical_remapped"),
}
SETTINGS_OF_BINS = frozenset(
    (
        *("n_bins", "subsample", "n_threads", "is_categorical", "known_categories"),
        "missing_values_bin_idx_",
    )
)
OF_LOSS = frozenset(
    (
        *("closs", "link", "n_classes", "xp", "device", "approx_hessian", "constant_hessian"),
        *("interval_y_true", "interval_y_pred", "low", "high", "low_inclusive", "high_inclusive"),
        "quantile",
    )
)
LOSSES = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "Cy")
    for name in (
        *("HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError", "AbsoluteError"),
        *("PinballLoss", "HalfPoissonLoss", "HalfGammaLoss", "ExponentialLoss", "HuberLoss"),
    )
)
LINKS = frozenset(
    (
        *("LogitLink", "HalfLogitLink", "IdentityLink", "LogLink", "MultinomialLogit"),
        "Interval",
    )
)
BITSETS = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")
NOT_READ = "which is not supported"


def is_of_bins(part: FilePart, fitted: Fitted) -> bool:
    """Return whether an estimator is one of HistGradientBoosting, of columns without categories."""
    of_bins = fitted.known.get("_bin_mapper")
    if not part.kind.startswith(BINNED) or part.module != MODULE:
        return False
    coder, mapper = (
        fitted.known.get("_preprocessor"),
        {} if of_bins is None else of_bins.attributes(),
    )
    marks = mapper.get("is_categorical_")
    has_coder = coder is not None and coder.loader != "JsonNode"
    return not has_coder and marks is not None and not marks.array().any()


def strange_of_bins(part: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what stands in an estimator that no reader knows; ``part`` is it without what the training left."""
    for name, value in part.attributes().items():
        if name == "_loss":
            yield from strange_of_loss(value)
        elif name == "_label_encoder":
            yield from _of_labels(value, part)
        elif name == "_bin_mapper":
            yield from _of_bins(value, fitted)
        elif name == "_predictors":
            for group in value.items():
                for tree in group.items():
                    yield from _of_tree(tree)
        elif not _is_known(name, value, fitted):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _is_known(name: str, value: FilePart, fitted: Fitted) -> bool:
    if name in SETTINGS_OF_BOOSTING:
        return value.loader == "JsonNode" and is_setting(value.plain())
    if name in NAMES:
        return is_of_model(name, value, fitted)
    if name == "_baseline_prediction" or (name == "random_state" and value.plain() is None):
        return True
    if name == "_sklearn_version":
        return is_version(value.plain())
    outputs = len(fitted.classes) if len(fitted.classes) > 2 else 1
    told = dict.fromkeys(("n_features_in_", "_n_features"), fitted.width)
    told["n_trees_per_iteration_"] = outputs
    return name in told and type(value.plain()) is int and value.plain() == told[name]


def strange_of_loss(loss: FilePart) -> Iterator[Strange]:
    """Yield what a loss holds beside the names of functions and few small numbers."""
    pending = [loss]
    while pending:
        part = pending.pop()
        names = {"sklearn._loss.link": LINKS}.get(part.module, LOSSES)
        is_loss = part.module in ("sklearn._loss.loss", "sklearn._loss._loss", "sklearn._loss.link")
        if part.loader == "JsonNode":
            if not is_setting(part.plain()):
                yield Strange(part.steps, f"a value of the loss, {NOT_READ}")
            continue
        if part.loader not in ("ObjectNode", "LossNode") or not is_loss or part.kind not in names:
            yield Strange(part.steps, f"a loss of a kind {NOT_READ}")
            continue
        reduced = part.raw.get("__reduce__")
        if isinstance(reduced, dict):
            if reduced.keys() != {"args"}:
                yield Strange(
                    (*part.steps, "__reduce__"), "a loss in a form that skops does not write"
                )
            else:
                pending += part.child(reduced["args"], "__reduce__", "args").items()
        content = part.child(part.raw["content"], "content")
        if content.loader == "JsonNode":
            pending.append(content)
            continue
        for name, value in content.attributes().items():
            if name in OF_LOSS:
                pending.append(value)
            else:
                yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _of_labels(encoder: FilePart, root: FilePart) -> Iterator[Strange]:
    """Yield what stands in the encoder of labels beside the classes of the model."""
    if (encoder.module, encoder.kind) != ("sklearn.preprocessing._label", "LabelEncoder"):
        yield Strange(encoder.steps, f"an encoder of a kind {NOT_READ}")
    for name, value in encoder.attributes().items():
        classes = root.attributes().get("classes_")
        is_same = (
            name == "classes_"
            and classes is not None
            and value.array().tolist() == classes.array().tolist()
        )
        if not is_same and not (name == "_sklearn_version" and is_version(value.plain())):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _of_bins(mapper: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what stands in the description of bins beside their ends."""
    if not mapper.module.endswith("_hist_gradient_boosting.binning") or mapper.kind != "_BinMapper":
        yield Strange(mapper.steps, f"bins of a kind {NOT_READ}")
    for name, value in mapper.attributes().items():
        if name in SETTINGS_OF_BINS:
            is_known = value.loader == "JsonNode" and is_setting(value.plain())
        elif name == "is_categorical_":
            is_known = value.array().shape == (fitted.width,)
        elif name == BINS:
            is_known = value.loader == "ListNode" and not value.items()
        elif name == "random_state":
            is_known = value.plain() is None
        else:
            is_known = name == "_sklearn_version" and is_version(value.plain())
        if not is_known:
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _of_tree(tree: FilePart) -> Iterator[Strange]:
    """Yield what stands in a tree beside its nodes, whose bytes are looked at elsewhere."""
    is_tree = tree.module.endswith("_hist_gradient_boosting.predictor")
    if not is_tree or tree.kind != "TreePredictor":
        yield Strange(tree.steps, f"a tree of a kind {NOT_READ}")
    for name, value in tree.attributes().items():
        if name != "nodes" and not (name in BITSETS and value.array().size == 0):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


MODULES = ("sklearn.ensemble._gb", "sklearn.dummy")
SETTINGS_OF_GRADIENT_BOOSTING = SETTINGS | {
    *("loss", "learning_rate", "subsample", "init", "alpha", "validation_fraction"),
    *("n_iter_no_change", "tol"),
}
STRATEGIES = ("prior", "mean", "median", "quantile", "constant")
SETTINGS_OF_START = ("constant", "quantile", "sparse_output_")
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
        elif not _is_known_of_boosting(name, value, fitted, sizes):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _is_known_of_boosting(
    name: str, value: FilePart, fitted: Fitted, sizes: dict[str, int]
) -> bool:
    if name in SETTINGS_OF_GRADIENT_BOOSTING:
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
