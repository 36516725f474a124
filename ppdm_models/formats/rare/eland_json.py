"""Elasticsearch's inference models, as eland writes them: trees and ensembles with a few record counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, compared, grown, unique
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Model
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
)

OPERATORS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "eq": "=="}
NO_RECORD = -1e6
"""Below this the logarithm of a count stands for a count of 0 (eland writes -1e7)."""

LOG_TOLERANCE = 1e-6


class ElandJson(Format):
    """One tree or an ensemble; a class's leaf value that is the logarithm of a count tells that count."""

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) != b"{":
            return False
        is_other = b'"tree_info"' in data  # LightGBM, whose dumps have a tree_structure too
        return b'"tree_structure"' in data and b'"tree"' in data and not is_other

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Model:
    document = read_part(data, source)
    inner = document.get("definition")
    document = document if inner is None else inner
    trained = document.get("trained_model")
    document = document if trained is None else trained
    together = document.get("ensemble")
    return _alone(document["tree"]) if together is None else _together(together)


def _alone(part: JsonPart) -> Model:
    classes = _classes(part)
    tree = _tree(part, classes)
    wide = any(node.outputs is not None for node in tree.nodes)
    if not classes or tree.classes:
        return tree
    # a classifier whose leaves hold scores, not counts: Elasticsearch takes their softmax, or one as log-odds
    link = Link.SOFTMAX if wide else Link.LOGISTIC
    return _ensemble((Member(tree),), tree.features, classes, link, part.source)


def _together(part: JsonPart) -> Ensemble:
    members = part["trained_models"]
    if not 0 < len(members) <= limits.TREES:
        raise members.refused(
            f"contains {len(members):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    classes = _classes(part)
    trees = [_tree(member["tree"], ()) for member in members]
    how = part.get("aggregate_output")
    name, settings = next(iter(how.entries()), ("", None)) if how is not None else ("", None)
    listed = None if settings is None else settings.get("weights")
    weights = (1.0,) * len(trees) if listed is None else listed.numbers()
    if len(weights) != len(trees):
        raise part.refused(f"there are {len(weights)} weights for {len(trees)} trees")
    links = {
        "weighted_sum": Link.IDENTITY,
        "logistic_regression": Link.LOGISTIC,
        "exponent": Link.EXP,
    }
    names = [feature.name for feature in trees[0].features]
    if any([feature.name for feature in tree.features] != names for tree in trees):
        names = [item.text() for item in part["feature_names"]]
    return _ensemble(
        tuple(Member(tree, weight) for tree, weight in zip(trees, weights, strict=True)),
        tuple(Feature(name, numeric=True) for name in names),
        classes,
        links.get(name, Link.UNKNOWN),
        part.source,
    )


def _ensemble(
    members: tuple[Member, ...],
    features: tuple[Feature, ...],
    classes: tuple[str, ...],
    link: Link,
    source: str,
) -> Ensemble:
    return Ensemble(
        members=members,
        combination=Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        link=link,
        source=source,
        format="eland_json",
    )


def _classes(part: JsonPart) -> tuple[str, ...]:
    """Return the class labels; none for a regression.

    Raises:
        TreeFormatError: a classifier that does not name its classes.
    """
    kind = part["target_type"].text()
    if kind == "regression":
        return ()
    if kind != "classification":
        raise part.refused(
            f"unknown target_type {kind!r}; known values: classification, regression"
        )
    labels = [item.label() for item in part["classification_labels"]]
    return unique(labels, "classes", part.where, limits.CLASSES)


def _tree(part: JsonPart, classes: tuple[str, ...]) -> Tree:
    names = unique(
        (item.text() for item in part["feature_names"]), "features", part.where, limits.FEATURES
    )
    nodes = _nodes(part, names)
    counted = _counted(nodes, classes) if classes else None
    tree = Tree(
        nodes=_with_rest(nodes) if counted is None else counted,
        features=tuple(Feature(name, numeric=True) for name in names),
        target="",
        classes=() if counted is None else classes,
        task=Task.REGRESSION if counted is None else Task.CLASSIFICATION,
        missing=Missing.DEFAULT_CHILD,
        source=part.source,
        format="eland_json",
    )
    judged = with_support(tree)
    if judged.quality is not Quality.EXACT or judged.nodes == nodes:
        return judged
    return replace(judged, quality=Quality.DERIVED)


def _nodes(part: JsonPart, names: Sequence[str]) -> tuple[Node, ...]:
    by_index: dict[int, JsonPart] = {}
    for node in part["tree_structure"]:
        number = node["node_index"].whole()
        if number in by_index:
            raise node.refused(f"node {number} occurs twice")
        by_index[number] = node

    def draft_of(number: int) -> Draft:
        if number not in by_index:
            raise part.refused(f"node {number} is missing")
        return _draft(by_index[number], names)

    return grown(0, draft_of, part.where)


def _draft(node: JsonPart, names: Sequence[str]) -> Draft:
    name = str(node["node_index"].whole())
    json_part = node.get("number_samples")
    records = None if json_part is None else json_part.amount()
    left = node.get("left_child")
    if left is None:
        values = node["leaf_value"].numbers()
        if len(values) == 1:
            return Draft(name=name, score=values[0], records=records)
        return Draft(name=name, outputs=values, records=records)
    place, operator = node["split_feature"], node["decision_type"].text()
    if place.whole() >= len(names):
        raise place.refused("this is not the number of a feature")
    if operator not in OPERATORS:
        raise node.refused(
            f"unknown decision_type {operator!r}; known values: {', '.join(OPERATORS)}"
        )
    yes, no = compared(names[place.whole()], OPERATORS[operator], node["threshold"].number())
    said = node.get("default_left")
    to_left = said is not None and said.flag()
    return Draft(
        name=name,
        branches=(
            Branch(left.whole(), yes, to_left),
            Branch(node["right_child"].whole(), no, not to_left),
        ),
        records=records,
    )


def _counted(nodes: tuple[Node, ...], classes: tuple[str, ...]) -> tuple[Node, ...] | None:
    """Return the nodes with class counts, where each leaf holds their logarithms; None where it does not."""
    counts: dict[int, tuple[float, ...]] = {}
    for node in nodes:
        if node.is_leaf:
            found = [_count(value) for value in node.outputs or ()]
            if len(found) != len(classes) or None in found or not any(found):
                return None
            counts[node.index] = tuple(count or 0.0 for count in found)
    return tuple(
        node
        if node.index not in counts
        else replace(
            node,
            outputs=None,
            class_counts=counts[node.index],
            records=math.fsum(counts[node.index]) if node.records is None else node.records,
            score=classes[counts[node.index].index(max(counts[node.index]))],
        )
        for node in nodes
    )


def _count(logarithm: float) -> float | None:
    """Return the whole number whose logarithm this is; None where it is none."""
    if logarithm <= NO_RECORD:
        return 0.0
    if not 0 <= logarithm < math.log(2**53):
        return None
    number = float(round(math.exp(logarithm)))
    return number if abs(math.log(number) - logarithm) <= LOG_TOLERANCE / number else None


def _with_rest(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with the counts that a subtraction gives: the parent's less those of the other children."""
    found = {node.index: node.records for node in nodes}
    for node in nodes:
        total, unknown = (
            found[node.index],
            [child for child in node.children if found[child] is None],
        )
        if total is None or len(unknown) != 1:
            continue
        rest = total - math.fsum(found[child] or 0.0 for child in node.children)
        if rest >= 0:
            found[unknown[0]] = rest
    return tuple(replace(node, records=found[node.index]) for node in nodes)


FORMAT = ElandJson()
