"""What consistent tables prove: per profile and class what is certain, possible or open, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from treewarden.audit.bounds import Bounds, CellBounds
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.witnesses.enumerate import (
    EnumerationLimits,
    TableNumbers,
    UniformPosterior,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    WitnessPool,
    not_moved,
    path_holds,
)
from treewarden.audit.engine.time_budget import ShouldStop
from treewarden.audit.progress import FOREVER, Clock, OutOfTimeError
from treewarden.audit.reading import Reading, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

OUT_OF_TIME = "the time was used up"
"""How it is said that time was what was lacking: a larger budget may decide more."""
IN_DOUBT = (
    "some candidate splits were left out, so a table that is consistent with the others "
    "may contradict them"
)
"""Why something stays open however long tables are searched for."""
UNSURE_TIES = (
    "in other tables that were found another split is as good as the published one, and the "
    "training program may always take that one"
)
"""Why a table that fits the file may show nothing."""
SAMPLING_STOPPED = "not estimated"
"""How the reason begins where the sampler gave up."""


class Consistency(StrEnum):
    """Whether some table with these quasi-identifiers grows this tree."""

    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    NOT_DECIDED = "not decided"


def consistency_of(truth: FloatArray | Undetermined) -> Consistency:
    """Return whether a table is known to be consistent: the true one, where its classes are known."""
    is_known = not isinstance(truth, Undetermined)
    return Consistency.CONSISTENT if is_known else Consistency.NOT_DECIDED


@dataclass(frozen=True, slots=True)
class Witness:
    """Another world: how it differs from the true table (or from another world) at one profile.

    ``says`` is the difference in words; ``grade`` says whether the learner, run again, grows the same tree on it.
    """

    profile: int
    says: str
    table: IntArray = field(repr=False, compare=False)
    grade: str = "consistent"


@dataclass(frozen=True, slots=True)
class TableEnumeration:
    """What all consistent tables together say, where they were counted, or drawn from.

    ``posterior`` is the share of each class over all of them, ``split_bits`` by how many bits the choice of splits
    narrows them, ``numbers`` how many there are, None where that was not counted.
    """

    posterior: UniformPosterior | Undetermined
    split_bits: Reading
    numbers: TableNumbers | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConsistentTables(Bounds[IntArray]):
    """Integer reasoning over a published tree: ends of how many records of each profile have each class, (P, m).

    ``counts`` (P,) are the profiles' records.
    ``certain`` profiles have one class for all their records in every world, ``certain_class``, for the reason in
    ``reasons``; ``open_profiles`` may be certain, which was not decided, and ``not_decided`` says why:
    ``left`` is why questions were not put or not answered, ``left_of_values`` why some were that only tell which values
    are ruled out.
    """

    counts: IntArray
    consistency: Consistency
    enumeration: TableEnumeration
    conflict: tuple[str, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    witnesses: tuple[Witness, ...] = ()
    not_decided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    left_of_values: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def certain(self) -> BoolArray:
        """Whether all records of a profile provably have one class, shape (P,)."""
        return np.asarray((self.low == self.counts[:, None]).any(axis=1))

    @property
    def certain_class(self) -> IndexArray:
        """The class of each certain profile, -1 elsewhere, shape (P,)."""
        return np.where(self.certain, self.low.argmax(axis=1), -1)

    @property
    def open_profiles(self) -> BoolArray:
        """Whether it was not decided that a profile is certain, shape (P,)."""
        size = self.counts[:, None]
        may = (np.minimum(self.reached_low, self.high) == size).any(axis=1)
        return np.asarray(may & ~self.certain)

    @property
    def certain_rows(self) -> list[int]:
        """The profiles with people that are certain."""
        return [int(row) for row in np.flatnonzero(self.certain & (self.counts > 0))]

    @property
    def is_open(self) -> bool:
        """Whether it was not decided of some profile whether it is certain, or of some class whether it is excluded."""
        return bool(self.open_profiles.any() or self.open_exclusions.any())

    def leaving(self, left: tuple[str, ...]) -> ConsistentTables:
        """Return the same with why something is open, where something is."""
        said = left if self.is_open else ()
        return replace(self, left=said, not_decided=said)

    @property
    def is_out_of_time(self) -> bool:
        """Whether something was left since the budget was used up, so that a larger one may decide it."""
        return any(OUT_OF_TIME in each for each in self.left) and not self.is_in_doubt

    @property
    def is_in_doubt(self) -> bool:
        """Whether something was left since facts were left out, which no time makes up for."""
        return IN_DOUBT in self.left

    @property
    def excluded(self) -> BoolArray:
        """Whether a class is proved to be no record's of a profile, shape (P, m)."""
        return np.asarray(self.high == 0)

    @property
    def open_exclusions(self) -> BoolArray:
        """Whether it was not decided that a class is excluded, shape (P, m)."""
        return np.asarray((self.reached_high <= 0) & (self.high > 0))


# One search over consistent tables, and its answer: each cell certain, witnessed otherwise, or not decided.
#
# What is proved or found stays, whatever happens later in the search.

NOT_DRAWN = Undetermined("the sampler was not run")


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which tiers run and how far each goes: for tests that put one tier to the proof.

    All limits are numbers of tables or steps, never seconds: as long as the budget lasts, the same input gives the same
    readings on every run. ``draws`` are those of tables that know the true leaf counts, where an adversary does not.
    ``lines`` are linear programs over all rows, where some reach across leaves.
    """

    enumerate: EnumerationLimits | None = EnumerationLimits()
    propagate: bool = True
    draws: int = 20
    most_draws: int = 100
    swaps: bool = True
    solver: bool = True
    lines: bool = True
    posterior: bool = True


ALL_TIERS = Tiers()


@dataclass(eq=False)
class ReasoningState:
    """What is proved (``bounds``), what was found (``pool``), and what is said of all worlds together.

    ``drawn`` are independent draws. ``said`` is why questions were left, ``said_of_values`` why some were that are only
    about which values are ruled out.
    """

    facts: Facts
    bounds: CellBounds
    pool: WitnessPool
    clock: Clock
    posterior: UniformPosterior | Undetermined = NOT_DRAWN
    split_bits: Reading = NOT_DRAWN
    counted: TableNumbers | None = None
    drawn: list[IntArray] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    said_of_values: list[str] = field(default_factory=list)

    @property
    def not_moved(self) -> BoolArray:
        """The cells that no world moves, where it is not proved that none does, shape (P, m)."""
        return not_moved(self.facts, self.bounds, self.pool)

    def worst(self, most: int) -> list[int]:
        """Return the positions that come nearest to being certain without being so, nearest first."""
        size = self.facts.counts
        share = self.pool.low / np.maximum(size, 1)[:, None]
        if isinstance(self.posterior, UniformPosterior):
            share = self.posterior.values
        near = share.max(axis=1)
        open_ = np.flatnonzero(~(self.bounds.low == size[:, None]).any(axis=1) & (size > 0))
        order = np.argsort(-near[open_], kind="stable")[:most]
        return [int(position) for position in open_[order]]


# A witness table in words: which other classes a profile's records could have, and which records they traded with.

MOST_WITNESSES = 20


def witnesses(
    facts: Facts,
    pool: WitnessPool,
    truth: IntArray | None,
    worst: Sequence[int],
    until: Clock = FOREVER,
) -> tuple[Witness, ...]:
    """Return worlds one swap away from the truth (else from another world), for the worst profiles first.

    ``worst`` are positions; profiles that no single swap moves have none, nor those that there is no time to check.
    """
    found: list[Witness] = []
    for position in [*worst, *sorted(set(pool.swaps) - set(worst))]:
        if position not in pool.swaps:
            continue
        base, swap = pool.swaps[position]
        if len(found) == MOST_WITNESSES:
            break
        table = swap.applied(pool.tables[base])
        node = int(facts.place_of()[position])
        try:
            if not path_holds(pool.facts, node, table, until):
                raise AssertionError("a swap left the worlds")
        except OutOfTimeError:
            break
        classes = facts.tree.classes
        if swap.second is None:
            says = f"give one of these records “{classes[swap.other]}” instead of “{classes[swap.klass]}”"
        else:
            own, other = swap.klass, swap.other
            partner = swap.second
            if position == swap.second:
                own, other, partner = swap.other, swap.klass, swap.first
            says = (
                f"give one of these records “{classes[other]}” instead of “{classes[own]}”, and give a record with "
                f"{_differs(facts, position, partner)} (otherwise equal) “{classes[own]}” instead"
            )
        start = "the true table" if truth is not None and base == 0 else "another consistent table"
        profile = int(facts.order[position])
        found.append(Witness(profile, f"take {start}: {says}", np.asarray(facts.profiles(table))))
    return tuple(found)


def _differs(facts: Facts, position: int, other_position: int) -> str:
    """Return what another profile has that the first has not, in words."""
    people = facts.case.population
    first, second = int(facts.order[position]), int(facts.order[other_position])
    said = []
    for name in people.qi:
        column = people.columns[name]
        if column.text(first) != column.text(second):
            value = column.text(second)
            said.append(f"{name} = {'(missing)' if value is None else value}")
    return ", ".join(said)


BY_LEAF = "the counts of its leaf"


def so_far(run: ReasoningState) -> ConsistentTables:
    """Return what a run has proved and found by now, without reasons and without the worlds that a report shows."""
    facts, bounds, pool = run.facts, run.bounds, run.pool
    certain = np.asarray(facts.profiles((bounds.low == facts.counts[:, None]).any(axis=1)))
    return ConsistentTables(
        counts=np.asarray(facts.profiles(facts.counts)),
        low=np.asarray(facts.profiles(bounds.low)),
        high=np.asarray(facts.profiles(bounds.high)),
        reached_low=np.asarray(facts.profiles(pool.low)),
        reached_high=np.asarray(facts.profiles(pool.high)),
        consistency=Consistency.NOT_DECIDED if pool.is_empty else Consistency.CONSISTENT,
        reasons=dict.fromkeys(np.flatnonzero(certain).tolist(), BY_LEAF),
        enumeration=TableEnumeration(
            _by_profile(facts, run.posterior), run.split_bits, run.counted
        ),
        notes=facts.notes,
    )


def outcome(run: ReasoningState, truth: IntArray | None, until: Clock) -> ConsistentTables:
    """Return what a run proved and found; no more of the worlds that a report shows than there is time for."""
    facts, bounds, pool = run.facts, run.bounds, run.pool
    low, high = bounds.low, bounds.high
    # Proof and witness must never contradict each other.
    if not pool.is_empty and ((pool.low < low) | (pool.high > high)).any():
        raise AssertionError("a counterexample contradicts a proof")
    certain = (low == facts.counts[:, None]).any(axis=1)
    reasons = {
        int(facts.order[s]): bounds.last.get(s, BY_LEAF) for s in np.flatnonzero(certain).tolist()
    }
    worst = [] if pool.is_empty else run.worst(MOST_WITNESSES)
    worlds = replace(
        so_far(run),
        reasons=dict(sorted(reasons.items())),
        witnesses=witnesses(facts, pool, truth, worst, until),
        left=tuple(run.said),
        left_of_values=tuple(run.said_of_values),
    )
    return with_what_is_open(worlds, is_empty=pool.is_empty)


def inconsistent(facts: Facts, says: tuple[str, ...], seconds: float) -> ConsistentTables:
    """Return the answer where no world obeys the facts; ``says`` names those that conflict."""
    shape = (len(facts.counts), facts.classes)
    nothing = np.zeros(shape, dtype=np.int64)
    everything = np.asarray(facts.profiles(np.broadcast_to(facts.counts[:, None], shape).copy()))
    why = Undetermined("no table with these quasi-identifiers grows this tree")
    return ConsistentTables(
        counts=np.asarray(facts.profiles(facts.counts)),
        low=nothing,
        high=everything,
        reached_low=everything,
        reached_high=nothing,
        consistency=Consistency.INCONSISTENT,
        conflict=says,
        enumeration=TableEnumeration(why, why, TableNumbers(0, 0)),
        notes=facts.notes,
        seconds=seconds,
    )


def _by_profile(
    facts: Facts, posterior: UniformPosterior | Undetermined
) -> UniformPosterior | Undetermined:
    if isinstance(posterior, Undetermined):
        return posterior
    values, low, high = (
        np.asarray(facts.profiles(end)) for end in (posterior.values, posterior.low, posterior.high)
    )
    return UniformPosterior(values, low, high, posterior.draws)


def with_what_is_open(worlds: ConsistentTables, *, is_empty: bool = False) -> ConsistentTables:
    """Return the worlds with what was not decided in words, each with why; nothing where all was."""
    number, values = int(worlds.open_profiles.sum()), int(worlds.open_exclusions.sum())
    said = []
    if number:
        groups = "1 group" if number == 1 else f"{number} groups"
        said.append(f"for {groups}, {_why(worlds.left)}")
    if values:
        because = (*worlds.left, *worlds.left_of_values)
        some = "1 value" if values == 1 else f"{values} values"
        said.append(f"for {some} that the file may rule out, {_why(because)}")
    if is_empty and not said:
        said += worlds.left
    return replace(worlds, not_decided=tuple(said))


def _why(because: Sequence[str]) -> str:
    return "; ".join(("neither a proof nor a counterexample was found", *because))


# When to stop: once the caller knows enough, no more single questions are put.
#
# What an audit is for is a verdict, and a verdict often hangs on the first who is certain. Proofs and worlds only ever
# narrow what is open, so what was decided stays decided.

DECIDED = "the verdict is the same in either case"


@dataclass(eq=False)
class Watch:
    """Asks whether what is known by now is enough, whenever more is known than when it was asked last."""

    run: ReasoningState
    should_stop: ShouldStop[ConsistentTables]
    is_over: bool = False
    seen: tuple[int, int] = field(default=(-1, -1))

    def is_enough(self) -> bool:
        """Return whether nothing that is still open is needed."""
        now = self.run.pool.size, self.run.bounds.moves
        if not self.is_over and now != self.seen:
            self.seen, self.is_over = now, self.should_stop(so_far(self.run))
        return self.is_over
