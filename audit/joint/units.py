"""Those whom the leaves are about: profiles, or single records where draws tell the people of one profile apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Profiles, or the records of profiles: where each stops, ``stops`` (T, U), and how many ``people`` it is, (U,).

    ``profile`` (U,) is whose each one is, ``truth`` (U, m) its people of each class, None where that is not known.
    ``draws`` (T, U) says how often each tree drew a record; None where every tree saw everybody once.
    """

    stops: IndexArray
    people: FloatArray
    profile: IndexArray
    truth: FloatArray | None
    draws: IntArray | None = None

    @property
    def profiles(self) -> int:
        """How many profiles there are."""
        return int(self.profile.max(initial=-1)) + 1

    def mean(self, shares: FloatArray) -> FloatArray:
        """Return the mean of what is said of each unit, (U, m), by profile, (P, m)."""
        if self.draws is None:
            return shares
        total = np.zeros((self.profiles, shares.shape[1]))
        np.add.at(total, self.profile, shares * self.people[:, None])
        people = np.bincount(self.profile, self.people, self.profiles)
        return np.asarray(total / people[:, None])

    def agreed(self, classes: IntArray) -> IntArray:
        """Return the class that all units of a profile have, (P,), of those of units (U,); -1 stands for none."""
        if self.draws is None:
            return classes
        low = np.full(self.profiles, np.iinfo(np.int64).max)
        high = np.full(self.profiles, -1)
        np.minimum.at(low, self.profile, classes)
        np.maximum.at(high, self.profile, classes)
        return np.where(low == high, high, -1)


def by_profile(stops: IndexArray, population: Population) -> Units:
    """Return profiles, whose people no tree tells apart."""
    truth = None if isinstance(population.truth, Undetermined) else population.truth
    return Units(stops, population.counts, np.arange(len(population.counts)), truth)


def by_record(stops: IndexArray, population: Population, draws: IntArray) -> Units:
    """Return the records in the order of the table, each tree of which drew some, (T, n); the order is known."""
    order = population.order
    assert order is not None
    truth = None
    if order.classes is not None and not isinstance(population.truth, Undetermined):
        truth = np.zeros((len(order.profiles), population.truth.shape[1]))
        truth[np.arange(len(truth)), order.classes] = 1.0
    people = np.ones(len(order.profiles))
    return Units(stops[:, order.profiles], people, order.profiles, truth, draws)
