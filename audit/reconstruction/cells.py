"""Cells: the points of the public domain that end in equal leaves of all trees, and which no file can tell apart.

A point stays only while some class of records is counted in each of its leaves: after some trees few points of a large
domain are left. Where the domain has too many points to list, boxes of points are parted by one tree after another.

The records that a file proves this way are compared with the people of the owner's table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.audit.population.file_only_population import ROWS_BESIDE_WEIGHTS
from treewarden.audit.progress import Clock, clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredDomain, Domain, Factor
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, alike
from treewarden.ppdm_models.tables.routing import Router, prepared
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.plain_splits import class_counts_of
from treewarden.ppdm_models.tree.predicate import Always, answer, features_of, refusals
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Missing, Node, Quality, Tree

MOST_POINTS = 2**20
"""A domain of so many points is listed; of a larger one boxes are parted, if they stay few enough."""
MOST_BOXES = 30_000
"""So many boxes are kept at most; cells of very many trees are more than anybody can list."""
BOX_SECONDS = 1.5
"""Boxes that are not listed by then, or in a tenth of the time, are mostly too many: nobody waits for that."""
SEEN_SHARE = 0.7
"""Points that dropped out are forgotten once no more than this share is left."""
TOO_MANY = Undetermined(
    f"the columns that its trees test have more than {MOST_POINTS:,} combinations that its leaves allow: too many to "
    "list; a smaller public domain (--domain) may decide it"
)
NO_TIME = Undetermined("the time was used up before the combinations of values were listed")


class CellMethod(StrEnum):
    """How the cells of a domain are found: from all its points, from boxes of them, or one by one where needed."""

    POINTS = "points"
    BOXES = "boxes"
    GENERATED = "generated"


METHODS = {
    CellMethod.POINTS: "all listed",
    CellMethod.BOXES: "in boxes that no tree parts",
    CellMethod.GENERATED: "searched by column generation",
}


@dataclass(frozen=True, slots=True)
class DomainCoverage:
    """What of the tested columns a declared domain covers: their names, of how many, and how many points there are.

    ``points`` are combinations of values that some tree tells apart; ``method`` is how cells were found, None where no
    cells were needed.
    """

    declared: tuple[str, ...]
    tested: int
    points: int
    method: CellMethod | None = None

    @property
    def words(self) -> str:
        """The same in words, as the rest of a sentence."""
        names = ", ".join(self.declared[:MOST_NAMED])
        more = f" and {len(self.declared) - MOST_NAMED:,} more" * (len(self.declared) > MOST_NAMED)
        of_all = f"{len(self.declared):,} of {self.tested:,} tested columns"
        how = "" if self.method is None else f", {METHODS[self.method]}"
        named = f" ({names}{more})" if names else ""
        return f"declared for {of_all}{named}: {_in_figures(self.points)} combinations{how}"


MOST_NAMED = 8
"""So many names of declared columns are said."""


def _in_figures(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"about 10^{len(str(number)) - 1}"


def coverage_of(
    domain: Domain, declared: DeclaredDomain, method: CellMethod | None
) -> DomainCoverage:
    """Return what of a domain's columns was declared, and how its cells were found."""
    tested = [name for factor in domain.factors for name in factor.columns]
    named = {*declared.columns, *(name for group in declared.one_of for name in group)}
    return DomainCoverage(
        declared=tuple(name for name in tested if name in named),
        tested=len(tested),
        points=domain.points,
        method=method,
    )


WEIGHT_SLACK = 1e-6
"""A sum of equal weights is taken for a whole number of them where it is so near to one, as a share of it."""


EQUAL_WEIGHTS = "no record has a weight of its own"
ONLY_CLASSES = f"{EQUAL_WEIGHTS} beside that of its class"


def divides_weights(tree: Tree) -> bool:
    """Whether the classes of a tree had weights, which the file lets be divided out of its sums."""
    learner = tree.learner
    return bool(
        tree.quality is Quality.WEIGHTED and learner.weighs_classes and learner.class_weights
    )


def records_by_class(tree: Tree) -> FloatArray:
    """Return the counts of classes at each node, (N, m), without the weights of these."""
    counts = class_counts_of(tree, np.arange(len(tree.nodes)))
    if not divides_weights(tree):
        return counts
    records = counts / np.array(tree.learner.class_weights)
    whole = np.rint(records)
    is_near = np.abs(records - whole) <= WEIGHT_SLACK * np.maximum(whole, 1.0)
    return np.asarray(np.where(is_near, whole, records))


def compares_all(tree: Tree) -> bool:
    """Whether each split of a tree was chosen among all columns, by a known measure of impurity."""
    is_measured = tree.learner.criterion in (Criterion.GINI, Criterion.ENTROPY)
    return is_measured and tree.learner.all_features


@dataclass(frozen=True, slots=True, eq=False)
class NodeRecords:
    """What one tree publishes of how many records each node has, by class: (N, m), NaN where that is withheld.

    ``is_leaf`` (N,) says which nodes are leaves: records stop nowhere else.
    """

    counts: FloatArray
    is_leaf: BoolArray

    @property
    def may_hold(self) -> BoolArray:
        """Whether a record of each class may stop at each node, (N, m)."""
        return np.asarray(self.is_leaf[:, None] & (self.counts != 0))


@dataclass(frozen=True, slots=True, eq=False)
class DomainCells:
    """C cells of a domain. ``stops`` (T, C) is the leaf of each by tree, ``alive`` (C, m) which classes it may have.

    ``options`` (C, K) says which options of all factors, one factor after the other, some point of a cell has, and
    ``sizes`` (C,) how many values it stands for: infinite where nobody can count them. ``least`` is None where records
    are in no other cells; else other cells may have some, and it says how many are proved of these, (C, m).
    """

    domain: Domain
    stops: IndexArray
    alive: BoolArray
    options: BoolArray
    sizes: FloatArray
    method: CellMethod = CellMethod.POINTS
    least: IntArray | None = None

    def options_of(self, cell: int) -> list[list[int]]:
        """Return, for each factor of the domain, the options that some point of a cell has."""
        parts = np.split(self.options[cell], self.domain.starts[1:])
        return [np.flatnonzero(part).tolist() for part in parts]

    def words_of(self, cell: int) -> list[str]:
        """Return which values of each column the points of a cell have, in words."""
        return [
            f"{name}: {column.words(options)}"
            for factor, options in zip(self.domain.factors, self.options_of(cell), strict=True)
            for name, column in factor.columns.items()
        ]

    def only_option(self) -> IndexArray:
        """Return the one option of each factor that all points of a cell have, (C, F), -1 where they have several."""
        starts = self.domain.starts
        found = np.full((len(self.options), len(starts)), -1, dtype=np.intp)
        for place, part in enumerate(np.split(self.options, starts[1:], axis=1)):
            is_one = part.sum(axis=1) == 1
            found[is_one, place] = part[is_one].argmax(axis=1)
        return found


def find_cells(
    trees: Sequence[Tree], leaves: Sequence[NodeRecords], domain: Domain, until: Clock
) -> DomainCells | Undetermined:
    """Return the cells of a domain in which some record may be, or why they cannot be listed."""
    if domain.points > MOST_POINTS:
        seconds = max(BOX_SECONDS, until.left / 10)
        found = find_boxes(trees, leaves, domain, clock(min(seconds, until.left)))
        return TOO_MANY if found is NO_TIME else found
    points = np.arange(domain.points, dtype=np.int64)
    alive = np.ones((len(points), leaves[0].counts.shape[1]), dtype=bool)
    router = Router(columns_of_points(domain, points))
    for tree, leaf_counts in zip(trees, leaves, strict=True):
        if until.is_over:
            return NO_TIME
        alive &= _allowed(router.routed(tree)[0], leaf_counts)
        is_left = alive.any(axis=1)
        if is_left.sum() <= SEEN_SHARE * len(points):
            points, alive = points[is_left], alive[is_left]
            router = Router(columns_of_points(domain, points))
    is_left = alive.any(axis=1)
    points, alive = points[is_left], alive[is_left]
    router = Router(columns_of_points(domain, points))
    stops = np.stack([router.routed(tree)[0] for tree in trees])
    return group_points(domain, points, alive, stops)


def columns_of_points(domain: Domain, points: IntArray) -> dict[str, Column]:
    """Return a value of each column for each point."""
    codes = np.unravel_index(points, domain.shape)
    return {
        name: options.samples.take(code)
        for factor, code in zip(domain.factors, codes, strict=True)
        for name, options in factor.columns.items()
    }


def _allowed(stops: IndexArray, leaf_counts: NodeRecords) -> BoolArray:
    """Return which classes a record of each point may have by one tree, (D, m); none where it stops in no leaf."""
    found = leaf_counts.may_hold[np.maximum(stops, 0)]
    found[stops < 0] = False
    return found


def group_points(
    domain: Domain, points: IntArray, alive: BoolArray, stops: IndexArray
) -> DomainCells:
    """Return the cells of points (D,), which may have the classes ``alive`` (D, m) and ``stops`` (T, D)."""
    width = sum(domain.shape)
    if not len(points):
        nothing = np.zeros((0, width), dtype=bool)
        return DomainCells(domain, stops, alive, nothing, np.zeros(0))
    first, cell = alike(list(stops))
    options = np.zeros((len(first), width), dtype=bool)
    sizes = np.ones(len(points))
    codes = np.unravel_index(points, domain.shape)
    for start, factor, code in zip(domain.starts, domain.factors, codes, strict=True):
        options[cell, start + code] = True
        sizes *= factor.sizes[code]
    total = np.asarray(np.bincount(cell, sizes, minlength=len(first)), dtype=np.float64)
    return DomainCells(domain, stops[:, first], alive[first], options, total)


# Boxes of points, split by one tree after another, where there are too many points to list but few leaves.


def find_boxes(
    trees: Sequence[Tree], leaves: Sequence[NodeRecords], domain: Domain, until: Clock
) -> DomainCells | Undetermined:
    """Return the cells of a domain as boxes, a set of options of each factor; or why there are none that few."""
    factor_of = {
        name: place for place, factor in enumerate(domain.factors) for name in factor.columns
    }
    boxes = np.ones((1, sum(domain.shape)), dtype=bool)
    alive = np.ones((1, leaves[0].counts.shape[1]), dtype=bool)
    stops = np.zeros((0, 1), dtype=np.intp)
    for tree, leaf_counts in zip(trees, leaves, strict=True):
        branches = _branches(tree, domain, factor_of)
        if branches is None:
            return TOO_MANY
        parted = _parted(branches, domain, boxes, alive, leaf_counts, until)
        if isinstance(parted, Undetermined):
            return parted
        boxes, alive, origin, stop = parted
        stops = np.vstack([stops[:, origin], stop])
    sizes = np.ones(len(boxes))
    for start, factor in zip(domain.starts, domain.factors, strict=True):
        part = boxes[:, start : start + factor.options]
        sizes = multiply_sizes(sizes, part, factor.sizes)
    return DomainCells(domain, stops, alive, boxes, sizes, CellMethod.BOXES)


def multiply_sizes(sizes: FloatArray, options: BoolArray, option_sizes: FloatArray) -> FloatArray:
    """Return numbers of points (Z,) times those of one factor, whose ``options`` (Z, n) have ``option_sizes`` (n,).

    Where there is no option there are no points, however many values another factor may have.
    """
    values = np.where(options, option_sizes, 0.0).sum(axis=1)
    is_some = (sizes > 0) & (values > 0)
    return np.asarray(np.multiply(sizes, values, out=np.zeros_like(sizes), where=is_some))


def leaf_options(tree: Tree, domain: Domain) -> BoolArray | None:
    """Return which options of all factors go to each node that is a leaf, (N, K); None where leaves are no boxes."""
    factor_of = {
        name: place for place, factor in enumerate(domain.factors) for name in factor.columns
    }
    branches = _branches(tree, domain, factor_of)
    if branches is None:
        return None
    found = np.zeros((len(branches), sum(domain.shape)), dtype=bool)
    pending, starts = [(0, np.ones(sum(domain.shape), dtype=bool))], domain.starts
    while pending:
        node, here = pending.pop()
        if not branches[node]:
            found[node] = here
        for child, place, options in branches[node]:
            part = here.copy()
            part[starts[place] : starts[place] + len(options)] &= options
            pending.append((child, part))
    return found


Branches = list[list[tuple[int, int, BoolArray]]]
"""By node, its children: each with the place of a factor, and which of its options go there."""


def _branches(tree: Tree, domain: Domain, factor_of: Mapping[str, int]) -> Branches | None:
    """Return where options go from each node; None where a node asks for several factors, or nobody can follow it."""
    is_plain = tree.missing in (Missing.NONE, Missing.DEFAULT_CHILD, Missing.NULL_PREDICTION)
    if not is_plain or not isinstance(tree.root.test, Always):
        return None
    samples = {
        name: options.samples
        for factor in domain.factors
        for name, options in factor.columns.items()
    }
    compared = prepared(tree.used_features(), samples)
    found: Branches = []
    for node in tree.nodes:
        tests = [tree.nodes[child].test for child in node.children]
        if any(next(refusals(test), None) is not None for test in tests):
            return None
        asked = {factor_of[name] for test in tests for name in features_of(test)}
        if len(asked) > 1:
            return None
        place = next(iter(asked), 0)
        found.append(_sent(tree, node, domain.factors[place], place, compared))
    return found


def _sent(
    tree: Tree,
    node: Node,
    factor: Factor,
    place: int,
    compared: tuple[Mapping[str, Column], Mapping[str, BoolArray]],
) -> list[tuple[int, int, BoolArray]]:
    """Return which options of a factor each child of a node takes: the first one that says so, as records go.

    ``compared`` are the columns as tests see them, after what the model does to their values, and which it refuses: the
    record of such a value goes nowhere once a test asks for it.
    """
    columns = {name: compared[0][name] for name in factor.columns}
    is_left = np.ones(factor.options, dtype=bool)
    taken = {child: np.zeros(factor.options, dtype=bool) for child in node.children}
    for child in node.children:
        test = tree.nodes[child].test
        for name in features_of(test):
            if name in compared[1]:
                is_left = is_left & ~compared[1][name]
        said = answer(test, columns, factor.options)
        if tree.missing is not Missing.NONE:
            lost = is_left & said.unknown
            if tree.missing is Missing.DEFAULT_CHILD and node.default_child is not None:
                taken[node.default_child] |= lost
            is_left = is_left & ~lost
        taken[child] |= is_left & said.true
        is_left = is_left & ~said.true
    return [(child, place, options) for child, options in taken.items()]


PartedBoxes = tuple[BoolArray, BoolArray, IndexArray, IndexArray]
"""Boxes, which classes they may have, which box each comes from, and the leaf of each."""


def _parted(
    branches: Branches,
    domain: Domain,
    boxes: BoolArray,
    alive: BoolArray,
    leaf_counts: NodeRecords,
    until: Clock,
) -> PartedBoxes | Undetermined:
    """Return boxes parted by the leaves of one tree, without those in which no record can be."""
    done: list[PartedBoxes] = []
    pending, starts = [(0, boxes, np.arange(len(boxes)))], domain.starts
    size = 0
    while pending:
        node, here, origin = pending.pop()
        if not branches[node]:
            allowed = alive[origin] & leaf_counts.may_hold[node]
            kept = np.flatnonzero(allowed.any(axis=1))
            size += len(kept)
            done.append((here[kept], allowed[kept], origin[kept], np.full(len(kept), node)))
            if size > MOST_BOXES:
                return TOO_MANY
            continue
        if until.is_over:
            return NO_TIME
        for child, place, options in branches[node]:
            at = slice(starts[place], starts[place] + len(options))
            is_there = (here[:, at] & options).any(axis=1)
            part = here[is_there].copy()
            part[:, at] &= options
            pending.append((child, part, origin[is_there]))
    return (
        np.concatenate([each[0] for each in done]),
        np.concatenate([each[1] for each in done]),
        np.concatenate([each[2] for each in done]),
        np.concatenate([each[3] for each in done]),
    )


HALF_WAY = (
    "each threshold lies half way between the values of two records of its node, as the learner "
    "that the file names makes it"
)
BEST_SPLITS = (
    "each split was the best of all that the settings in the file allow, and no leaf could be split"
)
SAMPLED = Undetermined(
    "each tree used, or may have used, an unknown sample of the records, so its counts are "
    "not numbers of records"
)
BOUNDED = Undetermined(
    "its learner moved shares of classes to keep them in order (monotonic_cst), so its class "
    "counts need not be numbers of records"
)
NO_COUNTS = Undetermined("the file contains no class counts of leaves")
NOT_REBUILT = Undetermined("proofs of whole records from the file alone were not searched for")


MOST_PAIRS = 50_000_000
"""So many pairs of groups of people and cells are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class CellProofs:
    """Of C cells of a domain the ``options`` that each has, (C, K), and at most how many records by class, (C, m)."""

    domain: Domain
    options: BoolArray
    high: IntArray

    def most_others(self, columns: Mapping[str, Column], groups: int) -> IntArray | None:
        """Return how many records of other classes may share the known values of groups of people, (G, m).

        ``columns`` hold a value of each known column for each group. Of a value at the edge of two options both count.
        None where there are too many groups and cells to compare.
        """
        if groups * max(len(self.options), 1) > MOST_PAIRS:
            return None
        is_alike = np.ones((groups, len(self.options)), dtype=bool)
        parts = np.split(self.options, self.domain.starts[1:], axis=1)
        for factor, part in zip(self.domain.factors, parts, strict=True):
            known = np.ones((groups, factor.options), dtype=bool)
            for name, options in factor.columns.items():
                if name in columns:
                    known &= options.options_of(columns[name])
            is_alike &= (known.astype(np.float32) @ part.T.astype(np.float32)) > 0
        by_class = is_alike @ self.high.astype(np.float64)
        others = by_class.sum(axis=1, keepdims=True) - by_class
        return np.asarray(np.rint(others), dtype=np.int64)


def join_by_group(groups: IntArray, numbers: IntArray, size: int) -> IntArray:
    """Return the sums of numbers, (P,) or (P, m), by group, (size,) or (size, m)."""
    found = np.zeros((size, *numbers.shape[1:]), dtype=np.int64)
    np.add.at(found, groups, numbers)
    return found


MOST_VALUES = 1_500
"""Points of the domain, of all values: of more the solver of single values decides little."""


def may_search_values(trees: Sequence[Tree], domain: Domain, sizes: FloatArray) -> bool:
    """Whether single values may be proved within cells of such sizes, (C,).

    Some cell then holds several, the domain is small, and the file says what decides the splits of all trees but
    weights.
    """
    is_small = domain.points <= MOST_VALUES and bool((sizes != 1).any())
    return is_small and all(map(_says_learner, trees))


def _says_learner(tree: Tree) -> bool:
    """Whether the file says all that decides the splits of a tree, apart from weights of single records."""
    learner = tree.learner
    is_plain = tree.format in ROWS_BESIDE_WEIGHTS and tree.quality is Quality.EXACT
    is_told = learner.tool is Tool.SCIKIT_LEARN and not learner.unmodelled and not learner.saw_noise
    columns = all(feature.numeric and feature.single for feature in tree.features)
    return bool(is_plain and is_told and columns and tree.classes)
