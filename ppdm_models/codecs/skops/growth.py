"""What a boosted estimator of scikit-learn tells of how its leaves were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models.codecs.sklearn.arrays import TreeArrays
from treewarden.ppdm_models.codecs.skops.fitted import Fitted
from treewarden.ppdm_models.tree.growth import Fact, GrownTree, Growth, known
from treewarden.ppdm_models.tree.tree import Tree

STOPPED = "some of the records were kept aside to know when to stop (validation_fraction)"
WEIGHED = "its records were given weights"
CLASS_WEIGHT = "its classes were given weights (class_weight)"
CONSTRAINED = "constraints that predictions rise or fall with a column cut its leaf values"
OTHER_IMPURITY = "its nodes hold impurities that are no variances (criterion), which are not used"
VARIANCES = ("friedman_mse", "squared_error", "mse", "deprecated")
"""What criterion says where the impurity of a node is the variance of its residuals, since 1.9 nothing."""

Grown = Sequence[tuple[Tree, TreeArrays]]


def of_binned(fitted: Fitted, grown: Grown, start: tuple[float, ...]) -> Growth:
    """Return what tells how the leaves of a HistGradientBoosting estimator were made."""
    refused = ""
    if _is_set(fitted, "monotonic_cst"):
        refused = CONSTRAINED
    elif _is_set(fitted, "class_weight"):
        refused = CLASS_WEIGHT
    elif keeps_aside(fitted, "do_early_stopping_", default=True):
        refused = STOPPED
    growth = _growth(
        "sklearn_hist", fitted, grown, start, ("learning_rate", "l2_regularization"), refused
    )
    return replace(growth, scored=bool(fitted.plain("do_early_stopping_", default=False)))


def keeps_aside(fitted: Fitted, setting: str, default: object = None) -> bool:
    """Return whether training kept records aside to know when to stop, as a setting says: drawn once, for all trees.

    Where the share to keep aside (``validation_fraction``) is said to be none, it looked at the records of the trees.
    """
    is_asked = fitted.plain(setting, default) not in (None, False)
    return is_asked and fitted.plain("validation_fraction", 0.1) is not None


def of_boosted(fitted: Fitted, grown: Grown, start: tuple[float, ...]) -> Growth:
    """Return what tells how the leaves of a GradientBoosting estimator were made; their values are not shrunk."""
    refused = ""
    if keeps_aside(fitted, "n_iter_no_change"):
        refused = STOPPED
    elif not all(arrays.is_unweighted for _, arrays in grown):
        refused = WEIGHED
    elif fitted.plain("criterion", VARIANCES[0]) not in VARIANCES:
        refused = OTHER_IMPURITY
    is_sampled = fitted.plain("subsample", 1.0) != 1.0
    names = ("learning_rate", *(("subsample",) if is_sampled else ()))
    return _growth("sklearn_boosting", fitted, grown, start, names, refused)


def _growth(
    library: str,
    fitted: Fitted,
    grown: Grown,
    start: tuple[float, ...],
    names: Sequence[str],
    refused: str,
) -> Growth:
    outputs = len(start)
    return Growth(
        library,
        str(fitted.plain("loss", ""))[:60],
        outputs,
        tuple(tuple(range(first, first + outputs)) for first in range(0, len(grown), outputs)),
        tuple(_tree(tree, arrays, place % outputs) for place, (tree, arrays) in enumerate(grown)),
        start,
        facts=_facts(fitted, names),
        refused=refused,
    )


def _tree(tree: Tree, arrays: TreeArrays, output: int) -> GrownTree:
    rows = np.array([int(node.name) for node in tree.nodes], dtype=np.intp)
    values = np.where(arrays.children_left < 0, arrays.value[:, 0], np.nan)
    return GrownTree(
        values[rows],
        output,
        counts=arrays.samples[rows].astype(np.float64),
        second=None if arrays.impurity is None else arrays.impurity[rows],
    )


def _facts(fitted: Fitted, names: Sequence[str]) -> dict[str, Fact]:
    said = {name: fitted.plain(name) for name in names}
    return {
        name: known(value)
        for name, value in said.items()
        if isinstance(value, int | float) and np.isfinite(value)
    }


def _is_set(fitted: Fitted, name: str) -> bool:
    """Whether a setting is there and something: a number, a text, a list or a dictionary."""
    part = fitted.known.get(name)
    return part is not None and (part.loader != "JsonNode" or part.plain() is not None)
