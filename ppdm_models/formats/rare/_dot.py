"""The statements of a Graphviz file as tree exporters write them: one node or edge per line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    features_named,
    grown,
    summed,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import (
    agreed,
    amount,
    as_float,
    check_class_numbers,
    readings,
    tests,
)
from treewarden.ppdm_models.formats.rare._weka import WekaLeaf, class_counts, read_leaf
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    Quality,
    Tree,
)

EDGE = re.compile(r"(\w{1,40}) *-> *(\w{1,40}) *(\[.*\])?")
NODE = re.compile(r"(\w{1,40}) *\[label=(.*)\]")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
HEAD = re.compile(r'headlabel="(True|False)"')
ENTITIES = {
    "&le;": "<=",
    "&#35;": "#",
    "<SUB>": "[",
    "</SUB>": "]",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow; ``label`` is what stands on it."""

    start: str
    end: str
    label: str
    line: int


@dataclass(frozen=True, slots=True)
class DotGraph:
    """The nodes with the lines of their labels, and the edges, in the order of the file."""

    labels: Mapping[str, Sequence[str]]
    lines: Mapping[str, int]
    edges: Sequence[Edge]

    def root(self, source: str) -> str:
        """Return the one node that no edge leads to.

        Raises:
            TreeFormatError: there is none or more than one.
        """
        ends = {edge.end for edge in self.edges}
        for edge in self.edges:
            if edge.start not in self.labels or edge.end not in self.labels:
                raise TreeFormatError(
                    f"{source}:{edge.line}", "an edge to a node that has no label"
                )
        roots = [name for name in self.labels if name not in ends]
        if len(roots) != 1:
            raise TreeFormatError(
                source, f"{len(roots)} nodes have no parent, but a tree has one root"
            )
        return roots[0]


def read_graph(lines: Sequence[str], source: str) -> DotGraph:
    """Return the graph.

    Raises:
        TreeFormatError: a node stands twice, there are too many, or an edge names none of them.
    """
    labels: dict[str, Sequence[str]] = {}
    places: dict[str, int] = {}
    edges: list[Edge] = []
    for place, line in enumerate(lines, start=1):
        line = line.strip().removesuffix(";").rstrip()
        edge = EDGE.fullmatch(line)
        if edge:
            edges.append(Edge(edge[1], edge[2], _edge_label(edge[3] or ""), place))
            continue
        node = NODE.fullmatch(line)
        if node is None:
            continue
        if node[1] in labels:
            raise TreeFormatError(f"{source}:{place}", f"node {node[1]!r} occurs twice")
        if len(labels) >= limits.NODES:
            raise TreeFormatError(
                f"{source}:{place}",
                f"more than {limits.NODES:,} nodes, which is the limit; train a smaller tree",
            )
        labels[node[1]] = _label(node[2], f"{source}:{place}")
        places[node[1]] = place
    for arrow in edges:
        if arrow.start not in labels or arrow.end not in labels:
            raise TreeFormatError(f"{source}:{arrow.line}", "an edge to a node that has no label")
    return DotGraph(labels, places, edges)


def _edge_label(attributes: str) -> str:
    head = HEAD.search(attributes)
    if head:
        return head[1]
    start = attributes.find("label=")
    found = QUOTED.match(attributes, start + 6) if start == 1 else None
    return found[1] if found else ""


def _label(text: str, where: str) -> list[str]:
    quoted = QUOTED.match(text)
    if quoted:
        return [part.replace('\\"', '"') for part in quoted[1].split("\\n")]
    end = text.rfind(">, fillcolor=")
    inner = text[1:end] if end > 0 else text.rstrip()[1:-1]
    if not text.startswith("<") or not (end > 0 or text.rstrip().endswith(">")):
        raise TreeFormatError(where, "a label is neither quoted nor in angle brackets")
    for entity, character in ENTITIES.items():
        inner = inner.replace(entity, character)
    return inner.split("<br/>")


def children_of(graph: DotGraph) -> dict[str, list[tuple[str, str]]]:
    """Return, for each node, its children and what stands on the edges; "True" comes first."""
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in graph.labels}
    for edge in graph.edges:
        found[edge.start].append((edge.end, edge.label))
    for ways in found.values():
        if [label for _, label in ways] == ["False", "True"]:
            ways.reverse()
    return found


# The drawing of a J48 tree, as Weka's -g writes it.

WEKA_OPERATORS = (" <= ", " > ", " < ", " >= ", " = ", " != ")
ESCAPED = re.compile(r"\\(.)")


def drawn_j48(graph: DotGraph, ways: Mapping[str, list[tuple[str, str]]], source: str) -> Tree:
    """Return the tree: attributes stand in its nodes, values on its edges, ``label (records/errors)`` in its leaves."""
    root = graph.root(source)
    leaves: dict[str, WekaLeaf] = {}
    for name, parts in graph.labels.items():
        if not ways[name]:
            leaves[name] = read_leaf(_unquoted("\n".join(parts)), f"{source}:{graph.lines[name]}")
            if (leaves[name].errors or 0.0) > (leaves[name].records or 0.0):
                raise TreeFormatError(
                    f"{source}:{graph.lines[name]}", "a node has more errors than records"
                )
    nodes = grown(root, lambda name: _weka_draft(name, ways[name], graph, source), source)
    if len(nodes) < len(graph.labels):
        raise TreeFormatError(source, "a node has no parent")
    labels = dict.fromkeys(leaf.label for leaf in leaves.values())
    classes = unique(labels, "classes", source, limits.CLASSES)
    check_class_numbers(len(leaves), len(classes), source)
    described = [_with_leaf(node, leaves.get(node.name), classes) for node in nodes]
    names = list(dict.fromkeys(name for node in nodes for name in features_of(node.test)))
    printed = [leaf.records for leaf in leaves.values() if leaf.records is not None]
    whole = Quality.EXACT if all(map(is_whole, printed)) else Quality.WEIGHTED
    tree = Tree(
        nodes=summed(described),
        features=features_named(names, nodes, source),
        target="",
        classes=classes,
        quality=whole if printed else Quality.ABSENT,
        missing=Missing.WEIGHTED_CONFIDENCE,
        source=source,
        notes=(f"{source}: classes that no leaf predicts are not in the drawing",),
    )
    return checked(tree)


def _weka_draft(name: str, ways: list[tuple[str, str]], graph: DotGraph, source: str) -> Draft:
    if not ways:
        return Draft(name, line=graph.lines[name])
    where = f"{source}:{graph.lines[name]}"
    feature = _unquoted("\n".join(graph.labels[name]))
    said = [
        [way for way in readings(f"x {_unquoted(label)}", WEKA_OPERATORS) if way.feature == "x"]
        for _, label in ways
    ]
    split = [replace(way, feature=feature) for way in agreed(said, where)]
    if len(split) < 2 or not feature:
        raise TreeFormatError(where, "a split has only one branch, or no name")
    predicates = tests(split, where, lambda value: (value,))
    branches = tuple(Branch(child, test) for (child, _), test in zip(ways, predicates, strict=True))
    return Draft(name, branches, line=graph.lines[name])


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        text = ESCAPED.sub(r"\1", text[1:-1])
    return text.strip()


def _with_leaf(node: Node, leaf: WekaLeaf | None, classes: tuple[str, ...]) -> Node:
    if leaf is None:
        return node
    counts = class_counts(leaf, classes, leaf.label, are_all=False)
    return replace(node, score=leaf.label, records=leaf.records, class_counts=counts)


# The labels of scikit-learn's export_graphviz: test, impurity, samples, value, class.

NODE_ID = re.compile(r"node #\d+")
TEST = re.compile(r"(.+) <= (-?[\d.eE+-]+|inf)")
IMPURITY = re.compile(r"([a-z_]+) = (-?[\d.eE+-]+)")
SAMPLES = re.compile(r"samples = ([\d.eE+-]+)(%?)")
VALUE = re.compile(r"value = (\[?)([^\[\]]*)(\]?)")
HIDDEN = "(...)"


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """What a node's label says; ``feature`` and ``threshold`` only where it is split.

    ``impurity`` is the name of the criterion (or "impurity") and the number, as printed.
    """

    feature: str | None = None
    threshold: str | None = None
    samples: float | None = None
    is_share: bool = False
    values: tuple[float, ...] = ()
    is_list: bool = False
    label: str | None = None
    impurity: tuple[str, str] | None = None
    is_hidden: bool = False


def read_box(parts: Sequence[str], is_leaf: bool, where: str) -> NodeLabel:
    """Return what stands in a node's label.

    Raises:
        TreeFormatError: a line is not understood: names were left out, or several outputs are predicted.
    """
    if list(parts) == [HIDDEN]:
        return NodeLabel(is_hidden=True)
    lines = _joined(parts)
    if lines and NODE_ID.fullmatch(lines[0]):
        lines = lines[1:]
    test = TEST.fullmatch(lines[0]) if lines and not is_leaf else None
    if not is_leaf and test is None:
        raise TreeFormatError(where, "a split has no test '<='")
    rest = lines[1:] if test else lines
    samples, is_share, values, is_list, label = None, False, tuple[float, ...](), False, None
    impurity = None
    for line in rest:
        size, value = SAMPLES.fullmatch(line), VALUE.fullmatch(line)
        mixed = IMPURITY.fullmatch(line)
        if size:
            samples, is_share = amount(size[1], where), bool(size[2])
        elif value:
            values, is_list = _values(value[2], where), bool(value[1])
        elif line.startswith("class = "):
            label = line.removeprefix("class = ")
        elif mixed:
            impurity = mixed[1], mixed[2]
        else:
            raise TreeFormatError(where, f"{line[:60]!r} cannot be read; export with label='all'")
    return NodeLabel(
        feature=test[1] if test else None,
        threshold=test[2] if test else None,
        samples=samples,
        is_share=is_share,
        values=values,
        is_list=is_list,
        label=label,
        impurity=impurity,
    )


def _joined(parts: Sequence[str]) -> list[str]:
    """Return the lines with a list that is broken over several of them put together."""
    lines: list[str] = []
    for part in parts:
        is_open = bool(lines) and lines[-1].startswith("value = [") and not lines[-1].endswith("]")
        if is_open:
            lines[-1] = f"{lines[-1].rstrip(', ')}, {part}"
        else:
            lines.append(part)
    return lines


def _values(text: str, where: str) -> tuple[float, ...]:
    numbers = [as_float(number) for number in re.split(r"[,\s]+", text.strip())]
    known = tuple(number for number in numbers if number is not None)
    if len(known) < len(numbers) or not 0 < len(known) <= limits.CLASSES:
        raise TreeFormatError(where, "the values are not numbers, or belong to several outputs")
    return known
