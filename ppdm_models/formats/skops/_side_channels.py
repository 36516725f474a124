"""Side channels of a fitted estimator, in a file or in memory: steps before its trees, settings, figures of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from treewarden.ppdm_models.formats.common.json import pointer
from treewarden.ppdm_models.formats.sklearn._fitted import (
    seed_leak,
    size_leak,
    spread_leak,
)
from treewarden.ppdm_models.formats.skops._estimator import (
    BAGGED,
    BOOSTED,
    PRIVATE_TREE,
    REWEIGHTED,
    Fitted,
    claims_privacy,
)
from treewarden.ppdm_models.formats.skops._models import arrays_in, parts_of
from treewarden.ppdm_models.formats.skops._parts import LivePart, SkopsPart
from treewarden.ppdm_models.formats.skops._pipeline_columns import (
    function_of,
    is_constant_imputer,
    is_identity,
)
from treewarden.ppdm_models.formats.skops._privacy_claims import residuals_left
from treewarden.ppdm_models.formats.skops._private_estimators import beside_private_trees
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

OF_STEPS = {
    ("MinMaxScaler", "data_min_"): (
        LeakKind.EXTREMES,
        "the smallest and the largest training value of each feature",
    ),
    ("MaxAbsScaler", "max_abs_"): (
        LeakKind.EXTREMES,
        "the training value of each feature that is farthest from 0",
    ),
    ("StandardScaler", "mean_"): (
        LeakKind.AVERAGES,
        "the mean and the variance of each feature over all training records",
    ),
    ("RobustScaler", "center_"): (
        LeakKind.MEDIANS,
        "the median and the quartiles of each feature over all training records",
    ),
    ("QuantileTransformer", "quantiles_"): (
        LeakKind.MEDIANS,
        "many quantiles of each feature: values of training records",
    ),
    ("KBinsDiscretizer", "bin_edges_"): (
        LeakKind.MEDIANS,
        "the ends of bins, which are extremes and often quantiles of the training records",
    ),
    ("SimpleImputer", "statistics_"): (
        LeakKind.MEDIANS,
        "the median, the mean or the most common training value of each feature",
    ),
    ("KNNImputer", "_fit_X"): (LeakKind.RAW_RECORDS, "the whole training table, to impute from"),
    ("OneHotEncoder", "categories_"): (
        LeakKind.CATEGORIES,
        "all values of each column, including values of a single record",
    ),
    ("OrdinalEncoder", "categories_"): (
        LeakKind.CATEGORIES,
        "all values of each column, including values of a single record",
    ),
    ("TargetEncoder", "encodings_"): (
        LeakKind.TARGET_STATISTICS,
        "the mean of the target for each value of each column",
    ),
}
"""What fitted steps hold of the training records, by their class and one of their attributes."""


UNDERSTOOD = {kind for kind, _ in OF_STEPS} | {"Pipeline", "ColumnTransformer", "Normalizer"}


OF_RECORDS = ("oob_decision_function_", "oob_prediction_")


def of_steps(root: SkopsPart, last: SkopsPart) -> Iterator[Leak]:
    """Yield what the steps before the estimator at the end (``last``) publish of the training table."""
    pending = [root]
    while pending:
        part = pending.pop()
        skops_parts = part.attributes() if part.loader == "ObjectNode" else {}
        if part.kind == "Pipeline" and "steps" in skops_parts:
            pending.extend(step.items()[-1] for step in reversed(skops_parts["steps"].items()))
        if part.kind == "ColumnTransformer" and "transformers_" in skops_parts:
            pending.extend(
                entry.items()[1] for entry in reversed(skops_parts["transformers_"].items())
            )
        for (kind, name), (leak, what) in OF_STEPS.items():
            is_learned = not is_constant_imputer(part) and not (
                name == "categories_" and are_given(skops_parts)
            )
            is_held = part.kind == kind and name in skops_parts
            if is_held and is_learned and not _is_none(skops_parts[name]):
                yield Leak(leak, part.place_of(name), what)
        is_working = part.loader == "ObjectNode" and part.place != last.place
        is_known = part.kind in UNDERSTOOD or is_identity(part) or bool(function_of(part))
        if is_working and not is_known:
            what = f"a fitted {part.kind[:60]}: treewarden does not inspect what it stores of the training records"
            yield Leak(LeakKind.UNKNOWN, pointer(part.place), what)


def _is_none(part: SkopsPart) -> bool:
    return part.loader == "JsonNode" and part.plain() is None


def are_given(encoder: Mapping[str, SkopsPart]) -> bool:
    """Return whether an encoder was given its categories: fitting copies them, and reads none from the table."""
    given = encoder.get("categories")
    if given is None or given.loader not in ("ListNode", "TupleNode"):
        return False
    lists = [
        [_listed(part) for part in encoder[name].items()] for name in ("categories", "categories_")
    ]
    return lists[0] == lists[1]


def _listed(part: SkopsPart) -> list[object]:
    is_array = part.loader == "NdArrayNode"
    return (
        part.array().reshape(-1).tolist() if is_array else [each.plain() for each in part.items()]
    )


def of_records(fitted: Fitted) -> Iterator[Leak]:
    """Yield the numbers that a forest keeps for each training record."""
    for name in OF_RECORDS:
        if name in fitted.known and fitted.known[name].loader == "NdArrayNode":
            size = len(fitted.known[name].array())
            what = (
                "the other trees' predictions for each training record, in the order of the table"
            )
            yield Leak(LeakKind.PER_RECORD, fitted.part.place_of(name), what, records=size)


def leaks_of(root: SkopsPart, fitted: Fitted) -> Iterator[Leak]:
    """Yield the leaks: of the steps before the estimator, of its settings, of its tree where it has one."""
    yield from of_steps(root, fitted.part)
    yield from beside_private_trees(root, fitted)
    yield from _of_settings(fitted)
    yield from of_records(fitted)
    yield from _of_bins(fitted)
    if "tree_" in fitted.known:
        yield from _of_tree(fitted)
    if fitted.part.kind.startswith(BOOSTED):
        yield from residuals_left(fitted.part, parts_of(fitted))


def _of_settings(fitted: Fitted) -> Iterator[Leak]:
    where = fitted.part.place_of("random_state")
    for leak in seed_leak(fitted.plain("random_state"), where):
        yield replace(leak, what=f"{leak.what}{_to_withhold(fitted.part)}")
    yield from _of_rounds(fitted)
    if "init_" in fitted.known and fitted.known["init_"].kind.startswith("Dummy"):
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            fitted.part.place_of("init_"),
            "the mean of the target, or the shares of its classes, over all training records",
        )
    if "oob_score_" in fitted.known:
        where = fitted.part.place_of("oob_score_")
        what = "how well the trees that did not see a training record predict it"
        yield Leak(LeakKind.TARGET_STATISTICS, where, what)


def _to_withhold(part: SkopsPart) -> str:
    """Return how to take the seed out of an estimator in memory, in one line of Python; a file is redacted."""
    if not isinstance(part, LivePart):
        return ""
    end = "model[-1]" if part.place else "model"
    return f"; to withhold it before you publish: {end}.random_state = None"


def _of_rounds(fitted: Fitted) -> Iterator[Leak]:
    """Yield what Bagging and AdaBoost keep of the training beside their trees."""
    if (
        "_seeds" in fitted.known
        and fitted.part.kind.startswith(BAGGED)
        and not _draw_without_seed(fitted)
    ):
        what = "the seeds of each tree's sample, from which an adversary can repeat the sampling"
        yield Leak(LeakKind.REPLAY, fitted.part.place_of("_seeds"), what)
    if not fitted.part.kind.startswith(REWEIGHTED):
        return
    for name, what in (
        ("estimator_errors_", "the weighted error of each tree over all training records"),
        (
            "estimator_weights_",
            "the weight of each tree, which follows from its error over all training records",
        ),
    ):
        if name in fitted.known:
            yield Leak(LeakKind.TARGET_STATISTICS, fitted.part.place_of(name), what)


def _draw_without_seed(fitted: Fitted) -> bool:
    """Return whether trees see all records and columns, and are drawn by the operating system whatever their seed."""
    takes_all = fitted.plain("bootstrap", True) is False and fitted.plain("max_samples") in (
        None,
        1.0,
    )
    return takes_all and all(
        part.kind.startswith(PRIVATE_TREE) and claims_privacy(part) for part in parts_of(fitted)
    )


def _of_bins(fitted: Fitted) -> Iterator[Leak]:
    bins, coder = fitted.known.get("_bin_mapper"), fitted.known.get("_preprocessor")
    ends = None if bins is None else bins.attributes().get("bin_thresholds_")
    if bins is not None and (ends is None or ends.loader != "ListNode" or ends.items()):
        what = "the ends of the bins of each feature, which lie between values of training records"
        yield Leak(LeakKind.MEDIANS, bins.place_of("bin_thresholds_"), what)
    if coder is not None and coder.loader == "ObjectNode":
        what = "all values of each column of categories, including values of a single record"
        yield Leak(LeakKind.CATEGORIES, coder.place_of("transformers_"), what)


def _of_tree(fitted: Fitted) -> Iterator[Leak]:
    arrays = arrays_in(fitted.part, fitted.width)
    where = fitted.part.place_of("tree_")
    yield from size_leak(arrays, where)
    yield from spread_leak(arrays, not fitted.classes, where)
