"""The statements of a Graphviz file as tree exporters write them: one node or edge per line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError

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
class Graph:
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
                source, f"{len(roots)} nodes without a parent; a tree has one root"
            )
        return roots[0]


def read_graph(lines: Sequence[str], source: str) -> Graph:
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
        if node[1] in labels or len(labels) >= limits.NODES:
            raise TreeFormatError(
                f"{source}:{place}", f"node {node[1]!r} stands twice, or too many"
            )
        labels[node[1]] = _label(node[2], f"{source}:{place}")
        places[node[1]] = place
    for arrow in edges:
        if arrow.start not in labels or arrow.end not in labels:
            raise TreeFormatError(f"{source}:{arrow.line}", "an edge to a node that has no label")
    return Graph(labels, places, edges)


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
        raise TreeFormatError(where, "a label that is neither quoted nor in angle brackets")
    for entity, character in ENTITIES.items():
        inner = inner.replace(entity, character)
    return inner.split("<br/>")


def children_of(graph: Graph) -> dict[str, list[tuple[str, str]]]:
    """Return, for each node, its children and what stands on the edges; "True" comes first."""
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in graph.labels}
    for edge in graph.edges:
        found[edge.start].append((edge.end, edge.label))
    for ways in found.values():
        if [label for _, label in ways] == ["False", "True"]:
            ways.reverse()
    return found
