"""What several releases that predict a number prove together of the numbers of the people whom they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.engine.problem import ALL_PEOPLE, NEW_PEOPLE, AmountRange
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import ValueSums
from treewarden.audit.joint.cells import PartingRows, PeopleCells, cells_of, new_people_rows
from treewarden.audit.joint.draws import parted
from treewarden.audit.joint.releases import (
    ReleaseView,
    difference_words,
    disclosed_by_release,
    lifted,
    weights_of_groups,
    words_of_sums,
)
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined, of_release
from treewarden.audit.regression.inference import (
    MOST_ENTRIES,
    bounds_of,
    number_weights,
    problem_with,
    sums_with_rows,
)
from treewarden.audit.regression.result import EXACT_SHARE, ValueBounds
from treewarden.audit.regression.rows import (
    ROUNDING,
    NumberRows,
    Scale,
    amounts_of,
    counted_in,
    part_of,
    rows_of,
    scale_of,
    together,
)
from treewarden.audit.regression.totals import (
    NOT_SURE_WHO,
    are_of_one,
    parts_of,
    with_known,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray

TOO_LARGE = "all trees of all releases need too much memory"
OTHER_STEPS = (
    "the values of the releases have different step sizes, which may disclose more than "
    "was computed"
)
NO_TOTAL = "its trees give different totals of all people's numbers"


@dataclass(frozen=True, slots=True, eq=False)
class AllNumbers:
    """What all releases prove together of all groups of people; ``each`` are what single ones say of their leaves."""

    bounds: ValueBounds
    shared: KnownGroups
    each: tuple[ValueSums, ...]

    def seen_by(self, release: int) -> ValueBounds:
        """Return it of the people of one release."""
        groups, value_bounds = self.shared.groups(release), self.bounds
        own = {name: getattr(value_bounds, name)[groups] for name in ("counts", "by_leaf")}
        return replace(value_bounds.of_groups(groups), facts=self.each[release].facts, **own)


def join_numbers(
    releases: Sequence[ReleaseView], shared: KnownGroups, budget: TimeBudget, step: Step = silent
) -> AllNumbers | Undetermined:
    """Return what several releases prove together, or why that is not known; ``budget`` is as of ``values_of``.

    Whoever holds them knows who is in which, and the range and the step of each table's values.
    """
    numbers = shared.numbers
    if isinstance(numbers, Undetermined):
        return Undetermined(f"the values of the people are not known: {numbers.reason}")
    trees = sum(len(release_view.forest.trees) for release_view in releases)
    if trees * len(shared.counts) > MOST_ENTRIES:
        return Undetermined(TOO_LARGE)
    sums = []
    for name, one in zip(shared.names, releases, strict=True):
        with step(f"recovering sums of numbers from the leaves of {name}"):
            found = sums_with_rows(one.forest, one.population, one.training, len(one.forest.trees))
        if isinstance(found, Undetermined):
            return Undetermined(of_release(name, found.reason))
        sums.append(found[0])
    with step("reasoning over the leaves of all releases") as share:
        found_all = _joined(releases, shared, numbers, sums, budget.told_to(share))
    if isinstance(found_all, Undetermined):
        return found_all
    with step("reasoning over what each release adds") as share:
        part = budget.told_to(share)

        def exact(first: int, end: int) -> float | None:
            own = slice(first, end)
            return _exact(releases[own], shared.part(first, end), sums[own], part)

        by_all = found_all.bounds.exact
        told = tuple(disclosed_by_release(releases, shared, exact, by_all))
    return replace(found_all, bounds=replace(found_all.bounds, releases=told))


def _joined(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    numbers: TargetNumbers,
    sums: Sequence[ValueSums],
    budget: TimeBudget,
) -> AllNumbers | Undetermined:
    facts = [
        release_view.numbers.of_groups(places)
        for release_view, places in zip(releases, shared.places, strict=True)
        if release_view.numbers is not None
    ]
    rows = _rows(releases, shared, numbers, sums, parts_of(facts))
    if isinstance(rows, Undetermined):
        return rows
    rows = with_known(rows, facts)
    problem = problem_with(rows, numbers)
    if problem:
        return Undetermined(problem)
    is_one_step = all(_numbers(release_view).step == numbers.step for release_view in releases)
    left: tuple[str, ...] = () if is_one_step else (OTHER_STEPS,)
    left += () if are_of_one(facts, rows.cells) else (NOT_SURE_WHO,)
    is_all = all(value_sums.is_all for value_sums in sums) and not left
    bounds = bounds_of(rows, numbers, shared.counts, budget, is_all=is_all, left=left)
    if isinstance(bounds, Undetermined):
        return bounds
    bounds = replace(
        bounds,
        leaves=sum(len(value_sums.low) for value_sums in sums),
        recovered=_recovered(rows),
        said=words_of_sums(shared, sums),
        differences=_differences(rows, shared, numbers),
    )
    return AllNumbers(bounds, shared, tuple(sums))


def _rows(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    numbers: TargetNumbers,
    sums: Sequence[ValueSums],
    parts: IndexArray | None,
) -> NumberRows | Undetermined:
    """Return what the leaves of all releases say, and their totals, over the groups of people."""
    stops = [
        lifted(one.forest.stops, places)
        for one, places in zip(releases, shared.places, strict=True)
    ]
    weights = [
        weights_of_groups(number_weights(one.population), places)
        for one, places in zip(releases, shared.places, strict=True)
    ]
    weighed = [each for each in weights if each is not None]
    if weighed:
        parts = parted(parts, *weighed)
    cells = cells_of(np.concatenate(stops), shared.counts, parts=parts)
    often = [np.ones(len(shared.counts), dtype=np.int64), *weighed]
    scale = scale_of(numbers, max(int(shared.counts @ each) for each in often))
    found, first = [], 0
    for number, (one, value_sums, where) in enumerate(zip(releases, sums, stops, strict=True)):
        own = _of_groups(value_sums, shared, number)
        rows = rows_of(own, where, cells, scale, first, weights[number])
        found.append(_in_range(rows, one, shared.places[number][cells.first] >= 0))
        first += len(one.forest.trees)
    totals = []
    for number, (value_sums, places) in enumerate(zip(sums, shared.places, strict=True)):
        total = _total(value_sums, places, cells, scale, (number, weights[number]))
        if (total.low > total.high).any():
            return Undetermined(f"{shared.names[number]}: {NO_TOTAL}")
        totals.append((number, [total]))
    of_some = [total for _, each in totals for total in each]
    of_some += new_people_rows(totals, len(cells.sizes))
    rows = together(found)
    return replace(rows, parts=(*rows.parts, *of_some))


def _recovered(rows: NumberRows) -> int:
    """Return of how many leaves the sum is told but for rounding."""
    sizes, found = rows.cells.sizes, 0
    for part in rows.parts:
        if part.place is not None and part.trees[0] >= 0:
            people = counted_in(part.place, sizes, part.times, len(part.low))
            found += int(rows.is_exact(part.low, part.high, people).sum())
    return found


def _exact(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    sums: Sequence[ValueSums],
    budget: TimeBudget,
) -> float | None:
    """Return how many people's numbers some releases determine; None where they contradict each other."""
    numbers = shared.numbers
    assert not isinstance(numbers, Undetermined)
    found = _joined(releases, shared, numbers, sums, budget.without_search())
    return None if isinstance(found, Undetermined) else found.bounds.exact


def _of_groups(sums: ValueSums, shared: KnownGroups, number: int) -> ValueSums:
    """Return what a release says of its profiles' single people, of groups."""
    places = shared.places[number]
    own = np.maximum(places, 0)
    return replace(
        sums,
        least=np.where(places < 0, -np.inf, sums.least[own]),
        most=np.where(places < 0, np.inf, sums.most[own]),
    )


def _numbers(one: ReleaseView) -> TargetNumbers:
    numbers = one.population.numbers
    assert not isinstance(numbers, Undetermined)
    return numbers


def _in_range(rows: NumberRows, one: ReleaseView, has: BoolArray) -> NumberRows:
    """Return rows whose people have no number beyond the range of their release's table."""
    numbers, scale, amounts = _numbers(one), rows.scale, rows.amounts
    ends = scale.to_units(np.array([numbers.low, numbers.high]), np.ones(2))
    low, high = np.rint(ends).astype(np.int64).tolist()
    least = np.where(has, np.maximum(amounts.least, low - scale.room), amounts.least)
    most = np.where(has, np.minimum(amounts.most, high + scale.room), amounts.most)
    return replace(rows, amounts=amounts_of(least, most, scale, (AmountRange(has, low, high),)))


def _total(
    sums: ValueSums,
    places: IndexArray,
    cells: PeopleCells,
    scale: Scale,
    release: tuple[int, IntArray | None],
) -> PartingRows:
    """Return the sum over all people of a release: what every tree says of it at once.

    ``release`` is its number, and what everybody counts in its leaves.
    """
    number, weights = release
    trees = np.unique(sums.trees, return_inverse=True)[1].reshape(-1)
    size = np.bincount(trees, np.maximum(np.abs(sums.low), np.abs(sums.high)))
    room = ROUNDING * np.bincount(trees) * size
    low = (np.bincount(trees, sums.low) - room).max(keepdims=True)
    high = (np.bincount(trees, sums.high) + room).min(keepdims=True)
    place = np.where(places[cells.first] >= 0, 0, -1)
    origin = np.array([ALL_PEOPLE]), np.array([number])
    times = None if weights is None else weights[cells.first]
    return part_of(place, (low, high), *origin, cells, scale, times)


def _differences(rows: NumberRows, shared: KnownGroups, numbers: TargetNumbers) -> tuple[str, ...]:
    """Return in sentences what the totals of two releases prove of those whom only one of them holds."""
    said, scale = [], rows.scale
    for part in rows.parts:
        if part.place is None or part.times is not None or part.trees[0] != NEW_PEOPLE:
            continue
        people = int(rows.cells.sizes[part.place >= 0].sum())
        low, high = (
            float(end[0] * scale.unit + people * scale.start) for end in (part.low, part.high)
        )
        fewer, more = divmod(int(part.nodes[0]), len(shared.names))
        what = _in_words(low, high, people, numbers)
        said.append(difference_words(shared, fewer, more, people, what))
    return tuple(said)


def _in_words(low: float, high: float, people: int, numbers: TargetNumbers) -> str:
    """Return between which ends lies what the numbers of so many people add up to."""
    what = "the number is" if people == 1 else "the sum of their numbers is"
    is_exact = high - low <= EXACT_SHARE * people * (numbers.high - numbers.low)
    middle = 0.0 if low <= 0 <= high else (low + high) / 2
    some = f"{middle:.9g}" if is_exact else f"between {low:.9g} and {high:.9g}"
    return f"{what} {some}"
