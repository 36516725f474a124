"""scikit-learn trees as JSON: the state of ``tree_`` with the settings, or what the sklearn-json package writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    as_list,
    as_object,
    as_text,
    as_whole,
    lines_of_entries,
    opens_json,
    read_json,
    refused,
)
from treewarden.ppdm_models.formats.common.shapes import (
    Account,
    AccountedJson,
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
from treewarden.ppdm_models.formats.sklearn._arrays import TreeArrays, class_label, tree_from_arrays
from treewarden.ppdm_models.formats.sklearn._fitted import (
    FIELDS,
    Columns,
    arrays_of,
    odd_digits,
    seed_leak,
    size_leak,
    spread_leak,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

PACKAGE = ("decision-tree", "decision-tree-regression")


class SklearnJson(Format):
    """One object per file, with one tree."""

    how_to_export = "write it again (docs/recipes/python.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) != b"{":
            return False
        by_package = b'"meta"' in data and b'"tree_"' in data
        as_state = b'"nodes_dtype"' in data and b'"left_child"' in data
        return by_package or as_state

    def open(self, data: bytes, source: str) -> Opened:
        document = read_json(data, source, allow_nan=True)  # a threshold may be infinite
        saved_tree = _saved(as_object(document, source, ()), source)
        model = _placed(_tree(saved_tree, source), data)
        account = account_of(document, saved_tree, model)
        return AccountedJson(data, document, model, _leaks(saved_tree), account)


def _tree(saved: SavedTree, source: str) -> Tree:
    tree = tree_from_arrays(
        saved.arrays,
        saved.names,
        saved.classes,
        settings=saved.settings,
        target="",
        source=source,
    )
    return replace(tree, notes=saved.notes)


def _placed(tree: Tree, data: bytes) -> Tree:
    """Return the tree with the line of each node's row; scikit-learn calls nodes by the number of their row."""
    lines = lines_of_entries(data, "nodes")
    if len(lines) != len(tree.nodes):
        return tree
    nodes = tuple(replace(node, line=lines[int(node.name)]) for node in tree.nodes)
    return replace(tree, nodes=nodes)


def _leaks(saved: SavedTree) -> Iterator[Leak]:
    yield from seed_leak(saved.settings.get("random_state"), "/params/random_state")
    yield from size_leak(saved.arrays, "/nodes")
    yield from spread_leak(saved.arrays, not saved.classes, "/nodes")


def _saved(root: Mapping[str, object], source: str) -> SavedTree:
    kind = str(root.get("meta", root.get("estimator", "")))[:60]
    if "meta" in root and kind not in PACKAGE:
        raise refused(
            source, ["meta"], f"unknown value {kind!r}; known values: {', '.join(PACKAGE)}"
        )
    state = as_object(root["tree_"], source, ["tree_"]) if "tree_" in root else root
    features = as_whole(
        root.get("n_features", root.get("n_features_", root.get("n_features_in_"))),
        source,
        ["n_features"],
        low=1,
        high=limits.FEATURES,
    )
    values = _numbers(state.get("values"), source, "values")
    arrays = arrays_of(_columns(state, source), values, source, features)
    is_regression = kind.lower().endswith(("regressor", "regression"))
    classes, said = ((), ()) if is_regression else _classes(root, arrays, source)
    settings = dict(as_object(root.get("params", {}), source, ["params"]))
    if "max_features_" in root:
        settings["max_features_"] = root["max_features_"]
    return SavedTree(arrays, _names(root, features, source), classes, settings, said)


def _columns(state: Mapping[str, object], source: str) -> Columns:
    """Return the columns of the nodes, by the names in ``nodes_dtype`` where it has some."""
    as_list(state.get("nodes_dtype", []), source, ["nodes_dtype"])
    named = column_names(state)
    names = [as_text(name, source, ["nodes_dtype"]) for name in named] or list(FIELDS)
    table = _numbers(state.get("nodes"), source, "nodes")
    if table.ndim != 2 or table.shape[1] < len(names) or len(set(names)) < len(names):
        raise refused(
            source, ["nodes"], f"its rows do not have the {len(names)} numbers of nodes_dtype"
        )
    return {name: table[:, place] for place, name in enumerate(names)}


def _numbers(
    value: object, source: str, name: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    listed = as_list(value, source, [name])
    try:
        table = np.array(listed)
    except ValueError as error:
        raise refused(source, [name], "its rows have different lengths") from error
    if table.dtype.kind not in "iuf":
        raise refused(source, [name], "contains something that is not a number")
    return table.astype(np.float64)


def _classes(
    root: Mapping[str, object], arrays: TreeArrays, source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    width = arrays.value.shape[1]
    if root.get("classes_") is None:
        note = f"{source}: the class labels are not in the file, so class numbers are used"
        return tuple(map(str, range(width))), (note,)
    found = as_list(root["classes_"], source, ["classes_"])
    plain = all(isinstance(label, str | int | float) for label in found)
    labels = tuple(class_label(label) for label in found) if plain else ()
    if len(labels) != width or len(set(labels)) < width:
        raise refused(source, ["classes_"], f"these are not {width} different labels")
    return labels, ()


def _names(root: Mapping[str, object], features: int, source: str) -> tuple[str, ...]:
    if root.get("feature_names_in") is None:
        return tuple(f"x{place}" for place in range(features))
    found = as_list(root["feature_names_in"], source, ["feature_names_in"])
    names = tuple(as_text(name, source, ["feature_names_in"]) for name in found)
    if len(names) != features or len(set(names)) < features:
        raise refused(source, ["feature_names_in"], f"these are not {features} different names")
    return names


FORMAT = SklearnJson()


# What a JSON file of a scikit-learn tree holds that no reader of it knows: nothing that scikit-learn has there.

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
            yield StrangePart((*steps, "nodes"), f"a {name} at leaves, which need none")
    if len(set(names) & {*FIELDS, "missing_go_to_left"}) < len(names):
        yield StrangePart((*steps, "nodes_dtype"), "columns of nodes that are not supported")
    if "missing_go_to_left" in names:
        sides = nodes[:, names.index("missing_go_to_left")]
        if not np.isin(sides, (0, 1)).all() or sides[is_leaf].any():
            yield StrangePart((*steps, "nodes"), "where missing values go, at leaves or elsewhere")
    criterion = saved.settings.get("criterion")
    is_class = bool(saved.classes)
    for name, what in odd_digits(saved.arrays, is_class=is_class, criterion=criterion):
        yield StrangePart((*steps, name), what)
