"""Candidates: people of a register, any of whom may have been in the training table, grouped by what is known of them.

Ids match the register to the table: who of the table is in the register, whom it lacks, and where they contradict each
other. The result says of each group how many are in the table, as proved, witnessed and estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.bounds import Bounds
from treewarden.audit.membership import NO_REGISTER as NO_REGISTER
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, alike, ranks
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    NumericColumn,
    categorical,
    numeric,
)

WEIGHED = Undetermined(
    "the table has sampling weights, so the file does not count people of a register"
)
NO_CLASSES = Undetermined(
    "the class of each person in the table is not known, so people cannot be compared with "
    "the counts"
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


@dataclass(frozen=True, slots=True, eq=False)
class IdMatch:
    """Records of a table by their ids in a register: ``lacking`` are rows of the table whose id it does not have.

    ``contradicting`` are how many others have another value there, by the column; a record may count in several.
    """

    lacking: IndexArray
    contradicting: Mapping[str, int]


def match_by_id(
    table: Population, register: Population, ids: tuple[IndexArray, IndexArray]
) -> IdMatch:
    """Return who is where; ``ids`` are the numbers of the persons of both, by record, one record each.

    Raises:
        ValueError: rows of one of the two are no people.
    """
    if table.order is None or register.order is None:
        raise ValueError("records are matched by id only if each record is one person")
    own, theirs = ids
    place = np.full(1 + max(int(own.max()), int(theirs.max())), -1, dtype=np.intp)
    place[theirs] = np.arange(len(theirs))
    there = place[own]
    rows = np.flatnonzero(there >= 0)
    one = table.order.profiles[rows]
    other = len(table.counts) + register.order.profiles[there[rows]]
    found: dict[str, int] = {}
    for name, column in joined_columns(table, register).items():
        kinds = kinds_of([column])[1]
        found[name] = int((kinds[one] != kinds[other]).sum())
    classes = table.order.classes, register.order.classes
    if classes[0] is not None and classes[1] is not None:
        is_other = classes[0][rows] != classes[1][there[rows]]
        found[table.sensitive] = int(is_other.sum())
    contradicting = {name: number for name, number in found.items() if number}
    return IdMatch(np.flatnonzero(there < 0), contradicting)


def with_people(register: Population, table: Population, rows: IndexArray) -> Population:
    """Return a register with some records of the table, as people of it.

    Raises:
        ValueError: rows of the table are no people.
    """
    if table.order is None:
        raise ValueError("records are added where each is one person")
    profiles = table.order.profiles[rows]
    added = np.bincount(profiles, minlength=len(table.counts)).astype(np.float64)
    truth: FloatArray | Undetermined = register.truth
    if not isinstance(truth, Undetermined):
        size = truth.shape[1]
        more = np.zeros((len(table.counts), size))
        if table.order.classes is not None:
            np.add.at(more, (profiles, table.order.classes[rows]), 1.0)
        truth = np.concatenate([more, truth])
    columns: dict[str, Column] = joined_columns(table, register)
    return replace(
        register,
        columns=columns,
        counts=np.concatenate([added, register.counts]),
        leaf=np.concatenate([table.leaf, register.leaf]),
        truth=truth,
        order=None,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MembershipInference(Bounds[IntArray]):
    """What a file proves of who of a register is in the table: ends of how many of each group are members, (G,).

    Tables that were found were checked row by row, and the owner's own is among them.
    ``probability`` is the adversary's estimate for one person of the group, or why there is none. ``left`` says what
    was not decided, and why; empty where all was. ``said`` is what the reader should know of the register.
    """

    candidates: Candidates
    probability: FloatArray | Undetermined
    left: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def posterior_ends(self) -> tuple[FloatArray, FloatArray]:
        """Between which ends one person of each group is a member, whatever else the file says.

        People of a group are alike, so each is a member as probably as the expected share of them. That lies between
        the shares that are proved. Nothing more is sure: people of different groups who add the same to all rows can
        still differ by which splits they would have led to.
        """
        sizes = self.candidates.sizes
        return self.low / sizes, self.high / sizes

    @property
    def is_nothing_proved(self) -> bool:
        """Whether each candidate may be a member, and may be none."""
        return bool((self.low == 0).all() and (self.high == self.candidates.sizes).all())

    @property
    def proved_in(self) -> IntArray:
        """How many people of each group are certainly members: all of it, or nobody can be named."""
        is_all = self.low == self.candidates.sizes
        return np.where(is_all, self.candidates.sizes, 0)

    @property
    def proved_out(self) -> IntArray:
        """How many people of each group are certainly no members."""
        return np.where(self.high == 0, self.candidates.sizes, 0)

    @property
    def may_be_in(self) -> IntArray:
        """How many people of each group are not shown to be open, and may be certain members therefore."""
        is_shown = self.reached_low < self.candidates.sizes
        is_possible = self.high == self.candidates.sizes
        return np.where(is_possible & ~is_shown, self.candidates.sizes, 0)

    @property
    def open_groups(self) -> BoolArray:
        """Whether two checked tables show of each group that its people may be in, and may be out."""
        sizes = self.candidates.sizes
        return (self.reached_low < sizes) & (self.reached_high > 0)
