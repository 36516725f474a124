"""Thresholds of boosted models: what they prove of members, whatever leaf values say and whatever records trees saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase, inverters
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.cuts import (
    Buckets,
    CutFact,
    CutRule,
    MemberBounds,
    MemberCut,
    NodeGroups,
    find_rule,
    numeric_cuts,
    read_cut,
)
from treewarden.audit.membership.learners import LearnerCuts, cuts_of_library
from treewarden.ppdm_models.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class BoostedCuts:
    """The different cuts of all trees over a register, how they were made, and the first tree's leaves."""

    cuts: tuple[MemberCut, ...]
    rule: CutRule
    buckets: Buckets

    def read(self, low: IntArray, high: IntArray) -> Iterator[CutFact]:
        """Yield what cuts prove beyond bounds of the members of each group, (G,) each."""
        bounds = MemberBounds(low, high)
        room = self.buckets.room(bounds)
        for cut in self.cuts:
            fact = read_cut(cut, bounds, self.buckets, room, self.rule)
            if fact is not None:
                yield fact


def known_cuts(case: GrownCase, candidates: Candidates) -> BoostedCuts | None:
    """Return the cuts of a boosted model, if it is known how they were made and the true members make them so.

    Of a node's own records nothing is known where trees saw samples of the table.
    """
    members = np.asarray(candidates.members.sum(axis=1))
    is_sampled = inverters()[case.growth.library].is_sampled(case.growth)
    for learner in cuts_of_library(case.growth.library):
        if is_sampled and not learner.is_of_table:
            continue
        cuts = tuple(_different_cuts(case, candidates, learner))
        rule = find_rule(cuts, members, learner) if cuts else None
        if rule is not None:
            return BoostedCuts(cuts, rule, _buckets(case, members))
    return None


def _different_cuts(
    case: GrownCase, candidates: Candidates, learner: LearnerCuts
) -> Iterator[MemberCut]:
    """Yield the cuts of all trees; those of the whole table once for each threshold."""
    seen: set[tuple[str, float]] = set()
    for number, tree in enumerate(case.trees):
        groups = NodeGroups(tree, case.stops[number])
        for cut in numeric_cuts(tree, number, groups, candidates, learner):
            key = (cut.feature, cut.threshold)
            if not learner.is_of_table or key not in seen:
                seen.add(key)
                yield cut


def _buckets(case: GrownCase, members: IntArray) -> Buckets:
    """Return the first tree's leaves with their records, where the file counts those of the table."""
    nodes, of = np.unique(case.stops[0], return_inverse=True)
    of = of.reshape(-1)
    counts = case.growth.trees[0].counts
    needed = np.zeros(len(nodes)) if counts is None else np.nan_to_num(counts[nodes])
    if (needed != np.bincount(of, members, len(nodes))).any():
        needed = np.zeros(len(nodes))  # of a sample, or sums of weights
    return Buckets(of, np.rint(needed).astype(np.int64))
