"""What scikit-learn's export_text prints of a tree: ``|--- age <= 30.50``, weights only if they were requested."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    PrintedRow,
    as_float,
    lines_of,
    named_classes,
    nested,
    rounding_of,
)
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.predicate import MissingTest, NumericTest, Predicate, features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Learner, Node, Quality, Task, Tree

START = re.compile(rb"\|-+(?= )[^\r\n]*(?: <= | class: | value: \[| weights: \[)")
LINE = re.compile(r"((?:\| *)*)\|(-+) (.*)")
TEST = re.compile(r"(.+) (<=|> ) (-?\d+(?:\.\d+)?|inf)")
HIDDEN = re.compile(r"truncated branch of depth \d+")
LABEL = re.compile(r"(?: ?weights: \[(.*?)\])? ?class: (.*)")
VALUE = re.compile(r" ?value: \[(.*)\]")


@dataclass(frozen=True, slots=True)
class PrintedSklearnLeaf:
    """A leaf's class and weights, or its number; neither where the branch is truncated."""

    label: str | None = None
    weights: tuple[float, ...] | None = None
    value: float | None = None
    is_hidden: bool = False


class SklearnText(Format):
    """One printed tree; its thresholds are rounded to the decimals that were asked for."""

    how_to_export = "print it again with export_text"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return START.match(data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")) is not None

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Tree:
    rows = _rows(lines_of(data, source), source)
    children = nested(rows, source)
    leaves: dict[int, PrintedSklearnLeaf] = {}
    ways: dict[int, tuple[Branch, ...]] = {}
    for parent, below in enumerate(children):
        is_branch = parent == len(rows) or bool(below)
        if len(below) == 1 and not children[below[0]]:
            leaves[parent] = _leaf(rows[below[0]], source)
        elif is_branch:
            ways[parent] = _split(rows, below, source)
    nodes = grown(len(rows), lambda place: _draft(place, rows, ways), source)
    tests = (TEST.fullmatch(row.text) for row in rows)
    rounding = rounding_of(test[3] for test in tests if test)
    learner = Learner(tool=Tool.SCIKIT_LEARN)
    tree = Tree(nodes, (), "", learner=learner, source=source, rounding=rounding)
    return _judged(tree, leaves, len(rows))


def _rows(lines: Sequence[str], source: str) -> list[PrintedRow]:
    """Return the printed lines with their depth; the number of dashes is the width of a step."""
    rows = []
    width = 0
    for place, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = LINE.fullmatch(line)
        width = width or (len(found[2]) if found else 0)
        if (
            not found
            or len(found[2]) != width
            or found[1] != ("|" + " " * width) * found[1].count("|")
        ):
            raise TreeFormatError(f"{source}:{place}", "this is not a line that export_text prints")
        rows.append(PrintedRow(place, found[1].count("|"), found[3]))
    if not rows:
        raise TreeFormatError(source, "it contains no tree")
    return rows


def _split(rows: Sequence[PrintedRow], below: Sequence[int], source: str) -> tuple[Branch, ...]:
    where = f"{source}:{rows[below[0]].line}"
    found = [TEST.fullmatch(rows[place].text) for place in below]
    left, right = (*found, None, None)[:2]
    if len(below) != 2 or left is None or right is None:
        raise TreeFormatError(where, "the two branches of a split must be '<= x' and '> x'")
    if (left[1], left[2], left[3]) != (right[1], "<=", right[3]) or right[2] != "> ":
        raise TreeFormatError(where, "the two branches of a split must be '<= x' and '> x'")
    tests = _tests(left[1], left[3], where)
    return tuple(Branch(place, test) for place, test in zip(below, tests, strict=True))


def _tests(name: str, printed: str, where: str) -> tuple[Predicate, Predicate]:
    if printed == "inf":  # the split sends every number left and only missing values right
        return MissingTest(name, negated=True), MissingTest(name)
    threshold = as_float(printed)
    if threshold is None:
        raise TreeFormatError(where, f"{printed[:60]!r} is not a threshold")
    return NumericTest(name, high=threshold, high_closed=True), NumericTest(name, low=threshold)


def _leaf(row: PrintedRow, source: str) -> PrintedSklearnLeaf:
    where = f"{source}:{row.line}"
    if HIDDEN.fullmatch(row.text):
        return PrintedSklearnLeaf(is_hidden=True)
    label, value = LABEL.fullmatch(row.text), VALUE.fullmatch(row.text)
    listed = value[1] if value else label[1] if label else None
    numbers = [as_float(number) for number in listed.split(",")] if listed is not None else []
    known = tuple(number for number in numbers if number is not None)
    if not (label or value) or len(known) < len(numbers) or len(known) > limits.CLASSES:
        raise TreeFormatError(where, "this is neither a test, a class nor a value")
    if value:
        if len(known) != 1:
            raise TreeFormatError(
                where, f"the tree predicts {len(known)} outputs; give a tree with one output"
            )
        return PrintedSklearnLeaf(value=known[0])
    assert label is not None  # one of the two was found
    if any(number < 0 for number in known):
        raise TreeFormatError(where, "a weight is negative")
    return PrintedSklearnLeaf(label=label[2], weights=known or None)


def _draft(place: int, rows: Sequence[PrintedRow], ways: dict[int, tuple[Branch, ...]]) -> Draft:
    line = rows[0 if place == len(rows) else place].line
    name = "root" if place == len(rows) else f"line {line}"
    return Draft(name, ways.get(place, ()), line=line)


def _judged(tree: Tree, by_place: dict[int, PrintedSklearnLeaf], root: int) -> Tree:
    """Return the tree with its leaves, in the order of the lines: that of the document."""
    source = tree.source
    ordered = [
        by_place[place]
        for place in sorted(by_place, key=lambda place: -1 if place == root else place)
    ]
    if len(ordered) != len(tree.leaves):
        raise TreeFormatError(source, "a branch has no leaf")
    labels = [leaf.label for leaf in ordered if leaf.label is not None]
    is_class = bool(labels)
    if is_class and any(leaf.value is not None for leaf in ordered):
        raise TreeFormatError(source, "the tree has leaves with classes and leaves with values")
    classes = _classes(ordered, source) if is_class else ()
    described = dict(zip((node.index for node in tree.leaves), ordered, strict=True))
    nodes = tuple(_with_leaf(node, described.get(node.index)) for node in tree.nodes)
    names = list(dict.fromkeys(name for node in nodes for name in features_of(node.test)))
    grown_tree = replace(
        tree,
        nodes=nodes,
        features=features_named(names, nodes, source, single=True),
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        quality=Quality.ABSENT,
        notes=tuple(f"{source}: {note}" for note in _notes(ordered, is_class)),
    )
    return with_support(grown_tree)


def _with_leaf(node: Node, leaf: PrintedSklearnLeaf | None) -> Node:
    if leaf is None:
        return node
    return replace(
        node, score=leaf.label if leaf.value is None else leaf.value, class_counts=leaf.weights
    )


def _classes(leaves: Sequence[PrintedSklearnLeaf], source: str) -> tuple[str, ...]:
    widths = {len(leaf.weights) for leaf in leaves if leaf.weights is not None}
    if not widths:
        labels = dict.fromkeys(leaf.label for leaf in leaves if leaf.label is not None)
        return unique(labels, "classes", source, limits.CLASSES)
    seen = [
        (leaf.weights, leaf.label) for leaf in leaves if leaf.weights and leaf.label is not None
    ]
    names = named_classes(widths.pop(), seen)
    shown = sum(not leaf.is_hidden for leaf in leaves)
    if widths or names is None or len(seen) < shown:
        raise TreeFormatError(
            source,
            "the leaf weights do not agree with the printed classes (each leaf must print the class "
            "with the largest weight)",
        )
    missing = [label for _, label in seen if label not in names]
    if missing:
        problem = f"it cannot be seen which weight belongs to class {missing[0][:60]!r}"
        why = "in no leaf does this class alone have the largest weight"
        raise TreeFormatError(source, f"{problem}: {why}; give the model in another format")
    return names


def _notes(leaves: Sequence[PrintedSklearnLeaf], is_class: bool) -> list[str]:
    notes = ["thresholds are rounded in the text, so the tests are approximate"]
    hidden = sum(leaf.is_hidden for leaf in leaves)
    if hidden:
        notes.append(f"{hidden} branches are truncated, so the nodes below them are missing")
    if any(leaf.weights for leaf in leaves):
        notes.append("weights are counts of people only if every record had the weight 1")
    elif is_class:
        notes.append("the text does not contain classes that no leaf predicts")
        notes.append(
            "the text does not say whether class_weight was used, so a predicted class need not be the most common one "
            "of its leaf"
        )
    return notes


FORMAT = SklearnText()
