"""Writes a changed model back into the PMML file it was read from, touching nothing but what changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lxml import etree

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.pmml._predicates import PREDICATES
from treewarden.ppdm_models.formats.pmml._statistics import BAND, IMPURITY, telling_parts
from treewarden.ppdm_models.formats.pmml._write import (
    add_bands,
    add_impurity,
    add_predicate,
)
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Node, Tree

PREFIX = re.compile(rb"<([^\s/>:]+:)?")
Labels = dict[str, str]


def rewritten(document: XmlDocument, original: Model, changed: Model, with_quality: bool) -> bytes:
    """Return the file with the nodes of its trees as they are in the changed model; matched by their names.

    ``with_quality`` writes all numbers anew, and beside them what they mean in our own words, for files whose numbers
    would be understood otherwise once some are gone.

    Raises:
        OutputError: the models do not have the same trees, or a tree has a node that the file does not.
    """
    before, after = list(trees_of(original)), list(trees_of(changed))
    spans = [
        span
        for span in document.root.within("TreeModel", "DecisionTree")
        if any(child.name == "Node" for child in span.children)
    ]
    if not len(before) == len(after) == len(spans):
        raise OutputError(
            original.source,
            f"the file has {len(before)} trees, but the changed model has {len(after)}; "
            "change trees without changing their number",
        )
    edits: list[Edit] = []
    for tree, new, span in zip(before, after, _in_order(before, spans), strict=True):
        if tree != new or (tree.unused and not new.unused):
            edits += _Rewriting(document, tree, new, span, with_quality).edits()
    return document.edited(edits)


def _in_order(trees: Sequence[Tree], spans: Sequence[ElementSpan]) -> list[ElementSpan]:
    """Return the elements in the order of the trees, which a chain of models may have changed."""
    waiting: dict[tuple[object, ...], list[ElementSpan]] = {}
    for span in spans:
        lines = tuple(node.line for node in span.within("Node"))
        waiting.setdefault(lines, []).append(span)
    return [waiting[tuple(node.line for node in tree.nodes)].pop(0) for tree in trees]


class _Rewriting:
    """The edits that turn one tree of a file into another."""

    def __init__(
        self,
        document: XmlDocument,
        before: Tree,
        after: Tree,
        model: ElementSpan,
        with_quality: bool,
    ) -> None:
        self.document = document
        self.before = before
        self.after = after
        self.model = model
        self.with_quality = with_quality
        nodes = list(model.within("Node"))
        self.spans = {node.name: span for node, span in zip(before.nodes, nodes, strict=True)}
        self.old = {node.name: node for node in before.nodes}
        found = PREFIX.match(document.data, model.start)
        self.prefix = ((found and found[1]) or b"").decode()
        self.labels: Labels = {
            item.attributes.get("rawDataValue", "").strip(): item.attributes.get("value", "")
            for item in model.within("TargetValue")
            if "rawDataValue" in item.attributes
        }

    def edits(self) -> Iterator[Edit]:
        """Yield the edits.

        Raises:
            OutputError: a node is not in the file.
        """
        kept = {node.name for node in self.after.nodes}
        if not kept <= self.spans.keys():
            extra = next(node for node in self.after.nodes if node.name not in self.spans)
            raise OutputError(
                self.after.where(extra),
                "the change has a node that the file does not have; report this to those who maintain treewarden",
            )
        for node in self.before.nodes:
            parent = None if node.parent is None else self.before.nodes[node.parent].name
            if node.name not in kept and parent in kept:
                yield self.document.removal(self.spans[node.name])
        if self.with_quality:
            yield from self._meaning()
        for node in self.after.nodes:
            yield from self._node(node, self.old[node.name], self.spans[node.name])

    def _meaning(self) -> Iterator[Edit]:
        own = "treewarden:quality"
        element_spans = [item for item in self.model.children if item.attributes.get("name") == own]
        if element_spans:
            yield from self._set(element_spans[0], "value", str(self.after.quality))
            return
        at = self.model.children[0].start
        quality = f'<{self.prefix}Extension name="{own}" value="{self.after.quality}"/>'
        yield Edit(at, at, self.document.encoded(quality))

    def _node(self, new: Node, old: Node, span: ElementSpan) -> Iterator[Edit]:
        name = None if span.attributes.get("id") is None else new.name
        if name is None and new.name != f"n{new.index}":
            name = new.name
        yield from self._set(span, "id", name)
        if new.score != old.score:
            yield from self._set(span, "score", self._score(new.score))
        if new.records != old.records or self.with_quality:
            records = None if new.records is None else number_text(new.records)
            yield from self._set(span, "recordCount", records)
        was = None if old.default_child is None else self.before.nodes[old.default_child].name
        now = None if new.default_child is None else self.after.nodes[new.default_child].name
        if was != now:
            yield from self._set(span, "defaultChild", now)
        predicate = next((child for child in span.children if child.name in PREDICATES), None)
        if predicate is None:
            if new != old:
                raise OutputError(
                    self.before.source,
                    f"the node {new.name!r} has no predicate; write the tree as a new file",
                )
            return
        if new.test != old.test:
            yield Edit(predicate.start, predicate.end, self._predicate(new))
        if new.bands != old.bands or (new.bands and self.with_quality):
            yield from self._bands(new, span, predicate)
        if new.impurity != old.impurity:
            yield from self._impurity(new, span, predicate)
        if self.before.unused and not self.after.unused:
            yield from map(self.document.removal, telling_parts(span))
        same = (new.class_counts, new.class_shares) == (old.class_counts, old.class_shares)
        if not same or self.with_quality:
            yield from self._distribution(new, span, predicate)

    def _bands(self, node: Node, span: ElementSpan, predicate: ElementSpan) -> Iterator[Edit]:
        """Yield the edits that make the bands of a leaf what they are now."""
        for child in span.children:
            if child.name == "Extension" and child.attributes.get("name") == BAND:
                yield self.document.removal(child)
        holder = etree.Element("holder")
        add_bands(holder, self.after.classes, node)
        added = b"".join(map(self._bytes, holder))
        yield Edit(predicate.start, predicate.start, added)

    def _impurity(self, node: Node, span: ElementSpan, predicate: ElementSpan) -> Iterator[Edit]:
        """Yield the edits that make the impurity of a node what it is now."""
        for child in span.children:
            if child.name == "Extension" and child.attributes.get("name") == IMPURITY:
                yield self.document.removal(child)
        holder = etree.Element("holder")
        add_impurity(holder, node)
        yield Edit(predicate.start, predicate.start, b"".join(map(self._bytes, holder)))

    def _set(self, span: ElementSpan, name: str, value: str | None) -> Iterator[Edit]:
        edit = self.document.attribute(span, name, value)
        if edit is not None:
            yield edit

    def _score(self, score: str | float | None) -> str | None:
        if isinstance(score, float):
            return number_text(score)
        return score if score is None else self.labels.get(score, score)

    def _predicate(self, node: Node) -> bytes:
        holder = etree.Element("holder")
        add_predicate(holder, node.test)
        return self._bytes(holder[0])

    def _distribution(
        self, node: Node, span: ElementSpan, predicate: ElementSpan
    ) -> Iterator[Edit]:
        """Yield the edits that make the class numbers of a node what they are now, one element per class."""
        counts = node.class_counts or node.class_shares or (None,) * len(self.after.classes)
        said = {
            self.labels.get(label, label): (number_text(count), node.class_counts is None)
            for label, count in zip(self.after.classes, counts, strict=True)
            if count is not None
        }
        listed = [child for child in span.children if child.name == "ScoreDistribution"]
        for item in listed:
            found = said.pop(item.attributes.get("value", ""), None)
            if found is None:
                yield self.document.removal(item)
                continue
            yield from self._set(item, "recordCount", found[0])
            yield from self._set(item, "probability", found[0] if found[1] else None)
            yield from self._set(item, "confidence", None)
        at = max([predicate, *listed], key=lambda item: item.end).end
        holder = etree.Element("holder")
        for label, (count, is_share) in said.items():
            added = etree.SubElement(holder, "ScoreDistribution")
            added.set("value", label)
            added.set("recordCount", count)
            if is_share:
                added.set("probability", count)
        if said:
            yield Edit(at, at, b"".join(map(self._bytes, holder)))

    def _bytes(self, element: etree._Element) -> bytes:
        """Return an element made here as the file would have it."""
        text = etree.tostring(element, encoding="unicode")
        return self.document.encoded(re.sub(r"<(/?)", rf"<\1{self.prefix}", text))
