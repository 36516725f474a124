"""Writes a tree as PMML 4.4: the same tree gives the same bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lxml import etree

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.formats.pmml._statistics import BAND, IMPURITY
from treewarden.ppdm_models.formats.pmml._tables import domain, treatment_attributes
from treewarden.ppdm_models.formats.pmml._tree import PREFIX, SAMPLED
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import OF_FORESTS, Combination, Ensemble, Link, Member
from treewarden.ppdm_models.tree.plain_splits import on_32_bits
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
    Unknown,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Missing, Node, NoTrueChild, Quality, Task, Tree

NAMESPACE = "http://www.dmg.org/PMML-4_4"
UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, even escaped (XML 1.0, Char)."""

STRATEGIES = {
    Missing.NONE: "none",
    Missing.LAST_PREDICTION: "lastPrediction",
    Missing.NULL_PREDICTION: "nullPrediction",
    Missing.DEFAULT_CHILD: "defaultChild",
    Missing.WEIGHTED_CONFIDENCE: "weightedConfidence",
    Missing.AGGREGATE_NODES: "aggregateNodes",
}
NO_TRUE_CHILD = {
    NoTrueChild.NULL_PREDICTION: "returnNullPrediction",
    NoTrueChild.LAST_PREDICTION: "returnLastPrediction",
}

OPERATORS = {AllOf: "and", AnyOf: "or", OneOf: "xor", Surrogate: "surrogate"}


def written(tree: Tree) -> bytes:
    """Return the tree as PMML; shares are left out where counts say the same, and 32-bit fields compared with such.

    Raises:
        OutputError: a name holds characters that XML cannot, a name is taken twice, the tree is too deep, or a test
            cannot be said in PMML.
    """
    return as_bytes(document_of(tree))


def as_bytes(root: etree._Element) -> bytes:
    """Return a document as it is written."""
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def document_of(tree: Tree) -> etree._Element:
    """Return the root of the document that a tree makes on its own; errors as for ``written``."""
    _check(tree)
    tree = on_32_bits(tree)
    root = etree.Element(f"{{{NAMESPACE}}}PMML", nsmap={None: NAMESPACE})  # type: ignore[dict-item]  # the stubs know no default namespace
    root.set("version", "4.4")
    _add(_add(root, "Header"), "Application", name="treewarden")
    _dictionary(root, tree)
    model = _model(root, tree)
    elements = {0: model}
    for node in tree.below(0):
        parent = model if node.parent is None else elements[node.parent]
        elements[node.index] = _node(parent, tree, node)
    return root


def _check(tree: Tree) -> None:
    if tree.depth > limits.DEPTH:
        raise OutputError(
            tree.source,
            f"{tree.depth} tests on one path are more than the limit of {limits.DEPTH}; "
            "write a shallower tree",
        )
    fields = [feature.name for feature in tree.features] + ([tree.target] if tree.target else [])
    for what, names in (("fields", fields), ("nodes", [node.name for node in tree.nodes])):
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise OutputError(tree.source, f"two {what} are called {twice!r}; rename one")


def _add(parent: etree._Element, element: str, /, **attributes: str) -> etree._Element:
    namespace, in_one, _ = str(parent.tag).rpartition("}")
    child = etree.SubElement(parent, f"{namespace}{in_one}{element}")
    for name, value in attributes.items():
        child.set(name, _safe(value))
    return child


def _safe(text: str) -> str:
    bad = UNSAFE.search(text)
    if bad:
        raise OutputError(
            "PMML",
            f"{text!r} contains {bad[0]!r}, which XML cannot express; rename it or write "
            "another format",
        )
    return text


def _dictionary(root: etree._Element, tree: Tree) -> None:
    dictionary = _add(
        root, "DataDictionary", numberOfFields=str(len(tree.features) + bool(tree.target))
    )
    for feature in tree.features:
        if feature.numeric:
            kind = "float" if feature.single else "double"
            field = _add(
                dictionary, "DataField", name=feature.name, optype="continuous", dataType=kind
            )
        else:
            field = _add(
                dictionary, "DataField", name=feature.name, optype="categorical", dataType="string"
            )
        for value in feature.values:
            _add(field, "Value", value=value)
        for name, attributes in domain(feature):
            _add(field, name, **attributes)
    if tree.target and tree.task is Task.REGRESSION:
        _add(dictionary, "DataField", name=tree.target, optype="continuous", dataType="double")
    elif tree.target:
        field = _add(
            dictionary, "DataField", name=tree.target, optype="categorical", dataType="string"
        )
        for label in tree.classes:
            _add(field, "Value", value=label)


def _model(root: etree._Element, tree: Tree) -> etree._Element:
    is_binary = all(len(node.children) in (0, 2) for node in tree.nodes)
    model = _add(
        root,
        "TreeModel",
        functionName=str(tree.task),
        splitCharacteristic="binarySplit" if is_binary else "multiSplit",
        missingValueStrategy=STRATEGIES[tree.missing],
        noTrueChildStrategy=NO_TRUE_CHILD[tree.no_true_child],
    )
    own = {"quality": str(tree.quality)}
    if tree.learner.criterion is not None:
        own["criterion"] = str(tree.learner.criterion)
    own["min-leaf-records"] = str(tree.learner.min_leaf_records)
    own["all-features"] = "true" if tree.learner.all_features else "false"
    if tree.learner.multiway is not None:
        own["multiway"] = "true" if tree.learner.multiway else "false"
    if tree.learner.tool is not Tool.UNKNOWN:
        own["tool"] = str(tree.learner.tool)
    if tree.learner.max_bins is not None:
        own["max-bins"] = str(tree.learner.max_bins)
    if tree.learner.sets is not None:
        own["sets"] = "true" if tree.learner.sets else "false"
    if tree.learner.unmodelled:
        own["unmodelled"] = " ".join(tree.learner.unmodelled)
    if tree.learner.draws_cuts:
        own["draws-cuts"] = "true"
    if tree.learner.claim is not None:
        own["claim"] = tree.learner.claim.words
    if tree.learner.lists_columns is not tree.learner.usually_lists_columns:
        own["lists-columns"] = "true" if tree.learner.lists_columns else "false"
    for name, value in own.items():
        _add(model, "Extension", name=f"treewarden:{name}", value=value)
    schema = _add(model, "MiningSchema")
    for feature in tree.features:
        _add(schema, "MiningField", name=feature.name, **treatment_attributes(feature))
    if tree.target:
        _add(schema, "MiningField", name=tree.target, usageType="target")
    elif tree.classes:
        target = _add(_add(model, "Targets"), "Target")
        for label in tree.classes:
            _add(target, "TargetValue", value=label)
    return model


def _node(parent: etree._Element, tree: Tree, node: Node) -> etree._Element:
    element = _add(parent, "Node", id=node.name)
    if node.score is not None:
        element.set(
            "score", _safe(node.score) if isinstance(node.score, str) else number_text(node.score)
        )
    if node.records is not None:
        element.set("recordCount", number_text(node.records))
    if node.default_child is not None:
        element.set("defaultChild", tree.nodes[node.default_child].name)
    add_bands(element, tree.classes, node)
    add_impurity(element, node)
    add_predicate(element, node.test)
    counts = node.class_counts or node.class_shares or ()
    for label, count in zip(tree.classes, counts, strict=False):
        if count is None:
            continue
        item = _add(element, "ScoreDistribution", value=label, recordCount=number_text(count))
        if node.class_counts is None:
            item.set("probability", number_text(count))
    return element


def add_bands(parent: etree._Element, classes: Sequence[str], node: Node) -> None:
    """Add the bands of a leaf, one Extension of our own for each class that has one."""
    for label, band in zip(classes, node.bands or (), strict=False):
        if band is not None:
            value = f"{number_text(band[0])} {number_text(band[1])} {label}"
            _add(parent, "Extension", name=BAND, value=value)


def add_impurity(parent: etree._Element, node: Node) -> None:
    """Add the impurity of a node, an Extension of our own, where it has one."""
    impurity = node.impurity
    if impurity is not None:
        value = f"{impurity.criterion} {number_text(impurity.low)} {number_text(impurity.high)}"
        _add(parent, "Extension", name=IMPURITY, value=value)


def add_predicate(parent: etree._Element, test: Predicate) -> None:
    """Add the element that says a test to another, in its namespace.

    Raises:
        OutputError: PMML cannot say it.
    """
    pending = [(parent, test)]
    while pending:
        above, part = pending.pop(0)
        if isinstance(part, Unknown | Refusal):
            raise OutputError(
                "PMML",
                "for some values of the raw field, a test on a computed field is unknown "
                "or refuses the record. PMML cannot express this; keep the file that "
                "computes the field",
            )
        if not isinstance(part, AllOf | AnyOf | OneOf | Surrogate) or _is_not_equal(part):
            _simple(above, part)
        elif len(part.parts) < 2:
            default: Predicate = Always() if isinstance(part, AllOf) else Never()
            pending.insert(0, (above, part.parts[0] if part.parts else default))
        else:
            compound = _add(above, "CompoundPredicate", booleanOperator=OPERATORS[type(part)])
            pending[:0] = [(compound, inner) for inner in part.parts]


def _is_not_equal(test: Predicate) -> bool:
    """Whether a test is "any number but one", for which PMML has an operator."""
    if not isinstance(test, AnyOf) or len(test.parts) != 2:
        return False
    below, above = test.parts
    if not isinstance(below, NumericTest) or not isinstance(above, NumericTest):
        return False
    return (below, above) == (
        NumericTest(above.feature, high=above.low),
        NumericTest(below.feature, low=below.high),
    )


def _simple(parent: etree._Element, test: Predicate) -> None:
    if isinstance(test, Always | Never):
        _add(parent, "True" if isinstance(test, Always) else "False")
    elif isinstance(test, MissingTest):
        operator = "isNotMissing" if test.negated else "isMissing"
        _add(parent, "SimplePredicate", field=test.feature, operator=operator)
    elif isinstance(test, CategoryTest):
        _categories(parent, test)
    elif isinstance(test, NumericTest):
        _interval(parent, test)
    elif isinstance(test, AnyOf) and isinstance(test.parts[0], NumericTest):
        _compare(parent, test.parts[0].feature, "notEqual", number_text(test.parts[0].high))


def _compare(parent: etree._Element, name: str, operator: str, value: str) -> None:
    _add(parent, "SimplePredicate", field=name, operator=operator, value=value)


def _categories(parent: etree._Element, test: CategoryTest) -> None:
    """Write a set; value by value where one holds a backslash, whose meaning inside an Array is not settled."""
    operator = "notEqual" if test.negated else "equal"
    if len(test.values) == 1:
        _compare(parent, test.feature, operator, test.values[0])
    elif any("\\" in value for value in test.values):
        operator = "and" if test.negated else "or"
        compound = _add(parent, "CompoundPredicate", booleanOperator=operator)
        for value in test.values:
            _compare(compound, test.feature, "notEqual" if test.negated else "equal", value)
    else:
        negated = "isNotIn" if test.negated else "isIn"
        holder = _add(parent, "SimpleSetPredicate", field=test.feature, booleanOperator=negated)
        array = _add(holder, "Array", n=str(len(test.values)), type="string")
        array.text = " ".join('"' + _safe(value).replace('"', '\\"') + '"' for value in test.values)


def _interval(parent: etree._Element, test: NumericTest) -> None:
    ends = []
    if test.low > -math.inf:
        ends.append(("greaterOrEqual" if test.low_closed else "greaterThan", test.low))
    if test.high < math.inf:
        ends.append(("lessOrEqual" if test.high_closed else "lessThan", test.high))
    if not ends:
        raise OutputError("PMML", f"PMML has no test that accepts any number of {test.feature!r}")
    if test.low == test.high:
        ends = [("equal", test.low)]
    holder = parent
    if len(ends) == 2:
        holder = _add(parent, "CompoundPredicate", booleanOperator="and")
    for operator, end in ends:
        _compare(holder, test.feature, operator, number_text(end))


# Writes an ensemble as a PMML 4.4 MiningModel: each tree as its own writer has it, in a segment.

METHODS = {
    Combination.SUM: "sum",
    Combination.AVERAGE: "average",
    Combination.WEIGHTED_AVERAGE: "weightedAverage",
    Combination.WEIGHTED_SUM: "weightedSum",
    Combination.MEDIAN: "median",
    Combination.WEIGHTED_MEDIAN: "x-weightedMedian",
    Combination.MAJORITY_VOTE: "majorityVote",
    Combination.WEIGHTED_MAJORITY_VOTE: "weightedMajorityVote",
    Combination.MAX: "max",
    Combination.SELECT_FIRST: "selectFirst",
    Combination.SELECT_ALL: "selectAll",
}


def written_ensemble(ensemble: Ensemble) -> bytes:
    """Return the ensemble as PMML.

    Raises:
        OutputError: it holds what a plain MiningModel of trees cannot say; names it.
    """
    problem = _unsayable(ensemble)
    if problem:
        notes = ensemble.notes if ensemble.link is Link.UNKNOWN else ()
        raise OutputError(
            ensemble.source,
            f"PMML cannot be written for a model with {problem}; audit the file as it is",
            notes,
        )
    root, schema = _frame(ensemble)
    model = _add_members(root, "MiningModel", functionName=str(ensemble.task))
    if ensemble.sampling.resampled is not None and ensemble.combination in OF_FORESTS:
        said = "true" if ensemble.sampling.resampled else "false"
        _add(model, "Extension", name=f"{PREFIX}{SAMPLED}", value=said)
    model.append(schema)
    if ensemble.base:
        targets = _add_members(
            _add_members(model, "Targets"), "Target", rescaleConstant=repr(ensemble.base[0])
        )
        if ensemble.target:
            targets.set("field", ensemble.target)
    method = METHODS[ensemble.combination]
    segmentation = _add_members(model, "Segmentation", multipleModelMethod=method)
    parts: list[bytes] = []
    for segment in _segments(ensemble):
        segmentation.append(segment)
        start, within, end = _around_segments(as_bytes(root))
        parts += [within] if parts else [start, within]
        segmentation.remove(segment)
    return b"".join([*parts, end])


def _segments(ensemble: Ensemble) -> Iterator[etree._Element]:
    """Yield the segment of each tree, one at a time: all of a large forest would take more memory than its text."""
    for number, member in enumerate(ensemble.members, 1):
        assert isinstance(member.model, Tree)
        tree = replace(member.model, target=member.model.target or ensemble.target)
        weight = number_text(member.weight)
        segment = etree.Element(f"{{{NAMESPACE}}}Segment", {"id": str(number), "weight": weight})
        _add_members(segment, "True")
        segment.append(_parts(tree)[1])
        yield segment


def _around_segments(document: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a document that holds one segment as what is before it, the segment, and what is behind it."""
    start = document.index(b"\n", document.index(b"<Segmentation ")) + 1
    end = document.rindex(b"\n", 0, document.rindex(b"</Segmentation>")) + 1
    return document[:start], document[start:end], document[end:]


def _unsayable(ensemble: Ensemble) -> str:
    """Return what about the ensemble has no place in a plain MiningModel, in words; "" where nothing."""
    if ensemble.combination not in METHODS:
        return f"a combination of trees by {ensemble.combination}"
    if ensemble.link is not Link.IDENTITY:
        return f"the link function {ensemble.link!s}"
    if ensemble.base and (ensemble.task is Task.CLASSIFICATION or len(ensemble.base) > 1):
        return "a starting score for each class"
    for number, member in enumerate(ensemble.members, 1):
        found = _unsayable_member(member)
        if found:
            return f"{found} ({'tree' if isinstance(member.model, Tree) else 'part'} {number})"
    return ""


def _unsayable_member(member: Member) -> str:
    if not isinstance(member.model, Tree):
        return "a part that is not a tree"
    if not isinstance(member.test, Always):
        return "trees for some records only"
    if member.output is not None:
        return "one tree per class"
    if any(node.outputs is not None for node in member.model.nodes):
        return "several numbers per leaf"
    return ""


def _frame(ensemble: Ensemble) -> tuple[etree._Element, etree._Element]:
    """Return a document with the header and all fields but no model, and the mining schema of all fields."""
    leaf = Node(0, "0", None, score=ensemble.classes[0] if ensemble.classes else 0.0)
    bare = Tree(
        (leaf,),
        ensemble.features,
        ensemble.target,
        ensemble.classes,
        ensemble.task,
        quality=Quality.ABSENT,
        source=ensemble.source,
    )
    root, model = _parts(bare)
    root.remove(model)
    schema = model.find(f"{{{NAMESPACE}}}MiningSchema")
    assert schema is not None
    return root, schema


def _parts(tree: Tree) -> tuple[etree._Element, etree._Element]:
    """Return the document that a tree makes on its own, and the model in it."""
    root = document_of(tree)
    model = root.find(f"{{{NAMESPACE}}}TreeModel")
    assert model is not None
    return root, model


def _add_members(parent: etree._Element, name: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
