"""Facts from elsewhere as rows: statements about shares, and records whose class is known (Du et al. 2008)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.adversary.knowledge import FACT, Knowledge, KnownRecord, Statement
from treewarden.audit.adversary.statement import Condition, predicate, read_claim
from treewarden.audit.facts.kind import TRUTH_TOLERANCE_SHARE, Dropped
from treewarden.audit.facts.kinds import NOT_TRUE, outside
from treewarden.audit.facts.rows import Linear, Origin
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tables.table import listed, near_text
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.predicate import answer
from treewarden.ppdm_models.tree.tree import Feature

Fact = Statement | KnownRecord
NO_RECORD = "no record of the table meets its conditions"


def fact_row(fact: Fact, classes: Sequence[str], population: Population) -> Linear:
    """Return what a fact says of the masses; facts are of people, whatever sampling weights these carry.

    Of a record that is known to have a class this is exactly one where one has its values, at least one where several.

    Raises:
        KnowledgeError: it names what is no quasi-identifier, no class, or no value that occurs.
    """
    if isinstance(fact, Statement):
        claim = read_claim(fact.says)
        conditions, klass, ends = claim.conditions, claim.klass, (claim.low, claim.high)
    else:
        conditions = tuple(Condition(name, "=", (_text(v),)) for name, v in fact.record.items())
        klass, ends = fact.value, None
    here = _matching(population, conditions, fact.words)
    if klass not in classes:
        problem = f"no class {klass!r}{near_text(klass, classes)}; have {', '.join(classes)}"
        raise KnowledgeError(_place(fact.words), problem)
    records = float(population.counts[here].sum())
    low, high = (1.0, max(records, 1.0)) if ends is None else (records * ends[0], records * ends[1])
    column = np.full(len(here), classes.index(klass), dtype=np.intp)
    return Linear(here, column, np.ones(len(here)), low, high, Origin(FACT, fact.words))


def check_facts(
    knowledge: Knowledge, classes: Sequence[str], population: Population, where: str
) -> None:
    """Check that facts are about what there is, also where nothing is made of them; ``where`` is what says them.

    Raises:
        KnowledgeError: one names what is no quasi-identifier, no class, or no value that occurs.
    """
    for number, fact in enumerate(knowledge.facts if classes else (), start=1):
        try:
            fact_row(fact, classes, population)
        except KnowledgeError as error:
            problem = f"{error.where}: {error.problem}"
            raise KnowledgeError(f"{where}: [[fact]] number {number}", problem) from error


def contradicted_facts(
    knowledge: Knowledge, classes: Sequence[str], population: Population
) -> tuple[Dropped, ...]:
    """Return the facts that the true table breaks; none where the truth is not known.

    The system of a tree's rows drops them by itself; of other models nobody else asks.
    """
    truth = population.truth
    if isinstance(truth, Undetermined) or not classes:
        return ()
    found = []
    for fact in knowledge.facts:
        row = fact_row(fact, classes, population)
        value = float(truth[row.profiles, row.classes].sum())
        records = float(population.counts[row.profiles].sum())
        missed = float(outside(value, row.low, row.high, records)[0])
        if missed > TRUTH_TOLERANCE_SHARE:
            problem = f"the true table misses it by {missed:.3g} of its records; {NOT_TRUE}"
            found.append(Dropped(FACT, fact.words, problem, is_published=False))
    return tuple(found)


def _text(value: str | int | float) -> str:
    return value if isinstance(value, str) else number_text(float(value))


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
    problem = f"no quasi-identifier {name!r}{near_text(name, population.qi)}; have {known}"
    if name and name == population.sensitive:
        problem = f"{name!r} is the sensitive column, of which a fact says a class; conditions are on {known}"
    raise KnowledgeError(_place(words), problem)


def _absent(population: Population, condition: Condition) -> list[str]:
    """Return in words the values of a condition that nobody has; of ends of a range there is nothing to say."""
    column = population.columns[condition.name]
    if isinstance(column, CategoricalColumn):
        there = set(np.unique(column.codes[_held(population) & ~column.missing]).tolist())
        known = [text for code, text in enumerate(column.categories) if code in there]
        missing = [value for value in condition.values if value not in known]
        return [
            f"{condition.name!r} is never {value!r}{near_text(value, known) or f'; it is {listed(known)}'}"
            for value in missing
        ]
    if condition.sign != "=":
        return []
    value = float(condition.values[0])
    numbers = column.numbers[_held(population) & ~column.missing]
    if (numbers == value).any() or not len(numbers):
        return []
    return [f"{condition.name!r} is never {number_text(value)}; name a value that somebody has"]


def _held(population: Population) -> BoolArray:
    return np.asarray(population.counts > 0)
