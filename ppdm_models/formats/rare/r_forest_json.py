"""Forests of R as JSON: one tree or a list of them, each the rows of randomForest's getTree or of ranger's treeInfo."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    compared,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import as_float, decimals_of
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
    one_of,
)
from treewarden.ppdm_models.formats.rare._r_forest_levels import (
    Levels,
    cut_between,
    levels_of,
    listed_right,
    masked_left,
)
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.predicate import Predicate, features_of
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Learner,
    Node,
    Quality,
    Task,
    Tree,
)

LEVELS = re.compile(r"\d{1,6}(?:,\d{1,6})*")
SHARE = "pred."
DAUGHTERS = ("left daughter", "right daughter")
OF_SPLITS = frozenset(
    (
        *DAUGHTERS,
        *("split var", "split point"),
        *("leftChild", "rightChild", "splitvarID", "splitvarName", "splitval"),
    )
)
"""What only nodes that were split have."""


class RForestJson(Format):
    """One list per file, or an object of ``trees``, ``levels`` and whether they were ``sampled``; no tree has counts.

    Both tools draw a sample for each tree unless they are told not to, so a file that does not say it is of samples.
    """

    how_to_export = "export it again (docs/recipes/r.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) not in (b"[", b"{"):
            return False
        return b'"left daughter"' in data or (b'"leftChild"' in data and b'"splitvarName"' in data)

    def open(self, data: bytes, source: str) -> Opened:
        document = read_part(data, source)
        model = _read(document, source)
        account = Account(_shape(document, model), tuple(_strange(document)))
        return AccountedJson(data, document.value, model, (), account)


def _read(document: JsonPart, source: str) -> Ensemble:
    root = document["trees"] if document.is_object else document
    trees = _trees(root)
    if not 0 < len(trees) <= limits.TREES:
        raise root.refused(
            f"contains {len(trees):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    is_ranger = any(name == "nodeID" for name, _ in trees[0].at(0).entries())
    rows = [list(tree) for tree in trees]
    levels = levels_of(document) if document.is_object else {}
    ordered = document.get("ordered") if document.is_object else None
    factors = _factors(rows) if is_ranger else {}
    if is_ranger and ordered is not None:  # else a lone "2" may be a level or a number
        names = {part.text() for part in ordered}
        factors = dict.fromkeys(_variables(rows), False) | {
            name: name not in names for name in levels
        }
    grown_trees = [_nodes(row, is_ranger, factors, levels, root.source) for row in rows]
    said = document.get("sampled") if document.is_object else None
    return _ensemble(
        grown_trees,
        rows,
        is_ranger=is_ranger,
        is_sampled=said is None or _single(said).flag(),
        levels=levels,
        root=root,
    )


def _single(part: JsonPart) -> JsonPart:
    """Return what jsonlite writes as a list of one unless it is told otherwise."""
    return part.at(0) if part.is_list else part


def _trees(root: JsonPart) -> list[JsonPart]:
    """Return the trees, which stand in a list but for a single one."""
    return [root] if len(root) and root.at(0).is_object else list(root)


def _variables(rows: Sequence[Sequence[JsonPart]]) -> list[str]:
    said = (row.get("splitvarName") for json_parts in rows for row in json_parts)
    return list(dict.fromkeys(name.text() for name in said if name is not None))


def _factors(rows: Sequence[Sequence[JsonPart]]) -> dict[str, bool]:
    """Return, for each variable with values written as text, whether it is a factor, where a comma or a point tells.

    ranger writes all values as text once one variable is an unordered factor: "2" alone may be a level or a number.
    """
    found: dict[str, bool] = {}
    for row in (row for json_parts in rows for row in json_parts):
        name, value = row.get("splitvarName"), row.get("splitval")
        if name is None or value is None or not isinstance(value.value, str):
            continue
        has_comma = "," in value.text()
        if value.text().isdigit():
            continue
        if found.setdefault(name.text(), has_comma) != has_comma:
            raise value.refused("a variable is both a number and a factor")
    return found


def _nodes(
    rows: Sequence[JsonPart],
    is_ranger: bool,
    factors: Mapping[str, bool],
    levels: Levels,
    source: str,
) -> tuple[Node, ...]:
    if is_ranger:
        return grown(0, lambda number: _ranger_draft(number, rows, factors, levels), source)
    return grown(1, lambda number: _forest_draft(number, rows, levels), source)


def _forest_draft(number: int, rows: Sequence[JsonPart], levels: Levels) -> Draft:
    """randomForest: rows count from 1, ``<=`` goes left, status -1 is a leaf."""
    row = rows[number - 1]
    if row["status"].number() == -1:
        return Draft(str(number))
    children = tuple(
        row[side].whole(low=2, high=len(rows)) for side in ("left daughter", "right daughter")
    )
    name, value = row["split var"].text(), row["split point"]
    is_factor = name in levels
    pair = (
        masked_left(name, levels[name], value)
        if is_factor
        else compared(name, "<=", value.number())
    )
    return Draft(str(number), tuple(map(Branch, children, pair)))


def _ranger_draft(
    number: int, rows: Sequence[JsonPart], factors: Mapping[str, bool], levels: Levels
) -> Draft:
    """Ranger: rows count from 0, ``<=`` goes left, listed levels of an unordered factor go right."""
    row = rows[number]
    if row["nodeID"].whole() != number:
        raise row.refused(f"nodeID must be {number}")
    if row["terminal"].flag():
        return Draft(str(number))
    children = tuple(
        row[side].whole(low=1, high=len(rows) - 1) for side in ("leftChild", "rightChild")
    )
    name, value = row["splitvarName"].text(), row["splitval"]
    return Draft(
        str(number), tuple(map(Branch, children, _ranger_tests(name, value, factors, levels)))
    )


def _ranger_tests(
    name: str, value: JsonPart, factors: Mapping[str, bool], levels: Levels
) -> tuple[Predicate, Predicate]:
    if not isinstance(value.value, str):
        if name in levels:
            return cut_between(name, levels[name], value.number())
        return compared(name, "<=", value.number())
    if name not in factors:
        raise value.refused(
            f"the file does not state whether {name[:60]!r} is a factor or a number"
        )
    if factors[name]:
        if not LEVELS.fullmatch(value.text()):
            raise value.refused("this is not a list of level numbers")
        return listed_right(name, value.text().split(","), levels, value)
    threshold = as_float(value.text())
    if threshold is None:
        raise value.refused("this is not a number")
    if name in levels:
        return cut_between(name, levels[name], threshold)
    return compared(name, "<=", threshold)


def _ensemble(
    trees: Sequence[tuple[Node, ...]],
    rows: Sequence[Sequence[JsonPart]],
    *,
    is_ranger: bool,
    is_sampled: bool,
    levels: Levels,
    root: JsonPart,
) -> Ensemble:
    offset = 0 if is_ranger else 1
    leaves = [
        [json_parts[int(node.name) - offset] if node.is_leaf else None for node in nodes]
        for nodes, json_parts in zip(trees, rows, strict=True)
    ]
    cells = (name for json_parts in rows for row in json_parts for name, _ in row.entries())
    columns = list(dict.fromkeys(name for name in cells if is_ranger and name.startswith(SHARE)))
    shares = [name.removeprefix(SHARE) for name in columns]
    said = (
        [
            leaf["prediction"].value
            for json_parts in leaves
            for leaf in json_parts
            if leaf is not None
        ]
        if not columns
        else []
    )
    is_class = bool(columns) or any(isinstance(value, str) for value in said)
    labels = shares or (sorted({str(value) for value in said}) if is_class else [])
    classes = unique(labels, "classes", root.source, limits.CLASSES)
    names = list(
        dict.fromkeys(n for nodes in trees for node in nodes for n in features_of(node.test))
    )
    features = features_named(
        names, [node for nodes in trees for node in nodes], root.source, values=levels
    )
    rounding = _rounding(leaves, columns)
    members = []
    for nodes, own in zip(trees, leaves, strict=True):
        filled = [
            node if leaf is None else _filled(node, leaf, columns, classes, rounding)
            for node, leaf in zip(nodes, own, strict=True)
        ]
        members.append(Member(_tree(filled, features, classes, root.source, bool(columns))))
    votes = is_class and not columns
    return Ensemble(
        members=tuple(members),
        combination=Combination.MAJORITY_VOTE if votes else Combination.AVERAGE,
        features=features,
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        sampling=TreeSampling(is_sampled),
        source=root.source,
        notes=() if levels else _notes(root.source, features, is_ranger),
    )


def _rounding(leaves: Sequence[Sequence[JsonPart | None]], columns: Sequence[str]) -> float:
    """Return by how much the shares of a leaf may miss 1: jsonlite prints four decimals unless told otherwise."""
    printed = (
        decimals_of(repr(leaf[name].number()))
        for json_parts in leaves
        for leaf in json_parts
        if leaf is not None
        for name in columns
    )
    return 1e-6 + 0.5 * len(columns) * 10.0 ** -max(printed, default=0)


def _filled(
    node: Node, leaf: JsonPart, columns: Sequence[str], classes: tuple[str, ...], rounding: float
) -> Node:
    if columns:
        shares = tuple(leaf[name].amount() for name in columns)
        if not abs(sum(shares) - 1.0) <= min(rounding, 0.01):
            raise leaf.refused("class shares do not add up to 1")
        return replace(node, score=classes[shares.index(max(shares))], class_shares=shares)
    value = leaf["prediction"]
    return replace(node, score=value.label() if classes else value.number())


def _tree(
    nodes: Sequence[Node],
    features: tuple[Feature, ...],
    classes: tuple[str, ...],
    source: str,
    has_shares: bool,
) -> Tree:
    return Tree(
        nodes=tuple(nodes),
        features=features,
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        learner=Learner(all_features=False, draws_tied_labels=True),
        quality=Quality.NORMALISED if has_shares else Quality.ABSENT,
        source=source,
    )


def _notes(source: str, features: Sequence[Feature], is_ranger: bool) -> tuple[str, ...]:
    if not is_ranger:
        said = (
            "split points are read as numbers; for a factor they would be bit masks of its levels"
        )
    elif any(not feature.numeric for feature in features):
        said = "categories are numbers of levels; their names are not in the file"
    else:
        return ()
    return (f"{source}: {said}",)


# Side channels of an R forest's file: what it holds beside its trees.


def _shape(document: JsonPart, model: Ensemble) -> Shape:
    """Return which columns the rows of trees have, and what may stand there."""
    variables = frozenset(feature.name for feature in model.features)
    is_variable = one_of(None, *variables)
    forest: dict[str, Shape] = {
        "left daughter": is_number,
        "right daughter": is_number,
        "split var": is_variable,
        "split point": is_number,
        "status": one_of(-1, 1, -3),
        "prediction": is_label,
    }
    ranger: dict[str, Shape] = {
        "nodeID": is_number,
        "leftChild": is_number,
        "rightChild": is_number,
        "splitvarID": is_number,
        "splitvarName": is_variable,
        "splitval": is_label,
        "terminal": is_flag,
        "prediction": is_label,
        **{f"{SHARE}{name}": is_number for name in model.classes},
    }
    tree = Items(Either((Entries(forest), Entries(ranger))))
    root = document["trees"] if document.is_object else document
    trees: Shape = tree if root.at(0).is_object else Items(tree)
    if not document.is_object:
        return trees
    levels = Either((Entries({}), Items(is_text), Items(one_of(0), 1)))
    return Entries(
        {
            "trees": trees,
            "levels": NamedEntries(variables, levels),
            "ordered": Items(one_of(*variables)),
            "sampled": Either((Items(is_flag, 1), is_flag)),
        }
    )


def _strange(document: JsonPart) -> Iterator[StrangePart]:
    """Yield what no node has: numbers of splits at leaves, predictions at splits, rows of no tree."""
    root = document["trees"] if document.is_object else document
    numbers: dict[str, float] = {}
    for tree in _trees(root):
        rows = list(tree)
        reached: set[int] = set()
        for row in rows:
            is_ranger = row.get("nodeID") is not None
            is_leaf = row["terminal"].flag() if is_ranger else row["status"].value == -1
            yield from _strange_cells(row, is_leaf)
            if is_leaf:
                continue
            sides = ("leftChild", "rightChild") if is_ranger else DAUGHTERS
            reached |= {row[side].whole() - (not is_ranger) for side in sides}
            number, name = row.get("splitvarID"), row.get("splitvarName")
            if number is None or name is None:
                continue
            if numbers.setdefault(name.text(), number.number()) != number.value:
                yield StrangePart(number.steps, "another number of the same variable")
        if len(reached) != len(rows) - 1:
            yield StrangePart(tree.steps, "rows that are in no tree")
    is_odd = any(not 0 <= number < limits.FEATURES for number in numbers.values())
    if is_odd or len(set(numbers.values())) < len(numbers):
        yield StrangePart(root.steps, "numbers of variables that do not exist")


def _strange_cells(row: JsonPart, is_leaf: bool) -> Iterator[StrangePart]:
    for key, part in row.entries():
        if is_leaf and key in OF_SPLITS and part.value not in (None, 0):
            yield StrangePart(part.steps, "a part of a split at a leaf")
        is_prediction = key == "prediction" or key.startswith(SHARE)
        if not is_leaf and is_prediction and part.value is not None:
            yield StrangePart(
                part.steps, "a prediction at a split, which no reader uses", part.steps
            )


FORMAT = RForestJson()
