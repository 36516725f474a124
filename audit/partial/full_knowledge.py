"""Target inference by an adversary who knows every column that the tree tests, and so where everybody stops.

The choice of splits is stated over whole records here too, so that no less is inferred than with full knowledge.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.incomplete_constraints import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.envelope import span_estimates
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.members import members
from treewarden.audit.population.merged_profiles import merged
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import build_system


def knows_all_tested(context: TreeContext, columns: Collection[str]) -> bool:
    """Return whether every column that the tree tests is known, and no fact is, which may be about another one."""
    return context.tests.keys() <= set(columns) and not context.knowledge.facts


def with_whole_records(
    seen: TargetInference,
    context: TreeContext,
    until: Clock,
    options: AuditOptions,
    *,
    asks_rest: bool,
) -> TargetInference:
    """Return what such an adversary infers, given that with the choice of splits stated over shares.

    Where columns say people's outcome the estimate spans both, and what is proved stays as it is.

    Raises:
        SolverError: the wanted solver is not there.
    """
    tree, everybody, knowledge = context.tree, context.population, context.knowledge
    people, of = merged(everybody, seen.population.qi)
    leaf = np.zeros(len(people.counts), dtype=np.intp)
    leaf[of] = everybody.leaf
    people = replace(people, leaf=leaf)
    # A record that lacks a value not known to the adversary may have been left out by the learner all the same.
    own = incomplete_records(Case(tree, everybody, members(tree, everybody.leaf), knowledge))
    lacking = np.bincount(of, own, len(people.counts)).astype(np.float64)
    system = build_system(Case(tree, people, members(tree, leaf), knowledge, incomplete=lacking))
    solved, report = estimate(system, options)
    posterior = span_estimates(solved, seen.posterior) if seen.said else solved
    target_inference = replace(seen, posterior=posterior, report=report)
    if seen.is_outcome_said or not options.worlds:
        return target_inference
    worlds = reason_in_doubt(
        system,
        until=until,
        strict_ties=options.strict_ties,
        asks_rest=asks_rest,
        jobs=options.jobs,
    )
    if isinstance(worlds, Undetermined) or worlds.consistency is Consistency.INCONSISTENT:
        return target_inference
    return replace(target_inference, worlds=worlds)
