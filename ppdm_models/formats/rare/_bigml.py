"""The nodes of a BigML tree: each child holds the predicate that leads to it, and what its records were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.tree.predicate import AllOf, AnyOf, MissingTest, Predicate
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Feature, Node

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
        raise root.refused("the root has a condition of its own")

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
        raise part.refused(f"{label[:80]!r} is none of the classes")
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
        raise predicate.refused(f"a test on a field of kind {field.kind!r}, which is not supported")
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
        raise predicate.refused(f"unknown operator {operator!r}; have {', '.join(OPERATORS)}")
    return compared(field.name, OPERATORS[operator], predicate["value"].number())[0]


def _of_sets(predicate: JsonPart, field: Field, operator: str) -> Predicate:
    if operator not in SETS:
        raise predicate.refused(f"unknown operator {operator!r}; have {', '.join(SETS)}")
    value = predicate["value"]
    inside, outside = belongs(
        field.name, [item.label() for item in value] if value.is_list else [value.label()]
    )
    return inside if operator in ("=", "in") else outside


# What a BigML model tells beside its tree: histograms down to single records, people, names and dates.

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
    return (*_fields(inner["fields"]), *_leaves(inner["root"]), *_secrets(model))


def _fields(fields: JsonPart) -> Iterator[Leak]:
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
