"""What the fitted steps before an estimator hold in a skops file that no reader of them knows.

Their numbers are leaks of their own, of a kind each; here stands what else there is: settings, names and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.formats.common.origin import PERSON, is_class_name
from treewarden.ppdm_models.formats.skops._parts import FilePart
from treewarden.ppdm_models.formats.skops._pipeline_columns import Columns, followed, is_of_numpy
from treewarden.ppdm_models.formats.skops._unread import (
    Strange,
    is_setting,
    is_size,
    is_version,
)

NOT_READ = "which is not supported"
MODULES = {
    "Pipeline": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose._column_transformer",
    "StandardScaler": "sklearn.preprocessing._data",
    "RobustScaler": "sklearn.preprocessing._data",
    "MinMaxScaler": "sklearn.preprocessing._data",
    "MaxAbsScaler": "sklearn.preprocessing._data",
    "SimpleImputer": "sklearn.impute._base",
    "KBinsDiscretizer": "sklearn.preprocessing._discretization",
    "OrdinalEncoder": "sklearn.preprocessing._encoders",
    "OneHotEncoder": "sklearn.preprocessing._encoders",
    "FunctionTransformer": "sklearn.preprocessing._function_transformer",
}
"""Where scikit-learn has the steps that are followed."""
WORDS = frozenset(
    (
        *("auto", "ignore", "error", "use_encoded_value", "infrequent_if_exist", "warn", "concat"),
        *("mean", "median", "most_frequent", "constant", "first", "if_binary", "ordinal"),
        *("uniform", "quantile", "kmeans", "passthrough", "drop", "averaged_inverted_cdf"),
        *("linear", "default", "pandas", "polars", "one-to-one", "nan"),
    )
)
SETTINGS = frozenset(
    (
        *("with_mean", "with_std", "copy", "clip", "with_centering", "with_scaling"),
        *("unit_variance", "categories", "sparse_output", "handle_unknown", "drop"),
        *("min_frequency", "max_categories", "feature_name_combiner", "unknown_value"),
        *("encoded_missing_value", "missing_values", "add_indicator", "keep_empty_features"),
        *("strategy", "encode", "n_bins", "subsample", "quantile_method", "memory", "verbose"),
        *("transform_input", "sparse_threshold", "n_jobs", "transformer_weights", "remainder"),
        *("verbose_feature_names_out", "force_int_remainder_cols", "validate", "accept_sparse"),
        *("check_inverse", "feature_names_out", "kw_args", "inv_kw_args", "func", "inverse_func"),
        *("indicator_", "_infrequent_enabled", "sparse_output_", "random_state", "sparse"),
        *("drop_idx_", "_drop_idx_after_grouping", "fill_value", "dtype"),
    )
)
"""Settings of the steps, and what they make of them: words that scikit-learn knows, or short numbers."""
FUNCTIONS = ("func", "inverse_func")
RANGES = ("feature_range", "quantile_range")
NUMBERS = frozenset(
    (
        *("mean_", "scale_", "center_", "min_", "max_abs_", "data_min_", "data_max_"),
        *("data_range_", "statistics_", "bin_edges_"),
    )
)
"""What a leak of its own names: numbers of training records, one for each column."""
MOST_CATEGORIES = 20
"""So many categories may stand in a step and in no test of the model; more are a list."""
OWN_WORDS = ("passthrough", "drop")


@dataclass(frozen=True, slots=True)
class StepContext:
    """What is known around the steps: the columns of the table, and the categories that the model itself has."""

    names: tuple[str, ...]
    values: frozenset[str | float]


def strange_of_steps(
    part: FilePart, columns: Columns, context: StepContext, last: tuple[str | int, ...]
) -> Iterator[Strange]:
    """Yield what the steps of a pipeline hold that no reader knows, but for the estimator at ``last``.

    Raises:
        TreeFormatError: a step cannot be followed.
    """
    yield from _of_pipeline(part, columns, context, last)


def _of_pipeline(
    part: FilePart,
    columns: Columns,
    context: StepContext,
    last: tuple[str | int, ...] | None,
    *,
    is_fitted: bool = True,
) -> Iterator[Strange]:
    """Yield what stands in a pipeline and its steps."""
    yield from _of_class(part)
    for name, value in part.attributes().items():
        if name == "steps":
            for pair in value.items():
                label, step = _items(pair, 2)
                yield from _of_label(label, step)
                if step.place == last or (last and step.place == last[: len(step.place)]):
                    if step.place != last:
                        yield from _of_pipeline(step, columns, context, last)
                    continue
                yield from _of_step(step, columns if is_fitted else None, context)
                columns = followed(step, columns) if is_fitted else columns
        elif not _is_known(name, value, None, context):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _of_step(part: FilePart, columns: Columns | None, context: StepContext) -> Iterator[Strange]:
    """Yield what one step holds; ``columns`` are those that it was fitted on, None where it was not fitted."""
    if part.loader == "JsonNode":
        if part.plain() not in (*OWN_WORDS, None):
            yield Strange(part.steps, f"a step {NOT_READ}")
        return
    if part.kind == "Pipeline":
        none: Columns = ()
        is_fitted = columns is not None
        yield from _of_pipeline(part, columns or none, context, None, is_fitted=is_fitted)
        return
    yield from _of_class(part)
    if part.kind == "ColumnTransformer":
        yield from _of_transformer(part, columns, context)
        return
    for name, value in part.attributes().items():
        is_known = _is_known(name, value, columns, context)
        if name in SIZES and columns is not None:
            is_known = _are_sizes(name, value, part.attributes())
        if not is_known:
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _items(part: FilePart, size: int) -> list[FilePart]:
    """Return so many items of a list.

    Raises:
        TreeFormatError: it has more or less.
    """
    items = part.items()
    if len(items) != size:
        raise part.refused(f"contains {len(items)} items, but {size} are expected")
    return items


def _of_class(part: FilePart) -> Iterator[Strange]:
    if part.loader != "ObjectNode" or MODULES.get(part.kind) != part.module:
        yield Strange(part.steps, "a kind of step that is not expected here")


def _of_label(label: FilePart, step: FilePart) -> Iterator[Strange]:
    """Yield that a step is called otherwise than scikit-learn calls it: what its name says nobody could judge."""
    if not _is_usual(label.plain(), step):
        what = "the name of a step that is not the one scikit-learn gives: call it by its class"
        yield Strange(label.steps, what)


def _is_usual(name: object, step: FilePart) -> bool:
    usual = {step.kind.lower(), *OWN_WORDS, *USUAL_NAMES}
    return (
        isinstance(name, str) and name.rstrip("0123456789").rstrip("-_") in usual and len(name) < 40
    )


USUAL_NAMES = frozenset(
    (
        *("remainder", "pre", "prep", "preprocess", "preprocessor", "preprocessing", "scale"),
        *("scaler", "encode", "encoder", "encoding", "ordinal", "onehot", "ohe", "oe", "cat"),
        *("categorical", "categories", "num", "numeric", "numerical", "numbers", "impute"),
        *("imputer", "transform", "transformer", "columns", "features", "clf", "classifier"),
        *("reg", "regressor", "model", "estimator", "tree", "forest", "rf", "gb", "dt", "hgb"),
        *("bins", "binner", "discretize", "pipe", "pipeline", "pass", "keep", "rest", "text"),
        *("std", "minmax", "step", "ct", "one_hot", "one-hot", "simpleimputer"),
    )
)
"""Other names that steps mostly have."""


# A ColumnTransformer: which columns go to which step, told four times over.


def _of_transformer(
    part: FilePart, columns: Columns | None, context: StepContext
) -> Iterator[Strange]:
    known = part.attributes()
    width = len(context.names) if columns is None else len(columns)
    labels = {"remainder"}
    for name in ("transformers", "transformers_"):
        for entry in known[name].items() if name in known else ():
            label, step, choice = _items(entry, 3)
            labels.add(str(label.plain()))
            yield from _of_label(label, step)
            inputs = _inputs(known, label, columns) if name == "transformers_" else None
            yield from _of_step(step, inputs, context)
            yield from _of_choice(choice, width, context)
    for name, value in known.items():
        if name in ("transformers", "transformers_"):
            continue
        if name == "remainder" and value.loader != "JsonNode":
            yield from _of_step(value, None, context)
        elif name == "_columns":
            for choice in value.items():
                yield from _of_choice(choice, width, context)
        elif name == "_remainder":
            label, step, choice = _items(value, 3)
            yield from _of_step(step, None, context)
            yield from _of_choice(choice, width, context)
            if label.plain() != "remainder":
                yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")
        elif name in ("_transformer_to_input_indices", "output_indices_"):
            for called, places in value.attributes().items():
                if called not in labels:
                    yield Strange(places.steps, "the columns of a missing step")
                elif name == "output_indices_":
                    yield from _of_slice(places)
                else:
                    yield from _of_choice(places, width, context)
        elif not _is_known(name, value, columns, context):
            yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")


def _inputs(
    attributes: Mapping[str, FilePart], label: FilePart, columns: Columns | None
) -> Columns | None:
    """Return the columns that a fitted step of a ColumnTransformer sees; the reader has checked their places."""
    if columns is None:
        return None
    places = attributes["_transformer_to_input_indices"].attributes()[str(label.plain())]
    if places.loader == "NdArrayNode":
        return [columns[place] for place in places.array().reshape(-1).tolist()]
    indices = [item.plain() for item in places.items()]
    return [columns[place] for place in indices if isinstance(place, int)]


def _of_choice(part: FilePart, width: int, context: StepContext) -> Iterator[Strange]:
    """Yield that columns are chosen by anything but their names and places, or types of numbers and texts."""
    is_selector = (
        part.kind == "make_column_selector" and part.module == MODULES["ColumnTransformer"]
    )
    if part.loader == "ObjectNode" and is_selector:
        for name, value in part.attributes().items():
            if name not in OF_SELECTOR or not _is_type(value):
                yield Strange(value.steps, f"{name!r:.40}, {NOT_READ}")
        return
    if part.loader == "SliceNode":
        yield from _of_slice(part)
        return
    items = part.items() if part.loader == "ListNode" else [part]
    for item in items:
        chosen = item.plain()
        is_known = False
        if isinstance(chosen, np.ndarray):
            is_known = chosen.dtype.kind in "iub" and chosen.size <= width
            is_known = is_known and bool((chosen < width).all()) and bool((chosen >= -width).all())
        elif isinstance(chosen, str):
            is_known = chosen in context.names
        else:
            is_known = isinstance(chosen, int) and -width <= chosen < width
        if not is_known:
            yield Strange(item.steps, "a choice of missing columns")


OF_SELECTOR = ("pattern", "dtype_include", "dtype_exclude")
TYPES = frozenset(
    (
        *("number", "object", "category", "float64", "int64", "bool", "string", "str", "float"),
        "int",
    )
)


def _is_type(part: FilePart) -> bool:
    if part.loader == "ListNode":
        return all(_is_type(item) for item in part.items())
    if part.loader == "TypeNode":
        return True  # which type it is, is looked at where forms are
    return part.loader == "JsonNode" and (part.plain() is None or str(part.plain()) in TYPES)


def _of_slice(part: FilePart) -> Iterator[Strange]:
    content = part.raw.get("content")
    ends = content if part.loader == "SliceNode" and isinstance(content, dict) else {}
    if ends.keys() != {"start", "stop", "step"}:
        yield Strange(part.steps, "something that is not a part of a row of columns")
    elif not all(end is None or _is_place(end) for end in ends.values()):
        yield Strange(part.steps, "impossible ends of a part of a row")


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value <= 1_000_000


# The attributes of a step: settings, names and sizes, and numbers that a leak names.


def _is_known(name: str, value: FilePart, columns: Columns | None, context: StepContext) -> bool:
    """Return whether an attribute is what scikit-learn keeps under its name, and tells nothing more."""
    if name == "_sklearn_version":
        return is_version(value.plain())
    if name in RANGES and value.loader in ("TupleNode", "ListNode"):
        return len(value.items()) == 2 and all(_is_setting(item) for item in value.items())
    if name == "dtype" and value.loader == "TypeNode":
        return True
    if name in ("_fit_dtype", "_fill_dtype") and value.loader == "DTypeNode":
        array = value.child(value.raw.get("content"), "content").array()
        return array.size == 0 and array.dtype.kind in "biufO"
    if name == "_sklearn_output_config":
        return all(_is_setting(item) for item in value.attributes().values())
    if name == "fill_value" and value.loader == "JsonNode":
        return _is_setting(value) or _is_category(value.plain(), context)
    if name in FUNCTIONS and is_of_numpy(value):
        return True
    if name == "categories" and columns is None and value.loader == "ListNode":
        return _are_lists(value, context)
    if name in SETTINGS and (value.loader == "JsonNode" or columns is None):
        return value.loader == "JsonNode" and _is_setting(value)
    check = OF_FITTED.get(name)
    if check is not None and columns is not None:
        return check(value, columns, context)
    return name in NUMBERS and columns is not None and _is_numbers(value, columns, context)


def _is_setting(part: FilePart) -> bool:
    value = part.plain()
    if part.loader != "JsonNode":
        return False
    return value in WORDS if isinstance(value, str) else is_setting(value)


def _is_numbers(value: FilePart, columns: Columns, context: StepContext) -> bool:
    """Return whether it is one number for each column, or a list of them, or the text that fills a gap."""
    if value.loader == "JsonNode":
        return value.plain() is None
    if value.loader != "NdArrayNode":
        return False
    if value.raw.get("type") == "json":
        items = value.items()
        texts = [item.plain() for item in items if item.loader == "JsonNode"]
        lists = [item for item in items if item.loader == "NdArrayNode"]
        is_whole = len(items) == len(columns) == len(texts) + len(lists)
        is_numeric = all(item.array().dtype.kind in "fiu" for item in lists)
        return is_whole and is_numeric and all(_is_category(text, context) for text in texts)
    array = value.array()
    return array.shape == (len(columns),) and array.dtype.kind in "fiu"


def _is_category(value: object, context: StepContext) -> bool:
    """Return whether a category is one that the model has, or reads like the level of a factor."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int | float | np.number):
        return float(value) in context.values or len(repr(float(value))) <= 12
    text = str(value)
    return text in context.values or (is_class_name(text) and PERSON.search(text) is None)


def _are_categories(value: FilePart, columns: Columns, context: StepContext) -> bool:
    """Return whether each column has categories that the model has, or few others that read like levels."""
    return len(value.items()) == len(columns) and _are_lists(value, context)


def _are_lists(value: FilePart, context: StepContext) -> bool:
    """Return whether lists hold categories that the model has, or few others that read like levels."""
    for part in value.items():
        is_array = part.loader == "NdArrayNode"
        listed = (
            part.array().reshape(-1).tolist()
            if is_array
            else [each.plain() for each in part.items()]
        )
        known = [each in context.values for each in listed]
        if known.count(False) > MOST_CATEGORIES:
            return False
        if not all(_is_category(each, context) for each in listed):
            return False
    return True


def _are_names(value: FilePart, columns: Columns, context: StepContext) -> bool:
    seen = list(map(str, value.array().reshape(-1).tolist()))
    return seen == [context.names[column.source] for column in columns]


def _is_width(value: FilePart, columns: Columns, context: StepContext) -> bool:
    return type(value.plain()) is int and value.plain() == len(columns)


SIZES = {
    "_n_features_outs": "categories_",
    "drop_idx_": "categories_",
    "_drop_idx_after_grouping": "categories_",
    "n_bins_": "bin_edges_",
}
"""What is one whole number for each column, and the lists that it follows from."""


def _are_sizes(name: str, value: FilePart, attributes: Mapping[str, FilePart]) -> bool:
    """Return whether numbers are those of the lists of an encoder, or the place of one of their items each."""
    if value.loader == "JsonNode":
        return value.plain() is None
    lists = attributes.get(SIZES[name])
    if lists is None or value.loader not in ("NdArrayNode", "ListNode"):
        return False
    lengths = [len(part.array()) for part in lists.items()]
    if value.loader == "NdArrayNode" and value.raw.get("type") != "json":
        numbers: Sequence[object] = value.array().reshape(-1).tolist()
    else:
        numbers = [item.plain() for item in value.items()]
    if len(numbers) != len(lengths) or not all(n is None or is_size(n) for n in numbers):
        return False
    pairs = [(n, length) for n, length in zip(numbers, lengths, strict=True) if isinstance(n, int)]
    if name.endswith(("idx_", "grouping")):
        return all(number < length for number, length in pairs)
    spare = (1,) if name == "n_bins_" else (0, 1)  # a category that was dropped has no column
    return len(pairs) == len(numbers) and all(length - n in spare for n, length in pairs)


def _is_empty(value: FilePart, columns: Columns, context: StepContext) -> bool:
    return value.loader == "DictNode" and not value.attributes()


OF_FITTED: Mapping[str, Callable[[FilePart, Columns, StepContext], bool]] = {
    "feature_names_in_": _are_names,
    "n_features_in_": _is_width,
    "categories_": _are_categories,
    "categories": _are_categories,
    "_missing_indices": _is_empty,
}
"""What else a fitted step holds, by its name."""
