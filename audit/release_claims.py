"""Claims of differential privacy of several releases: each by itself, and what all noisy labels tell of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

import numpy as np

from treewarden.audit.claims.judge_claim import (
    NoisyLabels,
    knows_labels_alone,
    noise_of,
    open_shift_of,
    posterior_under_noise,
)
from treewarden.audit.claims.leaf_labels import LeafLabels
from treewarden.audit.claims.realised_loss import RealisedLoss, records_of_persons
from treewarden.audit.claims.result import (
    NO_CLAIM,
    ComposedClaim,
    ReleaseClaim,
)
from treewarden.audit.claims.several_trees import LabelNoise, tables_under_noise
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.population.population import Population
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import judge_model_claim
from treewarden.ppdm_models.tree.ensemble import Model, claims_privacy
from treewarden.ppdm_models.tree.side_channels import Leak


class ClaimingCase(Protocol):
    """A release: its model, the people of its table, and what its file gives away beside."""

    @property
    def model(self) -> Model: ...  # noqa: D102
    @property
    def population(self) -> Population: ...  # noqa: D102
    @property
    def leaks(self) -> tuple[Leak, ...] | Undetermined: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class JudgedReleases:
    """What was found of the claims of all releases, and whether all of them may be relied on."""

    releases: tuple[ReleaseClaim, ...] = ()
    are_relied_on: bool = False

    def composed(self, shared: KnownGroups | None) -> ComposedClaim | Undetermined:
        """Return all claims together; ``shared`` is None where nothing links the tables."""
        return compose_claims(self.releases, shared) if self.releases else NO_CLAIM


def judge_releases(
    cases: Sequence[ClaimingCase], names: Sequence[str], jobs: int | None
) -> JudgedReleases:
    """Return what was found of the claims of releases; nothing where none claims anything."""
    if not any(claims_privacy(case.model) for case in cases):
        return JudgedReleases()
    releases, are_relied_on = [], True
    for name, case in zip(names, cases, strict=True):
        forest = forest_of(case.model, case.population, jobs=jobs)
        claim, relied_on = judge_model_claim(forest, case.population, case.leaks)
        are_relied_on &= all(tree.learner.has_known_noise for tree in relied_on.trees)
        held = records_of_persons(case.population)
        releases.append(ReleaseClaim(name, claim, held is not None and held.most <= 1))
    return JudgedReleases(tuple(releases), are_relied_on)


TWICE = "{one} and {other} are the same model: its epsilon counts twice; give it once, unless it was drawn twice"


def repeated_releases(cases: Sequence[ClaimingCase], names: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of private models that are given twice: as far as the files tell, nothing was drawn anew."""
    held = [
        (name, case.model)
        for name, case in zip(names, cases, strict=True)
        if claims_privacy(case.model)
    ]
    pairs = combinations(held, 2)
    return tuple(
        TWICE.format(one=one, other=other) for (one, model), (other, same) in pairs if model == same
    )


@dataclass(frozen=True, slots=True, eq=False)
class NoisyReleases:
    """What the noisy labels of all releases tell of the people whom they share, by group."""

    posterior: Posterior
    worlds: ConsistentTables
    trees: int
    leaves: int

    def seen_by(self, release: int, shared: KnownGroups) -> NoisyReleases:
        """Return it of the people of one release, in the order of its own classes."""
        groups, order = shared.groups(release), shared.orders[release]
        posterior = replace(
            self.posterior,
            decided=self.posterior.decided[groups],
            values=self.posterior.values[groups][:, order],
            low=self.posterior.low[groups][:, order],
            high=self.posterior.high[groups][:, order],
        )
        worlds = self.worlds.of_groups(groups).in_order(order)
        worlds = replace(worlds, counts=self.worlds.counts[groups])
        return replace(self, posterior=posterior, worlds=worlds)


def noise_of_releases(
    judged: JudgedReleases, shared: KnownGroups, knowledge: Knowledge, until: Clock = FOREVER
) -> NoisyReleases | None:
    """Return what noisy labels tell where all claims are relied on, and nothing is known beside the files."""
    truth = shared.truth
    if not (judged.are_relied_on and knows_labels_alone(knowledge)):
        return None
    noisy = labels_of_releases(judged.releases, shared)
    if isinstance(noisy, Undetermined) or isinstance(truth, Undetermined):
        return None
    return NoisyReleases(
        posterior_under_noise(noisy, shared.counts, truth, knowledge, until),
        tables_under_noise(noisy.labels, shared.counts, truth),
        trees=len(noisy.noise),
        leaves=len(noisy.labels.labels),
    )


# What several releases cost the people whom they share: the claims of all of them, and each person's losses added up.
#
# Mechanisms that are drawn apart compose: together they are as private as the sum of their epsilons (Dwork et al.
# 2006), and ln P(all files | D) - ln P(all files | D without a person) is the sum of what each file costs the person.

NOT_LINKED = Undetermined(
    "nothing says which records of the tables are one person; add --id COLUMN"
)


def compose_claims(
    releases: Sequence[ReleaseClaim], shared: KnownGroups | None
) -> ComposedClaim | Undetermined:
    """Return the claims of several releases together; ``shared`` is None where nothing links their tables.

    No claim at all is none together, either.
    """
    if all(release.findings is NO_CLAIM for release in releases):
        return NO_CLAIM
    loss = NOT_LINKED if shared is None else _losses_together(releases, shared)
    return ComposedClaim(tuple(releases), loss, is_linked=shared is not None)


def labels_of_releases(
    releases: Sequence[ReleaseClaim], shared: KnownGroups
) -> NoisyLabels | Undetermined:
    """Return the labels of all releases over the groups of people whom they share, with the classes of the last one."""
    labels, noise, open_shift, trees, leaves = list[LeafLabels](), list[LabelNoise](), 0.0, 0, 0
    for number, release in enumerate(releases):
        found = release.findings
        if isinstance(found, Undetermined):
            return found
        own = found.labels
        if isinstance(own, Undetermined):
            return own
        places, order = shared.places[number], shared.orders[number]
        leaf_of_group = np.where(places >= 0, own.leaf_of_profile[:, places], -1)
        counts = np.zeros_like(own.counts)
        counts[:, order] = own.counts
        labels.append(
            LeafLabels(
                labels=order[own.labels],
                counts=counts,
                leaf_of_profile=np.where(leaf_of_group >= 0, leaf_of_group + leaves, -1),
                trees=own.trees + trees,
                nodes=own.nodes,
            )
        )
        noise += noise_of(found)
        open_shift += open_shift_of(found)
        trees, leaves = trees + len(own.leaf_of_profile), leaves + len(own.labels)
    joined = LeafLabels(
        *(
            np.concatenate([getattr(part, name) for part in labels])
            for name in ("labels", "counts", "leaf_of_profile", "trees", "nodes")
        )
    )
    return NoisyLabels(joined, tuple(noise), open_shift)


OF_PERSONS = Undetermined(
    "what several files cost a person with several records is not computed; see the loss of each file by itself"
)


def _losses_together(
    releases: Sequence[ReleaseClaim], shared: KnownGroups
) -> RealisedLoss | Undetermined:
    """Return what all files cost each person, (U, m): of each group that somebody is in and each class."""
    truth = shared.truth
    if isinstance(truth, Undetermined):
        return truth
    total, open_part, rounding = np.zeros(truth.shape), 0.0, 0.0
    for number, release in enumerate(releases):
        found = release.findings
        loss = found if isinstance(found, Undetermined) else found.loss
        if isinstance(loss, Undetermined):
            return Undetermined(f"{release.name}: {loss.reason}")
        if loss.most_records > 1:
            return OF_PERSONS
        groups, order = shared.groups(number), shared.orders[number]
        ours = np.zeros((len(groups), truth.shape[1]))
        ours[:, order] = loss.of_cell[shared.places[number][groups]]
        total[groups] += ours
        open_part += loss.open_part
        rounding += loss.rounding
    total = np.where(truth > 0, total, np.nan)
    losses = np.abs(total)
    return RealisedLoss(
        of_cell=total,
        largest=float(np.nanmax(losses)),
        mean=float(np.nansum(losses * truth) / truth.sum()),
        open_part=open_part,
        rounding=rounding,
    )
