"""The kinds of rows there are, one entry each; a new kind is a record in `facts/rows.py` and an entry here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.facts.impurity_rows import excess
from treewarden.audit.facts.rows import (
    COUNT_TOLERANCE_RECORDS,
    TRUTH_TOLERANCE_SHARE,
    Case,
    DroppedRow,
    Kinds,
    LeafMass,
    Linear,
    Origin,
    Plurality,
    ProfileTotals,
    R,
    RowContent,
    RowKind,
    SplitFamily,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import FACT, Condition, Fact, predicate
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import MOVED_SHARES
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, by_rows
from treewarden.ppdm_models.errors import KnowledgeError, near_text
from treewarden.ppdm_models.tables.table import listed
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.predicate import answer
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature

OTHER_LABEL = (
    "the training program weighted classes by cost or prior, broke a tie, or the label was changed"
)
OTHER_TABLE = "the file belongs to another table or to weighted records, or was changed"
MOVED = (
    "scikit-learn moved its class shares (monotonic_cst; if so, train the model again without it)"
)
MAYBE_MOVED = f"{OTHER_TABLE}, or {MOVED}"
NOT_TRUE = "the fact is not true of this table"


class _TotalsKind(RowKind[ProfileTotals]):
    """Every formulation has the profiles' own totals in it, so they say nothing beside them."""

    def statements(self, row: ProfileTotals) -> int:
        return 0

    def broken(self, case: Case, row: ProfileTotals, mass: FloatArray) -> FloatArray:
        short = np.abs(by_rows(np.add, mass) - row.counts) / row.counts
        return np.asarray(
            np.maximum(short, np.maximum(-by_rows(np.minimum, mass), 0.0) / row.counts)
        )

    def keep_true(
        self, case: Case, row: ProfileTotals, truth: FloatArray
    ) -> tuple[ProfileTotals | None, DroppedRow | None]:
        return whole_or_dropped(row, self.broken(case, row, truth), cause_of(case, row.origin))

    def content_of(self, case: Case, row: ProfileTotals) -> RowContent:
        return RowContent(ends=(), leads=(), across=(), families=())


class _LeafMassKind(RowKind[LeafMass]):
    """Published counts are rounded, so the true table may miss them by what no whole record makes."""

    def statements(self, row: LeafMass) -> int:
        return 1

    def broken(self, case: Case, row: LeafMass, mass: FloatArray) -> FloatArray:
        here = mass.take(case.members.stops(row.node), axis=0)
        return outside(float(here[:, row.klass].sum()), row.low, row.high, float(here.sum()))

    def keep_true(
        self, case: Case, row: LeafMass, truth: FloatArray
    ) -> tuple[LeafMass | None, DroppedRow | None]:
        broken = self.broken(case, row, truth)
        records = truth.take(case.members.stops(row.node), axis=0).sum()
        if not (broken * records > COUNT_TOLERANCE_RECORDS).any():
            return row, None
        return whole_or_dropped(row, broken, cause_of(case, row.origin))

    def content_of(self, case: Case, row: LeafMass) -> RowContent:
        return RowContent(ends=(row,), leads=(), across=(), families=())


class _PluralityKind(RowKind[Plurality]):
    """A lead over classes before the label goes where the true table has them as often as the label."""

    def statements(self, row: Plurality) -> int:
        return 1

    def broken(self, case: Case, row: Plurality, mass: FloatArray) -> FloatArray:
        here = mass.take(case.members.stops(row.node), axis=0)
        totals = here.sum(axis=0)
        short = np.delete(totals, row.label) + row.margin - totals[row.label]
        if not (short > 0).any():
            return np.zeros(len(short))
        return np.asarray(np.maximum(short, 0.0) / float(here.sum()))

    def keep_true(
        self, case: Case, row: Plurality, truth: FloatArray
    ) -> tuple[Plurality | None, DroppedRow | None]:
        totals = truth.take(case.members.stops(row.node), axis=0).sum(axis=0)
        led = tuple(k for k in row.before if totals[row.label] - totals[k] >= row.margin + 1)
        broken = self.broken(case, row, truth)
        return whole_or_dropped(
            replace(row, before=led), broken, cause_of(case, row.origin, OTHER_LABEL)
        )

    def content_of(self, case: Case, row: Plurality) -> RowContent:
        return RowContent(ends=(), leads=(row,), across=(), families=())


class _LinearKind(RowKind[Linear]):
    """A row across leaves, and any other sum of masses."""

    def statements(self, row: Linear) -> int:
        return 1

    def broken(self, case: Case, row: Linear, mass: FloatArray) -> FloatArray:
        value = float((row.weights * mass[row.profiles, row.classes]).sum())
        if row.low <= value <= row.high:
            return np.zeros(1)
        who, first = np.unique(row.profiles, return_index=True)
        each = 1.0 if row.slack is None else np.abs(row.weights[first])
        return outside(value, row.low, row.high, float((case.population.counts[who] * each).sum()))

    def keep_true(
        self, case: Case, row: Linear, truth: FloatArray
    ) -> tuple[Linear | None, DroppedRow | None]:
        return whole_or_dropped(row, self.broken(case, row, truth), cause_of(case, row.origin))

    def content_of(self, case: Case, row: Linear) -> RowContent:
        return RowContent(ends=(), leads=(), across=(row,), families=())


class _SplitFamilyKind(RowKind[SplitFamily]):
    """Each candidate is a statement, and is dropped alone: it would have been better than the split that was chosen."""

    def statements(self, row: SplitFamily) -> int:
        return len(row.admissible)

    def broken(self, case: Case, row: SplitFamily, mass: FloatArray) -> FloatArray:
        return np.maximum(excess(row, mass), 0.0)

    def keep_true(
        self, case: Case, row: SplitFamily, truth: FloatArray
    ) -> tuple[SplitFamily | None, DroppedRow | None]:
        bad: BoolArray = self.broken(case, row, truth) > TRUTH_TOLERANCE_SHARE
        if not bad.any():
            return row, None
        is_published = says_each_choice(case)
        number = int(bad.sum())
        one = "1 other split" if number == 1 else f"{number} other splits"
        cause = ", though the file says that none was"
        if not is_published:
            cause = (
                ". Either it is not the training table, or training chose at random or followed rules that the file "
                "does not contain"
            )
        problem = f"{one} on {row.attribute!r} would have been better in this table{cause}"
        dropped_row = DroppedRow("split_choice", row.origin.where, problem, is_published)
        return None if bad.all() else replace(row, admissible=row.admissible[~bad]), dropped_row

    def content_of(self, case: Case, row: SplitFamily) -> RowContent:
        return RowContent(ends=(), leads=(), across=(), families=(row,))


def says_each_choice(case: Case) -> bool:
    """Return whether the file itself says that each split was the best of all, with all that the learner looked at.

    scikit-learn's arithmetic is repeated to its last bit, so that its own training table never has a better split
    (``tests/audit/constraints/test_choices_of_the_file.py``). Other programs may have passed over one.
    """
    learner = case.tree.learner
    return (
        learner.tool is Tool.SCIKIT_LEARN
        and learner.all_features
        and not learner.unmodelled
        and learner.criterion is not None
        and learner.criterion.value == case.knowledge.split.value
    )


KINDS: Kinds = {
    ProfileTotals: _TotalsKind(),
    LeafMass: _LeafMassKind(),
    Plurality: _PluralityKind(),
    Linear: _LinearKind(),
    SplitFamily: _SplitFamilyKind(),
}


def outside(value: float, low: float, high: float, scale: float) -> FloatArray:
    """Return by how much a value is outside two ends, relative to a scale, shape (1,)."""
    return np.array([max(low - value, value - high, 0.0) / scale])


def whole_or_dropped(row: R, broken: FloatArray, cause: str) -> tuple[R | None, DroppedRow | None]:
    """Return a row as it is, or as dropped where the true table breaks a part of it."""
    if not (broken > TRUTH_TOLERANCE_SHARE).any():
        return row, None
    problem = f"the true table differs by {float(broken.max()):.3g} of its records: {cause}"
    origin = row.origin
    return None, DroppedRow(origin.constraint, origin.where, problem, origin.is_published)


def cause_of(case: Case, origin: Origin, usual: str = "") -> str:
    """Return why the true table is likely to break a row, by where that comes from and what the learner did."""
    usual = OTHER_LABEL if origin.constraint == "inner_label" else usual
    if not (usual or origin.is_published):
        return NOT_TRUE
    learner = case.tree.learner
    if learner.bounds_shares:
        return MOVED_SHARES
    if usual:
        return usual
    is_silent = learner.tool is Tool.SCIKIT_LEARN and not learner.lists_columns
    return MAYBE_MOVED if is_silent else OTHER_TABLE


# Facts from elsewhere as rows: statements about shares, and records whose class is known (Du et al. 2008).

KNOWN_NUMBER = 'write record = { ... } and class = "52000", with the person\'s number as class'
NO_RECORD = "no record of the table meets its conditions"


def fact_row(fact: Fact, classes: Sequence[str], population: Population) -> Linear:
    """Return what a fact says of the masses; facts are of people, whatever sampling weights these carry.

    Of a record that is known to have a class this is exactly one where one has its values, at least one where several.

    Raises:
        KnowledgeError: it names what is no quasi-identifier, no class, or no value that occurs.
    """
    claim = fact.claim
    klass = claim.klass
    here = _matching(population, claim.conditions, fact.words)
    if klass not in classes:
        problem = f"{klass!r} is not a class of the model{near_text(klass, classes)}; use {', '.join(classes)}"
        raise KnowledgeError(_place(fact.words), problem)
    records = float(population.counts[here].sum())
    low, high = records * claim.low, records * claim.high
    if claim.is_one_record:
        low, high = 1.0, max(records, 1.0)
    column = np.full(len(here), classes.index(klass), dtype=np.intp)
    return Linear(here, column, np.ones(len(here)), low, high, Origin(FACT, fact.words))


def known_people(fact: Fact, population: Population) -> tuple[IndexArray, float]:
    """Return the profiles of the people whom a fact may mean, and the number that one of them has.

    Raises:
        KnowledgeError: it is about a share of people, names what is not there, or no number.
    """
    claim = fact.claim
    if not claim.is_one_record:
        problem = f"the model predicts a number and has no class shares; {KNOWN_NUMBER}"
        raise KnowledgeError(_place(fact.words), problem)
    here = _matching(population, claim.conditions, fact.words)
    try:
        value = float(claim.klass)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        problem = f"{claim.klass!r} is not a number, but the model predicts one; {KNOWN_NUMBER}"
        raise KnowledgeError(_place(fact.words), problem)
    return here, value


def check_facts(
    knowledge: Knowledge, classes: Sequence[str], population: Population, where: str
) -> None:
    """Check that facts are about what there is, also where nothing is made of them; ``where`` is what says them.

    Raises:
        KnowledgeError: one names what is no quasi-identifier, no class, or no value that occurs.
    """
    is_of_numbers = not isinstance(population.numbers, Undetermined)
    facts = knowledge.facts if classes or is_of_numbers else ()
    for number, fact in enumerate(facts, start=1):
        try:
            if classes:
                fact_row(fact, classes, population)
            else:
                known_people(fact, population)
        except KnowledgeError as error:
            problem = f"{error.where}: {error.problem}"
            raise KnowledgeError(f"{where}: [[fact]] number {number}", problem) from error


def columns_of_facts(knowledge: Knowledge) -> frozenset[str]:
    """Return the columns that facts from elsewhere name."""
    return frozenset(
        condition.name for fact in knowledge.facts for condition in fact.claim.conditions
    )


def people_of_facts(knowledge: Knowledge, population: Population) -> BoolArray:
    """Return whom facts from elsewhere are about, (P,); of several releases not every fact is about each."""
    found = np.zeros(len(population.counts), dtype=bool)
    for fact in knowledge.facts:
        with suppress(KnowledgeError):
            found[_matching(population, fact.claim.conditions, fact.words)] = True
    return found


@dataclass(frozen=True, slots=True)
class FactRows:
    """Facts as rows: those that hold, and those that the true table breaks; all hold where the truth is not known."""

    held: tuple[Linear, ...]
    dropped: tuple[DroppedRow, ...]


def fact_rows(knowledge: Knowledge, classes: Sequence[str], population: Population) -> FactRows:
    """Return the facts from elsewhere as rows over profiles; none of a model that names no class.

    Raises:
        KnowledgeError: one names what is no quasi-identifier, no class, or no value that occurs.
    """
    truth = population.truth
    held, dropped = [], []
    for fact in knowledge.facts if classes else ():
        row = fact_row(fact, classes, population)
        missed = 0.0
        if not isinstance(truth, Undetermined):
            value = float(truth[row.profiles, row.classes].sum())
            records = float(population.counts[row.profiles].sum())
            missed = float(outside(value, row.low, row.high, records)[0])
        if missed > TRUTH_TOLERANCE_SHARE:
            problem = f"the true table differs by {missed:.3g} of its records: {NOT_TRUE}"
            dropped.append(DroppedRow(FACT, fact.words, problem, is_published=False))
        else:
            held.append(row)
    return FactRows(tuple(held), tuple(dropped))


def contradicted_facts(
    knowledge: Knowledge, classes: Sequence[str], population: Population
) -> tuple[DroppedRow, ...]:
    """Return the facts that the true table breaks; none where the truth is not known.

    The system of a tree's rows drops them by itself; of other models nobody else asks.
    """
    if isinstance(population.truth, Undetermined):
        return ()
    return fact_rows(knowledge, classes, population).dropped


def stated_facts(knowledge: Knowledge, classes: Sequence[str], population: Population) -> Knowledge:
    """Return the knowledge with the facts alone that are about people and values of this table.

    Of several releases each has its own table, and a person may be in one of them only.
    """
    facts = []
    for fact in knowledge.facts:
        with suppress(KnowledgeError):
            if classes:
                fact_row(fact, classes, population)
            else:
                known_people(fact, population)
            facts.append(fact)
    return knowledge.model_copy(update={"facts": tuple(facts)})


def _place(words: str) -> str:
    return f"fact {words!r}"


def _matching(population: Population, conditions: Sequence[Condition], words: str) -> IndexArray:
    """Return the profiles of the people whom a fact is about."""
    inside = np.ones(len(population.counts), dtype=bool)
    tests = []
    for condition in conditions:
        column = _column(population, condition.name, words)
        feature = Feature(condition.name, numeric=isinstance(column, NumericColumn))
        tests.append(predicate(condition, feature, words))
        inside &= answer(tests[-1], population.columns, len(inside)).true
    absent = [each for condition in conditions for each in _absent(population, condition)]
    if not inside.any():
        why = f": {'; '.join(absent)}" if absent else ""
        raise KnowledgeError(_place(words), f"{NO_RECORD}{why}; check the values")
    if absent:
        raise KnowledgeError(_place(words), f"{'; '.join(absent)}; check the values")
    return np.flatnonzero(inside)


def _column(population: Population, name: str, words: str) -> Column:
    if name in population.qi and name in population.columns:
        return population.columns[name]
    known = ", ".join(population.qi)
    problem = f"{name!r} is not a quasi-identifier{near_text(name, population.qi)}; use {known}"
    if name and name == population.sensitive:
        problem = f"{name!r} is the sensitive column, which cannot be a condition; use {known}"
    raise KnowledgeError(_place(words), problem)


def _absent(population: Population, condition: Condition) -> list[str]:
    """Return in words the values of a condition that nobody has; of ends of a range there is nothing to say."""
    column = population.columns[condition.name]
    if isinstance(column, CategoricalColumn):
        there = set(
            np.unique(column.codes[_occupied_profiles(population) & ~column.missing]).tolist()
        )
        known = [text for code, text in enumerate(column.categories) if code in there]
        missing = [value for value in condition.values if value not in known]
        return [
            f"{condition.name!r} is never {value!r}{near_text(value, known) or f'; use {listed(known)}'}"
            for value in missing
        ]
    if condition.sign != "=":
        return []
    value = float(condition.values[0])
    numbers = column.numbers[_occupied_profiles(population) & ~column.missing]
    if (numbers == value).any() or not len(numbers):
        return []
    return [
        f"{condition.name!r} is never {number_text(value)} in the table; use a value that occurs"
    ]


def _occupied_profiles(population: Population) -> BoolArray:
    return np.asarray(population.counts > 0)
