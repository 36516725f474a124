"""What several releases prove together of the people whom they share, and what each of them adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import (
    ALL_PEOPLE,
    KNOWN_FACT,
    NEW_PEOPLE,
    Estimate,
    Problem,
    ProblemBounds,
)
from treewarden.audit.engine.time_budget import ADDS_SHARE, TimeBudget
from treewarden.audit.inverters import Added, LeafSums, ValueSums
from treewarden.audit.joint.cells import (
    PeopleCells,
    ReleaseCells,
    cells_of,
    class_by_leaf,
    is_weighed,
    rows_of,
)
from treewarden.audit.joint.draws import Units, parted
from treewarden.audit.joint.ensemble_inference import (
    NOT_ALL_OF_SAMPLES,
    JoinedTrees,
    recovered_leaves,
    sums_of,
)
from treewarden.audit.joint.known_facts import KnownNumbers, KnownRows, joined_rows
from treewarden.audit.joint.leaf_facts import MOST_ENTRIES, problem_with
from treewarden.audit.joint.profiles import Where, known_in_words
from treewarden.audit.joint.result import EnsembleInference, Released
from treewarden.audit.joint.sampling_weights import weights_in_leaves
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined, of_release
from treewarden.ppdm_models.arrays import IndexArray, IntArray

ROUNDING = 2.0**-45
"""Relative rounding of a sum over people, with room to spare."""

CUT_OF_SEVERAL = (
    "leaf values of a release are rounded, and proofs from the other releases were not "
    "used to refine them"
)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseView:
    """One release: its trees with its own people in them, settings that the adversary knows beside its file.

    ``proved`` is what its splits and leaves prove by themselves of its profiles, where that was looked for.
    ``background`` are facts from elsewhere about its people's classes, ``numbers`` about their numbers.
    """

    forest: Forest
    population: Population
    training: Mapping[str, float] = field(default_factory=dict)
    proved: ConsistentTables | None = None
    background: KnownRows | None = None
    numbers: KnownNumbers | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AllReleases:
    """What all releases prove together of all groups of people; see ``seen_by``."""

    joined: JoinedTrees
    shared: KnownGroups
    where: Where

    def seen_by(self, release: int) -> JoinedTrees:
        """Return it of the people of one release, in the order of its own classes."""
        joined, groups = self.joined, self.shared.groups(release)
        order = self.shared.orders[release]
        bounds, estimate = joined.bounds, joined.bounds.estimate
        if isinstance(estimate, Estimate):
            estimate = replace(estimate, values=estimate.values[:, order])
        bounds = replace(bounds.in_order(order), estimate=estimate)
        cells = replace(joined.cells, of=joined.cells.of[groups])
        ensemble_inference = replace(joined.inference, by_leaf=joined.inference.by_leaf[groups])
        truth, people = joined.units.truth, joined.units.people[groups]
        truth = None if truth is None else truth[groups][:, order]
        units = Units(joined.units.stops[:, groups], people, np.arange(len(groups)), truth)
        return replace(
            joined, inference=ensemble_inference, cells=cells, bounds=bounds, units=units
        )


def join_releases(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    budget: TimeBudget,
    step: Step = silent,
) -> AllReleases | Undetermined:
    """Return what several releases prove together, or why that is not known; ``budget`` is as of ``join_trees``."""
    sums = _sums_by_release(releases, shared, step)
    if isinstance(sums, Undetermined):
        return sums
    trees = sum(len(release_view.forest.trees) for release_view in releases)
    if trees * shared.places.shape[1] > MOST_ENTRIES:
        return Undetermined("all trees of all releases need too much memory")
    parts = _parts(releases, shared, sums)
    with step("reasoning over what each release adds") as share:
        part = budget.share(ADDS_SHARE).told_to(share)
        each = 1 / (2 * len(releases))

        def certain(first: int, end: int) -> float | None:
            own = [one for release_parts in parts[first:end] for one in release_parts]
            return _certain(releases, shared, own, range(first, end), part.share(each))

        added = list(disclosed_by_release(releases, shared, certain))
    background = _background_rows(releases, shared, range(len(releases)))
    whole = _joined(shared, [part for release_parts in parts for part in release_parts], background)
    if isinstance(whole, Undetermined):
        return whole
    cells, problem = whole
    units = _units(shared)
    truth = None if units.truth is None else cells.summed(units.truth)
    mismatch = "" if truth is None else problem_with(problem, truth)
    if mismatch:
        return Undetermined(mismatch)
    missing = _missing(sums)
    problem = replace(problem, incomplete=missing)
    with step("reasoning over the leaves of all releases") as share:
        rest = replace(budget, searching=budget.share(1 - ADDS_SHARE).searching)
        bounds = reason(problem, truth=truth, budget=rest.told_to(share))
    if bounds.problem:
        return Undetermined(f"no table is consistent with all releases: {bounds.problem}")
    recovered = tuple(map(recovered_leaves, sums))
    inference = EnsembleInference(
        trees=trees,
        leaves=sum(leaves for _, leaves in recovered),
        recovered=sum(exact for exact, _ in recovered),
        by_leaf=class_by_leaf(problem, cells, trees) >= 0,
        facts=sums[-1].facts,
        said=words_of_sums(shared, sums),
        left=bounds.left,
        is_complete=not missing,
        releases=_with_all(added, bounds, cells),
        differences=_differences(problem, shared, releases[-1].forest.model.classes),
    )
    joined = JoinedTrees(inference, units, cells, problem, bounds)
    return AllReleases(joined, shared, _where(releases, shared, background))


def _sums_by_release(
    releases: Sequence[ReleaseView], shared: KnownGroups, step: Step
) -> list[LeafSums] | Undetermined:
    """Return what the leaves of each release say of its people, or why that is not known of one."""
    sums: list[LeafSums] = []
    for name, release_view in zip(shared.names, releases, strict=True):
        with step(f"recovering class counts from the leaves of {name}"):
            found = sums_of(release_view.forest, release_view.population, release_view.training)
        if isinstance(found, Undetermined):
            return Undetermined(of_release(name, found.reason))
        sums.append(found)
    return sums


def _missing(sums: Sequence[LeafSums]) -> str:
    """Return what the files say beyond the rows, "" where these are all that they say."""
    is_cut = len(sums) > 1 and any(leaf_sums.is_cut for leaf_sums in sums)
    if all(leaf_sums.is_complete for leaf_sums in sums) and not is_cut:
        return ""
    reasons = (*(leaf_sums.missing for leaf_sums in sums), CUT_OF_SEVERAL * is_cut)
    return next((missing for missing in reasons if missing), NOT_ALL_OF_SAMPLES)


def words_of_sums(shared: KnownGroups, sums: Sequence[LeafSums | ValueSums]) -> tuple[str, ...]:
    """Return what was taken for what where leaves were inverted, by release."""
    return tuple(
        of_release(name, said)
        for name, leaf_sums in zip(shared.names, sums, strict=True)
        for said in leaf_sums.said
    )


def _with_all(
    added: Sequence[Released], bounds: ProblemBounds, cells: PeopleCells
) -> tuple[Released, ...]:
    """Return what each release adds, the last with how many people all of them make certain."""
    sure = (bounds.low == cells.sizes[:, None]).any(axis=1)
    return (*added[:-1], replace(added[-1], so_far=float(cells.sizes[sure].sum())))


def _units(shared: KnownGroups) -> Units:
    """Return the groups of people as those whom the leaves are about; where they stop stands beside each release."""
    size = len(shared.counts)
    truth = None if isinstance(shared.truth, Undetermined) else shared.truth
    return Units(np.empty((0, size), dtype=np.intp), shared.counts, np.arange(size), truth)


def _parts(
    releases: Sequence[ReleaseView], shared: KnownGroups, sums: Sequence[LeafSums]
) -> list[list[ReleaseCells]]:
    """Return the rows of each release, lifted to the groups of people: those of its leaves, and what it proves else."""
    found, first = [], 0
    for number, (release_view, leaf_sums) in enumerate(zip(releases, sums, strict=True)):
        places, order = shared.places[number], shared.orders[number]
        stops = lifted(release_view.forest.stops, places)
        told = _reordered(leaf_sums, order, release_view)
        told = replace(told, added=tuple(_of_groups(one, places) for one in told.added))
        of_profiles = weights_in_leaves(release_view.forest, release_view.population)
        weights = weights_of_groups(of_profiles, places)
        parts = [ReleaseCells(stops, told, first, number, weights=weights)]
        first += len(release_view.forest.trees)
        found.append(parts)
    for number, release_view in enumerate(releases):
        if release_view.proved is not None:
            places = shared.places[number]
            proved = _reordered(
                _profiles_of(release_view.proved),
                shared.orders[number],
                release_view,
                release_view.proved,
            )
            found[number].append(ReleaseCells(places[None, :], proved, first, number))
        first += 1
    return found


def weights_of_groups(weights: IntArray | None, places: IndexArray) -> IntArray | None:
    """Return what one person of each group counts in a release's leaves, nothing where it has none of them, (U,)."""
    return None if weights is None else np.where(places < 0, 0, weights[np.maximum(places, 0)])


def lifted(stops: IndexArray, places: IndexArray) -> IndexArray:
    """Return where groups stop, from where profiles do; -1 where a group is not held."""
    return np.where(places < 0, -1, stops[:, np.maximum(places, 0)])


def _profiles_of(worlds: ConsistentTables) -> LeafSums:
    """Return what is proved of the profiles of a tree, as if each were a leaf of one tree."""
    size, classes = worlds.low.shape
    counted = np.arange(classes) if classes > 2 else np.array([1])
    nodes = np.repeat(np.arange(size), len(counted))
    output = np.tile(counted, size)
    low, high = worlds.low[nodes, output], worlds.high[nodes, output]
    return LeafSums(
        trees=np.zeros(len(nodes), dtype=np.intp),
        nodes=nodes,
        output=output,
        low=low,
        high=high,
        wide=np.zeros(len(nodes)),
        facts={},
    )


def _reordered(
    sums: LeafSums,
    order: IndexArray,
    release_view: ReleaseView,
    of_profiles: ConsistentTables | None = None,
) -> LeafSums:
    """Return sums that count the classes in another order; ``order`` is the place of each own class there."""
    if (order == np.arange(len(order))).all():
        return sums
    if len(order) > 2:
        added = tuple(replace(each, output=int(order[each.output])) for each in sums.added)
        return replace(sums, output=order[sums.output], added=added)
    # Of two classes the second is counted: that is the other one now.
    sums = replace(sums, added=tuple(_others(each, release_view) for each in sums.added))
    if of_profiles is not None:
        people = np.rint(release_view.population.counts).astype(np.int64)[sums.nodes]
    else:
        people = _people(sums, release_view)
    return replace(sums, low=people - sums.high, high=people - sums.low)


def _others(added: Added, release_view: ReleaseView) -> Added:
    """Return a sum over those of two classes who have the other one: what all add, less those who have this one."""
    size, people = len(added.nodes), release_view.population.counts
    whole = np.bincount(added.place, added.each * people, size)
    room = ROUNDING * np.bincount(added.place, np.abs(added.each) * people, size)
    return replace(added, low=whole - added.high - room, high=whole - added.low + room)


def _of_groups(added: Added, places: IndexArray) -> Added:
    """Return a sum over the profiles of a release as one over groups; whom the release does not hold adds nothing."""
    is_there, own = places >= 0, np.maximum(places, 0)
    return replace(
        added,
        place=np.where(is_there, added.place[own], 0),
        each=np.where(is_there, added.each[own], 0.0),
    )


def _people(sums: LeafSums, release_view: ReleaseView) -> IndexArray:
    """Return how many people stop in each leaf, or what they weigh in whole units, shape (R,)."""
    found = np.empty(len(sums.nodes), dtype=np.int64)
    weights = weights_in_leaves(release_view.forest, release_view.population)
    people = release_view.population.counts * (1 if weights is None else weights)
    for tree in np.unique(sums.trees).tolist():
        here = np.flatnonzero(sums.trees == tree)
        inside = np.bincount(release_view.forest.stops[tree], people)
        found[here] = np.rint(inside[sums.nodes[here]]).astype(np.int64)
    return found


def _background_rows(
    releases: Sequence[ReleaseView], shared: KnownGroups, numbers: Sequence[int]
) -> KnownRows | None:
    """Return the facts about the people of some releases, over groups, in the order of their common classes."""
    parts = []
    for number in numbers:
        background = releases[number].background
        if background is not None:
            output = shared.orders[number][background.output]
            parts.append(replace(background.of_units(shared.places[number]), output=output))
    return joined_rows(parts)


def _joined(
    shared: KnownGroups, releases: Sequence[ReleaseCells], background: KnownRows | None
) -> tuple[PeopleCells, Problem] | Undetermined:
    stops = np.concatenate([release.stops for release in releases])
    parts = None if background is None else background.parts()
    weights = [release.weights for release in releases if release.weights is not None]
    if weights:
        parts = parted(parts, *weights)
    cells = cells_of(stops, shared.counts, parts=parts)
    rows = rows_of(releases, cells, shared.orders.shape[1], background)
    return rows if isinstance(rows, Undetermined) else (cells, rows)


def disclosed_by_release(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    certain: Callable[[int, int], float | None],
    by_all: float | None = None,
) -> Iterator[Released]:
    """Yield what each release adds; ``by_all`` are how many people all of them make certain.

    ``certain`` is asked how many people the releases from one to another make certain, of those that they hold.
    """
    last = len(releases) - 1
    for number, release_view in enumerate(releases):
        alone = certain(number, number + 1)
        so_far = alone if number < last else by_all
        if 0 < number < last:
            so_far = certain(0, number + 1)
        moved, trees = shared.moved(number), len(release_view.forest.trees)
        yield Released(shared.names[number], trees, *moved, alone, so_far)


def _certain(
    releases: Sequence[ReleaseView],
    shared: KnownGroups,
    parts: Sequence[ReleaseCells],
    numbers: range,
    budget: TimeBudget,
) -> float | None:
    """Return how many people are certain by some releases, of those that they hold; None where they contradict."""
    joined = _joined(shared, parts, _background_rows(releases, shared, numbers))
    if isinstance(joined, Undetermined):
        return None
    cells, rows = joined
    truth = None if isinstance(shared.truth, Undetermined) else cells.summed(shared.truth)
    bounds = reason(rows, truth=truth, budget=budget)
    if bounds.problem:
        return None
    has = (shared.places[numbers] >= 0).any(axis=0)
    sure = (bounds.low == cells.sizes[:, None]).any(axis=1)[cells.of]
    return float(shared.counts[sure & has].sum())


def _where(
    releases: Sequence[ReleaseView], shared: KnownGroups, background: KnownRows | None
) -> Where:
    """Return what names the leaves of all releases' trees, its people, those who are new in one, and known facts."""
    trees = [
        (release, number)
        for release, release_view in enumerate(releases)
        for number in range(len(release_view.forest.trees))
    ]

    def where(tree: int, node: int) -> str:
        if tree == ALL_PEOPLE:
            return f"in all of {shared.names[node]}"
        if tree == KNOWN_FACT and background is not None:
            return known_in_words(background, node)
        if tree == NEW_PEOPLE:
            fewer, more = divmod(node, len(releases))
            return f"among the people in {shared.names[more]} but not in {shared.names[fewer]}"
        if tree >= len(trees):
            return f"{shared.names[tree - len(trees)]}, its splits and leaves"
        release, number = trees[tree]
        own = releases[release].forest.trees
        place = f"tree {number + 1}, " if len(own) > 1 else ""
        return f"{shared.names[release]}, {place}leaf {own[number].nodes[node].name}"

    return where


def _differences(rows: Problem, shared: KnownGroups, classes: Sequence[str]) -> tuple[str, ...]:
    """Return in sentences what the totals of two releases prove of those whom only one of them holds."""
    people, said, several = rows.people, [], len(shared.names)
    for row in np.flatnonzero(rows.trees == NEW_PEOPLE).tolist():
        fewer, more = divmod(int(rows.nodes[row]), several)
        low, high = int(rows.low[row]), int(rows.high[row])
        size = int(people[row])
        if (low <= 0 and high >= size) or is_weighed(rows, row):
            continue
        some = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        have = "has" if high == 1 else "have"
        value = classes[int(rows.output[row])]
        said.append(difference_words(shared, fewer, more, size, f"{some} {have} “{value}”"))
    return tuple(dict.fromkeys(said))


def difference_words(shared: KnownGroups, smaller: int, larger: int, people: int, what: str) -> str:
    """Return in a sentence what the totals of two releases prove of so many people whom only one of them holds."""
    who = "the one person" if people == 1 else f"the {people:,} people"
    names = f"{shared.names[larger]} but not in {shared.names[smaller]}"
    return f"Of {who} in {names}, {what}: the difference of the two totals proves it."
