"""Records of single values: what the rules of a learner tell within cells, by an exact search over a small domain.

Counts never tell apart the values of a cell (docs/engineering/reconstruction.md, theorem 3). How scikit-learn grows a
tree does (``learner_rules``). Here a number of records is asked of each point of the domain. A table that the solver
proposes is held against the rules, and each one that it breaks is added to the programme, so that most are never
written down. The work is counted, not the time, so that the same is proved on any machine, with a table or without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables.proofs import Untyped, solved, solver_module
from treewarden.audit.membership.cuts import SINGLE_SLACK
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock, work_clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    MOST_VALUES,
    DomainCells,
    NodeRecords,
    columns_of_points,
    find_cells,
    join_by_group,
)
from treewarden.audit.reconstruction.domain import ColumnOptions, DeclaredDomain, Domain, Factor
from treewarden.audit.reconstruction.learner_rules import SECONDS_A_SIDE, LearnerRules
from treewarden.audit.reconstruction.people_rows import (
    PeopleRows,
    ValueRows,
    WrongProofError,
    is_sampled,
)
from treewarden.audit.reconstruction.problem import (
    CellRows,
    read_counts,
    read_thresholds,
    rows_of,
)
from treewarden.audit.reconstruction.proved import (
    OpenPart,
    PartState,
    ProvedCounts,
    prove_counts,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tables.routing import Router
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import Tree

WORK_SECONDS = 2.0
"""Of work, counted, that a search takes at most."""
SECONDS_A_NODE = 1e-4
FEATURE_THRESHOLD = 1e-7
"""scikit-learn makes no threshold between values that are no further apart (``sklearn/tree/_splitter.pyx``)."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleValues:
    """What is proved of P points of the domain: how many records have its values, by class, (P, m) in ``counts``.

    ``cell`` (P,) is the cell of each point, as counts tell cells apart, and ``points`` are the points as cells.
    """

    points: DomainCells
    cell: IndexArray
    counts: ProvedCounts

    def by_cell(self, cells: int) -> IntArray:
        """Return how many records of single values are proved in each cell, (C,)."""
        return join_by_group(self.cell, self.counts.low.sum(axis=1), cells)


@dataclass(frozen=True, slots=True, eq=False)
class ValueRules:
    """What a table must obey to give the file: ``rows`` over records of points by class, and ``rules`` of the learner.

    ``cell`` (P,) is the cell of each of the ``points``; ``seconds`` of work are left for a search.
    """

    points: DomainCells
    cell: IndexArray
    rows: CellRows
    rules: LearnerRules
    seconds: float

    def fits(self, table: IntArray) -> bool:
        """Whether a table, numbers of records by point and class (P, m), obeys them all."""
        return self.rows.fits(table) and not self.rules.broken(table)

    def prove(self, until: Clock) -> SingleValues:
        """Return what they prove.

        Raises:
            ContradictionError: no table obeys them.
        """
        counts = prove_counts(
            self.rows,
            self.points.sizes,
            work_clock(self.seconds, until.left),
            lambda part, low: _RuledPart(part, low, self.rules),
        )
        return SingleValues(self.points, self.cell, counts)


def prove_single_values(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
    until: Clock,
) -> SingleValues | None:
    """Return what the rules of scikit-learn prove of single values; None where they are not known, or nothing more.

    Nothing is proved either where no table obeys them: then the trees were grown in another way.
    """
    value_rules = read_value_rules(trees, leaves, cells, declared, until)
    try:
        return None if value_rules is None else value_rules.prove(until)
    except ContradictionError:
        return None


def read_value_rules(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
    until: Clock,
) -> ValueRules | None:
    """Return what a table must obey to give the file; None where that is not known, too much, or beyond any table."""
    domain = _single_domain(cells.domain, trees, declared)
    seconds = WORK_SECONDS - SECONDS_A_NODE * sum(len(tree.nodes) for tree in trees)
    if domain is None or domain.points > MOST_VALUES or seconds <= 0:
        return None
    points = _points_of(trees, leaves, domain)
    rules = LearnerRules.of_trees(trees, leaves, points)
    if rules is None:
        return None
    try:
        thresholds = read_thresholds(trees, leaves, points, declared, until)
        rows = rows_of(trees, leaves, points, thresholds)
    except ContradictionError:
        return None
    if isinstance(rows, Undetermined):
        return None
    place_of = {stops: place for place, stops in enumerate(map(tuple, cells.stops.T.tolist()))}
    cell = [place_of[tuple(stops)] for stops in points.stops.T.tolist()]
    return ValueRules(points, np.array(cell, dtype=np.intp), rows, rules, seconds)


def _single_domain(
    domain: Domain, trees: Sequence[Tree], declared: DeclaredDomain
) -> Domain | None:
    """Return the domain with an option for each value; None where some column may have values that nobody listed."""
    factors = []
    for factor in domain.factors:
        if len(factor.columns) > 1:
            factors.append(factor)
            continue
        name = next(iter(factor.columns))
        column = declared.columns.get(name)
        if column is None or column.values is None or column.may_be_missing:
            return None
        numbers = np.array(sorted({float(value) for value in column.values}))
        seen = numbers.astype(np.float32).astype(np.float64)
        gaps = np.diff(seen)
        least = 32 * SINGLE_SLACK * np.abs(seen).max()
        if (gaps <= max(least, 2 * FEATURE_THRESHOLD)).any():
            return None
        ones = np.ones(len(seen))
        factors.append(Factor({name: ColumnOptions(NumericColumn(seen), ones, numbers, numbers)}))
    return Domain(tuple(factors))


def _points_of(trees: Sequence[Tree], leaves: Sequence[NodeRecords], domain: Domain) -> DomainCells:
    """Return the points of a domain in which some record may be, each as a cell of its own."""
    points = np.arange(domain.points, dtype=np.int64)
    router = Router(columns_of_points(domain, points))
    stops = np.stack([router.routed(tree)[0] for tree in trees])
    alive = np.ones((len(points), leaves[0].counts.shape[1]), dtype=bool)
    for stop, tree_leaves in zip(stops, leaves, strict=True):
        alive &= tree_leaves.may_hold[np.maximum(stop, 0)] & (stop >= 0)[:, None]
    there = np.flatnonzero(alive.any(axis=1))
    codes = np.unravel_index(points[there], domain.shape)
    options = np.zeros((len(there), sum(domain.shape)), dtype=bool)
    for start, code in zip(domain.starts, codes, strict=True):
        options[np.arange(len(there)), start + code] = True
    return DomainCells(domain, stops[:, there], alive[there], options, np.ones(len(there)))


MOST_PROPOSED = 200
"""Tables of one part that the solver may propose, so that rules that leave very many come to an end."""


class _RuledPart(PartState):
    """A part with rules that are written down once a proposed table breaks them."""

    most_tables = 4

    def __init__(self, part: OpenPart, fixed: IntArray, rules: LearnerRules) -> None:
        """``fixed`` (P m,) are the numbers that are not open, of points and classes taken flat."""
        super().__init__(part)
        self.fixed, self.rules = fixed, rules
        self.written: dict[tuple[str, int], None] = {}
        self.proposed = 0
        self.unpaid = 0.0
        """Seconds of work that no clock was told of."""

    @property
    def may_rise(self) -> BoolArray:
        """No number: only what every table has is asked for."""
        return np.zeros(len(self.high), dtype=bool)

    def model(self) -> tuple[Untyped, list[Untyped]]:
        model, numbers = super().model()
        for rule in self.written:
            self._add(model, rule, self._every(numbers))
        return model, numbers

    def _add(self, model: Untyped, rule: tuple[str, int], every: list[Untyped]) -> bool:
        self.unpaid += self.rules.seconds_to_add(rule)
        return self.rules.add_to(model, rule, every)

    def _every(self, numbers: list[Untyped]) -> list[Untyped]:
        every: list[Untyped] = self.fixed.tolist()
        for place, number in zip(self.part.places.tolist(), numbers, strict=True):
            every[place] = number
        return every

    def answer(
        self, model: Untyped, numbers: list[Untyped], units: float, until: Clock
    ) -> tuple[int, IntArray | None]:
        """Return a table that breaks no rule; a status without one where its rules are too large, or too many."""
        while self.proposed < MOST_PROPOSED and not until.is_over:
            self.proposed += 1
            until.spend(self.unpaid + SECONDS_A_SIDE * self.rules.left.size)
            self.unpaid = 0.0
            status, found = solved(model, numbers, units, until)
            if status == solver_module().INFEASIBLE:
                # A proof is asked for twice: presolve was seen to be wrong about tables of what is forbidden.
                status, found = solved(model, numbers, units, until, presolves=False)
            broken = [] if found is None else self.rules.broken(self._table(found))
            if not broken:
                return status, found
            every = self._every(numbers)
            new = [rule for rule in broken if self._add(model, rule, every)]
            if not new:
                break
            self.written |= dict.fromkeys(new)
        return solver_module().UNKNOWN, None

    def _table(self, numbers: IntArray) -> IntArray:
        table = self.fixed.copy()
        table[self.part.places] = numbers
        return table.reshape(-1, self.rules.whole.shape[1])


# What is proved of the people of a table.


def prove_value_rows(
    forest: Forest,
    population: Population,
    domain: Domain,
    rows: PeopleRows,
    declared: DeclaredDomain,
    until: Clock,
) -> ValueRows | None:
    """Return which rows of people the rules of scikit-learn prove; None where these, or their values, are not known.

    Nothing is proved either where the table breaks a rule: then it is another one, or the trees were grown in another
    way. The search knows nothing of the table, which it is held against afterwards.

    Raises:
        WrongProofError: a proof is wrong.
    """
    trees = forest.trees
    if not _counts_everybody(forest.model, trees):
        return None
    leaves = read_counts(trees)
    if isinstance(leaves, Undetermined):
        return None
    cells = find_cells(trees, leaves, domain, until)
    if isinstance(cells, Undetermined):
        return None
    value_rules = read_value_rules(trees, leaves, cells, declared, until)
    place = (
        None if value_rules is None else _places_of(value_rules.points, forest, population, rows)
    )
    if value_rules is None or place is None:
        return None
    table = np.zeros_like(value_rules.rows.most)
    code = rows.coordinates[:, 0]
    np.add.at(table, (place, code), rows.people)
    if not value_rules.fits(table):
        return None
    try:
        counts = value_rules.prove(until).counts
    except ContradictionError as contradiction:
        raise WrongProofError(NO_OWN_TABLE) from contradiction
    if (counts.low > table).any() or (counts.high < table).any():
        raise WrongProofError("a record is proved that the table does not have")
    return ValueRows(
        cell=rows.cell,
        proved=counts.low[place, code],
        sharing=rows.sharing,
        profile=rows.profile,
        tables=counts.filled,
    )


def _counts_everybody(model: Model, trees: Sequence[Tree]) -> bool:
    """Whether all trees count all records by the classes of the model, and nothing else is in it."""
    if isinstance(model, Ensemble):
        has_others = next(iter(model.others), None) is not None
        if model.growth is not None or has_others or is_sampled(model):
            return False
    return all(tree.classes == model.classes for tree in trees)


NO_OWN_TABLE = "no table is found to give the file, and the owner's table does"


def _places_of(
    points: DomainCells, forest: Forest, population: Population, rows: PeopleRows
) -> IndexArray | None:
    """Return the point of each row of people, (R,); None where some row has none of its own, or stops elsewhere."""
    codes = []
    for factor in points.domain.factors:
        fits = np.ones((len(rows.profile), factor.options), dtype=bool)
        for name, options in factor.columns.items():
            if name not in population.columns:
                return None
            fits &= options.options_of(population.columns[name].take(rows.profile))
        if (fits.sum(axis=1) != 1).any():
            return None
        codes.append(fits.argmax(axis=1))
    number = np.ravel_multi_index(codes, points.domain.shape)
    each = np.ravel_multi_index([*points.only_option().T], points.domain.shape)
    place = np.minimum(np.searchsorted(each, number), len(each) - 1)
    is_there = (each[place] == number).all()
    is_own = len(np.unique(place * points.alive.shape[1] + rows.coordinates[:, 0])) == len(place)
    goes_there = is_there and (points.stops[:, place] == forest.stops[:, rows.profile]).all()
    return place if is_own and goes_there else None
