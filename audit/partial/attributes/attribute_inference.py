"""Attribute inference from one tree, for an adversary who knows some columns and perhaps the value that it predicts.

A path says in which part of a hidden column's values the people of its leaf lie. So the estimate of a person's value is
what the leaves that can hold such a person leave of it, each weighed by how likely the person is there; where a path
leaves several values, by how common each is in the table. An adversary who knows everybody's class as well spreads the
people of each class over the leaves by itself: that is what opens columns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior, certain, span_estimates
from treewarden.audit.knowledge.levels import words_of
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.attributes.attribute_posterior import (
    AttributeEstimate,
    AttributeEstimator,
    AttributeRows,
)
from treewarden.audit.partial.attributes.secret_part import summed
from treewarden.audit.partial.class_rows import NOT_USED as CLASSES_NOT_USED
from treewarden.audit.partial.class_rows import uncounted_places
from treewarden.audit.partial.fitting.flows import FULL, AdversaryBudget
from treewarden.audit.partial.functional_dependencies import AdversaryKnowledge
from treewarden.audit.partial.partial_view import ReachablePath
from treewarden.audit.partial.reachability import CompatibleValues, Proofs, bound_tables, values_of
from treewarden.audit.partial.secret_values import Secret
from treewarden.audit.partial.target_inference import (
    TargetInference,
    keep_common_tables,
)
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import (
    NOT_WHOLE,
    SIZES_UNKNOWN,
    SPLITS_NOT_USED,
    WITH_AND_WITHOUT,
    average_over_paths,
    between,
    can_hold,
    choice_of,
    doubts_of,
    refusal_of,
    unsized_tables,
)
from treewarden.audit.partial.value_rules import NOT_USED as OUTCOME_NOT_USED
from treewarden.audit.partial.value_rules import (
    OPEN,
    ImpliedClasses,
    ImpliedValues,
    excluding_columns,
    imply_classes,
    imply_values,
    indicators_of_secret,
    target_of,
)
from treewarden.audit.partial.value_rules import SPANNING as OUTCOME_SPANNING
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn

# Inference of a secret column where the sizes of leaves are unknown.
#
# Paths part the values and say nothing of how many people have which: who does not know the sizes goes on believing
# how common those values are that some leaf leaves which can hold such a person, and can exclude only the others.
# Whoever knows everybody's class weighs the leaves: by the share of hidden values that lead there, and then by how
# many of a leaf have that class, as the file says it of the leaf.

ALL_DECIDE = "every leaf that such a person can reach allows only this value"


@dataclass(frozen=True, slots=True)
class UnsizedAttribute:
    """Attribute inference where no sizes are known, over the ``arcs`` to where people can stop."""

    estimator: AttributeEstimator
    arcs: CompatibleValues

    def infer(self, sized: TargetInference) -> TargetInference:
        """Return what follows of the secret, given what would if the sizes were published."""
        is_left = self._left()
        posterior, prior = sized.posterior, sized.prior
        if isinstance(posterior, Posterior) and isinstance(prior, Posterior):
            share = _value_frequencies(prior.values, is_left)
            if self.estimator.knows_classes:
                posterior = self._weighed(share, posterior)
            else:
                posterior = between(share, share, share, posterior)
        is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
        proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
        worlds = unsized_tables(sized.population, proved, sized.worlds, ALL_DECIDE)
        said = (*sized.said, SIZES_UNKNOWN)
        return replace(sized, posterior=posterior, worlds=worlds, said=said)

    def _left(self) -> BoolArray:
        """Return which values some leaf leaves that can hold such a person, (N, B)."""
        arcs, lumps = self.arcs, int(self.arcs.lump_of.max()) + 1
        left = arcs.allowed[arcs.kind].astype(np.float64)
        nodes, rows = len(self.estimator.context.tree.nodes), self.estimator.rows
        holds = np.ones((nodes, 1), dtype=bool)
        if self.estimator.knows_classes:
            holds = can_hold(nodes, self.estimator.leaves)
        found = np.zeros((len(rows.group), left.shape[1]), dtype=bool)
        for klass in np.unique(rows.klass).tolist():
            own = holds[arcs.node, klass].astype(np.float64)
            some = rows.klass == klass
            found[some] = summed(arcs.row, own, left, lumps)[arcs.lump_of[some]] > 0
        return found

    def _weighed(self, share: FloatArray, sized: Posterior) -> Posterior | Undetermined:
        """Return the estimate where everybody's class is known; ``share`` (N, B) where no leaf has any of a class."""
        estimator, leaves = self.estimator, self.estimator.leaves
        classes, number = np.unique(estimator.rows.klass, return_inverse=True)
        of_leaves = leaves.estimate(estimator.options)
        if isinstance(of_leaves, Undetermined):
            return of_leaves
        view, secret = estimator.knowledge.views[0], estimator.secret
        of_node = np.zeros((len(view.tree.nodes), len(classes)))
        of_node[leaves.nodes] = of_leaves.values[:, classes]
        is_held = np.zeros(len(of_node))
        is_held[leaves.nodes] = 1.0
        size, domain = len(secret.values), view.hidden.get(secret.name)

        def weigh_path(place: ReachablePath) -> tuple[float, FloatArray]:
            # 1, how common each value is among those left, which is decided, and which are left, (1 + 3 B,).
            mask = place.masks.get(secret.name)
            kinds = {b"" if mask is None else mask.tobytes(): 0}
            allowed, inside = values_of(kinds, secret, domain, estimator.population)
            left = allowed[0].astype(np.float64)
            decided = left if left.sum() == 1 else np.zeros_like(left)
            row = np.concatenate([[1.0], inside[0], decided, left])
            return is_held[place.node], np.outer(of_node[place.node], row).ravel()

        width = 1 + 3 * size
        found = average_over_paths(view, weigh_path, len(classes) * width)
        found = found.reshape(len(found), len(classes), width)
        own_rows = found[estimator.rows.group, number.reshape(-1)]
        total = own_rows[:, :1]
        values, low, high = (
            np.divide(own_rows[:, start : start + size], total, out=share.copy(), where=total > 0)
            for start in range(1, width, size)
        )
        return between(values, low, high if estimator.is_compared else values, sized)


def _value_frequencies(prior: FloatArray, is_left: BoolArray) -> FloatArray:
    """Return how common values are among those left, (N, B)."""
    kept = np.where(is_left, prior, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    even = is_left / np.maximum(is_left.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.divide(kept, total, out=even, where=total > 0))


NOT_TESTED = (
    "the tree does not test {name}, so only the shares of its values in the table can be inferred"
)
ONE_ATTRIBUTE = (
    "{} and {} are indicators of one attribute. The consequences are not computed, and an "
    "adversary may infer more"
)
EXCLUDING = (
    "in this table, some values of {} exclude some of {}. The consequences are not "
    "computed, and an adversary may infer more"
)
SAYING = (
    "in this table, some values of {} determine {}, for {:,.0f} people. The ranges cover "
    "an adversary who uses this and one who does not"
)


@dataclass(frozen=True, slots=True)
class _KnownClasses:
    """What is known of people's classes: the ``classes`` (C,) of everybody, None where not everybody's is known.

    ``people_by_class`` (P,) is how many people of each profile have each of them, or all people. ``outcome`` is what
    known columns imply of classes, where not everybody's is known, and ``is_used`` whether that is used.
    """

    classes: IndexArray | None
    people_by_class: tuple[FloatArray, ...]
    outcome: ImpliedClasses | None
    is_used: bool

    @property
    def used_outcome(self) -> ImpliedClasses | None:
        """What known columns imply of classes, where it is used."""
        return self.outcome if self.is_used else None


@dataclass(frozen=True, slots=True)
class _AttributeEstimates:
    """What follows with all that is used of known columns (``full``), and with less or more.

    ``unaided`` goes without what known columns imply of tested ones, None where that is nothing; ``ruled`` use what
    columns imply of the secret and of the target.
    """

    full: AttributeEstimate
    unaided: AttributeEstimate | None
    ruled: tuple[AttributeEstimate, ...]

    @property
    def others(self) -> tuple[AttributeEstimate, ...]:
        """All but the full one."""
        return self.ruled if self.unaided is None else (self.unaided, *self.ruled)


def infer_attribute(
    context: TreeContext,
    secret: Secret,
    columns: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
    *,
    knows_target: bool,
) -> TargetInference | Undetermined:
    """Return what an adversary who knows these columns of a tree's people can infer of a secret column.

    The people are told apart by the secret column too. In the estimate ``low`` counts only what leaves decide
    by themselves, the rest how common values are. Where splits on the secret were compared, their choice may say more
    of who has what inside a leaf: ``high`` then counts all that leaves leave open. Certain and excluded hold in every
    table with these leaves. ``effort`` is what may be spent.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        SolverError: the wanted solver is not there.
        TableError: no table with these leaves has these numbers.
    """
    refusal = refusal_of(context, needs_classes=knows_target)
    if refusal is not None:
        return refusal
    knowledge = context.adversary_knowledge(columns, secret)
    classes = _known_classes(context, knowledge, knows_target=knows_target)
    implied = _imply_values(context, secret, knowledge, classes)
    tested = {secret.name, *(() if implied is None else implied.of_hidden)}
    tested &= {feature.name for feature in context.tree.features}
    doubts = _doubts(context, secret, knowledge, classes, sorted(tested))
    is_uncounted = knows_target and not context.leaves.are_counted
    flows = 0 if until.is_over else effort.flows
    is_sized = context.are_sizes_published
    rows = _rows_of(context, knowledge, classes)
    choice = choice_of(context, knowledge.people, doubts) if is_sized else None
    estimator = AttributeEstimator(
        context=context,
        knowledge=knowledge,
        secret=secret,
        rows=rows,
        choice=None if choice is None else choice.take(rows.group),
        doubts=doubts,
        is_compared=context.knowledge.split.is_criterion and bool(tested),
        options=options,
        effort=effort,
        uncounted=uncounted_places(context.leaves, until) if is_uncounted else None,
    )
    estimates = _estimate(estimator, implied, classes.used_outcome, flows)
    inference = _conclude(estimator, estimates, implied, classes.used_outcome)
    worlds = inference.worlds
    if is_uncounted and isinstance(worlds, ConsistentTables) and worlds.is_open:
        worlds = worlds.leaving((*worlds.left, CLASSES_NOT_USED))
        inference = replace(inference, worlds=worlds)
    if is_sized:
        return inference
    return UnsizedAttribute(estimator, estimates.full.arcs).infer(inference)


def _rows_of(
    context: TreeContext, knowledge: AdversaryKnowledge, classes: _KnownClasses
) -> AttributeRows:
    """Return people of each known class, one class after the other, by group; or of each group, where none is known."""
    known = [OPEN] if classes.classes is None else classes.classes.tolist()
    row_of = np.full((len(context.tree.classes), knowledge.groups), -1, dtype=np.intp)
    groups, size = [], 0
    for klass, number in zip(known, classes.people_by_class, strict=True):
        here = np.bincount(knowledge.group_of_profile, number, knowledge.groups) > 0
        groups.append(np.flatnonzero(here))
        own = slice(None) if klass == OPEN else klass
        row_of[own, here] = size + np.arange(len(groups[-1]))
        size += len(groups[-1])
    return AttributeRows(
        group=np.concatenate(groups),
        klass=np.repeat(np.array(known, dtype=np.intp), [len(group) for group in groups]),
        row_of=row_of,
    )


def _known_classes(
    context: TreeContext, knowledge: AdversaryKnowledge, *, knows_target: bool
) -> _KnownClasses:
    population, truth = context.population, context.population.truth
    is_used = context.are_sizes_published and context.leaves.are_counted
    if not knows_target:
        closure = knowledge.closure
        outcome = imply_classes(context.tests, population, closure.known, closure.values)
        return _KnownClasses(
            None, (population.counts,), outcome, is_used=is_used and outcome is not None
        )
    assert not isinstance(truth, Undetermined)
    classes = np.flatnonzero(truth.sum(axis=0) > 0)
    by_class = tuple(truth[:, klass] for klass in classes.tolist())
    return _KnownClasses(classes, by_class, None, is_used=False)


def _imply_values(
    context: TreeContext, secret: Secret, knowledge: AdversaryKnowledge, classes: _KnownClasses
) -> ImpliedValues | None:
    """Return what columns imply of the secret, the target among them where people's classes are known."""
    truth, outcome = context.population.truth, classes.outcome
    by_class = classes.people_by_class if classes.classes is not None else ()
    if outcome is not None and not isinstance(truth, Undetermined):
        by_class = tuple(truth.T)
    return imply_values(
        context.table,
        secret,
        knowledge,
        by_class,
        target_of(context.tree, context.population),
        None if outcome is None else outcome.of,
    )


def _doubts(
    context: TreeContext,
    secret: Secret,
    knowledge: AdversaryKnowledge,
    classes: _KnownClasses,
    tested: Collection[str],
) -> tuple[str, ...]:
    """Return why more may be known; ``tested`` are the secret and what implies it, as far as the tree has them."""
    population, closure = context.population, knowledge.closure
    doubts = doubts_of(context, (*knowledge.columns, *tested), knowledge.hidden)
    if classes.outcome is not None and not classes.is_used:
        target = target_of(context.tree, population)
        doubts = (*doubts, classes.outcome.words(OUTCOME_NOT_USED, target))
    names = (*closure.known, *knowledge.hidden)
    if parts := indicators_of_secret(context.table, secret, names):
        doubts = (*doubts, ONE_ATTRIBUTE.format(words_of(parts), secret.name))
    columns = dict.fromkeys((*closure.known, *closure.values, *knowledge.hidden))
    if excluded := excluding_columns(context.table, secret, columns):
        doubts = (*doubts, EXCLUDING.format(words_of(excluded), secret.name))
    if not context.are_sizes_published and context.knowledge.split.is_criterion:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    return doubts


def _estimate(
    estimator: AttributeEstimator,
    implied: ImpliedValues | None,
    outcome: ImpliedClasses | None,
    flows: int,
) -> _AttributeEstimates:
    """Return the estimates with and without what columns imply of tested columns, of the secret and of the target."""
    views, unaided = estimator.knowledge.views, None
    full = estimator.estimate(views[0], None, flows)
    if len(views) > 1:
        unaided = estimator.estimate(views[1], None, 0)
    ruled = [] if implied is None else [estimator.estimate(views[0], implied, flows)]
    if outcome is not None:
        rules = (None,) if implied is None else (None, implied)
        of_group = np.full(estimator.knowledge.groups, OPEN, dtype=np.intp)
        of_group[estimator.knowledge.group_of_profile] = outcome.of
        ruled += [
            estimator.estimate(view, rule, flows, of_group) for view in views for rule in rules
        ]
    return _AttributeEstimates(full, unaided, tuple(ruled))


def _conclude(
    estimator: AttributeEstimator,
    estimates: _AttributeEstimates,
    implied: ImpliedValues | None,
    outcome: ImpliedClasses | None,
) -> TargetInference:
    """Return what the estimates say together: the span of all, and tables that fit whatever is taken for known."""
    secret, population = estimator.secret, estimator.population
    people, full = _people(estimator), estimates.full
    worlds = _worlds(estimator, people, full)
    for estimate in estimates.ruled:
        worlds = keep_common_tables(worlds, _worlds(estimator, people, estimate))
    said = _remarkable(estimator, implied)
    if outcome is not None:
        said += (outcome.words(OUTCOME_SPANNING, target_of(estimator.context.tree, population)),)
    share = np.bincount(secret.of, population.counts, len(secret.values)) / population.records
    return TargetInference(
        population=people,
        posterior=span_estimates(
            full.posterior, *(estimate.posterior for estimate in estimates.others)
        ),
        worlds=worlds,
        doubts=estimator.doubts,
        gap=max(float(each.part.gaps.max(initial=0.0)) for each in (full, *estimates.others)),
        said=said,
        prior=certain(np.tile(share, (len(people.counts), 1))),
    )


def _remarkable(estimator: AttributeEstimator, implied: ImpliedValues | None) -> tuple[str, ...]:
    """Return what the adversary was taken to know, and what was taken for what the tree says nothing of."""
    closure, secret = estimator.knowledge.closure, estimator.secret
    said = [*closure.said, WITH_AND_WITHOUT] if closure.said else []
    if implied is not None:
        said.append(SAYING.format(words_of(implied.by), secret.name, implied.people))
    if secret.name not in estimator.knowledge.hidden:
        said.append(NOT_TESTED.format(name=secret.name))
    return tuple(said)


def _people(estimator: AttributeEstimator) -> Population:
    """Return the people as the adversary tells them apart, with how many of each have each secret value."""
    people, secret, rows = estimator.knowledge.people, estimator.secret, estimator.rows
    population, size = estimator.population, len(rows.group)
    columns = {name: column.take(rows.group) for name, column in people.columns.items()}
    qi, number = people.qi, population.counts
    profile, klass = np.arange(len(number)), np.zeros(len(number), dtype=np.intp)
    if estimator.knows_classes:
        tree = estimator.context.tree
        target = target_of(tree, population)
        columns[target] = CategoricalColumn(rows.klass, tree.classes)
        qi = (*qi, target)
        assert not isinstance(population.truth, Undetermined)
        profile, klass = np.nonzero(population.truth > 0)
        number = population.truth[profile, klass]
    row = rows.row_of[klass, estimator.knowledge.group_of_profile[profile]]
    truth = np.zeros((size, len(secret.values)))
    np.add.at(truth, (row, secret.of[profile]), number)
    return replace(
        people,
        qi=qi,
        columns=columns,
        counts=truth.sum(axis=1),
        leaf=np.full(size, -1, dtype=np.intp),
        truth=truth,
    )


def _worlds(
    estimator: AttributeEstimator, people: Population, estimate: AttributeEstimate
) -> ConsistentTables | Undetermined:
    counts, doubts = estimator.population.counts, estimator.doubts
    if (counts != np.rint(counts)).any():
        return NOT_WHOLE
    worlds = bound_tables(
        people,
        estimate.proved,
        is_exact=not doubts,
        between=estimate.ranges,
        reason=ALL_DECIDE,
    )
    return replace(worlds, left=doubts, not_decided=doubts)
