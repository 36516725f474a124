"""Follows the columns of a table through fitted steps of scikit-learn: scalers, encoders, imputers, pipelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.formats.skops._parts import SkopsPart
from treewarden.ppdm_models.formats.skops._table_tests import Derived, Label
from treewarden.ppdm_models.tree.nodes import Numbers

Columns = Sequence[Derived]

FOLLOWED = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, KBinsDiscretizer, OrdinalEncoder, "
    "OneHotEncoder, ColumnTransformer, Pipeline and 'passthrough' are followed back to the columns of the table"
)
MIXES = "combines several columns of the table, so that no test of a tree is about one of them; remove it"
CROSS_FITTED = (
    "is fitted on the target and in folds: the trees were trained on other numbers than it gives afterwards, and its "
    "encodings publish the mean target of each category; use an OrdinalEncoder or OneHotEncoder"
)
NEIGHBOURS = (
    "fills gaps from other columns, so that a test of a tree is about several; use a SimpleImputer"
)
BENDS = (
    "keeps the order of values, and trees use only that order; remove the step, and nothing is lost"
)
JOINS = "puts columns of several steps side by side; use a ColumnTransformer"
SELECTS = "chooses columns by their records; fit the trees without it, on the columns that it kept"
COMPUTES = "may compute anything; add its columns to the table and leave it out"
CUTS = "cuts columns at one number, which trees do by themselves; leave it out"
WORDS = (
    "makes many columns out of one, so that no test of a tree is about a column of the table; fit and publish the "
    "trees without it, and audit them with the table of these columns"
)
NOT_FOLLOWED = {
    **dict.fromkeys(
        ("PCA", "TruncatedSVD", "FastICA", "NMF", "KernelPCA", "IncrementalPCA"), MIXES
    ),
    **dict.fromkeys(("PolynomialFeatures", "SplineTransformer", "Normalizer"), MIXES),
    **dict.fromkeys(
        (
            *("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe"),
            *("GenericUnivariateSelect", "SelectFromModel", "RFE", "RFECV", "VarianceThreshold"),
            "SequentialFeatureSelector",
        ),
        SELECTS,
    ),
    **dict.fromkeys(
        (
            *("CountVectorizer", "TfidfVectorizer", "HashingVectorizer", "DictVectorizer"),
            *("FeatureHasher", "MultiLabelBinarizer"),
        ),
        WORDS,
    ),
    "FeatureUnion": JOINS,
    "FunctionTransformer": COMPUTES,
    "Binarizer": CUTS,
    **dict.fromkeys(("KNNImputer", "IterativeImputer"), NEIGHBOURS),
    **dict.fromkeys(("QuantileTransformer", "PowerTransformer"), BENDS),
    "TargetEncoder": CROSS_FITTED,
}
"""Why a step is not followed and what to do, by its class."""


def followed(step: SkopsPart, columns: Columns) -> Columns:
    """Return what a fitted step makes of its columns.

    Raises:
        TreeFormatError: it is a step, or has a setting, that is not followed; names it.
    """
    if is_identity(step):
        return columns
    if step.kind in NOT_FOLLOWED:
        raise step.refused(f"a {step.kind} {NOT_FOLLOWED[step.kind]}; {FOLLOWED}")
    if step.kind not in KNOWN:
        problem = (
            "comes before the trees; fit and publish them without it, with its columns in the table"
        )
        raise step.refused(f"a {step.kind[:60]} {problem}; {FOLLOWED}")
    skops_parts = step.attributes()
    try:
        return KNOWN[step.kind](step, skops_parts, columns)
    except ValueError as error:
        raise step.refused(f"this {step.kind}: {error}") from error


def is_identity(step: SkopsPart) -> bool:
    """Whether a step leaves its columns as they are."""
    if step.loader == "JsonNode":
        return step.plain() in ("passthrough", None)
    if step.kind != "FunctionTransformer":
        return False
    function = step.attributes().get("func")
    return function is not None and function.loader == "JsonNode" and function.plain() is None


def steps_of(pipeline: SkopsPart) -> list[tuple[str, SkopsPart]]:
    """Return the steps of a pipeline, by name.

    Raises:
        TreeFormatError: it has none.
    """
    skops_parts = pipeline.attributes()
    if "steps" not in skops_parts:
        raise pipeline.refused("a pipeline without steps")
    named = []
    for step in skops_parts["steps"].items():
        pair = step.items()
        if len(pair) != 2:
            raise step.refused("a step is a name and an estimator")
        named.append((str(pair[0].plain())[:60], pair[1]))
    if not named:
        raise pipeline.refused("a pipeline without steps")
    return named


def _pipeline(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    for _, inner in steps_of(step):
        columns = followed(inner, columns)
    return columns


def _column_transformer(
    step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns
) -> Columns:
    if "transformers_" not in known or "_transformer_to_input_indices" not in known:
        raise step.refused("this ColumnTransformer is not fitted, or of a scikit-learn before 1.0")
    weights = known.get("transformer_weights")
    if weights is not None and (weights.loader != "JsonNode" or weights.plain() is not None):
        raise step.refused("this ColumnTransformer has transformer_weights; leave them out")
    places = known["_transformer_to_input_indices"].attributes()
    found: list[Derived] = []
    for entry in known["transformers_"].items():
        name, transformer, *_ = entry.items()
        indices = places_in(places[str(name.plain())], len(columns))
        if not indices or (transformer.loader == "JsonNode" and transformer.plain() == "drop"):
            continue
        found.extend(followed(transformer, [columns[index] for index in indices]))
    return found


def places_in(part: SkopsPart, width: int) -> list[int]:
    """Return the places of columns that a fitted ColumnTransformer gives to one of its steps."""
    if part.loader == "NdArrayNode":
        listed = part.array().reshape(-1).tolist()
    else:
        listed = [item.plain() for item in part.items()]
    if not all(isinstance(index, int) and 0 <= index < width for index in listed):
        raise part.refused("not the places of columns")
    return [int(index) for index in listed]


def _standard(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    wanted = [("-", "mean_", "with_mean"), ("/", "scale_", "with_std")]
    return _scaled(step, known, columns, [each for each in wanted if _is_on(known, each[2])])


def _robust(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    wanted = [("-", "center_", "with_centering"), ("/", "scale_", "with_scaling")]
    return _scaled(step, known, columns, [each for each in wanted if _is_on(known, each[2])])


def _min_max(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    scaled = _scaled(step, known, columns, [("*", "scale_", ""), ("+", "min_", "")])
    if not _is_on(known, "clip", default=False):
        return scaled
    low, high = (_number(item.plain()) for item in known["feature_range"].items())
    return _clipped(scaled, low, high)


def _max_abs(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    scaled = _scaled(step, known, columns, [("/", "scale_", "")])
    return _clipped(scaled, -1.0, 1.0) if _is_on(known, "clip", default=False) else scaled


def _clipped(columns: Columns, low: float, high: float) -> Columns:
    return [column.through("at least", low).through("at most", high) for column in columns]


def _scaled(
    step: SkopsPart,
    known: Mapping[str, SkopsPart],
    columns: Columns,
    wanted: list[tuple[str, str, str]],
) -> Columns:
    for operation, name, _ in wanted:
        operands = _numbers(step, known, name, len(columns))
        if name == "scale_" and (operands <= 0).any():
            raise ValueError("a scale is not above 0")
        pairs = zip(columns, operands.tolist(), strict=True)
        columns = [column.through(operation, operand) for column, operand in pairs]
    return columns


def _numbers(step: SkopsPart, known: Mapping[str, SkopsPart], name: str, width: int) -> Numbers:
    if name not in known or known[name].loader != "NdArrayNode":
        raise ValueError(f"has no {name}; call fit first")
    found = known[name].array()
    if found.shape != (width,) or found.dtype.kind != "f":
        raise ValueError(f"{name} is not one number for each of {width} columns")
    numbers = found.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds something that is no finite number")
    return numbers


def _imputer(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    if _is_on(known, "add_indicator", default=False):
        raise ValueError("add_indicator is not followed; leave it out")
    missing = known["missing_values"].plain() if "missing_values" in known else math.nan
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing))):
        raise ValueError(f"missing_values={missing!r} is not followed; mark them as missing")
    if "statistics_" not in known:
        raise ValueError("has no statistics_; call fit first")
    values = known["statistics_"].array()
    if values.shape != (len(columns),):
        raise ValueError(f"statistics_ is not one value for each of {len(columns)} columns")
    keeps = _is_on(known, "keep_empty_features", default=False)
    filled = []
    for column, value in zip(columns, values.tolist(), strict=True):
        if _is_missing(value):  # nothing was there to impute from: scikit-learn drops the column
            if keeps:
                raise ValueError("keep_empty_features is not followed; leave empty columns out")
            continue
        filled.append(column.filling(_label(value)))
    return filled


def _bins(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    encoding = _setting(known, "encode", "onehot")
    if encoding != "ordinal":
        problem = f"encode={str(encoding)[:20]!r} is not followed; set encode='ordinal', trees can tell its bins apart"
        raise ValueError(problem)
    if "bin_edges_" not in known:
        raise ValueError("has no bin_edges_; call fit first")
    lists = [part.array().reshape(-1) for part in known["bin_edges_"].items()]
    if len(lists) != len(columns):
        raise ValueError(f"bin_edges_ of {len(lists)} columns, and there are {len(columns)}")
    binned = []
    for column, edges in zip(columns, lists, strict=True):
        numbers = edges.astype(np.float64) if edges.dtype.kind in "fiu" else np.full(1, np.nan)
        if not np.isfinite(numbers).all() or (np.diff(numbers) < 0).any():
            raise ValueError("bin_edges_ holds something that is no list of ends in order")
        binned.append(column.through("bin", tuple(numbers[1:-1].tolist())))
    return binned


def _ordinal(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    lenient = _setting(known, "handle_unknown", "error") == "use_encoded_value"
    other = _number(_setting(known, "unknown_value", None)) if lenient else math.nan
    absent = _number(_setting(known, "encoded_missing_value", math.nan))
    found = []
    for column, categories in _categories(known, columns):
        pairs = [(value, float(code)) for code, value in enumerate(categories)]
        named = {_label(value): code for value, code in pairs if not _is_missing(value)}
        is_category = len(named) < len(pairs)
        filled = absent if is_category else other
        if column.filled is not None:
            filled = named.get(column.filled, other)
        found.append(
            Derived(
                column.source,
                codes=tuple(named.items()),
                other=other,
                labels=tuple(named),
                takes_others=lenient,
                filled=None if math.isnan(filled) else filled,
            )
        )
    return found


def _one_hot(step: SkopsPart, known: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    strict = _setting(known, "handle_unknown", "error") == "error"
    dropped = _dropped(known, len(columns))
    found: list[Derived] = []
    for (column, categories), without in zip(_categories(known, columns), dropped, strict=True):
        named = tuple(_label(value) for value in categories if not _is_missing(value))
        if len(found) + len(categories) > limits.FEATURES:
            raise ValueError(f"more than the {limits.FEATURES:,} columns that are read")
        for place, value in enumerate(categories):
            if place == without:
                continue
            is_missing = _is_missing(value)
            filled = float(is_missing)
            if column.filled is not None:
                filled = float(not is_missing and _label(value) == column.filled)
            found.append(
                Derived(
                    column.source,
                    codes=() if is_missing else ((_label(value), 1.0),),
                    other=0.0,
                    labels=named,
                    takes_others=not strict,
                    filled=filled,
                )
            )
    return found


def _dropped(known: Mapping[str, SkopsPart], width: int) -> list[object]:
    """Return, for each column, the place of the category that has no column of its own."""
    if "drop_idx_" not in known or known["drop_idx_"].loader != "NdArrayNode":
        return [None] * width
    found = known["drop_idx_"].array().reshape(-1).tolist()
    places = [None if place in (None, "None") else int(place) for place in found]
    if len(places) != width:
        raise ValueError(f"drop_idx_ is not one place for each of {width} columns")
    return [*places]


def _categories(
    known: Mapping[str, SkopsPart], columns: Columns
) -> list[tuple[Derived, Sequence[object]]]:
    """Return each column with its categories, in the encoder's order."""
    if "categories_" not in known:
        raise ValueError("has no categories_; call fit first")
    if _is_on(known, "_infrequent_enabled", default=False):
        raise ValueError("min_frequency and max_categories are not followed; leave them out")
    lists = [part.array().reshape(-1).tolist() for part in known["categories_"].items()]
    if len(lists) != len(columns):
        raise ValueError(f"categories_ of {len(lists)} columns, and there are {len(columns)}")
    for column, categories in zip(columns, lists, strict=True):
        if not column.is_raw:
            raise ValueError("encodes what another step has changed; encode the table's own column")
        labels = [_label(value) for value in categories if not _is_missing(value)]
        if len(set(labels)) < len(labels):
            raise ValueError("two categories that are written the same")
        if len({type(label) for label in labels}) > 1:
            raise ValueError("a column with both text and numbers as categories")
    return list(zip(columns, lists, strict=True))


def _label(value: object) -> Label:
    """Return a category as the table has it; truth values are text."""
    if isinstance(value, bool | np.bool_):
        return class_label(value)
    if isinstance(value, int | float | np.number):
        return float(value)
    return str(value)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _setting(known: Mapping[str, SkopsPart], name: str, default: object) -> object:
    return known[name].plain() if name in known else default


def _number(value: object) -> float:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{str(value)[:60]!r}, but a number is expected")


def _is_on(known: Mapping[str, SkopsPart], name: str, default: bool = True) -> bool:
    return bool(known[name].plain()) if name in known else default


def all_followed(steps: Sequence[tuple[str, SkopsPart]], width: int) -> Columns:
    """Return what named steps make of so many columns of a table.

    Raises:
        TreeFormatError: one is not followed; names it.
    """
    columns: Columns = [Derived(place) for place in range(width)]
    for name, step in steps:
        try:
            columns = followed(step, columns)
        except TreeFormatError as error:
            raise TreeFormatError(error.where, f"step {name!r}: {error.problem}") from error
    return columns


KNOWN: Mapping[str, Callable[[SkopsPart, Mapping[str, SkopsPart], Columns], Columns]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "SimpleImputer": _imputer,
    "KBinsDiscretizer": _bins,
    "OrdinalEncoder": _ordinal,
    "OneHotEncoder": _one_hot,
}
