"""Sends people through all trees of an ensemble, and counts how many stop where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from audit.people.population import Population
from audit.people.standing import Counter, Standing, crowd_of
from audit.stages import Share
from ppdm_models.arrays import BoolArray, IndexArray
from ppdm_models.errors import TableError
from ppdm_models.records.routing import NOWHERE, Router, prepared
from ppdm_models.tree.ensemble import Ensemble
from ppdm_models.tree.predicate import Always, answer
from ppdm_models.tree.tree import Tree

MOST_STOPS = 400_000_000
"""The most places, trees times profiles, that are kept in memory: 1.6 GB, as each is a number of 32 bits."""


def sent(
    ensemble: Ensemble, population: Population, share: Share | None = None
) -> tuple[IndexArray, list[Standing]]:
    """Return where each profile stops in each tree, (T, P), and how much stops at each node of each tree.

    A profile stops nowhere in a tree that does not speak of it. ``share`` is told of each tree.

    Raises:
        TableError: trees times profiles are more than memory is likely to hold.
    """
    size, profiles = sum(1 for _ in ensemble.trees), len(population.counts)
    if size * profiles > MOST_STOPS:
        raise TableError(
            ensemble.source,
            f"{size:,} trees times {profiles:,} profiles are more than the {MOST_STOPS:,} places that are looked at; "
            "name fewer quasi-identifiers with --qi, or audit a part of the trees",
        )
    # Half the memory of the numbers that indexing takes by itself: all that is done with them but comparing.
    stops = cast(IndexArray, np.empty((size, profiles), dtype=np.int32))
    standing = []
    router, counter = Router(population.columns), Counter(crowd_of(population))
    for index, (tree, speaks) in enumerate(_heard(ensemble, population)):
        stopped, _ = router.routed(tree)
        if speaks is not None:
            stopped = np.where(speaks, stopped, NOWHERE)
        stops[index] = stopped
        standing.append(counter.standing(stopped, len(tree.nodes)))
        if share is not None:
            share(index + 1, size, "trees")
    return stops, standing


def _heard(ensemble: Ensemble, population: Population) -> Iterator[tuple[Tree, BoolArray | None]]:
    """Yield each tree in the file's order with the profiles of which it speaks, (P,); None where of all."""
    columns, _ = prepared(ensemble.features, population.columns)
    stack: list[tuple[Tree | Ensemble, BoolArray | None]] = [(ensemble, None)]
    while stack:
        part, speaks = stack.pop()
        if isinstance(part, Tree):
            yield part, speaks
            continue
        for member in reversed(part.members):
            if isinstance(member.model, Tree | Ensemble):
                heard = speaks
                if not isinstance(member.test, Always):
                    heard = answer(member.test, columns, len(population.counts)).true
                    heard = heard if speaks is None else speaks & heard
                stack.append((member.model, heard))
