"""Rows of an anonymised table: each of its records is one person whose values are among those that it shows.

Of the people who fit a group of records at least as many have each class as the group's records; of those who fit no
other group at most so many more as records were left out. Where no person fits two groups that is all that it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import having
from treewarden.audit.outputs.described_people import ContradictedError, EntryRows
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    RecordGroup,
    ValueCondition,
    ValuesCondition,
)
from treewarden.ppdm_models.tree.column import NumericColumn

MOST_CELLS = 100_000_000
TOO_MANY = "it has too many different records for so many different people"


def record_rows(
    entry: AnonymisedEntry,
    population: Population,
    number: int,
    truth: IntArray,
    classes: Sequence[str],
) -> EntryRows:
    """Return what an anonymised table says of everybody's class; ``truth`` is (P, m).

    Raises:
        ContradictedError: fewer people fit some of its records than there are.
    """
    groups, is_vague = _without_made_up_numbers(entry.groups, population)
    people = np.rint(population.counts).astype(np.int64)
    if len(groups) * len(people) > MOST_CELLS:
        return EntryRows((), is_open=True, why=TOO_MANY)
    fitting, counts, places = _merged(groups, population, classes)
    left_out = int(people.sum()) - int(counts.sum())
    if left_out < 0:
        raise ContradictedError("number of records", str(int(counts.sum())), str(int(people.sum())))
    alone = fitting & (fitting.sum(axis=0) == 1)
    rows: list[WholeRow] = []
    for group in range(len(counts)):
        for klass in range(len(classes)):
            owner, count = RowOwner(number, klass, people), int(counts[group, klass])
            there = int(truth[fitting[group], klass].sum())
            if there < count:
                name = f"number of records with {classes[klass]} like that in {places[group]}"
                raise ContradictedError(name, str(count), str(there))
            if count:
                weights = fitting[group].astype(np.int64).tolist()
                rows.append(owner.row(weights, Ends(low=Fraction(count))))
            most = count + left_out
            if int(people[alone[group]].sum()) > most:
                if int(truth[alone[group], klass].sum()) > most:
                    name = f"number of records with {classes[klass]} like that in {places[group]}"
                    raise ContradictedError(name, str(count), f"{there} people who fit no other")
                weights = alone[group].astype(np.int64).tolist()
                rows.append(owner.row(weights, Ends(high=Fraction(most))))
    is_parted = bool((fitting.sum(axis=0) <= 1).all())
    return EntryRows(tuple(rows), is_open=is_vague or not is_parted)


def _without_made_up_numbers(
    groups: Sequence[RecordGroup], population: Population
) -> tuple[list[RecordGroup], bool]:
    """Return groups without conditions on columns in which some number is nobody's, and whether any part is vague.

    Such a number, a mean of a group for instance, stands for others: then no number of that column is taken as it is.
    """
    made_up: set[str] = set()
    for group in groups:
        for condition in group.conditions:
            column = population.columns[condition.column]
            is_plain = isinstance(condition, ValueCondition) and isinstance(column, NumericColumn)
            if is_plain and not having(population, condition).any():
                made_up.add(condition.column)
    kept = [
        replace(
            group,
            conditions=tuple(
                each
                for each in group.conditions
                if each.column not in made_up or isinstance(each, ValuesCondition)
            ),
        )
        for group in groups
    ]
    return kept, bool(made_up) or any(group.is_vague for group in groups)


def _merged(
    groups: Sequence[RecordGroup], population: Population, classes: Sequence[str]
) -> tuple[BoolArray, IntArray, list[str]]:
    """Return whom groups fit, (G, P), and their records by class, (G, m); those that fit the same people are one."""
    known: dict[object, BoolArray] = {}
    found: dict[bytes, tuple[BoolArray, IntArray, str]] = {}
    for group in groups:
        inside = np.ones(len(population.counts), dtype=bool)
        for condition in group.conditions:
            if condition not in known:
                known[condition] = having(population, condition)
            inside &= known[condition]
        count = np.array([group.counts.get(name, 0) for name in classes], dtype=np.int64)
        key = np.packbits(inside).tobytes()
        if key in found:
            found[key][1][:] += count
        else:
            found[key] = inside, count, group.where
    parts = list(found.values())
    return (
        np.array([inside for inside, _, _ in parts], dtype=bool),
        np.array([count for _, count, _ in parts], dtype=np.int64),
        [where for _, _, where in parts],
    )
