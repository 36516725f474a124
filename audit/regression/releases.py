"""What several releases that predict a number prove together of the numbers of the people whom they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np

from treewarden.audit.clock import Clock, clock
from treewarden.audit.inverters import ValueSums
from treewarden.audit.joint.cells import PeopleCells, cells_of
from treewarden.audit.joint.result import Released
from treewarden.audit.of_releases import of_release
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import (
    MOST_ENTRIES,
    bounds_of,
    problem_with,
    sums_with_rows,
)
from treewarden.audit.regression.known_numbers import (
    NOT_SURE_WHO,
    KnownNumbers,
    are_of_one,
    parts_of,
    with_known,
)
from treewarden.audit.regression.result import EXACT_SHARE, ValueBounds
from treewarden.audit.regression.rows import (
    ROUNDING,
    Scale,
    UnitRange,
    ValueRows,
    rows_between,
    rows_of,
    scale_of,
    together,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray

TOO_LARGE = "all trees of all releases would take too much memory"
OTHER_STEPS = (
    "the values of the releases are multiples of different steps, which may narrow what is possible beyond what was "
    "worked out"
)
NO_TOTAL = "its trees do not agree on the total of all people's numbers"


@dataclass(frozen=True, slots=True, eq=False)
class HeldNumbers:
    """One release: its trees with its own people in them, settings and people's numbers known beside its file."""

    forest: Forest
    population: Population
    training: Mapping[str, float] = field(default_factory=dict)
    background: KnownNumbers | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AllNumbers:
    """What all releases prove together of all groups of people; ``each`` are what single ones say of their leaves."""

    bounds: ValueBounds
    shared: KnownGroups
    each: tuple[ValueSums, ...]

    def seen_by(self, release: int) -> ValueBounds:
        """Return it of the people of one release."""
        groups, value_bounds = self.shared.groups(release), self.bounds
        names = ("counts", "low", "high", "reached_low", "reached_high", "by_leaf")
        own = {name: getattr(value_bounds, name)[groups] for name in names}
        return replace(value_bounds, facts=self.each[release].facts, **own)


def join_numbers(
    held: Sequence[HeldNumbers], shared: KnownGroups, until: Clock, step: Step = silent
) -> AllNumbers | Undetermined:
    """Return what several releases prove together, or why that is not known; other tables are looked for ``until``.

    Whoever holds them knows who is in which, and the range and the step of each table's values.
    """
    numbers = shared.numbers
    if isinstance(numbers, Undetermined):
        return Undetermined(f"the values of the people are not known: {numbers.reason}")
    trees = sum(len(held_numbers.forest.trees) for held_numbers in held)
    if trees * len(shared.counts) > MOST_ENTRIES:
        return Undetermined(TOO_LARGE)
    sums = []
    for name, one in zip(shared.names, held, strict=True):
        with step(f"turning the leaves of {name} back into sums of numbers"):
            found = sums_with_rows(one.forest, one.population, one.training, len(one.forest.trees))
        if isinstance(found, Undetermined):
            return Undetermined(of_release(name, found.reason))
        sums.append(found[2])
    with step("reasoning over the leaves of all releases"):
        found_all = _joined(held, shared, numbers, sums, until)
    if isinstance(found_all, Undetermined):
        return found_all
    with step("reasoning over what each release adds"):
        told = tuple(_disclosed_by_release(held, shared, sums, found_all.bounds))
    return replace(found_all, bounds=replace(found_all.bounds, releases=told))


def _joined(
    held: Sequence[HeldNumbers],
    shared: KnownGroups,
    numbers: TargetNumbers,
    sums: Sequence[ValueSums],
    until: Clock,
) -> AllNumbers | Undetermined:
    stops = [_lifted(shared, number, held_numbers) for number, held_numbers in enumerate(held)]
    facts = [
        held_numbers.background.of_groups(places)
        for held_numbers, places in zip(held, shared.places, strict=True)
        if held_numbers.background is not None
    ]
    cells = cells_of(np.concatenate(stops), shared.counts, parts=parts_of(facts))
    scale = scale_of(numbers)
    largest = max(abs(numbers.low), abs(numbers.high))
    parts = [
        _in_range(
            rows_of(_of_groups(value_sums, shared, number), where, cells, scale, largest),
            held_numbers,
            has,
        )
        for number, (held_numbers, value_sums, where, has) in enumerate(
            zip(held, sums, stops, _holders(shared, cells), strict=True)
        )
    ]
    totals = _totals(sums, shared, cells)
    if isinstance(totals, Undetermined):
        return totals
    of_some = [*totals, *_differences(totals)]
    extra = [_row(total, parts[0], scale, largest) for total in of_some]
    rows = with_known(together([*parts, *extra]), facts, cells, largest)
    problem = problem_with(rows, numbers, cells)
    if problem:
        return Undetermined(problem)
    is_one_step = all(_step(held_numbers) == numbers.step for held_numbers in held)
    left: tuple[str, ...] = () if is_one_step else (OTHER_STEPS,)
    left += () if are_of_one(facts, cells) else (NOT_SURE_WHO,)
    is_all = all(value_sums.is_all for value_sums in sums) and not left
    bounds = bounds_of(rows, cells, numbers, shared.counts, until, is_all=is_all, left=left)
    leaves = sum(len(value_sums.low) for value_sums in sums)
    bounds = replace(
        bounds,
        leaves=leaves,
        recovered=int(rows.are_exact[:leaves].sum()),
        said=tuple(
            of_release(name, each)
            for name, value_sums in zip(shared.names, sums, strict=True)
            for each in value_sums.said
        ),
        differences=tuple(
            _in_words(total, row, shared, numbers)
            for total, row in zip(of_some, extra, strict=True)
            if total.fewer >= 0
        ),
    )
    return AllNumbers(bounds, shared, tuple(sums))


def _disclosed_by_release(
    held: Sequence[HeldNumbers],
    shared: KnownGroups,
    sums: Sequence[ValueSums],
    found: ValueBounds,
) -> Iterator[Released]:
    """Yield what each release adds; only of all of them together are other tables looked for."""
    for number, held_numbers in enumerate(held):
        alone = _exact((held_numbers,), shared.part(number, number + 1), sums[number : number + 1])
        so_far: float | None = found.exact
        if number < len(held) - 1:
            end = number + 1
            so_far = _exact(held[:end], shared.part(0, end), sums[:end]) if number else alone
        yield Released(
            shared.names[number],
            len(held_numbers.forest.trees),
            *shared.moved(number),
            alone,
            so_far,
        )


def _exact(
    held: Sequence[HeldNumbers], shared: KnownGroups, sums: Sequence[ValueSums]
) -> float | None:
    """Return how many people's numbers some releases determine; None where they contradict each other."""
    numbers = shared.numbers
    assert not isinstance(numbers, Undetermined)
    found = _joined(held, shared, numbers, sums, clock(0))
    return None if isinstance(found, Undetermined) else found.bounds.exact


@dataclass(frozen=True, slots=True, eq=False)
class _Total:
    """The sum over the cells that ``has`` (C,) says: all of a release, or whom it has and ``fewer`` has not."""

    release: int
    has: BoolArray
    low: float
    high: float
    fewer: int = -1


def _lifted(shared: KnownGroups, number: int, one: HeldNumbers) -> IndexArray:
    places = shared.places[number]
    return np.where(places < 0, -1, one.forest.stops[:, np.maximum(places, 0)])


def _holders(shared: KnownGroups, cells: PeopleCells) -> list[BoolArray]:
    """Return which cells each release holds, (C,) each."""
    return [np.asarray(places[cells.first] >= 0) for places in shared.places]


def _of_groups(sums: ValueSums, shared: KnownGroups, number: int) -> ValueSums:
    """Return what a release says of its profiles' single people, of groups."""
    places = shared.places[number]
    own = np.maximum(places, 0)
    return replace(
        sums,
        least=np.where(places < 0, -np.inf, sums.least[own]),
        most=np.where(places < 0, np.inf, sums.most[own]),
    )


def _step(one: HeldNumbers) -> float:
    numbers = one.population.numbers
    assert not isinstance(numbers, Undetermined)
    return numbers.step


def _in_range(rows: ValueRows, one: HeldNumbers, has: BoolArray) -> ValueRows:
    """Return rows whose people have no number beyond the range of their release's table."""
    numbers, scale = one.population.numbers, rows.scale
    assert not isinstance(numbers, Undetermined)
    ends = scale.to_units(np.array([numbers.low, numbers.high]), np.ones(2))
    ends = np.rint(ends) if scale.is_whole else ends
    low, high = ends[0] - rows.room, ends[1] + rows.room
    return replace(
        rows,
        least=np.where(has, np.maximum(rows.least, low), rows.least),
        most=np.where(has, np.minimum(rows.most, high), rows.most),
        ranges=(UnitRange(has, float(ends[0]), float(ends[1])),),
    )


def _totals(
    sums: Sequence[ValueSums], shared: KnownGroups, cells: PeopleCells
) -> list[_Total] | Undetermined:
    """Return the sum over all people of each release: what every tree says of it at once."""
    totals = []
    for number, (value_sums, has) in enumerate(zip(sums, _holders(shared, cells), strict=True)):
        trees = np.unique(value_sums.trees, return_inverse=True)[1].reshape(-1)
        size = np.bincount(trees, np.maximum(np.abs(value_sums.low), np.abs(value_sums.high)))
        room = ROUNDING * np.bincount(trees) * size
        low = float((np.bincount(trees, value_sums.low) - room).max())
        high = float((np.bincount(trees, value_sums.high) + room).min())
        if low > high:
            return Undetermined(f"{shared.names[number]}: {NO_TOTAL}")
        totals.append(_Total(number, has, low, high))
    return totals


def _differences(totals: Sequence[_Total]) -> Iterator[_Total]:
    """Yield the sums over those whom one release has beyond all people of another."""
    for fewer, total in permutations(totals, 2):
        new = total.has & ~fewer.has
        if new.any() and not (fewer.has & ~total.has).any():
            room = ROUNDING * (abs(total.low) + abs(total.high) + abs(fewer.low) + abs(fewer.high))
            ends = total.low - fewer.high - room, total.high - fewer.low + room
            yield _Total(total.release, new, *ends, fewer.release)


def _row(total: _Total, like: ValueRows, scale: Scale, largest: float) -> ValueRows:
    place = np.where(total.has, 0, -1)[None, :]
    one = np.zeros(len(like.sizes)), np.full(len(like.sizes), scale.most)
    ends = np.array([total.low]), np.array([total.high])
    return rows_between(place, *ends, like.sizes, one, scale, largest)


def _in_words(total: _Total, row: ValueRows, shared: KnownGroups, numbers: TargetNumbers) -> str:
    """Return in a sentence what the totals of two releases prove of those whom only one of them holds."""
    people = float(row.sizes[total.has].sum())
    low, high = (
        float(end[0] * row.scale.unit + people * row.scale.start) for end in (row.low, row.high)
    )
    who = "the one person" if people == 1 else f"the {people:,.0f} people"
    what = "the number is" if people == 1 else "the sum of their numbers is"
    is_exact = high - low <= EXACT_SHARE * people * (numbers.high - numbers.low)
    some = f"{(low + high) / 2:.9g}" if is_exact else f"between {low:.9g} and {high:.9g}"
    return (
        f"Of {who} whom {shared.names[total.release]} holds and {shared.names[total.fewer]} does not, {what} {some}: "
        "that is the difference of the two releases' totals."
    )
