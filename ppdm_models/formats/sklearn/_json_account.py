"""What a JSON file of a scikit-learn tree holds that no reader of it knows: nothing that scikit-learn has there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewarden.ppdm_models.formats.common.json import Steps
from treewarden.ppdm_models.formats.common.shapes import (
    Account,
    Entries,
    Items,
    Scalar,
    Shape,
    StrangePart,
    is_label,
    is_number,
    is_setting,
    is_text,
    one_of,
)
from treewarden.ppdm_models.formats.sklearn._arrays import TreeArrays
from treewarden.ppdm_models.formats.sklearn._digits import odd_digits
from treewarden.ppdm_models.formats.sklearn._fitted import FIELDS
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Tree

VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")
WORDS = frozenset(
    """
    gini entropy log_loss squared_error friedman_mse absolute_error poisson mse mae best random sqrt log2 auto
    balanced deprecated
    """.split()  # noqa: SIM905  # a list of so many words would be as many lines
)
SETTINGS = (
    *("ccp_alpha", "class_weight", "criterion", "max_depth", "max_features", "max_leaf_nodes"),
    *("min_impurity_decrease", "min_impurity_split", "min_samples_leaf", "min_samples_split"),
    *("min_weight_fraction_leaf", "monotonic_cst", "presort", "random_state", "splitter"),
)
KINDS = tuple(
    f"{name}Tree{task}" for name in ("Decision", "Extra") for task in ("Classifier", "Regressor")
)
TYPES = ("int64", "float64", "float32", "uint8", "<i8", "<f8", "<f4", "|u1", "u1")
LEAF, UNDEFINED = -1, -2
MOST_DIGITS = 8
"""Characters of a setting that somebody chose; one of more can go, as no prediction needs it."""


@dataclass(frozen=True, slots=True)
class SavedTree:
    """What a file holds: the arrays, and what is around them."""

    arrays: TreeArrays
    names: tuple[str, ...]
    classes: tuple[str, ...]
    settings: Mapping[str, object]
    notes: tuple[str, ...]


def account_of(document: object, saved: SavedTree, tree: Tree) -> Account:
    """Return what is known of a document that was read."""
    width = len(saved.names)
    classes = len(saved.classes) or 1
    state: dict[str, Shape] = {
        "max_depth": one_of(_depth(saved.arrays)),
        "node_count": one_of(len(saved.arrays.children_left)),
        "nodes_dtype": Items(Items(one_of(*FIELDS, "missing_go_to_left", *TYPES, "", "|V7"), 2)),
        "nodes": Items(Items(is_number, _row_width(document))),
        "values": Items(Items(Items(is_number, classes), 1)),
    }
    shapes: dict[str, Shape] = {
        "meta": one_of("decision-tree", "decision-tree-regression"),
        "sklearn_version": _is_version,
        "estimator": one_of(*KINDS),
        "params": Entries(dict.fromkeys(SETTINGS, _is_setting), frozenset(SETTINGS)),
        "feature_names_in": Items(is_text),
        "classes_": Items(is_label),
        **dict.fromkeys(("n_features", "n_features_", "n_features_in_"), one_of(width)),
        "n_classes": Items(one_of(classes), 1),
        **dict.fromkeys(("n_classes_",), one_of(classes)),
        "n_outputs_": one_of(1),
        "max_features_": _is_up_to(width),
        "tree_": Entries(state),
        **state,
    }
    strange = tuple(_strange_nodes(document, saved))
    removable: dict[LeakKind, tuple[Steps, ...]] = {LeakKind.REPLAY: (("params", "random_state"),)}
    return Account(Entries(shapes), strange, removable)


def _is_version(value: object) -> bool:
    return isinstance(value, str) and VERSION.fullmatch(value) is not None


def _is_setting(value: object) -> bool:
    if isinstance(value, str):
        return value in WORDS
    return value is None or (is_setting(value) and len(repr(value)) <= MOST_DIGITS)


def _is_up_to(width: int) -> Scalar:
    return lambda value: type(value) is int and 0 < value <= width


def _state(document: object) -> tuple[Mapping[str, Any], Steps]:
    root: Any = document
    return (root["tree_"], ("tree_",)) if "tree_" in root else (root, ())


def _row_width(document: object) -> int:
    """Return how many numbers a node has: those that have a name, or seven, and where missing values go."""
    state, _ = _state(document)
    return len(column_names(state) or FIELDS)


def column_names(state: Mapping[str, object]) -> list[object]:
    """Return the names in ``nodes_dtype``, which stand before types; bytes between columns have none."""
    listed = state.get("nodes_dtype")
    pairs = listed if isinstance(listed, list) else []
    return [pair[0] for pair in pairs if isinstance(pair, list) and pair and pair[0]]


def _depth(arrays: TreeArrays) -> int:
    depth = np.zeros(len(arrays.children_left), dtype=np.int64)
    for node in np.flatnonzero(arrays.children_left >= 0).tolist():
        depth[[arrays.children_left[node], arrays.children_right[node]]] = depth[node] + 1
    return int(depth.max())


def _strange_nodes(document: object, saved: SavedTree) -> Iterator[StrangePart]:
    """Yield what leaves have that only splits need, columns of no use, and digits that no counts give."""
    state, steps = _state(document)
    nodes = np.array(state["nodes"], dtype=np.float64)
    is_leaf = saved.arrays.children_left == LEAF
    names = column_names(state) or list(FIELDS)
    for name in ("feature", "threshold"):
        if name in names and (nodes[is_leaf][:, names.index(name)] != UNDEFINED).any():
            yield StrangePart((*steps, "nodes"), f"a {name} of leaves, which have none")
    if len(set(names) & {*FIELDS, "missing_go_to_left"}) < len(names):
        yield StrangePart((*steps, "nodes_dtype"), "columns of nodes that are not read")
    if "missing_go_to_left" in names:
        sides = nodes[:, names.index("missing_go_to_left")]
        if not np.isin(sides, (0, 1)).all() or sides[is_leaf].any():
            yield StrangePart((*steps, "nodes"), "where missing values go, at leaves or elsewhere")
    criterion = saved.settings.get("criterion")
    is_class = bool(saved.classes)
    for name, what in odd_digits(saved.arrays, is_class=is_class, criterion=criterion):
        yield StrangePart((*steps, name), what)
