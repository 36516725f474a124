"""What an XGBoost model file holds that no reader of it knows: nothing in a file that the library itself wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ppdm_models.codecs.common.json import Steps, pointer
from ppdm_models.codecs.xgboost.learner import booster_of, learner_of
from ppdm_models.codecs.xgboost.rewrite import PER_NODE
from ppdm_models.tree.leaks import Leak, LeakKind

NUMBERS = re.compile(r"[-+0-9.eE,\[\] ]{0,200}|nan|inf|-inf")
SHORT = re.compile(r"[a-z0-9:_ -]{0,40}")
"""The name of an objective or a booster, and not a text of anybody's own."""
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
MODEL = frozenset(("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"))
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
MOST_VERSIONS = 3
WRAPPER, MOST_WRAPPER = "scikit_learn", 200
ATTRIBUTES = frozenset(("best_iteration", "best_score", "best_ntree_limit"))


def rest_of(document: object, source: str) -> Iterator[Leak]:
    """Yield what is in a file beside the parts that are read, or judged as leaks of their own."""
    learner, steps = learner_of(document, source)
    booster = booster_of(learner, source, steps)
    top = document if isinstance(document, dict) else {}
    yield from _strange(top, {"learner", "version", "Model"}, [])
    if not _is_numeric(top.get("version", [])):
        yield _unknown(["version"])
    model = top.get("Model")
    if "learner" not in top and isinstance(model, dict):
        yield from _strange(model, {"learner", "version"}, ["Model"])
    yield from _strange(learner, LEARNER, steps)
    yield from _attributes(learner, steps)
    for name in ("learner_model_param", "objective"):
        if not _is_plain(learner.get(name, {})):
            yield _unknown([*steps, name])
    holder = learner.get("gradient_booster")
    if isinstance(holder, dict):
        at = [*steps, "gradient_booster"]
        yield from _strange(holder, {"model", "name", "gbtree", "weight_drop"}, at)
        inner = holder.get("gbtree")
        if isinstance(inner, dict):
            yield from _strange(inner, {"model", "name"}, [*at, "gbtree"])
    yield from _strange(booster.model, MODEL, booster.steps)
    if not _is_plain(booster.model.get("gbtree_model_param", {})):
        yield _unknown([*booster.steps, "gbtree_model_param"])
    yield from _trees(booster.model.get("trees"), [*booster.steps, "trees"])


def _trees(trees: object, steps: Steps) -> Iterator[Leak]:
    for index, tree in enumerate(trees if isinstance(trees, list) else ()):
        if not isinstance(tree, dict):
            continue
        at = [*steps, index]
        yield from _strange(tree, TREE, at)
        if not _is_plain(tree.get("tree_param", {})) or not isinstance(tree.get("id", 0), int):
            yield _unknown([*at, "tree_param"])
        if _unreached(tree):
            what = "nodes that were cut off the tree still stand in its arrays, with their numbers"
            yield Leak(LeakKind.UNKNOWN, pointer(at), what)


def _unreached(tree: Mapping[str, object]) -> bool:
    """Return whether a number that tells of people stands at a node that no path reaches."""
    left, right = tree.get("left_children"), tree.get("right_children")
    if not isinstance(left, list) or not isinstance(right, list):
        return False
    reached = {0, *(child for child in (*left, *right) if isinstance(child, int) and child > 0)}
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
        if (name in ATTRIBUTES and _is_numeric(value)) or (name == WRAPPER and _is_kind(value)):
            continue
        what = f"the attribute {str(name)[:40]!r} holds a text of its own"
        yield Leak(LeakKind.UNKNOWN, pointer([*steps, "attributes", name]), what, removable=True)


def _is_kind(value: object) -> bool:
    """Return whether it is what the wrapper for scikit-learn notes: of which kind the estimator is, and no more."""
    try:
        said = json.loads(value) if isinstance(value, str) and len(value) < MOST_WRAPPER else None
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and set(said) <= {"_estimator_type"} and _is_plain(said)


def _strange(
    part: Mapping[str, object], known: frozenset[str] | set[str], steps: Steps
) -> Iterator[Leak]:
    yield from (_unknown([*steps, name]) for name in part if name not in known)


def _unknown(steps: Steps) -> Leak:
    return Leak(LeakKind.UNKNOWN, pointer(steps), "a part that no such file is known to have")


def _is_plain(value: object) -> bool:
    """Return whether a part holds nothing but settings: short names and numbers."""
    if isinstance(value, dict):
        return all(SHORT.fullmatch(str(name)) and _is_plain(each) for name, each in value.items())
    return _is_numeric(value) or (isinstance(value, str) and bool(SHORT.fullmatch(value)))


def _is_numeric(value: object) -> bool:
    if isinstance(value, list):
        return len(value) <= MOST_VERSIONS and all(map(_is_numeric, value))
    return isinstance(value, int | float) or (
        isinstance(value, str) and bool(NUMBERS.fullmatch(value))
    )
