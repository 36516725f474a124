"""What somebody who knows only some columns learns of a column that the tree tests, perhaps knowing what it predicts.

A path says in which part of a hidden column's values the people of its leaf lie. So somebody believes of a person's
value what the leaves that can hold such a person leave of it, each weighed by how likely the person is there; where a
path leaves several values, how common each is in the table. Who knows everybody's class as well spreads the people of
each class over the leaves by itself: that is what opens features.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from audit.adversary.knowledge import Knowledge, SplitLevel
from audit.estimate.posterior import Posterior, certain
from audit.options import DEFAULT, AuditOptions
from audit.partial.bounded import Ranges, bounded, ranges
from audit.partial.dependencies import closed
from audit.partial.domains import told_apart
from audit.partial.flows import WORK, Room, ends
from audit.partial.leaf_table import LeafTable, are_sizes_published, leaf_table
from audit.partial.learned import Proofs
from audit.partial.network import Network, network
from audit.partial.open_values import Arcs, arcs_of, secret_domain
from audit.partial.reach import knower
from audit.partial.scaling import GAP, Spread, spread
from audit.partial.secret import Secret, tellers
from audit.partial.seen import (
    NO_SIZES,
    NOT_WHOLE,
    ONLY_CLASSES,
    SPLITS_NOT_USED,
    WEIGHED,
    WITH_AND_WITHOUT,
    Seen,
    doubts_of,
    guess_of,
    hidden_of,
    spanning,
    why_broken,
)
from audit.partial.splits import Held, held
from audit.partial.unsized import SIZES_UNKNOWN, are_told_apart, between, unsized_worlds
from audit.people.merged import merged
from audit.people.population import Population
from audit.reading import Undetermined
from audit.worlds.clock import Clock
from audit.worlds.result import Worlds
from ppdm_models.arrays import FloatArray, IndexArray
from ppdm_models.records.table import listed
from ppdm_models.tree.column import CategoricalColumn
from ppdm_models.tree.tree import Task, Tree

NOT_TESTED = (
    "the tree does not ask about {name}: what is left is how common its values are in the table"
)
NO_COUNTS = Undetermined(
    "how many of each class are in each leaf is not published: what somebody learns of a feature who knows everybody's "
    "class is not worked out"
)
GIVEN_AWAY = "in this table {} say of some people what {} is: what follows is not worked out, and may be more"
NO_CLASSES = Undetermined("who has which class is not known from the table")
ALL_DECIDE = "every leaf that can hold such a person leaves this value alone"
TARGET = "target"


def secret_seen_by(
    tree: Tree,
    population: Population,
    knowledge: Knowledge,
    secret: Secret,
    known: Collection[str],
    *,
    knows_target: bool,
    until: Clock,
    options: AuditOptions = DEFAULT,
) -> Seen | Undetermined:
    """Return what somebody makes of a secret column of a tree's people, of whom he knows these columns.

    ``population`` tells people apart by the secret column too. In the estimate ``low`` counts only what leaves decide
    by themselves, the rest how common values are. Where splits on the secret were compared, their choice may say more
    of who has what inside a leaf: ``high`` then counts all that leaves leave open. Certain and excluded hold in every
    table with these leaves.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    if tree.task is not Task.CLASSIFICATION:
        return ONLY_CLASSES
    if population.weight is not None:
        return WEIGHED
    truth = population.truth
    if knows_target and isinstance(truth, Undetermined):
        return NO_CLASSES
    leaves = leaf_table(tree, population, knowledge)
    is_sized = are_sizes_published(tree, leaves.nodes)
    if not is_sized and (knows_target or not are_told_apart(leaves)):
        return NO_SIZES
    if knows_target and not leaves.are_counted:
        return NO_COUNTS
    apart = told_apart([tree], population.columns)
    told = closed(population, known, (secret.name,), apart)
    people, of = merged(population, told.known)
    hidden = hidden_of(tree, population, told.known)
    guesses = {name: guess_of(told, name, of, len(people.counts)) for name in told.guesses}
    guesses = {name: guess for name, guess in guesses.items() if name in hidden}
    unaided = hidden_of(tree, population, known)
    if secret.name in hidden:
        hidden[secret.name] = unaided[secret.name] = secret_domain(tree, population, secret)
    size = len(people.counts)
    knowers = [knower(tree, people.columns, hidden, guesses, size)]
    if told.said:
        knowers.append(knower(tree, people.columns, unaided, {}, size))
    by_name = {feature.name for feature in tree.features}
    compares = (*told.known, *told.guesses, *({secret.name} & by_name))
    doubts = doubts_of(leaves, knowledge, compares, hidden)
    doubts += _given_away(population, secret, (*told.known, *hidden))
    if not is_sized and knowledge.split is not SplitLevel.NONE:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    said = (*told.said, WITH_AND_WITHOUT) if told.said else ()
    if secret.name not in hidden:
        said = (*said, NOT_TESTED.format(name=secret.name))
    if knows_target:
        assert not isinstance(truth, Undetermined)
        classes = np.flatnonzero(truth.sum(axis=0) > 0)
        by_class = [truth[:, klass] for klass in classes.tolist()]
    else:
        classes, by_class = None, [population.counts]
    is_compared = knowledge.split is not SplitLevel.NONE and secret.name in by_name
    believed: list[Posterior | Undetermined] = []
    work = 0 if until.is_over else WORK // len(by_class)
    for who in reversed(knowers):
        arcs = arcs_of(who, secret, who.hidden.get(secret.name), population)
        own_work = work if who is knowers[0] else 0
        parts = [_part(arcs, leaves, population, of, some, own_work) for some in by_class]
        values, low, high, gaps, proved, more = _in_order(parts)
        own = Posterior(values, gaps <= GAP, low, high if is_compared else values)
        problem = f"no estimate: {'; '.join(doubts)}" if doubts and not is_sized else ""
        problem = problem or _problem(leaves, people, parts, knowledge, doubts, options)
        believed.append(Undetermined(problem) if problem else own)
    seen = _people(tree, population, people, of, secret, parts, classes)
    share = np.bincount(secret.of, population.counts, len(secret.values)) / population.records
    found = Seen(
        seen,
        spanning(believed[-1], *believed[:-1]),
        _worlds(population, seen, proved, more, doubts),
        doubts,
        float(gaps.max(initial=0.0)),
        said,
        certain(np.tile(share, (len(seen.counts), 1))),
    )
    return found if is_sized else _without_sizes(found, arcs, parts[0].profiles)


def _without_sizes(sized: Seen, arcs: Arcs, profiles: IndexArray) -> Seen:
    """Return what is made of a secret column where the sizes are not published, given what would be if they were.

    Paths part the values and say nothing of how many people have which: who does not know the sizes goes on believing
    how common values are, and can exclude only what no leaf leaves that can hold such a person.
    """
    posterior, prior = sized.posterior, sized.prior
    if isinstance(posterior, Posterior) and isinstance(prior, Posterior):
        posterior = between(prior.values, prior.values, prior.values, posterior)
    lumps = int(arcs.lump_of.max()) + 1
    left = arcs.allowed[arcs.kind].astype(np.float64)
    is_left = _summed(arcs.row, np.ones(len(arcs.row)), left, lumps)[arcs.lump_of[profiles]] > 0
    is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
    proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
    worlds = unsized_worlds(sized.population, proved, sized.worlds, ALL_DECIDE)
    return replace(sized, posterior=posterior, worlds=worlds, said=(*sized.said, SIZES_UNKNOWN))


@dataclass(frozen=True, slots=True)
class _Part:
    """What follows for the people of one class, or of all: of N merged profiles ``profiles``, (N, B) each."""

    profiles: IndexArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    gaps: FloatArray
    proved: Proofs
    more: Ranges
    held: Held


def _part(
    arcs: Arcs,
    leaves: LeafTable,
    population: Population,
    of: IndexArray,
    own: FloatArray,
    work: int,
) -> _Part:
    """Return what follows for some of the people, ``own`` of each profile, (P,), who are spread over their leaves."""
    people = np.bincount(of, own, len(arcs.lump_of)).astype(np.float64)
    profiles = np.flatnonzero(people > 0)
    there = np.searchsorted(leaves.nodes, population.leaf)
    sizes = np.bincount(there, own, len(leaves.nodes)).astype(np.float64)
    lumps, lump_of = np.unique(arcs.lump_of[profiles], return_inverse=True)
    columns = np.flatnonzero(sizes > 0)
    lump_at, column_at = _where(lumps, arcs.row), _where(leaves.nodes[columns], arcs.node)
    is_here = (lump_at >= 0) & (column_at >= 0)
    row, column, kind = lump_at[is_here], column_at[is_here], arcs.kind[is_here]
    shape = (len(lumps), len(columns))
    pattern = sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()
    some = np.flatnonzero(own > 0)
    world = sparse.coo_array(
        (
            own[some],
            (_where(lumps, arcs.lump_of[of[some]]), _where(columns, there[some])),
        ),
        shape=shape,
    ).tocsr()
    net = network(pattern, world)
    placed = spread(net)
    over = _over_arcs(placed, net.group_of, net.demand, sizes[columns], row, column)
    can = np.asarray(net.movable[row, net.group_of[column]]).ravel() > 0
    weight = over / net.supply[row]
    left = arcs.allowed[kind].astype(np.float64)
    decides = arcs.allowed & (arcs.allowed.sum(axis=1) == 1)[:, None]
    values = _summed(row, weight, arcs.inside[kind], len(lumps))
    high = _summed(row, weight, left, len(lumps))
    low = np.minimum(_summed(row, weight, decides[kind].astype(np.float64), len(lumps)), values)
    possible = _summed(row, can.astype(np.float64), left, len(lumps)) > 0
    is_certain = possible & (possible.sum(axis=1) == 1)[:, None]
    allowed = arcs.allowed[kind] * np.rint(sizes[columns]).astype(np.int64)[column][:, None]
    without = (allowed > 0).sum(axis=1)[:, None] > (allowed > 0)
    without = without * np.rint(sizes[columns]).astype(np.int64)[column][:, None]
    starts, group = np.searchsorted(row, np.arange(len(lumps) + 1)), net.group_of[column]

    def room_of(lump: int, value: int) -> Room:
        of_lump = slice(starts[lump], starts[lump + 1])
        room = [np.zeros(net.groups, dtype=np.int64) for _ in range(2)]
        for each, most in zip(room, (allowed, without), strict=True):
            np.add.at(each, group[of_lump], most[of_lump, value])
        return Room(*room)

    flows = ends(net, room_of, allowed.shape[1], work)
    counts, supply = (np.rint(each).astype(np.int64) for each in (people[profiles], net.supply))
    gaps = placed.gap
    values[gaps > GAP] = np.nan
    return _Part(
        profiles,
        values[lump_of],
        low[lump_of],
        high[lump_of],
        gaps[lump_of],
        Proofs(is_certain[lump_of], ~possible[lump_of], possible[lump_of]),
        ranges(counts, lump_of, supply, flows, flows),
        _held(people, profiles, lump_of, net, placed, sizes, columns),
    )


def _held(
    people: FloatArray,
    profiles: IndexArray,
    lump_of: IndexArray,
    net: Network,
    placed: Spread,
    sizes: FloatArray,
    columns: IndexArray,
) -> Held:
    """Return the same people over all leaves, those too that hold none of them."""
    own = held(people[profiles], lump_of, net, placed, sizes[columns])
    lump, everyone = np.zeros(len(people), dtype=np.intp), np.zeros(len(people))
    lump[profiles], everyone[profiles] = lump_of, own.people
    gather = sparse.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)),
        shape=(len(columns), len(sizes)),
    )
    return Held(everyone, lump, sparse.csr_array(own.places @ gather))


def _given_away(
    population: Population, secret: Secret, columns: Collection[str]
) -> tuple[str, ...]:
    """Return why more may be known: a column that is known or tested says in the table what the secret is."""
    found = tellers(population, secret, columns)
    return (GIVEN_AWAY.format(listed(found), secret.name),) if found else ()


def _problem(
    leaves: LeafTable,
    people: Population,
    parts: list[_Part],
    knowledge: Knowledge,
    doubts: tuple[str, ...],
    options: AuditOptions,
) -> str:
    """Return why there is no estimate, "" where there is; candidates on the secret are no reason: see ``high``."""
    if not doubts:
        return ""
    if doubts != (SPLITS_NOT_USED,) or not leaves.are_counted:
        return f"no estimate: {'; '.join(doubts)}"
    by_class = [each.held for each in parts]
    if len(parts) == 1:
        own = leaves.estimate(options)
        if isinstance(own, Undetermined):
            return own.reason
        one = parts[0].held
        by_class = [
            replace(one, places=one.places @ sparse.diags_array(share)) for share in own.values.T
        ]
    return why_broken(leaves, people, by_class, knowledge.split)


def _where(sorted_: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return the place of each number among sorted ones, -1 where it is not there."""
    at = np.minimum(np.searchsorted(sorted_, wanted), max(len(sorted_) - 1, 0))
    return np.asarray(np.where(sorted_[at] == wanted, at, -1), dtype=np.intp)


def _over_arcs(
    placed: Spread,
    group_of: IndexArray,
    demand: FloatArray,
    sizes: FloatArray,
    row: IndexArray,
    column: IndexArray,
) -> FloatArray:
    """Return how many people each arc has: those of its group of leaves, by the sizes of these."""
    group = group_of[column]
    of_group = np.asarray(placed.people.tocsr()[row, group]).ravel()
    return np.asarray(of_group * sizes[column] / demand[group])


def _summed(row: IndexArray, weight: FloatArray, each: FloatArray, size: int) -> FloatArray:
    """Return sums over arcs by row, (S, B), of what each has of each value, (A, B), times its weight."""
    columns = [np.bincount(row, weight * each[:, place], size) for place in range(each.shape[1])]
    return np.stack(columns, axis=1)


def _in_order(
    parts: list[_Part],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, Proofs, Ranges]:
    """Return what follows for all parts, one below the other."""
    proved = Proofs(
        np.concatenate([each.proved.certain for each in parts]),
        np.concatenate([each.proved.excluded for each in parts]),
        np.concatenate([each.proved.possible for each in parts]),
    )
    return (
        np.concatenate([each.values for each in parts]),
        np.concatenate([each.low for each in parts]),
        np.concatenate([each.high for each in parts]),
        np.concatenate([each.gaps for each in parts]),
        proved,
        Ranges(
            np.concatenate([each.more.low for each in parts]),
            np.concatenate([each.more.high for each in parts]),
            np.concatenate([each.more.reached_low for each in parts]),
            np.concatenate([each.more.reached_high for each in parts]),
        ),
    )


def _people(
    tree: Tree,
    population: Population,
    people: Population,
    of: IndexArray,
    secret: Secret,
    parts: list[_Part],
    classes: IndexArray | None,
) -> Population:
    """Return the people as he tells them apart, with how many of each have each secret value.

    ``classes`` are those of the parts, where he knows everybody's.
    """
    rows = np.concatenate([each.profiles for each in parts])
    size, values = len(people.counts), len(secret.values)
    truth, kept = population.truth, people
    if classes is not None:
        assert not isinstance(truth, Undetermined)
        name = population.sensitive or tree.target or TARGET
        klass = np.repeat(classes, [len(each.profiles) for each in parts])
        columns = {each: column.take(rows) for each, column in people.columns.items()}
        columns[name] = CategoricalColumn(klass, tree.classes)
        kept = replace(people, qi=(*people.qi, name), columns=columns)
        held = [truth[:, each] for each in classes.tolist()]
    else:
        columns = {each: column.take(rows) for each, column in people.columns.items()}
        kept = replace(people, columns=columns)
        held = [population.counts]
    counts = [
        np.bincount(of * values + secret.of, each, size * values).reshape(size, values)[
            part.profiles
        ]
        for each, part in zip(held, parts, strict=True)
    ]
    own = np.concatenate(counts).astype(np.float64)
    return replace(
        kept,
        counts=own.sum(axis=1),
        leaf=np.full(len(rows), -1, dtype=np.intp),
        truth=own,
    )


def _worlds(
    population: Population,
    people: Population,
    proved: Proofs,
    more: Ranges,
    doubts: tuple[str, ...],
) -> Worlds | Undetermined:
    if (population.counts != np.rint(population.counts)).any():
        return NOT_WHOLE
    worlds = bounded(people, proved, is_exact=not doubts, more=more)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    reasons = dict.fromkeys(sure, ALL_DECIDE)
    return replace(worlds, reasons=reasons, left=doubts, not_decided=doubts)
