"""What a file proves of the rows of its own table: a check of us, and what policies limit.

What a file counts depends on a record through its cell and class alone. So where a cell holds several values of the
public domain, some table of these counts has none of its records at any one of them: counts prove no row of it, however
its records were drawn. Rows of the other cells are proved where every table has them, which counts decide. What the
places of thresholds tell beyond counts is not worked out: it counts as open, and as shared by the people of the
smallest leaf. What the choice of splits tells is searched in small domains (``single_values``). Elsewhere, and where
that proves nothing, a row counts as open unless its people can swap values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.population.file_only_population import ROWS_BESIDE_WEIGHTS
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    HALF_WAY,
    NO_COUNTS,
    CellProofs,
    join_by_group,
    leaf_options,
    may_search_values,
    multiply_sizes,
)
from treewarden.audit.reconstruction.domain import (
    DeclaredDomain,
    Domain,
    find_domain,
)
from treewarden.audit.reconstruction.people_rows import (
    OpenRows,
    PeopleRows,
    RebuiltPeople,
    ValueRows,
    WrongProofError,
    codes_of_people,
    compares_columns,
    domain_of,
    hides_splits,
    is_sampled,
    rows_of_people,
    tells_choices,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, alike
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.plain_splits import class_counts_of, is_inner
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

if TYPE_CHECKING:
    from treewarden.audit.reconstruction.named_values import NamedValues
    from treewarden.audit.reconstruction.result import Reconstruction

MOST_PLACES = 2**27
"""So many options of people are held at once."""
MOST_OPTIONS = 2**29
"""So many nodes times options of all columns are held, a byte each."""
OF_NUMBERS = Undetermined("proofs of records are not computed for models that predict a number")
WEIGHED = Undetermined("the table has sampling weights, so the file does not count people")
NOBODY = Undetermined("the table holds no people")
OTHER_CLASSES = Undetermined("the values in the table are not the classes of the model")
NO_BOXES = Undetermined("a test of the model uses several columns at once")
NO_LEAF = Undetermined(
    "some people reach no leaf of a tree, so its counts do not include everybody"
)
TOO_LARGE = Undetermined(
    "its trees have too many nodes for the number of different values in the table; with fewer "
    "values (rounded numbers) or a smaller model this may be decided"
)
OTHER_DOMAIN = Undetermined("the table has values that are not in the public domain (--domain)")
OTHER_TABLE = Undetermined("the counts in the file differ from those of the table")
BEYOND_COUNTS = (
    "the search for whole records did not use everything in the file (not the thresholds or the choice of splits), "
    "so more may be provable"
)
BEYOND_VALUES = (
    "the thresholds and the choice of splits prove no more records, as far as a search of limited work tells, but no "
    "other table was shown to give the same file"
)
OTHER_SAMPLES = "its trees are trained on samples whose seeds are in the file, and no other table was searched for"


def rebuild_people(
    forest: Forest,
    population: Population,
    until: Clock,
    declared: DeclaredDomain | None = None,
    training: Mapping[str, float] = MappingProxyType({}),
) -> RebuiltPeople | Undetermined:
    """Return whose whole rows a file proves, to an adversary who knows the public domain.

    Where none is declared, that are the values which the table has in each column. ``training`` are settings of a
    boosted model that its file may withhold and the adversary knows.

    Raises:
        PublicDomainError: what is declared does not fit the model.
        WrongProofError: a proof is wrong.
    """
    reason = _why_not(forest, population)
    if reason is not None:
        return reason
    assert not isinstance(population.truth, Undetermined)
    public = domain_of(population, forest.trees) if declared is None else declared
    domain = find_domain(forest.trees, public)
    if isinstance(domain, Undetermined):
        return domain
    first, cell = alike(list(forest.stops))
    truth = np.rint(population.truth).astype(np.int64)
    by_class = join_by_group(cell, truth, int(cell.max()) + 1)
    regions = _regions(forest, first, by_class, domain)
    if isinstance(regions, Undetermined):
        return regions
    codes = codes_of_people(population, domain)
    named, tied = _named_values(forest, population, domain, codes), regions.tied
    if named is not None:
        tied = np.minimum(tied, named.shared_rows(cell, truth, regions.is_open, regions.is_cut))
    people_rows = rows_of_people(codes, cell, truth)
    open_rows = _open_rows(forest, population, domain, people_rows, regions.is_asked)
    rows, values = (people_rows, open_rows), None
    if may_search_values(forest.trees, domain, regions.sizes):
        values = _value_rows(forest, population, domain, rows, public, until)
    cells = _OwnCells(by_class, regions.sizes == 1, tied, first, open_rows, values)
    is_counted = isinstance(forest.model, Tree) and counts_each_leaf(forest.model)
    if not cells.is_one.any() and not is_counted:
        return cells.rebuilt(np.zeros_like(by_class), by_class)
    if isinstance(forest.model, Tree) and is_counted:
        return _of_leaves(forest.model, forest.stops[0, first], cells, domain)
    from treewarden.audit.reconstruction.boosted import KnownTraining  # both load solvers
    from treewarden.audit.reconstruction.of_model import reconstruct

    known = KnownTraining(training, is_checked=True)
    found = reconstruct(forest.model, until, public, known, seeks_values=False)
    if not isinstance(found, Undetermined) and found.classes and HALF_WAY in found.assumed:
        places = _places(found, forest.stops[:, first])
        if (places < 0).any() or not _fits(found, places, by_class):
            # The table's thresholds were made in another way: counts alone are known.
            found = reconstruct(forest.model, until, public, known, uses_thresholds=False)
    if not isinstance(found, Undetermined) and found.cells.least is not None:
        found = Undetermined(found.counts.left[0])  # people may be in cells that are not listed
    if not isinstance(found, Undetermined) and found.samples:
        return _match_samples(found, forest, population, cells)
    rebuilt = _match_proofs(found, forest.stops[:, first], cells)
    if named is None or isinstance(rebuilt, Undetermined) or isinstance(found, Undetermined):
        return rebuilt
    return _with_named(rebuilt, found, named=named, cells=cells, people=(forest, cell), until=until)


def _why_not(forest: Forest, population: Population) -> Undetermined | None:
    """Return why a file says nothing of these people's rows."""
    if forest.model.task is Task.REGRESSION:
        return OF_NUMBERS
    if population.weight is not None:
        return WEIGHED
    if isinstance(population.truth, Undetermined):
        return population.truth
    if not population.records:
        return NOBODY
    if population.truth.shape[1] != len(forest.model.classes):
        return OTHER_CLASSES
    return NO_LEAF if (forest.stops < 0).any() else None


def _value_rows(
    forest: Forest,
    population: Population,
    domain: Domain,
    rows: tuple[PeopleRows, OpenRows],
    public: DeclaredDomain,
    until: Clock,
) -> ValueRows | None:
    """Return which rows of people the rules of the learner prove; None where there are none that these may prove.

    ``rows`` are all rows of people, and the open ones. Of all others an exchange shows that they are not proved.

    Raises:
        WrongProofError: a proof is wrong.
    """
    people_rows, open_rows = rows
    if not len(open_rows.cell):
        return None
    from treewarden.audit.reconstruction.single_values import prove_value_rows  # loads solvers

    values = prove_value_rows(
        forest, population, domain, rows=people_rows, declared=public, until=until
    )
    if values is not None:
        cells = int(people_rows.cell.max()) + 1
        proved, may_be = (each.in_groups(np.inf, cells) for each in (values, open_rows))
        if (proved > may_be).any():
            raise WrongProofError("a record is proved that an exchange of values takes out")
    return values


def _with_named(
    rebuilt: RebuiltPeople,
    reconstruction: Reconstruction,
    named: NamedValues,
    cells: _OwnCells,
    people: tuple[Forest, IntArray],
    until: Clock,
) -> RebuiltPeople:
    """Return what may be proved of people's rows at most, if some record has each value that the file names.

    ``people`` are the forest and the cell of each profile of them, (P,).
    """
    if not (cells.is_one & (rebuilt.most < rebuilt.people)).any() or not reconstruction.classes:
        return rebuilt
    from treewarden.audit.reconstruction.named_values import CellPlaces, show_named

    forest, cell = people
    places = _places(reconstruction, forest.stops[:, cells.first])
    shown = show_named(
        reconstruction, forest, named, CellPlaces(cell, places, cells.by_class), until
    )
    least = cells.by_class if shown is None else shown[places]
    most = np.minimum(least, cells.by_class).sum(axis=1)
    return replace(rebuilt, most=np.where(cells.is_one, np.maximum(rebuilt.most, most), 0))


def _named_values(
    forest: Forest, population: Population, domain: Domain, codes: IntArray
) -> NamedValues | None:
    """Return which values of people, by their codes (P, F), the file names; None where it names none."""
    parts = {id(tree.features): tree.features for tree in forest.trees}.values()
    if all(each.numeric and not each.treatments for part in parts for each in part):
        return None
    from treewarden.audit.reconstruction.named_values import named_values  # loads SciPy

    return named_values(forest, population, domain, codes)


def _open_rows(
    forest: Forest, population: Population, domain: Domain, rows: PeopleRows, is_asked: BoolArray
) -> OpenRows:
    """Return the rows of people that the choice of splits may prove.

    It tells nothing of a row whose people can exchange a value with others of their cell: of their class, as long as no
    leaf hides splits that were pruned, or of another, as long as no split becomes better than the chosen one. Where
    trees drew samples, no exchange leaves all of them as they are. A learner that drew columns compared all splits of
    the chosen one, which says nothing of a column that no test asks about on the way to a cell; in others,
    ``is_asked`` (Z,).
    """
    may_tell = (
        np.ones(len(rows.cell), dtype=bool) if compares_columns(forest) else is_asked[rows.cell]
    )
    if not is_sampled(forest.model):
        may_tell &= ~rows.can_swap(is_within_class=True) | hides_splits(forest, rows)
        if may_tell.any() and all(map(tells_choices, forest.trees)):
            from treewarden.audit.reconstruction.exchanges import find_exchanges

            found = find_exchanges(forest, population, domain, rows, may_tell)
            may_tell[[exchange.row for exchange in found]] = False
    return OpenRows(rows.cell[may_tell], rows.people[may_tell], rows.sharing[may_tell])


@dataclass(frozen=True, slots=True, eq=False)
class _Regions:
    """Of Z cells of people: how many values of the domain each holds (``sizes``), and ``tied``.

    That is how many people share what may tell of a whole row there beside counts: the smallest leaf of theirs, or the
    cell if its columns are all cut; 0 in a leaf of one class whose columns are all cut. ``is_open`` (Z, F) says which
    factors have several values left, and ``is_cut`` of which of these some cut limits the numbers. ``is_asked`` (Z,)
    says that some test limits each open column.
    """

    sizes: FloatArray
    tied: IntArray
    is_open: BoolArray
    is_cut: BoolArray
    is_asked: BoolArray


def _regions(
    forest: Forest, first: IndexArray, by_class: IntArray, domain: Domain
) -> _Regions | Undetermined:
    """Return what of the domain cells of people hold, by a profile of each; why not, where leaves are no boxes."""
    tables: list[BoolArray] = []
    if sum(len(tree.nodes) for tree in forest.trees) * sum(domain.shape) > MOST_OPTIONS:
        return TOO_LARGE
    tied = by_class.sum()[None].repeat(len(first))
    for tree, stops in zip(forest.trees, forest.stops[:, first], strict=True):
        options = leaf_options(tree, domain)
        if options is None:
            return NO_BOXES
        tables.append(options)
        tied = np.minimum(tied, _tied(options, stops, by_class, domain)[stops])
    sizes = np.ones(len(first))
    is_open, is_cut = (np.zeros((len(first), len(domain.factors)), dtype=bool) for _ in range(2))
    is_asked = np.zeros(len(first), dtype=bool)
    width = sum(domain.shape)
    step = max(1, MOST_PLACES // max(width, 1))
    for begin in range(0, len(first), step):
        some = first[begin : begin + step]
        held = np.ones((len(some), width), dtype=bool)
        for stops, options in zip(forest.stops, tables, strict=True):
            held &= options[stops[some]]
        here = slice(begin, begin + step)
        is_open[here], is_cut[here], limited = _open_factors(held, domain)
        is_asked[here] = (limited | ~is_open[here]).all(axis=1)
        for part, factor in zip(
            np.split(held, domain.starts[1:], axis=1), domain.factors, strict=True
        ):
            sizes[here] = multiply_sizes(sizes[here], part, factor.sizes)
        # Cuts of several trees together may leave one value to people who share no leaf with few others.
        people, leaf = by_class[here].sum(axis=1), tied[here]
        tied[here] = np.where(_are_cut(held, domain), np.minimum(people, leaf), leaf)
    return OTHER_DOMAIN if (sizes == 0).any() else _Regions(sizes, tied, is_open, is_cut, is_asked)


def _tied(options: BoolArray, stops: IndexArray, by_class: IntArray, domain: Domain) -> IntArray:
    """Return of each node, (N,), how many people share what its thresholds and splits may tell of whole rows.

    A learner cuts half way between two people: somebody has a value next to a cut, and nobody one in between. That may
    leave one value of each column that is cut; then all people of the leaf share it. In a leaf of one class somebody's
    value is a whole row, however many people are there: 0.
    """
    held = join_by_group(stops, by_class, len(options))
    is_pure = (held > 0).sum(axis=1) == 1
    return np.where(is_pure & _are_cut(options, domain), 0, held.sum(axis=1))


def _are_cut(options: BoolArray, domain: Domain) -> BoolArray:
    """Return whether a column of each row of options is open, and all open ones are numbers that some cut limits."""
    is_open, is_cut, _ = _open_factors(options, domain)
    return np.asarray(is_open.any(axis=1) & (is_cut | ~is_open).all(axis=1))


def _open_factors(options: BoolArray, domain: Domain) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Return of each row of options which factors have several values, are numbers with a cut, and any test limits."""
    shape = len(options), len(domain.factors)
    is_open, is_cut, limited = (np.zeros(shape, dtype=bool) for _ in range(3))
    parts = np.split(options, domain.starts[1:], axis=1)
    for place, (part, factor) in enumerate(zip(parts, domain.factors, strict=True)):
        is_open[:, place] = np.where(part, factor.sizes, 0.0).sum(axis=1) != 1
        samples = [column.samples for column in factor.columns.values()]
        is_number = all(isinstance(each, NumericColumn) for each in samples)
        limited[:, place] = part.sum(axis=1) < factor.options
        is_cut[:, place] = is_open[:, place] & limited[:, place] & is_number
    return is_open, is_cut, limited


@dataclass(frozen=True, slots=True, eq=False)
class _OwnCells:
    """Cells of the table's people: by class (Z, m), whether each holds one value, and ``tied`` of their leaves (Z,).

    ``first`` (Z,) is the first profile of each, ``open_rows`` and ``values`` as of ``RebuiltPeople``.
    """

    by_class: IntArray
    is_one: BoolArray
    tied: IntArray
    first: IndexArray
    open_rows: OpenRows
    values: ValueRows | None

    def rebuilt(
        self,
        low: IntArray,
        most: IntArray,
        reconstruction: Reconstruction | None = None,
        left: str = "",
        proofs: CellProofs | None = None,
    ) -> RebuiltPeople:
        """Return what is known of people where so many rows are proved, at least and at most, (Z, m)."""
        people = self.by_class.sum(axis=1)
        proved = np.where(self.is_one, low.sum(axis=1), 0)
        beyond = BEYOND_COUNTS if self.values is None else BEYOND_VALUES
        reasons = [left] * bool(left) + [beyond] * bool((proved < people).any())
        tables = None if reconstruction is None else reconstruction.tables
        if self.values is not None and self.values.tables is not None:
            tables = self.values.tables
        return RebuiltPeople(
            people=people,
            proved=proved,
            most=np.where(self.is_one, most.sum(axis=1), 0),
            leaf=self.tied,
            records_proved=None if reconstruction is None else reconstruction.records_proved,
            tables=tables,
            method=None if reconstruction is None else reconstruction.cells.method,
            left="; ".join(reasons),
            proofs=proofs,
            profile=self.first,
            open_rows=self.open_rows,
            values=self.values,
        )


def counts_each_leaf(tree: Tree) -> bool:
    """Whether a tree counts the people of each class in each leaf, so that its cells are its leaves."""
    leaves = np.flatnonzero(~is_inner(tree))
    is_whole = not np.isnan(class_counts_of(tree, leaves)).any()
    return bool(is_whole and tree.has_people and not tree.learner.saw_noise)


def _of_leaves(
    tree: Tree, stops: IndexArray, cells: _OwnCells, domain: Domain
) -> RebuiltPeople | Undetermined:
    """Return what the counts of one tree's leaves prove: each record of a leaf, where its count is of records."""
    counts = np.rint(class_counts_of(tree, stops)).astype(np.int64)
    if (counts != cells.by_class).any():
        return OTHER_TABLE
    counts_rows = tree.quality is Quality.EXACT and tree.format in ROWS_BESIDE_WEIGHTS
    low = counts if counts_rows else np.minimum(counts, 1)
    options = leaf_options(tree, domain)
    proofs = None if options is None else CellProofs(domain, options[stops], counts)
    return cells.rebuilt(low, low, proofs=proofs)


def _match_proofs(
    reconstruction: Reconstruction | Undetermined, stops: IndexArray, cells: _OwnCells
) -> RebuiltPeople | Undetermined:
    """Return what was proved of the rows of people who stop there, ``stops`` (T, Z).

    Raises:
        WrongProofError: a proof is wrong.
    """
    by_class = cells.by_class
    if isinstance(reconstruction, Undetermined) or not reconstruction.classes:
        reason = (
            reconstruction.reason if isinstance(reconstruction, Undetermined) else NO_COUNTS.reason
        )
        return cells.rebuilt(np.zeros_like(by_class), by_class, left=reason)
    places = _places(reconstruction, stops)
    if (places < 0).any() or not _fits(reconstruction, places, by_class):
        return OTHER_TABLE
    low, high = reconstruction.counts.low[places], reconstruction.counts.high[places]
    elsewhere = np.delete(reconstruction.counts.low, places, axis=0)
    if (low > by_class).any() or (high < by_class).any() or elsewhere.any():
        raise WrongProofError("a record is proved that the table does not have")
    low = np.minimum(low, 1) if reconstruction.may_weigh else low
    most = np.maximum(np.minimum(reconstruction.counts.shown_low[places], by_class), low)
    found, proofs = reconstruction.cells, None
    if not reconstruction.may_weigh:
        proofs = CellProofs(found.domain, found.options, reconstruction.counts.high)
    return cells.rebuilt(low, most, reconstruction, "; ".join(reconstruction.counts.left), proofs)


def _match_samples(
    reconstruction: Reconstruction, forest: Forest, population: Population, cells: _OwnCells
) -> RebuiltPeople | Undetermined:
    """Return what samples whose seeds are known prove of people's rows.

    The table may stand in another order than that of the training, so only one that was drawn as it stands shows that a
    proof is wrong. No other table is looked for: what is not proved counts as open.

    Raises:
        WrongProofError: a proof is wrong.
    """
    places, counts = _places(reconstruction, forest.stops[:, cells.first]), reconstruction.counts
    if (places < 0).any():
        return OTHER_DOMAIN
    low, high = counts.low[places], counts.high[places]
    elsewhere = np.delete(counts.low, places, axis=0)
    is_wrong = (low > cells.by_class).any() or (high < cells.by_class).any() or elsewhere.any()
    if is_wrong and _has_samples(reconstruction, forest, population):
        raise WrongProofError("a record is proved that the table does not have")
    if is_wrong or int(cells.by_class.sum()) != reconstruction.records:
        return OTHER_TABLE
    found = reconstruction.cells
    proofs = CellProofs(found.domain, found.options, counts.high)
    left = "" if (low == cells.by_class).all() else OTHER_SAMPLES
    return cells.rebuilt(low, cells.by_class, reconstruction, left, proofs)


def _has_samples(reconstruction: Reconstruction, forest: Forest, population: Population) -> bool:
    """Whether the samples of the seeds, drawn from the table as it stands, have the counts of all leaves."""
    order = population.order
    if order is None or order.classes is None:
        return False
    for sample, stops in zip(reconstruction.samples, forest.stops, strict=True):
        if len(sample.often) != len(order.profiles):
            return False
        drawn = np.zeros_like(sample.draws)
        np.add.at(drawn, (stops[order.profiles], order.classes), sample.often)
        if (drawn != sample.draws)[sample.is_leaf].any():
            return False
    return True


def _places(reconstruction: Reconstruction, stops: IndexArray) -> IndexArray:
    """Return the cell of people who stop there, ``stops`` (T, Z), by what the file allows; -1 without one: (Z,)."""
    place_of = {
        tuple(column): place for place, column in enumerate(reconstruction.cells.stops.T.tolist())
    }
    return np.array([place_of.get(tuple(column), -1) for column in stops.T.tolist()])


def _fits(reconstruction: Reconstruction, places: IntArray, by_class: IntArray) -> bool:
    """Whether the table has the counts of the file, cell by cell and class by class."""
    table = np.zeros_like(reconstruction.counts.low)
    np.add.at(table, places, by_class)
    return reconstruction.rows is not None and reconstruction.rows.fits(table)
