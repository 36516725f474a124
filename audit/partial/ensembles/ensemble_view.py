"""What an adversary who knows some columns sees of several trees: where people can stop in each, and in all at once.

A person's hidden values decide where the person stops in all trees together: at a *place*, one leaf in each tree. The
places where people truly stop are few; those where somebody could are as many as hidden values can be told apart.

Witness tables let people exchange all their hidden values, and so the places where they stop. Two people can exchange
them, with the value that the model predicts, where each one's known values allow the other's place in every tree. Then
as many people of each class, or with each number, stop at each place as before. All that trees say of their leaves
follows from that: counts, sums, means, impurities, and the values of boosted leaves, which are functions of who is at
which place. So every way to spread people over the occupied places that their known values allow is a table that fits
the whole file. These ways form a transportation polytope, which is known exactly. Facts from elsewhere about known
columns stay true where those whom they are about keep their value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from treewarden.audit.facts.kinds import columns_of_facts, people_of_facts
from treewarden.audit.joint.cells import PeopleCells, cells_of
from treewarden.audit.joint.draws import counts_at, parted
from treewarden.audit.joint.known_facts import KnownRows, known_rows
from treewarden.audit.joint.sampling_weights import (
    WeighedEnds,
    WeightUnits,
    weighed_ends,
    weight_units,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.fitting.flows import Network, network
from treewarden.audit.partial.functional_dependencies import (
    AdversaryKnowledge,
    Codes,
    tell_columns,
)
from treewarden.audit.partial.partial_view import branches, partial_view
from treewarden.audit.partial.reachability import reach
from treewarden.audit.partial.secret_values import (
    distinguished_values,
    hidden_values,
)
from treewarden.audit.partial.tree_context import are_sizes_published
from treewarden.audit.partial.unmodelled_knowledge import FACTS_NOT_USED, SPLITS_NOT_USED
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, alike, grouped
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Missing, Task, Tree

MIXED = (
    "some tests use a hidden and a known column at once, so possible leaves are not "
    "computed for all trees combined"
)
MOST_DENSE = 40_000_000
"""Lumps times leaves up to which it is kept place by place who can stop where."""
LACKING = (
    "some people lack values that the trees test, so possible leaves are not computed for "
    "all trees combined"
)


@dataclass(frozen=True, eq=False)
class TreeStops:
    """Where inference groups can stop in one tree, and where everybody does.

    Groups that can stop at the same leaves are one lump: ``lump_of_profile`` (P,) is that of each profile, and ``can``
    (S, L) says at which of the L leaves that hold somebody people of each lump can stop. ``leaf_of_profile`` (P,) is
    the leaf of each among them. ``counts`` (L, m) are the people of each class that the file says each leaf has, None
    where it does not say it. ``weighed`` are the ends of sums of their sampling weights, where it says these.
    """

    lump_of_profile: IndexArray
    leaf_of_profile: IndexArray
    can: sparse.csr_array
    counts: FloatArray | None
    weighed: WeighedEnds | None = None

    @property
    def ends(self) -> tuple[FloatArray, FloatArray] | None:
        """Between which ends people of each class, or their weights, add up to in each leaf, (L, m); None if unsaid."""
        if self.weighed is not None:
            return self.weighed.low, self.weighed.high
        return None if self.counts is None else (self.counts, self.counts)

    @cached_property
    def lump_at_leaf(self) -> BoolArray | None:
        """The same as ``can``, dense; None where that is large."""
        return self.can.toarray() > 0 if np.prod(self.can.shape) <= MOST_DENSE else None

    def network(self, counts: FloatArray) -> Network:
        """Return who can be where in the tree, given how many people each profile has, (P,)."""
        there = self.lump_of_profile, self.leaf_of_profile
        world = sparse.coo_array((counts, there), shape=self.can.shape).tocsr()
        return network(self.can, world)

    def allows(self, lumps: IndexArray, leaves: IndexArray) -> BoolArray:
        """Return whether people of each lump can stop at the leaf beside it, (N,)."""
        if self.lump_at_leaf is not None:
            return np.asarray(self.lump_at_leaf[lumps, leaves])
        return np.asarray(self.can[lumps, leaves] > 0).reshape(-1)


@dataclass(frozen=True, eq=False)
class EnsembleView:
    """What an adversary who knows some columns of a model's people sees of its trees.

    ``columns`` are those of ``population`` that the adversary was told, ``told`` what follows from them, and
    ``knowledge`` what is known from elsewhere.
    """

    forest: Forest
    population: Population
    knowledge: Knowledge
    columns: tuple[str, ...]
    told: AdversaryKnowledge

    @cached_property
    def stops(self) -> tuple[TreeStops, ...]:
        """Where groups can stop in each tree."""
        return tuple(self._stops_in(place) for place in range(len(self.forest.trees)))

    @cached_property
    def weights(self) -> WeightUnits | None:
        """What each person counts where the trees sum sampling weights; None where each counts once."""
        return weight_units(self.population)

    @property
    def are_facts_told(self) -> bool:
        """Whether facts from elsewhere are about known columns alone, so that it is known whom they are about."""
        return columns_of_facts(self.knowledge) <= set(self.columns)

    @cached_property
    def is_of_fact(self) -> BoolArray:
        """Whether a fact from elsewhere is about the people of each profile, (P,)."""
        return people_of_facts(self.knowledge, self.population)

    @cached_property
    def facts(self) -> KnownRows | None:
        """What facts from elsewhere say of the groups' classes; None where they say nothing, or it is open of whom."""
        classes = self.forest.model.classes
        if not (self.knowledge.facts and self.are_facts_told and classes):
            return None
        return known_rows(self.knowledge, classes, self.told.people)

    def by_group(self, of_profile: IndexArray) -> IndexArray:
        """Return the number of each group, (G,), given that of each profile, (P,): all of a group have the same."""
        found = np.zeros(self.told.groups, dtype=np.intp)
        found[self.told.group_of_profile] = of_profile
        return found

    @cached_property
    def exchanging(self) -> tuple[TreeStops, ...]:
        """The same as ``stops``, and that whoever takes over what is hidden of another has the same sampling weight."""
        weight = self.population.weight
        if weight is None:
            return self.stops
        kinds, kind = np.unique(weight, return_inverse=True)
        kind, same = kind.reshape(-1), sparse.eye_array(len(kinds), format="csr")
        return (*self.stops, TreeStops(kind, kind, sparse.csr_array(same), None))

    @cached_property
    def places(self) -> PeopleCells:
        """The places where people stop in all trees at once."""
        return cells_of(self.forest.stops, self.population.counts)

    @cached_property
    def lumps(self) -> PeopleCells:
        """Groups that can stop at the same leaves of every tree, as cells of profiles; where in doubt, each group.

        Those whom facts tell apart are apart.
        """
        lump_of_profile = np.stack([stops.lump_of_profile for stops in self.stops])
        parts = self.told.group_of_profile.copy() if self.place_doubt else None
        if self.weights is not None:
            parts = parted(parts, self.weights.units)
        if self.facts is not None:
            parts = parted(parts, self.facts.parts()[self.told.group_of_profile])
        return cells_of(lump_of_profile, self.population.counts, parts=parts)

    @cached_property
    def place_doubt(self) -> str:
        """Why where people can be in all trees at once is not what each tree says of it; "" where it is."""
        tests = [branches(tree) for tree in self.forest.trees]
        if any(each.are_mixed(self.told.hidden) for each in tests):
            return MIXED
        tested = {feature.name for tree in self.forest.trees for feature in tree.used_features()}
        lacks = any(self.population.columns[name].missing.any() for name in tested)
        is_plain = all(tree.missing is Missing.NONE for tree in self.forest.trees)
        return LACKING if lacks and not is_plain else ""

    def _stops_in(self, place: int) -> TreeStops:
        tree, stop_of_profile = self.forest.trees[place], self.forest.stops[place]
        features = {feature.name for feature in tree.used_features()}
        hidden = {name: kinds for name, kinds in self.told.hidden.items() if name in features}
        guesses = {name: guess for name, guess in self.told.guesses.items() if name in features}
        told = self.told
        view = partial_view(branches(tree), told.people.columns, hidden, guesses, told.groups)
        reachability = reach(view)
        nodes, leaf_of_profile = np.unique(stop_of_profile, return_inverse=True)
        weighed = None
        if self.weights is not None and not self.forest.draws and tree.task is Task.CLASSIFICATION:
            classes = self.forest.model.classes
            ends = weighed_ends(tree, stop_of_profile, self.population, self.weights, classes)
            if not isinstance(ends, Undetermined) and (ends.low <= ends.high).all():
                weighed = None if (nodes < 0).any() else ends
        return TreeStops(
            lump_of_profile=reachability.lump_of[self.told.group_of_profile],
            leaf_of_profile=leaf_of_profile.reshape(-1),
            can=reachability.over(nodes),
            counts=published_counts(self.forest, self.population, tree, stop_of_profile),
            weighed=weighed,
        )


def ensemble_view(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    columns: Collection[str],
    never: Collection[str] = (),
) -> EnsembleView:
    """Return what an adversary who knows these columns sees; of those ``never`` known nothing is implied."""
    table = Codes(population, distinguished_values(forest.trees, population.columns))
    not_told = hidden_values(forest.trees, population, columns)
    told = tell_columns(table, columns, not_told, never)
    return EnsembleView(forest, population, knowledge, tuple(columns), told)


def published_counts(
    forest: Forest, population: Population, tree: Tree, stop_of_profile: IndexArray
) -> FloatArray | None:
    """Return the people of each class in each leaf that holds somebody, (L, m), as a tree's file says them.

    None where it does not, or says others than the table has.
    """
    nodes, leaf_of_profile = np.unique(stop_of_profile, return_inverse=True)
    truth = population.truth
    if forest.draws or tree.task is not Task.CLASSIFICATION or population.weight is not None:
        return None
    if isinstance(truth, Undetermined) or (nodes < 0).any() or not tree.has_people:
        return None
    if not are_sizes_published(tree, nodes):
        return None
    counts = counts_at(tree, nodes, forest.model.classes)
    if isinstance(counts, Undetermined):
        return None
    held = grouped(leaf_of_profile, truth, len(nodes))
    return held if np.array_equal(held, counts) else None


DRAWS_KNOWN = (
    "an adversary who knows the order of the records can repeat the sample of each tree. "
    "This is not evaluated for adversaries with partial knowledge (--row-order unknown "
    "excludes it)"
)
OTHER_PARTS = "the model has parts that are not trees, which may disclose more"
MOST_PAIRS = 4_000_000
"""Lumps times places that are looked at; of more places only some can be taken over, which leaves tables out."""
CHUNK = 2_000_000
"""Pairs that are looked at a time, at first."""


def place_doubts(view: EnsembleView, *, are_draws_known: bool) -> tuple[str, ...]:
    """Return why more may be known than exchanges leave as it is."""
    model = view.forest.model
    found = [] if view.are_facts_told else [FACTS_NOT_USED]
    found += [SPLITS_NOT_USED] if _may_tell_by_splits(view) else []
    found += [view.place_doubt] if view.place_doubt else []
    found += [DRAWS_KNOWN] if are_draws_known else []
    if isinstance(model, Ensemble) and any(True for _ in model.others):
        found.append(OTHER_PARTS)
    return tuple(found)


def _may_tell_by_splits(view: EnsembleView) -> bool:
    """Whether how splits of a single tree of weighed people were chosen, or why it has no more, may say more."""
    tree, knowledge = view.forest.model, view.knowledge
    if view.weights is None or not isinstance(tree, Tree) or tree.task is not Task.CLASSIFICATION:
        return False
    return knowledge.split.is_criterion or tree.learner.tool is not Tool.UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeUnits:
    """People as exchanges see them, U units of one profile and one value: ``people`` (U,) of them.

    ``value`` (U,) is the number of each unit's value, ``own_value`` (U,) the one that the adversary knows of it, -1
    where none is known.
    """

    people: FloatArray
    profile: IndexArray
    value: IndexArray
    own_value: IndexArray

    def keeping(self, is_of_fact: BoolArray) -> ExchangeUnits:
        """Return the same where people of some profiles, (P,), keep their value, as facts about them are known."""
        own_value = np.where(is_of_fact[self.profile], self.value, self.own_value)
        return replace(self, own_value=own_value)


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeTables:
    """All tables that exchanges lead to: ``net`` spreads rows of people over columns, each a place with a value.

    ``row_of_unit`` (U,) is the row of each unit of people, ``column_of_unit`` (U,) its column, and ``value_of_column``
    (V,) the value there.
    """

    net: Network
    row_of_unit: IndexArray
    column_of_unit: IndexArray
    value_of_column: IndexArray


def exchange_tables(stops: Sequence[TreeStops], units: ExchangeUnits) -> ExchangeTables:
    """Return all tables that exchanges of hidden values lead to from the true one."""
    lumps = np.stack([tree.lump_of_profile for tree in stops])[:, units.profile]
    leaves = np.stack([tree.leaf_of_profile for tree in stops])[:, units.profile]
    row_unit, row_of_unit = alike([units.own_value, *lumps])
    column_unit, column_of_unit = alike([units.value, *leaves])
    rows, columns = _pairs(stops, units, row_unit, column_unit)
    shape = len(row_unit), len(column_unit)
    ones = np.ones(len(units.people))
    arcs = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    own = sparse.coo_array((ones, (row_of_unit, column_of_unit)), shape=shape).tocsr()
    arcs = sparse.csr_array(arcs + own)
    arcs.data[:] = 1.0
    held = sparse.coo_array((units.people, (row_of_unit, column_of_unit)), shape=shape).tocsr()
    return ExchangeTables(
        net=network(arcs, sparse.csr_array(held)),
        row_of_unit=row_of_unit,
        column_of_unit=column_of_unit,
        value_of_column=units.value[column_unit],
    )


def _pairs(
    stops: Sequence[TreeStops],
    units: ExchangeUnits,
    row_unit: IndexArray,
    column_unit: IndexArray,
) -> tuple[IndexArray, IndexArray]:
    """Return which rows can be at which columns, pair by pair: some of them, where there are too many."""
    most = max(MOST_PAIRS // max(len(row_unit), 1), 1)
    every = -(-len(column_unit) // most)
    chosen = np.arange(0, len(column_unit), every)
    rows, columns = [], []
    step = max(CHUNK // max(len(chosen), 1), 1)
    row_profile, column_profile = units.profile[row_unit], units.profile[column_unit]
    for start in range(0, len(row_unit), step):
        some = np.arange(start, min(start + step, len(row_unit)))
        row, column = (each.reshape(-1) for each in np.meshgrid(some, chosen, indexing="ij"))
        told = units.own_value[row_unit][row]
        is_left = (told < 0) | (told == units.value[column_unit][column])
        row, column = row[is_left], column[is_left]
        for tree in stops:
            lump = tree.lump_of_profile[row_profile[row]]
            leaf = tree.leaf_of_profile[column_profile[column]]
            is_left = tree.allows(lump, leaf)
            row, column = row[is_left], column[is_left]
        rows.append(row)
        columns.append(column)
    return np.concatenate(rows), np.concatenate(columns)
