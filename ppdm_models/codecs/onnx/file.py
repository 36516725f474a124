"""Opens an ONNX model (protobuf, or the same as JSON) and takes out its one tree operator and what feeds it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.json import opens_json, read_json
from treewarden.ppdm_models.codecs.onnx.graph import (
    STANDARD,
    Graph,
    in_order,
    kind_of,
    read_graph,
    setting,
    tree_operator,
)
from treewarden.ppdm_models.errors import TreeFormatError

FLOATS = (1, 11)
"""The numbers that ONNX gives to floating numbers of 32 and of 64 bits."""
DOUBLE = 11
"""The number of 64-bit floats among ONNX's types; whatever else comes in is compared as 32-bit floats."""

Value = int | float | str | list[int] | list[float] | list[str]


@dataclass(frozen=True, slots=True)
class Operator:
    """A tree operator: its attributes as plain values, and its input.

    ``inputs`` names what the input is made of, in order (None: made by other operators, which ``before`` names).
    """

    kind: str
    attributes: dict[str, Value]
    inputs: tuple[str, ...] | None
    double: bool
    source: str
    graph: Graph
    before: tuple[str, ...] = ()

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
        raise TreeFormatError(source, f"a tree operator with {len(node.input)} inputs; it has one")
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
    )


def _model(data: bytes, source: str) -> Any:  # noqa: ANN401  # protobuf classes have no types
    onnx, json_format, message = _library(source)
    try:
        if opens_json(data) != b"{":
            return onnx.load_model_from_string(data)
        read_json(data, source)
        return json_format.Parse(data, onnx.ModelProto())
    except (message.DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
        raise TreeFormatError(source, f"no ONNX model ({str(error)[:200]})") from error


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
        raise TreeFormatError(f"{source}: {attribute.name}", "text that is not UTF-8") from error
    raise TreeFormatError(f"{source}: {attribute.name}", "an attribute of an unexpected type")


def _tensor(tensor: Any, where: str) -> list[float] | list[int]:  # noqa: ANN401  # see _model
    numpy_helper = importlib.import_module("onnx.numpy_helper")
    if tensor.data_location == tensor.EXTERNAL:
        raise TreeFormatError(where, "stands in another file, which is not opened")
    try:
        values = numpy_helper.to_array(tensor)
        flat: list[float] | list[int] = values.ravel().tolist()
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise TreeFormatError(where, f"a damaged tensor ({str(error)[:200]})") from error
    if values.ndim != 1 or not all(type(item) in (int, float) for item in flat):
        raise TreeFormatError(where, "a tensor that is no list of numbers")
    return flat


def _inputs(graph: Graph, name: str) -> tuple[str, ...] | None:
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
