"""An ONNX model written from its trees alone, so that whatever else a file holds shows as a difference from it.

Trees are numbered anew in preorder, values of the graph get names of their own, and of the operators around the trees
only copies, casts, concatenated inputs and names of classes can stay. A file that is accounted for in full has nothing
else: no descriptions, metadata, further tensors or operators, no numbers of leaves that only splits need, no bytes of
unknown fields.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.onnx._file import (
    DOUBLE,
    MODES,
    Handle,
    OnnxTable,
    Operator,
    floats,
    texts,
)
from treewarden.ppdm_models.formats.onnx._graph import (
    OF_TREES,
    STANDARD,
    is_of_trees,
    kind_of,
    setting,
)
from treewarden.ppdm_models.formats.onnx._scores import Meaning

INPUTS = ("X", "input", "inputs", "float_input", "features", "input.1")
OUTPUTS = (
    *("label", "output_label", "probabilities", "output_probability", "variable", "variable1"),
    *("predictions", "prediction", "output", "scores", "class_labels"),
)
"""What programs call the inputs and outputs of trees; any other name that is no column's is replaced."""
PRODUCERS = ("", "skl2onnx", "OnnxMLTools", "CatBoost", "onnxmltools")
WORDS = {mode: word for word, mode in MODES.items()}
INT64, STRING, FLOAT = 7, 8, 1
NUMBERS = (1, 6, 7, 9, 11)
"""Types of numbers that go in or come out: floats, whole numbers and truth values."""
CASTS = (*NUMBERS, STRING)
NEWEST = 40
"""Versions of ONNX and its operators are numbers up to this one."""
GRAPH = "trees"
MOST_OUTPUTS = 2


@dataclass(frozen=True, slots=True)
class _Made:
    """A value of the graph by how it is made; ``of`` are the values that are read."""

    kind: str
    of: tuple[_Made, ...] = ()
    to: int = 0
    name: str = ""


def plain_bytes(model: Any, operator: Operator, table: OnnxTable, meaning: Meaning) -> bytes:  # noqa: ANN401  # protobuf
    """Return the file that holds the trees, what goes in and what comes out, and nothing else.

    Raises:
        UnwritableError: something around the trees is not known to be a part of every such model.
    """
    onnx = importlib.import_module("onnx")
    trees = _trees_of(model)
    outputs = [_made(operator, item.name) for item in model.graph.output]
    fed = _made(operator, trees.input[0])
    _check(operator, table, outputs, fed)
    writer = _Writer(onnx.helper, operator, meaning, _attributes(operator, table, meaning))
    graph = writer.graph(model.graph, outputs, fed)
    opsets = [
        onnx.helper.make_opsetid(domain, version)
        for domain, version in sorted(_opsets(model).items())
    ]
    if not 1 <= model.ir_version <= NEWEST:
        raise UnwritableError("its version of ONNX")
    plain = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=model.ir_version)
    if model.producer_name in PRODUCERS:
        plain.producer_name = model.producer_name
    data: bytes = plain.SerializeToString(deterministic=True)
    return data


def _trees_of(model: Any) -> Any:  # noqa: ANN401  # protobuf
    return next(node for node in model.graph.node if is_of_trees(node))


def _opsets(model: Any) -> Mapping[str, int]:  # noqa: ANN401  # protobuf
    """Return the version of each set of operators that is needed."""
    found: dict[str, int] = {}
    for item in model.opset_import:
        domain = "" if item.domain in STANDARD else item.domain
        if domain in ("", OF_TREES):
            found.setdefault(domain, item.version)
    if OF_TREES not in found or not all(0 < version <= NEWEST for version in found.values()):
        raise UnwritableError("the versions of its operators")
    return found


# The nodes of the graph that make its values.


def _made(operator: Operator, name: str, depth: int = 0) -> _Made:
    """Return how a value is made, without copies."""
    graph = operator.graph
    maker = graph.makers.get(name)
    if maker is None:
        if name in graph.inputs or not graph.inputs:
            return _Made("input", name=name)
        raise UnwritableError("a constant outside the trees")
    if depth > 8:
        raise UnwritableError("many operators in a row")
    if is_of_trees(maker):
        if list(maker.output).count(name) != 1:
            raise UnwritableError("an output of the trees that occurs twice")
        return _Made("trees", to=list(maker.output).index(name))
    kind = kind_of(maker)
    if maker.domain not in (*STANDARD, OF_TREES) or kind not in (
        "Identity",
        "Cast",
        "Concat",
        "ZipMap",
    ):
        raise UnwritableError(f"the operator {kind}")
    if (kind == "ZipMap") is not (maker.domain == OF_TREES):
        raise UnwritableError(f"the operator {kind}")
    if len(maker.output) != 1 or (kind != "Concat" and len(maker.input) != 1):
        raise UnwritableError(f"the operator {kind}, with more inputs or outputs than it has")
    of = tuple(_made(operator, each, depth + 1) for each in maker.input)
    if kind == "Identity":
        return of[0]
    if kind == "Cast":
        to = setting(maker, "to", 0)
        if not isinstance(to, int) or to not in CASTS:
            raise UnwritableError("a Cast to another type than text or a number")
        return _Made(kind, of, to)
    return _Made(kind, of, to=1 if setting(maker, "axis", 0) in (1, -1) else -9)


def _check(operator: Operator, table: OnnxTable, outputs: Sequence[_Made], fed: _Made) -> None:
    """Refuse chains that could be of any length, in which a message may stand."""
    if len(set(outputs)) < len(outputs) or not 0 < len(outputs) <= MOST_OUTPUTS:
        raise UnwritableError("the number of its outputs")
    places = []
    for made in outputs:
        kinds, current = [], made
        while current.of:
            kinds.append(current.kind)
            current = current.of[0]
        if current.kind != "trees" or kinds not in ([], ["Cast"], ["ZipMap"], ["ZipMap", "Cast"]):
            raise UnwritableError("the operators after its trees")
        is_labels = operator.kind == "TreeEnsembleClassifier" and current.to == 0
        if "ZipMap" in kinds and (is_labels or operator.kind != "TreeEnsembleClassifier"):
            raise UnwritableError("class names, although it predicts a number")
        places.append(current.to)
    if len(set(places)) < len(places):
        raise UnwritableError("an output that occurs twice")
    inner = fed.of[0] if fed.kind == "Cast" else fed
    if inner.kind == "Concat" and inner.to == 1 and len(inner.of) == len(operator.inputs or ()):
        inputs = [part.of[0] if part.kind == "Cast" else part for part in inner.of]
    else:
        inputs = [inner]
    names = [part.name for part in inputs]
    used = 1 + max((question.feature for question in table.questions.values()), default=-1)
    if operator.inputs and len(operator.inputs) < used:
        raise UnwritableError("an input of fewer columns than its trees test")
    if any(part.kind != "input" for part in inputs) or len(set(names)) < len(names):
        raise UnwritableError("the operators before its trees")
    if len(inputs) > 1 and names != list(operator.inputs or ()):
        raise UnwritableError("inputs of several columns")


class _Writer:
    """Writes the graph: each value once, behind those that it is made of."""

    def __init__(
        self,
        helper: Any,  # noqa: ANN401  # a module of an optional library
        operator: Operator,
        meaning: Meaning,
        attributes: Mapping[str, Any],
    ) -> None:
        self.helper, self.operator, self.meaning = helper, operator, meaning
        self.attributes = attributes
        self.nodes: list[Any] = []
        self.names: dict[_Made, str] = {}
        self.inputs: list[Any] = []

    def graph(self, old: Any, outputs: Sequence[_Made], fed: _Made) -> Any:  # noqa: ANN401  # protobuf
        """Return the graph with all values named anew, but for those outside that have a usual name."""
        columns = set(self.operator.inputs or ())
        for place, made in enumerate(_inputs_of(fed)):
            item = self.operator.graph.inputs.get(made.name)
            is_usual = made.name in INPUTS or made.name in columns
            name = made.name if is_usual else f"X{place or ''}"
            self.inputs.append(self._input(item, name))
            self.names[made] = name
        taken = {*INPUTS, *columns, *self.names.values()}
        for place, (made, item) in enumerate(zip(outputs, old.output, strict=True)):
            is_usual = item.name in OUTPUTS and item.name not in taken
            usual = "label" if self._is_label(made) else "probabilities"
            self.names[made] = item.name if is_usual else f"{usual}{place or ''}"
        if len(set(self.names.values())) < len(self.names):
            raise UnwritableError("names that inputs and outputs share")
        for made in outputs:
            self._write(made, fed)
        results = [self._output(made) for made in outputs]
        return self.helper.make_graph(self.nodes, GRAPH, self.inputs, results)

    def _write(self, made: _Made, fed: _Made) -> str:
        """Return the name of a value, and write what makes it if nothing does yet."""
        if made.kind == "input":
            return self.names[made]
        if made.kind == "trees":
            return self._write_trees(made.to, fed)
        read = [self._write(part, fed) for part in made.of]
        name = self.names.setdefault(made, f"value{len(self.names)}")
        more: dict[str, Any] = {}
        if made.kind == "Cast":
            more = {"to": made.to}
        elif made.kind == "Concat":
            more = {"axis": 1}
        elif made.kind == "ZipMap":
            more = self._class_names()
        domain = OF_TREES if made.kind == "ZipMap" else ""
        self.nodes.append(self.helper.make_node(made.kind, read, [name], domain=domain, **more))
        return name

    def _write_trees(self, place: int, fed: _Made) -> str:
        size = 2 if self.operator.kind == "TreeEnsembleClassifier" else 1
        own = [_Made("trees", to=at) for at in range(size)]
        is_written = any(is_of_trees(node) for node in self.nodes)
        names = [self.names.setdefault(made, f"trees{made.to}") for made in own]
        if not is_written:
            read = self._write(fed, fed)
            node = self.helper.make_node(
                self.operator.kind, [read], names, domain=OF_TREES, **self.attributes
            )
            self.nodes.append(node)
        return names[place]

    def _class_names(self) -> dict[str, Any]:
        if self._has_texts():
            return {"classlabels_strings": list(self.meaning.classes)}
        return {"classlabels_int64s": [int(name) for name in self.meaning.classes]}

    def _has_texts(self) -> bool:
        return bool(self.operator.attributes.get("classlabels_strings"))

    def _is_label(self, made: _Made) -> bool:
        while made.of:
            made = made.of[0]
        return self.operator.kind == "TreeEnsembleClassifier" and made.to == 0

    def _input(self, item: Any, name: str) -> Any:  # noqa: ANN401  # protobuf
        width = len(self.operator.inputs or ()) or None
        if item is None:
            return self.helper.make_tensor_value_info(name, FLOAT, [None, width])
        kind = item.type.tensor_type.elem_type
        if kind not in NUMBERS:
            raise UnwritableError("an input of another type than numbers")
        is_alone = len(self.operator.graph.inputs) == 1
        return self.helper.make_tensor_value_info(name, kind, [None, width if is_alone else 1])

    def _output(self, made: _Made) -> Any:  # noqa: ANN401  # protobuf
        name = self.names[made]
        if made.kind == "ZipMap":
            key = STRING if self._has_texts() else INT64
            value = self.helper.make_tensor_type_proto(FLOAT, [])
            kinds = self.helper.make_map_type_proto(key, value)
            return self.helper.make_value_info(name, self.helper.make_sequence_type_proto(kinds))
        if self._is_label(made):
            kind = made.to if made.kind == "Cast" else STRING if self._has_texts() else INT64
            return self.helper.make_tensor_value_info(name, kind, [None])
        kind = made.to if made.kind == "Cast" else FLOAT
        return self.helper.make_tensor_value_info(name, kind, [None, self.meaning.width])


def _inputs_of(made: _Made) -> Iterator[_Made]:
    if made.kind == "input":
        yield made
    for part in made.of:
        yield from _inputs_of(part)


# The lists of the tree operator.


def _attributes(operator: Operator, table: OnnxTable, meaning: Meaning) -> dict[str, Any]:
    """Return the attributes of the trees: their nodes numbered in preorder, and their settings."""
    if operator.kind == "TreeEnsemble":
        raise UnwritableError("the operator TreeEnsemble")
    is_class = operator.kind == "TreeEnsembleClassifier"
    lists = _Lists("class" if is_class else "target")
    kept = _outputs_of_trees(table, meaning)
    for number, root in enumerate(table.roots):
        lists.add_tree(number, root, table, kept[number])
    said: dict[str, Any] = dict(lists.columns())
    said |= _settings(operator, meaning)
    for name in [name for name in said if f"{name}_as_tensor" in operator.attributes]:
        helper = importlib.import_module("onnx.helper")
        numbers = said.pop(name)
        said[f"{name}_as_tensor"] = helper.make_tensor("", DOUBLE, [len(numbers)], numbers)
    return said


def _outputs_of_trees(table: OnnxTable, meaning: Meaning) -> list[tuple[int, ...]]:
    """Return which outputs the leaves of each tree list: those to which one of them adds more than nothing."""
    kept: list[set[int]] = []
    for root in table.roots:
        adds = {
            output
            for handle in _preorder(root, table)
            for output, weight in table.leaves.get(handle, ())
            if weight
        }
        kept.append(adds)
    used = {output for leaf in table.leaves.values() for output, _ in leaf}
    if len(meaning.classes) == 2 and used and kept:  # one listed or two: it changes what they mean
        kept[0] |= used - set().union(*kept)
    return [tuple(sorted(outputs or {min(used, default=0)})) for outputs in kept]


def _preorder(root: Handle, table: OnnxTable) -> Iterator[Handle]:
    pending = [root]
    while pending:
        handle = pending.pop()
        yield handle
        question = table.questions.get(handle)
        if question is not None:
            pending += [question.no, question.yes]


class _Lists:
    """The parallel lists of nodes and of the weights of leaves."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[tuple[int, int, int, str, float, int, int, int]] = []
        self.weights: list[tuple[int, int, int, float]] = []

    def add_tree(self, tree: int, root: Handle, table: OnnxTable, outputs: tuple[int, ...]) -> None:
        order = list(_preorder(root, table))
        numbers = {handle: number for number, handle in enumerate(order)}
        for handle, number in numbers.items():
            question = table.questions.get(handle)
            if question is None:
                listed = [output for output, _ in table.leaves[handle]]
                if len(set(listed)) < len(listed):
                    raise UnwritableError("a leaf that adds to one output twice")
                added = dict(table.leaves[handle])
                self.nodes.append((tree, number, 0, "LEAF", 0.0, 0, 0, 0))
                self.weights += [
                    (tree, number, output, added.get(output, 0.0) + 0.0) for output in outputs
                ]
                continue
            tracks = int(question.missing_is_yes and question.operator != "!=")
            word, threshold = WORDS[question.operator], question.values[0] + 0.0
            ways = numbers[question.yes], numbers[question.no]
            self.nodes.append((tree, number, question.feature, word, threshold, *ways, tracks))

    def columns(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the attributes by name."""
        names = (
            *("treeids", "nodeids", "featureids", "modes", "values", "truenodeids"),
            *("falsenodeids", "missing_value_tracks_true"),
        )
        for name, column in zip(names, zip(*self.nodes, strict=True), strict=True):
            yield f"nodes_{name}", list(column)
        of_weights = ("treeids", "nodeids", "ids", "weights")
        for name, column in zip(of_weights, zip(*self.weights, strict=True), strict=True):
            yield f"{self.prefix}_{name}", list(column)


def _settings(operator: Operator, meaning: Meaning) -> dict[str, Any]:
    """Return what stands beside the nodes: names of classes, sums to begin with, and what becomes of sums."""
    said: dict[str, Any] = {}
    attributes = operator.attributes
    if operator.kind == "TreeEnsembleClassifier":
        key = "classlabels_strings"
        if attributes.get(key):
            said[key] = texts(operator, key)
        else:
            said["classlabels_int64s"] = [int(name) for name in meaning.classes]
    else:
        said["n_targets"] = meaning.width
        if "aggregate_function" in attributes:
            said["aggregate_function"] = attributes["aggregate_function"]
    if "post_transform" in attributes:
        said["post_transform"] = attributes["post_transform"]
    base = floats(operator, "base_values", optional=True)
    if meaning.lone and len(base) > 1:
        raise UnwritableError("two base_values where one is used")
    if base:
        said["base_values"] = [number + 0.0 for number in base]
    return said
