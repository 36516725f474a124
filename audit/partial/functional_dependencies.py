"""Functional dependencies: what known columns of the table imply of the hidden ones.

That a person is a husband implies their sex, and a person's education implies its number. A known value gives
a hidden one away where all who have it have that, and so many that it is no chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewarden.audit.knowledge.levels import words_of
from treewarden.audit.partial.partial_view import ImpliedValue, PartialView
from treewarden.audit.partial.secret_values import ValueKinds
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn

SURPRISE = np.log(1e4)
"""People who agree in a hidden value do so by chance once in ten thousand times: -sum of ln(share of the value)."""
FEW_BY_CHANCE = 0.01
"""Of the values that a column gives away at once, by no surprise of each, so many may do so by chance."""
NEARLY_ALL = 0.99
"""Of so many people a column has to give another away for it to be known like that one, where others are unsure."""
MARKS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}
"""How indicators are written, in small letters."""
NOTHING: Mapping[str, IndexArray] = {}
Given = tuple[IndexArray, BoolArray, BoolArray]
"""The number of each profile's value of a column, (P,), which values give another column away, and not by chance."""
PARTS = "_=.:"
"""What stands between a column's name and a value in the names of indicators that it was parted into."""


class Codes:
    """A table whose values are numbered, and what they give away of each other: each is looked at once.

    ``tested`` are the places of each profile's values, (P,), among those that tests tell apart, by column: what gives
    these away says where a person goes, although it leaves the value itself open.
    """

    def __init__(self, population: Population, tested: Mapping[str, IndexArray] = NOTHING) -> None:
        """Take the people, and what is asked about their columns."""
        self.population, self.tested = population, tested
        self._of: dict[str, IndexArray] = {}
        self._given: dict[tuple[str, str, bool], Given] = {}

    @cached_property
    def indicators(self) -> tuple[tuple[str, ...], ...]:
        """Columns of 0 and 1 that one attribute was parted into, each attribute's together."""
        return tuple(indicators(self.population))

    def codes_of(self, name: str) -> IndexArray:
        """Return the number of each profile's value, (P,): the same number where values are."""
        if name not in self._of:
            keys = self.population.columns[name].keys
            self._of[name] = np.unique(keys, return_inverse=True)[1].reshape(-1)
        return self._of[name]

    def implied(self, name: str, hidden: str, *, is_asked: bool = False) -> Given:
        """Return what a column gives away of another one, or of what is asked about that."""
        key = name, hidden, is_asked
        if key not in self._given:
            hidden_value = self.tested[hidden] if is_asked else self.codes_of(hidden)
            self._given[key] = _implied_by_column(self, name, hidden_value)
        return self._given[key]


@dataclass(frozen=True, slots=True)
class AttributeClosure:
    """The attribute closure of known columns: ``known`` with what they imply, and ``guesses`` of (P,) profiles.

    Of some profiles of a guess only what tests ask about is known; ``values`` says of which the value itself is, (P,).
    """

    known: tuple[str, ...]
    guesses: Mapping[str, ImpliedValue]
    said: tuple[str, ...]
    values: Mapping[str, BoolArray]


def attribute_closure(
    table: Codes, columns: Collection[str], never: Collection[str] = ()
) -> AttributeClosure:
    """Return what known columns give away of the others; of those ``never`` known nothing is concluded."""
    known, said = with_implied_columns(table, columns, never)
    guesses, values = {}, {}
    for name in table.population.qi:
        if name not in known and name not in never:
            guess, is_value, why = _guess(table, known, name)
            if guess is not None:
                guesses[name], values[name] = guess, is_value
                said.append(why)
    ordered = tuple(name for name in table.population.qi if name in known)
    return AttributeClosure(ordered, guesses, tuple(said), values)


def with_implied_columns(
    table: Codes, columns: Collection[str], never: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Return known columns with those that they give away whole, and in words what gives what away."""
    known = [name for name in table.population.qi if name in columns]
    said: list[str] = []
    for group in table.indicators:
        own = [name for name in group if name in known]
        more = [name for name in group if name not in known and name not in never]
        if own and more:
            known += more
            said.append(
                f"{words_of(own)} and {words_of(more)} are indicators of one attribute. An adversary "
                "who knows one is assumed to know all"
            )
    moved = True
    while moved:
        moved = False
        for name in table.population.qi:
            if name in known or name in never:
                continue
            by = next((each for each in known if implies_everywhere(table, each, name)), None)
            if by is not None:
                known.append(name)
                said.append(
                    f"in this table, {by} determines {name}. An adversary who knows it is assumed to know "
                    f"{name}, too"
                )
                moved = True
    return known, said


@dataclass(frozen=True, slots=True)
class AdversaryKnowledge:
    """What an adversary knows who is told some columns of the people of one tree or of several.

    ``closure`` are these columns with what they imply of others. ``people`` are the inference groups that they tell
    apart, and ``group_of_profile`` (P,) is the group of each profile of the table. ``hidden`` are the values that each
    tested column can have that stays unknown, ``guesses`` what is implied of them by group. ``views`` are what the
    tests of a single tree make of it: with what is implied of hidden columns and, where that is anything, without it
    too.
    """

    closure: AttributeClosure
    people: Population
    group_of_profile: IndexArray
    hidden: Mapping[str, ValueKinds]
    guesses: Mapping[str, ImpliedValue]
    views: tuple[PartialView, ...] = ()

    @property
    def groups(self) -> int:
        """How many inference groups there are."""
        return len(self.people.counts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The known columns, and those of which a value is implied of some people."""
        return (*self.closure.known, *self.closure.guesses)


def tell_columns(
    table: Codes,
    columns: Collection[str],
    not_told: Mapping[str, ValueKinds],
    never: Collection[str] = (),
) -> AdversaryKnowledge:
    """Return what an adversary knows who is told some columns; of those ``never`` known nothing is implied.

    ``not_told`` are the values of each other column that is tested. People who are told apart by known columns alone
    are guessed alike.
    """
    closure = attribute_closure(table, columns, never)
    people, group_of_profile = merged(table.population, closure.known)
    hidden = {name: kinds for name, kinds in not_told.items() if name not in closure.known}
    first = np.zeros(len(people.counts), dtype=np.intp)
    first[group_of_profile] = np.arange(len(group_of_profile))
    guesses = {
        name: ImpliedValue(guess.column.take(first), guess.is_known[first])
        for name, guess in closure.guesses.items()
        if name in hidden
    }
    return AdversaryKnowledge(closure, people, group_of_profile, hidden, guesses)


def implied_profiles(table: Codes, name: str, value_of_profile: IndexArray) -> BoolArray:
    """Return of which profiles, (P,), a column's value implies ``value_of_profile`` (P,), and not by chance."""
    own, _, sure = _implied_by_column(table, name, value_of_profile)
    return sure[own]


def indicators(population: Population) -> Iterator[tuple[str, ...]]:
    """Yield columns of 0 and 1 that one attribute was parted into: alike up to a sign, and never two of them 1.

    They may be truth values as well, and some may lack values.
    """
    marks = {name: _marks(population.columns[name]) for name in population.qi}
    by_stem: dict[str, list[str]] = {}
    for name in population.qi:
        for sign in PARTS:
            stem, found, _ = name.rpartition(sign)
            if found and stem and marks[name] is not None:
                by_stem.setdefault(f"{stem}{sign}", []).append(name)
    taken: set[str] = set()
    for names in sorted(by_stem.values(), key=len, reverse=True):
        if len(names) < 2 or taken & set(names):
            continue
        own = [mark for name in names if (mark := marks[name]) is not None]
        if np.max(np.sum(own, axis=0), initial=0.0) <= 1:
            taken |= set(names)
            yield tuple(names)


def _marks(column: Column) -> FloatArray | None:
    """Return where an indicator is 1, (P,), and 0 where it is not or is missing; None of any other column."""
    if isinstance(column, CategoricalColumn):
        said = [MARKS.get(category.lower()) for category in column.categories]
        if not said or None in said:
            return None
        return np.array([*said, 0.0], dtype=np.float64)[
            column.codes
        ]  # the code of a missing value is -1
    assert isinstance(column, NumericColumn)
    found = np.where(column.missing, 0.0, column.numbers)
    return found if np.isin(found, (0.0, 1.0)).all() else None


def implies_everywhere(table: Codes, name: str, hidden: str) -> bool:
    """Return whether a column says what another one is of everybody, and of nearly all by more than chance."""
    own, has_one, sure = table.implied(name, hidden)
    people = table.population.counts
    return bool(has_one[own].all()) and float(people[sure[own]].sum()) >= NEARLY_ALL * people.sum()


def _guess(
    table: Codes, columns: Sequence[str], hidden: str
) -> tuple[ImpliedValue | None, BoolArray, str]:
    """Return of whom some value of a known column gives a hidden one away, and in words which columns do.

    It does so too where it gives away what is asked about the hidden one; between them stands of whom the value itself
    is given away, (P,).
    """
    population = table.population
    is_known, by, what = np.zeros(len(population.counts), dtype=bool), [], hidden
    is_value = is_known
    for is_asked in (False, True) if hidden in table.tested else (False,):
        for name in columns:
            own, _, sure = table.implied(name, hidden, is_asked=is_asked)
            if (sure[own] & ~is_known).any():
                is_known |= sure[own]
                by.append(name)
                what = f"every tested property of {hidden}" if is_asked else what
        is_value = is_value if is_asked else is_known.copy()
    if not by:
        return None, is_value, ""
    people = population.counts[is_known].sum()
    said = (
        f"in this table, some values of {words_of(list(dict.fromkeys(by)))} determine {what}, "
        f"for {people:,.0f} people. An adversary who knows them is assumed to know it, too"
    )
    return ImpliedValue(population.columns[hidden], is_known), is_value, said


def _implied_by_column(table: Codes, name: str, hidden_value: IndexArray) -> Given:
    """Return the value of a known column of each profile, (P,), and of each value whether it gives another away.

    ``hidden_value`` (P,) are the places of the hidden values. The first answer, (V,), is whether all who have it have
    one hidden value, the second whether that is no chance: of the value by itself, of numbers next to each other, or of
    many values together.
    """
    own, column = table.codes_of(name), table.population.columns[name]
    size, people = own.max(initial=-1) + 1, table.population.counts
    low = np.full(size, hidden_value.max(initial=0) + 1)
    high = np.full(size, -1)
    np.minimum.at(low, own, hidden_value)
    np.maximum.at(high, own, hidden_value)
    has_one = low == high
    share = np.bincount(hidden_value, people) / people.sum()
    told = np.where(has_one, low, 0)
    surprise = np.bincount(own, people, size) * -np.log(np.maximum(share[told], 1e-300))
    sure = (surprise >= SURPRISE) | _by_many(
        np.bincount(own, people, size).astype(np.float64), has_one, share
    )
    if isinstance(column, NumericColumn) and size > 1:
        # There are about as many runs as numbers, each of which could agree by chance; what is missing is in none.
        is_new = (told[1:] != told[:-1]) | ~has_one[1:] | ~has_one[:-1]
        is_new[-1] |= bool(column.missing.any())
        run = np.append(0, np.cumsum(is_new))
        sure |= np.bincount(run, surprise)[run] >= SURPRISE + np.log(size)
    return own, has_one, has_one & sure


def _by_many(people: FloatArray, has_one: BoolArray, share: FloatArray) -> BoolArray:
    """Return which values of a column, (V,) each of so many people, are too many that give away to do so by chance.

    ``has_one`` says of which all people have one hidden value; people of a value agree by chance with the probability
    that all the others have what the first has, which is at most the greatest ``share`` to their number less one.
    """
    odds = (people - 1) * np.log(max(float(share.max(initial=0.0)), 1e-300))
    if has_one.all() and -odds.sum() >= SURPRISE:
        return has_one
    order = np.argsort(odds, kind="stable")
    by_chance = np.cumsum(np.exp(np.minimum(odds[order], 0.0)))
    agreeing = np.cumsum(has_one[order])
    enough = np.flatnonzero(by_chance <= FEW_BY_CHANCE * agreeing)
    found = np.zeros(len(people), dtype=bool)
    if len(enough):
        found[order[: enough[-1] + 1]] = True
    return found & has_one
