"""The parallel lists of ONNX tree operators as questions and leaves, in the old layout and the one of version 5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import ALL_NODES
from treewarden.ppdm_models.codecs.onnx.file import Operator, Value

Handle = tuple[int | str, ...]

MODES = {
    "BRANCH_LEQ": "<=",
    "BRANCH_LT": "<",
    "BRANCH_GTE": ">=",
    "BRANCH_GT": ">",
    "BRANCH_EQ": "==",
    "BRANCH_NEQ": "!=",
}
NEW_MODES = ("<=", "<", ">=", ">", "==", "!=", "in")


@dataclass(frozen=True, slots=True)
class Question:
    """One inner node: ``feature operator values``, where it leads, and whether a missing value answers yes."""

    feature: int
    operator: str
    values: tuple[float, ...]
    yes: Handle
    no: Handle
    missing_is_yes: bool


@dataclass(frozen=True, slots=True)
class Table:
    """The nodes of all trees by handle; a leaf adds weights to outputs."""

    roots: tuple[Handle, ...]
    questions: Mapping[Handle, Question]
    leaves: Mapping[Handle, tuple[tuple[int, float], ...]]


def read_table(operator: Operator) -> Table:
    """Return the nodes of a tree operator.

    Raises:
        TreeFormatError: its lists do not fit each other.
    """
    table = _new(operator) if operator.kind == "TreeEnsemble" else _old(operator)
    if not 0 < len(table.roots) <= limits.TREES:
        raise operator.refused(f"{len(table.roots):,} trees; give 1 to {limits.TREES:,}")
    if not all(math.isfinite(weight) for leaf in table.leaves.values() for _, weight in leaf):
        raise operator.refused("a leaf's weight is infinite")
    return table


def _old(operator: Operator) -> Table:
    of = "class" if operator.kind == "TreeEnsembleClassifier" else "target"
    keys = ints(operator, "nodes_nodeids")
    size = _checked(operator, len(keys))
    trees, features, yes, no = (
        ints(operator, f"nodes_{name}", size)
        for name in ("treeids", "featureids", "truenodeids", "falsenodeids")
    )
    modes = texts(operator, "nodes_modes", size)
    values = floats(operator, "nodes_values", size)
    tracks = ints(operator, "nodes_missing_value_tracks_true", size, optional=True)
    questions: dict[Handle, Question] = {}
    leaves: dict[Handle, list[tuple[int, float]]] = {}
    roots: dict[int, Handle] = {}
    for index in range(size):
        handle = (trees[index], keys[index])
        roots.setdefault(trees[index], handle)
        if handle in questions or handle in leaves:
            raise operator.refused(f"two nodes {keys[index]} in tree {trees[index]}")
        if modes[index] == "LEAF":
            leaves[handle] = []
            continue
        if modes[index] not in MODES:
            raise operator.refused(f"unknown mode {modes[index]!r}; have {', '.join(MODES)}")
        questions[handle] = Question(
            features[index],
            MODES[modes[index]],
            (values[index],),
            (trees[index], yes[index]),
            (trees[index], no[index]),
            bool(tracks[index]) or modes[index] == "BRANCH_NEQ",
        )
    _fill(operator, of, leaves)
    return Table(
        tuple(roots.values()), questions, {key: tuple(some) for key, some in leaves.items()}
    )


def _checked(operator: Operator, size: int) -> int:
    if size > ALL_NODES:
        raise operator.refused(f"{size:,} nodes are more than {ALL_NODES:,}")
    return size


def _fill(operator: Operator, of: str, leaves: dict[Handle, list[tuple[int, float]]]) -> None:
    """Give each leaf the weights that the operator lists for it."""
    outputs = ints(operator, f"{of}_ids")
    size = len(outputs)
    trees, nodes = (ints(operator, f"{of}_{name}", size) for name in ("treeids", "nodeids"))
    weights = floats(operator, f"{of}_weights", size)
    for tree, node, output, weight in zip(trees, nodes, outputs, weights, strict=True):
        if (tree, node) not in leaves:
            raise operator.refused(f"a weight for node {node} of tree {tree}, which is no leaf")
        leaves[tree, node].append((output, weight))


def _new(operator: Operator) -> Table:
    features = ints(operator, "nodes_featureids")
    size = _checked(operator, len(features))
    modes, yes, no, yes_ends, no_ends = (
        ints(operator, f"nodes_{name}", size)
        for name in ("modes", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    )
    splits = floats(operator, "nodes_splits", size, nan=True)
    tracks = ints(operator, "nodes_missing_value_tracks_true", size, optional=True)
    sets = iter(_sets(operator))
    outputs = ints(operator, "leaf_targetids")
    weights = floats(operator, "leaf_weights", len(outputs))
    questions: dict[Handle, Question] = {}
    leaves: dict[Handle, tuple[tuple[int, float], ...]] = {}
    for index in range(size):
        ways: list[Handle] = []
        for side, child, ends in ((1, yes[index], yes_ends[index]), (0, no[index], no_ends[index])):
            ways.append(("leaf", child, index, side) if ends else ("node", child))
            if ends and not 0 <= child < len(outputs):
                raise operator.refused(f"no leaf {child}")
            if ends:
                leaves[ways[-1]] = ((outputs[child], weights[child]),)
        if not 0 <= modes[index] < len(NEW_MODES):
            raise operator.refused(f"unknown mode {modes[index]}")
        mode = NEW_MODES[modes[index]]
        values = next(sets, ()) if mode == "in" else (splits[index],)
        if any(map(math.isnan, values)):
            raise operator.refused("a threshold that is not a number")
        missing_is_yes = bool(tracks[index]) or mode == "!="
        questions["node", index] = Question(
            features[index], mode, values, ways[0], ways[1], missing_is_yes
        )
    roots = tuple(("node", root) for root in ints(operator, "tree_roots"))
    return Table(roots, questions, leaves)


def _sets(operator: Operator) -> list[tuple[float, ...]]:
    """Return the sets of the nodes that test membership, in their order: the list holds NaN after each."""
    found: list[tuple[float, ...]] = []
    current: list[float] = []
    for value in floats(operator, "membership_values", optional=True, nan=True):
        if math.isnan(value):
            found.append(tuple(current))
            current = []
        else:
            current.append(value)
    return [*found, tuple(current)] if current else found


def ints(
    operator: Operator, name: str, size: int | None = None, *, optional: bool = False
) -> list[int]:
    """Return a list of whole numbers of the operator; zeros where it is optional and absent.

    Raises:
        TreeFormatError: it is absent, has another type, or another length.
    """
    value = _list(operator, name, size, optional=optional)
    if not all(type(item) is int for item in value):
        raise operator.refused(f"{name} holds other things than whole numbers")
    return value  # type: ignore[return-value]  # checked in the line above


def floats(
    operator: Operator,
    name: str,
    size: int | None = None,
    *,
    optional: bool = False,
    nan: bool = False,
) -> list[float]:
    """Return a list of numbers, from the attribute of the name or its tensor of 64-bit numbers."""
    tensor = f"{name}_as_tensor"
    key = tensor if operator.attributes.get(tensor) else name
    value = _list(operator, key, size, optional=optional)
    if not all(isinstance(item, int | float) for item in value):
        raise operator.refused(f"{name} holds other things than numbers")
    if not nan and any(map(math.isnan, value)):  # type: ignore[arg-type]  # numbers, see above
        raise operator.refused(f"{name} holds something that is not a number")
    return [float(item) for item in value]


def texts(operator: Operator, name: str, size: int | None = None) -> list[str]:
    """Return a list of texts of the operator."""
    value = _list(operator, name, size, optional=False)
    if not all(isinstance(item, str) for item in value):
        raise operator.refused(f"{name} holds other things than text")
    return value  # type: ignore[return-value]  # checked in the line above


def _list(
    operator: Operator, name: str, size: int | None, *, optional: bool
) -> list[int] | list[float] | list[str]:
    value: Value | None = operator.attributes.get(name)
    if optional and not value:
        return [0] * (size or 0)
    if not isinstance(value, list):
        raise operator.refused(f"no list {name}")
    if size is not None and len(value) != size:
        raise operator.refused(f"{name} has {len(value)} entries, where {size} are expected")
    return value
