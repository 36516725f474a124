"""Opens an ONNX model (protobuf, or the same as JSON) and takes out its one tree operator and what feeds it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ppdm_models import limits
from ppdm_models.codecs.common.json import opens_json, read_json
from ppdm_models.errors import TreeFormatError

OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")
PASSES_ON = ("Identity", "Cast")
DOUBLE = 11
"""The number of 64-bit floats among ONNX's types; whatever else comes in is compared as 32-bit floats."""

Value = int | float | str | list[int] | list[float] | list[str]


@dataclass(frozen=True, slots=True)
class Operator:
    """A tree operator: its attributes as plain values, and its input.

    ``inputs`` names what the input is made of, in order (None: made by other operators); ``width`` is its declared
    number of columns, where it says so.
    """

    kind: str
    attributes: dict[str, Value]
    inputs: tuple[str, ...] | None
    double: bool
    source: str

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
    graph = _model(data, source).graph
    found = [node for node in graph.node if node.op_type in OPERATORS]
    if len(found) != 1:
        raise TreeFormatError(source, f"{len(found)} tree operators; give a model with one")
    node = found[0]
    if len(node.input) != 1:
        raise TreeFormatError(source, f"a tree operator with {len(node.input)} inputs; it has one")
    types = {item.name: item.type.tensor_type for item in graph.input}
    lone = types.get(node.input[0])
    attributes = {item.name: _value(item, source) for item in node.attribute}
    return Operator(
        kind=node.op_type,
        attributes=attributes,
        inputs=_inputs(graph, node.input[0], types),
        double=lone is not None and lone.elem_type == DOUBLE,
        source=source,
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


def _inputs(graph: Any, name: str, types: dict[str, Any]) -> tuple[str, ...] | None:  # noqa: ANN401  # see _model
    """Follow copies, casts and concatenations back to the inputs of the model: one name per column."""
    makers = {output: node for node in graph.node for output in node.output}
    columns: list[str] = []
    stack, steps = [name], 0
    while stack:
        current, steps = stack.pop(), steps + 1
        if max(steps, len(stack), len(columns)) > limits.FEATURES:
            return None
        maker = makers.get(current)
        if maker is None and current in types:
            width = _width(types[current])
            many = len(types) > 1 and width != 1
            columns.extend(f"{current}[{index}]" for index in range(width) if many)
            columns.extend([current] if width == 1 and len(types) > 1 else [])
            if len(types) == 1:
                columns.extend(f"f{index}" for index in range(width))
        elif maker is not None and maker.op_type in (*PASSES_ON, "Concat"):
            stack.extend(reversed(maker.input))
        else:
            return None
    return tuple(columns)


def _width(tensor: Any) -> int:  # noqa: ANN401  # see _model
    sizes = tensor.shape.dim
    width = int(sizes[-1].dim_value) if len(sizes) > 1 else 0
    return min(max(width, 0), limits.FEATURES)
