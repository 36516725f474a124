"""What a skops file of trees holds that no reader of it knows: every key, text, number and byte is accounted for.

scikit-learn's nodes have seven bytes that belong to no field, and a byte that leaves do not use. NumPy saves them as
they were in memory, so that an ordinary file holds pieces of whatever the program held there before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from treewarden.ppdm_models.formats.common.json import pointer
from treewarden.ppdm_models.formats.sklearn._fitted import FIELDS, arrays_of, odd_digits
from treewarden.ppdm_models.formats.skops._estimator import (
    FORESTS,
    POLICY_TREE,
    TREES,
    Fitted,
    claims_privacy,
    grew_under_policy,
)
from treewarden.ppdm_models.formats.skops._parts import Array, FilePart, read_npy
from treewarden.ppdm_models.formats.skops._private_estimators import beside_learner
from treewarden.ppdm_models.formats.skops._table_tests import RISING

KEYS = frozenset(("__class__", "__module__", "__loader__", "__id__"))
KEYS_OF_LOADER: Mapping[str, frozenset[str]] = {
    "JsonNode": frozenset(("content", "is_json")),
    "NdArrayNode": frozenset(("content", "type", "shape", "file")),
    "TupleNode": frozenset(("content",)),
    "ListNode": frozenset(("content",)),
    "DictNode": frozenset(("content", "key_types")),
    "ObjectNode": frozenset(("content",)),
    "TreeNode": frozenset(("content", "__reduce__")),
    "LossNode": frozenset(("content", "__reduce__")),
    "TypeNode": frozenset(),
    "FunctionNode": frozenset(),
    "DTypeNode": frozenset(("content",)),
    "SliceNode": frozenset(("content",)),
}
"""What stands in a described object beside its class, by what skops builds it with."""
CLASSES_OF_LOADER: Mapping[str, tuple[tuple[str, str], ...]] = {
    "JsonNode": (("builtins", "str"),),
    "TypeNode": (
        ("builtins", "str"),
        ("builtins", "object"),
        ("numpy", "float64"),
        ("numpy", "float32"),
        ("numpy", "number"),
    ),
    "FunctionNode": tuple(("numpy", name) for name in RISING),
    "DTypeNode": (("numpy", "dtype"),),
    "SliceNode": (("builtins", "slice"),),
    "TupleNode": (("builtins", "tuple"),),
    "ListNode": (("builtins", "list"),),
    "DictNode": (("builtins", "dict"),),
    "TreeNode": (("sklearn.tree._tree", "Tree"),),
    "NdArrayNode": tuple(
        ("numpy", name)
        for name in ("ndarray", "int64", "int32", "float64", "float32", "bool", "bool_")
    ),
}
OF_ROOT = frozenset(("protocol", "_skops_version"))
MODULES = ("sklearn.tree._classes", "sklearn.ensemble._forest")
POLICY_MODULE = "treewarden.learn.policy_tree"
POLICIES = frozenset(
    (
        *("baseline", "standard", "strict", "accurate", "health", "open-data"),
        *("research-output", "official-statistics", "differential-privacy"),
    )
)
"""Policies that ship: any other is a text of its own, or rules that somebody wrote."""
VERDICTS = frozenset(("", "PASS", "FAIL", "UNDETERMINED"))
"""What an audit in its fit came to; nothing where there was none."""
PRIVATE_MODULES = (
    "diffprivlib.models.tree",
    "diffprivlib.models.forest",
    "treewarden.learn.private_tree",
)
VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}(?:\.?(?:dev|post|rc|a|b)[0-9]{0,4})?")
WORDS = frozenset(
    (
        *("gini", "entropy", "log_loss", "squared_error", "friedman_mse", "absolute_error"),
        *("poisson", "mse", "mae", "best", "random", "sqrt", "log2", "auto", "balanced"),
        *("balanced_subsample", "deprecated", "warn", "from_dtype", "loss", "gamma", "quantile"),
        *("exponential", "huber", "zero"),
    )
)
SETTINGS = frozenset(
    (
        *("criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf"),
        *(
            "min_weight_fraction_leaf",
            "max_features",
            "max_leaf_nodes",
            "class_weight",
            "ccp_alpha",
        ),
        *("min_impurity_decrease", "min_impurity_split", "presort", "monotonic_cst", "n_jobs"),
        *("bootstrap", "oob_score", "verbose", "warm_start", "max_samples", "n_estimators"),
        *("_sample_weight",),
    )
)
"""Settings of trees and forests: words that scikit-learn knows, or short numbers."""
KINDS = tuple(
    f"{name}{task}" for name in (*TREES, *FORESTS) for task in ("Classifier", "Regressor")
)
SIZES = frozenset(("max_features_", "_n_samples", "_n_samples_bootstrap"))
INNER = frozenset(("estimator", "estimator_", "base_estimator", "base_estimator_"))
"""The tree that a forest made its own from: settings, and nothing that was fitted."""
NAMES = frozenset(("feature_names_in_", "classes_"))
"""What the model has, at the estimator itself: ``classes_`` where it is a classifier."""
OF_RECORDS = frozenset(("oob_decision_function_", "oob_prediction_"))
LONGEST = 12
"""Characters of a number that is a setting: more would be room for something else."""
LEAF, UNDEFINED = -1, -2
UNUSED_OF_BINS = ("gain", "depth", "bin_threshold")
ONLY_OF_LEAVES = ("value",)
OF_ALL_NODES = ("count", "is_leaf")

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Strange:
    """Something that no reader knows: where it stands, and what it is, without repeating it."""

    place: Place
    what: str

    @property
    def where(self) -> str:
        """The place as a JSON pointer."""
        return pointer(self.place)


def strange_versions(root: FilePart) -> Iterator[Strange]:
    """Yield versions of the file that are none."""
    for key in OF_ROOT & root.raw.keys():
        value = root.raw[key]
        if not is_version(value) and not (type(value) is int and 0 <= value < 100):
            yield Strange((key,), "a version in an unknown form")


def strange_forms(part: FilePart, extra_keys: frozenset[str] = frozenset()) -> Iterator[Strange]:
    """Yield described objects of another form than skops gives them; whatever a key of its own holds."""
    pending = [(part, extra_keys)]
    first_of_number: dict[object, Mapping[str, object]] = {}
    while pending:
        node, extra = pending.pop()
        number = node.raw.get("__id__", 0)
        if type(number) is not int:
            yield Strange((*node.steps, "__id__"), "an object number that is not a number")
        elif not _are_equal(first_of_number.setdefault(number, node.raw), node.raw) and number:
            yield Strange(
                node.steps, "the number of another object, which skops would load instead"
            )
        known = KEYS_OF_LOADER.get(node.loader)
        if known is None:
            yield Strange(node.steps, "an object of a kind that is not supported")
            continue
        for key in node.raw.keys() - KEYS - known - extra:
            yield Strange((*node.steps, key), "a key that skops does not write")
        classes = CLASSES_OF_LOADER.get(node.loader)
        if classes is not None and (node.module, node.kind) not in classes:
            yield Strange(node.steps, "the name of a class that is not expected here")
        if not _is_in_form(node):
            yield Strange(node.steps, "an object in a form that skops does not write")
        pending += [(child, frozenset()) for child in _children(node)]


def _are_equal(first: object, second: object) -> bool:
    """Return whether two described objects are the same but for the numbers of the objects inside them."""
    if first is second:
        return True
    if isinstance(first, dict) and isinstance(second, dict):
        # skops writes a type as an empty array, into a new file each time
        left_out = {"__id__", "content"} if _are_types(first, second) else {"__id__"}
        keys = first.keys() - left_out
        is_same = keys == second.keys() - left_out
        return is_same and all(_are_equal(first[key], second[key]) for key in keys)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    return type(first) is type(second) and first == second


def _are_types(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    return first.get("__loader__") == second.get("__loader__") == "DTypeNode"


def _is_in_form(part: FilePart) -> bool:
    """Return whether the keys that say how an object was written hold what skops writes there, and no more."""
    content = part.raw.get("content")
    if part.loader == "JsonNode":
        is_json = part.raw.get("is_json", True) is True
        return is_json and content == json.dumps(part.plain())  # else blanks and digits have room
    if part.loader in ("ListNode", "TupleNode"):
        return isinstance(content, list)
    if part.loader == "DictNode":
        return isinstance(content, dict) and _are_of_texts(part, len(content))
    return part.loader != "NdArrayNode" or _is_array(part)


def _are_of_texts(part: FilePart, size: int) -> bool:
    """Return whether the types of a dictionary's keys are those of so many texts."""
    if "key_types" not in part.raw:
        return size == 0
    types = part.child(part.raw["key_types"], "key_types")
    return types.loader == "ListNode" and [(each.loader, each.kind) for each in types.items()] == (
        [("TypeNode", "str")] * size
    )


def _is_array(part: FilePart) -> bool:
    content, kind = part.raw.get("content"), part.raw.get("type")
    if kind != "json":
        return kind == "numpy" and content is None and "shape" not in part.raw
    if not isinstance(content, list) or "file" in part.raw or "shape" not in part.raw:
        return False
    shape = part.child(part.raw["shape"], "shape")
    rows = [part.child(item, "content", at) for at, item in enumerate(content)]
    widths = {len(row.items()) if row.loader == "ListNode" else 0 for row in rows}
    sizes = [len(content), *(widths - {0})]  # lists inside are the rows of a table
    return shape.loader == "TupleNode" and [each.plain() for each in shape.items()] == sizes


def _children(part: FilePart) -> Iterator[FilePart]:
    """Yield every described object directly inside one, wherever skops puts them."""
    content = part.raw.get("content")
    if isinstance(content, list):
        yield from (part.child(item, "content", at) for at, item in enumerate(content))
    elif isinstance(content, dict) and part.loader == "DictNode":
        yield from (part.child(item, "content", name) for name, item in content.items())
    elif isinstance(content, dict) and part.loader != "SliceNode":
        yield part.child(content, "content")
    for key in ("shape", "key_types"):
        if key in part.raw:
            yield part.child(part.raw[key], key)
    reduced = part.raw.get("__reduce__")
    if isinstance(reduced, dict) and "args" in reduced:
        yield part.child(reduced["args"], "__reduce__", "args")


def strange_of_trees(part: FilePart, fitted: Fitted, *, is_root: bool = True) -> Iterator[Strange]:
    """Yield attributes of a tree or forest that scikit-learn does not give it, or that hold something else.

    What a private tree holds beside its tests and labels is told by itself.
    """
    if claims_privacy(part):
        yield from _of_tree(part.attributes()["tree_"], fitted)
        if part.module not in PRIVATE_MODULES:
            yield Strange(part.steps, "a kind of estimator that is not expected here")
        return
    for name, value in part.attributes().items():
        if name in INNER:
            yield from strange_of_settings(value, fitted)
        elif name == "estimators_" and is_root:
            for tree in value.items():
                yield from strange_of_trees(tree, fitted, is_root=False)
        elif name == "tree_":
            yield from _of_tree(value, fitted)
            criterion = part.attributes().get("criterion")
            rule = None if criterion is None else criterion.plain()
            yield from _of_digits(value, fitted, rule)
        elif grew_under_policy(part) and _is_of_policy(name, value):
            continue
        elif not _is_known(name, value, fitted, is_root=is_root):
            yield Strange(value.steps, f"{name!r:.40}, which is not supported")
    yield from _of_class(part)


def strange_of_settings(part: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what a tree or forest that was never fitted has beside its settings."""
    if claims_privacy(part):
        if "tree_" in part.attributes() or any(beside_learner(part, fitted.known)):
            yield Strange(part.steps, "something that its learner does not keep")
        return
    for name, value in part.attributes().items():
        if name in INNER:
            yield from strange_of_settings(value, fitted)
        elif not _is_known(name, value, fitted, is_root=False):
            yield Strange(value.steps, f"{name!r:.40}, which is not supported")
    yield from _of_class(part)


def _is_of_policy(name: str, value: FilePart) -> bool:
    """Return whether an attribute is one that only a tree grown under a policy has, and tells no more than its name."""
    if value.loader != "JsonNode":
        return False
    plain = value.plain()
    if name == "policy":
        return isinstance(plain, str) and plain in POLICIES
    if name == "verdict_":
        return plain is None or (isinstance(plain, str) and plain in VERDICTS)
    return name in ("share_drawn", "folds", "audit") and is_setting(plain)


def is_of_trees(part: FilePart) -> bool:
    """Return whether an estimator is a tree or forest of a class that is known, in the module that it comes from."""
    modules = (POLICY_MODULE,) if part.kind.startswith(POLICY_TREE) else MODULES
    return part.module in modules and part.kind in KINDS


def _of_class(part: FilePart) -> Iterator[Strange]:
    if not is_of_trees(part):
        yield Strange(part.steps, "a kind of estimator that is not expected here")


def _is_known(name: str, value: FilePart, fitted: Fitted, *, is_root: bool) -> bool:
    """Return whether an attribute is what scikit-learn keeps under its name, and tells nothing more."""
    if name in SETTINGS:
        return value.loader == "JsonNode" and is_setting(value.plain())
    if name in SIZES or name == "random_state":  # a seed is a leak of its own
        is_none = value.loader == "JsonNode" and value.plain() is None
        return is_none or is_size(value.plain())
    if name == "estimator_params":
        known = SETTINGS | {"random_state"}
        return all(isinstance(n, str) and n in known for n in (i.plain() for i in value.items()))
    if name == "classes_" and (not is_root or fitted.is_voter):
        return bool(value.array().tolist() == list(range(len(fitted.classes))))
    if name == "feature_names_in_" and fitted.is_voter:
        return is_of_model(name, value, fitted)
    if is_root and name in NAMES:
        return is_of_model(name, value, fitted)
    if is_root and name in OF_RECORDS:  # a leak of its own
        return value.loader == "NdArrayNode" and value.array().dtype.kind == "f"
    if is_root and name == "oob_score_":  # the same
        return isinstance(value.plain(), int | float)
    return _is_told(name, value.plain(), fitted)


def is_of_model(name: str, value: FilePart, fitted: Fitted) -> bool:
    """Return whether names of columns or classes at an estimator are those that the model has."""
    if name == "classes_":
        return bool(fitted.classes)
    return tuple(map(str, value.array().reshape(-1).tolist())) == fitted.names


def _is_told(name: str, value: object, fitted: Fitted) -> bool:
    """Return whether a number is the one that the model has anyway, or the version of scikit-learn."""
    if name == "_sklearn_version":
        return is_version(value)
    told = {
        "n_outputs_": 1,
        "n_classes_": len(fitted.classes) or 1,
        "n_features_in_": fitted.width,
        "n_features_": fitted.width,
    }
    return name in told and type(value) is int and value == told[name]


def is_version(value: object) -> bool:
    """Return whether a value is the version of a program."""
    return VERSION.fullmatch(str(value)) is not None


def is_setting(value: object) -> bool:
    """Return whether a value is a word of scikit-learn's settings, or a number that holds no more than a setting."""
    if isinstance(value, str):
        return value in WORDS
    is_number = value is None or isinstance(value, int | float)
    return is_number and len(repr(value)) <= LONGEST


def is_size(value: object) -> bool:
    """Return whether a value is a whole number that a size or a seed can be."""
    return type(value) is int and 0 <= value < 2**32


def _of_tree(tree: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what a fitted tree's state holds beside the arrays that are read."""
    state = tree.attributes()
    for name in state.keys() - {"nodes", "values", "max_depth", "node_count"}:
        yield Strange(state[name].steps, f"{name!r:.40}, which is not supported")
    nodes: Any = state["nodes"].array()
    if set(nodes.dtype.names or ()) - {*FIELDS, "missing_go_to_left"}:
        yield Strange(state["nodes"].steps, "a column of nodes that is not supported")
    is_leaf = nodes["left_child"] == LEAF
    for column in ("feature", "threshold"):
        if (nodes[column][is_leaf] != UNDEFINED).any():
            yield Strange(state["nodes"].steps, f"a {column} at leaves, which need none")
    for name, size in (("max_depth", _depth(nodes)), ("node_count", len(nodes))):
        if name in state and state[name].plain() != size:
            yield Strange(state[name].steps, f"{name!r}, which differs from that of the tree")
    made = tree.raw.get("__reduce__")
    if not isinstance(made, dict) or made.keys() != {"args"}:
        yield Strange((*tree.steps, "__reduce__"), "not how skops stores a tree")
        return
    arguments = tree.child(made["args"], "__reduce__", "args").items()
    told = [np.atleast_1d(np.asarray(argument.plain())).tolist() for argument in arguments]
    if told != [[fitted.width], [len(fitted.classes) or 1], [1]]:
        yield Strange((*tree.steps, "__reduce__"), "sizes that differ from those of the tree")


def _of_digits(tree: FilePart, fitted: Fitted, criterion: object) -> Iterator[Strange]:
    """Yield what in the arrays of a checked tree its counts do not give."""
    state = tree.attributes()
    nodes: Any = state["nodes"].array()
    columns = {name: nodes[name] for name in nodes.dtype.names}
    arrays = arrays_of(columns, state["values"].array(), tree.source, fitted.width)
    for name, what in odd_digits(arrays, is_class=bool(fitted.classes), criterion=criterion):
        yield Strange(state[name].steps, what)


def _depth(nodes: Any) -> int:  # noqa: ANN401  # an array with named fields
    """Return how many tests the longest path of a tree has; parents stand before their children."""
    depth = np.zeros(len(nodes), dtype=np.int64)
    for node in np.flatnonzero(nodes["left_child"] != LEAF):
        depth[[nodes["left_child"][node], nodes["right_child"][node]]] = depth[node] + 1
    return int(depth.max(initial=0))


# The bytes of arrays, and the numbers of objects: as a program without memory of its own would write them.


def clean_npy(data: bytes, where: str) -> bytes:
    """Return an array file with its numbers, and nothing in the bytes that belong to none.

    Raises:
        TreeFormatError: it is no array file that is read.
    """
    array = read_npy(data, where)
    if array.dtype.names is not None:
        array = _clean_nodes(array)
    return npy_of(array)


def npy_of(array: Array) -> bytes:
    """Return an array as the file that NumPy makes of it."""
    file = BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _clean_nodes(nodes: Any) -> Array:  # noqa: ANN401  # an array with named fields
    names = nodes.dtype.names
    clean: Any = np.zeros(nodes.shape, dtype=nodes.dtype)
    for name in names:
        clean[name] = nodes[name]
        if nodes[name].dtype.kind == "f":  # one of the many numbers that are none
            clean[name][np.isnan(nodes[name])] = np.nan
    if "missing_go_to_left" in names and "left_child" in names:
        to_left = clean["missing_go_to_left"]
        to_left[...] = np.where(clean["left_child"] == LEAF, 0, to_left != 0)
    if "bin_threshold" in names and "is_leaf" in names:
        _clean_bins(clean)
    cleaned: Array = clean
    return cleaned


def _clean_bins(nodes: Any) -> None:  # noqa: ANN401  # as above
    """Set what no prediction uses to 0 in nodes of boosting by bins: gains, and at leaves what only splits need."""
    is_leaf = nodes["is_leaf"] != 0
    for name in nodes.dtype.names:
        if name in UNUSED_OF_BINS:
            nodes[name] = 0
        elif name in ONLY_OF_LEAVES:
            nodes[name][~is_leaf] = 0
        elif name not in OF_ALL_NODES:
            nodes[name][is_leaf] = 0
