"""Whether what a file says of its leaves is true of the table, whatever the adversary is assumed to make of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.adversary.knowledge import Knowledge, LeafLevel, SplitLevel
from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.kind import Dropped
from treewarden.audit.facts.node_impurities import uses_impurities
from treewarden.audit.growth_settings import setting_contradictions
from treewarden.audit.labels import label_contradictions
from treewarden.audit.people.members import members
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.nodes import fits, impurity_of
from treewarden.ppdm_models.tree.tree import Tree, count_of

PARTLY_USED = (LeafLevel.LABELS, LeafLevel.RATES)
"""The levels under which an audit's own rows leave out numbers that the file may publish."""


def disagreements(evidence: Evidence) -> tuple[Dropped, ...]:
    """Return the numbers of the file that the true table breaks and that the audit's own rows may have left out."""
    tree, population = evidence.model, evidence.population
    labels = tuple(label_contradictions(evidence))
    if isinstance(tree, Ensemble):
        return labels
    leaves_out = evidence.knowledge.leaf in PARTLY_USED
    prints_impurities = any(node.impurity is not None for node in tree.nodes)
    empty = (
        *_empty_leaves(tree, population),
        *labels,
        *setting_contradictions(tree, population),
    )
    if empty or not (leaves_out or prints_impurities):
        return empty
    known = Knowledge(split=SplitLevel.NONE)
    case = Case(tree, population, members(tree, population.leaf), known)
    found = list(_impurities(case))
    if leaves_out:
        found += [each for each in build_system(case).dropped if each.is_published]
    return tuple(found)


def _empty_leaves(tree: Tree, population: Population) -> Iterator[Dropped]:
    """Yield the leaves in which nobody of the table falls though the file does not say so: it grew on other records.

    Where noise had a part in it, a leaf may well have been made for noisy records only.
    """
    if tree.learner.saw_noise:
        return
    stops = set(np.unique(population.leaf).tolist())
    for leaf in tree.leaves:
        counted = count_of(leaf) if tree.has_people else None
        if leaf.index not in stops and counted is None:
            problem = (
                "nobody of the table falls there, as values are missing or the table is another"
            )
            yield Dropped("leaves", tree.where(leaf), problem, True)


def _impurities(case: Case) -> Iterator[Dropped]:
    """Yield the impurities that the true counts do not have; the rows know only the ends of what they allow."""
    tree, truth = case.tree, case.population.truth
    if isinstance(truth, Undetermined) or not uses_impurities(case):
        return
    for node in tree.nodes:
        inside = case.members.of(node.index)
        if node.impurity is None or not len(inside):
            continue
        counts = truth[inside].sum(axis=0).tolist()
        if not fits(counts, node.impurity):
            found = impurity_of(node.impurity.criterion, counts)
            said = f"{node.impurity.criterion} {node.impurity.low:.4g} to {node.impurity.high:.4g}"
            problem = f"in the true table it is {found:.4g}"
            yield Dropped("node_impurity", f"{tree.where(node)}: {said}", problem, True)
