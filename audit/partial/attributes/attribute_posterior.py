"""The estimate of a secret column, by what is known of people's classes: everybody's, that of some people, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import Bounds
from treewarden.audit.entropy.posterior import Posterior, span_estimates
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.attributes.secret_part import SecretInference, infer_part
from treewarden.audit.partial.class_rows import (
    NOT_SOLVED,
    ClassedLeaves,
    fit_under_rows,
    leaves_by_class,
)
from treewarden.audit.partial.fitting.flows import AdversaryBudget, allowed
from treewarden.audit.partial.fitting.margin_fitting import GAP
from treewarden.audit.partial.fitting.margins import posterior_near
from treewarden.audit.partial.fitting.split_constrained import CutProblem, fit_under_splits
from treewarden.audit.partial.fitting.splits import SplitChoiceView
from treewarden.audit.partial.functional_dependencies import AdversaryKnowledge
from treewarden.audit.partial.partial_view import PartialView
from treewarden.audit.partial.reachability import (
    CompatibleValues,
    Proofs,
    compatible_values_of,
)
from treewarden.audit.partial.secret_values import Secret
from treewarden.audit.partial.tree_context import LeafTable, TreeContext
from treewarden.audit.partial.unmodelled_knowledge import NOT_COMPARED, no_inference, why_broken
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class AttributeRows:
    """People as an adversary tells them apart who is after a secret: by group, and by class where that is known.

    Of N rows ``group`` is the inference group, and ``klass`` the class, ``OPEN`` where it is not known, (N,) both.
    ``row_of`` (m, G) is the row of people of a class and group, -1 where there are none.
    """

    group: IndexArray
    klass: IndexArray
    row_of: IndexArray


@dataclass(frozen=True, slots=True)
class AttributeEstimate:
    """What follows of all people with so much of what columns imply.

    ``arcs`` are which values are compatible with where people of each row can stop, whatever their class is. ``part``
    is what follows where each class of a leaf is counted, if classes are known.
    """

    arcs: CompatibleValues
    part: SecretInference
    posterior: Posterior | Undetermined
    proved: Proofs
    ranges: Bounds[IntArray]


@dataclass(frozen=True, slots=True)
class AttributeEstimator:
    """Attribute inference by one adversary, as far as it is the same with and without what columns imply.

    ``doubts`` are why more may be known, and ``choice`` what is used of how splits were chosen, of the people in
    ``rows``. ``is_compared`` says that splits on the secret may say more of who has what inside a leaf.
    ``uncounted`` are the classes that are ``together`` in leaves where they are not counted, (L, m), by what is
    published and by what whole records prove (`class_rows`).
    """

    context: TreeContext
    knowledge: AdversaryKnowledge
    secret: Secret
    rows: AttributeRows
    choice: SplitChoiceView | None
    doubts: tuple[str, ...]
    is_compared: bool
    options: AuditOptions
    effort: AdversaryBudget
    uncounted: tuple[IndexArray, IndexArray] | None

    @property
    def knows_classes(self) -> bool:
        """Whether everybody's class is known."""
        return bool((self.rows.klass != OPEN).all())

    @property
    def leaves(self) -> LeafTable:
        """The leaves of the tree."""
        return self.context.leaves

    @property
    def population(self) -> Population:
        """The people as the table has them."""
        return self.context.population

    def estimate(
        self,
        view: PartialView,
        implied: ImpliedValues | None,
        flows: int,
        outcome: IndexArray | None = None,
    ) -> AttributeEstimate:
        """Return what follows of people as a view has them, and of what columns imply of the secret.

        ``flows`` is how many arcs may be looked at. ``outcome`` (G,) is the class of some groups, where columns imply
        it, ``OPEN`` of the others.
        """
        arcs = self._arcs(view, implied)
        klass = self.rows.klass if outcome is None else outcome[self.rows.group]
        over = None
        if (klass != OPEN).any():
            over = leaves_by_class(self.leaves, self.population)
        part = self._infer(over, arcs, klass, flows)
        if self.uncounted is not None:
            return self._estimate_uncounted(self.uncounted, arcs, part, flows)
        bare = self._bare(part)
        posterior: Posterior | Undetermined = bare
        if self.choice is not None:
            posterior = self._under_splits(self.choice, over, part, bare)
        elif self.doubts:
            posterior = no_inference(self.doubts)
        return AttributeEstimate(arcs, part, posterior, part.proved, part.ranges)

    def _arcs(self, view: PartialView, implied: ImpliedValues | None) -> CompatibleValues:
        """Return where people of each row can stop, and which values that leaves."""
        group, domain = self.rows.group, view.hidden.get(self.secret.name)
        if implied is not None and max(implied.of_class, default=OPEN) != OPEN:
            number = np.unique(self.rows.klass, return_inverse=True)[1].reshape(-1)
            view, implied = view.take(group), implied.of_rows(group, number)
            return compatible_values_of(view, self.secret, domain, self.population, implied)
        arcs = compatible_values_of(view, self.secret, domain, self.population, implied)
        return replace(arcs, lump_of=arcs.lump_of[group])

    def _infer(
        self,
        over: ClassedLeaves | None,
        arcs: CompatibleValues,
        klass: IndexArray,
        flows: int,
    ) -> SecretInference:
        """Return what follows over leaves that are parted by class, or over the leaves as they are."""
        group_of_profile = self.knowledge.group_of_profile
        if over is None:
            people, row = self.population, self.rows.row_of[0, group_of_profile]
            return infer_part(arcs, self.leaves, people, row, flows)
        people = over.population
        assert not isinstance(people.truth, Undetermined)
        row = self.rows.row_of[people.truth.argmax(axis=1), group_of_profile[over.of]]
        own = over.arcs(arcs, self.leaves.nodes, klass)
        return infer_part(own, over.leaves, people, row, flows)

    def _estimate_uncounted(
        self,
        together: tuple[IndexArray, IndexArray],
        arcs: CompatibleValues,
        counted: SecretInference,
        flows: int,
    ) -> AttributeEstimate:
        """Return what follows where everybody's class is known and those in the leaves are not counted.

        ``counted`` is what follows if they were: such tables fit, so that they show what is possible.
        """
        klass = self.rows.klass
        over, for_proof = (leaves_by_class(self.leaves, self.population, each) for each in together)
        part = self._infer(over, arcs, klass, 0)
        proof = self._infer(for_proof, arcs, klass, flows)
        proved = replace(proof.proved, possible=counted.proved.possible)
        between = replace(
            proof.ranges,
            reached_low=counted.ranges.reached_low,
            reached_high=counted.ranges.reached_high,
        )
        posterior = no_inference(self.doubts) if self.doubts else self._under_rows(over, part)
        return AttributeEstimate(arcs, part, posterior, proved, between)

    def _under_rows(self, over: ClassedLeaves, part: SecretInference) -> Posterior | Undetermined:
        net, lump_of = part.leads.net, part.leads.lump_of
        of_lump = np.zeros(len(net.supply), dtype=np.intp)
        of_lump[lump_of] = self.rows.klass
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
        return self._within([each[lump_of] for each in told], gap, net.supply[lump_of])

    def _under_splits(
        self,
        choice: SplitChoiceView,
        over: ClassedLeaves | None,
        part: SecretInference,
        without: Posterior,
    ) -> Posterior | Undetermined:
        """Return the estimate with what the choice of splits says; why not, where it was not found.

        Candidates on the secret itself are no rows: where they were compared, ``high`` is all that leaves leave open.
        """
        leaves = len(self.leaves.nodes)
        if over is None:
            own = self.leaves.estimate(self.options)
            if isinstance(own, Undetermined):
                return own
            placed, counts = (
                part.held.of_classes(own.values),
                own.values * self.leaves.sizes[:, None],
            )
        else:
            placed, counts = over.by_class(part.held, leaves), over.class_counts
        problem = why_broken(choice, placed)
        if not problem:
            return without
        if problem == NOT_COMPARED:
            return Undetermined(problem)
        until = allowed(self.options, self.effort.enforcing)
        under = fit_under_splits(
            CutProblem(choice, placed, part.leads.net, part.gap, counts), until
        )
        if under is None:
            return Undetermined(problem)
        held = under.held
        # The leaves of the network, or their parts by class.
        at = held.over_leaves(leaves) if over is None else held.over[:, over.at]
        lump = np.zeros(held.places.shape[0], dtype=np.intp)
        own_lump = held.lump[part.profiles]
        lump[own_lump] = part.leads.lump_of
        places = sparse.csr_array(held.places @ sparse.csr_array(at)[:, part.leads.columns])
        told = part.leads.infer(places, lump)
        posterior = self._within(
            [each[own_lump] for each in told], under.gap, held.people[part.profiles]
        )
        return posterior if under.is_sure else span_estimates(posterior, without)

    def _within(self, ends: Sequence[FloatArray], gap: float, people: FloatArray) -> Posterior:
        """Return shares of so many people of each row, and their ends as far as a gap leaves them."""
        values, low, high = ends
        return posterior_near(values, low, high if self.is_compared else values, gap, people)

    def _bare(self, inference: SecretInference) -> Posterior:
        """Return the estimate without what the choice of splits or rows over leaves say."""
        high = inference.high if self.is_compared else inference.values
        return Posterior(inference.values, inference.gaps <= GAP, inference.low, high)
