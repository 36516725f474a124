"""Spark's trees as ``toDebugString`` prints them: tests and predictions, no counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import bounded, features_named
from treewarden.ppdm_models.formats.spark._nodes import PrintedLine, printed_nodes
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature, Learner, Missing, Node, Task, Tree

HEAD = re.compile(
    r"(?P<kind>(?:DecisionTree|RandomForest|GBT)(?:Classification|Regression)Model|DecisionTreeModel|TreeEnsembleModel)"
    r"(?: (?P<old>classifier|regressor))?(?:: uid ?= ?| \(uid=| )(?P<rest>.{0,400})"
)
NAME = re.compile(r"\A[A-Za-z]{1,60}_[0-9a-f]{1,16}\)?")
"""The name that Spark makes for a model."""
SIZES = re.compile(
    r"(?:,? ?\b(?:depth|numNodes|numClasses|numFeatures|numTrees) ?= ?\d{1,9}"
    r"|,? ?(?:of depth|with) \d{1,9}(?: (?:nodes|trees))?|,? ?\d{1,9} (?:nodes|trees))*"
)
CLASSES = re.compile(r"\bnumClasses=(\d{1,6})")
FEATURES = re.compile(r"\bnumFeatures=(\d{1,6})")
TREES = re.compile(r"\bnumTrees=(\d{1,6})|\bwith (\d{1,6}) trees")
TREE = re.compile(r" {2}Tree (\d{1,6})(?: \(weight ([-+.\deE]{1,40})\))?:")


@dataclass(frozen=True, slots=True)
class Printed:
    """What the first line says: the kind of model, and how many classes, features and trees there are (0: not said)."""

    kind: str
    classifies: bool
    classes: int
    features: int
    trees: int


class SparkText(Format):
    """Reads a decision tree, random forest or boosted trees of ``spark.ml`` or ``spark.mllib``."""

    how_to_export = "print model.toDebugString again"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        first = data[:600].lstrip(b"\xef\xbb\xbf\r\n ").split(b"\n")[0]
        return HEAD.match(first.decode("ascii", "replace")) is not None

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source), _leaks(data, source))


def _read(data: bytes, source: str) -> Model:
    lines = _lines(data, source)
    head = _head(lines[0], source)
    single = head.kind.startswith("DecisionTree")
    groups = [(1.0, lines[1:])] if single else _groups(lines[1:], source)
    if head.trees and head.trees != len(groups):
        raise TreeFormatError(
            source, f"the text has {len(groups)} trees, but its first line counts {head.trees}"
        )
    forest = bounded((printed_nodes(group, source) for _, group in groups), source)
    features = _features(head, forest, source)
    boosted = head.kind.startswith("GBT")
    labels = _labels(head, forest, source) if head.classifies and not boosted else ()
    trees = [_tree(nodes, features, labels, single, source) for nodes in forest]
    notes = tuple(_notes(features, source))
    if single:
        return replace(trees[0], notes=notes)
    weights = [weight for weight, _ in groups]
    return _ensemble(head, trees, weights, labels, notes, source)


def _leaks(data: bytes, source: str) -> Iterator[Leak]:
    """Yield that the head says more than which kind of model this is, its name as Spark makes them, and its size."""
    found = HEAD.fullmatch(_lines(data, source)[0].words)
    rest = "" if found is None else NAME.sub("", found["rest"], count=1)
    if not SIZES.fullmatch(rest):
        yield Leak(LeakKind.UNKNOWN, "line 1", "a model name that Spark does not use")


def _notes(features: Sequence[Feature], source: str) -> Iterator[str]:
    yield f"{source}: the text does not name its features, so they are named f0, f1, ..."
    if any(not feature.numeric for feature in features):
        yield (
            f"{source}: the text does not state the number of categories, so a category "
            "outside all sets may go either way"
        )


def _lines(data: bytes, source: str) -> list[PrintedLine]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TreeFormatError(source, "this is not UTF-8 text; print it again") from error
    printed_lines = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip()
        if line:
            words = line.lstrip(" ")
            printed_lines.append(PrintedLine(len(line) - len(words), words, f"{source}:{number}"))
    if not printed_lines:
        raise TreeFormatError(source, "it contains no tree: the file is empty")
    return printed_lines


def _head(line: PrintedLine, source: str) -> Printed:
    found = HEAD.fullmatch(line.words)
    if found is None:
        raise TreeFormatError(
            line.where, f"{line.words[:80]!r} is not the first line of a Spark model"
        )
    rest = found["rest"]
    counts = [pattern.search(rest) for pattern in (CLASSES, FEATURES, TREES)]
    classes, features, trees = (
        0 if count is None else int(next(group for group in count.groups() if group))
        for count in counts
    )
    if max(classes, 1) > limits.CLASSES or features > limits.FEATURES:
        raise TreeFormatError(
            line.where,
            f"{classes:,} classes or {features:,} features are more than the "
            "limits; train a smaller model",
        )
    classifies = "Classification" in found["kind"] or found["old"] == "classifier"
    return Printed(found["kind"], classifies, classes, features, trees)


def _groups(lines: Sequence[PrintedLine], source: str) -> list[tuple[float, list[PrintedLine]]]:
    """Return the weight and the lines of each tree."""
    groups: list[tuple[float, list[PrintedLine]]] = []
    for line in lines:
        found = TREE.fullmatch(" " * line.indent + line.words)
        if found is not None:
            if int(found[1]) != len(groups) or len(groups) >= limits.TREES:
                raise TreeFormatError(line.where, f"tree {found[1]} is not the next tree")
            groups.append((_weight(found[2], line.where), []))
        elif not groups:
            raise TreeFormatError(line.where, "a node comes before the first tree")
        else:
            groups[-1][1].append(line)
    if not groups:
        raise TreeFormatError(
            source, "it contains no tree, only the first line; print the whole model"
        )
    return groups


def _weight(text: str | None, where: str) -> float:
    try:
        weight = 1.0 if text is None else float(text)
    except ValueError as error:
        raise TreeFormatError(where, f"the weight {text!r} is not a number") from error
    if not abs(weight) < 1e30:
        raise TreeFormatError(where, f"the weight {text!r} is out of range")
    return weight


def _features(
    head: Printed, forest: Sequence[tuple[Node, ...]], source: str
) -> tuple[Feature, ...]:
    asked = {int(name[1:]) for nodes in forest for node in nodes for name in _tested(node)}
    size = max([head.features, *(index + 1 for index in asked)])
    if size > limits.FEATURES or (head.features and size > head.features):
        raise TreeFormatError(
            source, f"a node tests feature {size - 1}, but the model has {head.features} features"
        )
    names = [f"f{index}" for index in range(size)]
    return features_named(names, (node for nodes in forest for node in nodes), source)


def _tested(node: Node) -> list[str]:
    feature = getattr(node.test, "feature", None)
    return [] if feature is None else [feature]


def _labels(head: Printed, forest: Sequence[tuple[Node, ...]], source: str) -> tuple[str, ...]:
    said = {node.score for nodes in forest for node in nodes if node.is_leaf}
    numbers = {int(score) for score in said if isinstance(score, float) and score.is_integer()}
    if len(numbers) < len(said) or min(numbers) < 0:
        raise TreeFormatError(source, "a leaf predicts something that is not the number of a class")
    size = head.classes or max(2, max(numbers) + 1)
    if max(numbers) >= size or size > limits.CLASSES:
        raise TreeFormatError(
            source, f"a leaf predicts class {max(numbers)}, but there are {size} classes"
        )
    return tuple(map(str, range(size)))


def _tree(
    nodes: tuple[Node, ...],
    features: tuple[Feature, ...],
    labels: tuple[str, ...],
    single: bool,
    source: str,
) -> Tree:
    if labels:
        nodes = tuple(
            replace(node, score=labels[int(node.score)]) if node.score is not None else node
            for node in nodes
        )
    return with_support(
        Tree(
            nodes=nodes,
            features=features,
            target="",
            classes=labels,
            task=Task.CLASSIFICATION if labels else Task.REGRESSION,
            learner=Learner(all_features=single, multiway=False, tool=Tool.SPARK),
            missing=Missing.DEFAULT_CHILD,
            source=source,
        )
    )


def _ensemble(
    head: Printed,
    trees: Sequence[Tree],
    weights: Sequence[float],
    labels: tuple[str, ...],
    notes: tuple[str, ...],
    source: str,
) -> Ensemble:
    boosted, classifies = head.kind.startswith("GBT"), head.classifies
    link = Link.LOGISTIC if boosted and classifies else Link.IDENTITY
    if head.kind == "TreeEnsembleModel":
        link = Link.UNKNOWN
        notes = (*notes, f"{source}: the text does not state whether the trees vote or add up")
    elif classifies and not boosted:
        link = Link.UNKNOWN
        what = "the trees vote with shares of their leaves' classes, which are not printed"
        notes = (*notes, f"{source}: {what}")
    factor = 2.0 if boosted and classifies else 1.0  # Spark's logistic loss is of twice the margin
    return Ensemble(
        members=tuple(
            Member(tree, weight=factor * weight, name=str(index))
            for index, (tree, weight) in enumerate(zip(trees, weights, strict=True))
        ),
        combination=Combination.WEIGHTED_SUM if boosted else Combination.WEIGHTED_AVERAGE,
        features=trees[0].features,
        target="",
        classes=("0", "1") if boosted and classifies else labels,
        task=Task.CLASSIFICATION if classifies else Task.REGRESSION,
        link=link,
        source=source,
        notes=notes,
    )


FORMAT = SparkText()
