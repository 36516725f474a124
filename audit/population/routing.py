"""Sends people through all trees of an ensemble, and counts how many stop where: in this process, or over others too.

Batches of trees are jobs. Whoever does them, the answers are put where the trees stand in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import cast

import numpy as np

from treewarden.audit.population.leaves import Crowd, NodeCounts, crowd_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Share
from treewarden.audit.workers.pool import WORKERS, Common, Pool
from treewarden.audit.workers.processes import Call
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.routing import NOWHERE, Router, prepared
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.predicate import Always, answer, refusals
from treewarden.ppdm_models.tree.tree import Tree

MOST_STOPS = 400_000_000
"""The most places, trees times profiles, that are kept in memory: 1.6 GB, as each is a number of 32 bits."""
BATCH_STOPS = 3_000_000
"""Places of a batch, about a quarter of a second's work; one tree, where it has more."""
WORTH_A_WORKER = 60_000_000
"""Places below which one process is as fast as two, of which one must start."""
WORTH_A_JOB = 12_000_000
"""The same where a worker is ready."""


@dataclass(frozen=True, slots=True, eq=False)
class Stopped:
    """Where each profile stops in each of some trees, (B, P), and how much stops at each node of each."""

    stops: IndexArray
    standing: tuple[NodeCounts, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A job: some trees, with the profiles of which each speaks (None: of all), and the people to send through them."""

    trees: tuple[Tree, ...]
    speaks: tuple[BoolArray | None, ...]
    crowd: Common[Crowd]

    def __call__(self) -> Stopped:
        """Return where everybody stops, in the smallest numbers that hold the nodes: they may have far to travel."""
        crowd = self.crowd.value
        smallest = np.min_scalar_type(-max(len(tree.nodes) for tree in self.trees))
        stops = cast(IndexArray, np.empty((len(self.trees), len(crowd.counts)), dtype=smallest))
        standing = []
        for index, (tree, speaks) in enumerate(zip(self.trees, self.speaks, strict=True)):
            stopped, _ = crowd.router.routed(tree)
            if speaks is not None:
                stopped = np.where(speaks, stopped, NOWHERE)
            stops[index] = stopped
            standing.append(crowd.standing(stopped, len(tree.nodes)))
        return Stopped(stops, tuple(standing))


def sent(
    ensemble: Ensemble,
    population: Population,
    share: Share | None = None,
    jobs: int | None = 1,
    pool: Pool = WORKERS,
) -> tuple[IndexArray, list[NodeCounts]]:
    """Return where each profile stops in each tree, (T, P), and how much stops at each node of each tree.

    A profile stops nowhere in a tree that does not speak of it. ``share`` is told how many trees are done. Large
    ensembles are shared out among so many ``jobs`` (None: as many as there is room for).

    Raises:
        TableError: trees times profiles are more than memory is likely to hold.
        TreewardenError: there is nobody any more who could do what was given out.
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
    standing: dict[int, NodeCounts] = {}
    together = max(1, BATCH_STOPS // max(profiles, 1))

    def take(number: int, stopped: Stopped) -> None:
        first = number * together
        stops[first : first + len(stopped.stops)] = stopped.stops
        standing.update(enumerate(stopped.standing, first))
        if share is not None:
            share(len(standing), size, "trees")

    batches = _batches(ensemble, population, together)
    helpers = pool.helpers(pool.size() if jobs is None else jobs)
    worth = WORTH_A_JOB if pool.is_ready else WORTH_A_WORKER
    if helpers and size * profiles >= worth and not _is_asked(ensemble):
        _do_over(pool, helpers, list(batches), take)
    else:
        for number, batch in enumerate(batches):
            take(number, batch())
    return stops, [standing[index] for index in range(size)]


def refused_profiles(ensemble: Ensemble, population: Population) -> BoolArray:
    """Return the profiles that some tree refuses, (P,): a value is invalid, or a field cannot be computed of it.

    An evaluator then predicts nothing at all, whatever the other trees say (JPMML-Evaluator).
    """
    found = np.zeros(len(population.counts), dtype=np.bool_)
    _, invalid = prepared(ensemble.features, population.columns)
    names = {name for name, refused in invalid.items() if refused.any()}
    router = Router(population.columns)
    for tree, speaks in _heard(ensemble, population):
        is_asked = not names.isdisjoint(feature.name for feature in tree.used_features())
        if is_asked or _may_refuse(tree):
            _, refused = router.routed(tree)
            found |= refused if speaks is None else refused & speaks
    return found


def _may_refuse(tree: Tree) -> bool:
    """Return whether some test of a tree refuses records by itself; trees kept as arrays have none."""
    if isinstance(tree.nodes, NodeTable):
        return False
    return any(True for node in tree.nodes for _ in refusals(node.test))


def _do_over(
    pool: Pool, helpers: int, batches: list[Batch], take: Callable[[int, Stopped], None]
) -> None:
    """Have batches done by others and in this process.

    One that took three processes along is done in this one, as if there were no others: without it nothing can be told.
    """
    lost = dict.fromkeys(range(len(batches)))

    def heard(number: int, answer: object) -> None:
        call.answers[number] = None  # what is taken need not be kept twice
        if isinstance(answer, Stopped):
            take(number, answer)
            del lost[number]

    with Call[Stopped](pool, heard) as call:
        for batch in batches:
            call.add(batch)
        for _ in range(min(helpers, len(batches) - 1)):
            call.hire()
        call.work()
        call.finish()
    for number in lost:
        take(number, batches[number]())


def _batches(ensemble: Ensemble, population: Population, together: int) -> Iterator[Batch]:
    """Yield so many trees at a time, in the file's order."""
    crowd, heard = Common(crowd_of(population)), _heard(ensemble, population)
    while some := tuple(islice(heard, together)):
        yield Batch(tuple(tree for tree, _ in some), tuple(speaks for _, speaks in some), crowd)


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


def _is_asked(ensemble: Ensemble) -> bool:
    """Return whether a part is asked only of whom a test holds: then memory is spared by one batch at a time."""
    return any(
        not isinstance(member.test, Always)
        or (isinstance(member.model, Ensemble) and _is_asked(member.model))
        for member in ensemble.members
    )
