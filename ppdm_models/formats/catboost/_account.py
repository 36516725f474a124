"""What a CatBoost file holds beside what the model has: nothing that is not named, once it is redacted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.catboost._growth import (
    ALONE,
    FILES,
    GUID,
    INFO,
    KEPT,
    KEYS,
    LOSS_PARAMS,
    LOSSES,
    METRIC,
    MOST,
    ORDER,
    OUTPUT,
    PARAMS,
    SIGNS,
    TYPES,
    VERSION_INFO,
    WORDS,
    params_of,
    unneeded_settings,
)
from treewarden.ppdm_models.formats.catboost._trees import (
    is_symmetric,
    nodes_of,
    splits_of,
    strange_categories,
    unasked_texts,
)
from treewarden.ppdm_models.formats.common.json import JsonPart, Steps
from treewarden.ppdm_models.formats.common.json_layout import odd_layout
from treewarden.ppdm_models.formats.common.origin import is_moment, is_place
from treewarden.ppdm_models.formats.common.shapes import (
    JUDGED,
    UNKNOWN_VALUE,
    Account,
    Either,
    Entries,
    Items,
    Shape,
    StrangePart,
    is_flag,
    is_label,
    is_number,
    is_text,
    one_of,
)
from treewarden.ppdm_models.tree.side_channels import LeakKind

MOST_DIGITS = 12
"""Digits of a setting: more would be room for something else."""
MOST_TEXT = 1_000_000
PLAIN_FILES = ("", "experiment", "experiment.cbsnapshot", "model")
KEY_ORDER = re.compile(r'\[(?:"[a-z_]{1,20}",?){0,6}\]')
OF_TRAINING = frozenset(
    (
        *("best_iteration", "learn_best_error", "learn_metrics_history"),
        *("test_best_error", "test_metrics_history"),
    )
)


def account_of(document: JsonPart) -> Account:
    """Return what is known of a document that was read, and what stands there that no model has."""
    removable: dict[LeakKind, tuple[Steps, ...]] = {
        LeakKind.TIMESTAMP: ((*INFO, "train_finish_time"),),
        LeakKind.IDENTIFIER: ((*INFO, "model_guid"),),
        LeakKind.PATH: ((*INFO, "output_options"),),
        LeakKind.AVERAGES: ((*INFO, "training"),),
        LeakKind.REPLAY: tuple(unneeded_settings(document)),
        LeakKind.CATEGORIES: tuple(
            ("features_info", "cat_features_hash", place) for place in unasked_texts(document)
        ),
    }
    return Account(_shape(document), tuple(_strange(document)), removable)


def has_statistics(document: JsonPart) -> bool:
    """Return whether a model tests statistics of the target: nobody can say what they hold."""
    has_ctrs = document["features_info"].get("ctrs") is not None
    return has_ctrs or document.get("ctr_data") is not None


def _shape(document: JsonPart) -> Shape:
    feature: dict[str, Shape] = {
        "borders": Items(is_number),
        "feature_id": is_text,
        "feature_index": is_number,
        "feature_name": is_text,
        "flat_feature_index": is_number,
        "has_nans": is_flag,
        "nan_value_treatment": is_text,
    }
    classes: dict[str, Shape] = {
        "class_label_type": one_of("Integer", "String", "Float", "Boolean"),
        "class_names": Items(is_label),
        "class_to_label": Items(is_number),
        "classes_count": is_number,
    }
    info: dict[str, Shape] = {
        "catboost_version_info": one_of(*VERSION_INFO),
        "class_params": Entries(classes),
        "model_guid": _is_like(GUID),
        "output_options": _is_output,
        "params": JUDGED,
        "train_finish_time": lambda value: isinstance(value, str) and is_moment(value),
        "training": _is_training,
    }
    cut = Entries(
        {
            "border": is_number,
            "float_feature_index": is_number,
            "split_index": is_number,
            "split_type": one_of("FloatFeature"),
        }
    )
    one_hot = Entries(
        {
            "cat_feature_index": is_number,
            "split_index": is_number,
            "split_type": one_of("OneHotFeature"),
            "value": is_number,
        }
    )
    split = Either((cut, one_hot))
    tree: dict[str, Shape] = {
        "leaf_values": Items(is_number),
        "leaf_weights": Items(is_number),
        "splits": Items(split),
    }
    whole: dict[str, Shape] = {
        "features_info": Entries(_features_shape(feature)),
        "model_info": Entries(info, frozenset(info) - {"class_params"}),
        "oblivious_trees": Items(Entries(tree)),
        "scale_and_bias": Items(Either((is_number, Items(is_number))), 2),
    }
    if not is_symmetric(document):  # beside symmetric trees nobody reads others
        whole["trees"] = Items(_nested(split))
    return Entries(whole)


def _features_shape(feature: dict[str, Shape]) -> dict[str, Shape]:
    """Return the shape of the features: numbers, categories, and which text each hash of one stands for."""
    names = ("feature_id", "feature_index", "feature_name", "flat_feature_index")
    category: dict[str, Shape] = {name: feature[name] for name in names}
    hashed: dict[str, Shape] = {"hash": is_number, "value": is_label}
    return {
        "cat_features_hash": Items(Entries(hashed)),
        "categorical_features": Items(Entries({**category, "values": Items(is_number)})),
        "float_features": Items(Entries(feature)),
    }


def _nested(split: Shape) -> Entries:
    node: dict[str, Shape] = {
        "split": split,
        "value": Either((is_number, Items(is_number))),
        "weight": is_number,
    }
    tree = Entries(node)
    node |= {"left": tree, "right": tree}  # a tree is in its own shape
    return tree


def _is_like(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _inside(value: object) -> object:
    """Return the document that a text holds, None where it is none, or not as CatBoost writes it."""
    try:
        document: object = json.loads(value) if isinstance(value, str) else None
        written = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    is_plain = isinstance(value, str) and not odd_layout(value.encode("utf-8", "surrogatepass"))
    return document if is_plain and len(written) <= MOST_TEXT else None


def _is_output(value: object) -> bool:
    """Return whether a text holds output options: words, short numbers, and names of files."""
    options = _inside(value)
    return isinstance(options, dict) and all(
        _is_option(name, option)
        for name, held in options.items()
        for option in (held if isinstance(held, list) else [held])
    )


def _is_option(name: str, value: object) -> bool:
    if name in OUTPUT:
        return isinstance(value, str | int) and value in OUTPUT[name]
    is_file = isinstance(value, str) and (value in PLAIN_FILES or is_place(value))
    is_folder = name in ("name", "result_model_file", "train_dir")
    is_name = is_folder and isinstance(value, str) and is_place(f"{value}/")
    return name in FILES and (_is_short(value) or is_file or is_name)


def _is_training(value: object) -> bool:
    """Return whether a text holds how losses and metrics went, and no more."""
    document = _inside(value)
    metrics = document.get("metrics") if isinstance(document, dict) and len(document) == 1 else None
    pending: list[object] = [metrics]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if not all(name in OF_TRAINING or METRIC.fullmatch(name) for name in part):
                return False
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif not is_number(part):
            return False
    return isinstance(metrics, dict)


def _is_short(value: object) -> bool:
    """Return whether a value is none, true, false, or a number of few digits, also one that 32 bits hold."""
    if value is None or isinstance(value, bool):
        return True
    if not isinstance(value, int | float):
        return False
    if isinstance(value, float) and abs(value) < MOST:
        single = np.float32(value)
        return float(single) == value and len(str(single)) <= MOST_DIGITS
    return len(repr(value)) <= MOST_DIGITS or value == 2**64 - 1


def _is_plain_setting(value: object) -> bool:
    """Return whether a setting holds only words of CatBoost and short numbers, however they are nested."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if not all(name in KEYS or (name.isdigit() and len(name) < 6) for name in part):
                return False
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, str):
            is_word = part in WORDS or part in SIGNS or METRIC.fullmatch(part) is not None
            if not is_word and not (is_small(part) or KEY_ORDER.fullmatch(part)):
                return False
        elif not _is_short(part):
            return False
    return True


def is_small(text: str) -> bool:
    """Return whether a text is a number of few digits."""
    return len(text) <= MOST_DIGITS and re.fullmatch(r"-?[0-9.]+(?:e-?[0-9]+)?", text) is not None


def _strange(document: JsonPart) -> Iterator[StrangePart]:
    """Yield what a shape cannot say: settings, numbers that follow from others, and values that no record meets."""
    yield from _strange_settings(document)
    yield from _strange_features(document)
    yield from _strange_classes(document)
    borders = {
        part["feature_index"].whole(): list(part["borders"].numbers())
        for part in document["features_info"].get("float_features") or ()
        if part.get("borders") is not None and part["borders"].is_list
    }
    starts, total = {}, 0
    for index, listed in borders.items():
        starts[index], total = total, total + len(listed)
    asked: dict[int, set[float]] = {index: set() for index in borders}
    for split in splits_of(document):
        if split["split_type"].value != "FloatFeature":
            continue
        index, border = split["float_feature_index"].whole(), split["border"].number()
        listed = borders.get(index, [])
        asked.setdefault(index, set()).add(border)
        number = split.get("split_index")
        if border not in listed:
            yield StrangePart((*split.steps, "border"), "a border that its feature does not list")
        elif number is not None and number.value != starts[index] + listed.index(border):
            yield StrangePart((*split.steps, "split_index"), "not the number of its border")
    for place, (index, listed) in enumerate(borders.items()):
        if len(asked[index]) != len(listed):
            steps = ("features_info", "float_features", place, "borders")
            yield StrangePart(
                steps, "borders at which no tree splits, which are quantiles of the records"
            )
    yield from strange_categories(document, total)
    yield from _strange_leaves(document)


def _strange_settings(document: JsonPart) -> Iterator[StrangePart]:
    params = params_of(document)
    if params is None:
        return
    value = params.value if params.is_object else _inside(params.value)
    groups = value if isinstance(value, dict) else {"": "no settings"}
    whole = None if params.is_object else PARAMS
    labels = _class_names(document)
    for name, group in groups.items():
        inside = group.items() if name in KEPT and isinstance(group, dict) else [("", group)]
        for key, held in inside:
            place = (*PARAMS, name, key) if key else (*PARAMS, name)
            is_names = name == "data_processing_options" and key == "class_names"
            if is_names and held == labels:
                continue
            is_known = _is_plain_setting({name: {key: held} if key else held})
            if not is_known or (
                (key or name) in KEPT.get(name, ALONE)
                and not _is_of_its_type(key or name, held, labels)
            ):
                yield StrangePart(whole or place, UNKNOWN_VALUE, whole or place)


def _is_of_its_type(key: str, value: object, labels: object) -> bool:
    """Return whether a setting that stays is a number, or of the type that it has if it is none."""
    if key == "class_weights" and isinstance(value, list):
        size = len(labels) if isinstance(labels, list) else 0
        return len(value) in (0, size) and all(map(is_number, value))
    if key == "params":
        return _is_of_loss(value)
    if key == "type":
        return isinstance(value, str) and value in LOSSES
    if TYPES.get(key) is str:
        return isinstance(value, str) and value in WORDS
    if key == "iterations":
        return type(value) is int and 0 < value <= limits.TREES
    expected = TYPES.get(key)
    return is_number(value) if expected is None else type(value) is expected


def _is_of_loss(value: object) -> bool:
    """Return whether these are numbers that a loss has, and in which order they were given."""
    if not isinstance(value, dict) or not value.keys() <= LOSS_PARAMS | {ORDER}:
        return False
    numbers = {key: held for key, held in value.items() if key != ORDER}
    if not all(isinstance(held, str) and is_small(held) for held in numbers.values()):
        return False
    order = _inside(value[ORDER]) if ORDER in value else list(numbers)
    return isinstance(order, list) and sorted(map(str, order)) == sorted(numbers)


def _class_names(document: JsonPart) -> object:
    info = document.get("model_info")
    classes = None if info is None else info.get("class_params")
    names = None if classes is None else classes.get("class_names")
    return None if names is None else names.value


def _strange_features(document: JsonPart) -> Iterator[StrangePart]:
    info = document["features_info"]
    kinds = [list(info.get(name) or ()) for name in ("float_features", "categorical_features")]
    flat = [part["flat_feature_index"].value for parts in kinds for part in parts]
    is_whole = sorted(map(str, flat)) == sorted(map(str, range(len(flat))))
    for place, part in ((place, part) for parts in kinds for place, part in enumerate(parts)):
        if part["feature_index"].value != place:
            yield StrangePart(part["feature_index"].steps, "not the place of the feature")
        if not is_whole:
            steps = part["flat_feature_index"].steps
            yield StrangePart(steps, "not the place of the feature among all")
        names = {str(part[key].value) for key in ("feature_id", "feature_name") if part.get(key)}
        number = part["flat_feature_index"].value
        if len(names - {"", str(number)}) > 1:
            yield StrangePart((*part.steps, "feature_id"), "a second name")
        has_gaps, treatment = part.get("has_nans"), part.get("nan_value_treatment")
        says = treatment is not None and treatment.value != "AsIs"
        if has_gaps is not None and has_gaps.value is not says:
            yield StrangePart(has_gaps.steps, "whether a value was missing in training")


def _strange_classes(document: JsonPart) -> Iterator[StrangePart]:
    info = document.get("model_info")
    classes = None if info is None else info.get("class_params")
    if classes is None:
        return
    names = classes.get("class_names")
    size = 0 if names is None else len(names)
    numbers, count = classes.get("class_to_label"), classes.get("classes_count")
    if numbers is not None and numbers.value != list(range(len(numbers))):
        yield StrangePart(numbers.steps, "not the numbers of the classes")
    elif numbers is not None and len(numbers) != size:
        yield StrangePart(numbers.steps, "not as many numbers as there are classes")
    if count is not None and count.value not in (0, size):
        yield StrangePart(count.steps, "not the number of the classes")


def _strange_leaves(document: JsonPart) -> Iterator[StrangePart]:
    """Yield leaves that no record of the training reached, where they hold a number all the same."""
    what = "a number in a leaf that no record reached"
    for tree in document.get("oblivious_trees") or ():
        weights = tree.get("leaf_weights")
        if weights is None or not len(weights):
            continue
        values = tree["leaf_values"].numbers()
        width = len(values) // len(weights)
        for leaf, weight in enumerate(weights):
            if weight.value == 0 and any(values[leaf * width : (leaf + 1) * width]):
                yield StrangePart((*tree.steps, "leaf_values"), what)
    for node in nodes_of(document):
        records, value = node.get("weight"), node.get("value")
        is_empty = records is not None and records.value == 0
        if is_empty and value is not None and any(value.numbers()):
            yield StrangePart(value.steps, what)
        is_inner = node.get("split") is not None
        for key in ("value", "weight") if is_inner else ("left", "right"):
            if node.get(key) is not None:
                yield StrangePart(
                    (*node.steps, key), "a part of a leaf at a split, or of a split at a leaf"
                )
