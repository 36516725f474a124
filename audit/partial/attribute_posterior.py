"""What somebody makes of a secret column, by what he takes for known: everybody's class, or that of some people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.class_rows import NOT_SOLVED, Classed, classed, under_rows
from treewarden.audit.partial.cutting_planes import CutProblem, Some, spread_under
from treewarden.audit.partial.envelope import spanning
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.margin_fitting import GAP
from treewarden.audit.partial.margins import off_by
from treewarden.audit.partial.partial_view import Knower
from treewarden.audit.partial.reachability import Proofs, Ranges
from treewarden.audit.partial.secret_part import (
    CompatibleValues,
    SecretInference,
    arcs_of,
    in_order,
    joined,
    part_of,
)
from treewarden.audit.partial.splits import PlacedEstimate, SplitChoiceView
from treewarden.audit.partial.unmodelled_knowledge import NOT_COMPARED, why_broken
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues, Secret
from treewarden.audit.partial.work_budget import Allowance, allowed
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Outlook:
    """What somebody makes of all people who uses so much of what columns give away; the arrays are of all parts."""

    arcs: CompatibleValues
    parts: list[SecretInference]
    believed: Posterior | Undetermined
    gaps: FloatArray
    proved: Proofs
    more: Ranges


@dataclass(frozen=True, slots=True)
class Look:
    """What does not depend on how much of what columns give away is taken for known.

    ``people`` are those of the ``population`` as he tells them apart, ``of`` the place among them of each profile.
    ``doubts`` are why more may be known; ``classes`` and how many people of each profile have each, ``by_class``, where
    he knows everybody's, else None and all people. ``enforcing`` is how many operations splits may cost an estimate;
    ``uncounted`` are the classes that are ``together`` in leaves where they are not counted, (L, m), by what is
    published and by what whole records prove (`class_rows`).
    """

    leaves: LeafTable
    population: Population
    people: Population
    of: IndexArray
    secret: Secret
    choice: SplitChoiceView | None
    options: AuditOptions
    doubts: tuple[str, ...]
    classes: IndexArray | None
    by_class: list[FloatArray]
    is_compared: bool
    enforcing: float
    uncounted: tuple[IndexArray, IndexArray] | None

    def at(self, who: Knower, saying: ImpliedValues | None, work: int) -> Outlook:
        """Return what he makes of people, given what is known of them, and what columns say of the secret."""
        arcs, parts = self._arcs(who, saying), []
        of_class = []
        for number, some in enumerate(self.by_class):
            more_said = None if saying is None else saying.for_class(number)
            of_class.append(arcs if more_said is saying else self._arcs(who, more_said))
            parts.append(part_of(of_class[-1], self.leaves, self.population, self.of, some, work))
        values, low, high, gaps, proved, ranges = in_order(parts)
        if self.uncounted is not None:
            return self._of_uncounted(
                self.uncounted, of_class, parts, proved, ranges, work * len(parts)
            )
        bare = self._bare(values, low, high, gaps)
        believed: Posterior | Undetermined = bare
        if self.choice is not None:
            believed = self._where_counted(self.choice, parts, bare)
        elif self.doubts:
            believed = Undetermined(f"no estimate: {'; '.join(self.doubts)}")
        return Outlook(arcs, parts, believed, gaps, proved, ranges)

    def _of_uncounted(
        self,
        together: tuple[IndexArray, IndexArray],
        arcs: list[CompatibleValues],
        parts: list[SecretInference],
        shown: Proofs,
        more: Ranges,
        work: int,
    ) -> Outlook:
        """Return what he makes of people whose classes he knows where those in the leaves are not counted.

        ``parts`` are the people of each class if they were, and ``shown`` and ``more`` what follows: such tables fit,
        so that they show what is possible.
        """
        assert self.classes is not None
        size = [len(secret_inference.profiles) for secret_inference in parts]
        klass = np.repeat(self.classes, size)
        place = np.full((len(self.leaves.system.case.tree.classes), len(self.people.counts)), -1)
        place[klass, np.concatenate([secret_inference.profiles for secret_inference in parts])] = (
            np.arange(len(klass))
        )
        reached = [secret_inference.profiles for secret_inference in parts]
        believing, proving = (
            self._over(each, joined(arcs, reached), klass, place, effort)
            for each, effort in zip(together, (0, work), strict=True)
        )
        proved = replace(proving[1].proved, possible=shown.possible)
        between = replace(
            proving[1].more, reached_low=more.reached_low, reached_high=more.reached_high
        )
        believed: Posterior | Undetermined = Undetermined(f"no estimate: {'; '.join(self.doubts)}")
        if not self.doubts:
            believed = self._under_rows(*believing, klass)
        return Outlook(arcs[0], parts, believed, believing[1].gaps, proved, between)

    def _over(
        self,
        together: IndexArray,
        arcs: CompatibleValues,
        klass: IndexArray,
        place: IndexArray,
        work: int,
    ) -> tuple[Classed, SecretInference]:
        """Return leaves parted by classes, and what follows; ``place`` (m, P) is that of a class of a profile."""
        over = classed(self.leaves, self.population, together)
        people = over.population
        assert not isinstance(people.truth, Undetermined)
        of = place[people.truth.argmax(axis=1), self.of[over.of]]
        compatible_values = over.arcs(arcs, self.leaves.nodes, klass)
        return over, part_of(compatible_values, over.leaves, people, of, people.counts, work)

    def _under_rows(
        self, over: Classed, part: SecretInference, klass: IndexArray
    ) -> Posterior | Undetermined:
        net, lump_of = part.leads.net, part.leads.lump_of
        of_lump = np.zeros(len(net.supply), dtype=np.intp)
        of_lump[lump_of] = klass
        of_one = part.held.places @ part.held.over
        spread = sparse.csr_array(sparse.diags_array(net.supply) @ of_one)
        until = allowed(self.options, self.enforcing)
        found = under_rows(self.leaves, over, net, of_lump, spread, until)
        if found is None:
            return NOT_SOLVED
        table, gap = found
        if table is spread:
            return self._bare(part.values, part.low, part.high, part.gaps)
        places = sparse.csr_array(sparse.diags_array(1 / net.supply) @ table)
        told = part.leads.told(places, np.arange(len(net.supply)))
        values, low, high = (each[lump_of] for each in told)
        off = off_by(gap, net.supply[lump_of])[:, None]
        high = high if self.is_compared else values
        is_decided = np.ones(len(values), dtype=bool)
        low, high = np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)
        return Posterior(values, is_decided, low, high)

    def with_outcome(
        self, who: Knower, saying: ImpliedValues | None, outcome: IndexArray, work: int
    ) -> Outlook:
        """Return the same where the class of some profiles is known, ``outcome`` (P,), ``OPEN`` of the others."""
        parts = classed(self.leaves, self.population)
        said = np.full(len(self.people.counts), OPEN, dtype=np.intp)
        said[self.of] = outcome
        arcs = parts.arcs(self._arcs(who, saying), self.leaves.nodes, said)
        people = parts.population
        part = part_of(arcs, parts.leaves, people, self.of[parts.of], people.counts, work)
        bare = self._bare(part.values, part.low, part.high, part.gaps)
        believed: Posterior | Undetermined = bare
        if self.choice is not None:
            placed_estimate = parts.by_class(part.held, len(self.leaves.nodes))
            believed = self._heeding(self.choice).believed(
                [part], [placed_estimate], parts.class_counts, parts.at, bare
            )
        elif self.doubts:
            believed = Undetermined(f"no estimate: {'; '.join(self.doubts)}")
        return Outlook(arcs, [part], believed, part.gaps, part.proved, part.more)

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
        return self._heeding(choice).believed(parts, placed_estimates, counts, None, without)

    def _heeding(self, choice: SplitChoiceView) -> _Heeding:
        until = allowed(self.options, self.enforcing)
        return _Heeding(choice, until, len(self.leaves.nodes), self.is_compared)

    def _arcs(self, who: Knower, saying: ImpliedValues | None) -> CompatibleValues:
        domain = who.hidden.get(self.secret.name)
        return arcs_of(who, self.secret, domain, self.population, saying)

    def _bare(
        self, values: FloatArray, low: FloatArray, high: FloatArray, gaps: FloatArray
    ) -> Posterior:
        return Posterior(values, gaps <= GAP, low, high if self.is_compared else values)


@dataclass(frozen=True, slots=True)
class _Heeding:
    """What the choice of splits on known columns says is held against an estimate, and put in where that breaks it.

    Candidates on the secret itself are no rows: where they were compared, ``high`` is all that leaves leave open.
    """

    choice: SplitChoiceView
    allowance: Allowance
    leaves: int
    is_compared: bool

    def believed(
        self,
        parts: list[SecretInference],
        held: list[PlacedEstimate],
        classes: FloatArray,
        at: IndexArray | None,
        without: Posterior,
    ) -> Posterior | Undetermined:
        """Return the estimate with such rows, given that without them; why not, where it was not found.

        ``held`` are the people of each part by class, ``classes`` (L, m) how many of each class are in each leaf.
        ``at`` are the leaves of the parts' networks among these, by class; None where they are the leaves.
        """
        problem = why_broken(self.choice, held)
        if not problem:
            return without
        if problem == NOT_COMPARED:
            return Undetermined(problem)
        part_estimates = [
            Some(placed_estimate, part.leads.net, part.gap)
            for placed_estimate, part in zip(held, parts, strict=True)
        ]
        under = spread_under(
            CutProblem(self.choice, tuple(part_estimates), classes), self.allowance
        )
        if under is None:
            return Undetermined(problem)
        found = []
        for part, each in zip(parts, under.parts, strict=True):
            over = each.over_leaves(self.leaves) if at is None else each.over[:, at]
            found.append(self._told(part, replace(each, over=over), under.gap))
        values, low, high = (np.concatenate(each) for each in zip(*found, strict=True))
        believed = Posterior(values, np.ones(len(values), dtype=bool), low, high)
        return believed if under.is_sure else spanning(believed, without)

    def _told(
        self, part: SecretInference, held: PlacedEstimate, gap: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is believed of a part's profiles and its ends, (N, B), given where they are believed to be."""
        lump, own = np.zeros(held.places.shape[0], dtype=np.intp), held.lump[part.profiles]
        lump[own] = part.leads.lump_of
        places = sparse.csr_array(held.places @ held.over[:, part.leads.columns])
        values, low, high = (each[own] for each in part.leads.told(places, lump))
        off = off_by(gap, held.people[part.profiles])[:, None]
        high = high if self.is_compared else values
        return values, np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)
