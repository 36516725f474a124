"""What one model or several releases together tell who knows some columns: exchanges that leave all as they are.

The adversary knows who is in which release, and the same columns of everybody in each. Two people of the same releases
who allow each other's places in all trees of all of them can exchange all that is hidden: then every release has the
numbers that it has. What the trees of one release prove of somebody holds whatever the others say. A model by itself is
the only one of its releases.

Where a number is predicted, a person lies between the ends that each tree leaves. What is possible is shown by people
who exchange all hidden values with their number, in the true table or in one that was found for full knowledge: every
leaf keeps its people's numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from treewarden.audit.facts.kinds import stated_facts
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import RowOrder
from treewarden.audit.partial.ensembles.ensemble_view import (
    EnsembleView,
    ExchangeUnits,
    TreeStops,
    ensemble_view,
    exchange_tables,
    place_doubts,
)
from treewarden.audit.partial.fitting.flows import Network
from treewarden.audit.partial.reachability import proofs
from treewarden.audit.partial.secret_values import column_tests
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.tree_context import are_sizes_published
from treewarden.audit.partial.unmodelled_knowledge import NOT_WHOLE
from treewarden.audit.partial.value_rules import OPEN, ImpliedClasses, imply_classes
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.linked_population import WEIGHT, KnownGroups
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.rows import ROUNDING, mean_sums
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, growth_of

NUMBERS_TOLD = Undetermined(
    "the model predicts a number, so an adversary with partial knowledge infers an "
    "interval for each person"
)
NOT_TOGETHER = (
    "if hidden columns allow several leaves, the bounds of each tree were computed separately"
)
NO_MEANS = "the leaf values are not means of known people's numbers, so they prove nothing here"
NO_MORE_ASKED = "the time was used up after the separate proofs of {:,} of {:,} trees"


@dataclass(frozen=True, eq=False)
class ReleasesView:
    """Several releases, or one model, as who knows some columns sees them: one view each, and who is in which.

    ``seen`` is the last release's people as an adversary tells them apart who knows all columns of all releases, one
    profile for each of ``shared``'s groups that it holds. ``are_draws_known`` says of each whether its draws of records
    can be repeated.
    """

    views: tuple[EnsembleView, ...]
    shared: KnownGroups
    seen: Population
    columns: tuple[str, ...]
    are_draws_known: tuple[bool, ...]

    @cached_property
    def last(self) -> IndexArray:
        """The groups that the last release holds, (U',)."""
        return self.shared.groups(len(self.views) - 1)

    @cached_property
    def told_apart(self) -> tuple[Population, IndexArray]:
        """The last release's people as the adversary tells them apart, and the row of each of its groups, (U',)."""
        if len(self.views) == 1:
            told = self.views[0].told
            return told.people, told.group_of_profile
        known = set(self.columns).union(*(view.told.closure.known for view in self.views))
        names = [name for name in self.seen.qi if _is_known(name, known, self.shared.names)]
        return merged(self.seen, names)

    @cached_property
    def stops(self) -> tuple[TreeStops, ...]:
        """Where people can stop in all trees of all releases; of whom a release does not hold, at a leaf of its own."""
        if len(self.views) == 1:
            return self.views[0].exchanging
        found: list[TreeStops] = []
        for view, places in zip(self.views, self.shared.places, strict=True):
            there, at = places >= 0, np.maximum(places, 0)
            for stops in view.exchanging:
                can = sparse.block_diag([np.ones((1, 1)), stops.can], format="csr")
                lump, leaf = (
                    np.where(there, each[at] + 1, 0)
                    for each in (stops.lump_of_profile, stops.leaf_of_profile)
                )
                found.append(TreeStops(lump, leaf, sparse.csr_array(can), None))
        return tuple(found)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Why more may be known than exchanges leave as it is."""
        found: list[str] = []
        for view, are_known in zip(self.views, self.are_draws_known, strict=True):
            found += place_doubts(view, are_draws_known=are_known)
        return tuple(dict.fromkeys(found))

    @property
    def implied_words(self) -> tuple[str, ...]:
        """What known columns imply of others, in any release."""
        return tuple(dict.fromkeys(each for view in self.views for each in view.told.closure.said))

    @cached_property
    def is_of_fact(self) -> BoolArray:
        """Whether a fact from elsewhere is about the people of each group, in any release, (U,)."""
        found = np.zeros(len(self.shared.counts), dtype=bool)
        for release, view in enumerate(self.views):
            here = self.shared.groups(release)
            found[here] |= view.is_of_fact[self.shared.places[release][here]]
        return found

    @cached_property
    def outcomes(self) -> tuple[ImpliedClasses | None, ...]:
        """What known columns imply of the classes of each release's profiles."""
        found = []
        for view in self.views:
            known, tests = view.told.closure.known, column_tests(view.forest.trees)
            found.append(imply_classes(tests, view.population, known, view.told.closure.values))
        return tuple(found)

    def outcome(self) -> IndexArray:
        """Return the class that known columns imply of each group, (U,), ``OPEN`` where they imply none."""
        told = np.full(len(self.shared.counts), OPEN, dtype=np.intp)
        for release, found in enumerate(self.outcomes):
            if found is not None:
                here = self.shared.groups(release)
                own = found.of[self.shared.places[release][here]]
                order = np.append(self.shared.orders[release], OPEN)
                told[here] = np.where(own == OPEN, told[here], order[own])
        return told


def are_draws_repeatable(model: Model, knowledge: Knowledge) -> bool:
    """Return whether draws of records by a model's trees may be repeated, as far as its file says."""
    if not isinstance(model, Ensemble) or model.sampling.resampled is False:
        return False
    if knowledge.row_order is not RowOrder.KNOWN:
        return False
    return bool(model.sampling.resampled) or model.growth is not None


def _is_known(name: str, columns: Collection[str], releases: Sequence[str]) -> bool:
    """Return whether an adversary knows a column that a release's people are told apart by, of any release."""
    plain = name.rstrip("'")
    if plain in columns or name in columns:
        return True
    if any(plain in (f"in {release}", f"{WEIGHT} in {release}") for release in releases):
        return True
    return any(plain == f"{column} in {release}" for column in columns for release in releases)


def releases_view(
    forests: Sequence[Forest],
    populations: Sequence[Population],
    shared: KnownGroups,
    seen: Population,
    knowledge: Knowledge,
    columns: Collection[str],
    never: Collection[str] = (),
) -> ReleasesView:
    """Return what an adversary who knows these columns sees of several releases."""
    views = tuple(
        ensemble_view(
            forest,
            population,
            stated_facts(knowledge, forest.model.classes, population),
            [name for name in population.qi if name in columns],
            never,
        )
        for forest, population in zip(forests, populations, strict=True)
    )
    are_known = tuple(are_draws_repeatable(forest.model, knowledge) for forest in forests)
    return ReleasesView(views, shared, seen, tuple(columns), are_known)


def model_view(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    columns: Collection[str],
    never: Collection[str] = (),
    *,
    are_draws_known: bool = False,
) -> ReleasesView:
    """Return what an adversary who knows these columns sees of a model by itself: each profile is a group."""
    view = ensemble_view(forest, population, knowledge, columns, never)
    shared = KnownGroups(
        names=(forest.model.source,),
        places=np.arange(len(population.counts))[None],
        counts=population.counts,
        truth=population.truth,
        orders=np.arange(len(forest.model.classes))[None],
        numbers=population.numbers,
    )
    return ReleasesView((view,), shared, population, tuple(columns), (are_draws_known,))


@dataclass(frozen=True, slots=True)
class GroupProofs:
    """How many people of each group have each class at most, (G, m), and whom one tree alone leaves one: (G,)."""

    most: IntArray
    by_tree: BoolArray
    left: tuple[str, ...] = ()


def prove_by_trees(view: ReleasesView, until: Clock) -> GroupProofs:
    """Return what each tree of each release proves by itself of the last release's people, told apart: (R, m)."""
    shape = len(view.shared.counts), len(view.views[-1].forest.model.classes)
    is_left, by_tree = np.ones(shape, dtype=bool), np.zeros(shape[0], dtype=bool)
    left: tuple[str, ...] = ()
    for release, part in enumerate(view.views):
        here, own = view.shared.groups(release), _prove_alone(part, until)
        group = part.told.group_of_profile[view.shared.places[release][here]]
        for place, klass in enumerate(view.shared.orders[release].tolist()):
            is_left[here, klass] &= own.most[group, place] > 0
        by_tree[here] |= own.by_tree[group]
        left += own.left
    people, row_of_group = view.told_apart
    counts = np.rint(people.counts).astype(np.int64)
    is_open = np.zeros((len(counts), shape[1]), dtype=bool)
    np.logical_or.at(is_open, row_of_group, is_left[view.last])
    is_by_tree = np.ones(len(counts), dtype=bool)
    np.logical_and.at(is_by_tree, row_of_group, by_tree[view.last])
    return GroupProofs(np.where(is_open, counts[:, None], 0), is_by_tree, left)


def _prove_alone(view: EnsembleView, until: Clock) -> GroupProofs:
    """Return what each tree that counts its people proves by itself, one after the other while there is time."""
    counts = np.rint(view.told.people.counts).astype(np.int64)
    classes = len(view.forest.model.classes)
    is_left = np.ones((len(counts), classes), dtype=bool)
    by_tree = np.zeros(len(counts), dtype=bool)
    done = 0
    for stops in view.stops:
        if done and until.is_over:
            break
        done += 1
        if stops.counts is None:
            continue
        proved = proofs(stops.network(view.population.counts), stops.counts, stops.counts)
        lump_of_group = view.by_group(stops.lump_of_profile)
        is_left &= ~proved.excluded[lump_of_group]
        by_tree |= np.asarray(proved.certain.any(axis=1))[lump_of_group]
    left: tuple[str, ...] = ()
    if done < len(view.stops):
        left = (NO_MORE_ASKED.format(done, len(view.stops)),)
    return GroupProofs(np.where(is_left, counts[:, None], 0), by_tree, left)


def infer_numbers(
    view: ReleasesView, full: ValueBounds | Undetermined
) -> TargetInference | Undetermined:
    """Return between which ends the number of the last release's people lies, as all releases leave it.

    ``full`` is the same for who knows all columns of all releases, in the order of the last release's groups: a table
    that was found for that adversary fits for any other. The range and the step of each table's numbers are known.
    """
    numbers, shared = view.shared.numbers, view.shared
    if isinstance(numbers, Undetermined):
        return Undetermined(f"the values of the people are not known: {numbers.reason}")
    if (shared.counts != np.rint(shared.counts)).any():
        return NOT_WHOLE
    doubts, size, left = view.doubts, len(shared.counts), NO_MEANS
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for release, part in enumerate(view.views):
        own = part.population.numbers
        assert not isinstance(own, Undetermined)
        here = shared.groups(release)
        group = part.told.group_of_profile[shared.places[release][here]]
        found = None if isinstance(full, Undetermined) else proved_ends(part, own)
        ends = (own.low, own.high) if found is None else (found[0][group], found[1][group])
        left = left if found is None else NOT_TOGETHER
        low[here], high[here] = np.maximum(low[here], ends[0]), np.minimum(high[here], ends[1])
    reached = numbers.least, numbers.most
    if not doubts:
        least, most = numbers.least.copy(), numbers.most.copy()
        if not isinstance(full, Undetermined) and len(full.low) == len(view.last):
            least[view.last] = np.minimum(least[view.last], full.reached_low)
            most[view.last] = np.maximum(most[view.last], full.reached_high)
        reached = reached_over(view.stops, shared.counts, (least, most), view.is_of_fact)
    people, row = view.told_apart
    proved = span_over(row, len(people.counts), low[view.last], high[view.last])
    shown = span_over(row, len(people.counts), reached[0][view.last], reached[1][view.last])
    last = view.views[-1].population.numbers
    assert not isinstance(last, Undetermined)
    is_told = (proved[0] >= shown[0]) & (proved[1] <= shown[1])
    bounds = ValueBounds(
        counts=people.counts,
        low=proved[0],
        high=proved[1],
        reached_low=np.maximum(shown[0], proved[0]),
        reached_high=np.minimum(shown[1], proved[1]),
        by_leaf=proved[1] - proved[0],
        range=Interval(last.low, last.high),
        step=last.step,
        leaves=0 if isinstance(full, Undetermined) else full.leaves,
        left=() if is_told.all() else (*doubts, left),
    )
    return TargetInference(
        people,
        NUMBERS_TOLD,
        NUMBERS_TOLD,
        doubts,
        gap=0.0,
        said=view.implied_words,
        numbers=bounds,
    )


# Between which ends a number lies that a model predicts, tree by tree: in a leaf of n people whose numbers add up to S,
# one of them has at most what the others leave at their least, and at least what they leave at their most. A person
# whose hidden columns allow several leaves of a tree lies between the ends of all of these. Who can be where is known
# where a tree publishes how many people its leaves have; elsewhere a leaf has as many as can stop there at most.

WHOLE = 1e-6
"""By so much of a step an end may be off by rounding."""


def span_over(
    place: IndexArray, size: int, least: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest number at each place, (S,), of entries that are at places."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, place, least)
    np.maximum.at(high, place, most)
    return low, high


def reached_over(
    stops: Sequence[TreeStops],
    counts: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    is_of_fact: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return between which numbers exchanges take somebody of each profile, (P,), given the ends of each, (P,).

    Whom a fact is about, (P,), exchanges nothing.
    """
    size = len(counts)
    profile = np.arange(size)
    value = np.where(is_of_fact, profile + 1, 0)
    units = ExchangeUnits(counts, profile, value, np.full(size, -1, dtype=np.intp))
    tables = exchange_tables(stops, units.keeping(is_of_fact))
    of_column = span_over(tables.column_of_unit, len(tables.value_of_column), *ends)
    net = tables.net
    low, high = _ends_over(net, span_over(net.group_of, net.groups, *of_column))
    return low[tables.row_of_unit], high[tables.row_of_unit]


def _ends_over(net: Network, ends: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each lump, (S,), given those of each group of leaves, (G,), over those that can hold it."""
    arcs = net.movable.tocoo()
    size = len(net.supply)
    return span_over(arcs.row, size, ends[0][arcs.col], ends[1][arcs.col])


def proved_ends(view: EnsembleView, numbers: TargetNumbers) -> tuple[FloatArray, FloatArray] | None:
    """Return between which ends the number of one person of each group lies, (G,), as each tree by itself proves.

    None where leaf values are no means, or means of people whom sampling weights count.
    """
    forest, population = view.forest, view.population
    if population.weight is not None:
        return None
    if growth_of(forest.model) is not None:
        return None
    largest = max(abs(numbers.low), abs(numbers.high))
    sums = mean_sums(forest, population, largest)
    if isinstance(sums, Undetermined):
        return None
    groups = len(view.told.people.counts)
    low, high = np.full(groups, numbers.low), np.full(groups, numbers.high)
    for place, stops in enumerate(view.stops):
        here = sums.trees == place
        people = np.bincount(stops.leaf_of_profile, population.counts)
        means = sums.low[here] / people, sums.high[here] / people
        ends = _ends_in_tree(view, place, stops, means, numbers)
        lump_of_group = view.by_group(stops.lump_of_profile)
        low = np.maximum(low, ends[0][lump_of_group])
        high = np.minimum(high, ends[1][lump_of_group])
    if not numbers.step:
        return low, high
    # All numbers are whole steps above the least one.
    least, most = ((end - numbers.low) / numbers.step for end in (low, high))
    least, most = np.ceil(least - WHOLE), np.floor(most + WHOLE)
    return numbers.low + least * numbers.step, numbers.low + most * numbers.step


def _ends_in_tree(
    view: EnsembleView,
    place: int,
    stops: TreeStops,
    means: tuple[FloatArray, FloatArray],
    numbers: TargetNumbers,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of one person of each lump, (S,), as one tree's means leave them; ``means`` are their ends."""
    counts, tree = view.population.counts, view.forest.trees[place]
    shape = stops.can.shape
    lumps = np.bincount(stops.lump_of_profile, counts, shape[0])
    nodes = np.unique(view.forest.stops[place])
    is_sized = not view.forest.draws and are_sizes_published(tree, nodes)
    if is_sized:
        net = stops.network(counts)
        size = np.bincount(stops.leaf_of_profile, counts, shape[1])
    elif len(nodes) < len(tree.leaves):
        # Whoever does not know the sizes does not know either that nobody is in some leaf.
        return np.full(shape[0], numbers.low), np.full(shape[0], numbers.high)
    else:
        size = np.asarray(stops.can.T @ lumps)
    # One has what the sum leaves where the others have their least, or their most.
    room = ROUNDING * max(abs(numbers.low), abs(numbers.high)) * size
    most = np.minimum(numbers.high, size * means[1] - (size - 1) * numbers.low + room)
    least = np.maximum(numbers.low, size * means[0] - (size - 1) * numbers.high - room)
    if is_sized:
        return _ends_over(net, span_over(net.group_of, net.groups, least, most))
    arcs = stops.can.tocoo()
    return span_over(arcs.row, shape[0], least[arcs.col], most[arcs.col])
