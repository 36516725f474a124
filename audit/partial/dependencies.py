"""What somebody knows of hidden columns without being told: what known columns of the table give away of them.

Who knows that somebody is a husband knows their sex, and who knows the education knows its number. A known value gives
a hidden one away where all who have it have that, and so many that it is no chance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from audit.adversary.declared import words_of
from audit.partial.reach import Guess
from audit.people.population import Population
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from ppdm_models.tree.column import Column, NumericColumn

SURPRISE = np.log(1e4)
"""People who agree in a hidden value do so by chance once in ten thousand times: -sum of ln(share of the value)."""
NEARLY_ALL = 0.99
"""Of so many people a column has to give another away for it to be known like that one, where others are unsure."""
PARTS = "_=.:"
"""What stands between a column's name and a value in the names of indicators that it was parted into."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The columns somebody knows who was told of some, and what else he knows: ``guesses`` are of (P,) profiles."""

    known: tuple[str, ...]
    guesses: Mapping[str, Guess]
    said: tuple[str, ...]


def closed(population: Population, told: Collection[str], never: Collection[str] = ()) -> Closed:
    """Return what known columns give away of the others; of those ``never`` known nothing is concluded."""
    known = [name for name in population.qi if name in told]
    said: list[str] = []
    for group in indicators(population):
        own = [name for name in group if name in known]
        more = [name for name in group if name not in known and name not in never]
        if own and more:
            known += more
            said.append(
                f"{words_of(own)} and {words_of(more)} are one attribute, of which only one can be 1: who knows "
                "one is taken to know all"
            )
    moved = True
    while moved:
        moved = False
        for name in population.qi:
            if name in known or name in never:
                continue
            by = next((each for each in known if _gives_all(population, each, name)), None)
            if by is not None:
                known.append(name)
                said.append(
                    f"in this table {by} says what {name} is: who knows it is taken to know that too"
                )
                moved = True
    guesses = {}
    for name in population.qi:
        if name not in known and name not in never:
            guess, why = _guess(population, known, name)
            if guess is not None:
                guesses[name] = guess
                said.append(why)
    ordered = tuple(name for name in population.qi if name in known)
    return Closed(ordered, guesses, tuple(said))


def indicators(population: Population) -> Iterator[tuple[str, ...]]:
    """Yield columns of 0 and 1 that one attribute was parted into: alike up to a sign, and never two of them 1."""
    by_stem: dict[str, list[str]] = {}
    for name in population.qi:
        for sign in PARTS:
            stem, found, _ = name.rpartition(sign)
            if found and stem and _is_indicator(population.columns[name]):
                by_stem.setdefault(f"{stem}{sign}", []).append(name)
    taken: set[str] = set()
    for names in sorted(by_stem.values(), key=len, reverse=True):
        if len(names) < 2 or taken & set(names):
            continue
        marked = sum(_numbers(population.columns[name]) for name in names)
        if np.max(marked, initial=0) <= 1:
            taken |= set(names)
            yield tuple(names)


def _is_indicator(column: Column) -> bool:
    return isinstance(column, NumericColumn) and bool(np.isin(column.numbers, (0.0, 1.0)).all())


def _numbers(column: Column) -> FloatArray:
    assert isinstance(column, NumericColumn)
    return column.numbers


def _gives_all(population: Population, known: str, hidden: str) -> bool:
    """Return whether a column says what another one is of everybody, and of nearly all by more than chance."""
    own, has_one, sure = _given(population, known, hidden)
    people = population.counts
    return bool(has_one[own].all()) and float(people[sure[own]].sum()) >= NEARLY_ALL * people.sum()


def _guess(population: Population, known: Sequence[str], hidden: str) -> tuple[Guess | None, str]:
    """Return of whom some value of a known column gives a hidden one away, and in words which columns do."""
    is_known, by = np.zeros(len(population.counts), dtype=bool), []
    for name in known:
        own, _, sure = _given(population, name, hidden)
        if (sure[own] & ~is_known).any():
            is_known |= sure[own]
            by.append(name)
    if not by:
        return None, ""
    people = population.counts[is_known].sum()
    said = (
        f"in this table some values of {words_of(by)} say what {hidden} is, of {people:,.0f} people: who knows "
        "them is taken to know that too"
    )
    return Guess(population.columns[hidden], is_known), said


def _given(
    population: Population, known: str, hidden: str
) -> tuple[IndexArray, BoolArray, BoolArray]:
    """Return the value of a known column of each profile, (P,), and of each value whether it gives another away.

    The first answer, (V,), is whether all who have it have one hidden value, the second whether that is no chance.
    """
    own, other = _codes(population.columns[known]), _codes(population.columns[hidden])
    size, people = own.max(initial=-1) + 1, population.counts
    low = np.full(size, other.max(initial=0) + 1)
    high = np.full(size, -1)
    np.minimum.at(low, own, other)
    np.maximum.at(high, own, other)
    has_one = low == high
    share = np.bincount(other, people) / people.sum()
    told = np.where(has_one, low, 0)
    surprise = np.bincount(own, people, size) * -np.log(np.maximum(share[told], 1e-300))
    return own, has_one, has_one & (surprise >= SURPRISE)


def _codes(column: Column) -> IndexArray:
    assert column.keys is not None
    found: IndexArray = np.unique(column.keys, return_inverse=True)[1].reshape(-1)
    return found
