"""BigML's JSON models: counts at every node, and much of the training data in summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    compared,
    grown,
    unique,
)
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.predicate import AllOf, AnyOf, MissingTest, Predicate
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Task,
    Tree,
)

NUMBERS_LISTED = ("how the numbers of its nodes are distributed",)


class BigmlJson(Format):
    """One model, as the service gives it or without its envelope."""

    def sniff(self, data: bytes) -> bool:
        return (
            opens_json(data) == b"{"
            and b'"model_fields"' in data
            and b'"predicate"' in data
            and b'"root"' in data
        )

    def open(self, data: bytes, source: str) -> Opened:
        model = _model(read_part(data, source))
        boosted = model.get("boosted_ensemble")
        if boosted is not None and boosted.flag():
            raise model.refused(
                "the file contains one tree of a boosted ensemble, without the "
                "others; give a single tree"
            )
        leaks = leaks_of(model)
        return Opened(_tree(model), leaks)


def _tree(model: JsonPart) -> Tree:
    fields = _fields(model)
    nodes = nodes_of(model["model"]["root"], fields)
    tree = Tree(
        nodes=nodes,
        features=fields.features,
        target=fields.target.name,
        classes=fields.classes,
        task=Task.CLASSIFICATION if fields.classes else Task.REGRESSION,
        missing=Missing.LAST_PREDICTION,
        source=model.source,
        format="bigml_json",
        unused=() if fields.classes else NUMBERS_LISTED,
    )
    weights = model.get("weight_field")
    judged = with_support(tree)
    if weights is None:
        return judged
    note = f"{model.source}: records have weights, so a leaf's value may differ from that of most of its records"
    unused = ("the weighted class numbers of its nodes",) if fields.classes else NUMBERS_LISTED
    return replace(judged, notes=(*judged.notes, note), unused=unused)


def _model(document: JsonPart) -> JsonPart:
    inner = document.get("object")
    return document if inner is None else inner


def _fields(model: JsonPart) -> BigmlFields:
    parts = dict(model["model"]["fields"].entries())
    target = _target(model)
    if target not in parts:
        raise model.refused(f"the objective field {target[:80]!r} is not one of its fields")
    fields = {key: _field(part) for key, part in parts.items()}
    names = [field.name for field in fields.values()]
    unique(names, "fields", model.source, limits.FEATURES)
    classes = fields[target].labels if not fields[target].numeric else ()
    unique(classes, "classes", model.source, limits.CLASSES)
    if not fields[target].numeric and not classes:
        raise parts[target].refused("the field has no categories, so the classes are unknown")
    ordered = sorted(
        (key for key in fields if key != target), key=lambda key: (fields[key].place, key)
    )
    features = tuple(
        Feature(fields[key].name, numeric=fields[key].numeric, values=fields[key].labels)
        for key in ordered
    )
    return BigmlFields(fields, fields[target], classes, features)


def _target(model: JsonPart) -> str:
    json_part = model.get("objective_field")
    return model["objective_fields"].at(0).text() if json_part is None else json_part.text()


def _field(part: JsonPart) -> Field:
    kind = part["optype"].text()
    summary, place = part.get("summary"), part.get("column_number")
    listed = None if summary is None else summary.get("categories")
    labels = unique(
        (item.at(0).label() for item in listed or ()), "categories", part.where, limits.FEATURES
    )
    return Field(
        name=part["name"].text(),
        kind=kind,
        labels=labels if kind == "categorical" else (),
        place=0 if place is None else place.whole(),
    )


FORMAT = BigmlJson()


# The nodes of a BigML tree: each child holds the predicate that leads to it, and what its records were.

OPERATORS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "==", "!=": "!=", "/=": "!="}
SETS = ("=", "!=", "/=", "in")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the data; ``labels`` are its categories, ``place`` its column."""

    name: str
    kind: str
    labels: tuple[str, ...]
    place: int

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.kind == "numeric"


@dataclass(frozen=True, slots=True)
class BigmlFields:
    """The fields by id, the one that is predicted with its classes, and the others as features."""

    by_id: Mapping[str, Field]
    target: Field
    classes: tuple[str, ...]
    features: tuple[Feature, ...]


def nodes_of(root: JsonPart, fields: BigmlFields) -> tuple[Node, ...]:
    """Return the nodes below a root.

    Raises:
        TreeFormatError: a node is malformed, or asks in a way that is not supported (terms of a text).
    """
    if root["predicate"].value is not True:
        raise root.refused("the root has a condition")

    def draft_of(node: JsonPart) -> Draft:
        children = list(node.get("children") or ())
        json_part = node.get("id")
        output = node["output"]
        return Draft(
            name=node.pointer if json_part is None else json_part.label(),
            branches=_branches(children, fields),
            score=_label(output, fields) if fields.classes else output.number(),
            records=node["count"].amount(),
            class_counts=_counts(node, fields) if fields.classes else None,
        )

    return grown(root, draft_of, root.where, classes=max(1, len(fields.classes)))


def _label(part: JsonPart, fields: BigmlFields) -> str:
    label = part.label()
    if label not in fields.classes:
        raise part.refused(f"{label[:80]!r} is not one of the classes")
    return label


def _counts(node: JsonPart, fields: BigmlFields) -> tuple[float, ...] | None:
    summary = node.get("objective_summary")
    listed = None if summary is None else summary.get("categories")
    if listed is None:
        return None
    counts = {_label(item.at(0), fields): item.at(1).amount() for item in listed}
    return tuple(counts.get(label, 0.0) for label in fields.classes)


def _branches(children: list[JsonPart], fields: BigmlFields) -> tuple[Branch, ...]:
    """Return the ways to the children; a missing value that one of them takes is none for the others."""
    tests = [_test(child["predicate"], fields) for child in children]
    taken = {feature for feature, _, missing in tests if missing}
    branches = []
    for child, (feature, test, missing) in zip(children, tests, strict=True):
        if missing:
            test = test if isinstance(test, MissingTest) else AnyOf((MissingTest(feature), test))
        elif feature in taken and not isinstance(test, MissingTest):
            test = AllOf((MissingTest(feature, negated=True), test))
        branches.append(Branch(child, test))
    return tuple(branches)


def _test(predicate: JsonPart, fields: BigmlFields) -> tuple[str, Predicate, bool]:
    """Return the feature of a predicate, its test, and whether a missing value passes it."""
    key, operator = predicate["field"].text(), predicate["operator"].text()
    field = fields.by_id.get(key)
    if field is None or field is fields.target:
        raise predicate.refused(f"tests the unknown field {key[:80]!r}")
    if predicate.get("term") is not None or field.kind not in ("numeric", "categorical"):
        raise predicate.refused(
            f"a node tests a field of the kind {field.kind!r}, which is not supported"
        )
    plain = operator.removesuffix("*")
    value = predicate.get("value")
    if value is None and plain in ("=", "!=", "/="):
        return field.name, MissingTest(field.name, negated=plain != "="), plain == "="
    test = (
        _of_numbers(predicate, field, plain) if field.numeric else _of_sets(predicate, field, plain)
    )
    return field.name, test, plain != operator


def _of_numbers(predicate: JsonPart, field: Field, operator: str) -> Predicate:
    if operator not in OPERATORS:
        raise predicate.refused(
            f"unknown operator {operator!r}; known values: {', '.join(OPERATORS)}"
        )
    return compared(field.name, OPERATORS[operator], predicate["value"].number())[0]


def _of_sets(predicate: JsonPart, field: Field, operator: str) -> Predicate:
    if operator not in SETS:
        raise predicate.refused(f"unknown operator {operator!r}; known values: {', '.join(SETS)}")
    value = predicate["value"]
    inside, outside = belongs(
        field.name, [item.label() for item in value] if value.is_list else [value.label()]
    )
    return inside if operator in ("=", "in") else outside


# Side channels of a BigML model: histograms down to single records, people, names and dates.

HISTOGRAMS = ("bins", "counts", "categories")
SECRETS = (
    ("creator", LeakKind.AUTHOR, "the account that made the model"),
    ("created", LeakKind.TIMESTAMP, "when the model was made"),
    ("updated", LeakKind.TIMESTAMP, "when the model was changed"),
    ("dataset", LeakKind.IDENTIFIER, "the service's name for the data set"),
    ("source", LeakKind.IDENTIFIER, "the service's name for the source of the data"),
    ("resource", LeakKind.IDENTIFIER, "the service's name for the model"),
    ("seed", LeakKind.REPLAY, "the random seed"),
)


def leaks_of(model: JsonPart) -> tuple[Leak, ...]:
    """Return what the file gives away, in a fixed order.

    Raises:
        TreeFormatError: a part of it is malformed.
    """
    inner = model["model"]
    return (*_leaks_of_fields(inner["fields"]), *_leaves(inner["root"]), *_secrets(model))


def _leaks_of_fields(fields: JsonPart) -> Iterator[Leak]:
    for _, field in fields.entries():
        summary = field.get("summary")
        if summary is None:
            continue
        name = field["name"].text()
        yield from _histogram(summary, f"the histogram of {name!r}")
        low, high = summary.get("minimum"), summary.get("maximum")
        if low is not None and high is not None:
            what = f"the smallest and the largest value of {name!r}"
            yield Leak(LeakKind.EXTREMES, summary.pointer, what, records=1)


def _histogram(summary: JsonPart, what: str) -> Iterator[Leak]:
    for key in HISTOGRAMS:
        listed = summary.get(key)
        if listed is None or not len(listed):
            continue
        populations = [item.at(1).amount() for item in listed]
        smallest = min((size for size in populations if size > 0), default=0)
        yield Leak(
            LeakKind.HISTOGRAM,
            listed.pointer,
            f"{what}, in {len(populations)} parts",
            records=int(smallest) or None,
        )


def _leaves(root: JsonPart) -> Iterator[Leak]:
    """Yield the target values that the leaves of a regression list, once for the smallest part of all."""
    smallest: tuple[float, JsonPart] | None = None
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.get("children") or ())
        summary = node.get("objective_summary")
        for key in ("bins", "counts"):
            for item in (summary.get(key) if summary is not None else None) or ():
                size = item.at(1).amount()
                if size > 0 and (smallest is None or size < smallest[0]):
                    smallest = (size, item)
    if smallest is not None:
        size, item = smallest
        what = "target values of the records of single nodes"
        yield Leak(LeakKind.EXACT_TARGETS, item.pointer, what, records=int(size) or None)


def _secrets(model: JsonPart) -> Iterator[Leak]:
    for key, kind, what in SECRETS:
        part = model.get(key)
        if part is not None and part.value != "":
            yield Leak(kind, part.pointer, what)
