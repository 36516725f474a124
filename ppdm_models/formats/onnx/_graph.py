"""The operators of an ONNX graph: who makes which value, and what subgraphs and functions hold."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TreeFormatError

TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")
OF_TREES = "ai.onnx.ml"
STANDARD = ("", "ai.onnx")
MOST_OPERATORS = 50_000
"""Graphs with more operators are refused: trees are written as one."""
MOST_CONSTANTS = 100_000
"""Constants with more numbers than these are not looked at."""
DEEPEST = 100


@dataclass(frozen=True, slots=True, eq=False)
class OnnxGraph:
    """The outer graph: its ``makers`` by the name of what they make, its ``inputs`` by name, and its ``outputs``.

    ``constants`` are the tensors that stand in it, by name; they are read when they are asked for.
    """

    source: str
    makers: Mapping[str, Any]
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    constants: Mapping[str, Any]

    def constant(self, name: str) -> FloatArray | list[str] | None:
        """Return a constant as numbers or texts, flattened; None for what is none, too large, or of another type."""
        tensor = self.constants.get(name)
        if tensor is None or math.prod(map(abs, tensor.dims)) > MOST_CONSTANTS:
            return None
        if tensor.data_location == tensor.EXTERNAL:
            return None
        try:
            values = importlib.import_module("onnx.numpy_helper").to_array(tensor)
        except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
            problem = f"the constant {name[:40]!r} is damaged ({str(error)[:200]})"
            raise TreeFormatError(self.source, problem) from error
        if values.dtype.kind in "iufb":
            return np.asarray(values, dtype=np.float64).reshape(-1)
        return [_text(value) for value in values.reshape(-1).tolist()]


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def kind_of(node: Any) -> str:  # noqa: ANN401  # protobuf classes have no types
    """Return the name of an operator, with its domain where that is none of the standard's."""
    name, domain = str(node.op_type)[:60], str(node.domain)[:60]
    return name if domain in (*STANDARD, OF_TREES) else f"{domain}.{name}"


def is_of_trees(node: Any) -> bool:  # noqa: ANN401  # see kind_of
    """Whether an operator holds trees."""
    return node.op_type in TREES and node.domain == OF_TREES


def tree_operator(model: Any, source: str) -> Any:  # noqa: ANN401  # see kind_of
    """Return the one operator that holds trees.

    Raises:
        TreeFormatError: there is none, or several; or it stands where it may be applied otherwise: in a branch, a loop
            or a function.
    """
    found = [node for node in model.graph.node if is_of_trees(node)]
    inner = [where for where, node in _inner(model, source) if is_of_trees(node)]
    if inner:
        raise TreeFormatError(
            source,
            f"trees inside {inner[0]} are not supported; give a graph with one tree operator",
        )
    if len(found) != 1:
        raise TreeFormatError(
            source, f"the model has {len(found)} tree operators; give a model with one"
        )
    return found[0]


def _inner(model: Any, source: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # see kind_of
    """Yield the operators that stand in branches, loops and functions, each with a word for where."""
    stack: list[tuple[str, Any, int]] = [("", node, 0) for node in model.graph.node]
    stack += [
        (f"a function ({str(function.name)[:60]})", n, 1)
        for function in model.functions
        for n in function.node
    ]
    seen = 0
    while stack:
        where, node, depth = stack.pop()
        seen += 1
        if seen > MOST_OPERATORS or depth > DEEPEST:
            raise TreeFormatError(
                source,
                f"it has more than {MOST_OPERATORS:,} operators, or operators "
                f"nested deeper than {DEEPEST}, which are the limits; give a "
                "simpler graph",
            )
        if where:
            yield where, node
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
            said = where or f"a part of the operator {kind_of(node)}"
            stack += [(said, one, depth + 1) for graph in graphs for one in graph.node]


def read_graph(graph: Any, source: str, trees: Any) -> OnnxGraph:  # noqa: ANN401  # see kind_of
    """Return the outer graph; of one that declares no inputs those of its ``trees`` are taken to be some.

    Raises:
        TreeFormatError: it has too many operators, two make the same value, or one reads what nothing makes.
    """
    if len(graph.node) > MOST_OPERATORS:
        raise TreeFormatError(
            source,
            f"the graph has {len(graph.node):,} operators; give a graph with at "
            f"most {MOST_OPERATORS:,}",
        )
    constants = {tensor.name: tensor for tensor in graph.initializer}
    inputs = {item.name: item for item in graph.input if item.name not in constants}
    sparse = {tensor.values.name for tensor in graph.sparse_initializer}
    makers: dict[str, Any] = {}
    for node in graph.node:
        for name in node.output:
            if name and (name in makers or name in inputs or name in constants):
                raise TreeFormatError(source, f"two operators produce {name[:60]!r}")
            makers[name] = node
        if node.op_type == "Constant" and node.domain in STANDARD and len(node.output) == 1:
            value = [each.t for each in node.attribute if each.name == "value"]
            constants |= {node.output[0]: value[0]} if value else {}
    outputs = tuple(item.name for item in graph.output)
    undeclared = () if graph.input else trees.input
    known = {"", *undeclared, *makers, *inputs, *constants, *sparse}
    for node in graph.node:
        lacking = next((name for name in node.input if name not in known), None)
        if lacking is not None:
            problem = (
                f"the operator {kind_of(node)} reads {lacking[:60]!r}, which no operator produces"
            )
            raise TreeFormatError(source, problem)
    missing = next((name for name in outputs if name not in known), None)
    if missing is not None:
        raise TreeFormatError(source, f"no operator produces its output {missing[:60]!r}")
    return OnnxGraph(source, makers, inputs, outputs, constants)


def in_order(graph: OnnxGraph, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the operators that some values come from, each behind those whose values it reads.

    Raises:
        TreeFormatError: operators read each other's values in a circle.
    """
    state: dict[int, bool] = {}
    stack = [(graph.makers[name], False) for name in reversed(names) if name in graph.makers]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            state[id(node)] = True
            yield node
            continue
        if id(node) in state:
            if not state[id(node)]:
                raise TreeFormatError(
                    graph.source, f"the operator {kind_of(node)} depends on its own value"
                )
            continue
        state[id(node)] = False
        stack.append((node, True))
        makers = [graph.makers[name] for name in node.input if name in graph.makers]
        stack += [(maker, False) for maker in makers if not state.get(id(maker), False)]


def setting(node: Any, name: str, default: object) -> object:  # noqa: ANN401  # see kind_of
    """Return an attribute that is a number, a text or a list of them; None for one of another type."""
    for item in node.attribute:
        if item.name != name:
            continue
        if item.type == item.INT:
            return int(item.i)
        if item.type == item.FLOAT:
            return float(item.f)
        if item.type == item.STRING:
            return _text(item.s)
        if item.type == item.INTS:
            return list(item.ints)
        if item.type == item.FLOATS:
            return list(item.floats)
        if item.type == item.STRINGS:
            return [_text(text) for text in item.strings]
        return None
    return default
