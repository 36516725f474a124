"""Follows the columns of a table through fitted steps of scikit-learn: scalers, encoders, imputers, pipelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.formats.skops._parts import SkopsPart
from treewarden.ppdm_models.formats.skops._table_tests import RISING, Derived, Label
from treewarden.ppdm_models.tree.nodes import Numbers

Columns = Sequence[Derived]

FOLLOWED = (
    "Supported steps: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, KBinsDiscretizer, "
    "OrdinalEncoder, OneHotEncoder, ColumnTransformer, Pipeline and 'passthrough'"
)
MIXES = "combines several columns of the table, so that no test of a tree uses a single column; remove it"
CROSS_FITTED = (
    "is fitted on the target and in folds: the trees were trained on numbers that differ "
    "from its later output, and its encodings publish the mean target of each category; "
    "use an OrdinalEncoder or OneHotEncoder"
)
NEIGHBOURS = (
    "fills gaps from other columns, so that a test of a tree is about several; use a SimpleImputer"
)
BENDS = "keeps the order of values, and trees use only that order; remove the step, which does not change the model"
JOINS = "puts columns of several steps side by side; use a ColumnTransformer"
SELECTS = "chooses columns by their records; fit the trees without it, on the columns that it kept"
COMPUTES = (
    "may compute anything; add its columns to the table and remove the step (a function of NumPy without arguments, "
    "such as np.log1p, is supported)"
)
CUTS = "cuts columns at one number, which trees also do without it; remove the step"
WORDS = (
    "turns one column into many, so no test of a tree uses a column of the table; fit "
    "and publish the trees without it, and audit them with a table of these columns"
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
"""Why a step is not supported and what to do, by its class."""


def followed(step: SkopsPart, columns: Columns) -> Columns:
    """Return what a fitted step makes of its columns.

    Raises:
        TreeFormatError: it is a step, or has a setting, that is not supported; names it.
    """
    if is_identity(step):
        return columns
    if step.kind in NOT_FOLLOWED and not function_of(step):
        raise step.refused(f"a {step.kind} {NOT_FOLLOWED[step.kind]}. {FOLLOWED}")
    if step.kind not in KNOWN:
        problem = f"the pipeline contains a {step.kind[:60]}, which is not supported"
        advice = "compute its columns in the table, then fit and publish the trees without it"
        raise step.refused(f"{problem}; {advice}. {FOLLOWED}")
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


def function_of(step: SkopsPart) -> str:
    """Return the function of NumPy that a step computes of each number, if it keeps their order; else ""."""
    known = step.attributes() if step.kind == "FunctionTransformer" else {}
    function, arguments = known.get("func"), known.get("kw_args")
    if arguments is not None and (arguments.loader == "DictNode" or arguments.plain() is not None):
        return ""
    return function.kind if function is not None and is_of_numpy(function) else ""


def is_of_numpy(function: SkopsPart) -> bool:
    """Return whether a function is one of NumPy's that keep the order of numbers."""
    is_function = function.loader == "FunctionNode" and function.module == "numpy"
    return is_function and function.kind in RISING


def _function(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    return [column.through(function_of(step), 0.0) for column in columns]


STATELESS = frozenset(
    (
        *("Binarizer", "FeatureHasher", "FunctionTransformer", "HashingVectorizer", "Normalizer"),
        "PolynomialFeatures",
    )
)
"""Steps that keep nothing of the records that they were fitted on."""


SCALING = {
    "StandardScaler": ("with_mean", "with_std"),
    "RobustScaler": ("with_centering", "with_scaling"),
}
"""What scalers take from the table; each can be left out."""


def learns_from_table(step: SkopsPart) -> bool:
    """Return whether what a step does hangs on the records that it was fitted on, or may do so."""
    if step.loader == "JsonNode" or step.kind in STATELESS or is_identity(step):
        return False
    known = step.attributes() if step.loader == "ObjectNode" else {}
    if step.kind == "Pipeline":
        return any(learns_from_table(inner) for _, inner in steps_of(step))
    if step.kind == "ColumnTransformer" and "transformers_" in known:
        parts = [entry.items()[1] for entry in known["transformers_"].items()]
        return any(learns_from_table(part) for part in parts)
    if step.kind in SCALING:
        return any(_is_on(known, name) for name in SCALING[step.kind])
    if step.kind == "SimpleImputer":
        return not is_constant_imputer(step)
    if step.kind in ("OneHotEncoder", "OrdinalEncoder") and "categories" in known:
        return known["categories"].loader == "JsonNode"  # "auto": those of the table
    return True


def is_constant_imputer(step: SkopsPart) -> bool:
    """Return whether a step fills gaps with a number that was given to it, and says nothing of where they were."""
    known = step.attributes() if step.kind == "SimpleImputer" else {}
    has_constant = "strategy" in known and known["strategy"].plain() == "constant"
    return has_constant and "add_indicator" in known and known["add_indicator"].plain() is False


def steps_of(pipeline: SkopsPart) -> list[tuple[str, SkopsPart]]:
    """Return the steps of a pipeline, by name.

    Raises:
        TreeFormatError: it has none.
    """
    skops_parts = pipeline.attributes()
    if "steps" not in skops_parts:
        raise pipeline.refused("the pipeline has no steps")
    named = []
    for step in skops_parts["steps"].items():
        pair = step.items()
        if len(pair) != 2:
            raise step.refused("each step must be a name and an estimator")
        named.append((str(pair[0].plain())[:60], pair[1]))
    if not named:
        raise pipeline.refused("the pipeline has no steps")
    return named


def _pipeline(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    for _, inner in steps_of(step):
        columns = followed(inner, columns)
    return columns


def _column_transformer(
    step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns
) -> Columns:
    if "transformers_" not in skops_parts or "_transformer_to_input_indices" not in skops_parts:
        raise step.refused(
            "this ColumnTransformer is not fitted, or was made by scikit-learn before 1.0"
        )
    weights = skops_parts.get("transformer_weights")
    if weights is not None and (weights.loader != "JsonNode" or weights.plain() is not None):
        raise step.refused("this ColumnTransformer has transformer_weights; leave them out")
    places = skops_parts["_transformer_to_input_indices"].attributes()
    found: list[Derived] = []
    for entry in skops_parts["transformers_"].items():
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
        raise part.refused("these are not positions of columns")
    return [int(index) for index in listed]


def _standard(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    wanted = [("-", "mean_", "with_mean"), ("/", "scale_", "with_std")]
    return _scaled(
        step, skops_parts, columns, [each for each in wanted if _is_on(skops_parts, each[2])]
    )


def _robust(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    wanted = [("-", "center_", "with_centering"), ("/", "scale_", "with_scaling")]
    return _scaled(
        step, skops_parts, columns, [each for each in wanted if _is_on(skops_parts, each[2])]
    )


def _min_max(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    scaled = _scaled(step, skops_parts, columns, [("*", "scale_", ""), ("+", "min_", "")])
    if not _is_on(skops_parts, "clip", default=False):
        return scaled
    low, high = (_number(item.plain()) for item in skops_parts["feature_range"].items())
    return _clipped(scaled, low, high)


def _max_abs(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    scaled = _scaled(step, skops_parts, columns, [("/", "scale_", "")])
    return _clipped(scaled, -1.0, 1.0) if _is_on(skops_parts, "clip", default=False) else scaled


def _clipped(columns: Columns, low: float, high: float) -> Columns:
    return [column.through("at least", low).through("at most", high) for column in columns]


def _scaled(
    step: SkopsPart,
    skops_parts: Mapping[str, SkopsPart],
    columns: Columns,
    operations: list[tuple[str, str, str]],
) -> Columns:
    for operation, name, _ in operations:
        operands = _numbers(step, skops_parts, name, len(columns))
        if name == "scale_" and (operands <= 0).any():
            raise ValueError("a scale is not greater than 0")
        pairs = zip(columns, operands.tolist(), strict=True)
        columns = [column.through(operation, operand) for column, operand in pairs]
    return columns


def _numbers(
    step: SkopsPart, skops_parts: Mapping[str, SkopsPart], name: str, width: int
) -> Numbers:
    if name not in skops_parts or skops_parts[name].loader != "NdArrayNode":
        raise ValueError(f"has no {name}; call fit first")
    found = skops_parts[name].array()
    if found.shape != (width,) or found.dtype.kind != "f":
        raise ValueError(f"{name} is not one number for each of {width} columns")
    numbers = found.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} contains something that is not a finite number")
    return numbers


def _imputer(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    if _is_on(skops_parts, "add_indicator", default=False):
        raise ValueError("add_indicator is not supported; leave it out")
    missing = skops_parts["missing_values"].plain() if "missing_values" in skops_parts else math.nan
    if not (missing is None or (isinstance(missing, float) and math.isnan(missing))):
        raise ValueError(f"missing_values={missing!r} is not supported; mark them as missing")
    if "statistics_" not in skops_parts:
        raise ValueError("has no statistics_; call fit first")
    values = skops_parts["statistics_"].array()
    if values.shape != (len(columns),):
        raise ValueError(f"statistics_ is not one value for each of {len(columns)} columns")
    keeps = _is_on(skops_parts, "keep_empty_features", default=False)
    filled = []
    for column, value in zip(columns, values.tolist(), strict=True):
        if _is_missing(value):  # nothing was there to impute from: scikit-learn drops the column
            if keeps:
                raise ValueError("keep_empty_features is not supported; leave empty columns out")
            continue
        filled.append(column.filling(_label(value)))
    return filled


def _bins(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    encoding = _setting(skops_parts, "encode", "onehot")
    if encoding != "ordinal":
        problem = (
            f"encode={str(encoding)[:20]!r} is not supported; set encode='ordinal', because trees need "
            "no other encoding"
        )
        raise ValueError(problem)
    if "bin_edges_" not in skops_parts:
        raise ValueError("has no bin_edges_; call fit first")
    lists = [part.array().reshape(-1) for part in skops_parts["bin_edges_"].items()]
    if len(lists) != len(columns):
        raise ValueError(f"bin_edges_ has {len(lists)} columns, but there are {len(columns)}")
    binned = []
    for column, edges in zip(columns, lists, strict=True):
        numbers = edges.astype(np.float64) if edges.dtype.kind in "fiu" else np.full(1, np.nan)
        if not np.isfinite(numbers).all() or (np.diff(numbers) < 0).any():
            raise ValueError("bin_edges_ contains something that is not an ordered list of ends")
        binned.append(column.through("bin", tuple(numbers[1:-1].tolist())))
    return binned


def _ordinal(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    lenient = _setting(skops_parts, "handle_unknown", "error") == "use_encoded_value"
    other = _number(_setting(skops_parts, "unknown_value", None)) if lenient else math.nan
    absent = _number(_setting(skops_parts, "encoded_missing_value", math.nan))
    found = []
    for column, categories in _categories(skops_parts, columns):
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


def _one_hot(step: SkopsPart, skops_parts: Mapping[str, SkopsPart], columns: Columns) -> Columns:
    strict = _setting(skops_parts, "handle_unknown", "error") == "error"
    dropped = _dropped(skops_parts, len(columns))
    found: list[Derived] = []
    for (column, categories), without in zip(
        _categories(skops_parts, columns), dropped, strict=True
    ):
        named = tuple(_label(value) for value in categories if not _is_missing(value))
        if len(found) + len(categories) > limits.FEATURES:
            raise ValueError(
                f"more than {limits.FEATURES:,} columns, which is the limit; "
                "train with fewer columns"
            )
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


def _dropped(skops_parts: Mapping[str, SkopsPart], width: int) -> list[object]:
    """Return, for each column, the place of the category that has no column of its own."""
    if "drop_idx_" not in skops_parts or skops_parts["drop_idx_"].loader != "NdArrayNode":
        return [None] * width
    found = skops_parts["drop_idx_"].array().reshape(-1).tolist()
    places = [None if place in (None, "None") else int(place) for place in found]
    if len(places) != width:
        raise ValueError(f"drop_idx_ is not one position for each of {width} columns")
    return [*places]


def _categories(
    skops_parts: Mapping[str, SkopsPart], columns: Columns
) -> list[tuple[Derived, Sequence[object]]]:
    """Return each column with its categories, in the encoder's order."""
    if "categories_" not in skops_parts:
        raise ValueError("has no categories_; call fit first")
    if _is_on(skops_parts, "_infrequent_enabled", default=False):
        raise ValueError("min_frequency and max_categories are not supported; leave them out")
    lists = [part.array().reshape(-1).tolist() for part in skops_parts["categories_"].items()]
    if len(lists) != len(columns):
        raise ValueError(f"categories_ has {len(lists)} columns, but there are {len(columns)}")
    for column, categories in zip(columns, lists, strict=True):
        if not column.is_raw:
            raise ValueError("encodes the output of another step; encode the table's own column")
        labels = [_label(value) for value in categories if not _is_missing(value)]
        if len(set(labels)) < len(labels):
            raise ValueError("two categories have the same text; rename one")
        if len({type(label) for label in labels}) > 1:
            raise ValueError("a column has both text and numbers as categories; use one kind")
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


def _setting(skops_parts: Mapping[str, SkopsPart], name: str, default: object) -> object:
    return skops_parts[name].plain() if name in skops_parts else default


def _number(value: object) -> float:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"this is {str(value)[:60]!r}, but a number is expected")


def _is_on(skops_parts: Mapping[str, SkopsPart], name: str, default: bool = True) -> bool:
    return bool(skops_parts[name].plain()) if name in skops_parts else default


def all_followed(steps: Sequence[tuple[str, SkopsPart]], width: int) -> Columns:
    """Return what named steps make of so many columns of a table.

    Raises:
        TreeFormatError: one is not supported; names it.
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
    "FunctionTransformer": _function,
    "OrdinalEncoder": _ordinal,
    "OneHotEncoder": _one_hot,
}
