"""scikit-learn trees as JSON: the state of ``tree_`` with the settings, or what the sklearn-json package writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import (
    as_list,
    as_object,
    as_text,
    as_whole,
    lines_of_entries,
    opens_json,
    read_json,
    refused,
)
from treewarden.ppdm_models.formats.common.shapes import AccountedJson
from treewarden.ppdm_models.formats.sklearn._arrays import TreeArrays, class_label, tree_from_arrays
from treewarden.ppdm_models.formats.sklearn._fitted import (
    FIELDS,
    Columns,
    arrays_of,
    seed_leak,
    size_leak,
    spread_leak,
)
from treewarden.ppdm_models.formats.sklearn._json_account import SavedTree, account_of, column_names
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Tree

PACKAGE = ("decision-tree", "decision-tree-regression")


class SklearnJson(Format):
    """One object per file, with one tree."""

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
        raise refused(source, ["meta"], f"{kind!r}; have {', '.join(PACKAGE)}")
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
            source, ["nodes"], f"its rows are not the {len(names)} numbers of nodes_dtype"
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
        raise refused(source, [name], "holds something that is no number")
    return table.astype(np.float64)


def _classes(
    root: Mapping[str, object], arrays: TreeArrays, source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    width = arrays.value.shape[1]
    if root.get("classes_") is None:
        note = f"{source}: the labels of the classes are not in the file; they are numbered"
        return tuple(map(str, range(width))), (note,)
    found = as_list(root["classes_"], source, ["classes_"])
    plain = all(isinstance(label, str | int | float) for label in found)
    labels = tuple(class_label(label) for label in found) if plain else ()
    if len(labels) != width or len(set(labels)) < width:
        raise refused(source, ["classes_"], f"not {width} different labels")
    return labels, ()


def _names(root: Mapping[str, object], features: int, source: str) -> tuple[str, ...]:
    if root.get("feature_names_in") is None:
        return tuple(f"x{place}" for place in range(features))
    found = as_list(root["feature_names_in"], source, ["feature_names_in"])
    names = tuple(as_text(name, source, ["feature_names_in"]) for name in found)
    if len(names) != features or len(set(names)) < features:
        raise refused(source, ["feature_names_in"], f"not {features} different names")
    return names


FORMAT = SklearnJson()
