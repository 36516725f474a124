"""XGBoost models as ``save_model`` writes them: JSON, or the same document as UBJSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    opens_json,
    pointer,
    read_json,
    written_json,
)
from treewarden.ppdm_models.formats.common.json_layout import odd_layout
from treewarden.ppdm_models.formats.xgboost._growth import (
    LOGS,
    are_plain_logs,
    has_logs,
    read_logged_claim,
)
from treewarden.ppdm_models.formats.xgboost._learner import (
    booster_of,
    category_names,
    ensemble_of,
    learner_of,
)
from treewarden.ppdm_models.formats.xgboost._rewrite import (
    OF_SPLITS,
    PER_NODE,
    leaks_of,
    reached_nodes,
    rewritten,
    trees_of_document,
    unexplained_sums,
    without_leaks,
)
from treewarden.ppdm_models.formats.xgboost._shapes import (
    FRACTIONS,
    MODEL_PARAMETERS,
    SINGLE_DIGITS,
    TYPES,
    are_wholes,
    is_learner_parameters,
    is_number,
    is_objective,
    is_whole,
    strange_in,
)
from treewarden.ppdm_models.formats.xgboost._ubjson import opens_ubjson, read_ubjson, written_ubjson
from treewarden.ppdm_models.tree.ensemble import Model, with_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


class XgboostModel(Format):
    """Reads and rewrites both layouts of ``gbtree`` and ``dart`` boosters, from version 1 on."""

    how_to_export = "save it again with booster.save_model('model.json')"
    rewrites = True
    drops_trees = True
    rounds_leaves = True
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if opens_ubjson(data):
            return b"learner" in data[:64] or b"gradient_booster" in data
        return opens_json(data) == b"{" and b'"gradient_booster"' in data and b'"learner"' in data

    def open(self, data: bytes, source: str) -> Opened:
        return _OpenedModel(data, source)


class _OpenedModel(Rewritable, Strippable):
    """The bytes stay, not the document: each change takes a fresh one, and uses it up.

    For 1,000,000 nodes it takes 280 MB, more than the model (230 MB).
    """

    def __init__(self, data: bytes, source: str) -> None:
        document = _document(data, source)
        leaks = leaks_of(document, source)
        told = {leak.where for leak in leaks}
        rest = (leak for leak in rest_of(document, source) if leak.where not in told)
        leaks = (*leaks, *rest)
        model: Model = ensemble_of(document, source)  # it refuses columns of other lengths
        trees = trees_of_document(document, source)
        if has_logs(trees):
            model = with_claim(model, read_logged_claim(trees))
        layout = odd_writing(data, document, trees)
        odd = [Leak(LeakKind.UNKNOWN, "layout", layout, removable=True)] if layout else []
        super().__init__(model, (*leaks, *unexplained_sums(document, source), *odd))
        self.data, self.source = data, source

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        document = without_leaks(_document(self.data, self.source), self.source, kinds)
        trees = trees_of_document(document, self.source)
        if LeakKind.UNKNOWN in kinds and odd_writing(self.data, document, trees):
            document = written_plainly(document, trees)
        return _written(document, self.data)

    def rewrite(self, changed: Model) -> bytes:
        """Return the file with the sums, gains and inner weights of withheld nodes at 0, and pruned nodes gone."""
        document = _document(self.data, self.source)
        return _written(rewritten(document, self.model, changed, self.source), self.data)


def _document(data: bytes, source: str) -> object:
    if opens_ubjson(data):
        return read_ubjson(data, source)
    return read_json(data, source, allow_nan=True)


def _written(document: object, like: bytes) -> bytes:
    return written_ubjson(document) if opens_ubjson(like) else written_json(document, like)


FORMAT = XgboostModel()


# Whether an XGBoost file is written as programs write it: other blanks, digits or orders of keys would hold a text.

ORDER = "keys in an unusual order"
DIGITS = "digits that do not fit in 32 bits"
BYTES = "bytes that the library writes differently"


def odd_writing(data: bytes, document: object, trees: Sequence[Mapping[str, Any]]) -> str:
    """Return what is odd about the way a checked document is written, in words; "" where nothing is."""
    if not _are_sorted(document):
        return ORDER
    if any(_odd_singles(tree[name]).any() for tree in trees for name in FRACTIONS & tree.keys()):
        return DIGITS
    if opens_ubjson(data):
        return "" if written_ubjson(document) == data else BYTES
    return odd_layout(data)


def written_plainly(document: object, trees: Sequence[dict[str, Any]]) -> object:
    """Return the document with its keys in order and its numbers as ones of 32 bits; the document is used up."""
    for tree in trees:
        for name in FRACTIONS & tree.keys():
            column = tree[name]
            odd = _odd_singles(column)
            for place in np.flatnonzero(odd).tolist():
                with np.errstate(
                    over="ignore"
                ):  # what 32 bits cannot hold stays, and is told again
                    single = float(np.float32(column[place]))
                column[place] = single if np.isfinite(single) else column[place]
    for value in _objects(document):
        held = dict(value)
        value.clear()
        value.update(sorted(held.items()))
    return document


def _are_sorted(document: object) -> bool:
    return all(list(value) == sorted(value) for value in _objects(document))


def _objects(document: object) -> Iterator[dict[str, Any]]:
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending += value.values()
        elif isinstance(value, list) and value and isinstance(value[0], dict | list):
            pending += value


def _odd_singles(column: object) -> BoolArray:
    """Return which numbers of a list are neither one of 32 bits nor its shortest digits, (n,)."""
    listed = column if isinstance(column, list) else []
    if not all(type(each) in (int, float) for each in listed):
        return np.zeros(0, dtype=np.bool_)  # told as unknown content
    try:
        numbers = np.array(listed, dtype=np.float64)
    except OverflowError:  # an integer beyond all floats is none of 32 bits
        return np.ones(1, dtype=np.bool_)
    with np.errstate(over="ignore"):
        singles = numbers.astype(np.float32)
    odd: BoolArray = (singles != numbers) & ~np.isnan(numbers)
    for place in np.flatnonzero(odd).tolist():
        single, number = singles[place], float(numbers[place])
        shortest = float(np.format_float_scientific(single, unique=True))
        odd[place] = number not in (shortest, float(f"{float(single):.{SINGLE_DIGITS - 1}e}"))
    return odd


# What an XGBoost model file holds that no reader of it knows: nothing in a file that the library itself wrote.

LEARNER = frozenset(
    (
        "attributes",
        "feature_names",
        "feature_types",
        "gradient_booster",
        "learner_model_param",
        "objective",
    )
)
MODEL = frozenset(
    ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees", "weight_drop")
)
TREE = frozenset(
    (
        *PER_NODE,
        "categories",
        "categories_nodes",
        "categories_segments",
        "categories_sizes",
        "id",
        "leaf_child_counts",
        "leaf_weights",
        LOGS,
        "tree_param",
    )
)
TELLING = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
"""The columns of a tree whose numbers tell of people."""
MOST_VERSIONS, MOST_VERSION = 3, 100
WRAPPER, MOST_WRAPPER = "scikit_learn", 200
KINDS = frozenset(("classifier", "regressor", "ranker"))
ATTRIBUTES = frozenset(("best_iteration", "best_score", "best_ntree_limit"))


def rest_of(document: object, source: str) -> Iterator[Leak]:
    """Yield what is in a file beside the parts that are read, or judged as leaks of their own."""
    learner, steps = learner_of(document, source)
    booster = booster_of(learner, source, steps)
    top = document if isinstance(document, dict) else {}
    yield from _strange(top, {"learner", "version", "Model"}, [])
    version = top.get("version", [])
    if not isinstance(version, list) or not _is_version(version):
        yield _unknown(["version"])
    model = top.get("Model")
    if "learner" not in top and isinstance(model, dict):
        yield from _strange(model, {"learner", "version"}, ["Model"])
    yield from _strange(learner, LEARNER, steps)
    yield from _attributes(learner, steps)
    outputs, features = _sizes(learner)
    if not is_learner_parameters(learner.get("learner_model_param", {}), outputs):
        yield _unknown([*steps, "learner_model_param"])
    if not is_objective(learner.get("objective", {}), outputs):
        yield _unknown([*steps, "objective"])
    types = learner.get("feature_types", [])
    if (
        not isinstance(types, list)
        or len(types) not in (0, features)
        or any(str(kind) not in TYPES for kind in types)
    ):
        yield _unknown([*steps, "feature_types"])
    holder = learner.get("gradient_booster")
    if isinstance(holder, dict):
        at = [*steps, "gradient_booster"]
        is_dart = holder.get("name") == "dart"
        known = {"name", "gbtree", "weight_drop"} if is_dart else {"name", "model"}
        yield from _strange(holder, known, at)
        if holder.get("name", "gbtree") not in ("gbtree", "dart"):
            yield _unknown([*at, "name"])
        inner = holder.get("gbtree")
        if is_dart and isinstance(inner, dict):
            yield from _strange(inner, {"model", "name"}, [*at, "gbtree"])
            if inner.get("name", "gbtree") != "gbtree":
                yield _unknown([*at, "gbtree", "name"])
    yield from _strange(booster.model, MODEL, booster.steps)
    if not _are_ones(booster.model):
        yield _unknown([*booster.steps, "weight_drop"])
    trees = booster.model.get("trees")
    ends = booster.model.get("iteration_indptr", [])
    if not _are_of_model(booster.model.get("gbtree_model_param", {}), trees, ends):
        yield _unknown([*booster.steps, "gbtree_model_param"])
    if not isinstance(ends, list) or not _are_ends(
        ends, len(trees) if isinstance(trees, list) else 0
    ):
        yield _unknown([*booster.steps, "iteration_indptr"])
    cats = booster.model.get("cats", {})
    if not _are_categories(cats, features, len(category_names(cats, source, booster.steps))):
        yield _unknown([*booster.steps, "cats"])
    yield from _trees(trees, features, [*booster.steps, "trees"])


def _sizes(learner: Mapping[str, object]) -> tuple[int, int]:
    """Return how many numbers a prediction may have, and how many features there are."""
    said = learner.get("learner_model_param")
    found = said if isinstance(said, dict) else {}
    classes, targets, features = (
        int(found.get(key, 0)) if is_whole(found.get(key, 0)) else 0
        for key in ("num_class", "num_target", "num_feature")
    )
    return max(1, classes, targets), features


def _is_version(version: list[object]) -> bool:
    numbers = [each for each in version if type(each) is int and 0 <= each < MOST_VERSION]
    return len(numbers) == len(version) <= MOST_VERSIONS


def _are_ends(ends: list[object], trees: int) -> bool:
    """Return whether these are the first trees of rounds, and the end of the last."""
    wholes = [end for end in ends if type(end) is int]
    rising = all(low < high for low, high in pairwise(wholes))
    return not ends or (
        len(wholes) == len(ends) and rising and (wholes[0], wholes[-1]) == (0, trees)
    )


def _are_ones(model: Mapping[str, object]) -> bool:
    """Return whether each tree weighs 1, as version 3.4 writes of those that no dart grew, or nothing is said."""
    weights, trees = model.get("weight_drop", []), model.get("trees")
    size = len(trees) if isinstance(trees, list) else 0
    return isinstance(weights, list) and weights in ([], [1] * size)


def _are_categories(cats: object, features: int, list_count: int) -> bool:
    """Return whether all lists of categories are such that they are told as leaks of their own."""
    if not isinstance(cats, dict) or not cats.keys() <= {"enc", "feature_segments", "sorted_idx"}:
        return False
    lists = [cats.get(key, []) for key in ("enc", "feature_segments", "sorted_idx")]
    if not all(isinstance(each, list) for each in lists):
        return False
    encoded, segments, order = lists
    if not all(
        isinstance(each, dict) and each.keys() <= {"type", "values", "offsets"} for each in encoded
    ):
        return False
    held = sum(bool(each.get("values")) for each in encoded)
    numbers = all(type(each) is int for each in (*segments, *order))
    ends = len(segments) in (0, features + 1) and len(order) == max(segments, default=0)
    types = all(is_whole(each.get("type", 0)) for each in encoded)
    return len(encoded) in (0, features) and held == list_count and numbers and types and ends


def _are_of_model(parameters: object, trees: object, ends: object) -> bool:
    """Return whether the parameters of a model are whole numbers, and those of its trees and rounds."""
    if not isinstance(parameters, dict) or not are_wholes(parameters, MODEL_PARAMETERS):
        return False
    size = len(trees) if isinstance(trees, list) else 0
    together = int(parameters.get("num_parallel_tree", 1))
    first = ends[1] if isinstance(ends, list) and len(ends) > 1 else size
    is_of_rounds = type(first) is int and together >= 0 and first % max(1, together) == 0
    return int(parameters.get("num_trees", size)) == size and (is_of_rounds or not size)


def _trees(trees: object, features: int, steps: Steps) -> Iterator[Leak]:
    for index, tree in enumerate(trees if isinstance(trees, list) else ()):
        if not isinstance(tree, dict):
            continue
        at = [*steps, index]
        yield from _strange(tree, TREE, at)
        if not are_plain_logs(tree):
            yield _unknown([*at, LOGS])
        for key in strange_in({key: tree[key] for key in tree if key != LOGS}, features):
            yield replace(_unknown([*at, key]), removable=key in OF_SPLITS)
        if tree.get("id", index) != index:
            yield _unknown([*at, "id"])
        if _unreached(tree):
            what = "nodes that were pruned are still in the arrays of the tree, with their numbers"
            yield Leak(LeakKind.UNKNOWN, pointer(at), what, removable=True)


def _unreached(tree: Mapping[str, object]) -> bool:
    """Return whether a number that tells of people stands at a node that no path reaches."""
    left, right = tree.get("left_children"), tree.get("right_children")
    if not isinstance(left, list) or not isinstance(right, list):
        return False
    reached = reached_nodes(left, right)
    if len(reached) == len(left):
        return False
    columns = [tree[name] for name in TELLING if isinstance(tree.get(name), list)]
    return any(
        any(column[node] for node in range(min(len(left), len(column))) if node not in reached)
        for column in columns
        if isinstance(column, list)
    )


def _attributes(learner: Mapping[str, object], steps: Steps) -> Iterator[Leak]:
    said = learner.get("attributes", {})
    for name, value in said.items() if isinstance(said, dict) else ():
        is_known = is_number if name == "best_score" else is_whole
        if (name in ATTRIBUTES and is_known(value)) or (name == WRAPPER and _is_kind(value)):
            continue
        what = f"the attribute {str(name)[:40]!r} has an unusual text"
        yield Leak(LeakKind.UNKNOWN, pointer([*steps, "attributes", name]), what, removable=True)


def _is_kind(value: object) -> bool:
    """Return whether it is what the wrapper for scikit-learn notes: of which kind the estimator is, and no more."""
    try:
        said = json.loads(value) if isinstance(value, str) and len(value) < MOST_WRAPPER else None
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(said, dict) and set(said) <= {"_estimator_type"} and set(said.values()) <= KINDS
    )


def _strange(
    part: Mapping[str, object], known_names: frozenset[str] | set[str], steps: Steps
) -> Iterator[Leak]:
    yield from (_unknown([*steps, name]) for name in part if name not in known_names)


def _unknown(steps: Steps) -> Leak:
    return Leak(LeakKind.UNKNOWN, pointer(steps), "an unknown part")
