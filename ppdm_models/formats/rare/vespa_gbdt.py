"""Vespa's XML of boosted trees (MlrFunction): comparisons and sets, sometimes with how many samples reached a node."""

from __future__ import annotations

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    bounded,
    compared,
    grown,
    simplest,
)
from treewarden.ppdm_models.formats.common.xml import parse
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._values import number
from treewarden.ppdm_models.formats.rare._ranking import summed
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Node

CATEGORY = "$"
"""The end of the name of a feature that is looked up in sets."""


class VespaGbdt(Format):
    """Reads the sum of the trees, as Vespa's converter makes a ranking expression of it."""

    def sniff(self, data: bytes) -> bool:
        head = data[:8192]
        return head[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<MlrFunction" in head

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Model:
    root = parse(data, source, lambda element, around: None)
    if root.name.removeprefix(":") != "MlrFunction":
        raise TreeFormatError(f"{source}:{root.line}", "the root element is not MlrFunction")
    forests = [one for tree in root.all("DecisionTree") for one in tree.all("Forest")]
    trees = [tree for one in forests for tree in one.all("Tree") if tree.children]
    if len(forests) != 1 or not trees:
        raise TreeFormatError(source, "MlrFunction must contain exactly one Forest with trees")
    forest = bounded((_nodes(tree, source) for tree in trees), source)
    names = {tree.get("loss") for tree in root.all("DecisionTree")} - {None}
    loss = "".join(f"; they were trained for the {name!r} loss" for name in sorted(map(str, names)))
    note = f"{source}: the score is the sum of the trees{loss}"
    return simplest(summed(forest, [1.0] * len(forest), source, notes=(note,)))


def _nodes(tree: Element, source: str) -> tuple[Node, ...]:
    elements = list(tree.within("Node", "Response"))
    numbers = {element: place for place, element in enumerate(elements)}
    if len(tree.children) != 1 or tree.children[0] not in numbers:
        raise TreeFormatError(f"{source}:{tree.line}", "a Tree must have one root")
    taken: set[str] = set()

    def draft_of(place: int) -> Draft:
        return _draft(elements[place], place, numbers, taken, source)

    return grown(0, draft_of, source)


def _draft(
    element: Element, place: int, numbers: dict[Element, int], taken: set[str], source: str
) -> Draft:
    where = f"{source}:{element.line}"
    name = element.get("id") or f"n{place}"
    if name in taken:
        raise TreeFormatError(where, f"two nodes have the name {name[:80]!r}")
    taken.add(name)
    records = _samples(element, where)
    value = element.get("value")
    if element.name == "Response":
        score = number(value)
        if score is None:
            raise TreeFormatError(
                where, f"the value of a Response is {(value or '')[:40]!r}, which is not a number"
            )
        if element.children:
            raise TreeFormatError(where, "a Response (a leaf) has children")
        return Draft(name, score=score, records=records)
    below = element.children
    if len(below) != 2 or any(child not in numbers for child in below):
        raise TreeFormatError(where, "a Node must have two children, each a Node or a Response")
    left, right = _tests(element, where)
    ways = Branch(numbers[below[0]], left), Branch(numbers[below[1]], right, takes_missing=True)
    return Draft(name, branches=ways, records=records)


def _samples(element: Element, where: str) -> float | None:
    text = element.get("nSamples")
    count = number(text)
    if text is not None and (count is None or count < 0 or not count.is_integer()):
        raise TreeFormatError(where, f"nSamples is {text[:40]!r}, which is not a count")
    return count


def _tests(element: Element, where: str) -> tuple[Predicate, Predicate]:
    """Return the tests of both sides: a set where the name or a value says so, else "less than"."""
    feature, text = element.get("feature") or "", element.get("value")
    if not feature or not text:
        raise TreeFormatError(where, "a Node must have a feature and a value")
    values = text.split(",")
    if not all(values):
        raise TreeFormatError(where, f"an empty value among {text[:80]!r}")
    end = number(values[0])
    if feature.endswith(CATEGORY) or len(values) > 1 or end is None:
        return belongs(feature, [value.strip().strip('"') for value in values])
    return compared(feature, "<", end)


FORMAT = VespaGbdt()
