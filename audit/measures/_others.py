"""What a leaf says of a class once one record is taken out of it: what the others tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.leaf_facts import LeafFacts, leaf_facts
from treewarden.audit.people.members import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.leaf_knowledge import LeafKnowledge, closed_form, complete
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Tree

ONE_TREE = Undetermined("told of one tree only: what several trees add up to is not computed")
NO_LEAVES = Undetermined("where people stop in the tree is not known")
WEIGHED_PARTS = Undetermined(
    "under sampling weights this is told only where the class counts of every leaf are known"
)

Ends = tuple[FloatArray, FloatArray]
"""The low and the high end of a share per profile and class, (P, m) each."""


@dataclass(frozen=True, slots=True)
class Others:
    """What the leaf of each profile says of each class: of all who stop there, and of the others than one such record.

    ``inferred`` is what the adversary makes of the others at the level of knowledge they have. ``counted`` is
    the share by the owner's counts of all who stop there, and ``gains`` by how much it exceeds that of the others.
    Under sampling weights the ends are those of people and of weights. Cells that no record is in mean nothing.
    """

    inferred: Ends
    counted: FloatArray
    gains: Ends


def others(evidence: Evidence) -> Others | Undetermined:
    """Return what every leaf says without one of its records; one that is then empty asks its nearest ancestor."""
    tree, population, truth = evidence.model, evidence.population, evidence.truth
    if not isinstance(tree, Tree):
        return ONE_TREE
    if isinstance(truth, Undetermined):
        return truth
    leaf, weight = population.leaf, population.weight
    if (leaf < 0).any():
        return NO_LEAVES
    found = leaf_facts(Case(tree, population, members(tree, leaf), evidence.knowledge))
    facts = {each.node.index: each for each in found}
    knows_counts = all(None not in each.masses for each in facts.values())
    if weight is not None and not knows_counts:
        return WEIGHED_PARTS
    here = _stopping(tree, leaf, truth)
    asked = _asked(tree, here)
    everyone, without = _shares(tree, here, leaf, asked, np.ones(len(leaf)))
    if weight is not None:
        sums = _stopping(tree, leaf, truth * weight[:, None])
        heavy, lighter = _shares(tree, sums, leaf, asked, weight)
        return Others(_ends(without, lighter), everyone, _ends(everyone - without, heavy - lighter))
    inferred = without.copy()
    for node, each in facts.items():
        if None in each.masses:
            inferred[leaf == node] = _inferred(each, here[node], without[leaf == node][0])
    return Others((inferred, inferred), everyone, _ends(everyone - without, everyone - without))


def _ends(first: FloatArray, second: FloatArray) -> Ends:
    return np.minimum(first, second), np.maximum(first, second)


def _stopping(tree: Tree, leaf: IndexArray, mass: FloatArray) -> FloatArray:
    """Return the class masses of those who stop at each node, (N, m)."""
    here = np.zeros((len(tree.nodes), mass.shape[1]))
    np.add.at(here, leaf, mass)
    return here


def _passing(tree: Tree, here: FloatArray) -> FloatArray:
    """Return the class masses of those who stop at each node or below it, (N, m)."""
    below = here.copy()
    for node in reversed(tree.nodes):
        if node.parent is not None:
            below[node.parent] += below[node.index]
    return below


def _asked(tree: Tree, here: FloatArray) -> IndexArray:
    """Return, per node where one person stops alone, the nearest node above that others pass; else -1, shape (N,)."""
    people = _passing(tree, here).sum(axis=1)
    asked = np.full(len(people), -1, dtype=np.intp)
    for index in np.flatnonzero(here.sum(axis=1) == 1).tolist():
        above = tree.nodes[index]
        while above.parent is not None and people[above.index] <= 1:
            above = tree.nodes[above.parent]
        asked[index] = above.index
    return asked


def _shares(
    tree: Tree, here: FloatArray, leaf: IndexArray, asked: IndexArray, one: FloatArray
) -> Ends:
    """Return each class's share where a profile stops, (P, m): of all, and of the others than one record of it.

    ``one`` is what a record of each profile counts. Nobody else at all says nothing: all classes are equally likely.
    """
    group = np.where((asked >= 0)[:, None], _passing(tree, here)[asked], here)[leaf]
    total = here[leaf].sum(axis=1, keepdims=True)
    everyone = np.divide(here[leaf], total, out=np.zeros_like(group), where=total > 0)
    rest = group.sum(axis=1, keepdims=True) - one[:, None]
    is_anybody = rest > 1e-9 * one[:, None]  # what sums of weights lose
    equal = np.full_like(group, 1 / group.shape[1])
    without = np.divide(group - one[:, None], rest, out=equal, where=is_anybody)
    return everyone, np.clip(without, 0.0, 1.0)


def _inferred(facts: LeafFacts, counts: FloatArray, fallback: FloatArray) -> FloatArray:
    """Return what is inferred of each class from a leaf of which not every count is known, less one of that class.

    Of a leaf that is then empty nothing is published, and its ancestor may say as little: the less of the two counts.
    """
    m = len(counts)
    if counts.sum() == 1:
        return np.minimum(fallback, 1 / m)
    return np.array(
        [_less_one(facts, counts, klass) if counts[klass] else 0.0 for klass in range(m)]
    )


def _less_one(facts: LeafFacts, counts: FloatArray, klass: int) -> float:
    """Return the share of a class that is inferred from a leaf with one record of it less.

    A band that the count leaves is taken to be followed by one as wide.
    """
    rest, records = counts.copy(), float(counts.sum()) - 1
    rest[klass] -= 1
    low, high = np.zeros(len(counts)), np.full(len(counts), records)
    named = np.zeros(len(counts), dtype=bool)
    for each, mass in enumerate(facts.masses):
        if mass is not None:
            low[each] = high[each] = rest[each]
            named[each] = True
    for each, band in enumerate(facts.bands):
        if band is not None and not named[each]:
            bottom, top = band
            if rest[each] < bottom:
                bottom, top = bottom - (top - bottom) - 1, bottom - 1
            low[each], high[each] = max(bottom, 0.0), min(max(top, 0.0), records)
    complete(low, high, records)
    leaf = LeafKnowledge(facts.node.index, records, low, high, None, 0.0, named)
    return float(closed_form(leaf)[klass])
