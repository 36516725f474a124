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

from audit.adversary.declared import words_of
from audit.adversary.knowledge import Knowledge, SplitLevel
from audit.estimate.posterior import Posterior, certain
from audit.options import DEFAULT, AuditOptions
from audit.partial.bounded import Ranges, bounded
from audit.partial.dependencies import Closed, closed
from audit.partial.domains import told_apart
from audit.partial.enforced import Some, Under, off_by, table_under
from audit.partial.flows import WORK
from audit.partial.leaf_table import LeafTable, are_sizes_published, leaf_table
from audit.partial.learned import Proofs
from audit.partial.open_values import Arcs, arcs_of, secret_domain
from audit.partial.reach import Knower, knower
from audit.partial.saying import Said, said_of
from audit.partial.scaling import GAP
from audit.partial.secret import Secret, of_one_attribute
from audit.partial.secret_part import Part, in_order, part_of, summed
from audit.partial.seen import (
    ENFORCING_SECONDS,
    NO_SIZES,
    NOT_COMPARED,
    NOT_WHOLE,
    ONLY_CLASSES,
    SPLITS_NOT_USED,
    WEIGHED,
    WITH_AND_WITHOUT,
    Seen,
    doubts_of,
    guess_of,
    hidden_of,
    problem_of,
    spanning,
    why_broken,
)
from audit.partial.unsized import SIZES_UNKNOWN, are_told_apart, between, unsized_worlds
from audit.people.merged import merged
from audit.people.population import Population
from audit.reading import Undetermined
from audit.worlds.clock import Clock, clock
from audit.worlds.result import Worlds
from ppdm_models.arrays import FloatArray, IndexArray
from ppdm_models.tree.column import CategoricalColumn
from ppdm_models.tree.tree import Task, Tree

NOT_TESTED = (
    "the tree does not ask about {name}: what is left is how common its values are in the table"
)
NO_COUNTS = Undetermined(
    "how many of each class are in each leaf is not published: what somebody learns of a feature who knows everybody's "
    "class is not worked out"
)
ONE_ATTRIBUTE = (
    "{} and {} are indicators of one attribute: what follows is not worked out, and may be more"
)
SAYING = (
    "in this table some values of {} say what {} is, of {:,.0f} people: the readings span what follows of that and "
    "what follows without it"
)
SAYING_NOT_USED = "what other columns say of the secret is not used of tables that fit"
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
    aided = knower(tree, people.columns, hidden, guesses, size)
    classes, by_class = None, [population.counts]
    if knows_target:
        assert not isinstance(truth, Undetermined)
        classes = np.flatnonzero(truth.sum(axis=0) > 0)
        by_class = [truth[:, klass] for klass in classes.tolist()]
    saying = said_of(
        population,
        secret,
        told.known,
        told.guesses,
        hidden,
        of,
        size,
        by_class if knows_target else (),
        _target(tree, population),
    )
    by_name = {feature.name for feature in tree.features}
    about = {secret.name, *(() if saying is None else saying.of_hidden)} & by_name
    doubts = doubts_of(leaves, knowledge, (*told.known, *told.guesses, *sorted(about)), hidden)
    doubts += _of_one_attribute(population, secret, (*told.known, *hidden))
    if not is_sized and knowledge.split is not SplitLevel.NONE:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    is_compared = knowledge.split is not SplitLevel.NONE and bool(about)
    work = 0 if until.is_over else WORK // len(by_class)

    def outlook(who: Knower, saying: Said | None, work: int) -> _Outlook:
        parts, domain = [], who.hidden.get(secret.name)
        arcs = arcs_of(who, secret, domain, population, saying)
        for number, some in enumerate(by_class):
            more_said = None if saying is None else saying.for_class(number)
            own = arcs
            if more_said is not saying:
                own = arcs_of(who, secret, domain, population, more_said)
            parts.append(part_of(own, leaves, population, of, some, work))
        values, low, high, gaps, proved, more = in_order(parts)
        bare = Posterior(values, gaps <= GAP, low, high if is_compared else values)
        believed: Posterior | Undetermined = bare
        uses_splits = is_sized and leaves.are_counted and doubts == (SPLITS_NOT_USED,)
        if doubts and not uses_splits:
            believed = Undetermined(f"no estimate: {'; '.join(doubts)}")
        elif doubts:
            heeding = _Heeding(leaves, people, classes, knowledge, options, is_compared)
            believed = heeding.believed(parts, bare)
        return _Outlook(arcs, parts, believed, gaps, proved, more)

    first, others = outlook(aided, None, work), list[_Outlook]()
    if told.said:
        others.append(outlook(knower(tree, people.columns, unaided, {}, size), None, 0))
    if saying is not None:
        others.append(outlook(aided, saying, work))
    seen = _people(tree, population, people, of, secret, first.parts, classes)
    worlds = _worlds(population, seen, first.proved, first.more, doubts)
    if saying is not None:
        last = _worlds(population, seen, others[-1].proved, others[-1].more, doubts)
        worlds = _shown_by_both(worlds, last)
    share = np.bincount(secret.of, population.counts, len(secret.values)) / population.records
    found = Seen(
        seen,
        spanning(first.believed, *(each.believed for each in others)),
        worlds,
        doubts,
        max(float(each.gaps.max(initial=0.0)) for each in (first, *others)),
        _remarkable(told, secret, saying, is_tested=secret.name in hidden),
        certain(np.tile(share, (len(seen.counts), 1))),
    )
    return found if is_sized else _without_sizes(found, first.arcs, first.parts[0].profiles)


def _target(tree: Tree, population: Population) -> str:
    return population.sensitive or tree.target or TARGET


def _remarkable(
    told: Closed, secret: Secret, saying: Said | None, *, is_tested: bool
) -> tuple[str, ...]:
    """Return what he was taken to know, and what was taken for what the tree says nothing of."""
    said = [*told.said, WITH_AND_WITHOUT] if told.said else []
    if saying is not None:
        said.append(SAYING.format(words_of(saying.by), secret.name, saying.people))
    if not is_tested:
        said.append(NOT_TESTED.format(name=secret.name))
    return tuple(said)


def _shown_by_both(
    worlds: Worlds | Undetermined, saying: Worlds | Undetermined
) -> Worlds | Undetermined:
    """Return proofs with those tables only that fit what other columns say of the secret too."""
    if isinstance(worlds, Undetermined) or isinstance(saying, Undetermined):
        return worlds if isinstance(worlds, Undetermined) else saying
    return replace(
        worlds,
        reached_low=np.maximum(worlds.reached_low, saying.reached_low),
        reached_high=np.minimum(worlds.reached_high, saying.reached_high),
        not_decided=(*worlds.not_decided, SAYING_NOT_USED),
    )


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
    is_left = summed(arcs.row, np.ones(len(arcs.row)), left, lumps)[arcs.lump_of[profiles]] > 0
    is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
    proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
    worlds = unsized_worlds(sized.population, proved, sized.worlds, ALL_DECIDE)
    return replace(sized, posterior=posterior, worlds=worlds, said=(*sized.said, SIZES_UNKNOWN))


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What somebody makes of all people who uses so much of what columns give away; the arrays are of all parts."""

    arcs: Arcs
    parts: list[Part]
    believed: Posterior | Undetermined
    gaps: FloatArray
    proved: Proofs
    more: Ranges


def _of_one_attribute(
    population: Population, secret: Secret, columns: Collection[str]
) -> tuple[str, ...]:
    """Return why more may be known: a column that is known or tested is an indicator of the secret's attribute."""
    found = of_one_attribute(population, secret, columns)
    return (ONE_ATTRIBUTE.format(words_of(found), secret.name),) if found else ()


@dataclass(frozen=True, slots=True)
class _Heeding:
    """What the choice of splits on known columns says is held against an estimate, and put in where that breaks it.

    Candidates on the secret itself are no rows: where they were compared, ``high`` is all that leaves leave open.
    """

    leaves: LeafTable
    people: Population
    classes: IndexArray | None
    knowledge: Knowledge
    options: AuditOptions
    is_compared: bool

    def believed(self, parts: list[Part], without: Posterior) -> Posterior | Undetermined:
        """Return the estimate with such rows, given that without them; why not, where it was not found."""
        own = self.leaves.estimate(self.options)
        if isinstance(own, Undetermined):
            return own
        held = [each.held for each in parts]
        if self.classes is None:
            (one,) = held
            held = [
                replace(one, places=one.places @ sparse.diags_array(each)) for each in own.values.T
            ]
        problem = why_broken(self.leaves, self.people, held, self.knowledge.split)
        if not problem:
            return without
        if problem == NOT_COMPARED:
            return Undetermined(problem)
        by_class = np.arange(own.values.shape[1])[None] if self.classes is None else self.classes
        some = tuple(
            Some(part.held.people, part.held.lump, part.leads.net, part.leads.columns, each)
            for part, each in zip(parts, by_class.reshape(len(parts), -1), strict=True)
        )
        sizes = own.values * self.leaves.sizes[:, None]
        under = table_under(
            problem_of(self.leaves, some, sizes, self.people, self.knowledge),
            clock(self.options.time_limit or ENFORCING_SECONDS),
        )
        return Undetermined(problem) if under is None else self._under(under, parts, some, without)

    def _under(
        self, under: Under, parts: list[Part], some: tuple[Some, ...], without: Posterior
    ) -> Posterior | Undetermined:
        found = []
        for part, each in zip(parts, some, strict=True):
            people = each.people[part.profiles][:, None]
            places = under.table[part.profiles][:, :, each.classes].sum(axis=2) / people
            values, low, high = part.leads.told(places)
            off = off_by(under.gap, people)
            high = high if self.is_compared else values
            found.append((values, np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)))
        values, low, high = (np.concatenate(each) for each in zip(*found, strict=True))
        believed = Posterior(values, np.ones(len(values), dtype=bool), low, high)
        return believed if under.is_sure else spanning(believed, without)


def _people(
    tree: Tree,
    population: Population,
    people: Population,
    of: IndexArray,
    secret: Secret,
    parts: list[Part],
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
        name = _target(tree, population)
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
