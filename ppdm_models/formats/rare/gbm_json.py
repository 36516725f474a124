"""R's gbm as JSON: every tree as pretty.gbm.tree shows it, and what the model contains about its variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    bounded,
    compared,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.shapes import (
    JUDGED,
    Account,
    AccountedJson,
    Either,
    Entries,
    Items,
    Shape,
    StrangePart,
    is_number,
    is_setting,
    is_text,
    one_of,
)
from treewarden.ppdm_models.formats.rare._r_forest_levels import cut_between
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    EnsembleGrowth,
    GrownTree,
    Link,
    Member,
    TreeSampling,
    stated_fact,
)
from treewarden.ppdm_models.tree.predicate import AnyOf, MissingTest, Predicate
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    Task,
    Tree,
)

SETTINGS = ("shrinkage", "bag.fraction")
EMPTY = "a leaf for missing values, which no training record had, does not hold the average of its neighbours"
ROUNDED = 1e-9
"""How far the average of two leaves may be from the one that the file writes, relative to the largest of them."""


def single(part: JsonPart) -> JsonPart:
    """Return what jsonlite writes as a list of one unless it is told otherwise."""
    return part.at(0) if part.is_list else part


def growth_of(root: JsonPart, loss: str, trees: Sequence[Tree]) -> EnsembleGrowth:
    """Return what tells how the leaves of a model with one output were made."""
    said = {name: part for name in SETTINGS if (part := root.get(name)) is not None}
    refused = "" if all(map(_has_plain_empty_leaves, trees)) else EMPTY
    return EnsembleGrowth(
        "gbm",
        loss,
        1,
        tuple((index,) for index in range(len(trees))),
        tuple(map(_grown, trees)),
        (single(root["initF"]).number(),),
        facts={name: stated_fact(single(part).number()) for name, part in said.items()},
        refused=refused,
    )


def _grown(tree: Tree) -> GrownTree:
    """Return the numbers of a tree; a leaf without records has none, as its value follows from the others."""
    has_value = [node.is_leaf and bool(node.records) for node in tree.nodes]
    values = [
        node.score if here and isinstance(node.score, float) else math.nan
        for node, here in zip(tree.nodes, has_value, strict=True)
    ]
    counts = [math.nan if node.records is None else node.records for node in tree.nodes]
    return GrownTree(np.array(values), counts=np.array(counts))


def _has_plain_empty_leaves(tree: Tree) -> bool:
    """Return whether each leaf for missing values that nobody had holds the average of what its split says."""
    means: dict[int, tuple[float, float]] = {}
    for node in reversed(tree.nodes):
        if node.is_leaf:
            value = node.score if isinstance(node.score, float) else math.nan
            means[node.index] = (node.records or 0.0, value)
            continue
        parts = [means[child] for child in node.children]
        total = sum(records for records, _ in parts)
        mean = sum(records * value for records, value in parts) / total if total else 0.0
        means[node.index] = (total, mean)
        room = ROUNDED * max(abs(value) for _, value in parts)
        if any(not records and abs(value - mean) > room for records, value in parts):
            return False
    return True


LEVELS = (("var.levels",),)
WAYS = ("LeftNode", "RightNode", "MissingNode")
LEFT, RIGHT, ABSENT = -1, 1, 0
"""Where a level goes at a split; one that no record had there goes where missing values go."""

LINKS = {
    "gaussian": Link.IDENTITY,
    "laplace": Link.IDENTITY,
    "tdist": Link.IDENTITY,
    "quantile": Link.IDENTITY,
    "poisson": Link.EXP,
    "bernoulli": Link.LOGISTIC,
    "adaboost": Link.LOGISTIC,
    "multinomial": Link.SOFTMAX,
}
OF_TWO = ("bernoulli", "adaboost", "huberized")
"""Losses of a target that R has as the numbers 0 and 1."""


class GbmJson(Format):
    """One model per file; the weight of a node counts the records of its sample, where they weigh one."""

    how_to_export = "export it again (docs/recipes/r.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        marks = (b'"SplitVar"', b'"SplitCodePred"', b'"MissingNode"')
        return opens_json(data) in (b"{", b"[") and all(mark in data for mark in marks)

    def open(self, data: bytes, source: str) -> Opened:
        root = read_part(data, source)
        if not root.is_object:
            raise TreeFormatError(
                source,
                "the file contains only trees, without the names of variables; write "
                "trees, var.names, var.type, var.levels, c.splits, initF and "
                "distribution of the model in one object",
            )
        model = _model(root)
        removable = {
            LeakKind.EXTREMES: () if any(feature.values for feature in model.features) else LEVELS,
            LeakKind.RAW_RECORDS: (("data",), ("fit",)),
            LeakKind.AVERAGES: tuple(part.steps for part in _of_splits(root)),
        }
        account = Account(_shape(model), tuple(_strange(root)), removable)
        return AccountedJson(data, root.value, model, _leaks(root), account)


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    levels: tuple[str, ...]
    is_cut: bool


def _leaks(root: JsonPart) -> Iterator[Leak]:
    levels = root.get("var.levels")
    if levels is not None:
        numbers = [part for part in levels if part.is_list and len(part) and _is_number(part.at(0))]
        if numbers:
            what = f"quantiles of {len(numbers)} variables, the smallest and the largest value among them"
            yield Leak(LeakKind.EXTREMES, levels.pointer, what, records=1)
    for key in ("data", "fit"):
        part = root.get(key)
        if part is not None and part.value:
            yield Leak(LeakKind.RAW_RECORDS, part.pointer, "a value of every training record")

    leaks = list(_of_splits(root))
    if leaks:
        what = f"the gains of {len(leaks)} splits, and the averages of their records"
        yield Leak(LeakKind.AVERAGES, root["trees"].pointer, what)


def _of_splits(root: JsonPart) -> Iterator[JsonPart]:
    """Yield the numbers of splits that no prediction needs: gains, and the values of inner nodes."""
    for tree in root["trees"]:
        for row in tree:
            is_split = row["SplitVar"].whole(low=-1) >= 0
            for key in ("ErrorReduction", "Prediction") if is_split else ():
                part = row.get(key)
                if part is not None:
                    yield part


def _is_number(part: JsonPart) -> bool:
    return isinstance(part.value, int | float) and not isinstance(part.value, bool)


def _model(root: JsonPart) -> Ensemble:
    parts = root["trees"]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    variables = list(_variables(root))
    splits = root.get("c.splits")
    forest = bounded(
        (_nodes(list(tree), variables, splits, root.source) for tree in parts), root.source
    )
    values = {variable.name: variable.levels for variable in variables if variable.levels}
    names = [variable.name for variable in variables]
    features = features_named(
        names, (node for nodes in forest for node in nodes), root.source, values=values
    )
    trees = [
        with_support(
            Tree(
                nodes=nodes,
                features=features,
                target="",
                task=Task.REGRESSION,
                missing=Missing.NONE,
                source=root.source,
            )
        )
        for nodes in forest
    ]
    return _ensemble(root, trees)


def _variables(root: JsonPart) -> Iterator[_Variable]:
    names = [part.text() for part in root["var.names"]]
    unique(names, "variables", root.source, limits.FEATURES)
    kinds, levels = root["var.type"], root.get("var.levels")
    for place, name in enumerate(names):
        size = kinds.at(place).whole(high=10_000)
        listed = None if levels is None else levels.at(place)
        texts: tuple[str, ...] = ()
        if listed is not None and listed.is_list and len(listed) and not _is_number(listed.at(0)):
            texts = unique((part.text() for part in listed), "levels", root.source, 10_000)
        if size and len(texts) != size:
            raise kinds.at(place).refused(
                f"the {size} levels of {name[:60]!r} are not in var.levels"
            )
        yield _Variable(name, texts, not size)


def _nodes(
    rows: Sequence[JsonPart], variables: Sequence[_Variable], splits: JsonPart | None, source: str
) -> tuple[Node, ...]:
    if not rows:
        raise TreeFormatError(source, "a tree has no nodes")
    empty = {row["MissingNode"].whole() for row in rows if _repeats(row, rows)}
    return grown(0, lambda number: _draft(number, rows, variables, splits, empty), source)


def _repeats(row: JsonPart, rows: Sequence[JsonPart]) -> bool:
    """Whether nobody's value was missing at a split: then its missing child has the weight of the split once more."""
    if row["SplitVar"].whole(low=-1) < 0:
        return False
    children = [row[side].whole(low=-1) for side in ("LeftNode", "RightNode")]
    total = sum(rows[place]["Weight"].amount() for place in children if 0 <= place < len(rows))
    return math.isclose(total, row["Weight"].amount(), rel_tol=1e-9)


def _draft(
    number: int,
    rows: Sequence[JsonPart],
    variables: Sequence[_Variable],
    splits: JsonPart | None,
    empty: set[int],
) -> Draft:
    row = rows[number]
    place = row["SplitVar"].whole(low=-1, high=len(variables) - 1)
    records = 0.0 if number in empty else row["Weight"].amount()
    if place < 0:
        return Draft(str(number), score=row["Prediction"].number(), records=records)
    ways = [row[side].whole(low=1, high=len(rows) - 1) for side in WAYS]
    tests = _tests(variables[place], row["SplitCodePred"], splits)
    return Draft(str(number), tuple(map(Branch, ways, tests)), records=records)


def _tests(
    variable: _Variable, value: JsonPart, splits: JsonPart | None
) -> tuple[Predicate, Predicate, Predicate]:
    """Return the tests of the left, the right and the missing child."""
    name, missing = variable.name, MissingTest(variable.name)
    if variable.is_cut and not variable.levels:
        return *compared(name, "<", value.number()), missing
    if variable.is_cut:  # an ordered factor, whose levels count from 0
        end = value.number()
        return *cut_between(
            name, variable.levels, end + 0.5 if end == int(end) else end + 1
        ), missing
    if splits is None:
        raise value.refused(
            "a node splits by levels, but c.splits is not in the file; write it too"
        )
    row = splits.at(value.whole())
    codes = [part.whole(low=LEFT, high=RIGHT) for part in row]
    if len(codes) != len(variable.levels):
        raise row.refused(
            f"the split has {len(codes)} levels, but {name[:60]!r} has {len(variable.levels)}"
        )
    left, right, absent = (
        [level for level, code in zip(variable.levels, codes, strict=True) if code == side]
        for side in (LEFT, RIGHT, ABSENT)
    )
    nowhere: Predicate = AnyOf((missing, belongs(name, absent)[0])) if absent else missing
    return belongs(name, left)[0], belongs(name, right)[0], nowhere


def _ensemble(root: JsonPart, trees: Sequence[Tree]) -> Ensemble:
    loss = _loss(root["distribution"])
    sizes = root.get("num.classes")
    size = 1 if sizes is None else single(sizes).whole(low=1, high=limits.CLASSES)
    classes = ("0", "1") if loss in OF_TWO else _classes(root) if loss == "multinomial" else ()
    if (size != len(classes) if loss == "multinomial" else size != 1) or len(trees) % size:
        raise root.refused(
            f"{len(trees)} trees cannot be divided among {size} outputs and {len(classes)} classes"
        )
    start = single(root["initF"]).number()
    doubled = 2.0 if loss == "adaboost" else 1.0  # its link is that of twice the score
    share = root.get("bag.fraction")
    drawn = None if share is None else single(share).number() != 1.0
    target = root.get("response.name")
    return Ensemble(
        members=tuple(
            Member(tree, weight=doubled, output=place % size if size > 1 else None, name=str(place))
            for place, tree in enumerate(trees)
        ),
        combination=Combination.WEIGHTED_SUM,
        features=trees[0].features,
        target="" if target is None else single(target).text(),
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        base=(start * doubled,) if start else (),
        link=LINKS.get(loss, Link.UNKNOWN),
        sampling=TreeSampling(drawn),
        growth=growth_of(root, loss, trees) if size == 1 else None,
        source=root.source,
    )


def _loss(part: JsonPart) -> str:
    """Return the name of the distribution, which stands in an object, in a list of one, or alone."""
    return single(part["name"] if part.is_object else part).text()


def _classes(root: JsonPart) -> tuple[str, ...]:
    return unique(
        (part.label() for part in root["classes"]), "classes", root.source, limits.CLASSES
    )


# Side channels of a gbm file: what it holds beside its trees.

ROW = (
    *("SplitVar", "SplitCodePred", "LeftNode", "RightNode", "MissingNode", "ErrorReduction"),
    *("Weight", "Prediction"),
)


def _shape(model: Ensemble) -> Shape:
    """Return which keys a file has, and what may stand there."""
    one_number: Shape = Either((Items(is_number, 1), is_number))
    name: Shape = Either((Items(is_text, 1), is_text))
    is_loss = one_of(*LINKS, *OF_TWO)
    loss: Shape = Either((Items(is_loss, 1), is_loss))
    levels: Shape = Either((Entries({}), Items(is_text), Items(is_number)))
    return Entries(
        {
            "initF": one_number,
            "fit": JUDGED,
            "data": JUDGED,
            "bag.fraction": Either((Items(_is_share, 1), _is_share)),
            "shrinkage": Either((Items(is_setting, 1), is_setting)),
            "distribution": Either((Entries({"name": loss}), loss)),
            "num.classes": one_number,
            "response.name": name,
            "var.names": Items(is_text),
            "var.type": Items(is_number),
            "c.splits": Items(Items(one_of(LEFT, ABSENT, RIGHT))),
            "classes": Items(
                one_of(*model.classes, *(int(c) for c in model.classes if c.isdecimal()))
            ),
            "var.levels": Items(levels, len(model.features)),
            "trees": Items(Items(Entries(dict.fromkeys(ROW, is_number)))),
        }
    )


def _is_share(value: object) -> bool:
    return is_setting(value) and isinstance(value, int | float) and 0 < value <= 1


def _sizes(root: JsonPart) -> list[object]:
    return [part.value for part in root["var.type"]]


def _strange(root: JsonPart) -> Iterator[StrangePart]:
    """Yield what no node of the model has: numbers at leaves that only splits need, rows of no tree, unused splits."""
    sizes, used = _sizes(root), set()
    if len(sizes) != len(root["var.names"]):
        yield StrangePart(("var.type",), "the numbers of types and variables differ")
    for tree in root["trees"]:
        rows = list(tree)
        for row in rows:
            place = row["SplitVar"].whole(low=-1)
            if place < 0:
                yield from _strange_leaf(row)
            elif sizes[place]:
                used.add(row["SplitCodePred"].value)
        ways = {row[side].value for row in rows for side in WAYS if row["SplitVar"].value != -1}
        if len(ways) != len(rows) - 1:
            yield StrangePart(tree.steps, "rows that are in no tree")
    splits = root.get("c.splits")
    for place in range(0 if splits is None else len(splits)):
        if place not in used:
            what = "a split of levels that no tree uses"
            yield StrangePart(("c.splits", place), what)


def _strange_leaf(row: JsonPart) -> Iterator[StrangePart]:
    for side in WAYS:
        if row[side].value != -1:
            yield StrangePart(row[side].steps, "a child of a leaf")
    if row["SplitCodePred"].value != row["Prediction"].value:
        yield StrangePart(row["SplitCodePred"].steps, "another number than the leaf's")
    gain = row.get("ErrorReduction")
    if gain is not None and gain.value != 0:
        yield StrangePart(gain.steps, "a gain of a leaf")


FORMAT = GbmJson()
