"""Opens an ONNX model (protobuf, or the same as JSON) and takes out its one tree operator and what feeds it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import opens_json, read_json
from treewarden.ppdm_models.formats.common.node_order import ALL_NODES
from treewarden.ppdm_models.formats.onnx._graph import (
    STANDARD,
    OnnxGraph,
    in_order,
    kind_of,
    read_graph,
    setting,
    tree_operator,
)

FLOATS = (1, 11)
"""The numbers that ONNX gives to floating numbers of 32 and of 64 bits."""
DOUBLE = 11
"""The number of 64-bit floats among ONNX's types; whatever else comes in is compared as 32-bit floats."""

Value = int | float | str | list[int] | list[float] | list[str]


@dataclass(frozen=True, slots=True)
class Operator:
    """A tree operator: its attributes as plain values, and its input.

    ``inputs`` names what the input is made of, in order (None: made by other operators, which ``before`` names);
    ``model`` is the whole file.
    """

    kind: str
    attributes: dict[str, Value]
    inputs: tuple[str, ...] | None
    double: bool
    source: str
    graph: OnnxGraph
    before: tuple[str, ...] = ()
    model: Any = None

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.source}: {self.kind}"

    def refused(self, problem: str) -> TreeFormatError:
        """Return the error that something about the operator is wrong."""
        return TreeFormatError(self.where, problem)


def read_operator(data: bytes, source: str) -> Operator:
    """Return the tree operator of an ONNX model.

    Raises:
        TreeFormatError: the library is not there, the bytes are no ONNX model, or it has no tree operator or several.
    """
    model = _model(data, source)
    node = tree_operator(model, source)
    if len(node.input) != 1:
        raise TreeFormatError(
            source,
            f"the tree operator has {len(node.input)} inputs; give a model "
            "whose tree operator has one",
        )
    graph = read_graph(model.graph, source, node)
    makers = list(in_order(graph, (node.input[0],)))
    lone = graph.inputs.get(node.input[0])
    attributes = {item.name: _value(item, source) for item in node.attribute}
    inputs = _inputs(graph, node.input[0])
    working = (kind_of(maker) for maker in makers if not _passes_on(maker))
    before = () if inputs is not None else tuple(dict.fromkeys(working)) or ("a constant",)
    return Operator(
        kind=node.op_type,
        attributes=attributes,
        inputs=inputs,
        double=lone is not None and lone.type.tensor_type.elem_type == DOUBLE,
        source=source,
        graph=graph,
        before=before,
        model=model,
    )


def _model(data: bytes, source: str) -> Any:  # noqa: ANN401  # protobuf classes have no types
    onnx, json_format, message = _library(source)
    try:
        if opens_json(data) != b"{":
            return onnx.load_model_from_string(data)
        read_json(data, source)
        return json_format.Parse(data, onnx.ModelProto())
    except (message.DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
        raise TreeFormatError(source, f"not a valid ONNX model ({str(error)[:200]})") from error


def _library(source: str) -> tuple[ModuleType, ModuleType, ModuleType]:
    """Return the optional library's modules, imported only where an ONNX model is read."""
    names = ("onnx", "google.protobuf.json_format", "google.protobuf.message")
    try:
        onnx, json_format, message = (importlib.import_module(name) for name in names)
    except ImportError as error:
        raise TreeFormatError(
            source, "reading ONNX needs a library; pip install 'treewarden[onnx]'"
        ) from error
    return onnx, json_format, message


def _value(attribute: Any, source: str) -> Value:  # noqa: ANN401  # see _model
    """Return an attribute as a plain value; tensors become lists."""
    kind = attribute.type
    if kind == attribute.TENSOR:
        return _tensor(attribute.t, f"{source}: {attribute.name}")
    if kind in (attribute.INT, attribute.FLOAT):
        return int(attribute.i) if kind == attribute.INT else float(attribute.f)
    if kind == attribute.INTS:
        return [int(item) for item in attribute.ints]
    if kind == attribute.FLOATS:
        return [float(item) for item in attribute.floats]
    try:
        if kind == attribute.STRING:
            return str(attribute.s.decode("utf-8"))
        if kind == attribute.STRINGS:
            return [item.decode("utf-8") for item in attribute.strings]
    except UnicodeDecodeError as error:
        raise TreeFormatError(f"{source}: {attribute.name}", "a text is not UTF-8") from error
    raise TreeFormatError(f"{source}: {attribute.name}", "an attribute has an unexpected type")


def _tensor(tensor: Any, where: str) -> list[float] | list[int]:  # noqa: ANN401  # see _model
    numpy_helper = importlib.import_module("onnx.numpy_helper")
    if tensor.data_location == tensor.EXTERNAL:
        raise TreeFormatError(
            where, "is stored in another file, which is not opened; export the model as one file"
        )
    try:
        values = numpy_helper.to_array(tensor)
        flat: list[float] | list[int] = values.ravel().tolist()
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise TreeFormatError(where, f"a tensor is damaged ({str(error)[:200]})") from error
    if values.ndim != 1 or not all(type(item) in (int, float) for item in flat):
        raise TreeFormatError(where, "a tensor is not a list of numbers")
    return flat


def _inputs(graph: OnnxGraph, name: str) -> tuple[str, ...] | None:
    """Follow copies, casts and concatenations back to the inputs of the model: one name per column.

    None where other operators make the columns, or an input beside others has no width.
    """
    columns: list[str] = []
    stack, steps = [name], 0
    while stack:
        current, steps = stack.pop(), steps + 1
        if max(steps, len(stack), len(columns)) > limits.FEATURES:
            return None
        maker = graph.makers.get(current)
        if maker is None and current in graph.inputs:
            tensor = graph.inputs[current].type.tensor_type
            width, is_alone = _width(tensor), len(graph.inputs) == 1
            if not is_alone and not width:
                return None
            if is_alone:
                columns.extend(f"f{index}" for index in range(width))
            else:
                many = [f"{current}[{index}]" for index in range(width)]
                columns.extend(many if width > 1 else [current])
        elif maker is not None and _passes_on(maker):
            stack.extend(reversed(maker.input))
        else:
            return None
    return tuple(columns)


def _passes_on(node: Any) -> bool:  # noqa: ANN401  # see _model
    """Whether an operator leaves the columns that it reads as they are, one beside the other."""
    if node.domain not in STANDARD:
        return False
    if node.op_type == "Cast":
        return setting(node, "to", 1) in FLOATS
    return node.op_type == "Identity" or (
        node.op_type == "Concat" and setting(node, "axis", 0) in (1, -1)
    )


def _width(tensor: Any) -> int:  # noqa: ANN401  # see _model
    sizes = tensor.shape.dim
    width = int(sizes[-1].dim_value) if len(sizes) > 1 else 0
    return min(max(width, 0), limits.FEATURES)


# The parallel lists of ONNX tree operators as questions and leaves, in the old layout and the one of version 5.

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
class OnnxNode:
    """One inner node: ``feature operator values``, where it leads, and whether a missing value answers yes."""

    feature: int
    operator: str
    values: tuple[float, ...]
    yes: Handle
    no: Handle
    missing_is_yes: bool


@dataclass(frozen=True, slots=True)
class OnnxTable:
    """The nodes of all trees by handle; a leaf adds weights to outputs."""

    roots: tuple[Handle, ...]
    questions: Mapping[Handle, OnnxNode]
    leaves: Mapping[Handle, tuple[tuple[int, float], ...]]


def read_table(operator: Operator) -> OnnxTable:
    """Return the nodes of a tree operator.

    Raises:
        TreeFormatError: its lists do not fit each other.
    """
    table = _new(operator) if operator.kind == "TreeEnsemble" else _old(operator)
    if not 0 < len(table.roots) <= limits.TREES:
        raise operator.refused(
            f"contains {len(table.roots):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    if not all(math.isfinite(weight) for leaf in table.leaves.values() for _, weight in leaf):
        raise operator.refused("a leaf's weight is infinite")
    return table


def _old(operator: Operator) -> OnnxTable:
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
    questions: dict[Handle, OnnxNode] = {}
    leaves: dict[Handle, list[tuple[int, float]]] = {}
    roots: dict[int, Handle] = {}
    for index in range(size):
        handle = (trees[index], keys[index])
        roots.setdefault(trees[index], handle)
        if handle in questions or handle in leaves:
            raise operator.refused(f"tree {trees[index]} has two nodes {keys[index]}")
        if modes[index] == "LEAF":
            leaves[handle] = []
            continue
        if modes[index] not in MODES:
            raise operator.refused(
                f"unknown mode {modes[index]!r}; known values: {', '.join(MODES)}"
            )
        questions[handle] = OnnxNode(
            features[index],
            MODES[modes[index]],
            (values[index],),
            (trees[index], yes[index]),
            (trees[index], no[index]),
            bool(tracks[index]) or modes[index] == "BRANCH_NEQ",
        )
    _fill(operator, of, leaves)
    return OnnxTable(
        tuple(roots.values()), questions, {key: tuple(some) for key, some in leaves.items()}
    )


def _checked(operator: Operator, size: int) -> int:
    if size > ALL_NODES:
        raise operator.refused(
            f"{size:,} nodes are more than the limit of {ALL_NODES:,}; train a smaller model"
        )
    return size


def _fill(operator: Operator, prefix: str, leaves: dict[Handle, list[tuple[int, float]]]) -> None:
    """Give each leaf the weights that the operator lists for it."""
    outputs = ints(operator, f"{prefix}_ids")
    size = len(outputs)
    trees, nodes = (ints(operator, f"{prefix}_{name}", size) for name in ("treeids", "nodeids"))
    weights = floats(operator, f"{prefix}_weights", size)
    for tree, node, output, weight in zip(trees, nodes, outputs, weights, strict=True):
        if (tree, node) not in leaves:
            raise operator.refused(f"node {node} of tree {tree} has a weight, but is not a leaf")
        leaves[tree, node].append((output, weight))


def _new(operator: Operator) -> OnnxTable:
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
    questions: dict[Handle, OnnxNode] = {}
    leaves: dict[Handle, tuple[tuple[int, float], ...]] = {}
    for index in range(size):
        ways: list[Handle] = []
        for side, child, ends in ((1, yes[index], yes_ends[index]), (0, no[index], no_ends[index])):
            ways.append(("leaf", child, index, side) if ends else ("node", child))
            if ends and not 0 <= child < len(outputs):
                raise operator.refused(f"leaf {child} does not exist")
            if ends:
                leaves[ways[-1]] = ((outputs[child], weights[child]),)
        if not 0 <= modes[index] < len(NEW_MODES):
            raise operator.refused(f"unknown mode {modes[index]}")
        mode = NEW_MODES[modes[index]]
        values = next(sets, ()) if mode == "in" else (splits[index],)
        if any(map(math.isnan, values)):
            raise operator.refused("a threshold is not a number")
        missing_is_yes = bool(tracks[index]) or mode == "!="
        questions["node", index] = OnnxNode(
            features[index], mode, values, ways[0], ways[1], missing_is_yes
        )
    roots = tuple(("node", root) for root in ints(operator, "tree_roots"))
    return OnnxTable(roots, questions, leaves)


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
        raise operator.refused(f"{name} contains something that is not a whole number")
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
        raise operator.refused(f"{name} contains something that is not a number")
    if not nan and any(map(math.isnan, value)):  # type: ignore[arg-type]  # numbers, see above
        raise operator.refused(f"{name} contains something that is not a number")
    return [float(item) for item in value]


def texts(operator: Operator, name: str, size: int | None = None) -> list[str]:
    """Return a list of texts of the operator."""
    value = _list(operator, name, size, optional=False)
    if not all(isinstance(item, str) for item in value):
        raise operator.refused(f"{name} contains something that is not text")
    return value  # type: ignore[return-value]  # checked in the line above


def _list(
    operator: Operator, name: str, size: int | None, *, optional: bool
) -> list[int] | list[float] | list[str]:
    value: Value | None = operator.attributes.get(name)
    if optional and not value:
        return [0] * (size or 0)
    if not isinstance(value, list):
        raise operator.refused(f"the list {name} is missing")
    if size is not None and len(value) != size:
        raise operator.refused(f"{name} has {len(value)} entries, but {size} are expected")
    return value
