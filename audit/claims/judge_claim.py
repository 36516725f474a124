"""A claim of differential privacy held against the file and its table: void, refuted, or nothing against it.

The claim is void where the file gives away what its draws came from (a seed), publishes more than the mechanism draws
(counts of leaves), or where its bounds were read from the table. With a table, losses are worked out and labels are
tested. Nothing that is missing counts as kept: what cannot be judged is a doubt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from treewarden.audit.claims.leaf_labels import (
    MOST_CLASSES,
    LeafLabels,
    bounds_are_extremes,
    read_leaf_labels,
)
from treewarden.audit.claims.realised_loss import (
    LabelTest,
    RealisedLoss,
    label_test,
    measure_losses,
)
from treewarden.audit.claims.result import (
    LOSS_TOLERANCE_SHARE,
    NO_CLAIM,
    NO_EPSILON,
    ClaimFindings,
    most_label_epsilon,
)
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, claim_of, claims_privacy, trees_of
from treewarden.ppdm_models.tree.plain_splits import (
    codes_of,
    is_inner,
    tells_classes,
    totals_of,
)
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
    "tables: nothing is random; train again without random_state"
)
ENDLESS = "the claimed epsilon is infinite, or the claimed delta is 1"
OF_TABLE = (
    "its bounds were read from the table, which discloses the smallest and the largest "
    "value; train again with public bounds"
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
    "the file does not say which records each tree was trained on. If every tree used all "
    "records, add --claims trees=all"
)
EXTREMES = (
    "its bounds are the smallest and the largest value of every column; say where they "
    "come from: --claims bounds=table (read from the table) or bounds=public (known before)"
)
UNREAD = "it is not known whether the file contains the random seed: {reason}"
NO_SHARE = (
    "the epsilon spent on the labels of each tree is not known; name it, such as --claims "
    "label_epsilon=0.1"
)
OVERSPENT = (
    "the labels of all trees spend more epsilon than the file claims, and no composition "
    "rule is named that would allow it"
)
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
    doubts = list(_doubts(model, claim))
    if isinstance(leaks, Undetermined):
        doubts.append(UNREAD.format(reason=leaks.reason))
    if not population.is_absent:
        labels = read_leaf_labels(forest, population, claim)
        if claim.bounds_origin is BoundsOrigin.UNKNOWN and bounds_are_extremes(population, claim):
            doubts.append(EXTREMES)
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


def spent_on_labels(model: Model, claim: PrivacyClaim) -> float | None:
    """Return the epsilon that was spent on the labels of each tree; None where that is not said.

    Where no record had a part in the tests of a single tree, there is nothing else to spend it on.
    """
    if claim.label_epsilon is None and not isinstance(model, Ensemble):
        return claim.epsilon if claim.splits is SplitOrigin.INDEPENDENT else None
    return claim.label_epsilon


def _voids(
    model: Model, claim: PrivacyClaim, leaks: tuple[Leak, ...] | Undetermined
) -> Iterator[str]:
    """Yield why a claim is no promise at all."""
    known = () if isinstance(leaks, Undetermined) else leaks
    has_seed = any(leak.kind is LeakKind.REPLAY and not leak.is_possible for leak in known)
    if claim.is_seeded or has_seed or (isinstance(model, Ensemble) and model.sampling.seeds):
        yield SEEDED
    if not math.isfinite(claim.epsilon) or claim.delta >= 1:
        yield ENDLESS
    if claim.bounds_origin is BoundsOrigin.TABLE:
        yield OF_TABLE
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


def _doubts(model: Model, claim: PrivacyClaim) -> Iterator[str]:
    """Yield why a claim cannot be judged, by what the file and its owner say."""
    if claim.mechanism is LabelMechanism.UNKNOWN:
        yield NO_MECHANISM
    if claim.splits is SplitOrigin.UNKNOWN:
        yield NO_SPLITS
    if isinstance(model, Ensemble) and claim.trees is not TreeRecords.ALL:
        yield NO_PARTS
    labels = spent_on_labels(model, claim)
    if labels is None:
        yield NO_SHARE
    elif labels * sum(1 for _ in trees_of(model)) > claim.epsilon * (1 + LOSS_TOLERANCE_SHARE):
        yield OVERSPENT
