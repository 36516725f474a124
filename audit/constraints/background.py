"""Background facts: what the adversary knows from elsewhere (Du et al. 2008, Privacy-MaxEnt)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.adversary.knowledge import KnownRecord, Statement
from audit.adversary.statement import Condition, predicate, read_claim
from audit.constraints import Constraint
from audit.facts.case import Case
from audit.facts.rows import Linear, Origin, Row
from ppdm_models.arrays import IndexArray
from ppdm_models.errors import KnowledgeError
from ppdm_models.tree.column import NumericColumn, number_text
from ppdm_models.tree.predicate import answer
from ppdm_models.tree.tree import Feature


class Background(Constraint):
    """Yields one linear row per fact. Facts are of people, whatever sampling weights they carry."""

    def rows(self, case: Case) -> Iterator[Row]:
        for fact in case.knowledge.facts:
            yield _statement(case, fact) if isinstance(fact, Statement) else _record(case, fact)


def _statement(case: Case, fact: Statement) -> Linear:
    claim = read_claim(fact.says)
    inside = _matching(case, claim.conditions, fact.says)
    records = float(case.population.counts[inside].sum())
    return _row(case, inside, claim.klass, (claim.low * records, claim.high * records), fact.says)


def _record(case: Case, fact: KnownRecord) -> Linear:
    """One of the records with these values has the class: exactly it where there is one, at least one of several."""
    says = f"the record with {', '.join(f'{k} = {v}' for k, v in fact.record.items())} has class {fact.value}"
    conditions = tuple(Condition(name, "=", (_text(value),)) for name, value in fact.record.items())
    inside = _matching(case, conditions, says)
    records = float(case.population.counts[inside].sum())
    return _row(case, inside, fact.value, (1.0, max(records, 1.0)), says)


def _text(value: str | int | float) -> str:
    return value if isinstance(value, str) else number_text(float(value))


def _matching(case: Case, conditions: tuple[Condition, ...], says: str) -> IndexArray:
    population = case.population
    inside = np.ones(len(population.counts), dtype=bool)
    for condition in conditions:
        test = predicate(condition, _feature(case, condition.name, says), says)
        inside &= answer(test, population.columns, len(inside)).true
    if not inside.any():
        raise KnowledgeError(
            f"fact {says!r}", "no record of the table meets its conditions; check the values"
        )
    return np.flatnonzero(inside)


def _feature(case: Case, name: str, says: str) -> Feature:
    column = case.population.columns.get(name)
    if column is None:
        known = ", ".join(case.population.qi)
        raise KnowledgeError(f"fact {says!r}", f"no quasi-identifier {name!r}; have {known}")
    return Feature(name, numeric=isinstance(column, NumericColumn))


def _row(
    case: Case, profiles: IndexArray, name: str, ends: tuple[float, float], says: str
) -> Linear:
    if name not in case.tree.classes:
        raise KnowledgeError(
            f"fact {says!r}", f"no class {name!r}; have {', '.join(case.tree.classes)}"
        )
    classes = np.full(len(profiles), case.tree.classes.index(name), dtype=np.intp)
    return Linear(
        profiles, classes, np.ones(len(profiles)), ends[0], ends[1], Origin("background", says)
    )


CONSTRAINT = Background()
