"""A party object of R's partykit as JSON: nodes, the names and levels of variables, the counts of leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
from treewarden.ppdm_models.formats.common.shapes import (
    Account,
    AccountedJson,
    Either,
    Entries,
    Items,
    NamedEntries,
    Shape,
    StrangePart,
    is_flag,
    is_label,
    is_number,
    is_text,
)
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
SHARE_SLACK = 1e-14
"""How far a share may be from its counts: R prints fifteen digits."""


class PartykitJson(Format):
    """One tree per file; exact thresholds."""

    how_to_export = "export it again (docs/recipes/r.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) in (b"{", b"[") and b'"varid"' in data and b'"kids"' in data

    def open(self, data: bytes, source: str) -> Opened:
        root = read_part(data, source)
        if not root.is_object:
            raise TreeFormatError(
                source,
                "the file contains only nodes, without the names of variables; write "
                "nodes, variables, levels and counts of the party object into one JSON object",
            )
        reader = _PartykitReader(root)
        tree = reader.tree()
        account = Account(_shape(root, tree, reader.names), tuple(_strange(reader, tree)))
        return AccountedJson(data, root.value, tree, (), account)


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
            raise root["nodes"].refused(
                "the nodes must have different ids, and there must be 1 to "
                f"{limits.NODES:,} of them"
            )
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
            raise self.root["nodes"].refused("a node has no parent")
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
                notes=(f"{self.source}: the file does not state where missing values go",),
                unused=TESTED if has_tests else (),
            )
        )

    def _draft(self, number: int) -> Draft:
        part = self.nodes.get(number)
        if part is None:
            raise self.root["nodes"].refused(f"node {number} is missing, but is a child of another")
        split = part.get("split")
        if split is None or not split.value:
            leaf = self.leaves.get(number)
            if leaf is None:
                raise part.refused("a leaf has neither counts nor a mean")
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
                raise split.refused(f"{name[:60]!r} has another number of levels than its split")
            return _by_level(name, known, [_kid(part, size) for part in index], split, size)
        ends = breaks.numbers()
        if any(low >= high for low, high in zip(ends, ends[1:], strict=False)):
            raise breaks.refused("the breaks are not in increasing order")
        is_right = _single(split["right"]).flag()
        has_index = index is not None and index.is_list and len(index)
        sides: list[int | None] = list(range(len(ends) + 1))
        if has_index and index is not None:
            sides = [_kid(part, size) for part in index]
        if len(sides) != len(ends) + 1:
            raise split.refused(f"there are {len(ends)} breaks for {len(sides)} branches")
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
    name: str, levels: Sequence[str], sides: Sequence[int | None], split: JsonPart, size: int
) -> list[Predicate]:
    predicates: list[Predicate] = []
    for kid in range(size):
        own = [level for level, side in zip(levels, sides, strict=True) if side == kid]
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
            raise row.refused("a class occurs twice")
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


# Side channels of a partykit file: what it holds beside its tree.


def _shape(root: JsonPart, tree: Tree, names: Sequence[str]) -> Shape:
    """Return which keys an object has, and what may stand behind each."""
    nothing = Entries({})
    is_boxed = (
        root["nodes"].at(0)["id"].is_list
    )  # as jsonlite writes single values unless it is told otherwise
    number, text, flag = (
        Items(each, 1) if is_boxed else each for each in (is_number, is_text, is_flag)
    )
    split: dict[str, Shape] = {
        "varid": number,
        "breaks": Either((nothing, Items(is_number))),
        "index": Either((nothing, Items(_is_kid))),
        "right": flag,
        "prob": Items(is_number),
        "info": nothing,
    }
    optional = frozenset(("prob", "info"))
    node: dict[str, Shape] = {
        "id": number,
        "split": Either((nothing, Entries(split, optional))),
        "kids": Items(is_number),
        "info": nothing,
    }
    row: dict[str, Shape] = {"node": _is_node, "class": is_label, "Freq": is_number}
    mean: dict[str, Shape] = {"node": _is_node, "mean": is_number, "n": is_number}
    return Entries(
        {
            "nodes": Items(Entries(node, frozenset(("info",)))),
            "variables": Items(is_text),
            "levels": NamedEntries(frozenset(names), Items(is_text)),
            "target": text,
            "counts": Items(Entries(row)),
            "means": Items(Entries(mean)),
        },
        frozenset(("means",)) if root.get("counts") is not None else frozenset(),
    )


def _is_kid(value: object) -> bool:
    return value in (None, "NA") or is_number(value)


def _is_node(value: object) -> bool:
    return is_number(value) or (isinstance(value, str) and value.isdigit() and len(value) < 16)


def _strange(reader: _PartykitReader, tree: Tree) -> Iterator[StrangePart]:
    """Yield counts of no leaf, levels of no class, and shares of children that their records do not have."""
    root = reader.root
    leaves = {int(leaf.name) for leaf in tree.leaves}
    table = "means" if root.get("counts") is None else "counts"
    if reader.leaves.keys() - leaves:
        yield StrangePart((table,), "numbers of nodes that are not leaves")
    if root.get("means") is not None and table != "means":
        yield StrangePart(("means",), "means in addition to counts", ("means",))
    own = reader.levels.get(tree.target)
    if own is not None and set(own) != set(tree.classes):
        yield StrangePart(("levels", tree.target), "levels of the target that are not classes")
    sizes = {node.name: node.records or 0.0 for node in tree.nodes}
    for number, part in reader.nodes.items():
        split = part.get("split")
        shares = split.get("prob") if split is not None and split.is_object else None
        if split is None or not split.is_object:
            continue
        breaks, side = split.get("breaks"), split.get("right")
        is_listed = breaks is None or not breaks.value
        if is_listed and side is not None and not _single(side).flag():
            yield StrangePart(side.steps, "a side of breaks in a split without breaks")
        if shares is None or not shares.is_list:
            continue
        kids = [sizes[str(kid.whole(low=1))] for kid in part["kids"]]
        if not _are_shares(shares, kids, sizes[str(number)]):
            what = "shares of children that are not those of their records"
            yield StrangePart(shares.steps, what, tuple(shares.steps))


def _are_shares(shares: JsonPart, kids: Sequence[float], records: float) -> bool:
    """Return whether a record without a value goes to a child as often as others do, or always to one."""
    values = [part.value for part in shares]
    numbers = [float(value) for value in values if isinstance(value, int | float) and value <= 1]
    if len(numbers) != len(kids) or len(values) != len(kids):
        return False
    if sorted(numbers) == [0.0] * (len(kids) - 1) + [1.0]:
        return True
    told = [kid / records if records else 0.0 for kid in kids]
    return all(
        math.isclose(share, own, abs_tol=SHARE_SLACK)
        for share, own in zip(numbers, told, strict=True)
    )


FORMAT = PartykitJson()
