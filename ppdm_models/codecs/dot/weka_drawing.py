"""The drawing of a J48 tree, as Weka's -g writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import (
    Branch,
    Draft,
    features_named,
    grown,
    summed,
    unique,
)
from treewarden.ppdm_models.codecs.common.text_tests import agreed, readings, tests
from treewarden.ppdm_models.codecs.common.text_tree import check_class_numbers
from treewarden.ppdm_models.codecs.dot.statements import Graph
from treewarden.ppdm_models.codecs.weka.leaf import WekaLeaf, class_counts, read_leaf
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.meaning.consistency import is_whole
from treewarden.ppdm_models.meaning.support import checked
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tree import Missing, Node, Quality, Tree

WEKA_OPERATORS = (" <= ", " > ", " < ", " >= ", " = ", " != ")
ESCAPED = re.compile(r"\\(.)")


def drawn_j48(graph: Graph, ways: Mapping[str, list[tuple[str, str]]], source: str) -> Tree:
    """Return the tree: attributes stand in its nodes, values on its edges, ``label (records/errors)`` in its leaves."""
    root = graph.root(source)
    leaves: dict[str, WekaLeaf] = {}
    for name, parts in graph.labels.items():
        if not ways[name]:
            leaves[name] = read_leaf(_unquoted("\n".join(parts)), f"{source}:{graph.lines[name]}")
            if (leaves[name].errors or 0.0) > (leaves[name].records or 0.0):
                raise TreeFormatError(f"{source}:{graph.lines[name]}", "more errors than records")
    nodes = grown(root, lambda name: _weka_draft(name, ways[name], graph, source), source)
    if len(nodes) < len(graph.labels):
        raise TreeFormatError(source, "a node hangs on no other")
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


def _weka_draft(name: str, ways: list[tuple[str, str]], graph: Graph, source: str) -> Draft:
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
        raise TreeFormatError(where, "a split with one branch, or without a name")
    found = tests(split, where, lambda value: (value,))
    branches = tuple(Branch(child, test) for (child, _), test in zip(ways, found, strict=True))
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
