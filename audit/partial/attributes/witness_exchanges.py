"""Witness tables of a secret column: exchanges of values that leave every published number of every tree as it is.

One person gets another value and stops in the same leaves; or two people of one class take each other's value, and each
leaf holds as many people of each class as before. Such a table fits whatever the trees publish of their leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.partial.secret_values import Secret, distinguished_values, secret_kinds
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tables.routing import Router
from treewarden.ppdm_models.tree.tree import Tree

MOST_STOPS = 20_000_000
"""Trees times profiles times values up to which it is looked where people stop with each value."""
Sums = np.ndarray[tuple[int, int], np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class ClassCells:
    """People of one profile and one class each: which profile, and which class, (C,) each."""

    profile: IndexArray
    klass: IndexArray


def exchangeable(
    trees: Sequence[Tree], population: Population, secret: Secret, cells: ClassCells
) -> BoolArray | None:
    """Return which other values of a secret a person of each cell has in some table, (C, B); None: too much work."""
    ways = _StopsByValue.from_trees(trees, population, secret)
    if ways is None:
        return None
    own = ways.value_of_profile[cells.profile]
    found = np.zeros((len(own), len(secret.values)), dtype=np.bool_)
    for value, place in enumerate(ways.place_of_value.tolist()):
        is_same = (ways.stops[:, value] == ways.true).all(axis=0)[cells.profile]
        found[:, place] |= is_same
        takers = np.flatnonzero(own == value)
        for other in np.unique(own).tolist():
            if ways.place_of_value[other] != place:
                givers = np.flatnonzero(own == other)
                found[ways.exchanging(givers, takers, cells, other, value), place] = True
    found[np.arange(len(own)), secret.of[cells.profile]] = False
    return found


def values_that_stay(trees: Sequence[Tree], population: Population, secret: Secret) -> BoolArray:
    """Return with which values of a secret each profile stops where it does in every tree, (P, B): its own at least."""
    size = len(population.counts)
    if not any(feature.name == secret.name for tree in trees for feature in tree.features):
        return np.ones((size, len(secret.values)), dtype=np.bool_)
    found = np.zeros((size, len(secret.values)), dtype=np.bool_)
    ways = _StopsByValue.from_trees(trees, population, secret)
    for value, place in enumerate(() if ways is None else ways.place_of_value.tolist()):
        assert ways is not None
        found[:, place] |= (ways.stops[:, value] == ways.true).all(axis=0)
    found[np.arange(size), secret.of] = True
    return found


@dataclass(frozen=True, slots=True)
class _StopsByValue:
    """Where each profile stops with each value of the secret that tests or bins tell apart, (T, D, P).

    ``true`` (T, P) is where it stops with its own. ``sums`` (D, P) are of random numbers, one for each leaf.
    """

    stops: IndexArray
    true: IndexArray
    sums: Sums
    value_of_profile: IndexArray
    place_of_value: IndexArray

    @classmethod
    def from_trees(
        cls, trees: Sequence[Tree], population: Population, secret: Secret
    ) -> _StopsByValue | None:
        """Return them; None where that is too much work."""
        name, size = secret.name, len(population.counts)
        domain = secret_kinds(trees, population, secret)
        apart = distinguished_values(trees, {name: domain.values}).get(
            name, np.zeros(len(domain), np.intp)
        )
        keys = np.stack((apart, secret.places(domain.values)), axis=1)
        if len(secret.numbers):  # of numbers that are values by themselves somebody has each
            keys[domain.share == 0] = -1
        kinds, first, kind_of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        kind_of = kind_of.reshape(-1)
        chosen = np.flatnonzero(kinds[:, 1] >= 0)
        if len(trees) * size * len(chosen) > MOST_STOPS or len(chosen) ** 2 * size > MOST_STOPS:
            return None
        position = np.full(len(kinds), -1, np.intp)
        position[chosen] = np.arange(len(chosen))
        value_of_profile = position[kind_of[domain.of]]
        stops = np.empty((len(trees), len(chosen), size), np.intp)
        for place, value in enumerate(first[chosen].tolist()):
            same = domain.values.take(np.full(size, value))
            router = Router({**population.columns, name: same})
            for number, tree in enumerate(trees):
                stops[number, place] = router.routed(tree)[0]
        everyone = np.arange(size)
        sums = np.zeros((len(chosen), size), np.uint64)
        rng = np.random.default_rng(0)
        for number, tree in enumerate(trees):
            signs = rng.integers(1 << 63, size=len(tree.nodes) + 2, dtype=np.uint64)
            sums += signs[stops[number]]
        return cls(
            stops,
            stops[:, value_of_profile, everyone],
            sums,
            value_of_profile,
            kinds[chosen, 1].astype(np.intp),
        )

    def exchanging(
        self,
        givers: IndexArray,
        takers: IndexArray,
        cells: ClassCells,
        taken_value: int,
        given_value: int,
    ) -> IndexArray:
        """Return the cells among ``givers``, who have one value, that can exchange it with one of ``takers``."""
        keys = [
            np.stack(
                (
                    self.sums[given_value, cells.profile[each]]
                    - self.sums[taken_value, cells.profile[each]],
                    cells.klass[each].astype(np.uint64),
                ),
                axis=1,
            )
            for each in (givers, takers)
        ]
        if not len(givers) or not len(takers):
            return givers[:0]
        _, first, of = np.unique(
            np.concatenate(keys[::-1]), axis=0, return_index=True, return_inverse=True
        )
        partner = first[of.reshape(-1)[len(takers) :]]
        able = np.flatnonzero(partner < len(takers))
        giver, taker = givers[able], takers[partner[able]]
        one, two = cells.profile[giver], cells.profile[taker]
        before = self.stops[:, taken_value, one], self.stops[:, given_value, two]
        after = self.stops[:, given_value, one], self.stops[:, taken_value, two]
        is_same = (before[0] == after[0]) & (before[1] == after[1])
        is_crossed = (before[0] == after[1]) & (before[1] == after[0])
        return np.asarray(giver[(is_same | is_crossed).all(axis=0)])
