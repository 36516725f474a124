"""A claim of differential privacy held against the file and its table: void, refuted, or nothing against it.

The claim is void where the file gives away what its draws came from (a seed), publishes more than the mechanism draws
(counts of leaves, statistics beside the trees), or where its bounds or classes were read from the table. With a table,
losses are worked out and labels are tested. Nothing that is missing counts as kept: what cannot be judged is a doubt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.claims.leaf_labels import (
    MOST_CLASSES,
    LeafLabels,
    bounds_are_of_table,
    class_counts,
    log_probabilities,
    p_of_empty_labels,
    read_leaf_labels,
)
from treewarden.audit.claims.realised_loss import (
    NO_SHARE,
    LabelTest,
    RealisedLoss,
    doubts_of_spending,
    label_test,
    measure_losses,
    spent_on_labels,
)
from treewarden.audit.claims.result import (
    DEFAULT_LEVEL,
    MOST_LEVEL,
    NO_CLAIM,
    NO_EPSILON,
    ClaimEffect,
    ClaimFindings,
    doubts_beside_trees,
    effect_of,
    most_label_epsilon,
    voids_beside_trees,
)
from treewarden.audit.claims.several_trees import (
    LabelNoise,
    posterior_ends,
    posterior_of_trees,
)
from treewarden.audit.claims.split_choices import doubts_of_splits
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.unobserved_values import unheld_values
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import (
    Ensemble,
    Model,
    claim_of,
    claims_privacy,
    trees_of,
    with_claim,
)
from treewarden.ppdm_models.tree.nodes import NodeTable, parents_of
from treewarden.ppdm_models.tree.plain_splits import (
    codes_of,
    is_inner,
    tells_classes,
    totals_of,
)
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.privacy_claim import (
    BoundsOrigin,
    LabelMechanism,
    PrivacyClaim,
    SplitOrigin,
    TreeRecords,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

SEEDED = (
    "the file contains the random seed, so an adversary can repeat the draws on other "
    "tables: nothing is random; {advice}"
)
WITHOUT_SEED = "train again without random_state"
SINGLE_TREE = "files of several trees keep one for each of them, so train a single tree instead"
ENDLESS = "the claimed epsilon is infinite, or the claimed delta is 1"
OF_TABLE = (
    "its bounds or classes were read from the table, which discloses the smallest and the largest "
    "value, or which classes occur; train again with public bounds and classes"
)
NO_TABLE = Undetermined(
    "no table was given, and the mechanism protects its people; add --data TABLE"
)
NO_MECHANISM = (
    "the mechanism that drew the labels is not known; name it, such as --claims "
    "mechanism=permute-and-flip"
)
NO_SPLITS = (
    "the mechanism that chose the splits is not known; name it: --claims "
    "splits=independent, or splits=private"
)
NO_PARTS = (
    "the file does not state which records each tree was trained on. If every tree used "
    "all records, add --claims trees=all"
)
SAMPLED = (
    "the file says that each tree used a sample of the records, but the claim says that every tree "
    "used all of them"
)
WEIGHTED = "its trees have weights other than 1 or a starting score, and the mechanism that chose them is not known"
NO_TREE = "a part of it is no decision tree ({kind}), and no claim covers what that publishes; publish the trees alone"
EXTREMES = (
    "its bounds look taken from this table (its extremes, a record's value, or more digits than anybody writes); say "
    "where they come from: --claims bounds=table (read from the table) or bounds=public (known before)"
)
SAID_PUBLIC = (
    "its bounds are said to be public, but they look taken from this table (its extremes, a record's value, or more "
    "digits than anybody writes); train again with wider, round bounds that were known without the table"
)
LEAF_SIZE = (
    "the file states the smallest number of records in a leaf, which no draw of labels protects; publish the tree "
    "without it"
)
DEFAULT_CHILDREN = (
    "the side that missing values take differs from node to node, which may disclose where more records went; publish "
    "the tree with the same side at every node"
)
ORDER = (
    "which side of a test comes first differs from node to node, which may disclose where more records went; publish "
    "the tree with lower numbers first at every node"
)
NO_BOUNDS = (
    "nothing says where its bounds and classes come from, and thresholds lie between the bounds; say it: --claims "
    "bounds=public (known before) or bounds=table (read from the table)"
)
CLASSES = (
    "its list of classes may have been read from the table, which discloses which classes occur; say where bounds "
    "and classes come from: --claims bounds=table or bounds=public"
)
FILLED = (
    "labels of leaves without people are the commonest class above them, but a draw gives each class as often (their "
    "probability is {p:.2g}), so they were taken from records without noise; train again with a private learner"
)
LEAST_BY_CHANCE = 1e-3
"""Labels of empty leaves that draws have less often leave a claim open."""
UNREAD = "it is not known whether the file contains the random seed: {reason}"
TOO_MANY_CLASSES = (
    f"it has more than {MOST_CLASSES} classes, for which label probabilities are not computed"
)


def judge_claim(
    forest: Forest, population: Population, leaks: tuple[Leak, ...] | Undetermined
) -> ClaimFindings | Undetermined:
    """Return what was found of a model's claim; why nothing where it makes none that is known."""
    model = forest.model
    claim = claim_of(model)
    if claim is None:
        return NO_EPSILON if claims_privacy(model) else NO_CLAIM
    labels: LeafLabels | Undetermined = NO_TABLE
    doubts = list(_doubts(model, claim, population))
    if isinstance(leaks, Undetermined):
        doubts.append(UNREAD.format(reason=leaks.reason))
    else:
        # Where lists of values come from, a claim says itself: that nobody has one of them is no fact about the file.
        of_table = set(unheld_values(model, population))
        doubts += doubts_beside_trees(leak for leak in leaks if leak not in of_table)
    if not population.is_absent:
        labels = read_leaf_labels(forest, population, claim)
        if bounds_are_of_table(population, claim):
            is_open = claim.bounds_origin is BoundsOrigin.UNKNOWN
            doubts.append(EXTREMES if is_open else SAID_PUBLIC)
        doubts += doubts_of_splits(forest, population, claim)
        p = 1.0 if isinstance(labels, Undetermined) else p_of_empty_labels(labels, forest)
        if p < LEAST_BY_CHANCE:
            doubts.append(FILLED.format(p=p))
    if claim.bounds_origin is BoundsOrigin.UNKNOWN and not claim.bounds:
        doubts.append(NO_BOUNDS)
    loss, test = _measured(claim, labels, population, model)
    doubts += [found.reason for found in (test, loss) if isinstance(found, Undetermined)]
    voids = tuple(_voids(model, claim, leaks))
    return ClaimFindings(claim, voids, tuple(dict.fromkeys(doubts)), loss, test, labels)


def _measured(
    claim: PrivacyClaim, labels: LeafLabels | Undetermined, population: Population, model: Model
) -> tuple[RealisedLoss | Undetermined, LabelTest | Undetermined]:
    if isinstance(labels, Undetermined):
        return labels, labels
    if claim.mechanism is LabelMechanism.UNKNOWN:
        return Undetermined(NO_MECHANISM), Undetermined(NO_MECHANISM)
    if len(model.classes) > MOST_CLASSES:
        return Undetermined(TOO_MANY_CLASSES), Undetermined(TOO_MANY_CLASSES)
    if not math.isfinite(most_label_epsilon(claim)):
        return Undetermined(ENDLESS), Undetermined(ENDLESS)
    epsilon, test = spent_on_labels(model, claim), label_test(labels, claim.mechanism)
    if epsilon is None:
        return Undetermined(NO_SHARE), test
    return measure_losses(labels, population, claim, epsilon), test


def _voids(
    model: Model, claim: PrivacyClaim, leaks: tuple[Leak, ...] | Undetermined
) -> Iterator[str]:
    """Yield why a claim is no promise at all."""
    known = () if isinstance(leaks, Undetermined) else leaks
    has_seed = any(
        leak.kind is LeakKind.REPLAY and effect_of(leak) is ClaimEffect.VOIDS for leak in known
    )
    wholes = model.ensembles if isinstance(model, Ensemble) else ()
    if claim.is_seeded or has_seed or any(whole.sampling.seeds for whole in wholes):
        yield SEEDED.format(advice=SINGLE_TREE if isinstance(model, Ensemble) else WITHOUT_SEED)
    if not math.isfinite(claim.epsilon) or claim.delta >= 1:
        yield ENDLESS
    if claim.bounds_origin is BoundsOrigin.TABLE:
        yield OF_TABLE
    yield from voids_beside_trees(known)
    yield from claim.producer.unprotected
    if claim.mechanism is not LabelMechanism.UNKNOWN:
        published = list(dict.fromkeys(what for tree in trees_of(model) for what in _beyond(tree)))
        if published:
            yield (
                f"the file publishes {', '.join(published)}, but the mechanism protects only the labels "
                "of leaves"
            )


def _beyond(tree: Tree) -> Iterator[str]:
    """Yield what a tree publishes that no draw of labels covers."""
    if not np.isnan(totals_of(tree)).all():
        yield "the numbers of records"
    if tells_classes(tree).any() or any(node.bands is not None for node in tree.leaves):
        yield "class counts or shares"
    if any(node.impurity is not None for node in tree.nodes):
        yield "impurities"
    if ((codes_of(tree) >= 0) & is_inner(tree)).any():
        yield "labels of inner nodes"
    yield from tree.unused


def _doubts(model: Model, claim: PrivacyClaim, population: Population) -> Iterator[str]:
    """Yield why a claim cannot be judged, by what the file and its owner say."""
    if claim.producer.unevaluated:
        yield from claim.producer.unevaluated
        return
    if claim.mechanism is LabelMechanism.UNKNOWN:
        yield NO_MECHANISM
    if claim.splits is SplitOrigin.UNKNOWN:
        yield NO_SPLITS
    if claim.may_read_classes and claim.bounds_origin is BoundsOrigin.UNKNOWN:
        yield CLASSES
    for tree in trees_of(model):
        yield from _doubts_of_nodes(tree)
    if isinstance(model, Ensemble):
        yield from _doubts_of_trees(model, claim)
    yield from doubts_of_spending(model, claim, population)


def _doubts_of_nodes(tree: Tree) -> Iterator[str]:
    """Yield what a tree says beside its tests and labels that may have been computed from the records."""
    if tree.learner.min_leaf_records > 1:
        yield LEAF_SIZE
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        defaults = None if nodes.default_children is None else nodes.default_children.tolist()
    else:
        defaults = [-1 if node.default_child is None else node.default_child for node in nodes]
    given = {place: child for place, child in enumerate(defaults or ()) if child >= 0}
    first = dict[int, int]()
    for place, parent in enumerate(parents_of(nodes).tolist()):
        first.setdefault(parent, place)
    sides = {node: _side_of(tree, first[node]) for node in first if node >= 0}
    # A program may put the lower numbers first, and categories the other way round, or send missing values so.
    if _differs(sides.values()):
        yield ORDER
    told = [
        (kind, is_low == (first[node] == child))
        for node, child in given.items()
        for kind, is_low in (sides[node],)
    ]
    if _differs(told):
        yield DEFAULT_CHILDREN


def _differs(sides: Iterable[tuple[str, bool]]) -> bool:
    """Return whether tests of one kind have both sides."""
    found = set(sides)
    return len(found) > len({kind for kind, _ in found})


def _side_of(tree: Tree, child: int) -> tuple[str, bool]:
    """Return the kind of the test of a node's first child, and whether it is the side of lower numbers.

    Of categories that is the side of the first value that the file lists.
    """
    test = tree.nodes[child].test
    if isinstance(test, NumericTest):
        return "numbers", test.high < math.inf
    if isinstance(test, CategoryTest):
        listed = next((f.values for f in tree.features if f.name == test.feature), ())
        least = listed[0] if listed else min(test.values)
        return "categories", (least in test.values) != test.negated
    return "other", True


def _doubts_of_trees(model: Ensemble, claim: PrivacyClaim) -> Iterator[str]:
    """Yield why the labels of several trees are not all that a file publishes, or of whom they are is not known."""
    for part in model.others:
        yield NO_TREE.format(kind=part.kind[:60])
    wholes = tuple(model.ensembles)
    if claim.trees is not TreeRecords.ALL:
        yield NO_PARTS
    elif any(whole.sampling.resampled or whole.sampling.held_out for whole in wholes):
        yield SAMPLED
    if any(_is_weighted(whole) for whole in wholes):
        yield WEIGHTED


def _is_weighted(ensemble: Ensemble) -> bool:
    """Return whether an ensemble publishes numbers that weigh its own members, or that it starts from.

    One weight that all of them share is a number, too: it can hold any other.
    """
    has_weights = any(member.weight != 1 for member in ensemble.members)
    return has_weights or any(ensemble.base) or ensemble.growth is not None


# When a claim of noisy labels is relied on, and what one noisy label then tells of each person in its leaf.
#
# A claim is relied on where nothing contradicts it. Then every table gives the file with some probability, so that
# labels prove nothing of anybody, and what they tell is a posterior, as of a randomised response. Under any other claim
# labels are left out, and what depends on them stays undecided.
#
# An adversary knows who is in which leaf, takes everybody's class as drawn by itself from one distribution, and knows
# how labels are drawn. By Bayes' rule P(class c | label) is in proportion to prior_c E[P(label | counts)], over the
# classes of all others in the leaf: a sum over the multinomial distribution of the counts, with no bound and no sample.

SUSPECT_BELOW = MOST_LEVEL
"""Labels that are truer than so under the claim are not relied on, though they do not refute it."""
MOST_EPSILON = 5.0
"""Above, a label is nearly the commonest class, and is not called noise: our own judgement."""
MOST_COUNTS = 300_000
"""So many ways to part the people of leaves into three classes or more are listed: of three, 700 people at once."""
TOO_MANY_COUNTS = Undetermined("its leaves can be parted into classes in too many ways")
OTHER_KNOWLEDGE = Undetermined(
    "noisy labels are evaluated only for adversaries who know no person's class, no counts or shares of leaves and "
    "not the accuracy"
)
WITH_LABELS = (LeafLevel.LABELS, LeafLevel.AS_PUBLISHED)
"""What an adversary may know of leaves who knows no more than the labels of a file whose claim is relied on."""


def knows_labels_alone(knowledge: Knowledge) -> bool:
    """Return whether an adversary knows nothing of people's classes beside labels that were drawn at random."""
    return not (knowledge.facts or knowledge.accuracy) and knowledge.leaf in WITH_LABELS


def relied_on(forest: Forest, findings: ClaimFindings | Undetermined) -> Forest:
    """Return the forest with its claim marked as one that may be relied on; as it is where it may not."""
    if isinstance(findings, Undetermined):
        return forest
    is_sound = not (findings.voids or findings.doubts or findings.is_refuted_by_loss)
    if not is_sound or findings.is_refuted_by_test(SUSPECT_BELOW):
        return forest
    if findings.contradicts_table(DEFAULT_LEVEL) or findings.is_open_by_rounding:
        return forest
    if most_label_epsilon(findings.claim) > MOST_EPSILON or findings.claim.epsilon > MOST_EPSILON:
        return forest
    model = with_claim(forest.model, replace(findings.claim, is_relied_on=True))
    return replace(forest, model=model, trees=tuple(trees_of(model)))


def noisy_posterior(
    findings: ClaimFindings | Undetermined,
    population: Population,
    knowledge: Knowledge,
    until: Clock = FOREVER,
) -> Posterior | Undetermined:
    """Return what noise tells of each profile, (P, k), where the claim is relied on; or why that is not known.

    Exact where no record had a part in the tests, and as far as counts of leaves can be listed (of three classes or
    more, or of several trees). Elsewhere between the ends that every table of the others leaves.
    """
    if isinstance(findings, Undetermined):
        return findings
    truth = population.truth
    if isinstance(findings.labels, Undetermined) or isinstance(truth, Undetermined):
        return Undetermined(findings.doubts[0])
    if not knows_labels_alone(knowledge):
        return OTHER_KNOWLEDGE
    noisy = NoisyLabels(findings.labels, noise_of(findings), open_shift_of(findings))
    return posterior_under_noise(noisy, population.counts, truth, knowledge, until)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyLabels:
    """Labels whose noise is relied on: how each tree draws its own, and by how much other parts may shift odds."""

    labels: LeafLabels
    noise: tuple[LabelNoise, ...]
    open_shift: float


def noise_of(findings: ClaimFindings) -> tuple[LabelNoise, ...]:
    """Return how each tree draws its labels under a claim."""
    assert not isinstance(findings.labels, Undetermined)
    drawn = LabelNoise(most_label_epsilon(findings.claim), findings.claim.mechanism)
    return (drawn,) * len(findings.labels.leaf_of_profile)


def open_shift_of(findings: ClaimFindings) -> float:
    """Return by how much tests that were chosen privately may shift the logarithm of odds: a record less, one more."""
    claim = findings.claim
    if claim.splits is SplitOrigin.INDEPENDENT:
        return 0.0
    spent = sum(drawn.epsilon for drawn in noise_of(findings))
    return 2 * max(0.0, claim.epsilon - spent)


def posterior_under_noise(
    noisy: NoisyLabels,
    people: FloatArray,
    truth: FloatArray,
    knowledge: Knowledge,
    until: Clock = FOREVER,
) -> Posterior:
    """Return what noise tells of each profile: ``people`` (P,) and ``truth`` (P, k) are how many, and of each class."""
    classes = truth.shape[1]
    prior = truth.sum(axis=0) / truth.sum()
    if not knowledge.marginal:
        prior = np.full(classes, 1 / classes)
    labels = noisy.labels
    if len(labels.leaf_of_profile) == 1:
        drawn = noisy.noise[0]
        found = posterior_of_labels(labels, prior, drawn.epsilon, drawn.mechanism)
    else:
        found = posterior_of_trees(labels, people, prior, noisy.noise, until)
    if not isinstance(found, Undetermined) and not noisy.open_shift:
        return certain(found)
    ends = posterior_ends(labels, prior, noisy.noise, noisy.open_shift)
    values = np.tile(prior, (len(truth), 1)) if isinstance(found, Undetermined) else found
    is_known = np.ones(len(truth), dtype=bool)
    return Posterior(np.clip(values, ends.low, ends.high), is_known, ends.low, ends.high)


def posterior_of_labels(
    labels: LeafLabels, prior: FloatArray, epsilon: float, mechanism: LabelMechanism
) -> FloatArray | Undetermined:
    """Return how likely each class is of a person of each profile, (P, k), of one tree; why not where it is too large.

    ``prior`` (k,) are the shares of the classes before the file.

    Raises:
        ValueError: there are more trees.
    """
    if len(labels.leaf_of_profile) != 1:
        raise ValueError("available only for a single tree")
    people = np.rint(labels.counts.sum(axis=1)).astype(np.int64)
    kinds, kind_of_leaf = np.unique(
        np.stack([people, labels.labels], axis=1), axis=0, return_inverse=True
    )
    sizes = sorted({size for size, _ in kinds.tolist() if size})
    others = len(prior) - 1
    if others > 1 and sum(math.comb(size + others, others) for size in sizes) > MOST_COUNTS:
        return TOO_MANY_COUNTS
    of_size = {size: _of_leaves(size, prior, epsilon, mechanism) for size in sizes}
    found = np.array([of_size[size][label] if size else prior for size, label in kinds.tolist()])
    return np.asarray(found[kind_of_leaf.reshape(-1)][labels.leaf_of_profile[0]])


def _of_leaves(
    size: int, prior: FloatArray, epsilon: float, mechanism: LabelMechanism
) -> FloatArray:
    """Return how likely each class is of one of so many people, for each label of their leaf, (k, k).

    Whoever is asked about is one of them, all alike: of class c with the probability count_c / size.
    """
    counts = class_counts(size, len(prior))
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(counts > 0, counts * np.log(prior), 0.0)
    logs = shares.sum(axis=1) - factorials[counts.astype(np.int64)].sum(axis=1)
    logs = logs[:, None] + log_probabilities(counts, epsilon, mechanism)
    weights = np.exp(logs - logs.max(axis=0))
    found = weights.T @ counts
    return np.asarray(found / found.sum(axis=1, keepdims=True))
