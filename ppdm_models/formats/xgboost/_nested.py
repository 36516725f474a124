"""The trees of an XGBoost dump: nested nodes that name their children by id."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.boosted import (
    LEAF,
    BoostedColumns,
    BoostedSplits,
    TreeShape,
    plain_numbers,
    taken,
)
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    as_list,
    as_number,
    as_object,
    as_whole,
    refused,
)
from treewarden.ppdm_models.formats.common.origin import telling
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member
from treewarden.ppdm_models.tree.nodes import Numbers, Wholes
from treewarden.ppdm_models.tree.predicate import CategoryTest, MissingTest, Predicate
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Quality,
    Task,
    Tree,
)

Raw = dict[str, object]
MOST = 3.4e38
"""Numbers as large as this have no place in 32 bits."""


class Dump:
    """All nodes of a file, tree after tree, each before its children in the file's order.

    ``numeric`` says of each feature whether it is compared, not looked up in sets; ``indicators`` are tests on
    presence. Each column is looked at as a whole; where it is not plain, node by node, to read or to refuse it.
    """

    def __init__(self, trees: Sequence[object], source: str) -> None:
        self.source = source
        self.nodes: list[Raw] = []
        self.parents: list[int] = []
        self.starts = [0]
        for index, raw in enumerate(trees):
            self._walk(as_object(raw, source, [index]), [index])
            self.starts.append(len(self.nodes))
        self.is_leaf = ["leaf" in node for node in self.nodes]
        self.missing_is_yes = [False] * len(self.nodes)
        self.shape = self._shape()
        self.numeric: dict[str, bool] = {}
        self.indicators = 0
        self._others: dict[int, tuple[Predicate, Predicate]] = {}
        self._rows = [row for row, is_leaf in enumerate(self.is_leaf) if not is_leaf]
        self._features, self._ends = self._features_and_ends()
        covers = self._numbers([node.get("cover") for node in self.nodes])
        odd = np.flatnonzero(covers < 0)
        if len(odd):
            raise refused(source, self._at(int(odd[0])), "its cover is not a sum of weights")
        self.covers: Numbers = np.where(covers == 0, np.nan, covers)

    def forest(self, names: Sequence[str]) -> BoostedColumns:
        """Return the nodes; ``names`` are the features in the order they get."""
        place = {name: index for index, name in enumerate(names)}
        splits = BoostedSplits(
            np.zeros(len(self.nodes), dtype=np.int64),
            np.zeros(len(self.nodes)),
            np.zeros(len(self.nodes), dtype=np.bool_),
            np.array(self.missing_is_yes, dtype=np.bool_),
            self._others,
        )
        splits.features[self._rows] = [place[name] for name in self._features]
        splits.ends[self._rows] = self._ends
        scores, outputs = self._leaves()
        ids = [str(node["nodeid"]) for node in self.nodes]
        return BoostedColumns(self.shape, ids, splits, scores, self.covers, outputs)

    def whole_covers(self) -> bool:
        """Whether there are covers and all are whole numbers, as where each record's second derivative is 1."""
        known = self.covers[~np.isnan(self.covers)]
        return len(known) > 0 and bool((known == np.rint(known)).all())

    def _walk(self, root: Raw, steps: Steps) -> None:
        nodes, parents, start = self.nodes, self.parents, len(self.nodes)
        pending = [(root, LEAF, 0)]
        while pending:
            node, parent, depth = pending.pop()
            here = len(nodes)
            if here - start >= limits.NODES or depth > limits.DEPTH:
                raise refused(
                    self.source,
                    steps,
                    f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                    "train shallower trees",
                )
            nodes.append(node)
            parents.append(parent)
            children = node.get("children")
            if "leaf" in node:
                if "children" in node:
                    raise refused(self.source, [*steps, _named(node)], "is a leaf and has children")
                continue
            if not isinstance(children, list) or len(children) != 2:
                said = "has neither a leaf value nor two children"
                raise refused(self.source, [*steps, _named(node)], said)
            first, second = children
            if not isinstance(first, dict) or not isinstance(second, dict):
                raise refused(
                    self.source, [*steps, _named(node)], "has a child that is not an object"
                )
            pending.append((second, here, depth + 1))
            pending.append((first, here, depth + 1))

    def _shape(self) -> TreeShape:
        """Return the order of the nodes, which is that of the file.

        Raises:
            TreeFormatError: two nodes of a tree have one id, or a split does not name its children.
        """
        starts = np.array(self.starts, dtype=np.int64)
        parents = np.array(self.parents, dtype=np.int64)
        rows = np.arange(len(parents))
        is_later = (parents >= 0) & (rows != parents + 1)
        seconds = np.zeros(len(parents), dtype=np.int64)
        seconds[parents[is_later]] = rows[is_later]
        is_no = np.zeros(len(parents), dtype=np.bool_)
        is_no[[self._no_child(row, second) for row, second in self._splits(seconds)]] = True
        self._check_ids()
        own_start = np.repeat(starts[:-1], np.diff(starts))
        return TreeShape(starts, rows, rows - own_start, parents, is_no)

    def _splits(self, seconds: Wholes) -> Iterator[tuple[int, int]]:
        """Yield the row of each split and of its second child."""
        for row, second in enumerate(seconds.tolist()):
            if second:
                yield row, second

    def _no_child(self, row: int, second: int) -> int:
        """Return the child where a split does not hold; note where missing values go."""
        node = self.nodes[row]
        yes, no = node.get("yes"), node.get("no")
        ids = self.nodes[row + 1].get("nodeid"), self.nodes[second].get("nodeid")
        missing = node.get("missing", no)  # an indicator names none: what is missing is "no"
        if yes == no or (ids != (yes, no) and ids != (no, yes)) or missing not in ids:
            said = "'yes' and 'no' must name the node's two children, and 'missing' one of them"
            raise refused(self.source, self._at(row), said)
        self.missing_is_yes[row] = missing == yes
        return second if ids[0] == yes else row + 1

    def _check_ids(self) -> None:
        for start, end in pairwise(self.starts):
            ids = [node.get("nodeid") for node in self.nodes[start:end]]
            if set(map(type, ids)) == {int} and len(set(ids)) == len(ids):
                continue
            seen: set[object] = set()
            for row, name in enumerate(ids, start):
                if type(name) is not int or name in seen:
                    raise refused(self.source, self._at(row), "its nodeid is not a unique number")
                seen.add(name)

    def _features_and_ends(self) -> tuple[list[str], Numbers]:
        """Return the feature of each split, and the end that numbers are below; note the tests that are no such."""
        splits = [self.nodes[row] for row in self._rows]
        features, conditions = taken(splits, split=None, split_condition=None)
        ends = plain_numbers(conditions)
        names = [name for name in features if isinstance(name, str)]
        if len(names) == len(splits) and ends is not None and (np.abs(ends) < MOST).all():
            self.numeric = dict.fromkeys(names, True)
            if len(self.numeric) > limits.FEATURES:
                raise TreeFormatError(
                    self.source,
                    f"more than {limits.FEATURES:,} features, which is the limit; "
                    "train with fewer columns",
                )
            return names, ends.astype(np.float32).astype(np.float64)
        each = [self._one(row, node) for row, node in zip(self._rows, splits, strict=True)]
        return [name for name, _ in each], np.array([end for _, end in each], dtype=np.float64)

    def _one(self, row: int, node: Raw) -> tuple[str, float]:
        """Return the feature and the end of one split; 0 where it is no comparison, but noted."""
        at = self._at(row)
        feature = node.get("split")
        if not isinstance(feature, str):
            feature = f"f{as_whole(feature, self.source, at, high=limits.FEATURES)}"
        condition = node.get("split_condition")
        is_set = isinstance(condition, list)
        if self.numeric.setdefault(feature, not is_set) == is_set:
            raise refused(
                self.source,
                at,
                f"{feature!r} is both compared with thresholds and looked up in sets",
            )
        if len(self.numeric) > limits.FEATURES:
            raise TreeFormatError(
                self.source,
                f"more than {limits.FEATURES:,} features, which is the limit; "
                "train with fewer columns",
            )
        if isinstance(condition, list):
            listed = tuple(str(as_whole(code, self.source, at, high=2**24)) for code in condition)
            if not listed:
                raise refused(self.source, at, "lists no categories")
            both = CategoryTest(feature, listed), CategoryTest(feature, listed, negated=True)
            self._others[row] = both
        elif condition is None and "missing" not in node:
            self.indicators += 1
            self._others[row] = MissingTest(feature, negated=True), MissingTest(feature)
        else:
            return feature, self._single(condition, row)
        return feature, 0.0

    def _leaves(self) -> tuple[Numbers, list[list[tuple[float, ...] | None] | None]]:
        """Return the score of each leaf, and for each tree the vectors of its leaves where it has some."""
        values = [node.get("leaf") for node in self.nodes]
        scores = plain_numbers(values)
        if scores is not None and not (np.abs(scores) >= MOST).any():
            if np.isnan(scores[self.is_leaf]).any():
                self._single(None, int(np.flatnonzero(np.isnan(scores) & self.is_leaf)[0]))
            return scores.astype(np.float32).astype(np.float64), []
        scores = np.full(len(values), np.nan)
        vectors: list[tuple[float, ...] | None] = [None] * len(values)
        for row, value in enumerate(values):
            if isinstance(value, list):
                vectors[row] = tuple(self._single(item, row) for item in value)
            elif self.is_leaf[row]:
                scores[row] = self._single(value, row)
        return scores, [vectors[start:end] for start, end in pairwise(self.starts)]

    def _numbers(self, values: list[object]) -> Numbers:
        found = plain_numbers(values)
        if found is not None:
            return found
        read = [
            math.nan if value is None else as_number(value, self.source, self._at(row))
            for row, value in enumerate(values)
        ]
        return np.array(read, dtype=np.float64)

    def _single(self, value: object, row: int) -> float:
        """Return a number as the learner has it, in 32 bits."""
        number = as_number(value, self.source, self._at(row))
        if not -MOST < number < MOST:
            raise refused(self.source, self._at(row), "one of its numbers is out of range")
        return float(np.float32(number))

    def _at(self, row: int) -> Steps:
        tree = int(np.searchsorted(self.starts, row, side="right")) - 1
        return [tree, _named(self.nodes[row])]


def _named(node: Raw) -> str:
    return f"node {str(node.get('nodeid'))[:40]}"


def pruned(raw: object, new: Tree) -> object:
    """Return the nested nodes with covers gone where withheld, and what was pruned replaced by a leaf.

    The nodes are changed in place.
    """
    after = {node.name: node for node in new.nodes}
    stack = [raw]
    while stack:
        node = stack.pop()
        assert isinstance(node, dict)
        then = after[str(node["nodeid"])]
        if then.records is None:
            node.pop("cover", None)
        if not then.is_leaf:
            children = as_list(node["children"], new.source, [])
            stack.extend(children)
            continue
        kept = {name: node[name] for name in ("nodeid", "leaf", "cover") if name in node}
        cover = {"cover": kept.pop("cover")} if "cover" in kept else {}
        if "leaf" not in kept or then.outputs is None:
            kept["leaf"] = _number_of(kept.get("leaf"), then.score)
        node.clear()
        node.update(kept, **cover)
    return raw


def _number_of(stated: object, score: object) -> object:
    """Return the number as the file has it where it is still the same."""
    if isinstance(stated, int | float) and float(np.float32(stated)) == score:
        return stated
    return score


# What the dumps of XGBoost, as JSON and as text, have in common: trees, and neither objective nor base score.

INDEXED = re.compile(r"f(\d{1,6})")


def ensemble_of(raw: Sequence[object], source: str) -> Ensemble:
    """Return the ensemble of nested trees.

    Raises:
        TreeFormatError: they are none, too many, or malformed.
    """
    if not 0 < len(raw) <= limits.TREES:
        raise TreeFormatError(
            source, f"contains {len(raw):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    dump = Dump(raw, source)
    features = _features(dump)
    forest = dump.forest([feature.name for feature in features])
    trees = forest.trees(
        features,
        [Quality.HESSIAN if covered else Quality.ABSENT for covered in forest.counted()],
        source,
        lambda tree: f"{source}: tree {tree}",
    )
    return Ensemble(
        members=tuple(Member(tree, name=str(index)) for index, tree in enumerate(trees)),
        combination=Combination.SUM,
        features=features,
        target="",
        task=Task.REGRESSION,
        link=Link.UNKNOWN,
        source=source,
        notes=tuple(_notes(dump)),
    )


def telling_names(ensemble: Ensemble) -> tuple[Leak, ...]:
    """Return the names of features that tell of a person or a place."""
    found = [(feature.name, telling(feature.name)) for feature in ensemble.features]
    return tuple(
        Leak(kind, "", f"the name of the feature {name!r} looks like a {kind}")
        for name, kind in found
        if kind is not None
    )


def _features(dump: Dump) -> tuple[Feature, ...]:
    """Return the features that the trees test: by number where they have no names, else as they come."""
    names: Iterable[str] = dump.numeric
    if all(INDEXED.fullmatch(name) for name in dump.numeric):
        names = sorted(dump.numeric, key=lambda name: int(name[1:]))
    return tuple(
        Feature(name, numeric=dump.numeric[name], single=dump.numeric[name]) for name in names
    )


def _notes(dump: Dump) -> Iterable[str]:
    yield (
        f"{dump.source}: a dump contains neither the objective nor the base score; save "
        "the model instead"
    )
    if dump.indicators:
        yield (
            f"{dump.source}: {dump.indicators} tests on indicators show only whether the "
            "value exists, so an explicit 0 may go either way"
        )
    if dump.whole_covers():
        yield (
            f"{dump.source}: the file probably shows how many people reached each node: all covers are whole "
            "numbers, as with reg:squarederror"
        )
