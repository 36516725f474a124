"""Attribute inference from node sizes alone, where trees hold no counts of classes, as boosted ones do.

Whoever knows all tested columns but the secret one counts who can be at each node; what the value is that a tree
predicts has no part in that.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from treewarden.audit.partial.bounded import bounded
from treewarden.audit.partial.learned import Proofs
from treewarden.audit.partial.secret import MISSING, Secret
from treewarden.audit.partial.seen import Seen
from treewarden.audit.partial.size_inference import SizeClaim, claims_of
from treewarden.audit.people.forest import Forest
from treewarden.audit.people.merged import merged
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tree.column import NumericColumn

ONLY_SIZES = (
    "the model publishes how many people its nodes hold, and no counts of classes there: what sizes prove is told, "
    "tree by tree, and the numbers in leaves may prove more"
)
ALL_BUT_THE_SECRET = (
    "what sizes of nodes prove is worked out for who knows all other columns that the model tests"
)
OF_SIZES = "the size of a node leaves this value alone"
NO_ESTIMATE = Undetermined(f"no estimate: {ONLY_SIZES}")


def secret_seen_by_sizes(
    forest: Forest, population: Population, secret: Secret, known: Collection[str]
) -> Seen | None:
    """Return what sizes of nodes prove of a secret; None where no size does, or some other tested column is unknown."""
    tested = {each.name for tree in forest.trees for each in tree.used_features()} - {secret.name}
    if not tested <= set(known):
        return None
    ends = (*secret.ends.tolist(), *secret.numbers.tolist())
    claims, _ = claims_of(forest, population, secret.name, ends)
    if not claims:
        return None
    possible = np.ones((len(population.counts), len(secret.values)), dtype=np.bool_)
    for claim in claims:
        possible[claim.profiles] &= _places(claim, secret)
    people, of = merged(population, [name for name in population.qi if name in known])
    left = np.zeros((len(people.counts), len(secret.values)), dtype=np.bool_)
    np.logical_or.at(left, of, possible)
    truth = np.zeros(left.shape)
    np.add.at(truth, (of, secret.of), population.counts)
    people = replace(people, truth=truth)
    is_certain = left & (left.sum(axis=1, keepdims=True) == 1)
    proved = Proofs(is_certain, ~left, np.zeros_like(left))
    worlds = bounded(people, proved, is_exact=False)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    said = (ONLY_SIZES,)
    worlds = replace(worlds, reasons=dict.fromkeys(sure, OF_SIZES), left=said, not_decided=said)
    return Seen(people, NO_ESTIMATE, worlds, said, 0.0)


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
