"""ONNX-ML's tree operators: regions and leaf values without any count of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import opens_json
from treewarden.ppdm_models.formats.common.json_layout import (
    PlainFile,
    UnwritableError,
    same_predictions,
    unplain_rest,
)
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    among,
    bounded,
    compared,
    features_named,
    grown,
    simplest,
    unique,
)
from treewarden.ppdm_models.formats.onnx._file import (
    Handle,
    OnnxTable,
    Operator,
    read_operator,
    read_table,
)
from treewarden.ppdm_models.formats.onnx._plain import plain_bytes
from treewarden.ppdm_models.formats.onnx._scores import After, Meaning, followed, read_meaning
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
)

SHARE_TOLERANCE = 1e-5
"""How far 32-bit shares of a leaf may sum from the whole."""


class OnnxMl(Format):
    """TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble, as protobuf or as protobuf's JSON."""

    how_to_export = "export it again with skl2onnx or onnxmltools"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        is_json = opens_json(data) == b"{"
        if not (is_json or data[:1] == b"\x08") or b"TreeEnsemble" not in data:
            return False
        return not is_json or b'"opType"' in data

    def open(self, data: bytes, source: str) -> Opened:
        file = _read(data, source)
        try:
            plain = _plain_of(file, data)
        except (UnwritableError, TreeFormatError) as problem:
            return Opened(file.model, (unplain_rest(problem, "onnx_ml"),))
        return PlainFile(data, plain, file.model, leaks_beside(file.operator), REST)


@dataclass(frozen=True, slots=True)
class _OnnxFile:
    """A file as it was read; ``meaning`` is what the leaves of its operator add to, before what follows the trees."""

    model: Model
    operator: Operator
    table: OnnxTable
    meaning: Meaning
    is_followed: bool


def _plain_of(file: _OnnxFile, data: bytes) -> bytes:
    """Return the file written from its trees alone, which is read as the same model.

    Raises:
        UnwritableError: it has something around its trees that no such file holds.
    """
    source = file.operator.source
    if opens_json(data) == b"{":
        raise UnwritableError("protobuf as JSON")
    if not file.is_followed or file.operator.inputs is None:
        raise UnwritableError("operators outside the trees")
    plain = plain_bytes(file.operator.model, file.operator, file.table, file.meaning)
    if plain != data and not same_predictions(_read(plain, source).model, file.model):
        raise UnwritableError("something that changes the trees")
    return plain


def _read(data: bytes, source: str) -> _OnnxFile:
    operator = read_operator(data, source)
    table = read_table(operator)
    meaning = raw = read_meaning(operator, table)
    after = followed(operator.graph, meaning)
    if after.scores.factor != 1 and meaning.combination is Combination.MAX:
        after = replace(after, unknown=(*after.unknown, "a product of the largest score"))
    meaning = _as_published(meaning, after)
    names = _names(operator, table)
    draft_of = _reader(operator, table, meaning, names)
    forest = bounded((grown(root, draft_of, source) for root in table.roots), source)
    tested = (node for nodes in forest for node in nodes)
    features = features_named(names, tested, source, single=not operator.double)
    forest = _with_shares(forest, meaning)
    trees = [_tree(nodes, features, meaning, source) for nodes in forest]
    model = _model(operator, trees, features, meaning, after)
    return _OnnxFile(model, operator, table, raw, not after.unknown and after.names == raw.classes)


def _as_published(meaning: Meaning, after: After) -> Meaning:
    """Return what leaves mean behind the operators that follow the trees; their factor is that of the trees."""
    link = meaning.link if after.scores.link is Link.IDENTITY else after.scores.link
    if after.unknown:
        return replace(meaning, link=Link.UNKNOWN, classes=after.names)
    base = meaning.base or (0.0,) * meaning.width
    added = after.scores.base if len(after.scores.base) > 1 else after.scores.base * meaning.width
    moved = tuple(after.scores.factor * one + two for one, two in zip(base, added, strict=True))
    return replace(
        meaning, link=link, classes=after.names, base=moved if any(moved) or meaning.base else ()
    )


def _names(operator: Operator, table: OnnxTable) -> tuple[str, ...]:
    used = 1 + max((question.feature for question in table.questions.values()), default=-1)
    lowest = min((question.feature for question in table.questions.values()), default=0)
    if lowest < 0 or used > limits.FEATURES:
        raise operator.refused(f"a feature number is not in 0 to {limits.FEATURES:,}")
    known = operator.inputs
    if known is not None and len(known) >= used:
        return unique(known, "features", operator.source, limits.FEATURES)
    return tuple(f"{'derived ' if known is None else 'f'}{index}" for index in range(used))


def _reader(
    operator: Operator, table: OnnxTable, meaning: Meaning, names: Sequence[str]
) -> Callable[[Handle], Draft]:
    def draft_of(handle: Handle) -> Draft:
        name = str(handle[1])
        if handle in table.leaves:
            return _leaf(name, table.leaves[handle], meaning, len(table.roots))
        question = table.questions.get(handle)
        if question is None:
            raise operator.refused(f"node {name} is missing")
        feature = names[question.feature]
        if question.operator == "in":
            yes, no = among(feature, question.values)
        else:
            yes, no = compared(feature, question.operator, question.values[0])
        return Draft(
            name=name,
            branches=(
                Branch(question.yes, yes, question.missing_is_yes),
                Branch(question.no, no, not question.missing_is_yes),
            ),
        )

    return draft_of


def _leaf(name: str, weights: Sequence[tuple[int, float]], meaning: Meaning, trees: int) -> Draft:
    totals = [0.0] * meaning.width
    for output, weight in weights:
        totals[output] += weight
    if meaning.lone:
        weight = math.fsum(weight for _, weight in weights)
        totals = [(1 / trees if meaning.positive else 0.0) - weight, weight]
    if meaning.width == 1:
        return Draft(name=name, score=totals[0])
    label = meaning.classes[totals.index(max(totals))] if meaning.classes else None
    return Draft(name=name, score=label, outputs=tuple(totals))


def _with_shares(forest: list[tuple[Node, ...]], meaning: Meaning) -> list[tuple[Node, ...]]:
    """Return the trees with the class shares of their leaves, where the leaf numbers are such shares."""
    leaves = [node.outputs or () for nodes in forest for node in nodes if node.is_leaf]
    whole = 1 / len(forest)
    if meaning.link is not Link.IDENTITY or not meaning.classes or any(meaning.base):
        return forest
    if not all(
        min(leaf) >= -SHARE_TOLERANCE and abs(math.fsum(leaf) - whole) <= SHARE_TOLERANCE * whole
        for leaf in leaves
    ):
        return forest
    return [tuple(_shared(node) for node in nodes) for nodes in forest]


def _shared(node: Node) -> Node:
    if node.outputs is None:
        return node
    amounts = [max(0.0, number) for number in node.outputs]
    total = math.fsum(amounts)
    return replace(node, class_shares=tuple(amount / total for amount in amounts))


def _tree(
    nodes: tuple[Node, ...], features: tuple[Feature, ...], meaning: Meaning, source: str
) -> Tree:
    shared = any(node.class_shares is not None for node in nodes)
    return Tree(
        nodes=nodes,
        features=features,
        target="",
        classes=meaning.classes,
        task=Task.CLASSIFICATION if meaning.classes else Task.REGRESSION,
        quality=Quality.NORMALISED if shared else Quality.ABSENT,
        missing=Missing.DEFAULT_CHILD,
        source=source,
        format="onnx_ml",
    )


def _model(
    operator: Operator,
    trees: Sequence[Tree],
    features: tuple[Feature, ...],
    meaning: Meaning,
    after: After,
) -> Model:
    averaged = meaning.combination is Combination.WEIGHTED_SUM
    factor = 1.0 if after.unknown else after.scores.factor
    weight = factor / len(trees) if averaged else factor
    combination = meaning.combination
    if combination is Combination.SUM and weight != 1:
        combination = Combination.WEIGHTED_SUM
    together = Ensemble(
        members=tuple(
            Member(tree, weight=weight, name=str(index)) for index, tree in enumerate(trees)
        ),
        combination=combination,
        features=features,
        target="",
        classes=meaning.classes,
        task=Task.CLASSIFICATION if meaning.classes else Task.REGRESSION,
        base=meaning.base,
        link=meaning.link,
        source=operator.source,
        format="onnx_ml",
        notes=tuple(_notes(operator, after)),
    )
    return simplest(together)


def _notes(operator: Operator, after: After) -> Iterator[str]:
    if operator.inputs is None:
        yield (
            f"{operator.source}: other operators compute the features from the inputs "
            f"({', '.join(operator.before)}), so the features are not columns of the "
            "table"
        )
    if after.unknown:
        yield (
            f"{operator.source}: the predictions are unknown, because treewarden does not support what follows the "
            f"trees ({', '.join(after.unknown)})"
        )


FORMAT = OnnxMl()


# Side channels of an ONNX file: what it holds beside its trees, as far as that has a name.

REST = "names of operators and values, and other content that the same trees do not need"
NODE_NUMBERS = "nodes_hitrates", "nodes_hitrates_as_tensor"


def leaks_beside(operator: Operator) -> Iterator[Leak]:
    """Yield what of a file is no part of its trees, as far as it has a name."""
    model = operator.model
    graph = model.graph
    nodes = list(graph.node)
    documented = [model, graph, *nodes, *graph.input, *graph.output, *graph.initializer]
    documented += [attribute for node in nodes for attribute in node.attribute]
    entries = list(model.metadata_props)
    for part in (graph, *nodes, *graph.input, *graph.output, *graph.initializer):
        entries += _metadata(part)
    rates = [name for name in NODE_NUMBERS if operator.attributes.get(name)]
    makers = {name for node in nodes for name in node.input}
    unused = sum(tensor.name not in makers for tensor in graph.initializer)
    unused += len(graph.sparse_initializer)
    found = {
        "metadata_props": (len(entries), "entries of metadata"),
        "doc_string": (sum(bool(part.doc_string) for part in documented), "descriptions"),
        "graph/initializer": (unused, "numbers that no operator reads"),
        "functions": (len(model.functions), "functions that no tree needs"),
        "training_info": (len(model.training_info), "parts about the training"),
        "graph/node": (len(rates), "numbers of each node that no prediction needs (hitrates)"),
    }
    for where, (number, what) in found.items():
        if number:
            yield Leak(LeakKind.UNKNOWN, where, what, removable=True)


def _metadata(part: Any) -> list[Any]:  # noqa: ANN401  # protobuf
    """Return the metadata of a part, which older versions of the library do not know."""
    return list(getattr(part, "metadata_props", ()))
