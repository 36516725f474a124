"""The estimate of a secret column, by what is known of people's classes: everybody's, that of some people, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import Bounds
from treewarden.audit.entropy.posterior import Posterior, span_estimates
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.attributes.secret_part import (
    SecretInference,
    StackedInference,
    infer_part,
    stack_parts,
)
from treewarden.audit.partial.class_rows import (
    NOT_SOLVED,
    ClassedLeaves,
    fit_under_rows,
    leaves_by_class,
)
from treewarden.audit.partial.fitting.flows import AdversaryBudget, Allowance, allowed
from treewarden.audit.partial.fitting.margin_fitting import GAP
from treewarden.audit.partial.fitting.margins import off_by
from treewarden.audit.partial.fitting.split_constrained import (
    CutProblem,
    PlacedPart,
    fit_under_splits,
)
from treewarden.audit.partial.fitting.splits import PlacedEstimate, SplitChoiceView
from treewarden.audit.partial.functional_dependencies import AdversaryKnowledge
from treewarden.audit.partial.partial_view import PartialView
from treewarden.audit.partial.reachability import (
    CompatibleValues,
    Proofs,
    compatible_values_of,
    joined,
)
from treewarden.audit.partial.secret_values import Secret
from treewarden.audit.partial.tree_context import LeafTable, TreeContext
from treewarden.audit.partial.unmodelled_knowledge import NOT_COMPARED, why_broken
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class AttributeEstimate:
    """What follows of all people with so much of what columns imply; the arrays are of all parts, one below the other.

    ``arcs`` are which values are compatible with where people can stop, ``gaps`` how far parts are from the optimum.
    """

    arcs: CompatibleValues
    parts: list[SecretInference]
    posterior: Posterior | Undetermined
    gaps: FloatArray
    proved: Proofs
    ranges: Bounds[IntArray]


@dataclass(frozen=True, slots=True)
class AttributeEstimator:
    """Attribute inference by one adversary, as far as it is the same with and without what columns imply.

    ``doubts`` are why more may be known, and ``choice`` what is used of how splits were chosen; ``classes`` (C,) and
    how many people of each profile have each, ``people_by_class`` (P,), where everybody's class is known, else None and
    all people. ``is_compared`` says that splits on the secret may say more of who has what inside a leaf.
    ``uncounted`` are the classes that are ``together`` in leaves where they are not counted, (L, m), by what is
    published and by what whole records prove (`class_rows`).
    """

    context: TreeContext
    knowledge: AdversaryKnowledge
    secret: Secret
    classes: IndexArray | None
    people_by_class: tuple[FloatArray, ...]
    choice: SplitChoiceView | None
    doubts: tuple[str, ...]
    is_compared: bool
    options: AuditOptions
    effort: AdversaryBudget
    uncounted: tuple[IndexArray, IndexArray] | None

    @property
    def leaves(self) -> LeafTable:
        """The leaves of the tree."""
        return self.context.leaves

    @property
    def population(self) -> Population:
        """The people as the table has them."""
        return self.context.population

    def estimate(
        self, view: PartialView, implied: ImpliedValues | None, flows: int
    ) -> AttributeEstimate:
        """Return what follows of people as a view has them, and of what columns imply of the secret.

        ``flows`` is how many arcs may be looked at for each part of the people.
        """
        arcs, parts = self._arcs(view, implied), []
        arcs_of_part, group_of_profile = [], self.knowledge.group_of_profile
        for number, people in enumerate(self.people_by_class):
            of_class = None if implied is None else implied.for_class(number)
            own = arcs if of_class is implied else self._arcs(view, of_class)
            arcs_of_part.append(own)
            parts.append(
                infer_part(own, self.leaves, self.population, group_of_profile, people, flows)
            )
        stacked = stack_parts(parts)
        if self.uncounted is not None:
            return self._estimate_uncounted(
                self.uncounted, arcs_of_part, parts, stacked, flows * len(parts)
            )
        bare = self._bare(stacked)
        posterior: Posterior | Undetermined = bare
        if self.choice is not None:
            posterior = self._where_counted(self.choice, parts, bare)
        elif self.doubts:
            posterior = Undetermined(f"no inference: {'; '.join(self.doubts)}")
        return AttributeEstimate(
            arcs, parts, posterior, stacked.gaps, stacked.proved, stacked.ranges
        )

    def _estimate_uncounted(
        self,
        together: tuple[IndexArray, IndexArray],
        arcs: list[CompatibleValues],
        parts: list[SecretInference],
        counted: StackedInference,
        flows: int,
    ) -> AttributeEstimate:
        """Return what follows where everybody's class is known and those in the leaves are not counted.

        ``parts`` are the people of each class if they were, and ``counted`` what follows: such tables fit, so that they
        show what is possible.
        """
        assert self.classes is not None
        klass = np.repeat(self.classes, [len(part.profiles) for part in parts])
        place = np.full((len(self.context.tree.classes), self.knowledge.groups), -1)
        reached = [part.profiles for part in parts]
        place[klass, np.concatenate(reached)] = np.arange(len(klass))
        for_estimate, for_proof = (
            self._over(each, joined(arcs, reached), klass, place, work)
            for each, work in zip(together, (0, flows), strict=True)
        )
        proved = replace(for_proof[1].proved, possible=counted.proved.possible)
        between = replace(
            for_proof[1].ranges,
            reached_low=counted.ranges.reached_low,
            reached_high=counted.ranges.reached_high,
        )
        posterior: Posterior | Undetermined = Undetermined(
            f"no inference: {'; '.join(self.doubts)}"
        )
        if not self.doubts:
            posterior = self._under_rows(*for_estimate, klass)
        return AttributeEstimate(arcs[0], parts, posterior, for_estimate[1].gaps, proved, between)

    def _over(
        self,
        together: IndexArray,
        arcs: CompatibleValues,
        klass: IndexArray,
        place: IndexArray,
        flows: int,
    ) -> tuple[ClassedLeaves, SecretInference]:
        """Return leaves parted by classes, and what follows; ``place`` (m, P) is that of a class of a profile."""
        over = leaves_by_class(self.leaves, self.population, together)
        people = over.population
        assert not isinstance(people.truth, Undetermined)
        of = place[people.truth.argmax(axis=1), self.knowledge.group_of_profile[over.of]]
        compatible_values = over.arcs(arcs, self.leaves.nodes, klass)
        return over, infer_part(compatible_values, over.leaves, people, of, people.counts, flows)

    def _under_rows(
        self, over: ClassedLeaves, part: SecretInference, klass: IndexArray
    ) -> Posterior | Undetermined:
        net, lump_of = part.leads.net, part.leads.lump_of
        of_lump = np.zeros(len(net.supply), dtype=np.intp)
        of_lump[lump_of] = klass
        of_one = part.held.places @ part.held.over
        spread = sparse.csr_array(sparse.diags_array(net.supply) @ of_one)
        until = allowed(self.options, self.effort.enforcing)
        found = fit_under_rows(self.leaves, over, net, of_lump, spread, until)
        if found is None:
            return NOT_SOLVED
        table, gap = found
        if table is spread:
            return self._bare(part)
        places = sparse.csr_array(sparse.diags_array(1 / net.supply) @ table)
        told = part.leads.infer(places, np.arange(len(net.supply)))
        values, low, high = (each[lump_of] for each in told)
        off = off_by(gap, net.supply[lump_of])[:, None]
        high = high if self.is_compared else values
        is_decided = np.ones(len(values), dtype=bool)
        low, high = np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)
        return Posterior(values, is_decided, low, high)

    def estimate_with_outcome(
        self, view: PartialView, implied: ImpliedValues | None, outcome: IndexArray, flows: int
    ) -> AttributeEstimate:
        """Return the same where the class of some profiles is known, ``outcome`` (P,), ``OPEN`` of the others."""
        parts = leaves_by_class(self.leaves, self.population)
        class_of_group = np.full(self.knowledge.groups, OPEN, dtype=np.intp)
        group_of_profile = self.knowledge.group_of_profile
        class_of_group[group_of_profile] = outcome
        arcs = parts.arcs(self._arcs(view, implied), self.leaves.nodes, class_of_group)
        people = parts.population
        group = group_of_profile[parts.of]
        part = infer_part(arcs, parts.leaves, people, group, people.counts, flows)
        bare = self._bare(part)
        posterior: Posterior | Undetermined = bare
        if self.choice is not None:
            placed_estimate = parts.by_class(part.held, len(self.leaves.nodes))
            posterior = self._heeding(self.choice).posterior(
                [part], [placed_estimate], parts.class_counts, parts.at, bare
            )
        elif self.doubts:
            posterior = Undetermined(f"no inference: {'; '.join(self.doubts)}")
        return AttributeEstimate(arcs, [part], posterior, part.gaps, part.proved, part.ranges)

    def _where_counted(
        self, choice: SplitChoiceView, parts: list[SecretInference], without: Posterior
    ) -> Posterior | Undetermined:
        own = self.leaves.estimate(self.options)
        if isinstance(own, Undetermined):
            return own
        size = own.values.shape
        shares = [own.values]
        if self.classes is not None:
            shares = [np.broadcast_to(each, size) for each in np.eye(size[1])[self.classes]]
        placed_estimates = [
            part.held.of_classes(each) for part, each in zip(parts, shares, strict=True)
        ]
        counts = own.values * self.leaves.sizes[:, None]
        return self._heeding(choice).posterior(parts, placed_estimates, counts, None, without)

    def _heeding(self, choice: SplitChoiceView) -> _Heeding:
        until = allowed(self.options, self.effort.enforcing)
        return _Heeding(choice, until, len(self.leaves.nodes), self.is_compared)

    def _arcs(self, view: PartialView, implied: ImpliedValues | None) -> CompatibleValues:
        domain = view.hidden.get(self.secret.name)
        return compatible_values_of(view, self.secret, domain, self.population, implied)

    def _bare(self, inference: SecretInference | StackedInference) -> Posterior:
        """Return the estimate without what the choice of splits or rows over leaves say."""
        high = inference.high if self.is_compared else inference.values
        return Posterior(inference.values, inference.gaps <= GAP, inference.low, high)


@dataclass(frozen=True, slots=True)
class _Heeding:
    """What the choice of splits on known columns says is held against an estimate, and put in where that breaks it.

    Candidates on the secret itself are no rows: where they were compared, ``high`` is all that leaves leave open.
    """

    choice: SplitChoiceView
    allowance: Allowance
    leaves: int
    is_compared: bool

    def posterior(
        self,
        parts: list[SecretInference],
        placed: list[PlacedEstimate],
        classes: FloatArray,
        at: IndexArray | None,
        without: Posterior,
    ) -> Posterior | Undetermined:
        """Return the estimate with such rows, given that without them; why not, where it was not found.

        ``placed`` are the people of each part by class, ``classes`` (L, m) how many of each class are in each leaf.
        ``at`` are the leaves of the parts' networks among these, by class; None where they are the leaves.
        """
        problem = why_broken(self.choice, placed)
        if not problem:
            return without
        if problem == NOT_COMPARED:
            return Undetermined(problem)
        part_estimates = [
            PlacedPart(placed_estimate, part.leads.net, part.gap)
            for placed_estimate, part in zip(placed, parts, strict=True)
        ]
        under = fit_under_splits(
            CutProblem(self.choice, tuple(part_estimates), classes), self.allowance
        )
        if under is None:
            return Undetermined(problem)
        found = []
        for part, each in zip(parts, under.parts, strict=True):
            over = each.over_leaves(self.leaves) if at is None else each.over[:, at]
            found.append(self._infer(part, replace(each, over=over), under.gap))
        values, low, high = (np.concatenate(each) for each in zip(*found, strict=True))
        posterior = Posterior(values, np.ones(len(values), dtype=bool), low, high)
        return posterior if under.is_sure else span_estimates(posterior, without)

    def _infer(
        self, part: SecretInference, placed: PlacedEstimate, gap: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is believed of a part's profiles and its ends, (N, B), given where they are believed to be."""
        lump, own = np.zeros(placed.places.shape[0], dtype=np.intp), placed.lump[part.profiles]
        lump[own] = part.leads.lump_of
        places = sparse.csr_array(placed.places @ placed.over[:, part.leads.columns])
        values, low, high = (each[own] for each in part.leads.infer(places, lump))
        off = off_by(gap, placed.people[part.profiles])[:, None]
        high = high if self.is_compared else values
        return values, np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)
