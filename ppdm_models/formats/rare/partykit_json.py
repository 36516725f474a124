"""A party object of R's partykit as JSON: nodes, the names and levels of variables, the counts of leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    features_named,
    grown,
    summed,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import check_class_numbers
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.predicate import AnyOf, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import (
    Learner,
    Quality,
    Task,
    Tree,
)

TESTED = ("the test statistics of its splits",)
MOST_WAYS = 10_000


class PartykitJson(Format):
    """One tree per file; exact thresholds."""

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) in (b"{", b"[") and b'"varid"' in data and b'"kids"' in data

    def open(self, data: bytes, source: str) -> Opened:
        root = read_part(data, source)
        if not root.is_object:
            raise TreeFormatError(
                source,
                "nodes alone, whose variables have numbers and no names; write nodes, variables, levels and counts of "
                "the object in one",
            )
        return Opened(_PartykitReader(root).tree())


@dataclass(frozen=True, slots=True)
class _PartykitLeaf:
    records: float
    score: str | float
    class_counts: tuple[float, ...] | None = None


class _PartykitReader:
    """Reads one object."""

    def __init__(self, root: JsonPart) -> None:
        self.root, self.source = root, root.source
        self.nodes = {_single(part["id"]).whole(low=1): part for part in root["nodes"]}
        if not 0 < len(self.nodes) == len(root["nodes"]) <= limits.NODES:
            raise root["nodes"].refused(f"1 to {limits.NODES:,} nodes of different ids are read")
        self.names = unique(
            (part.text() for part in root["variables"]), "variables", self.source, limits.FEATURES
        )
        levels = root.get("levels")
        self.levels = {
            name: unique((level.text() for level in part), "levels", self.source, MOST_WAYS)
            for name, part in ({} if levels is None else dict(levels.entries())).items()
            if part.is_list and len(part)
        }
        counts = root.get("counts")
        labels = [] if counts is None else [row["class"].label() for row in counts]
        self.classes = unique(dict.fromkeys(labels), "classes", self.source, limits.CLASSES)
        self.leaves = _means(root["means"]) if counts is None else _counts(counts, self.classes)
        check_class_numbers(len(self.leaves), len(self.classes), self.source)

    def tree(self) -> Tree:
        root = _single(self.root["nodes"].at(0)["id"]).whole(low=1)
        nodes = grown(root, self._draft, self.source)
        if len(nodes) < len(self.nodes):
            raise self.root["nodes"].refused("a node hangs on no other")
        target = self.root.get("target")
        named = "" if target is None else _single(target).text()
        names = [name for name in self.names if name != named]
        values = {name: found for name, found in self.levels.items() if name in names}
        records = [leaf.records for leaf in self.leaves.values()]
        has_tests = any("info" in dict(part.entries()) for part in self.nodes.values())
        return checked(
            Tree(
                nodes=summed(nodes),
                features=features_named(names, nodes, self.source, values=values),
                target=named,
                classes=self.classes,
                task=Task.CLASSIFICATION if self.classes else Task.REGRESSION,
                learner=Learner(),
                quality=Quality.EXACT if all(map(is_whole, records)) else Quality.WEIGHTED,
                source=self.source,
                notes=(f"{self.source}: it is not said where missing values go",),
                unused=TESTED if has_tests else (),
            )
        )

    def _draft(self, number: int) -> Draft:
        part = self.nodes.get(number)
        if part is None:
            raise self.root["nodes"].refused(f"no node {number}, which is a child of another")
        split = part.get("split")
        if split is None or not split.value:
            leaf = self.leaves.get(number)
            if leaf is None:
                raise part.refused("a leaf without counts or a mean")
            return Draft(
                str(number),
                score=leaf.score,
                records=leaf.records,
                class_counts=leaf.class_counts,
            )
        kids = [kid.whole(low=1) for kid in part["kids"]]
        ways = self._ways(split, len(kids))
        return Draft(str(number), tuple(map(Branch, kids, ways)))

    def _ways(self, split: JsonPart, size: int) -> list[Predicate]:
        """Return the test of each child."""
        place = _single(split["varid"]).whole(low=1, high=len(self.names)) - 1
        name = self.names[place]
        breaks, index = split.get("breaks"), split.get("index")
        known = self.levels.get(name, ())
        if breaks is None or not breaks.value:
            if index is None or not index.is_list or not len(index) == len(known) > 0:
                raise split.refused(f"the levels of {name[:60]!r} and its split are not as many")
            return _by_level(name, known, [_kid(part, size) for part in index], split, size)
        ends = breaks.numbers()
        if any(low >= high for low, high in zip(ends, ends[1:], strict=False)):
            raise breaks.refused("breaks that do not go up")
        is_right = _single(split["right"]).flag()
        has_index = index is not None and index.is_list and len(index)
        sides: list[int | None] = list(range(len(ends) + 1))
        if has_index and index is not None:
            sides = [_kid(part, size) for part in index]
        if len(sides) != len(ends) + 1:
            raise split.refused(f"{len(ends)} breaks for {len(sides)} ways")
        if known:  # an ordered factor, whose levels count from 1
            places = [
                sum(end < code if is_right else end <= code for end in ends)
                for code in range(1, len(known) + 1)
            ]
            return _by_level(name, known, [sides[way] for way in places], split, size)
        tests = _intervals(name, ends, closed_above=is_right)
        return [
            _any([t for t, s in zip(tests, sides, strict=True) if s == k], split)
            for k in range(size)
        ]


def _single(part: JsonPart) -> JsonPart:
    """Return what jsonlite writes as a list of one unless it is told otherwise."""
    return part.at(0) if part.is_list else part


def _kid(part: JsonPart, size: int) -> int | None:
    """Return the number of a child, from 0; None for a level that no record had."""
    return None if part.value in (None, "NA") else part.whole(low=1, high=size) - 1


def _by_level(
    name: str, known: Sequence[str], sides: Sequence[int | None], split: JsonPart, size: int
) -> list[Predicate]:
    predicates: list[Predicate] = []
    for kid in range(size):
        own = [level for level, side in zip(known, sides, strict=True) if side == kid]
        if not own:
            raise split.refused(f"no level of {name[:60]!r} goes to child {kid + 1}")
        predicates.append(belongs(name, own)[0])
    return predicates


def _intervals(name: str, ends: Sequence[float], *, closed_above: bool) -> list[Predicate]:
    lows, highs = (-math.inf, *ends), (*ends, math.inf)
    return [
        NumericTest(
            name,
            low,
            high,
            low_closed=not closed_above and math.isfinite(low),
            high_closed=closed_above and math.isfinite(high),
        )
        for low, high in zip(lows, highs, strict=True)
    ]


def _any(tests: Sequence[Predicate], split: JsonPart) -> Predicate:
    if not tests:
        raise split.refused("no value goes to one of its children")
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))


def _counts(rows: JsonPart, classes: Sequence[str]) -> Mapping[int, _PartykitLeaf]:
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        own = found.setdefault(_node(row), {})
        label = row["class"].label()
        if label in own:
            raise row.refused("a class that stands twice")
        own[label] = row["Freq"].amount()
    leaves = {}
    for node, own in found.items():
        numbers = tuple(own.get(name, 0.0) for name in classes)
        leaves[node] = _PartykitLeaf(sum(numbers), classes[numbers.index(max(numbers))], numbers)
    return leaves


def _means(rows: JsonPart) -> Mapping[int, _PartykitLeaf]:
    return {_node(row): _PartykitLeaf(row["n"].amount(), row["mean"].number()) for row in rows}


def _node(row: JsonPart) -> int:
    """Return the node of a row: a number, or as a factor's label."""
    value = row["node"]
    if isinstance(value.value, str) and value.value.isdigit() and len(value.value) < 16:
        return int(value.value)
    return value.whole(low=1)


FORMAT = PartykitJson()
