"""Totals: those that leaves publish, and those known from elsewhere, as rows over the same people.

A table of totals is published beside a model of numbers. Each of its cells is a row over the same people as the leaves
are, so that both prove together. A cell that is withheld is no row: it is what an adversary would like to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.engine.problem import KNOWN_FACT
from treewarden.audit.facts.kinds import known_people
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, DroppedRow
from treewarden.audit.joint.cells import PeopleCells
from treewarden.audit.joint.known_facts import KnownNumbers
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import FACT
from treewarden.audit.outputs.conditions import having
from treewarden.audit.population.audited_columns import uncheckable
from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import (
    Contributions,
    RankedContributions,
    by_contributor,
    ranked_contributions,
)
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.rows import (
    DOUBLE,
    NumberRows,
    numbers_said,
    part_of,
    rounding,
    says_spread,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, kinds_of
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    PrintedNumber,
    PublishedOutput,
    Statistic,
)
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble
from treewarden.ppdm_models.tree.tree import Task, Tree

NO_NUMBERS = Undetermined("the model predicts a class, so its leaves have no totals")
NOT_KNOWN = Undetermined("the contribution of each record to the leaf totals is not known")
NEGATIVE = Undetermined(
    "some contributions are negative, but concentration rules are defined only for "
    "contributions of 0 or more; use the metrics contributors and value_disclosure instead"
)
IN_NO_LEAF = Undetermined("some records are in no leaf of a tree, or in several")
NOT_MEANS = Undetermined(
    "the leaf values are not the means of the table's values (perhaps medians, or changed after training), so the "
    "leaves publish no totals that these rules could judge"
)
WITH_HOLDINGS = Undetermined(
    "sampling weights stand for units outside the table, so their owners are not known; "
    'use weights = "known", or remove --id'
)


@dataclass(frozen=True, slots=True, eq=False)
class LeafTotals:
    """The L leaves of one tree that hold anybody, by node, and what each record adds to their totals.

    Each of ``readings`` is the same under another way to read the file: of people, or of their sampling weights, where
    its leaf values may be the means of either. ``tells_spread`` says that the file also publishes the variance of the
    amounts in a leaf, and ``is_open`` that an adversary may learn more from what it says than rules on totals use.
    ``is_linked`` says that leaves of several trees overlap, so that sums and differences of them are totals too.
    """

    tree: int
    nodes: IndexArray
    readings: tuple[RankedContributions, ...]
    tells_spread: bool = False
    is_open: bool = False
    is_linked: bool = False


def leaf_totals(
    forest: Forest,
    population: Population,
    numbers: ValueBounds | Undetermined,
    *,
    repeats_weights: bool,
) -> list[LeafTotals] | Undetermined:
    """Return the leaves of every tree with the contributions to their totals; why not, where they have none.

    Under sampling weights a record adds its number times its weight, which whoever knows the weight can undo; where
    ``repeats_weights`` it stands for so many units of that number instead, as sdcTable and tau-ARGUS take it
    (Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2.1, sampling weights). ``numbers`` says
    whether the leaf values of a boosted model can be inverted into totals.
    """
    if forest.model.task is not Task.REGRESSION:
        return numbers if isinstance(numbers, Undetermined) else NO_NUMBERS
    contributions = population.contributions
    if isinstance(population.numbers, Undetermined):
        return population.numbers
    if contributions is None or contributions.amounts is None:
        return NOT_KNOWN
    if not len(contributions.amounts):
        return Undetermined("the table has no records")
    if (
        repeats_weights
        and contributions.weights is not None
        and contributions.contributors is not None
    ):
        return WITH_HOLDINGS
    problem = _no_totals(forest, numbers)
    if problem is not None:
        return problem
    found = []
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        here = stops[contributions.profiles]
        if (here < 0).any():
            return IN_NO_LEAF
        nodes, cell = np.unique(here, return_inverse=True)
        weighings = tuple(
            weighing
            for weighing in _weighings(contributions)
            if not _publishes_means(forest)
            or _are_means(tree, nodes, cell, contributions.amounts, weighing)
        )
        if not weighings:
            return NOT_MEANS
        if (contributions.amounts < 0).any():
            return NEGATIVE
        ranked = _ranked(contributions, cell, len(nodes), repeats_weights)
        tells_spread, is_open = _beside_totals(tree, nodes, forest, population)
        readings = tuple(map(ranked, weighings))
        found.append(LeafTotals(number, nodes, readings, tells_spread, is_open))
    return [replace(leaves, is_linked=True) for leaves in found] if _overlap(forest) else found


def _overlap(forest: Forest) -> bool:
    """Whether leaves of different trees overlap otherwise than by one lying in the other, for the table's people."""
    finest = max((len(np.unique(stops)) for stops in forest.stops), default=0)
    joint = np.zeros(forest.stops.shape[1], dtype=np.intp)
    for stops in forest.stops:
        joint = kinds_of([joint, stops])
        if int(joint.max(initial=-1)) + 1 > finest:
            return True
    return False


def _beside_totals(
    tree: Tree, nodes: IndexArray, forest: Forest, population: Population
) -> tuple[bool, bool]:
    """Return whether leaves publish variances that are of contributions, and whether more than that can be used."""
    numbers, contributions = population.numbers, population.contributions
    assert contributions is not None
    assert not isinstance(numbers, Undetermined)
    has_spread = all(tree.nodes[node].figures.spread is not None for node in nodes.tolist())
    is_plain = (
        _publishes_means(forest)
        and contributions.weights is None
        and contributions.contributors is None
    )
    is_all = is_plain and not numbers.step and forest.model is tree
    is_open = bool(tree.unused) or (says_spread(tree) and not (has_spread and is_all))
    return has_spread and is_plain, is_open


def _no_totals(forest: Forest, numbers: ValueBounds | Undetermined) -> Undetermined | None:
    """Return why the leaves of an ensemble publish no totals of the table's people; None where they may."""
    model = forest.model
    if not isinstance(model, Ensemble):
        return None
    if not _publishes_means(forest):
        return numbers if isinstance(numbers, Undetermined) else None
    if forest.draws or model.sampling.resampled:
        return Undetermined(sample_in_words(model))
    return None


def _publishes_means(forest: Forest) -> bool:
    """Whether a leaf value is a mean by itself: in one tree, and where the trees' values are averaged."""
    model = forest.model
    return not isinstance(model, Ensemble) or model.combination is Combination.AVERAGE


def _weighings(contributions: Contributions) -> Iterator[FloatArray]:
    """Yield what each record counts for, (K,), in each way that the file may have been written."""
    yield contributions.people
    if contributions.weights is not None:
        yield contributions.people * contributions.weights


def _are_means(
    tree: Tree, nodes: IndexArray, cell: IndexArray, amounts: FloatArray, weighing: FloatArray
) -> bool:
    """Whether every leaf that says a number says the mean of its people's, but for rounding."""
    printed = numbers_said(tree)
    totals = np.bincount(cell, weighing * amounts, len(nodes))
    means = totals / np.bincount(cell, weighing, len(nodes))
    room = rounding(printed)[nodes] + 8 * DOUBLE * len(amounts) * float(amounts.max(initial=0.0))
    # Where a number was computed with 32 bits, its last digits are none of the table's.
    room += 2.0**-20 * np.abs(means)
    return bool((np.isnan(printed[nodes]) | (np.abs(means - printed[nodes]) <= room)).all())


def _ranked(
    contributions: Contributions, cell: IndexArray, cells: int, repeats_weights: bool
) -> Callable[[FloatArray], RankedContributions]:
    """Return how contributions are put in order once it is known what each record counts for."""
    amounts, people = contributions.amounts, contributions.people
    assert amounts is not None

    def ranked(weighing: FloatArray) -> RankedContributions:
        if contributions.contributors is not None:
            return by_contributor(cell, amounts * weighing, contributions.contributors, cells)
        if repeats_weights:
            return ranked_contributions(cell, amounts, weighing, cells)
        return ranked_contributions(cell, amounts * (weighing / people), people, cells)

    return ranked


# Numbers known from elsewhere, as rows over the cells that sums of leaves are about: of people, and totals of tables.

NOT_SURE_WHO = (
    "a known number belongs to one of several people who match the fact, so it is not used "
    "for proofs"
)


def known_numbers(knowledge: Knowledge, population: Population) -> KnownNumbers | None:
    """Return whose numbers are known from elsewhere, None where nobody's are.

    Raises:
        KnowledgeError: a fact names what is not there, or no number.
    """
    numbers = population.numbers
    if not knowledge.facts or isinstance(numbers, Undetermined):
        return None
    inside, values, dropped = [], [], []
    room = TRUTH_TOLERANCE_SHARE * max(abs(numbers.low), abs(numbers.high))
    for fact in knowledge.facts:
        profiles, value = known_people(fact, population)
        is_possible = (numbers.least[profiles] - room <= value) & (
            value <= numbers.most[profiles] + room
        )
        if not is_possible.any():
            problem = "nobody in the true table who matches the fact has that number"
            dropped.append(DroppedRow(FACT, fact.words, problem, is_published=False))
            continue
        here = np.zeros(len(population.counts), dtype=bool)
        here[profiles] = True
        inside.append(here)
        values.append(value)
    shape = (len(inside), len(population.counts))
    is_meant = np.array(inside, dtype=bool).reshape(shape)
    return KnownNumbers(is_meant, np.array(values, dtype=np.float64), tuple(dropped))


def parts_of(facts: Sequence[KnownNumbers], cells: Sequence[BoolArray] = ()) -> IndexArray | None:
    """Return which of the people facts tell apart, and ``cells`` of tables (F, P), a number for each part, (P,).

    None where there are neither.
    """
    inside = [part.inside for part in facts if len(part.values)]
    inside += [each for each in cells if len(each)]
    if not inside:
        return None
    return kinds_of(list(np.packbits(np.concatenate(inside), axis=0)))


def with_known(rows: NumberRows, facts: Sequence[KnownNumbers]) -> NumberRows:
    """Return rows with one for each known number of one person alone; facts never part a cell.

    Of those who are not alone nothing is added: that one of several people has a number is no row.
    """
    added, number = [], 0
    for part in facts:
        inside = part.inside[:, rows.cells.first]
        for fact in np.flatnonzero(inside @ rows.cells.sizes == 1).tolist():
            values, place = part.values[[fact]], np.where(inside[fact], 0, -1)
            origin = np.array([KNOWN_FACT]), np.array([number])
            added.append(part_of(place, (values, values), *origin, rows.cells, rows.scale))
            number += 1
    return replace(rows, parts=(*rows.parts, *added))


def are_of_one(facts: Sequence[KnownNumbers], cells: PeopleCells) -> bool:
    """Whether each known number is that of one person alone, so that rows say all of it.

    Of one of several people nothing is left to say where one of them alone is known to have that number.
    """
    people, sure = cells.sizes.astype(np.float64), set[tuple[int, float]]()
    unsure = []
    for part in facts:
        for own, value in zip(part.inside[:, cells.first], part.values.tolist(), strict=True):
            if own @ people == 1.0:
                sure.add((int((own & (people > 0)).argmax()), value))
            else:
                unsure.append((own, value))
    return all(any(own[cell] and same == value for cell, same in sure) for own, value in unsure)


ROOM = 1e-12
"""Sums of doubles are as sure as that."""


@dataclass(frozen=True, slots=True, eq=False)
class TableTotals:
    """The F cells of published tables that hold anybody: whom each is about, (F, P), and what its total is, (F,).

    Each total lies between ``low`` and ``high``, which are infinite where the cell is withheld. ``words`` say where
    each stands, and of whom it is.
    """

    words: tuple[tuple[str, str], ...]
    inside: BoolArray
    low: FloatArray
    high: FloatArray

    @property
    def is_withheld(self) -> BoolArray:
        """Which cells no number is published of, (F,)."""
        return ~np.isfinite(self.low)


def table_totals(outputs: Sequence[PublishedOutput], population: Population) -> TableTotals | None:
    """Return the cells of tables of totals; None where there are no tables.

    Raises:
        OutputsError: the table of the people contradicts one, its numbers are not known, or its people carry weights.
    """
    if not outputs:
        return None
    numbers, source = population.numbers, outputs[0].source
    if isinstance(numbers, Undetermined):
        raise OutputsError(source, uncheckable("numbers", numbers.reason))
    if population.weight is not None or (population.counts != np.rint(population.counts)).any():
        problem = (
            "the table has sampling weights, but outputs are audited only for unweighted people; "
            "remove the output"
        )
        raise OutputsError(source, problem)
    words, cells = list[tuple[str, str]](), list[BoolArray]()
    ends = list[tuple[float, float]]()
    for output in outputs:
        for entry in output.entries:
            assert isinstance(entry, DescriptiveEntry)
            inside = _people_of(entry, population)
            low, high = _ends(entry, population.counts[inside].sum(), numbers.sums[inside].sum())
            if population.counts[inside].any():
                words.append((entry.where, entry.words))
                cells.append(inside)
                ends.append((low, high))
    shape = (len(cells), len(population.counts))
    of_cells = np.array(ends, dtype=np.float64).reshape(-1, 2)
    inside = np.array(cells, dtype=bool).reshape(shape)
    return TableTotals(tuple(words), inside, of_cells[:, 0], of_cells[:, 1])


def _people_of(entry: DescriptiveEntry, population: Population) -> BoolArray:
    """Return which profiles, (P,), meet all conditions of a cell."""
    inside = np.ones(len(population.counts), dtype=bool)
    for condition in entry.conditions:
        inside &= having(population, condition)
    return inside


def _ends(entry: DescriptiveEntry, people: float, total: float) -> tuple[float, float]:
    """Return between which ends a cell's total lies, as is printed; infinite ends where it is withheld.

    Raises:
        OutputsError: the people's own numbers are others.
    """
    low, high = -np.inf, np.inf
    truth = {Statistic.TOTAL: total, Statistic.COUNT: people}
    if people:
        truth[Statistic.MEAN] = total / people
    for statistic, printed in entry.numbers.items():
        if statistic not in truth:
            problem = "no person of the table belongs to this row; remove the row"
            raise OutputsError(entry.where, f"{entry.words}: {problem}")
        least, most = _number_ends(printed)
        room = ROOM * max(abs(truth[statistic]), 1e-300)
        if not least - room <= truth[statistic] <= most + room:
            problem = (
                f"{entry.words}: the published {statistic} is {printed.text}, but the table gives "
                f"{truth[statistic]:.9g}; correct one of them, or remove the output"
            )
            raise OutputsError(entry.where, problem)
        if statistic is not Statistic.COUNT:
            often = 1.0 if statistic is Statistic.TOTAL else people
            low, high = max(low, least * often - room), min(high, most * often + room)
    return low, high


def _number_ends(printed: PrintedNumber) -> tuple[float, float]:
    low, high = printed.low, printed.high
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)


def with_totals(rows: NumberRows, totals: TableTotals | None) -> NumberRows:
    """Return rows with one for each cell that is published; no cell parts people whom the rows do not tell apart."""
    if totals is None:
        return rows
    added = []
    for number in np.flatnonzero(~totals.is_withheld).tolist():
        place = np.where(totals.inside[number][rows.cells.first], 0, -1)
        ends = totals.low[[number]], totals.high[[number]]
        origin = np.array([KNOWN_FACT]), np.array([number])
        added.append(part_of(place, ends, *origin, rows.cells, rows.scale))
    return replace(rows, parts=(*rows.parts, *added))
