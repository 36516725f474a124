"""What scikit-learn's trees tell of single values beside counts: rules that a table must obey to give the same file.

A threshold lies half way between two neighbouring values of its node. Where a tree compared all columns, no split that
it could have chosen was better than the chosen one, and a leaf that may be split has no such split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.consistent_tables.facts.exact import SLACK_SHARE
from treewarden.audit.consistent_tables.facts.splits import ROUNDING
from treewarden.audit.consistent_tables.proofs import Untyped
from treewarden.audit.facts.impurity_rows import branch_impurity
from treewarden.audit.membership.cuts import CutRule, plain_threshold
from treewarden.audit.membership.learners import cuts_of
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.reconstruction.cells import DomainCells, NodeRecords, compares_all
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.tree import Criterion, Tree

MOST_HELD = 2**25
"""So many entries have the candidates of all nodes, a byte each."""
MOST_TUPLES = 20_000
"""A candidate of a node with more combinations of counts is not written down."""
MOST_ADDED = 12
"""So many candidates that a table breaks are written down at once, the best ones."""
SECONDS_A_SIDE = 2e-8
"""For each point of a candidate that a table is held against."""
SECONDS_A_TUPLE = 1.5e-6
AT_ONCE = 2**20
"""So many points of candidates are added up at once."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """A threshold of a node: the points that have each value of its column there, (V, P), and pairs that make it."""

    held: BoolArray
    middle: int
    pairs: tuple[tuple[int, int], ...]

    def is_broken(self, records: IntArray) -> bool:
        """Whether the records of points, (P,), do not make the threshold."""
        there = np.flatnonzero(self.held @ records)
        below, above = there[there < self.middle], there[there >= self.middle]
        return not len(below) or not len(above) or (below[-1], above[0]) not in self.pairs

    def add_to(self, model: Untyped, totals: Sequence[Untyped]) -> None:
        """Say that the two neighbouring values of some pair are there."""
        chosen = []
        for below, above in self.pairs:
            is_pair = model.new_bool_var("")
            for value in (below, above):
                some = [totals[point] for point in np.flatnonzero(self.held[value]).tolist()]
                model.add(sum(some) >= 1).only_enforce_if(is_pair)
            between = np.flatnonzero(self.held[below + 1 : above].any(axis=0)).tolist()
            if between:
                model.add(sum(totals[point] for point in between) == 0).only_enforce_if(is_pair)
            chosen.append(is_pair)
        model.add_bool_or(chosen)


@dataclass(frozen=True, slots=True, eq=False)
class LearnerRules:
    """What scikit-learn's trees tell of single values, beside counts.

    Of R candidates of inner nodes: the points on the ``left`` (R, P), the records of the node by class ``whole``
    (R, m), the impurity after the chosen split ``chosen`` (R,), and the least records of a side. Of S candidates of
    leaves that may be split, ``stopped`` (S, P), the records of the leaf ``sizes`` (S,), and how many a side needs.
    """

    criterion: Criterion
    left: BoolArray
    whole: FloatArray
    chosen: FloatArray
    smallest: IntArray
    stopped: BoolArray
    sizes: IntArray
    needed: IntArray
    cuts: tuple[_Cut, ...]

    @classmethod
    def of_trees(
        cls, trees: Sequence[Tree], leaves: Sequence[NodeRecords], points: DomainCells
    ) -> LearnerRules | None:
        """Return the rules of trees of one criterion; None where there are several or too many, or a cut fits none."""
        criteria = {
            tree.learner.criterion or Criterion.GINI for tree in trees if compares_all(tree)
        }
        if len(criteria) > 1:
            return None
        criterion = next(iter(criteria), Criterion.GINI)
        values = _values_of(points)
        width = sum(int(codes.max(initial=0)) for _, codes in values.values())
        nodes = sum(len(tree.nodes) for tree in trees)
        if nodes * max(width, 1) * len(points.options) > MOST_HELD:
            return None
        candidates: list[tuple[BoolArray, FloatArray, float, int]] = []
        stopped: list[tuple[BoolArray, int, int]] = []
        cuts: list[_Cut] = []
        for number, (tree, counts) in enumerate(zip(trees, leaves, strict=True)):
            groups = NodeGroups(tree, points.stops[number])
            for node in range(len(tree.nodes)):
                here = np.zeros(len(points.options), dtype=bool)
                here[groups.at(node)] = True
                children = groups.children[node]
                if children:
                    cut = _cut_of(tree, children, here, values)
                    if cut is None:
                        return None
                    if len(cut.held) > 2:  # of two values a cut says what counts do
                        cuts.append(cut)
                    after = branch_impurity(criterion, counts.counts[list(children)]).sum()
                    if after <= 0 or not compares_all(tree):
                        continue
                    whole, least = counts.counts[node], tree.learner.min_leaf_records
                    candidates += [(side, whole, after, least) for side in _sides(here, values)]
                elif (needed := _splittable(tree, counts, node)) is not None:
                    size = int(counts.counts[node].sum())
                    stopped += [(side, size, needed) for side in _sides(here, values)]
        if not (candidates or stopped or cuts):
            return None
        shape = (0, len(points.options))
        return cls(
            criterion=criterion,
            left=np.array([one[0] for one in candidates], dtype=bool).reshape(-1, shape[1]),
            whole=np.array([one[1] for one in candidates]).reshape(-1, len(trees[0].classes)),
            chosen=np.array([one[2] for one in candidates]),
            smallest=np.array([one[3] for one in candidates], dtype=np.int64),
            stopped=np.array([one[0] for one in stopped], dtype=bool).reshape(-1, shape[1]),
            sizes=np.array([one[1] for one in stopped], dtype=np.int64),
            needed=np.array([one[2] for one in stopped], dtype=np.int64),
            cuts=tuple(cuts),
        )

    def broken(self, table: IntArray) -> list[tuple[str, int]]:
        """Return which rules a table (P, m) breaks: a kind and a number of each, the worst ones first."""
        left = _sums_of(self.left, table)
        over = self._excess(left, self.whole, self.chosen, self.smallest)
        worst = np.argsort(-over, kind="stable")[:MOST_ADDED]
        found = [("split", int(one)) for one in worst if over[one] > 0]
        records = table.sum(axis=1)
        side = _sums_of(self.stopped, records)
        is_split = (side >= self.needed) & (self.sizes - side >= self.needed)
        found += [("stop", int(one)) for one in np.flatnonzero(is_split)[:MOST_ADDED]]
        found += [("cut", n) for n, cut in enumerate(self.cuts) if cut.is_broken(records)]
        return found

    def seconds_to_add(self, rule: tuple[str, int]) -> float:
        """Return how much work it is to write a rule down."""
        kind, place = rule
        if kind != "split":
            return SECONDS_A_SIDE * float(self.left.shape[1])
        counts: list[float] = (self.whole[place] + 1).tolist()
        return SECONDS_A_TUPLE * min(math.prod(counts), MOST_TUPLES)

    def _excess(
        self,
        left: FloatArray,
        whole: FloatArray,
        chosen: FloatArray | float,
        smallest: IntArray | int,
    ) -> FloatArray:
        """Return by how much candidates with so many records on the left are surely better than the chosen splits."""
        right = whole - left
        branches = np.stack([left, right], axis=-2)
        sizes = branches.sum(axis=-1)
        after = branch_impurity(self.criterion, branches).sum(axis=-1)
        doubt = (float(SLACK_SHARE) + 64 * ROUNDING) * sizes.sum(axis=-1)
        is_allowed = (sizes >= np.asarray(smallest)[..., None]).all(axis=-1) & (right >= 0).all(-1)
        return np.where(is_allowed, chosen - after - doubt, -1.0)

    def add_to(self, model: Untyped, rule: tuple[str, int], numbers: Sequence[Untyped]) -> bool:
        """Write a rule down over the ``numbers`` of records by point and class, flat; False where it is too large."""
        kind, place = rule
        classes = self.whole.shape[1]
        if kind == "split":
            return self._add_split(model, place, numbers)
        totals = [
            sum(numbers[start : start + classes]) for start in range(0, len(numbers), classes)
        ]
        if kind == "cut":
            self.cuts[place].add_to(model, totals)
            return True
        side = sum(totals[point] for point in np.flatnonzero(self.stopped[place]).tolist())
        is_left = model.new_bool_var("")
        needed, size = int(self.needed[place]), int(self.sizes[place])
        model.add(side <= needed - 1).only_enforce_if(is_left)
        model.add(side >= size - needed + 1).only_enforce_if(is_left.negated())
        return True

    def _add_split(self, model: Untyped, place: int, numbers: Sequence[Untyped]) -> bool:
        whole, most = self.whole[place], self.whole[place].astype(np.int64).tolist()
        if math.prod(n + 1 for n in most) > MOST_TUPLES:
            return False
        every = np.indices([n + 1 for n in most]).reshape(len(most), -1).T
        over = self._excess(
            every.astype(np.float64), whole, float(self.chosen[place]), int(self.smallest[place])
        )
        points = np.flatnonzero(self.left[place]).tolist()
        sums = []
        for code, number in enumerate(most):
            here = [numbers[point * len(most) + code] for point in points]
            total = model.new_int_var(0, number, "")
            model.add(total == sum(here))
            sums.append(total)
        # Not the forbidden ones: the presolve of OR-Tools 9.15 then finds feasible programmes infeasible.
        model.add_allowed_assignments(sums, every[over <= 0].tolist())
        return True


def _sums_of(sides: BoolArray, numbers: IntArray) -> FloatArray:
    """Return how many records of points, (P,) or (P, m), are on each side, (R, P); exact below 2^53."""
    step = max(1, AT_ONCE // max(sides.shape[1], 1))
    every = numbers.astype(np.float64)
    parts = [sides[at : at + step].astype(np.float64) @ every for at in range(0, len(sides), step)]
    return np.concatenate([np.zeros((0, *numbers.shape[1:])), *parts])


Values = Mapping[str, tuple[FloatArray, IndexArray]]
"""By column, its values in order, and which of them each point has."""


def _values_of(points: DomainCells) -> Values:
    found = {}
    parts = np.split(points.options, points.domain.starts[1:], axis=1)
    for factor, part in zip(points.domain.factors, parts, strict=True):
        option = part.argmax(axis=1)
        for name, options in factor.columns.items():
            assert isinstance(options.samples, NumericColumn)
            found[name] = np.unique(options.samples.numbers[option], return_inverse=True)
    return found


def _sides(here: BoolArray, values: Values) -> Iterator[BoolArray]:
    """Yield the points on the left of each candidate of a node that holds the points ``here``; each set once."""
    seen: set[bytes] = set()
    for _, codes in values.values():
        for end in np.unique(codes[here])[:-1].tolist():
            side = here & (codes <= end)
            if side.tobytes() not in seen:
                seen.add(side.tobytes())
                yield side


def _cut_of(tree: Tree, children: Sequence[int], here: BoolArray, values: Values) -> _Cut | None:
    """Return the threshold of a node; None where no two of the possible values make it."""
    cut, learner = (
        plain_threshold([tree.nodes[child].test for child in children]),
        cuts_of(tree.learner),
    )
    if cut is None or learner is None or not cut.is_closed or cut.feature not in values:
        return None
    numbers, codes = values[cut.feature]
    middle = int(np.searchsorted(numbers, cut.threshold, side="right"))
    below, above = (
        each.reshape(-1)
        for each in np.meshgrid(np.arange(middle), np.arange(middle, len(numbers)), indexing="ij")
    )
    is_made = CutRule(learner).may_make(numbers[below], numbers[above], cut.threshold)
    pairs = tuple(zip(below[is_made].tolist(), above[is_made].tolist(), strict=True))
    held = (codes[None, :] == np.arange(len(numbers))[:, None]) & here
    return _Cut(held, middle, pairs) if pairs else None


def _splittable(tree: Tree, counts: NodeRecords, node: int) -> int | None:
    """Return how many records each side needs where a leaf was to be split if it could be; None where it was not."""
    stopping, least = tree.learner.stopping, tree.learner.min_leaf_records
    held = counts.counts[node]
    if stopping is None or not compares_all(tree) or (held > 0).sum() < 2:
        return None
    if stopping.max_leaves is not None or stopping.min_impurity_decrease or stopping.pruning_alpha:
        return None
    depth, parents, above = 0, parents_of(tree.nodes), node
    while above:
        above, depth = int(parents[above]), depth + 1
    is_deepest = stopping.max_depth is not None and depth >= stopping.max_depth
    is_small = held.sum() < max(stopping.min_split_records, 2 * least)
    return None if is_deepest or is_small else least
