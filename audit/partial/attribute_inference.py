"""What somebody who knows only some columns learns of a column that the tree tests, perhaps knowing what it predicts.

A path says in which part of a hidden column's values the people of its leaf lie. So somebody believes of a person's
value what the leaves that can hold such a person leave of it, each weighed by how likely the person is there; where a
path leaves several values, how common each is in the table. Who knows everybody's class as well spreads the people of
each class over the leaves by itself: that is what opens features.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.knowledge.declared import words_of
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.attribute_posterior import Look, Outlook
from treewarden.audit.partial.class_rows import NOT_USED as CLASSES_NOT_USED
from treewarden.audit.partial.class_rows import uncounted_places
from treewarden.audit.partial.envelope import shown_by_both, spanning
from treewarden.audit.partial.functional_dependencies import Closed, Codes, closed, guess_of
from treewarden.audit.partial.leaf_table import (
    SIZES_UNKNOWN,
    Ground,
    LeafTable,
    are_sizes_published,
    are_told_apart,
    averaged,
    between,
    can_hold,
    unsized_worlds,
)
from treewarden.audit.partial.partial_view import Knower, PossibleStop, ValueKinds, knower
from treewarden.audit.partial.reachability import Proofs, Ranges, bounded
from treewarden.audit.partial.secret_part import (
    CompatibleValues,
    SecretInference,
    secret_domain,
    summed,
    values_of,
)
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.unmodelled_knowledge import (
    NO_SIZES,
    NOT_WHOLE,
    ONLY_CLASSES,
    SPLITS_NOT_USED,
    WEIGHED,
    WITH_AND_WITHOUT,
    choice_of,
    doubts_of,
)
from treewarden.audit.partial.value_rules import NOT_USED as OUTCOME_NOT_USED
from treewarden.audit.partial.value_rules import SPANNING as OUTCOME_SPANNING
from treewarden.audit.partial.value_rules import (
    ImpliedClasses,
    ImpliedValues,
    Secret,
    excluding,
    of_one_attribute,
    outcome_said,
    said_of,
    target_of,
)
from treewarden.audit.partial.work_budget import FULL, AdversaryBudget
from treewarden.audit.population.merged_profiles import merged
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Task, Tree

# What somebody makes of a secret column where nobody says how many people are in each leaf.
#
# Paths part the values and say nothing of how many people have which: who does not know the sizes goes on believing
# how
# common those values are that some leaf leaves which can hold such a person, and can exclude only the others. Whoever
# knows everybody's class weighs the leaves: by the share of hidden values that lead there, and then by how many of a
# leaf
# have that class, as the file says it of the leaf.

ALL_DECIDE = "every leaf that can hold such a person leaves this value alone"


@dataclass(frozen=True, slots=True)
class Unsized:
    """Somebody who knows no sizes, the ``arcs`` to where people can stop, and the leaves.

    ``profiles`` are those of the people of each class in ``classes``, (C,), or of all people where nobody's is known.
    ``is_compared`` says that splits on the secret may say more of who has what inside a leaf.
    """

    who: Knower
    arcs: CompatibleValues
    leaves: LeafTable
    population: Population
    secret: Secret
    profiles: Sequence[IndexArray]
    classes: IndexArray | None
    is_compared: bool

    def seen(self, sized: TargetInference, options: AuditOptions) -> TargetInference:
        """Return what is made of the secret, given what would be if the sizes were published."""
        is_left = self._left()
        posterior, prior = sized.posterior, sized.prior
        if isinstance(posterior, Posterior) and isinstance(prior, Posterior):
            share = _value_frequencies(prior.values, is_left)
            if self.classes is None:
                posterior = between(share, share, share, posterior)
            else:
                posterior = self._weighed(share, posterior, options)
        is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
        proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
        worlds = unsized_worlds(sized.population, proved, sized.worlds, ALL_DECIDE)
        said = (*sized.said, SIZES_UNKNOWN)
        return replace(sized, posterior=posterior, worlds=worlds, said=said)

    def _left(self) -> BoolArray:
        """Return which values some leaf leaves that can hold such a person, (N, B)."""
        arcs, lumps = self.arcs, int(self.arcs.lump_of.max()) + 1
        left = arcs.allowed[arcs.kind].astype(np.float64)
        holds = np.ones((len(self.who.tree.nodes), 1), dtype=bool)
        if self.classes is not None:
            holds = can_hold(len(holds), self.leaves)[:, self.classes]
        return np.concatenate(
            [
                summed(arcs.row, own[arcs.node].astype(np.float64), left, lumps)[arcs.lump_of[some]]
                > 0
                for own, some in zip(holds.T, self.profiles, strict=True)
            ]
        )

    def _weighed(
        self, share: FloatArray, sized: Posterior, options: AuditOptions
    ) -> Posterior | Undetermined:
        """Return the estimate of who knows everybody's class; ``share`` (N, B) where no leaf has any of that class."""
        assert self.classes is not None
        own = self.leaves.estimate(options)
        if isinstance(own, Undetermined):
            return own
        of_node = np.zeros((len(self.who.tree.nodes), len(self.classes)))
        of_node[self.leaves.nodes] = own.values[:, self.classes]
        is_held = np.zeros(len(of_node))
        is_held[self.leaves.nodes] = 1.0
        size = len(self.secret.values)
        inside = _Inside(self.secret, self.who.hidden.get(self.secret.name), self.population)

        def told(place: PossibleStop) -> tuple[float, FloatArray]:
            rows = inside.told(place)
            return is_held[place.node], np.outer(of_node[place.node], rows).ravel()

        width = 1 + 3 * size
        found = averaged(self.who, told, len(self.classes) * width)
        found = found.reshape(len(found), len(self.classes), width)
        own_rows = np.concatenate([found[some, at] for at, some in enumerate(self.profiles)])
        total = own_rows[:, :1]
        values, low, high = (
            np.divide(own_rows[:, start : start + size], total, out=share.copy(), where=total > 0)
            for start in range(1, width, size)
        )
        return between(values, low, high if self.is_compared else values, sized)


@dataclass(frozen=True, slots=True)
class _Inside:
    """What a way to a leaf leaves of the secret."""

    secret: Secret
    domain: ValueKinds | None
    population: Population

    def told(self, place: PossibleStop) -> FloatArray:
        """Return 1, how common each value is among those left, which is decided, and which are left, (1 + 3 B,)."""
        mask = place.masks.get(self.secret.name)
        key = {b"" if mask is None else mask.tobytes(): 0}
        allowed, inside = values_of(key, self.secret, self.domain, self.population)
        left = allowed[0].astype(np.float64)
        decided = left if left.sum() == 1 else np.zeros_like(left)
        return np.concatenate([[1.0], inside[0], decided, left])


def _value_frequencies(prior: FloatArray, is_left: BoolArray) -> FloatArray:
    """Return how common values are among those left, (N, B)."""
    kept = np.where(is_left, prior, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    even = is_left / np.maximum(is_left.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.divide(kept, total, out=even, where=total > 0))


NOT_TESTED = (
    "the tree does not ask about {name}: what is left is how common its values are in the table"
)
ONE_ATTRIBUTE = (
    "{} and {} are indicators of one attribute: what follows is not worked out, and may be more"
)
EXCLUDING = "in this table some values of {} exclude some of {}: what follows is not worked out, and may be more"
SAYING = (
    "in this table some values of {} say what {} is, of {:,.0f} people: the readings span what follows of that and "
    "what follows without it"
)
NO_CLASSES = Undetermined("who has which class is not known from the table")


def secret_seen_by(
    ground: Ground,
    secret: Secret,
    known: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
    *,
    knows_target: bool,
) -> TargetInference | Undetermined:
    """Return what somebody makes of a secret column of a tree's people, of whom he knows these columns.

    The people are told apart by the secret column too. In the estimate ``low`` counts only what leaves decide
    by themselves, the rest how common values are. Where splits on the secret were compared, their choice may say more
    of who has what inside a leaf: ``high`` then counts all that leaves leave open. Certain and excluded hold in every
    table with these leaves. ``effort`` is what may be spent.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    tree, population, knowledge = ground.tree, ground.population, ground.knowledge
    if tree.task is not Task.CLASSIFICATION:
        return ONLY_CLASSES
    if population.weight is not None:
        return WEIGHED
    truth = population.truth
    if knows_target and isinstance(truth, Undetermined):
        return NO_CLASSES
    leaves = ground.leaves
    is_sized = are_sizes_published(tree, leaves.nodes)
    if not is_sized and not are_told_apart(leaves):
        return NO_SIZES
    is_uncounted = knows_target and not leaves.are_counted
    told = closed(ground.table, known, (secret.name,))
    people, of = merged(population, told.known)
    unaided = ground.hidden_from(known)
    if secret.name in unaided:
        unaided[secret.name] = secret_domain(ground, secret)
    hidden = {name: value_kinds for name, value_kinds in unaided.items() if name not in told.known}
    guesses = {name: guess_of(told, name, of, len(people.counts)) for name in told.guesses}
    guesses = {name: guess for name, guess in guesses.items() if name in hidden}
    size = len(people.counts)
    target, is_used = target_of(tree, population), is_sized and leaves.are_counted
    outcome = None
    if not knows_target:
        outcome = outcome_said(ground.tests, population, told.known, told.values)
    aided = knower(ground.branches, people.columns, hidden, guesses, size)
    classes, by_class = None, [population.counts]
    if knows_target:
        assert not isinstance(truth, Undetermined)
        classes = np.flatnonzero(truth.sum(axis=0) > 0)
        by_class = [truth[:, klass] for klass in classes.tolist()]
    saying = said_of(
        ground.table,
        secret,
        told.known,
        told.values,
        hidden,
        of,
        size,
        by_class if knows_target else _all_classes(truth, outcome),
        target,
        None if outcome is None else outcome.of,
    )
    by_name = {feature.name for feature in tree.features}
    about = {secret.name, *(() if saying is None else saying.of_hidden)} & by_name
    doubts = doubts_of(
        ground.branches, leaves, knowledge, (*told.known, *told.guesses, *sorted(about)), hidden
    )
    if outcome is not None and not is_used:
        doubts = (*doubts, outcome.words(OUTCOME_NOT_USED, target))
    doubts += _of_one_attribute(ground.table, secret, (*told.known, *hidden))
    excluded = excluding(population, secret, dict.fromkeys((*told.known, *told.values, *hidden)))
    if excluded:
        doubts = (*doubts, EXCLUDING.format(words_of(excluded), secret.name))
    if not is_sized and knowledge.split is not SplitLevel.NONE:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    is_compared = knowledge.split is not SplitLevel.NONE and bool(about)
    work = 0 if until.is_over else effort.flows // len(by_class)

    look = Look(
        leaves,
        population,
        people,
        of,
        secret,
        choice_of(tree, population, people, leaves, knowledge, doubts) if is_sized else None,
        options,
        doubts,
        classes,
        by_class,
        is_compared,
        effort.enforcing,
        uncounted_places(leaves, until) if is_uncounted else None,
    )
    first, outlooks = look.at(aided, None, work), list[Outlook]()
    knowers = [aided]
    if told.said:
        knowers.append(aided.hiding(unaided))
        outlooks.append(look.at(knowers[-1], None, 0))
    sayings = (None,) if saying is None else (None, saying)
    if saying is not None:
        outlooks.append(look.at(aided, saying, work))
    if outcome is not None and is_used:
        everything = [(who, implied_values) for who in knowers for implied_values in sayings]
        outlooks += [look.with_outcome(*each, outcome.of, work) for each in everything]
    seen = _people(tree, population, people, of, secret, first.parts, classes)
    worlds = _worlds(population, seen, first.proved, first.more, doubts)
    for outlook in outlooks[1 if told.said else 0 :]:
        more = _worlds(population, seen, outlook.proved, outlook.more, doubts)
        worlds = shown_by_both(worlds, more)
    share = np.bincount(secret.of, population.counts, len(secret.values)) / population.records
    target_inference = TargetInference(
        seen,
        spanning(first.believed, *(each.believed for each in outlooks)),
        worlds,
        doubts,
        max(float(each.gaps.max(initial=0.0)) for each in (first, *outlooks)),
        (
            *_remarkable(told, secret, saying, is_tested=secret.name in hidden),
            *([outcome.words(OUTCOME_SPANNING, target)] if outcome is not None and is_used else []),
        ),
        certain(np.tile(share, (len(seen.counts), 1))),
    )
    if is_uncounted and _is_open(worlds):
        assert isinstance(worlds, ConsistentTables)
        said = (*worlds.left, CLASSES_NOT_USED)
        target_inference = replace(
            target_inference, worlds=replace(worlds, left=said, not_decided=said)
        )
    if is_sized:
        return target_inference
    profiles = [secret_inference.profiles for secret_inference in first.parts]
    unsized = Unsized(aided, first.arcs, leaves, population, secret, profiles, classes, is_compared)
    return unsized.seen(target_inference, options)


def _is_open(worlds: ConsistentTables | Undetermined) -> bool:
    if isinstance(worlds, Undetermined):
        return False
    return bool(worlds.open_profiles.any() or worlds.open_exclusions.any())


def _all_classes(
    truth: FloatArray | Undetermined, outcome: ImpliedClasses | None
) -> tuple[FloatArray, ...]:
    """Return how many people of each profile have each class, (P,) each, where some people's are known."""
    if outcome is None or isinstance(truth, Undetermined):
        return ()
    return tuple(truth.T)


def _remarkable(
    told: Closed, secret: Secret, saying: ImpliedValues | None, *, is_tested: bool
) -> tuple[str, ...]:
    """Return what he was taken to know, and what was taken for what the tree says nothing of."""
    said = [*told.said, WITH_AND_WITHOUT] if told.said else []
    if saying is not None:
        said.append(SAYING.format(words_of(saying.by), secret.name, saying.people))
    if not is_tested:
        said.append(NOT_TESTED.format(name=secret.name))
    return tuple(said)


def _of_one_attribute(table: Codes, secret: Secret, columns: Collection[str]) -> tuple[str, ...]:
    """Return why more may be known: a column that is known or tested is an indicator of the secret's attribute."""
    found = of_one_attribute(table, secret, columns)
    return (ONE_ATTRIBUTE.format(words_of(found), secret.name),) if found else ()


def _people(
    tree: Tree,
    population: Population,
    people: Population,
    of: IndexArray,
    secret: Secret,
    parts: list[SecretInference],
    classes: IndexArray | None,
) -> Population:
    """Return the people as he tells them apart, with how many of each have each secret value.

    ``classes`` are those of the parts, where he knows everybody's.
    """
    rows = np.concatenate([secret_inference.profiles for secret_inference in parts])
    size, values = len(people.counts), len(secret.values)
    truth, kept = population.truth, people
    if classes is not None:
        assert not isinstance(truth, Undetermined)
        name = target_of(tree, population)
        klass = np.repeat(classes, [len(secret_inference.profiles) for secret_inference in parts])
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
) -> ConsistentTables | Undetermined:
    if (population.counts != np.rint(population.counts)).any():
        return NOT_WHOLE
    worlds = bounded(people, proved, is_exact=not doubts, more=more)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    reasons = dict.fromkeys(sure, ALL_DECIDE)
    return replace(worlds, reasons=reasons, left=doubts, not_decided=doubts)
