"""All trees of a file of boosted trees at once, as columns: their order, their tests, and whether counts add up."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats.common.json import Steps, as_list, refused
from treewarden.ppdm_models.semantics.consistency import contradictions
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import Cuts, Flags, NodeTable, Numbers, Vectors, Wholes
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
)

LEAF = -1
"""What stands for "no child" in a column of children."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The nodes of all trees, tree after tree, each parent before its children.

    ``starts`` are the roots, and the number of nodes behind them; ``parents`` are -1 at a root. ``second`` says that a
    node is the second child: where its parent's test does not hold. In the file, where trees follow each other, a node
    stands at ``rows``, and has one of the ``numbers`` within its tree.
    """

    starts: Wholes
    rows: Wholes
    numbers: Wholes
    parents: Wholes
    second: Flags

    @property
    def inner(self) -> Flags:
        """Whether each node has children."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        found[self.parents[self.parents >= 0]] = True
        return found

    def tree(self, node: int) -> int:
        """Return which tree a node is in."""
        return int(np.searchsorted(self.starts, node, side="right")) - 1


@dataclass(frozen=True, slots=True)
class BoostedSplits:
    """What the inner nodes ask, by the rows of the file: whether a feature is below an end (``closed``: or at it).

    ``first_if_missing`` says that a missing value goes to the first child. ``others`` are the tests of both children
    where they are none of this.
    """

    features: Wholes
    ends: Numbers
    closed: Flags
    first_if_missing: Flags
    others: Mapping[int, tuple[Predicate, Predicate]]


@dataclass(frozen=True, slots=True)
class BoostedColumns:
    """The columns of all trees, in the order of their shape; ``outputs`` has an entry per tree, or is empty.

    ``lines`` says where each tree begins in its file, where that is known.
    """

    shape: TreeShape
    names: Sequence[str]
    splits: BoostedSplits
    scores: Numbers
    records: Numbers
    outputs: Sequence[Vectors | None] = ()
    lines: Sequence[int] | None = None

    def trees(
        self,
        features: tuple[Feature, ...],
        qualities: Sequence[Quality],
        source: str,
        name_of: Callable[[int], str],
    ) -> list[Tree]:
        """Return the trees, whose missing values go to the default child.

        One whose counts do not add up is called inconsistent, in a note that begins with ``name_of`` its number.
        """
        odd = self._odd_trees()
        found = []
        for index, (nodes, quality) in enumerate(
            zip(self._tables(features), qualities, strict=True)
        ):
            tree = Tree(
                nodes,
                features,
                "",
                task=Task.REGRESSION,
                quality=quality,
                missing=Missing.DEFAULT_CHILD,
                source=source,
            )
            if tree.has_people and index in odd:
                said = f"{name_of(index)}: {next(contradictions(tree), 'its counts do not add up')}"
                tree = replace(tree, quality=Quality.INCONSISTENT, notes=(said,))
            found.append(tree)
        return found

    def counted(self) -> list[bool]:
        """Return for each tree whether some node of it tells its records."""
        starts = self.shape.starts.tolist()
        told = ~np.isnan(self.records)
        return [bool(told[start:end].any()) for start, end in pairwise(starts)]

    def _tables(self, features: tuple[Feature, ...]) -> Iterator[NodeTable]:
        starts = self.shape.starts
        own_start = np.repeat(starts[:-1], np.diff(starts))
        parents = np.where(self.shape.parents < 0, LEAF, self.shape.parents - own_start)
        defaults = self._defaults(own_start)
        cuts = self._cuts(tuple(feature.name for feature in features))
        for index, (start, end) in enumerate(pairwise(starts.tolist())):
            yield NodeTable(
                lines=None if self.lines is None else [self.lines[index]] * (end - start),
                parents=parents[start:end],
                names=self.names[start:end],
                tests=cuts[index],
                scores=self.scores[start:end],
                records=self.records[start:end],
                outputs=self.outputs[index] if self.outputs else None,
                default_children=defaults[start:end],
            )

    def _defaults(self, own_start: Wholes) -> Wholes:
        """Return the child of each node, within its tree, that takes missing values."""
        parents, second = self.shape.parents, self.shape.second
        found = np.full(len(parents), LEAF, dtype=np.int64)
        to_first = self.splits.first_if_missing[self.shape.rows[parents]]
        takes = np.flatnonzero((parents >= 0) & (to_first != second))
        found[parents[takes]] = takes - own_start[takes]
        return found

    def _cuts(self, names: tuple[str, ...]) -> list[Cuts]:
        shape, splits = self.shape, self.splits
        asked = shape.rows[shape.parents]  # the root's is no matter
        features = np.where(shape.parents < 0, -1, splits.features[asked])
        ends, closed = splits.ends[asked], splits.closed[asked]
        others = self._others(asked)
        return [
            Cuts(
                names,
                features[start:end],
                ends[start:end],
                shape.second[start:end],
                closed[start:end],
                predicates,
            )
            for predicates, (start, end) in zip(
                others, pairwise(shape.starts.tolist()), strict=True
            )
        ]

    def _others(self, feature_of_node: Wholes) -> list[dict[int, Predicate]]:
        """Return, for each tree, the tests that are no cut by the nodes they lead to."""
        shape = self.shape
        found: list[dict[int, Predicate]] = [{} for _ in range(len(shape.starts) - 1)]
        if not self.splits.others:
            return found
        is_other = np.isin(feature_of_node, list(self.splits.others)) & (shape.parents >= 0)
        for node in np.flatnonzero(is_other).tolist():
            tree = shape.tree(node)
            both = self.splits.others[int(feature_of_node[node])]
            found[tree][node - int(shape.starts[tree])] = both[int(shape.second[node])]
        return found

    def _odd_trees(self) -> set[int]:
        """Return the trees in which some node's records are not the sum of its children's."""
        below, records = self.shape.parents >= 0, self.records
        above, size = self.shape.parents[below], len(records)
        unknown = np.isnan(records)
        known = np.bincount(above, np.where(unknown, 0.0, records)[below], minlength=size)
        gaps = np.bincount(above, unknown[below], minlength=size) > 0
        odd = self.shape.inner & ((known > records) | ((known < records) & ~gaps))
        return set(_tree_of(self.shape.starts, np.flatnonzero(odd)).tolist())


def shape_of(
    firsts: Wholes, seconds: Wholes, starts: Wholes, where: Callable[[int], str]
) -> TreeShape:
    """Return the order of trees that stand one after another, each with its root first.

    ``firsts`` and ``seconds`` are each node's children, as places within its tree; ``LEAF`` in ``firsts`` says that it
    has none. ``starts`` are the roots' rows, and the number of rows behind them; ``where`` names a tree.

    Raises:
        TreeFormatError: a child is no node or has two parents, or the nodes nest too deep.
    """
    sizes = np.diff(starts)
    for tree, size in enumerate(sizes.tolist()):
        if not 0 < size <= limits.NODES:
            raise TreeFormatError(
                where(tree), f"a tree has {size:,} nodes; give trees with 1 to {limits.NODES:,}"
            )
    own_start = np.repeat(starts[:-1], sizes)
    above = np.full(len(firsts), LEAF, dtype=np.int64)
    levels = [starts[:-1]]
    while len(inner := levels[-1][firsts[levels[-1]] != LEAF]):
        start, size = own_start[inner], sizes[_tree_of(starts, inner)]
        one, two = firsts[inner], seconds[inner]
        strange = inner[(np.minimum(one, two) <= 0) | (np.maximum(one, two) >= size)]
        if len(strange):
            tree = int(_tree_of(starts, strange[0]))
            said = f"node {strange[0] - starts[tree]} has a child that does not exist"
            raise TreeFormatError(where(tree), said)
        below = np.concatenate((one + start, two + start))
        twice = _met_twice(below, np.tile(inner, 2), above)
        if len(twice) or len(levels) > limits.DEPTH:
            tree = int(_tree_of(starts, twice[0] if len(twice) else below[0]))
            deep = (
                f"nodes nest more than {limits.DEPTH} deep, which is the limit; train "
                "shallower trees"
            )
            raise TreeFormatError(where(tree), "a node has two parents" if len(twice) else deep)
        levels.append(below)
    return _ordered(levels, firsts, seconds, above, own_start)


def _met_twice(nodes: Wholes, parents: Wholes, above: Wholes) -> Wholes:
    """Note the parents of nodes in ``above``; return those that have another one, or the same one twice."""
    known = nodes[above[nodes] != LEAF]
    above[nodes] = parents
    half = len(nodes) // 2
    same = nodes[:half][nodes[:half] == nodes[half:]]
    return np.concatenate((known, nodes[above[nodes] != parents], same))


def _tree_of(starts: Wholes, rows: Wholes) -> Wholes:
    """Return which tree each row is of."""
    return np.searchsorted(starts, rows, side="right") - 1


def _ordered(
    levels: Sequence[Wholes], firsts: Wholes, seconds: Wholes, above: Wholes, own_start: Wholes
) -> TreeShape:
    """Return the shape of the nodes that the roots reach: the first child and all below it before the second."""
    size = np.ones(len(firsts), dtype=np.int64)
    for level in reversed(levels):
        inner = level[firsts[level] != LEAF]
        start = own_start[inner]
        size[inner] += size[firsts[inner] + start] + size[seconds[inner] + start]
    place = np.full(len(firsts), LEAF, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(size[levels[0]])))
    place[levels[0]] = starts[:-1]
    second = np.zeros(starts[-1], dtype=np.bool_)
    for level in levels:
        inner = level[firsts[level] != LEAF]
        one, two = firsts[inner] + own_start[inner], seconds[inner] + own_start[inner]
        place[one] = place[inner] + 1
        place[two] = place[one] + size[one]
        second[place[two]] = True
    reached = np.concatenate(levels)
    rows = np.empty(len(reached), dtype=np.int64)
    rows[place[reached]] = reached
    parents = above[rows]
    return TreeShape(
        starts, rows, rows - own_start[rows], np.where(parents < 0, LEAF, place[parents]), second
    )


# What the files of boosted trees have in common: columns of numbers, notes on all trees, and how trees are changed.


def numbers(value: object, source: str, steps: Steps) -> Numbers:
    """Return a list of numbers; NaN and infinite ones are let through.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items: list[Any] = as_list(value, source, steps)
    if set(map(type, items)) <= {float, int}:
        try:
            return np.asarray(array("d", items), dtype=np.float64)
        except OverflowError:
            pass
    raise refused(source, steps, "contains something that is not a number")


def plain_numbers(items: list[Any]) -> Numbers | None:
    """Return finite numbers as a column, NaN where one is None; None where something else is among them.

    The items are those of JSON, and none is NaN.
    """
    kinds = set(map(type, items))
    if not kinds <= {float, int, type(None)}:
        return None
    if type(None) in kinds:
        items = [math.nan if item is None else item for item in items]
    try:
        found = np.asarray(array("d", items), dtype=np.float64)
    except OverflowError:
        return None
    return None if np.isinf(found).any() else found


def taken(nodes: Sequence[Mapping[str, object]], **defaults: object) -> list[list[Any]]:
    """Return what stands under each key, or its default, as one column per key."""
    if not nodes:
        return [[] for _ in defaults]
    try:  # one pass in the common case, in which all keys are there
        return list(map(list, zip(*map(itemgetter(*defaults), nodes), strict=True)))
    except KeyError:
        return [[node.get(key, other) for node in nodes] for key, other in defaults.items()]


def wholes(value: object, source: str, steps: Steps) -> Wholes:
    """Return a list of whole numbers; true and false count as 1 and 0.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items: list[Any] = as_list(value, source, steps)
    try:
        return np.asarray(array("q", items), dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise refused(source, steps, "contains something that is not a whole number") from error


def differing_roots(trees: Iterable[Tree]) -> bool:
    """Whether trees that count people start from different numbers of them: each saw a sample."""
    return len({_records_of_root(tree) for tree in trees if tree.has_people}) > 1


def _records_of_root(tree: Tree) -> float | None:
    if not isinstance(tree.nodes, NodeTable):
        return tree.root.records
    column = tree.nodes.records  # looked up here, no node is made
    return None if column is None or np.isnan(column[0]) else float(column[0])


def gathered_notes(trees: Iterable[Tree]) -> tuple[str, ...]:
    """Return the first note of the trees, and how many more have one."""
    found = [note for tree in trees for note in tree.notes[:1]]
    more = f" (and {len(found) - 1} more trees)" if len(found) > 1 else ""
    return (found[0] + more,) if found else ()


def paired(before: Model, after: Model, *, drops: bool = False) -> list[tuple[Tree, Tree]]:
    """Return the trees of a file beside those they are changed to; the last ones may be gone where the file ``drops``.

    Raises:
        OutputError: there are more or fewer of them, or a tree has nodes that the file's has not.
    """
    if not isinstance(before, Ensemble) or not isinstance(after, Ensemble):
        raise OutputError(
            before.source, "its trees can only be changed as an ensemble; change the ensemble"
        )
    pairs = list(zip(before.trees, after.trees, strict=False))
    fewer = len(after.members) if drops else len(before.members)
    kept = [member.name for member in before.members[: len(after.members)]]
    is_other = drops and kept != [member.name for member in after.members]
    if is_other or len(pairs) < max(fewer, len(after.members)):
        raise OutputError(
            before.source,
            "the number of trees changed, but this format can only keep it; "
            "change trees without adding or removing any",
        )
    for old, new in pairs:
        names = {node.name for node in old.nodes}
        strange = [node.name for node in new.nodes if node.name not in names]
        if strange:
            raise OutputError(
                before.source,
                f"the node {strange[0]!r} is not in the file; change only nodes of the file",
            )
    return pairs


def leaf_score(tree: Tree, node: Node) -> float:
    """Return the number of a leaf.

    Raises:
        OutputError: it has none.
    """
    if not isinstance(node.score, int | float):
        raise OutputError(
            tree.source,
            f"leaf {node.name!r} has no value; give a model whose leaves all have one value",
        )
    return float(node.score)
