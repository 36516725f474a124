"""Membership by a model of any kind: what can be worked out of it, and why the rest is left open."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from treewarden.audit.clock import Clock, clock
from treewarden.audit.inverters import knowing
from treewarden.audit.membership.candidates import Candidates, find_candidates
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.membership.result import MembershipInference
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tables.routing import SEVERAL, route
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.node_columns import is_inner
from treewarden.ppdm_models.tree.tree import Task

OF_NUMBERS = Undetermined(
    "who of the register was in the table is not worked out for models that predict a number"
)
NOISY = Undetermined(
    "its numbers or labels were drawn at random, so that they prove of nobody whether he was in the table"
)
SAMPLED = Undetermined(
    "each tree saw a sample of the records that is not known, or may have: its counts are no numbers of people of the "
    "table"
)
NO_NAMES = Undetermined(
    "the file names no class, so its counts cannot be held against the register"
)
SPREAD = Undetermined("candidates who lack a value are spread over several leaves by weights")
ELSEWHERE = Undetermined(
    "people of the table fall in no leaf, so the counts of the file are not those of the table"
)
NO_WAY = (
    "{:,} people of the register lack a value and fall in no leaf, and the file does not say where the learner put "
    "them; leave them out of the register, or fill in their values"
)
OTHER_ORDER = Undetermined("its trees name their classes in different orders")


def infer_membership(
    forest: Forest,
    table: Population,
    register: Population,
    options: AuditOptions,
    training: Mapping[str, float] = MappingProxyType({}),
) -> MembershipInference | Undetermined:
    """Return what a model proves of who of a register is in its table, or why that cannot be told.

    ``training`` are settings that the file may withhold and the adversary knows.
    """
    reason = _why_not(forest)
    if reason is not None:
        return reason
    candidates = find_candidates(table, register, forest.model.classes)
    if isinstance(candidates, Undetermined):
        return candidates
    stops = np.stack([route(tree, candidates.columns) for tree in forest.trees])
    if (stops == SEVERAL).any():
        return SPREAD
    at_leaves = [~is_inner(tree)[stop] for tree, stop in zip(forest.trees, stops, strict=True)]
    is_there: BoolArray = np.asarray(((stops >= 0) & np.stack(at_leaves)).all(axis=0))
    if candidates.members[~is_there].any():
        return ELSEWHERE
    if not is_there.all():
        return Undetermined(NO_WAY.format(int(candidates.sizes[~is_there].sum())))
    return _inferred(forest, stops, candidates, clock(options.worlds_budget), training)


def _inferred(
    forest: Forest,
    stops: IndexArray,
    candidates: Candidates,
    until: Clock,
    training: Mapping[str, float],
) -> MembershipInference | Undetermined:
    model = forest.model
    if not isinstance(model, Ensemble) or model.growth is None:
        return infer_members(forest.trees, stops, candidates, until)
    from treewarden.audit.membership.boosted import infer_boosted_members  # for leaf values only

    growth = knowing(model.growth, training)
    return infer_boosted_members(growth, forest.trees, stops, candidates, until)


def _why_not(forest: Forest) -> Undetermined | None:
    model = forest.model
    if model.task is Task.REGRESSION:
        return OF_NUMBERS
    if not model.classes:
        return NO_NAMES
    if any(tree.learner.saw_noise for tree in forest.trees):
        return NOISY
    is_counted = not isinstance(model, Ensemble) or model.growth is None
    if is_counted and any(tree.classes != model.classes for tree in forest.trees):
        return OTHER_ORDER
    if isinstance(model, Ensemble) and model.growth is None:
        is_sampled = forest.draws or model.sampling.resampled is not False
        return SAMPLED if is_sampled else None
    return None
