"""How many people stop at each node of a tree, of which classes and with which sampling weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import SEVERAL, Router
from treewarden.ppdm_models.tree.column import Column


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How much stops at each node of a tree.

    ``people`` has shape (N,), ``classes`` (N, m), None where the truth is not known; ``weighed`` and
    ``weighed_classes`` are the same in sums of sampling weights, None where there are none. ``spread`` are the records
    that the tree spreads over several leaves, which are in none of these.
    """

    people: FloatArray
    classes: FloatArray | None
    weighed: FloatArray | None
    weighed_classes: FloatArray | None
    spread: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """What has to be known of people to find and count them in one tree after another: see ``Population``.

    ``truth`` is None where it is not known, ``weight`` where each counts once.
    """

    columns: Mapping[str, Column]
    counts: FloatArray
    truth: FloatArray | None
    weight: FloatArray | None

    @cached_property
    def router(self) -> Router:
        """Who sends them down trees."""
        return Router(self.columns)

    def standing(self, stops: IndexArray, nodes: int) -> Standing:
        """Return how much stops at each of so many nodes; ``stops`` (P,) says where each profile does."""
        spread = 0.0
        if stops.min(initial=0) < 0:
            spread = float(self.counts[stops == SEVERAL].sum())
            stops = np.where(stops < 0, nodes, stops)
        places = stops.astype(np.intp, copy=False)
        people, classes = _sums(places, nodes, self._people)
        weighed, weighed_classes = _sums(places, nodes, self._weights)
        assert people is not None
        return Standing(people, classes, weighed, weighed_classes, spread)

    @cached_property
    def _people(self) -> list[FloatArray]:
        """What is added up at each node: all people, and those of each class."""
        added = [self.counts, *([] if self.truth is None else self.truth.T)]
        return [np.ascontiguousarray(each) for each in added]

    @cached_property
    def _weights(self) -> list[FloatArray]:
        """The same by sampling weights, if there are any."""
        weight = self.weight
        return [] if weight is None else [each * weight for each in self._people]

    def __reduce__(self) -> tuple[type[Crowd], tuple[object, ...]]:
        return Crowd, tuple(getattr(self, each.name) for each in fields(self))


def crowd_of(population: Population) -> Crowd:
    """Return what has to be known of people to count them in trees."""
    truth = None if isinstance(population.truth, Undetermined) else population.truth
    return Crowd(population.columns, population.counts, truth, population.weight)


def _sums(
    places: IndexArray, nodes: int, added: list[FloatArray]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the sums of the first at each node, (N,), and of the others, (N, m), as far as there are any."""
    sums = [np.bincount(places, each, nodes + 1)[:nodes].astype(np.float64) for each in added]
    return (sums[0] if sums else None), (np.stack(sums[1:], axis=1) if sums[1:] else None)
