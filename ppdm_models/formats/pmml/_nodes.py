"""Reads the nodes of a PMML tree model: their tests, scores and raw numbers, without recursion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import Element, Recorded, is_model
from treewarden.ppdm_models.formats.pmml._fields import Fields
from treewarden.ppdm_models.formats.pmml._predicates import PREDICATES, read_predicate
from treewarden.ppdm_models.formats.pmml._statistics import (
    BAND,
    IMPURITY,
    Stated,
    are_of_one,
    extra_kinds,
)
from treewarden.ppdm_models.formats.pmml._values import Failure, Vocabulary, number
from treewarden.ppdm_models.tree.nodes import WHERE_BANDS, Impurity
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import (
    Band,
    Criterion,
    Node,
    Task,
    completed,
)


@dataclass(slots=True)
class Outline:
    """One Node element, its place in the tree, and its children by kind."""

    element: Element
    parent: int | None
    below: list[int]
    predicates: list[Element]
    distribution: list[Element]
    bands: list[Element]
    extensions: list[Element]
    name: str = ""


def read_nodes(
    root: Element, fields: Fields, task: Task, source: str, is_own: bool
) -> tuple[Sequence[Node], tuple[str, ...]]:
    """Return the nodes with raw numbers, and the classes: those declared, or those found, in document order.

    ``is_own`` says that the file is our own writer's, so that what it leaves out is left out.

    Raises:
        TreeFormatError: the nodes are not a tree that is understood; names the line and the node.
    """
    if isinstance(root, Recorded) and root.tape is not None:
        from treewarden.ppdm_models.formats.pmml._columns import plain_nodes  # where recorded

        node_table = plain_nodes(root.tape, fields, task, is_own)
        if node_table is not None:
            return node_table, fields.classes if task is Task.CLASSIFICATION else ()
    outline = _outline(root, source, fields)
    _name(outline, source)
    labels = _classes(outline, fields) if task is Task.CLASSIFICATION else ()
    with_numbers = sum(bool(item.distribution or item.bands) for item in outline)
    if len(labels) > limits.CLASSES or with_numbers * len(labels) > limits.CLASS_NUMBERS:
        raise Failure(source)(
            root,
            f"{len(labels):,} classes at {with_numbers:,} nodes are too many; train a smaller tree",
        )
    reader = _NodeReader(fields, task, labels, is_own)
    nodes = tuple(reader.node(index, outline) for index in range(len(outline)))
    if labels:
        fields.unused += extra_kinds((part for item in outline for part in item.extensions), nodes)
    return nodes, labels


def _outline(root: Element, source: str, fields: Fields) -> list[Outline]:
    """Return the Node elements in document order, each with the position of its parent."""
    outlines: list[Outline] = []
    pending: list[tuple[Element, int | None, int]] = [(root, None, 0)]
    while pending:
        element, parent, depth = pending.pop()
        here = len(outlines)
        if here >= limits.NODES:
            raise TreeFormatError(
                source,
                f"more than {limits.NODES:,} nodes in one tree, which is the "
                "limit; train a smaller tree",
            )
        if depth > limits.DEPTH:
            raise TreeFormatError(
                f"{source}:{element.line}",
                f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                "train shallower trees",
            )
        item = Outline(
            element=element,
            parent=parent,
            below=[],
            predicates=[],
            distribution=[],
            bands=[],
            extensions=[],
        )
        outlines.append(item)
        if parent is not None:
            outlines[parent].below.append(here)
        inner: list[tuple[Element, int | None, int]] = []
        for child in element.children:
            name = child.name
            if name == "Node":
                inner.append((child, here, depth + 1))
            elif name == "ScoreDistribution":
                item.distribution.append(child)
            elif name in PREDICATES:
                item.predicates.append(child)
            elif name == "Extension":
                elements = item.bands if child.get("name") == BAND else item.extensions
                elements.append(child)
            elif is_model(name):
                fields.notes.append(
                    f"{source}:{child.line}: a node contains a {name}, which is not evaluated"
                )
        inner.reverse()
        pending += inner
    return outlines


def _named(extensions: Sequence[Element], name: str) -> Iterator[Element]:
    return (part for part in extensions if part.get("name") == name)


def _name(outline: list[Outline], source: str) -> None:
    elements: dict[str, Element] = {}
    without = []
    for index, item in enumerate(outline):
        name = item.element.attributes.get("id")
        if name is None:
            without.append((index, item))
            continue
        if name in elements:
            raise TreeFormatError(
                f"{source}:{item.element.line}: node {name!r}",
                f"the node in line {elements[name].line} has the same id",
            )
        elements[name] = item.element
        item.name = name
    for index, item in without:
        item.name = f"n{index}"
        while item.name in elements:
            item.name += "_"
        elements[item.name] = item.element


def _classes(outline: list[Outline], fields: Fields) -> tuple[str, ...]:
    vocabulary = Vocabulary(fields.classes)
    said = dict.fromkeys(label for item in outline for label in _labels(item))
    found = dict.fromkeys(fields.labels.get(label, label) for label in said)
    strange = [label for label in found if label.strip() and vocabulary.find(label) is None]
    if fields.classes and strange:
        fields.notes.append(
            f"{fields.fail.source}:{outline[0].element.line}: nodes name classes that the "
            "target does not declare: "
            f"{', '.join(repr(label[:80]) for label in strange[:12])}"
        )
    return (*fields.classes, *strange)


def _labels(item: Outline) -> Iterator[str]:
    score = item.element.get("score")
    if score is not None:
        yield score
    for part in item.distribution:
        yield part.get("value") or ""


class _NodeReader:
    """Reads one node after another."""

    def __init__(self, fields: Fields, task: Task, labels: tuple[str, ...], is_own: bool) -> None:
        self.fields = fields
        self.task = task
        self.labels = labels
        self.classes = Vocabulary(labels)
        self.positions = self.classes.position
        self.is_own = is_own
        self.fail = Failure(fields.fail.source)

    def node(self, index: int, outline: list[Outline]) -> Node:
        """Return one node.

        Raises:
            TreeFormatError: it is not understood.
        """
        item = outline[index]
        element = item.element
        self.fail.inside = f": node {item.name!r}"
        counts, shares = self._distribution(item.distribution)
        attributes = element.attributes
        if any(
            "probability" in part.attributes or "confidence" in part.attributes
            for part in item.distribution
        ):
            self._note_shares(item, counts, shares)
        score = self._score(element)
        if score is None and not item.below and not self.is_own:
            score = self._likeliest(counts or shares or ())
        records = attributes.get("recordCount")
        default = attributes.get("defaultChild")
        return Node(
            index=index,
            name=item.name,
            parent=item.parent,
            children=tuple(item.below),
            test=self._test(item),
            score=score,
            records=None if records is None else self._amount(element, "recordCount", records),
            class_counts=counts,
            class_shares=shares,
            outputs=None,
            default_child=None
            if default is None
            else self._default_child(element, default, item, outline),
            line=element.line,
            bands=self._bands(item) if item.bands else None,
            impurity=next(map(self._impurity, _named(item.extensions, IMPURITY)), None),
        )

    def _test(self, item: Outline) -> Predicate:
        count = len(item.predicates)
        if count > 1:
            raise self.fail(item.element, f"it has {count} predicates, but one is expected")
        if not count:  # the schema of PMML 4.4 requires one of every Node, the root too
            advice = "; write <True/>, which takes all records" if item.parent is None else ""
            raise self.fail(item.element, f"it has no predicate{advice}")
        return read_predicate(item.predicates[0], self.fields, self.fail)

    def _score(self, element: Element) -> str | float | None:
        text = element.attributes.get("score")
        if text is None:
            return None
        if self.task is Task.CLASSIFICATION:
            if text in self.positions and not self.fields.labels:
                return text
            return self._class(element, text, "the score")
        value = number(text)
        if value is None:
            raise self.fail(element, f"the score {text[:80]!r} is not a finite number")
        return value

    def _likeliest(self, numbers: tuple[float | None, ...]) -> str | None:
        """Return the class that most records of a leaf without a score have (PMML 4.4, Node, score)."""
        known = [number or 0.0 for number in numbers]
        return self.labels[known.index(max(known))] if any(known) else None

    def _class(self, element: Element, text: str, what: str) -> str:
        found = self.classes.find(self.fields.labels.get(text, text))
        if found is None:
            known = ", ".join(repr(label) for label in self.labels[:12])
            raise self.fail(
                element,
                f"{what} names {text[:80]!r}, which is not a class; the classes are {known}",
            )
        return found

    def _amount(self, element: Element, attribute: str, text: str) -> float:
        value = number(text)
        if value is None or value < 0:
            raise self.fail(
                element, f"{attribute} is {text[:80]!r}, but must be a finite number, 0 or more"
            )
        return value

    def _distribution(
        self, items: list[Element]
    ) -> tuple[tuple[float | None, ...] | None, tuple[float, ...] | None]:
        """Return the counts and the shares of the classes as the file has them; None where a class is not listed."""
        if not items or not self.labels:
            return None, None
        plain = self._whole_counts(items)
        if plain is not None:
            return plain, None
        counts: list[float | None] = [None] * len(self.labels)
        shares: list[float | None] = [None] * len(self.labels)
        seen: set[str] = set()
        with_counts = with_shares = False
        for item in items:
            attributes = item.attributes
            text = attributes.get("value")
            if text is None:
                raise self.fail(item, "a ScoreDistribution has no value")
            label = self._class(item, text, "ScoreDistribution")
            if label in seen:
                raise self.fail(item, f"two ScoreDistributions belong to {label!r}")
            seen.add(label)
            position = self.positions[label]
            records = attributes.get("recordCount")
            if records is not None:
                with_counts = True
                counts[position] = self._amount(item, "recordCount", records)
            share = None if len(attributes) == 2 and records is not None else self._share(item)
            if share is not None:
                with_shares = True
                shares[position] = share
            elif records is None:
                raise self.fail(item, f"the ScoreDistribution of {label!r} has no recordCount")
        return (
            tuple(counts) if with_counts else None,
            self._complete(shares, seen) if with_shares else None,
        )

    def _note_shares(
        self,
        item: Outline,
        counts: tuple[float | None, ...] | None,
        shares: tuple[float, ...] | None,
    ) -> None:
        """Note the probabilities beside counts, as whether they are those of the counts shows over the whole tree.

        Probabilities of a node without counts that are not read as its shares are numbers that no audit uses.
        """
        total = number(item.element.get("recordCount"))
        known = () if counts is None else completed(counts, total)
        for stated in self.fields.shares:
            texts = self._texts(item, stated.attribute)
            listed = [text for text in texts if text is not None]
            where = f"{self.fail.source}:{item.element.line}{self.fail.inside}"
            if listed and known and None not in known:
                whole = tuple(count or 0.0 for count in known)
                stated.nodes.append(Stated(where, whole, tuple(texts), total))
            elif listed and shares is None:
                self.fields.unused.append(f"the {stated.attribute} of classes at its nodes")
                if len(listed) == len(item.distribution) and not are_of_one(listed):
                    stated.problems.append(f"{where}: its {stated.attribute} does not sum to 1")

    def _texts(self, item: Outline, attribute: str) -> list[str | None]:
        """Return what a node states of each class in one attribute."""
        texts: list[str | None] = [None] * len(self.labels)
        for part in item.distribution:
            text = part.get(attribute)
            if text is not None and self.labels:
                label = self._class(part, part.get("value") or "", "ScoreDistribution")
                texts[self.positions[label]] = text
        return texts

    def _whole_counts(self, items: list[Element]) -> tuple[float, ...] | None:
        """Return the counts in the common case, fast: each class in its order with a whole count and no more."""
        if len(items) != len(self.labels) or self.fields.labels:
            return None
        counts = []
        for item, label in zip(items, self.labels, strict=True):
            attributes = item.attributes
            text = attributes.get("recordCount", "")
            is_whole = text.isdigit() and text.isascii() and len(text) < 16
            if len(attributes) != 2 or not is_whole or attributes.get("value") != label:
                return None
            counts.append(float(text))
        return tuple(counts)

    def _share(self, item: Element) -> float | None:
        """Return the probability, or else the confidence, which most producers use for the same number."""
        for attribute in ("probability", "confidence"):
            text = item.get(attribute)
            if text is not None:
                share = self._amount(item, attribute, text)
                if share <= 1.0 + 1e-6:
                    return share
                if attribute == "probability":
                    raise self.fail(item, f"a share of {share:g} is more than 1")
        return None

    def _bands(self, item: Outline) -> tuple[Band | None, ...]:
        """Return the bands that stand in a leaf in place of its counts: our own extension."""
        bands: list[Band | None] = [None] * len(self.labels)
        for part in item.bands:
            said = part.get("value") or ""
            low_text, _, rest = said.partition(" ")
            high_text, _, label = rest.partition(" ")
            low, high = number(low_text), number(high_text)
            if low is None or high is None or not 0 <= low <= high:
                raise self.fail(part, f"a band is {said[:80]!r}; write low high class")
            position = self.positions[self._class(part, label, "a band")]
            if bands[position] is not None:
                raise self.fail(part, f"two bands belong to {label!r}")
            bands[position] = (low, high)
        if item.below or item.distribution:
            raise self.fail(item.element, WHERE_BANDS)
        return tuple(bands)

    def _impurity(self, part: Element) -> Impurity:
        """Return the impurity that stands at a node: our own extension."""
        said = part.get("value") or ""
        criterion, *ends = said.split(" ")
        low, high = (number(end) for end in ends) if len(ends) == 2 else (None, None)
        is_known = criterion in (Criterion.GINI, Criterion.ENTROPY)
        if not is_known or low is None or high is None or not 0 <= low <= high:
            raise self.fail(
                part,
                f"the impurity is {said[:80]!r}, but must have three parts; write the criterion (gini or entropy), "
                'the lowest and the highest value, for example "gini 0.1 0.2"',
            )
        return Impurity(Criterion(criterion), low, high)

    def _complete(self, shares: list[float | None], seen: set[str]) -> tuple[float, ...] | None:
        """Return all shares where the listed classes have one and they sum to 1, so that the others have none."""
        known = [share for share in shares if share is not None]
        if len(known) < len(seen) or abs(math.fsum(known) - 1.0) > 1e-3:
            return None
        return tuple(share or 0.0 for share in shares)

    def _default_child(
        self, element: Element, name: str, item: Outline, outline: list[Outline]
    ) -> int:
        for child in item.below:
            if outline[child].name == name:
                return child
        raise self.fail(element, f"the defaultChild {name!r} is not one of its children")
