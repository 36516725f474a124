"""Attribute inference from a forest: what the leaves of each tree prove of a column that is to stay secret.

Each tree that publishes how many people its leaves hold is read as if it were published alone; what one of them proves
holds whatever the others say. What the trees say together is left open, but for people whose value could be another in
a table that leaves every leaf of every tree as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.consistent_tables.result import OUT_OF_TIME, ConsistentTables
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.attributes.size_inference import SizeClaim, claims_of
from treewarden.audit.partial.attributes.witness_exchanges import ClassCells, exchangeable
from treewarden.audit.partial.fitting.flows import FULL, AdversaryBudget
from treewarden.audit.partial.functional_dependencies import Codes, attribute_closure
from treewarden.audit.partial.reachability import Proofs, bound_tables
from treewarden.audit.partial.secret_values import MISSING, Secret, distinguished_values
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.tree_context import TreeContext, are_sizes_published
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

# Attribute inference from node sizes alone, where trees hold no counts of classes, as boosted ones do.
#
# An adversary who knows all tested columns but the secret one counts who can be at each node; the value that a tree
# predicts has no part in that.

ONLY_SIZES = (
    "the model publishes record counts of nodes, but no class counts. Proofs from record "
    "counts are reported for each tree; the numbers in leaves may prove more"
)
OF_SIZES = "the size of a node leaves this value alone"
NO_ESTIMATE = Undetermined(f"no inference: {ONLY_SIZES}")


def infer_attribute_from_sizes(
    forest: Forest, population: Population, secret: Secret, columns: Collection[str]
) -> TargetInference | None:
    """Return what sizes of nodes prove of a secret; None where no size does, or some other tested column is unknown."""
    tested = {feature.name for tree in forest.trees for feature in tree.used_features()} - {
        secret.name
    }
    if not tested <= set(columns):
        return None
    ends = (*secret.ends.tolist(), *secret.numbers.tolist())
    claims, _ = claims_of(forest, population, secret.name, ends)
    if not claims:
        return None
    possible = np.ones((len(population.counts), len(secret.values)), dtype=np.bool_)
    for claim in claims:
        possible[claim.profiles] &= _places(claim, secret)
    people, of = merged(population, [name for name in population.qi if name in columns])
    left = np.zeros((len(people.counts), len(secret.values)), dtype=np.bool_)
    np.logical_or.at(left, of, possible)
    truth = np.zeros(left.shape)
    np.add.at(truth, (of, secret.of), population.counts)
    people = replace(people, truth=truth)
    is_certain = left & (left.sum(axis=1, keepdims=True) == 1)
    proved = Proofs(is_certain, ~left, np.zeros_like(left))
    worlds, said = bound_tables(people, proved, is_exact=False, reason=OF_SIZES), (ONLY_SIZES,)
    worlds = replace(worlds, left=said, not_decided=said)
    return TargetInference(people, NO_ESTIMATE, worlds, said, 0.0)


def _places(claim: SizeClaim, secret: Secret) -> BoolArray:
    """Return which values of a secret, or bins of them, a claim leaves, (B,)."""
    values = claim.values
    is_value = np.ones(len(values), dtype=np.bool_)
    if isinstance(values, NumericColumn) and len(secret.numbers):
        is_value = np.isin(values.numbers, secret.numbers) | values.missing
    if MISSING not in secret.values:
        is_value &= ~values.missing
    found = np.zeros(len(secret.values), dtype=np.bool_)
    chosen = np.flatnonzero(claim.is_left & is_value)
    found[secret.places(values.take(chosen))] = True
    return found


NOT_TOGETHER = (
    "proofs from several trees combined are not computed for a column. They may be more "
    "than those of each tree"
)
NOT_ALL_TREES = "{:,} of {:,} trees publish no class counts of leaves, and may prove more"
NEEDS_COUNTS = (
    "protecting a column that the model tests needs leaf counts of people, but {} "
    "publishes {}; audit a single tree, or a forest trained without bootstrap whose file "
    "has class counts"
)
NO_FOREST_ESTIMATE = Undetermined(
    "no inference: probabilities from several trees are not computed for a column"
)
SEVERAL_TREES = "proofs from several trees allow only this value"
PUBLISHED = {
    Quality.WEIGHTED: "sums of weights",
    Quality.NORMALISED: "shares of classes",
    Quality.HESSIAN: "sums of second derivatives",
    Quality.ABSENT: "no counts",
    Quality.INCONSISTENT: "numbers that contradict each other",
}


@dataclass(frozen=True, slots=True)
class _ReadableTrees:
    """Trees of a forest by their place: those to read, and how far these are all that may prove something.

    ``places`` are the trees whose leaves hold published counts and that test the secret; where none tests it, the first
    of those with counts. ``testing`` is how many test it, and ``usable`` how many have counts.
    """

    places: tuple[int, ...]
    testing: int
    usable: int

    @classmethod
    def from_forest(cls, forest: Forest, population: Population, secret: str) -> _ReadableTrees:
        """Return the trees that say something of a secret."""
        everything = range(len(forest.trees))
        usable = [place for place in everything if _is_usable(forest, population, place)]
        testing = [place for place in everything if _tests(forest.trees[place], secret)]
        places = [place for place in usable if place in testing] if testing else usable[:1]
        return cls(tuple(places), len(testing), len(usable))


def infer_forest_attribute(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    secret: Secret,
    columns: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
    *,
    knows_target: bool,
) -> TargetInference | Undetermined:
    """Return what an adversary who knows these columns of a forest's people can infer of a secret column.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    trees = _ReadableTrees.from_forest(forest, population, secret.name)
    if not trees.places:
        return _without_counts(forest, population, secret, columns)
    table = Codes(population, distinguished_values(list(forest.trees), population.columns))
    knowledge = knowledge.model_copy(update={"split": SplitLevel.NONE})
    budget = replace(effort, flows=effort.flows // len(trees.places))
    inferences: list[TargetInference] = []
    for place in trees.places:
        if inferences and until.is_over:
            break
        tree = forest.trees[place]
        people = replace(population, leaf=forest.stops[place])
        context = TreeContext(tree, people, resolved(knowledge, tree)[0], table)
        about = (context, secret, columns, until, options, budget)
        of_tree = infer_attribute(*about, knows_target=knows_target)
        if isinstance(of_tree, Undetermined):
            return of_tree
        inferences.append(of_tree)
    if not trees.testing:
        return inferences[0]
    inference = _join_trees(forest, trees, inferences)
    # Values of leaves that rest on several trees at once, as boosted ones do, an exchange might change.
    is_whole = trees.usable == len(forest.trees) and not _has_others(forest)
    worlds, is_plain = inference.worlds, not (inference.doubts or inference.said)
    if isinstance(worlds, ConsistentTables) and is_whole and is_plain:
        rows = _ClassRows.from_people(
            population, table, secret, columns, inferences[0], knows_target=knows_target
        )
        if rows is not None:
            worlds = rows.witnessed(worlds, forest.trees, population, secret)
            inference = replace(inference, worlds=worlds)
    return inference


def _join_trees(
    forest: Forest, trees: _ReadableTrees, inferences: Sequence[TargetInference]
) -> TargetInference:
    """Return what the trees prove that were read, one by one, and why they may prove more together."""
    left = [NOT_TOGETHER]
    if len(inferences) < len(trees.places):
        left.append(f"{OUT_OF_TIME}: {len(inferences):,} of {len(trees.places):,} trees were read")
    if len(trees.places) < trees.testing:
        left.append(NOT_ALL_TREES.format(trees.testing - len(trees.places), len(forest.trees)))
    doubts = tuple(dict.fromkeys(doubt for one in inferences for doubt in one.doubts))
    said = tuple(dict.fromkeys(sentence for one in inferences for sentence in one.said))
    numbers = [place + 1 for place in trees.places]
    worlds = _combined(inferences, numbers, (*doubts, *left))
    first = inferences[0]
    return TargetInference(
        population=first.population,
        posterior=NO_FOREST_ESTIMATE,
        worlds=worlds,
        doubts=doubts,
        gap=0.0,
        said=said,
        prior=first.prior,
    )


def _without_counts(
    forest: Forest, population: Population, secret: Secret, columns: Collection[str]
) -> TargetInference | Undetermined:
    """Return what sizes of nodes prove where no tree that tests the secret counts classes, or what is missing."""
    target_inference = infer_attribute_from_sizes(forest, population, secret, columns)
    if target_inference is not None:
        return target_inference
    return Undetermined(NEEDS_COUNTS.format(forest.model.source, _published(forest)))


def _has_others(forest: Forest) -> bool:
    """Return whether the model holds something else than trees."""
    return isinstance(forest.model, Ensemble) and any(True for _ in forest.model.others)


def _tests(tree: Tree, name: str) -> bool:
    return any(feature.name == name for feature in tree.used_features())


def _is_usable(forest: Forest, population: Population, place: int) -> bool:
    """Return whether the leaves of a tree hold published counts of people, in the classes of the whole model."""
    tree, stops = forest.trees[place], forest.stops[place]
    return (
        not forest.draws
        and tree.has_people
        and tree.task is Task.CLASSIFICATION
        and tree.classes == forest.model.classes
        and bool((stops[population.counts > 0] >= 0).all())
        and are_sizes_published(tree, np.unique(stops[stops >= 0]))
    )


def _published(forest: Forest) -> str:
    """Return in words what a forest publishes instead of leaf counts of people."""
    model = forest.model
    if forest.draws or (isinstance(model, Ensemble) and model.sampling.resampled):
        return "counts of draws of a sample"
    worst = next((tree for tree in forest.trees if tree.quality in PUBLISHED), None)
    if worst is not None:
        return PUBLISHED[worst.quality]
    if any(tree.task is not Task.CLASSIFICATION for tree in forest.trees):
        return "trees that predict numbers"
    return "counts of some leaves only"


def _combined(
    inferences: Sequence[TargetInference], numbers: Sequence[int], left: tuple[str, ...]
) -> ConsistentTables | Undetermined:
    """Return what the trees of these numbers prove, one by one; what else is possible is not decided."""
    each = [target_inference.worlds for target_inference in inferences]
    proofs: list[ConsistentTables] = []
    for worlds in each:
        if isinstance(worlds, Undetermined):
            return worlds
        proofs.append(worlds)
    first, counts = proofs[0], proofs[0].counts[:, None]
    low, high = (
        np.max([proof.low for proof in proofs], axis=0),
        np.min([proof.high for proof in proofs], axis=0),
    )
    rest = high.sum(axis=1, keepdims=True) - high, low.sum(axis=1, keepdims=True) - low
    low, high = np.maximum(low, counts - rest[0]), np.minimum(high, counts - rest[1])
    reasons: dict[int, str] = {}
    for number, consistent_tables in zip(numbers, proofs, strict=False):
        for row, why in consistent_tables.reasons.items():
            reasons.setdefault(row, f"tree {number}: {why}")
    truth = inferences[0].population.truth
    assert not isinstance(truth, Undetermined)
    true = np.rint(truth).astype(np.int64)
    worlds = replace(
        first,
        low=low,
        high=high,
        reached_low=true,
        reached_high=true,
        reasons=reasons,
        witnesses=(),
        left=left,
        not_decided=left,
    )
    reasons = {row: reasons.get(row, SEVERAL_TREES) for row in worlds.certain_rows}
    return replace(worlds, reasons=reasons)


@dataclass(frozen=True, slots=True)
class _ClassRows:
    """The people of each profile and class, and which row of what an adversary tells apart they are, (C,) each."""

    cells: ClassCells
    row: IndexArray

    @classmethod
    def from_people(
        cls,
        population: Population,
        table: Codes,
        secret: Secret,
        columns: Collection[str],
        seen: TargetInference,
        *,
        knows_target: bool,
    ) -> _ClassRows | None:
        """Return them in the order in which one tree's people are told apart; None where classes are not known."""
        truth = population.truth
        if isinstance(truth, Undetermined):
            return None
        told = attribute_closure(table, columns, (secret.name,))
        people, alike = merged(population, told.known)
        profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
        part = klass if knows_target else np.zeros(len(klass), np.intp)
        keys = part * len(people.counts) + alike[profile]
        distinct, row = np.unique(keys, return_inverse=True)
        counts = np.bincount(row, truth[profile, klass], len(distinct))
        if not np.array_equal(counts, seen.population.counts):
            return None
        return cls(ClassCells(profile, klass), row)

    def witnessed(
        self,
        worlds: ConsistentTables,
        trees: Sequence[Tree],
        population: Population,
        secret: Secret,
    ) -> ConsistentTables:
        """Return proofs with the tables in which two people, or one, have another value of the secret."""
        other = exchangeable(trees, population, secret, self.cells)
        if other is None:
            return worlds
        shape = worlds.low.shape
        able, leaving = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        np.logical_or.at(able, self.row, other)
        own = secret.of[self.cells.profile]
        leaves = other.any(axis=1)
        leaving[self.row[leaves], own[leaves]] = True
        size = worlds.counts[:, None]
        consistent_tables = worlds.reaching(
            np.where(leaving, size - 1, worlds.reached_low),
            np.where(able, 1, worlds.reached_high),
        )
        return consistent_tables if consistent_tables.is_open else consistent_tables.leaving(())
