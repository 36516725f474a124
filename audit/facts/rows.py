"""Rows over the masses n_q * P(class | profile), each with its source, and the case that they are about.

Masses are in records: ``mass[q, c]`` is how many of profile q's records have class c, as the adversary estimates it. A
case is one tree, the people, where they stop in it, and what the adversary knows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import Members
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, ShortArray
from treewarden.ppdm_models.tree.tree import Criterion, Tree

if TYPE_CHECKING:
    from treewarden.audit.outputs.beside_rows import BesideRows


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from: the constraint (its file name), the place in words, and the node, if any.

    ``is_published`` is true where the file itself says it, false where it is inferred from how trees are grown.
    """

    constraint: str
    where: str
    node: int | None = None
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class ProfileTotals:
    """The masses of each profile sum to its records, ``counts`` (P,), and none is negative."""

    counts: FloatArray
    origin: Origin


@dataclass(frozen=True, slots=True)
class LeafMass:
    """Among the records that stop at a node, those of one class number between ``low`` and ``high``."""

    node: int
    klass: int
    low: float
    high: float
    origin: Origin


@dataclass(frozen=True, slots=True)
class Plurality:
    """At a node, the label's mass exceeds every other class's by at least ``margin`` records.

    Of whole records it leads the classes of ``before`` by one more, as the learner names the first of several; the
    estimate goes without that.
    """

    node: int
    label: int
    margin: float
    origin: Origin
    before: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Linear:
    """``low <= sum(weights * mass[profiles, classes]) <= high``; three arrays of equal length.

    ``slack`` is how far rounding may have moved the ends where weights are fractions; None where they are whole.
    """

    profiles: IndexArray
    classes: IndexArray
    weights: FloatArray
    low: float
    high: float
    origin: Origin
    slack: float | None = None


class Grouping(StrEnum):
    """How a family forms its candidates from the bins of one attribute."""

    MULTIWAY = "multiway"
    THRESHOLD = "threshold"
    ONE_AGAINST_REST = "one-against-rest"
    SUBSET = "subset"


@dataclass(frozen=True, slots=True)
class SplitFamily:
    """At one node, the split that was chosen is no worse than any candidate on one attribute.

    ``profiles`` (K,) are the node's; ``chosen`` (K,) the child each goes to; ``bins`` (K,) the bin of the attribute
    each falls in, 0..B-1 in order. ``admissible`` (A,) numbers the candidates the learner could have taken:
    for ``MULTIWAY`` only 0; for ``THRESHOLD`` t = "bins up to t go left"; for ``ONE_AGAINST_REST`` t = "bin t goes
    left"; for ``SUBSET`` the bits of t say which bins go left. ``bin_names`` (B,) are for messages. ``weights`` (K,)
    are what one record of each profile weighed when the learner compared, in whole units; None: all the same.
    """

    node: int
    attribute: str
    criterion: Criterion
    grouping: Grouping
    profiles: IndexArray
    chosen: IndexArray
    bins: ShortArray
    admissible: IntArray
    bin_names: tuple[str, ...]
    origin: Origin
    weights: IntArray | None = None


def branch_of_bins(grouping: Grouping, code: int, count: int) -> IndexArray:
    """Return the branch that each of ``count`` bins takes under one candidate of a family."""
    bins = np.arange(count)
    if grouping is Grouping.MULTIWAY:
        return bins
    if grouping is Grouping.THRESHOLD:
        return np.asarray(bins > code, dtype=np.intp)
    if grouping is Grouping.ONE_AGAINST_REST:
        return np.asarray(bins != code, dtype=np.intp)
    return np.asarray(1 - ((code >> bins) & 1))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a tree may prove of the people below a node although no row says it, as it is not known to hold.

    Nothing is proved by it, but a table shows what is possible only if it obeys it too: every candidate of ``possible``
    that the true table obeys (what that breaks cannot have been a candidate), and all of ``implying`` and ``lines``,
    which say more than what may hold. Where the true table breaks one of these, or ``is_open``, no table can be told to
    obey. ``supposed`` is what the estimate takes for true all the same, as it nearly always holds.
    ``attribute`` is "" where it is about none in particular; ``why`` says in words what is left out, with ``{}`` where
    the attribute stands.
    """

    node: int
    attribute: str
    why: str
    possible: tuple[SplitFamily, ...] = ()
    implying: tuple[SplitFamily, ...] = ()
    lines: tuple[Linear | Plurality, ...] = ()
    is_open: bool = False
    supposed: tuple[SplitFamily | Linear | Plurality, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeRecords:
    """What is known of whole records beyond the other rows: what they prove obeys it, and the estimate goes without."""

    row: Linear


Row = ProfileTotals | LeafMass | Plurality | Linear | SplitFamily


# What a kind of row tells of itself: all that is asked of rows anywhere, so that no other code looks at their types.

TRUTH_TOLERANCE_SHARE = 1e-9
"""How far, as a share of the records a row speaks of, the true table may miss it: what floating point needs."""
MISSING = "(missing)"
"""What the bin of records without a value is called."""
COUNT_TOLERANCE_RECORDS = 1e-6

R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A row that the true table breaks, so it is no knowledge: where it comes from and the likely cause.

    ``is_published`` is true for what the file itself says (then the table is not the one the file speaks of).
    """

    constraint: str
    where: str
    problem: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class RowContent:
    """Everything that a row says beside the profiles' own totals, in the four forms that are reasoned with.

    ``ends`` and ``leads`` are about the classes of those who stop at one node, ``across`` about any masses,
    ``families`` about what a learner compared. There are no defaults: a form that is forgotten would weaken the
    adversary, and pass a tree that gives people away.
    """

    ends: tuple[LeafMass, ...]
    leads: tuple[Plurality, ...]
    across: tuple[Linear, ...]
    families: tuple[SplitFamily, ...]


class RowKind(ABC, Generic[R]):
    """Interprets the rows of one type."""

    @abstractmethod
    def statements(self, row: R) -> int:
        """Return how many statements a row is; the profiles' own totals are not counted."""

    @abstractmethod
    def broken(self, case: Case, row: R, mass: FloatArray) -> FloatArray:
        """Return by how much masses (P, m) break each part of a row, relative to its records; 0 where it holds."""

    @abstractmethod
    def keep_true(
        self, case: Case, row: R, truth: FloatArray
    ) -> tuple[R | None, DroppedRow | None]:
        """Return what of a row the true table (P, m) obeys, and what of it is dropped."""

    @abstractmethod
    def content_of(self, case: Case, row: R) -> RowContent:
        """Return all that a row says, in the forms that are reasoned with."""


Kinds = Mapping[type, RowKind[Any]]


def kind_of(kinds: Kinds, row: Row) -> RowKind[Any]:
    """Return the kind of a row.

    Raises:
        TypeError: there is no kind for rows of this type.
    """
    if type(row) not in kinds:
        raise TypeError(f"no kind for {type(row).__name__} rows; add it to audit/facts/kinds.py")
    return kinds[type(row)]


def as_lines(case: Case, row_content: RowContent) -> tuple[Linear, ...]:
    """Return all that a row says but its splits, as linear rows over the profiles' masses."""
    ends = (_end_line(case, end) for end in row_content.ends)
    leads = (line for lead in row_content.leads for line in _lead_lines(case, lead))
    return (*ends, *leads, *row_content.across)


def _end_line(case: Case, end: LeafMass) -> Linear:
    here = case.members.stops(end.node)
    classes = np.full(len(here), end.klass, dtype=np.intp)
    return Linear(here, classes, np.ones(len(here)), end.low, end.high, end.origin)


def _lead_lines(case: Case, lead: Plurality) -> tuple[Linear, ...]:
    here = case.members.stops(lead.node)
    both, ones = np.concatenate([here, here]), np.ones(len(here))

    def classes(klass: int) -> IndexArray:
        return np.repeat(np.array([lead.label, klass], dtype=np.intp), len(here))

    weights = np.concatenate([ones, -ones])
    return tuple(
        Linear(both, classes(other), weights, lead.margin, np.inf, lead.origin)
        for other in range(len(case.tree.classes))
        if other != lead.label
    )


Fact = TypeVar("Fact")
Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Case:
    """What is audited: a tree, the people, where they stop in it, and what the adversary knows (resolved).

    ``incomplete`` is how many records of each profile lack a value, (P,), where the people's columns do not say it.
    ``beside`` is what is published beside the tree; ``may_be_weighed`` whether labels may be those of weighed classes
    or records, where the knowledge does not say it.
    """

    tree: Tree
    population: Population
    members: Members
    knowledge: Knowledge
    incomplete: FloatArray | None = None
    beside: BesideRows | None = None
    may_be_weighed: bool | None = None


def once_per_case(read_case: Callable[[Case], Known]) -> Callable[[Case], Known]:
    """Let what is known of a case be worked out once, however often it is asked for; it goes when the case does."""
    kept: WeakKeyDictionary[Case, Known] = WeakKeyDictionary()

    @wraps(read_case)
    def cached_value(case: Case) -> Known:
        if case not in kept:
            kept[case] = read_case(case)
        return kept[case]

    return cached_value


def once(facts: Callable[[Case], Iterator[Fact]]) -> Callable[[Case], tuple[Fact, ...]]:
    """Let facts of a case be worked out once, however many constraints ask for them."""

    @wraps(facts)
    def list_facts(case: Case) -> tuple[Fact, ...]:
        return tuple(facts(case))

    return once_per_case(list_facts)


# Rows about what a file counts: people, or, where a survey weighs them, the sums of their weights.
#
# Masses are people in any case. A weighed sum is a linear row over them; where everybody in it has one weight, it says
# how many they are.

PRINTING_SHARE = 1e-6
"""How far a printed sum may be from the true one, as a share of the people it is about: six digits."""
MOST_UNITS = 10**6
"""The most units that a weight may be: squares of their sums must stay exact."""
ENDS = 1e-9
"""How far an end in people may be beyond the whole number that it is, by rounding."""


def unit(case: Case) -> str:
    """Return what the file's numbers count, in words."""
    return "records" if case.population.weight is None else "weighed records"


def rounding(case: Case, profiles: IndexArray) -> float:
    """Return how far two sums of these people's weights can be apart by floating point alone, whatever their order."""
    people = case.population
    terms = float(people.counts[profiles].sum()) + 16.0
    return terms * 2.0**-52 * weighed_size(case, profiles)


def weighed_size(case: Case, profiles: IndexArray) -> float:
    """Return what a file counts of some profiles: their people, or the sum of their weights."""
    people = case.population
    counts = people.counts[profiles]
    return float((counts if people.weight is None else counts * people.weight[profiles]).sum())


def weighed_masses(case: Case, profiles: IndexArray, truth: FloatArray) -> FloatArray:
    """Return what a file counts of each class (m,) among some profiles, by a table (P, m) of people."""
    weight, here = case.population.weight, truth.take(profiles, axis=0)
    return np.asarray((here if weight is None else here * weight[profiles, None]).sum(axis=0))


def class_row(
    case: Case,
    profiles: IndexArray,
    klass: int,
    ends: tuple[float, float],
    origin: Origin,
    half: float = 0.0,
) -> Linear:
    """Return that what the file counts of one class among some profiles lies between two ends.

    ``half`` is how far printing may have moved it. It, and six digits, are allowed for only where the true table is
    known to need them: the adversary sees how precise a number is.
    """
    classes = np.full(len(profiles), klass, dtype=np.intp)
    weight = case.population.weight
    if weight is None:
        return Linear(profiles, classes, np.ones(len(profiles)), *ends, origin)
    slack = rounding(case, profiles)
    low, high = _widened(case, profiles, klass, ends, (slack, half))
    return Linear(
        profiles=profiles,
        classes=classes,
        weights=weight[profiles],
        low=low,
        high=high,
        origin=origin,
        slack=slack,
    )


def leaf_row(
    case: Case,
    node: int,
    klass: int,
    ends: tuple[float, float],
    origin: Origin,
    half: float = 0.0,
) -> LeafMass | Linear:
    """Return the same of those who stop at a node, as a number of people where that is what it comes to."""
    if case.population.weight is None:
        return LeafMass(node, klass, *ends, origin)
    here = case.members.stops(node)
    common = common_weight(case, here)
    row = class_row(case, here, klass, ends, origin, half)
    if common is None:
        return row
    slack = rounding(case, here) + ENDS * common
    low = math.ceil((row.low - slack) / common)
    high = math.floor((row.high + slack) / common)
    if (
        low > high
    ):  # no number of people: the file does not speak of these, which the true table will show
        return LeafMass(node, klass, ends[0] / common, ends[1] / common, origin)
    return LeafMass(node, klass, float(low), float(high), origin)


def common_weight(case: Case, profiles: IndexArray) -> float | None:
    """Return the one weight that all these profiles have, 1 where there are none; None where theirs differ."""
    weight = case.population.weight
    if weight is None or not len(profiles):
        return 1.0
    here = weight[profiles]
    return float(here[0]) if (here == here[0]).all() else None


def whole_units(weight: FloatArray | None, profiles: IndexArray) -> IntArray | None:
    """Return the weights of some profiles as whole numbers of one unit; None where that would be too fine a unit.

    A weight is read as the shortest decimal that stands for it, as a survey's file prints it.
    """
    from treewarden.audit.outputs.whole_row import units_of  # of weights only

    assert weight is not None
    units, scale = units_of(weight[profiles])
    if scale > MOST_UNITS or max(units, default=0) > MOST_UNITS:
        return None
    return np.array(units, dtype=np.int64)


def lead_rows(
    case: Case, node: int, label: int, margin: float, origin: Origin
) -> tuple[Linear, ...]:
    """Return that a label leads every other class by weight among those who stop at a node."""
    here, weight = case.members.stops(node), case.population.weight
    assert weight is not None
    is_whole = bool((weight[here] == np.rint(weight[here])).all())
    # A lead of fractions may be as small as one likes.
    least = margin if is_whole or margin < 0 else 0.0
    size, slack = weighed_size(case, here), rounding(case, here)
    return tuple(
        Linear(
            profiles=np.concatenate([here, here]),
            classes=np.repeat(np.array([label, klass], dtype=np.intp), len(here)),
            weights=np.concatenate([weight[here], -weight[here]]),
            low=least,
            high=size,
            origin=origin,
            slack=slack,
        )
        for klass in range(len(case.tree.classes))
        if klass != label
    )


def _widened(
    case: Case,
    profiles: IndexArray,
    klass: int,
    ends: tuple[float, float],
    misses: tuple[float, float],
) -> tuple[float, float]:
    """Return the ends as they are where floating point alone (the first miss) explains the truth, else wider."""
    truth, weight = case.population.truth, case.population.weight
    slack, half = misses
    if isinstance(truth, Undetermined):
        return ends[0] - half, ends[1] + half
    true_counts = truth[profiles, klass]
    value = float((true_counts if weight is None else true_counts * weight[profiles]).sum())
    if ends[0] - slack <= value <= ends[1] + slack:
        return ends
    wider = max(half, PRINTING_SHARE * weighed_size(case, profiles))
    return ends[0] - wider, ends[1] + wider
