"""What an XGBoost model file holds that no reader of it knows: nothing in a file that the library itself wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from treewarden.ppdm_models.formats.common.json import Steps, pointer
from treewarden.ppdm_models.formats.xgboost._learner import booster_of, category_names, learner_of
from treewarden.ppdm_models.formats.xgboost._rewrite import OF_SPLITS, PER_NODE, reached_nodes
from treewarden.ppdm_models.formats.xgboost._shapes import (
    MODEL_PARAMETERS,
    TYPES,
    are_wholes,
    is_learner_parameters,
    is_number,
    is_objective,
    is_whole,
    strange_in,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

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


def _are_categories(cats: object, features: int, told: int) -> bool:
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
    return len(encoded) in (0, features) and held == told and numbers and types and ends


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
        for key in strange_in(tree, features):
            yield replace(_unknown([*at, key]), removable=key in OF_SPLITS)
        if tree.get("id", index) != index:
            yield _unknown([*at, "id"])
        if _unreached(tree):
            what = "nodes that were cut off the tree still stand in its arrays, with their numbers"
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
        what = f"the attribute {str(name)[:40]!r} holds a text of its own"
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
    part: Mapping[str, object], known: frozenset[str] | set[str], steps: Steps
) -> Iterator[Leak]:
    yield from (_unknown([*steps, name]) for name in part if name not in known)


def _unknown(steps: Steps) -> Leak:
    return Leak(LeakKind.UNKNOWN, pointer(steps), "a part that no such file is known to have")
