"""Reads the nodes of a PMML tree model: their tests, scores and raw numbers, without recursion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lxml import etree

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats._pmml_fields import Failure, Fields, Vocabulary, number
from ppdm_models.formats._pmml_predicates import PREDICATES, read_predicate
from ppdm_models.formats._pmml_write import BAND
from ppdm_models.formats._xml import children, first, line_of, name_of
from ppdm_models.predicate import Predicate
from ppdm_models.tree import Band, Node, Task


@dataclass(frozen=True, slots=True)
class Distribution:
    """The class numbers of one node as the file has them; None where a class is not listed."""

    counts: tuple[float | None, ...] | None
    shares: tuple[float, ...] | None


def read_nodes(
    model: etree._Element, fields: Fields, task: Task, source: str, is_own: bool
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Return the nodes with raw numbers, and the classes: those declared, or those found, in document order.

    ``is_own`` says that the file is our own writer's, so that what it leaves out is left out.

    Raises:
        TreeFormatError: the nodes are not a tree that is understood; names the line and the node.
    """
    root = first(model, "Node")
    if root is None:
        raise TreeFormatError(f"{source}:{line_of(model)}", "the TreeModel has no Node")
    outline = _outline(root, source)
    names = _names([element for element, _ in outline], source)
    fail = _failures(names, source)
    elements = [element for element, _ in outline]
    labels = _classes(elements, fields) if task is Task.CLASSIFICATION else ()
    with_numbers = sum(
        first(element, "ScoreDistribution") is not None or first(element, "Extension") is not None
        for element in elements
    )
    if len(labels) > limits.CLASSES or with_numbers * len(labels) > limits.CLASS_NUMBERS:
        raise fail(model, f"{len(labels):,} classes at {with_numbers:,} nodes are too many")
    classes = Vocabulary(labels)
    below: list[list[int]] = [[] for _ in outline]
    for index, (_, parent) in enumerate(outline):
        if parent is not None:
            below[parent].append(index)
    nodes = []
    for index, (element, parent) in enumerate(outline):
        here = _distribution(element, classes, fields, fail)
        node = Node(
            index=index,
            name=names[element],
            parent=parent,
            children=tuple(below[index]),
            test=_test(element, fields, fail),
            score=_score(element, classes, fields, task, fail),
            records=_amount(element, "recordCount", fail),
            class_counts=here.counts,
            class_shares=here.shares,
            bands=_bands(element, classes, fields, fail),
            default_child=_default_child(
                element, [(names[outline[i][0]], i) for i in below[index]], fail
            ),
            line=line_of(element),
        )
        nodes.append(node if is_own else _with_likeliest_score(node, classes))
    return tuple(nodes), labels


def _outline(root: etree._Element, source: str) -> list[tuple[etree._Element, int | None]]:
    """Return the Node elements in document order, each with the position of its parent."""
    found: list[tuple[etree._Element, int | None]] = []
    pending: list[tuple[etree._Element, int | None, int]] = [(root, None, 0)]
    while pending:
        element, parent, depth = pending.pop()
        if len(found) >= limits.NODES:
            raise TreeFormatError(source, f"more than {limits.NODES:,} nodes")
        if depth > limits.DEPTH:
            raise TreeFormatError(
                f"{source}:{line_of(element)}", f"nodes nest more than {limits.DEPTH} deep"
            )
        here = len(found)
        found.append((element, parent))
        pending.extend(
            (child, here, depth + 1) for child in reversed(list(children(element, "Node")))
        )
    return found


def _names(elements: list[etree._Element], source: str) -> dict[etree._Element, str]:
    taken: dict[str, etree._Element] = {}
    for element in elements:
        name = element.get("id")
        if name is not None and name in taken:
            raise TreeFormatError(
                f"{source}:{line_of(element)}: node {name!r}",
                f"the id is taken by line {line_of(taken[name])}",
            )
        if name is not None:
            taken[name] = element
    names: dict[etree._Element, str] = {}
    for index, element in enumerate(elements):
        name = element.get("id")
        if name is None:
            name = f"n{index}"
            while name in taken:
                name += "_"
            taken[name] = element
        names[element] = name
    return names


def _failures(names: Mapping[etree._Element, str], source: str) -> Failure:
    """Return what makes an error about an element: it names the line and the node that the element is part of."""

    def fail(element: etree._Element, problem: str) -> TreeFormatError:
        node: etree._Element | None = element
        while node is not None and node not in names:
            node = node.getparent()
        inside = "" if node is None else f": node {names[node]!r}"
        return TreeFormatError(f"{source}:{line_of(element)}{inside}", problem)

    return fail


def _classes(elements: list[etree._Element], fields: Fields) -> tuple[str, ...]:
    return fields.classes or tuple(
        dict.fromkeys(label for element in elements for label in _labels(element))
    )


def _labels(element: etree._Element) -> Iterator[str]:
    if element.get("score") is not None:
        yield element.get("score", "")
    for item in children(element, "ScoreDistribution"):
        yield item.get("value", "")


def _test(element: etree._Element, fields: Fields, fail: Failure) -> Predicate:
    found = [child for child in element if name_of(child) in PREDICATES]
    if len(found) != 1:
        raise fail(
            element,
            "has no predicate" if not found else f"has {len(found)} predicates; one is expected",
        )
    return read_predicate(found[0], fields, fail)


def _score(
    element: etree._Element, classes: Vocabulary, fields: Fields, task: Task, fail: Failure
) -> str | float | None:
    text = element.get("score")
    if text is None:
        return None
    if task is Task.CLASSIFICATION:
        return _class(element, text, classes, fields, fail, "the score")
    value = number(text)
    if value is None:
        raise fail(element, f"the score {text[:80]!r} is not a finite number")
    return value


def _class(
    element: etree._Element,
    text: str,
    classes: Vocabulary,
    fields: Fields,
    fail: Failure,
    what: str,
) -> str:
    found = classes.find(fields.labels.get(text, text))
    if found is None:
        known = ", ".join(repr(label) for label in list(classes.position)[:12])
        raise fail(
            element, f"{what} names the unknown class {text[:80]!r}; the classes are {known}"
        )
    return found


def _amount(element: etree._Element, attribute: str, fail: Failure) -> float | None:
    text = element.get(attribute)
    if text is None:
        return None
    value = number(text)
    if value is None or value < 0:
        raise fail(element, f"{attribute} is {text[:80]!r}; it must be a finite number, 0 or more")
    return value


def _distribution(
    element: etree._Element, classes: Vocabulary, fields: Fields, fail: Failure
) -> Distribution:
    if first(element, "ScoreDistribution") is None or not classes.position:
        return Distribution(None, None)
    counts: list[float | None] = [None] * len(classes.position)
    shares: list[float | None] = [None] * len(classes.position)
    seen: set[str] = set()
    for item in children(element, "ScoreDistribution"):
        text = item.get("value")
        if text is None:
            raise fail(item, "a ScoreDistribution has no value")
        label = _class(item, text, classes, fields, fail, "ScoreDistribution")
        if label in seen:
            raise fail(item, f"two ScoreDistributions are about {label!r}")
        seen.add(label)
        count, share = _amount(item, "recordCount", fail), _share(item, fail)
        if count is None and share is None:
            raise fail(item, f"the ScoreDistribution of {label!r} has no recordCount")
        position = classes.position[label]
        counts[position], shares[position] = count, share
    return Distribution(
        tuple(counts) if any(count is not None for count in counts) else None,
        _complete(shares, seen, classes),
    )


def _share(item: etree._Element, fail: Failure) -> float | None:
    """Return the probability, or else the confidence, which most producers use for the same number."""
    share = _amount(item, "probability", fail)
    if share is None:
        share = _amount(item, "confidence", fail)
    if share is not None and share > 1.0 + 1e-6:
        raise fail(item, f"a share of {share:g} is more than 1")
    return share


def _bands(
    element: etree._Element, classes: Vocabulary, fields: Fields, fail: Failure
) -> tuple[Band | None, ...] | None:
    """Return the bands that stand in a leaf in place of its counts: our own extension."""
    bands: list[Band | None] = [None] * len(classes.position)
    found = [item for item in children(element, "Extension") if item.get("name") == BAND]
    for item in found:
        low_text, _, rest = item.get("value", "").partition(" ")
        high_text, _, label = rest.partition(" ")
        low, high = number(low_text), number(high_text)
        if low is None or high is None or not 0 <= low <= high:
            raise fail(item, f"a band is {item.get('value', '')[:80]!r}; it must be low high class")
        position = classes.position[_class(item, label, classes, fields, fail, "a band")]
        if bands[position] is not None:
            raise fail(item, f"two bands are about {label!r}")
        bands[position] = (low, high)
    others = [first(element, name) for name in ("Node", "ScoreDistribution")]
    if found and any(other is not None for other in others):
        raise fail(element, "bands stand only in a leaf, in place of its class numbers")
    return tuple(bands) if found else None


def _complete(
    shares: list[float | None], seen: set[str], classes: Vocabulary
) -> tuple[float, ...] | None:
    """Return all shares where the listed classes have one and they sum to 1, so that the others have none."""
    listed = [share for share, label in zip(shares, classes.position, strict=True) if label in seen]
    known = [share for share in listed if share is not None]
    if not listed or len(known) < len(listed) or abs(math.fsum(known) - 1.0) > 1e-3:
        return None
    return tuple(share or 0.0 for share in shares)


def _default_child(
    element: etree._Element, below: list[tuple[str, int]], fail: Failure
) -> int | None:
    name = element.get("defaultChild")
    if name is None:
        return None
    found = dict(below).get(name)
    if found is None:
        raise fail(element, f"the defaultChild {name!r} is none of its children")
    return found


def _with_likeliest_score(node: Node, classes: Vocabulary) -> Node:
    """Give a leaf without a score the class that most of its records have (PMML 4.4, Node, score)."""
    numbers = [number or 0.0 for number in node.class_counts or node.class_shares or ()]
    if node.score is not None or node.children or not any(numbers):
        return node
    return replace(node, score=list(classes.position)[numbers.index(max(numbers))])
