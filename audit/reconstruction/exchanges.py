"""Rows that no choice of splits proves: an exchange of values makes another table, of which the same trees are grown.

People of two classes in one cell stop in the same leaf of every tree. Where as many of them as have a row take its
value of one factor, and give it theirs, nobody has the row, and every node keeps its records, its classes and the
values that are there. What changes is the impurity of cuts between the two values. As long as each of these stays worse
than the split that was chosen there, scikit-learn grows the same trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from treewarden.audit.consistent_tables.facts.exact import SLACK_SHARE
from treewarden.audit.consistent_tables.facts.splits import ROUNDING
from treewarden.audit.facts.impurity_rows import branch_impurity
from treewarden.audit.membership.learners import surely_apart
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.population.population import Population
from treewarden.audit.reconstruction.domain import Domain
from treewarden.audit.reconstruction.people_rows import PeopleRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion

MOST_CHECKS, MOST_IN_VAIN = 60_000, 10_000
"""So many nodes are looked at for exchanges, of all rows together, and so many before the first exchange."""
MOST_COUNTED = 8_000_000
"""And so many rows are counted for the nodes' cuts."""
PARTNER_VALUES = 4
"""Values of a factor that are tried in a row's place, the nearest ones."""


Partners = tuple[tuple[int, int], ...]
"""Rows of people with how many of them take part."""
_Move = tuple[int, int, FloatArray]
"""Between two places of a column's values, which records (m,) come to the left of a cut."""


class Exchange(NamedTuple):
    """All people of a row exchange their values of a factor, one of the domain, with partners of their cell."""

    row: int
    factor: int
    partners: Partners


def find_exchanges(
    forest: Forest,
    population: Population,
    domain: Domain,
    rows: PeopleRows,
    is_open: BoolArray,
) -> list[Exchange]:
    """Return an exchange across classes after which each of some open rows of people, ``is_open`` (R,), is surely gone.

    It is known how all trees were grown (``tells_choices``). Rows that few people share come first, as there may be too
    many to look at.
    """
    exchanges = _CellExchanges(forest, population, domain, rows)
    waiting = np.flatnonzero(is_open)
    found = []
    for row in waiting[np.argsort(rows.sharing[waiting], kind="stable")].tolist():
        if exchanges.is_spent:
            break
        found += exchanges.of_row(row)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """The cuts between the V values that a node has of one column, as places of all its values: ``places`` (V,).

    ``left`` (V-1, m) is how many records of each class a cut has on its left, and ``whole`` (m,) how many the node has.
    ``limit`` is the impurity that every cut has to stay above, or one for each, (V-1,).
    """

    places: IntArray
    left: FloatArray
    whole: FloatArray
    limit: float | FloatArray = 0.0

    def after(self, criterion: Criterion) -> FloatArray:
        """Return the impurity after each cut, (V-1,)."""
        sides = np.stack([self.left, self.whole - self.left], axis=-2)
        return np.asarray(branch_impurity(criterion, sides).sum(axis=-1))

    def bear(self, criterion: Criterion, moves: Sequence[_Move]) -> bool:
        """Whether all cuts whose sides change stay worse after such moves."""
        change = np.zeros_like(self.left)
        for low, high, records in moves:
            first, last = np.searchsorted(self.places, (low, high))
            change[first:last] += records
        is_after = change.any(axis=1)
        limit = self.limit if isinstance(self.limit, float) else self.limit[is_after]
        changed = replace(self, left=self.left[is_after] + change[is_after])
        return bool((changed.after(criterion) > limit).all())


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks:
    """The place of each row's value, (R,), among the ``values`` of a column, as the learner compares them, (V,)."""

    place: IntArray
    values: FloatArray


def _ranks(
    forest: Forest, population: Population, names: Iterable[str], rows: PeopleRows
) -> tuple[_Ranks, ...]:
    """Return the ranks of the columns of a factor; none where one of them is not compared as the table has it.

    Steps before a tree of scikit-learn may change numbers, or ask whether they are some value.
    """
    is_single = all(tree.learner.tool is Tool.SCIKIT_LEARN for tree in forest.trees)
    plain = {
        each.name
        for each in forest.model.features
        if each.numeric and not each.treatments and each.single == is_single
    }
    found = []
    for name in names:
        column = population.columns.get(name)
        if not isinstance(column, NumericColumn) or column.missing.any() or name not in plain:
            return ()
        numbers = column.numbers[rows.profile]
        if is_single:
            numbers = numbers.astype(np.float32).astype(np.float64)
        values, place = np.unique(numbers, return_inverse=True)
        found.append(_Ranks(place.reshape(-1), values))
    return tuple(found)


def _people_in(partners: Partners) -> int:
    return sum(many for _, many in partners)


def _groups_of(cell: IntArray) -> list[IndexArray]:
    """Return which rows are in each cell."""
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.cumsum(np.bincount(cell))[:-1])


class _CellExchanges:
    """What exchanges of one factor between people of a cell do to the cuts of all nodes above it."""

    def __init__(
        self, forest: Forest, population: Population, domain: Domain, rows: PeopleRows
    ) -> None:
        self.trees, self.rows = forest.trees, rows
        self.classes = int(rows.coordinates[:, 0].max()) + 1
        self.stops = forest.stops[:, rows.profile]
        self.groups = [
            NodeGroups(tree, stops) for tree, stops in zip(forest.trees, self.stops, strict=True)
        ]
        self.ranks = [_ranks(forest, population, each.columns, rows) for each in domain.factors]
        self.checks = self.counted = 0
        self._is_any = False
        self._cuts: dict[tuple[int, int, int, int], _Cuts | None] = {}
        self._answers: dict[object, bool] = {}
        self._of_cell = _groups_of(rows.cell)

    @property
    def is_spent(self) -> bool:
        """Whether so many nodes were looked at that the rest stays open."""
        most = MOST_CHECKS if self._is_any else MOST_IN_VAIN
        return self.checks >= most or self.counted >= MOST_COUNTED

    def of_row(self, row: int) -> list[Exchange]:
        """Return an exchange of all people of a row after which the trees stay; none where none was found."""
        for factor, ranks in enumerate(self.ranks):
            for partners in self._plans(row, factor) if ranks else ():
                exchange = Exchange(row, factor, partners)
                if self._is_borne(exchange):
                    self._is_any = True
                    return [exchange]
        return []

    def _plans(self, row: int, factor: int) -> Iterator[Partners]:
        """Yield partners of a row: as many of its class as there are, the others from one value or the nearest few."""
        rows, column = self.rows, 1 + factor
        inside = self._of_cell[int(rows.cell[row])]
        coordinates, own = rows.coordinates[inside], rows.coordinates[row]
        is_other, is_same = coordinates[:, column] != own[column], coordinates[:, 0] == own[0]
        # One of the class that differs in this factor alone would have the row afterwards.
        differs = (np.delete(coordinates != own, [0, column], axis=1)).any(axis=1)
        within = self._take_people(inside[is_other & is_same & differs], int(rows.people[row]))
        needed = int(rows.people[row]) - _people_in(within)
        if not needed:
            yield within
            return
        groups: dict[tuple[int, int], list[int]] = {}
        there = inside[is_other & ~is_same]
        distance = np.abs(rows.coordinates[there, column] - own[column])
        for partner in there[np.argsort(distance, kind="stable")].tolist():
            code, value = int(rows.coordinates[partner, 0]), int(rows.coordinates[partner, column])
            groups.setdefault((code, value), []).append(partner)
        nearest = list(groups.items())[: PARTNER_VALUES * (self.classes - 1)]
        for code in dict.fromkeys(code for (code, _), _ in nearest):
            nearest.append(
                ((code, -1), [one for (c, _), group in nearest if c == code for one in group])
            )
        for _, group in nearest:
            partners = self._take_people(group, needed)
            if _people_in(partners) == needed:
                yield within + partners

    def _take_people(self, rows: Iterable[int], most: int) -> Partners:
        """Return so many people of these rows, the first ones, as far as there are so many."""
        found: Partners = ()
        for row in rows:
            if not most:
                break
            taken = min(most, int(self.rows.people[row]))
            found, most = (*found, (int(row), taken)), most - taken
        return found

    def _is_borne(self, exchange: Exchange) -> bool:
        """Whether all trees stay as they are after an exchange."""
        coordinates, column = self.rows.coordinates, 1 + exchange.factor
        moved: dict[tuple[int, int], int] = {}
        for partner, many in exchange.partners:
            kind = int(coordinates[partner, 0]), int(coordinates[partner, column])
            moved[kind] = moved.get(kind, 0) + many
        row = exchange.row
        own = int(coordinates[row, 0]), int(coordinates[row, column])
        key = (int(self.rows.cell[row]), exchange.factor, own, tuple(sorted(moved.items())))
        if key not in self._answers:
            self._answers[key] = all(
                self._nodes_bear(row, (exchange.factor, place), self._moves(exchange, ranks))
                for place, ranks in enumerate(self.ranks[exchange.factor])
            )
        return self._answers[key]

    def _moves(self, exchange: Exchange, ranks: _Ranks) -> list[_Move]:
        """Return which records come to the left of the cuts of a column."""
        code, own = self.rows.coordinates[exchange.row, 0], int(ranks.place[exchange.row])
        found = []
        for partner, many in exchange.partners:
            theirs, records = int(ranks.place[partner]), np.zeros(self.classes)
            # People of the row leave the left side where theirs is the greater value, and the others come there.
            records[code] -= many
            records[self.rows.coordinates[partner, 0]] += many
            sign = 1.0 if theirs > own else -1.0
            found.append((min(own, theirs), max(own, theirs), sign * records))
        return found

    def _nodes_bear(self, row: int, place: tuple[int, int], moves: Sequence[_Move]) -> bool:
        for number, tree in enumerate(self.trees):
            criterion = tree.learner.criterion
            assert criterion is not None
            stop = int(self.stops[number, row])
            for node in (stop, *self.groups[number].path(stop)):
                self.checks += 1
                cuts = self._cuts_at(number, node, place)
                if cuts is not None and not cuts.bear(criterion, moves):
                    return False
        return True

    def _cuts_at(self, number: int, node: int, place: tuple[int, int]) -> _Cuts | None:
        """Return the cuts of a column at a node with what they have to stay above; None where nothing limits them."""
        key = number, node, *place
        if key not in self._cuts:
            self._cuts[key] = self._new_cuts(number, node, place)
        return self._cuts[key]

    def _new_cuts(self, number: int, node: int, place: tuple[int, int]) -> _Cuts | None:
        tree, groups = self.trees[number], self.groups[number]
        criterion, stopping = tree.learner.criterion, tree.learner.stopping
        assert criterion is not None
        children = groups.children[node]
        gains_count = stopping is not None and (
            stopping.max_leaves is not None or stopping.min_impurity_decrease > 0
        )
        if not children and not gains_count:
            return None  # what its settings of depth and size say of a leaf, no exchange changes
        cuts = self._counted(number, node, place)
        # Some cut of a leaf gained the most, which was too little: no cut may gain more than that.
        limit: float | FloatArray = cuts.after(criterion)
        if children:
            parts = np.array([self._records_at(groups.at(child)) for child in children])
            limit = float(branch_impurity(criterion, parts).sum())
        elif tree.learner.all_features:
            limit = self._best(number, node)
        doubt = (float(SLACK_SHARE) + 64 * ROUNDING) * float(cuts.whole.sum())
        return replace(cuts, limit=limit + doubt)

    def _best(self, number: int, node: int) -> float:
        """Return the least impurity after any cut that the learner may surely make at a node, infinite without one."""
        learner = self.trees[number].learner
        assert learner.criterion is not None
        best = np.inf
        for factor, columns in enumerate(self.ranks):
            for column, ranks in enumerate(columns):
                cuts = self._counted(number, node, (factor, column))
                sizes, values = cuts.left.sum(axis=1), ranks.values[cuts.places]
                least = np.minimum(sizes, cuts.whole.sum() - sizes) >= learner.min_leaf_records
                is_made = least & surely_apart(values[:-1], values[1:])
                after = cuts.after(learner.criterion)[is_made]
                best = min(best, float(after.min(initial=np.inf)))
        return best

    def _counted(self, number: int, node: int, place: tuple[int, int]) -> _Cuts:
        """Return the cuts of a column at a node."""
        here = self.groups[number].at(node)
        self.counted += len(here)
        places, value = np.unique(self.ranks[place[0]][place[1]].place[here], return_inverse=True)
        codes = value.reshape(-1) * self.classes + self.rows.coordinates[here, 0]
        shape = len(places), self.classes
        counts = np.bincount(codes, self.rows.people[here], minlength=len(places) * self.classes)
        every = counts.reshape(shape).cumsum(axis=0)
        return _Cuts(places, every[:-1], every[-1])

    def _records_at(self, here: IndexArray) -> FloatArray:
        codes = self.rows.coordinates[here, 0]
        records = np.zeros(self.classes)
        np.add.at(records, codes, self.rows.people[here])
        return records
