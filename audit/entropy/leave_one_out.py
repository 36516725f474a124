"""The estimate asked again of the table without one person: what is believed of those who are like that person then.

The tree stays as it is; its class counts are those of the table that is left, and rows that this table breaks are
dropped, as in every audit. Only where others share all quasi-identifiers with the person does it speak of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, Without
from treewarden.audit.facts.rows import Case
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system, leaf_knowledge
from treewarden.ppdm_models.tree.tree import Node

MOST_ASKED = 20
"""For how many kinds of people the estimate is made again: a limit on work and not on time, so that readings repeat."""


def without_one(
    system: System, posterior: Posterior, options: AuditOptions
) -> Without | Undetermined:
    """Return the estimate without a person, for the profiles of several where most may be owed to one.

    These are asked first whose estimate most exceeds the share of their class in the leaf.

    Raises:
        SolverError: the wanted solver is not there.
    """
    people = system.case.population
    truth = people.truth
    if isinstance(truth, Undetermined):
        return truth
    tree = system.case.tree
    if people.weight is not None or not tree.has_people or not all(map(_is_counted, tree.nodes)):
        return Undetermined("leaving one person out is possible only if the file counts people")
    low, high = np.zeros_like(truth), np.ones_like(truth)
    open_, share = (people.counts > 1)[:, None] & (truth > 0), np.zeros_like(truth)
    for node, leaf in leaf_knowledge(system).items():
        here = people.leaf == node
        share[here] = truth[here].sum(axis=0) / leaf.records
        pure = np.flatnonzero(leaf.low == leaf.records)
        low[np.ix_(here, pure)] = 1.0  # the others of a leaf that is known to be pure are so too
        open_[np.ix_(here, pure)] = False
    most = np.where(open_, posterior.high - share, -np.inf)
    order = np.argsort(-most, axis=None, kind="stable")[: min(MOST_ASKED, int(open_.sum()))]
    for cell in order.tolist():
        profile, klass = divmod(cell, truth.shape[1])
        again, _ = estimate(build_system(_less(system.case, profile, klass)), options)
        if again.decided[profile]:
            low[profile, klass] = again.low[profile, klass]
            high[profile, klass] = again.high[profile, klass]
    return Without(low, high)


def _is_counted(node: Node) -> bool:
    """Whether what a node publishes of classes are their counts, or nothing."""
    others = (node.class_shares, node.bands, node.impurity)
    return all(each is None for each in others) and not node.figures.other_splits


def _less(case: Case, profile: int, klass: int) -> Case:
    """Return the case without one record."""
    people, tree = case.population, case.tree
    assert not isinstance(people.truth, Undetermined)
    counts, truth = people.counts.copy(), people.truth.copy()
    counts[profile] -= 1
    truth[profile, klass] -= 1
    fewer = replace(people, counts=counts, truth=truth)
    path = {node.index for node in tree.path(int(people.leaf[profile]))}
    nodes = tuple(_one_less(node, klass) if node.index in path else node for node in tree.nodes)
    return Case(replace(tree, nodes=nodes), fewer, members(tree, fewer.leaf), case.knowledge)


def _one_less(node: Node, klass: int) -> Node:
    counts, records = node.class_counts, node.records
    if counts is not None:
        counts = tuple(
            count - 1 if code == klass and count is not None else count
            for code, count in enumerate(counts)
        )
    return replace(node, class_counts=counts, records=None if records is None else records - 1)
