"""What a skops file gives away beside its trees: the fitted steps before them, and numbers for single records."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.json import pointer
from treewarden.ppdm_models.codecs.skops.fitted import Fitted
from treewarden.ppdm_models.codecs.skops.following import is_identity
from treewarden.ppdm_models.codecs.skops.part import Part
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

OF_STEPS = {
    ("MinMaxScaler", "data_min_"): (
        LeakKind.EXTREMES,
        "the least and the largest training value of each feature",
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
        "the median, the mean or the commonest training value of each feature",
    ),
    ("KNNImputer", "_fit_X"): (LeakKind.RAW_RECORDS, "the whole training table, to impute from"),
    ("OneHotEncoder", "categories_"): (
        LeakKind.CATEGORIES,
        "all values of each column, those of one record too",
    ),
    ("OrdinalEncoder", "categories_"): (
        LeakKind.CATEGORIES,
        "all values of each column, those of one record too",
    ),
    ("TargetEncoder", "encodings_"): (
        LeakKind.TARGET_STATISTICS,
        "the mean of the target for each value of each column",
    ),
}
"""What fitted steps hold of the training records, by their class and one of their attributes."""
UNDERSTOOD = {kind for kind, _ in OF_STEPS} | {"Pipeline", "ColumnTransformer", "Normalizer"}
OF_RECORDS = ("oob_decision_function_", "oob_prediction_")


def of_steps(root: Part, last: Part) -> Iterator[Leak]:
    """Yield what the steps before the estimator at the end (``last``) publish of the training table."""
    pending = [root]
    while pending:
        part = pending.pop()
        known = part.attributes() if part.loader == "ObjectNode" else {}
        if part.kind == "Pipeline" and "steps" in known:
            pending.extend(step.items()[-1] for step in reversed(known["steps"].items()))
        if part.kind == "ColumnTransformer" and "transformers_" in known:
            pending.extend(entry.items()[1] for entry in reversed(known["transformers_"].items()))
        for (kind, name), (leak, what) in OF_STEPS.items():
            if part.kind == kind and name in known:
                yield Leak(leak, part.place_of(name), what)
        is_working = part.loader == "ObjectNode" and part.place != last.place
        if is_working and part.kind not in UNDERSTOOD and not is_identity(part):
            what = (
                f"a fitted {part.kind[:60]}: nobody looked at what it keeps of the training records"
            )
            yield Leak(LeakKind.UNKNOWN, pointer(part.place), what)


def of_records(fitted: Fitted) -> Iterator[Leak]:
    """Yield the numbers that a forest keeps for each training record."""
    for name in OF_RECORDS:
        if name in fitted.known and fitted.known[name].loader == "NdArrayNode":
            size = len(fitted.known[name].array())
            what = "what the other trees say of each training record, in the order of the table"
            yield Leak(LeakKind.PER_RECORD, fitted.part.place_of(name), what, records=size)
