"""Graphviz drawings of trees: scikit-learn's export_graphviz, and Weka's -g for J48."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import (
    as_float,
    decimals_of,
    lines_of,
    named_classes,
    rounding_of,
)
from treewarden.ppdm_models.formats.rare._dot import (
    DotGraph,
    NodeLabel,
    children_of,
    drawn_j48,
    read_box,
    read_graph,
)
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.nodes import BITS, Impurity, printed
from treewarden.ppdm_models.tree.predicate import MissingTest, NumericTest, Predicate, features_of
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Learner, Node, Quality, Task, Tree

UNITS = {
    "gini": (Criterion.GINI, 1.0),
    "entropy": (Criterion.ENTROPY, BITS),
    "log_loss": (Criterion.ENTROPY, BITS),
}
"""The criteria that scikit-learn names, and what their unit is here."""


class GraphvizDot(Format):
    """One drawing; scikit-learn rounds its thresholds to the precision that was asked for."""

    how_to_export = "draw it again with export_graphviz or in Weka"

    def sniff(self, data: bytes) -> bool:
        start = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
        return start.startswith((b"digraph Tree {", b"digraph J48Tree {"))

    def open(self, data: bytes, source: str) -> Opened:
        tree = _read(data, source)
        return Opened(tree, _leaks(tree, data))


def _read(data: bytes, source: str) -> Tree:
    graph = read_graph(lines_of(data, source), source)
    if b"digraph J48Tree" in data[:200]:
        return drawn_j48(graph, children_of(graph), source)
    return _sklearn(graph, source)


def _leaks(tree: Tree, data: bytes) -> Iterator[Leak]:
    if tree.quality is Quality.WEIGHTED and b"samples = " in data:
        what = "samples counts the records of each node, though the classes are weighted"
        yield Leak(LeakKind.SMALL_COUNTS, "line 1", what)


def _sklearn(graph: DotGraph, source: str) -> Tree:
    root = graph.root(source)
    ways = children_of(graph)
    boxes = {
        name: read_box(parts, not ways[name], f"{source}:{graph.lines[name]}")
        for name, parts in graph.labels.items()
    }
    nodes = grown(
        root, lambda name: _box_draft(name, boxes[name], ways[name], graph, source), source
    )
    if len(nodes) < len(boxes):
        raise TreeFormatError(source, "a node has no parent")
    is_class = any(box.is_list or box.label is not None for box in boxes.values())
    classes, notes = _classes(boxes, source) if is_class else ((), [])
    quality = _quality(boxes, is_class)
    described = [_described(node, boxes[node.name], classes, quality) for node in nodes]
    described, unused = _with_impurities(described, boxes)
    names = list(dict.fromkeys(name for node in nodes for name in features_of(node.test)))
    notes.append("thresholds are rounded in the text, so the tests are approximate")
    hidden = sum(box.is_hidden for box in boxes.values())
    if hidden:
        notes.append(f"{hidden} branches are cut off, so the nodes below them are missing")
    # A threshold that is rounded to a whole number is drawn with ".0" behind it.
    drawn = (box.threshold.removesuffix(".0") for box in boxes.values() if box.threshold)
    tree = Tree(
        nodes=tuple(described),
        features=features_named(names, nodes, source, single=True),
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        learner=Learner(tool=Tool.SCIKIT_LEARN),
        quality=quality,
        source=source,
        notes=tuple(f"{source}: {note}" for note in notes),
        unused=unused,
        rounding=rounding_of(drawn),
    )
    return checked(tree)


def _with_impurities(
    nodes: Sequence[Node], boxes: Mapping[str, NodeLabel]
) -> tuple[list[Node], tuple[str, ...]]:
    """Return the nodes with the impurities that are drawn, and what is drawn but not known by its name.

    All are rounded to one number of decimals, of which zeros at the end are not drawn.
    """
    said = {name: box.impurity for name, box in boxes.items() if box.impurity is not None}
    decimals = max((decimals_of(text) for _, text in said.values()), default=0)
    found, unknown = [], dict[str, None]()
    for node in nodes:
        name, text = said.get(node.name, (None, ""))
        impurity = _impurity(name, text, decimals)
        if impurity is not None:
            node = replace(node, impurity=impurity)
        elif name is not None:
            unknown[name] = None
        found.append(node)
    return found, tuple(f"the {name[:40]} of its nodes" for name in unknown)


def _impurity(name: str | None, text: str, decimals: int) -> Impurity | None:
    """Return what is drawn as an impurity; None where its name says nothing, or no node can have it."""
    value = as_float(text)
    if name not in UNITS or value is None:
        return None
    criterion, unit = UNITS[name]
    try:
        return printed(criterion, value, decimals, unit)
    except ValueError:  # negative by more than rounding
        return None


def _box_draft(
    name: str, box: NodeLabel, ways: list[tuple[str, str]], graph: DotGraph, source: str
) -> Draft:
    if not ways:
        return Draft(name, line=graph.lines[name])
    where = f"{source}:{graph.lines[name]}"
    if len(ways) != 2 or box.feature is None or box.threshold is None:
        raise TreeFormatError(where, f"a split has {len(ways)} branches, or no test")
    found = _tests(box.feature, box.threshold, where)
    branches = tuple(Branch(child, test) for (child, _), test in zip(ways, found, strict=True))
    return Draft(name, branches, line=graph.lines[name])


def _tests(name: str, printed: str, where: str) -> tuple[Predicate, Predicate]:
    if printed == "inf":  # the split sends every number left and only missing values right
        return MissingTest(name, negated=True), MissingTest(name)
    threshold = as_float(printed)
    if threshold is None:
        raise TreeFormatError(where, f"{printed[:60]!r} is not a threshold")
    return NumericTest(name, high=threshold, high_closed=True), NumericTest(name, low=threshold)


def _classes(boxes: Mapping[str, NodeLabel], source: str) -> tuple[tuple[str, ...], list[str]]:
    node_labels = [box for box in boxes.values() if not box.is_hidden]
    widths = {len(box.values) for box in node_labels}
    if len(widths) != 1:
        raise TreeFormatError(source, "its nodes have different numbers of classes")
    width = widths.pop()
    if not width:
        labels = dict.fromkeys(box.label for box in node_labels if box.label is not None)
        return unique(labels, "classes", source, limits.CLASSES), []
    if all(box.label is None for box in node_labels):
        note = "the drawing does not contain the class labels, so class numbers are used"
        return tuple(map(str, range(width))), [note]
    seen = [(box.values, box.label) for box in node_labels if box.label is not None]
    names = named_classes(width, seen)
    if (
        names is None
        or len(seen) < len(node_labels)
        or any(label not in names for _, label in seen)
    ):
        raise TreeFormatError(
            source,
            "the values of the nodes do not agree with their classes (the largest value must belong to the class)",
        )
    return names, []


def _quality(boxes: Mapping[str, NodeLabel], is_class: bool) -> Quality:
    """Return what the numbers mean: samples count records, values may be weighted, both may be shares."""
    node_labels = [box for box in boxes.values() if not box.is_hidden]
    if all(box.samples is None for box in node_labels) and not (
        is_class and any(b.values for b in node_labels)
    ):
        return Quality.ABSENT
    if any(box.is_share for box in node_labels):
        return Quality.NORMALISED
    for box in node_labels:
        if box.samples is not None and not is_whole(box.samples):
            return Quality.WEIGHTED
        if is_class and box.values and box.samples is not None:
            whole = all(map(is_whole, box.values))
            if not whole or abs(sum(box.values) - box.samples) > 0.5:
                return Quality.NORMALISED if _is_fraction(boxes) else Quality.WEIGHTED
    return Quality.WEIGHTED if any(box.samples is None for box in node_labels) else Quality.EXACT


def _is_fraction(boxes: Mapping[str, NodeLabel]) -> bool:
    listed = [box.values for box in boxes.values() if box.values]
    return all(abs(sum(values) - 1.0) <= 0.01 * len(values) for values in listed)


def _described(node: Node, box: NodeLabel, classes: tuple[str, ...], quality: Quality) -> Node:
    if box.is_hidden:
        return node
    if not classes:
        records = box.samples if quality is Quality.EXACT else None
        return replace(node, score=box.values[0] if len(box.values) == 1 else None, records=records)
    score = box.label
    if score is None and box.values:
        score = classes[box.values.index(max(box.values))]
    if quality is Quality.NORMALISED:
        total = sum(box.values)
        shares = tuple(value / total for value in box.values) if total > 0 else None
        return replace(node, score=score, class_shares=shares)
    counts = box.values or None
    records = sum(box.values) if counts and quality is Quality.WEIGHTED else box.samples
    return replace(node, score=score, records=records, class_counts=counts)


FORMAT = GraphvizDot()
