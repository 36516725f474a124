"""RankLib's ensembles of regression trees (LambdaMART, MART, Random Forests): XML below lines of settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    bounded,
    compared,
    grown,
    simplest,
)
from treewarden.ppdm_models.formats.common.xml import parse
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.rare._ranking import single_number, summed
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Model,
    TreeSampling,
)
from treewarden.ppdm_models.tree.tree import Node

KINDS = re.compile(rb"## (LambdaMART|MART|Random Forests)\s")
FOREST = b"## Random Forests"
SIDES = ("left", "right")
ROOT = b"<ensembles>"


class Ranklib(Format):
    """Reads the weighted sum of an ensemble, or the mean of those of a random forest.

    A record goes left where its value is at most the threshold, both in 32 bits; RankLib takes a missing value as 0.
    """

    def sniff(self, data: bytes) -> bool:
        return KINDS.match(data) is not None

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Model:
    root = parse(_wrapped(data), source, lambda element, around: None)
    ensembles = list(root.all(":ensemble", "ensemble"))
    trees = [tree for one in ensembles for tree in one.all("tree")]
    if not trees:
        raise TreeFormatError(
            source, "the file contains only settings, no tree; give the whole model"
        )
    weights = [_weight(tree, source) for tree in trees]
    forest = bounded((_nodes(tree, source) for tree in trees), source)
    note = f"{source}: a value that is missing counts as 0"
    ensemble = summed(forest, weights, source, single=True, notes=(note,))
    if data.startswith(FOREST) and len(ensembles) > 1:
        ensemble = _mean(ensemble, len(ensembles))
    return simplest(ensemble)


def _wrapped(data: bytes) -> bytes:
    """Return the XML in one root element, with blank lines for the settings so that lines keep their numbers."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    body = [b"" if line.startswith(b"##") else line for line in lines]
    return ROOT + b"\n".join(body) + b"</ensembles>"


def _mean(ensemble: Ensemble, size: int) -> Ensemble:
    members = tuple(replace(member, weight=member.weight / size) for member in ensemble.members)
    return replace(
        ensemble,
        members=members,
        combination=Combination.WEIGHTED_SUM,
        sampling=TreeSampling(resampled=True),
    )


def _weight(tree: Element, source: str) -> float:
    return single_number(tree.get("weight"), f"{source}:{tree.line}", "the weight")


def _nodes(tree: Element, source: str) -> tuple[Node, ...]:
    by_line: dict[int, Element] = {}
    numbers: dict[Element, int] = {}
    for place, element in enumerate(tree.within("split")):
        by_line[place], numbers[element] = element, place
    roots = list(tree.all("split"))
    if len(roots) != 1:
        raise TreeFormatError(f"{source}:{tree.line}", f"a tree has {len(roots)} roots")

    def draft_of(place: int) -> Draft:
        return _draft(by_line[place], place, numbers, source)

    return grown(0, draft_of, source)


def _draft(element: Element, place: int, numbers: dict[Element, int], source: str) -> Draft:
    where = f"{source}:{element.line}"
    said = {
        name: [child.text.strip() for child in element.all(name)]
        for name in ("feature", "threshold", "output")
    }
    below = {child.get("pos"): child for child in element.all("split")}
    if said["output"]:
        if len(said["output"]) > 1 or below or said["feature"]:
            raise TreeFormatError(where, "a leaf has more than one output")
        return Draft(f"n{place}", score=single_number(said["output"][0], where, "the output"))
    if len(said["feature"]) != 1 or len(said["threshold"]) != 1 or set(below) != set(SIDES):
        raise TreeFormatError(
            where, "a split must have one feature, one threshold, a left and a right side"
        )
    if len(list(element.all("split"))) != len(SIDES):
        raise TreeFormatError(where, "a split has more than two sides")
    name = said["feature"][0]
    if not re.fullmatch(r"[0-9]{1,9}", name):
        raise TreeFormatError(where, f"the feature {name[:40]!r} is not a number")
    threshold = single_number(said["threshold"][0], where, "the threshold")
    return Draft(f"n{place}", branches=tuple(_branches(f"f{name}", threshold, below, numbers)))


def _branches(
    name: str, threshold: float, below: dict[str | None, Element], numbers: dict[Element, int]
) -> Iterator[Branch]:
    zero_left = threshold >= 0
    up_to, above = compared(name, "<=", threshold)
    yield Branch(numbers[below["left"]], up_to, zero_left)
    yield Branch(numbers[below["right"]], above, not zero_left)


FORMAT = Ranklib()
