"""What an adversary who knows some columns can infer from several releases together."""

from __future__ import annotations

from treewarden.audit.clock import Clock
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.ensembles.release_inference import (
    infer_release_numbers,
    infer_release_target,
    releases_view,
)
from treewarden.audit.partial.ensembles.release_secret import infer_release_secret
from treewarden.audit.partial.secret_column import Secret
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.releases import LinkedReleases
from treewarden.ppdm_models.tree.tree import Task


def infer_from_releases(
    releases: LinkedReleases,
    knowledge: Knowledge,
    adversary: Adversary,
    secret: Secret | None,
    full_numbers: ValueBounds | Undetermined,
    until: Clock,
) -> TargetInference | Undetermined:
    """Return what an adversary makes of all releases: of what they predict, or of a secret column of the last one.

    ``full_numbers`` is what is told of people's numbers to who knows all columns. Where nothing links the tables of the
    releases, nothing is told.
    """
    shared, cases = releases.shared, releases.cases
    if not isinstance(shared, KnownGroups):
        return Undetermined(shared.reason)
    never = () if secret is None else (secret.name,)
    known = adversary.knows
    if known is None:
        names = dict.fromkeys(name for case in cases for name in case.population.qi)
        known = tuple(name for name in names if name not in never)
    forests = [forest_of(case.model, case.population) for case in cases]
    people = [case.population for case in cases]
    seen = shared.seen_by(len(cases) - 1, people[-1])
    view = releases_view(forests, people, shared, seen, columns=known, never=never)
    if secret is not None:
        return infer_release_secret(view, secret, knowledge, knows_target=adversary.target)
    if cases[-1].model.task is Task.REGRESSION:
        return infer_release_numbers(view, knowledge, full_numbers)
    return infer_release_target(view, knowledge, until)
