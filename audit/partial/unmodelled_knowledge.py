"""Unmodelled knowledge: why more may be known than is used of a model, and inference without the sizes of leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.grower import grower, is_known_learner
from treewarden.audit.facts.node_candidates import (
    grouping_of_categories,
    is_used_above,
    left_out,
    left_out_at,
    of_everybody,
)
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, Case, Grouping, SplitFamily
from treewarden.audit.facts.stopped_leaves import settings_in_force
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.fitting.splits import (
    PlacedEstimate,
    SplitChoiceView,
    SureSplits,
    compared,
    left_of,
)
from treewarden.audit.partial.partial_view import PartialView, ReachablePath, reachable_paths
from treewarden.audit.partial.reachability import Proofs, Reachability, bound_tables
from treewarden.audit.partial.tree_context import LeafTable, TreeContext
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, grouped
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.nodes import Criterion
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Node, Task

# Target inference where the sizes of leaves are unknown: how likely leaves are must come from somewhere else.
#
# Of hidden columns anybody may look up how common each value is. Whoever takes them for independent of each other,
# and of what is known, gives a leaf the share of hidden values that lead there, among the leaves that such a person
# can be in; then, in a second step, the leaf says what its people are. (In one step, by the greatest entropy of both,
# a leaf of mixed classes would seem the likelier for being mixed, which nothing says.) The estimate lies between that
# and the one of whoever knows the sizes too. Every table that fits with the sizes fits without them, so that what is
# possible with them is possible; certain is only what all leaves that can hold a person say of all their people.

SIZES_UNKNOWN = (
    "the file contains no record counts of leaves. The inference is a range with and "
    "without them, and proofs do not use them"
)
SIZES_NOT_USED = "tables with other record counts in the leaves were not searched for"


def are_told_apart(leaves: LeafTable) -> bool:
    """Return whether a file says of its leaves their classes' shares or labels alone, of each by itself.

    What it says of inner nodes, or of sums of weights, tells something of how many people are in the leaves.
    """
    system = leaves.system
    if system.dropped or any(len(np.unique(row.profiles)) > 1 for row in system.across):
        return False
    return all(map(_says_shares_alone, system.case.tree.nodes))


def _says_shares_alone(node: Node) -> bool:
    figures = node.figures
    said = (node.records, node.class_counts, node.bands, node.impurity, figures.spread)
    is_bare = all(each is None for each in said) and not figures.other_splits
    return is_bare and (node.is_leaf or node.class_shares is None)


def can_hold(nodes: int, leaves: LeafTable) -> BoolArray:
    """Return whether people of a class can be at each node, (N, m), by the shares that are known of its people."""
    facts = leaf_facts(leaves.system.case)
    found = np.ones((nodes, len(facts[0].masses)), dtype=bool)
    for node, each in zip(leaves.nodes.tolist(), facts, strict=True):
        whole = [mass == each.records for mass in each.masses]
        for klass, mass in enumerate(each.masses):
            found[node, klass] = mass != 0 and not (any(whole) and not whole[klass])
    return found


def average_over_paths(
    view: PartialView, weigh_path: Callable[[ReachablePath], tuple[float, FloatArray]], width: int
) -> FloatArray:
    """Return of each profile, (P, width), the average of what is told of the places it can be in; not a number of none.

    A place counts as much as the share of hidden values that lead there, times the weight that is told with it.
    """
    total, sums = np.zeros(view.size), np.zeros((view.size, width))
    for place in reachable_paths(view):
        weight, row = weigh_path(place)
        if weight > 0:
            of_profile = weight * _base(view, place)
            total[place.profiles] += of_profile
            sums[place.profiles] += of_profile[:, None] * row
    average = np.full_like(sums, np.nan)
    np.divide(sums, total[:, None], out=average, where=total[:, None] > 0)
    return average


def _base(view: PartialView, place: ReachablePath) -> FloatArray:
    """Return the share of hidden values that lead each profile there by this path: all of a known value."""
    found = np.ones(len(place.profiles))
    for name, mask in place.masks.items():
        share = view.hidden[name].share
        left = share[mask].sum() / share.sum()
        known = name in view.guesses and view.guesses[name].is_known[place.profiles]
        found *= np.where(known, 1.0, left)
    return found


def between(values: FloatArray, low: FloatArray, high: FloatArray, sized: Posterior) -> Posterior:
    """Return an estimate whose ends take in that with known sizes."""
    values = np.minimum(values, 1.0)
    low = np.minimum(np.minimum(low, values), sized.low)
    high = np.minimum(np.maximum(np.maximum(high, values), sized.high), 1.0)
    return Posterior(values, sized.decided, low, high)


def unsized_estimate(
    view: PartialView,
    leaves: LeafTable,
    sized: Posterior | Undetermined,
    options: AuditOptions = DEFAULT,
) -> Posterior | Undetermined:
    """Return the estimate of each profile's class, (P, m), given that with known sizes.

    Raises:
        SolverError: the wanted solver is not there.
    """
    own = leaves.estimate(options)
    if isinstance(sized, Undetermined) or isinstance(own, Undetermined):
        return sized if isinstance(sized, Undetermined) else own
    m = own.values.shape[1]
    of_node = np.zeros((len(view.tree.nodes), 3 * m))
    of_node[leaves.nodes] = np.concatenate([own.values, own.low, own.high], axis=1)
    is_held = np.zeros(len(view.tree.nodes))
    is_held[leaves.nodes] = 1.0
    found = average_over_paths(
        view, lambda place: (is_held[place.node], of_node[place.node]), 3 * m
    )
    return between(found[:, :m], found[:, m : 2 * m], found[:, 2 * m :], sized)


def unsized_proofs(reachability: Reachability, holds: BoolArray) -> Proofs:
    """Return what follows of each lump and class from which classes each node can hold, (N, m); nothing is possible."""
    others = holds.sum(axis=1, keepdims=True) - holds > 0
    can, other = (reachability.any_of(each) for each in (holds, others))
    return Proofs(~other, ~can, np.zeros_like(can))


def unsized_tables(
    people: Population, proved: Proofs, sized: ConsistentTables | Undetermined, reason: str
) -> ConsistentTables | Undetermined:
    """Return what is certain of each profile, (P, m), with the tables that fit if the sizes are the true ones."""
    if isinstance(sized, Undetermined):
        return sized
    worlds = bound_tables(people, proved, is_exact=False, reason=reason)
    left = (*sized.left, SIZES_NOT_USED)
    shown = worlds.reaching(sized.reached_low, sized.reached_high)
    return replace(shown, left=left, not_decided=left)


# Unmodelled knowledge: why more may be known than is used of what a model publishes.

ONLY_CLASSES = Undetermined(
    "adversaries with partial knowledge are evaluated only for trees that predict a class"
)
WEIGHED = Undetermined(
    "the tree contains sums of sampling weights, for which adversaries with partial "
    "knowledge are not evaluated"
)
NO_SIZES = Undetermined(
    "the file contains no record counts of leaves, so adversaries with partial knowledge "
    "are not evaluated"
)
SPLITS_NOT_USED = (
    "the choice of splits on known columns is not used. It may prove more, and other "
    "tables were not checked against it"
)
STOPS_NOT_USED = (
    "the reason why leaves were not split ({}) is not used. It may prove more, and other "
    "tables were not checked against it"
)
UNLISTED_NOT_USED = (
    "the file does not list {}, so splits on it are not used, although the training "
    "program may have compared them"
)
DRAWN_NOT_USED = (
    "other cuts of tested columns are not used, although the training program compared "
    "them if it drew these columns"
)
NOT_COMPARED = f"no inference: {SPLITS_NOT_USED}"
FACTS_NOT_USED = "known facts about people are not used, and may prove more"
MIXED = "some tests use a hidden column and another one at once, so possible leaves are not exact"
NOT_WHOLE = Undetermined("some people count as a part of a person, so no proofs were searched for")
NO_CLASSES = Undetermined("the table does not contain the classes of people")
WITH_AND_WITHOUT = "the inference is a range, with and without that knowledge"


def refusal_of(context: TreeContext, *, needs_classes: bool = False) -> Undetermined | None:
    """Return why nothing is inferred for adversaries who know some columns; None where it is.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    if context.tree.task is not Task.CLASSIFICATION:
        return ONLY_CLASSES
    if context.population.weight is not None:
        return WEIGHED
    if needs_classes and isinstance(context.population.truth, Undetermined):
        return NO_CLASSES
    if not context.are_sizes_published and not are_told_apart(context.leaves):
        return NO_SIZES
    return None


def doubts_of(
    context: TreeContext, columns: Sequence[str], hidden: Collection[str]
) -> tuple[str, ...]:
    """Return why an adversary with some known and some hidden columns may know more than is used here.

    Where all class counts are known, splits on hidden columns prove nothing of who has which class: any hidden values
    that lead to a leaf can be given to any of its people.
    """
    leaves, knowledge, found = context.leaves, context.knowledge, []
    compares_known = any(feature.name in columns for feature in context.tree.features)
    if knowledge.split.is_criterion and (compares_known or not leaves.are_counted):
        found.append(SPLITS_NOT_USED)
    if not found:
        # What splits say leaves certainty open already, and the estimate goes without the rest.
        found += _of_the_learner(leaves, knowledge, columns, compares_known=compares_known)
    if knowledge.facts:
        found.append(FACTS_NOT_USED)
    if context.branches.are_mixed(hidden):
        found.append(MIXED)
    return tuple(found)


def _of_the_learner(
    leaves: LeafTable, knowledge: Knowledge, columns: Sequence[str], *, compares_known: bool
) -> Iterator[str]:
    """Yield what is not used of the learner's settings, and of the columns that it compared or may have compared."""
    case = leaves.system.case
    learner, settings = case.tree.learner, settings_in_force(case)
    if settings and is_known_learner(case) and (compares_known or not leaves.are_counted):
        yield STOPS_NOT_USED.format(", ".join(settings))
    if compares_known and not learner.all_features and learner.criterion is not None:
        yield DRAWN_NOT_USED
    is_listed = learner.lists_columns or learner.tool is Tool.TREEWARDEN
    if not knowledge.split.is_criterion or is_listed:
        return
    names = {feature.name for feature in case.tree.features}
    unlisted = [repr(name) for name in dict.fromkeys(columns) if name not in names]
    if unlisted:
        yield UNLISTED_NOT_USED.format(", ".join(unlisted))


def no_inference(reasons: Sequence[str]) -> Undetermined:
    """Return that nothing is inferred, and why."""
    return Undetermined(f"no inference: {'; '.join(reasons)}")


def why_broken(choice: SplitChoiceView, placed: PlacedEstimate) -> str:
    """Return why what the choice of splits says is not known to hold at an estimate; "" where it does."""
    candidate_counts = compared(choice, placed)
    return NOT_COMPARED if candidate_counts is None else candidate_counts.why


# Splits on known columns that a learner surely compared, so that it is a fact that they are no better.


def choice_of(
    context: TreeContext, people: Population, doubts: tuple[str, ...]
) -> SplitChoiceView | None:
    """Return what an adversary who tells ``people`` apart knows of how splits were chosen; None where it is not used.

    It is where nothing else than such choices may say more, and the classes of each leaf are counted.
    """
    if doubts != (SPLITS_NOT_USED,) or not context.leaves.are_counted:
        return None
    tree, population = context.tree, replace(context.population, qi=people.qi)
    case = Case(tree, population, members(tree, population.leaf), context.knowledge)
    columns = {name: people.columns[name] for name in people.qi}
    criterion = Criterion(context.knowledge.split.value)
    return SplitChoiceView(
        tree, context.leaves.nodes, columns, criterion, grower(case).surely, sure_splits(case)
    )


def sure_splits(case: Case) -> SureSplits:
    """Return the candidates that a learner surely compared, were their branches large enough, on the known columns.

    These are the quasi-identifiers of ``case``. What the true table shows to be better than the chosen split is none of
    them, as for who knows all: the learner did not compare it, or took the first of equals.
    """
    by, tree, criterion = grower(case), case.tree, Criterion(case.knowledge.split.value)
    is_stopped = any(not tree.nodes[each].is_leaf for each in np.unique(case.population.leaf))
    if tree.nodes[0].is_leaf or is_stopped or left_out(case, by) is not None:
        return {}
    cuts: dict[str, BoolArray] = {}
    for family in of_everybody(case, by):
        if family.grouping is Grouping.SUBSET and by.orders_sets and by.surely > 1:
            continue  # how many records of a category are at a node, nobody knows who lacks columns
        name, column = family.attribute, case.population.columns[family.attribute]
        cuts[name] = cuts.get(name, np.zeros(1, dtype=bool)) | _between(family, column)
    is_multiway = grouping_of_categories(tree) is Grouping.MULTIWAY
    masks: dict[tuple[int, str], BoolArray] = {}
    values = {name: _values(case.population.columns[name]) for name in cuts}
    for node in tree.nodes:
        inside = case.members.profiles_at(node.index)
        if node.is_leaf or not len(inside) or left_out_at(case, node, inside, by) is not None:
            continue
        left = _left_by_chosen(case, node.children)
        for feature in tree.features:
            name = feature.name
            if name not in cuts or (is_multiway and is_used_above(tree, node, feature)):
                continue
            masks[node.index, name] = cuts[name]
            held = _true_counts(case, inside, *values[name])
            if held is not None and left is not None and (feature.numeric or is_multiway):
                better = _better(held, left, criterion, is_number=feature.numeric)
                masks[node.index, name] = cuts[name] & ~better
    return masks


def _between(family: SplitFamily, column: Column) -> BoolArray:
    """Return which cuts between neighbouring values, (V - 1,), or all sets, (1,), are candidates of all records."""
    if not isinstance(column, NumericColumn):
        return np.ones(1, dtype=bool)
    values, of = _values(column)
    bins = np.zeros(values, dtype=np.intp)
    bins[of[family.profiles]] = family.bins
    return np.asarray((np.diff(bins) > 0) & np.isin(bins[:-1], family.admissible))


def _values(column: Column) -> tuple[int, IndexArray]:
    """Return how many values a column has, and the place of each profile's among them."""
    values, of = np.unique(column.keys, return_inverse=True)
    return len(values), of.reshape(-1).astype(np.intp)


def _true_counts(
    case: Case, inside: IndexArray, values: int, value_of_profile: IndexArray
) -> FloatArray | None:
    """Return how many of a node's people have each value and class, (V, m); None where that is not known."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return None
    return grouped(value_of_profile[inside], truth[inside], values)


def _left_by_chosen(case: Case, children: tuple[int, ...]) -> float | None:
    """Return what a chosen split leaves of impurity in the true table, times people; None where that is not known."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return None
    held = np.stack([truth[case.members.profiles_at(child)].sum(axis=0) for child in children])
    return float(left_of(held, Criterion(case.knowledge.split.value)).sum())


def _better(
    class_counts: FloatArray, left: float, criterion: Criterion, *, is_number: bool
) -> BoolArray:
    """Return which cuts, (V - 1,), or whether a branch for each value, (1,), leave less than the chosen split does."""
    most = left - TRUTH_TOLERANCE_SHARE * class_counts.sum()
    if not is_number:
        return np.array([left_of(class_counts, criterion).sum() < most])
    one = np.cumsum(class_counts, axis=0)[:-1]
    other = np.maximum(class_counts.sum(axis=0) - one, 0.0)
    return np.asarray(left_of(one, criterion) + left_of(other, criterion) < most)
