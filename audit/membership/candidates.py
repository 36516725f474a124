"""Candidates: the people of a register, any of whom may have been in the training table, grouped by what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, alike, ranks
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    NumericColumn,
    categorical,
    numeric,
)

WEIGHED = Undetermined(
    "the table has sampling weights, and what a file counts of a register is then no number of people"
)
NO_CLASSES = Undetermined(
    "the class of each person of the table is not known, so nobody can be held against the counts"
)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """People of a register in groups whom nothing tells apart: G groups by quasi-identifiers, and by class if known.

    ``columns`` hold one value per group, ``sizes`` (G,) how many candidates it has. ``class_of`` (G,) is the class that
    the register says of them, as a code, None where it says none. ``members`` (G, m) is how many of them are in the
    table, by class: the truth, which only the owner has. ``classes`` are the names of the classes. ``added`` says how
    many people of the table the register lacked.
    """

    columns: Mapping[str, Column]
    sizes: IntArray
    class_of: IndexArray | None
    members: IntArray
    classes: tuple[str, ...]
    added: int = 0

    @property
    def is_labelled(self) -> bool:
        """Whether the register says everybody's class."""
        return self.class_of is not None

    @property
    def people(self) -> int:
        """How many candidates there are, the people of the table among them."""
        return int(self.sizes.sum())

    @property
    def members_in_all(self) -> int:
        """How many of them are in the table."""
        return int(self.members.sum())


def find_candidates(
    table: Population, register: Population, classes: tuple[str, ...]
) -> Candidates | Undetermined:
    """Return the people of a register, with those of the table found among them by equal values.

    People of the table whom the register lacks are added to it: whoever holds a register in which they are would know
    less than this, never more, of the others. Where the register has no class, people are alike by their
    quasi-identifiers alone.
    """
    if table.weight is not None:
        return WEIGHED
    if isinstance(table.truth, Undetermined):
        return NO_CLASSES
    columns = joined_columns(table, register)
    first, profile = kinds_of(list(columns.values()))
    own, theirs = profile[: len(table.counts)], profile[len(table.counts) :]
    kinds = len(first)
    members = _by_kind(own, table.truth, kinds)
    if isinstance(register.truth, Undetermined):
        sizes = _by_kind(theirs, register.counts[:, None], kinds)[:, 0]
        held = np.maximum(sizes, members.sum(axis=1))
        return Candidates(
            columns={name: column.take(first) for name, column in columns.items()},
            sizes=held,
            class_of=None,
            members=members,
            classes=classes,
            added=int((held - sizes).sum()),
        )
    sizes = _by_kind(theirs, register.truth, kinds)
    held = np.maximum(sizes, members)
    group, of_class = np.nonzero(held)
    by_class = np.zeros((len(group), len(classes)), dtype=np.int64)
    by_class[np.arange(len(group)), of_class] = members[group, of_class]
    return Candidates(
        columns={name: column.take(first[group]) for name, column in columns.items()},
        sizes=held[group, of_class],
        class_of=of_class,
        members=by_class,
        classes=classes,
        added=int((held - sizes).sum()),
    )


def joined_columns(table: Population, register: Population) -> dict[str, Column]:
    """Return the quasi-identifiers of both, by profile: those of the table first, then those of the register.

    Raises:
        TypeError: a column holds numbers in one and categories in the other.
    """
    return {name: _joined(table.columns[name], register.columns[name]) for name in table.qi}


def kinds_of(columns: Sequence[Column]) -> tuple[IndexArray, IndexArray]:
    """Return the first of each kind of profile, (K,), and the kind of each, (P,): those alike in all columns."""
    return alike([_keys(column) for column in columns])


def _by_kind(kinds: IndexArray, numbers: FloatArray, size: int) -> IntArray:
    """Return the sums of numbers (P, m) by the kind of each row, (size, m), as whole numbers."""
    found = np.zeros((size, numbers.shape[1]))
    np.add.at(found, kinds, numbers)
    return np.rint(found).astype(np.int64)


def _keys(column: Column) -> IndexArray:
    return column.codes if isinstance(column, CategoricalColumn) else ranks(column.keys)[0]


def _joined(first: Column, second: Column) -> Column:
    """Return the values of one column and then those of the other, whose categories may be others.

    Raises:
        TypeError: one holds numbers and the other categories.
    """
    if isinstance(first, NumericColumn):
        return NumericColumn(np.concatenate([first.numbers, numeric(second).numbers]))
    there = categorical(second)
    places = {name: code for code, name in enumerate(first.categories)}
    names = [*first.categories]
    for name in there.categories:
        if name not in places:
            places[name] = len(names)
            names.append(name)
    moved = np.array([*(places[name] for name in there.categories), -1], dtype=np.int64)
    return CategoricalColumn(np.concatenate([first.codes, moved[there.codes]]), tuple(names))
