"""Target inference of several trees: what an adversary who knows some columns can infer of what they predict together.

Each tree that counts its people proves what it proves by itself. All of them together are one problem for the engine,
where hidden values can be told apart in few ways. What else is possible is shown by people who exchange their hidden
values, which leaves every number of the file as it is, and by the tables that the engine finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.bounds import Bounds
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import Estimate, ProblemBounds
from treewarden.audit.engine.time_budget import budget_of
from treewarden.audit.entropy.posterior import Posterior, certain, span_estimates
from treewarden.audit.joint.known_facts import prior_of_facts
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.ensembles.ensemble_view import (
    EnsembleView,
    ExchangeUnits,
    exchange_tables,
)
from treewarden.audit.partial.ensembles.hidden_places import HiddenPlaces, hidden_places
from treewarden.audit.partial.ensembles.release_inference import (
    GroupProofs,
    ReleasesView,
    prove_by_trees,
)
from treewarden.audit.partial.fitting.flows import (
    FULL,
    AdversaryBudget,
    ValueBoundsOfGroups,
)
from treewarden.audit.partial.reachability import (
    Proofs,
    bound_tables,
    ends_by_class,
    proofs,
    ranges,
)
from treewarden.audit.partial.secret_values import hidden_values
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.unmodelled_knowledge import (
    FACTS_NOT_USED,
    NO_CLASSES,
    NOT_WHOLE,
    WITH_AND_WITHOUT,
    no_inference,
)
from treewarden.audit.partial.value_rules import NOT_USED, OPEN, target_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

NOT_JOINT = (
    "proofs from all trees combined are not computed: there are too many combinations of "
    "hidden values, or some trees do not count people"
)
NO_RELEASE_ESTIMATE = Undetermined(
    "no inference: for adversaries with partial knowledge, probabilities from several "
    "releases are not computed"
)
EACH_ALONE = (
    "for adversaries with partial knowledge, proofs from several releases combined are not "
    "computed. They may be more than those of each tree"
)
IN_ONE_TREE = "in one tree, every leaf that such a person can reach has only this value"
IN_ALL_TREES = "all trees combined allow no other value for such a person"


@dataclass(frozen=True, slots=True)
class _ShownTables:
    """What tables show of each group: ``possible`` classes (G, m), and how many have them; None where not asked."""

    possible: BoolArray
    between: Bounds[IntArray] | None = None


def infer_ensemble_target(
    view: ReleasesView,
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
) -> TargetInference | Undetermined:
    """Return what is inferred of what several trees predict for the last release's people.

    What is proved and what tables show is decided in whole records. The estimate is that of the greatest entropy
    relative to how common hidden values are; there is none where the places of all trees are not listed, nor of several
    releases.
    """
    truth, is_one = view.shared.truth, len(view.views) == 1
    if isinstance(truth, Undetermined):
        return NO_CLASSES if is_one else truth
    if (view.shared.counts != np.rint(view.shared.counts)).any():
        return NOT_WHOLE
    doubts, told = view.doubts, view.outcome()
    exchanges = None if doubts else _exchanged(view, truth, told, effort.flows)
    is_said = bool((told != OPEN).any())
    proved = prove_by_trees(view, until)
    if is_one:
        return _infer_from_one(view, proved, exchanges, until, options, is_said=is_said)
    people, _ = view.told_apart
    worlds = _joined_tables(people, proved, exchanges, None)
    return TargetInference(
        people,
        NO_RELEASE_ESTIMATE,
        worlds.leaving((*doubts, *proved.left, EACH_ALONE)),
        doubts,
        gap=0.0,
        said=view.implied_words,
        is_outcome_said=is_said,
    )


def _infer_from_one(
    view: ReleasesView,
    proved: GroupProofs,
    exchanges: _ShownTables | None,
    until: Clock,
    options: AuditOptions,
    *,
    is_said: bool,
) -> TargetInference:
    """Return what is inferred of one model's people, given what trees and exchanges say; all trees are joined."""
    (model,), doubts = view.views, view.doubts
    joint = _JointPlaces(model, options, is_whole=not doubts and not is_said)
    worlds = _worlds(model, proved, exchanges, joint, until)
    worlds = replace(worlds, left=(*doubts, *worlds.left), not_decided=(*doubts, *worlds.left))
    closure, population, trees = model.told.closure, model.population, model.forest.trees
    reasons, outcome = [*doubts], view.outcomes[0]
    if outcome is not None:
        reasons.append(outcome.words(NOT_USED, target_of(model.forest.model, population)))
    posterior = joint.posterior()
    if reasons:
        posterior = no_inference(reasons)
    elif closure.said:
        not_told = hidden_values(trees, population, model.columns)
        unaided = replace(model, told=replace(model.told, hidden=not_told, guesses={}))
        posterior = span_estimates(posterior, _JointPlaces(unaided, options).posterior())
    return TargetInference(
        model.told.people,
        posterior,
        worlds,
        doubts,
        gap=joint.gap,
        prior=_prior(model, options),
        said=(*closure.said, WITH_AND_WITHOUT) if closure.said else (),
        is_outcome_said=is_said,
    )


def with_facts(seen: TargetInference, of_facts: TargetInference | Undetermined) -> TargetInference:
    """Return what is inferred of one tree without facts about people, with what these prove and show beside it.

    ``of_facts`` is what the tree's leaves say with them. Its tables, and its estimate, know nothing of how splits were
    chosen: they count where nothing else than facts was left out.
    """
    if isinstance(of_facts, Undetermined):
        return seen
    own, more = seen.worlds, of_facts.worlds
    if isinstance(own, Undetermined) or isinstance(more, Undetermined):
        return seen
    low, high = np.maximum(own.low, more.low), np.minimum(own.high, more.high)
    reasons = {**more.reasons, **own.reasons}
    if seen.doubts != (FACTS_NOT_USED,) or of_facts.doubts:
        return replace(seen, worlds=replace(own, low=low, high=high, reasons=reasons))
    worlds = replace(more, low=low, high=high, reasons=reasons)
    return replace(of_facts, worlds=worlds, said=tuple(dict.fromkeys((*seen.said, *of_facts.said))))


def _prior(view: EnsembleView, options: AuditOptions) -> Posterior | Undetermined | None:
    """Return the estimate before the model with facts about the groups; None without, where it is as for everybody."""
    if view.facts is None:
        return None
    return prior_of_facts(
        view.facts, view.told.people, len(view.forest.model.classes), budget_of(options)
    )


def _exchanged(
    view: ReleasesView, truth: FloatArray, class_of_group: IndexArray, flows: int
) -> _ShownTables:
    """Return what exchanges of hidden values show: people keep a class that known columns imply, or facts are about.

    ``class_of_group`` (U,) is the class that known columns imply of each group.
    """
    group, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    units = ExchangeUnits(truth[group, klass], group, klass, class_of_group[group]).keeping(
        view.is_of_fact
    )
    tables = exchange_tables(view.stops, units)
    net, classes = tables.net, truth.shape[1]
    people, row_of_group = view.told_apart
    held = np.bincount(tables.column_of_unit, units.people, len(tables.value_of_column))
    here = np.eye(classes)[tables.value_of_column] * held[:, None]
    of_row = proofs(net, here, here).possible
    of_group = np.zeros(truth.shape, dtype=bool)
    np.logical_or.at(of_group, group, of_row[tables.row_of_unit])
    possible = np.zeros((len(people.counts), classes), dtype=bool)
    np.logical_or.at(possible, row_of_group, of_group[view.last])
    if (class_of_group != OPEN).any() or view.is_of_fact.any():
        return _ShownTables(possible)
    lump_of_group = np.zeros(len(truth), dtype=np.intp)
    lump_of_group[group] = tables.row_of_unit
    lump_of_row = np.zeros(len(people.counts), dtype=np.intp)
    lump_of_row[row_of_group] = lump_of_group[view.last]
    inner = ends_by_class(net, here, here, flows)
    whole = np.repeat(np.rint(net.supply).astype(np.int64)[:, None], classes, axis=1)
    outer = ValueBoundsOfGroups(np.zeros_like(whole), whole, inner.asked)
    between = ranges(people.counts, lump_of_row, net.supply, outer, inner)
    return _ShownTables(possible, between)


class _JointPlaces:
    """What all trees prove together of where people can stop, where their hidden values can be told apart in few ways.

    ``is_whole`` says that nothing else is known, so that tables that fit the rows are tables that fit.
    """

    def __init__(self, view: EnsembleView, options: AuditOptions, *, is_whole: bool = True) -> None:
        self.view, self.options, self.is_whole = view, options, is_whole
        self.places = hidden_places(view)
        self.bounds: ProblemBounds | None = None
        if self.places is not None:
            self.bounds = self._reason(self.places, 0.0)

    @property
    def lump_of_group(self) -> IndexArray:
        """The lump of each group, (G,)."""
        return self.view.by_group(self.view.lumps.of)

    @property
    def gap(self) -> float:
        """How far the estimate is from the optimum at most, in records times nats."""
        found = self.bounds
        return found.estimate.gap if found and isinstance(found.estimate, Estimate) else 0.0

    def _reason(self, places: HiddenPlaces, seconds: float) -> ProblemBounds:
        budget = replace(budget_of(self.options), searching=seconds)
        return reason(places.problem, truth=places.truth, budget=budget)

    def search(self, until: Clock) -> None:
        """Look for other tables, and for proofs that there are none."""
        if self.places is not None and self.is_whole and not until.is_over:
            self.bounds = self._reason(self.places, until.left)

    def most(self) -> IntArray | None:
        """Return how many people of each group have each class at most, (G, m); None where that is not worked out."""
        if self.places is None or self.bounds is None or self.bounds.problem:
            return None
        counts = np.rint(self.view.told.people.counts).astype(np.int64)[:, None]
        high = self._by_class(self.bounds.high)[self.lump_of_group]
        return np.minimum(counts, np.rint(high).astype(np.int64))

    def possible(self) -> BoolArray | None:
        """Return which classes of each group some table shows that was found, (G, m); None where none was."""
        if self.places is None or self.bounds is None or not self.is_whole:
            return None
        return np.asarray(self._by_class(self.bounds.reached_high > 0)[self.lump_of_group] > 0)

    def _by_class(self, numbers: IntArray | FloatArray | BoolArray) -> FloatArray:
        assert self.places is not None
        return self.places.by_class(numbers, len(self.view.forest.model.classes))

    def posterior(self) -> Posterior | Undetermined:
        """Return the estimate of each group's class, the same for all groups of a lump."""
        if self.bounds is None:
            return no_inference([NOT_JOINT])
        if self.bounds.problem or isinstance(self.bounds.estimate, Undetermined):
            found = self.bounds.estimate
            return found if isinstance(found, Undetermined) else Undetermined(self.bounds.problem)
        values = self._by_class(self.bounds.estimate.values)[self.lump_of_group]
        return certain(values)


def _worlds(
    view: EnsembleView,
    proved: GroupProofs,
    exchanges: _ShownTables | None,
    joint: _JointPlaces,
    until: Clock,
) -> ConsistentTables:
    """Return what is proved and shown of each group; the engine looks for tables only where the rest leaves it open."""
    worlds = _joined_tables(view.told.people, proved, exchanges, joint)
    if worlds.is_open and joint.places is not None:
        joint.search(until)
        worlds = _joined_tables(view.told.people, proved, exchanges, joint)
    not_joined = (NOT_JOINT,) if joint.bounds is None else joint.bounds.left
    return worlds.leaving((*proved.left, *not_joined))


def _joined_tables(
    people: Population,
    proved: GroupProofs,
    exchanges: _ShownTables | None,
    joint: _JointPlaces | None,
) -> ConsistentTables:
    counts = np.rint(people.counts).astype(np.int64)[:, None]
    most, by_all = proved.most, None if joint is None else joint.most()
    if by_all is not None:
        most = np.minimum(most, by_all)
    least = np.maximum(counts - (most.sum(axis=1, keepdims=True) - most), 0)
    possible = np.zeros(most.shape, dtype=bool) if exchanges is None else exchanges.possible.copy()
    found = None if joint is None else joint.possible()
    if found is not None and exchanges is not None:
        possible |= found
    lowest, highest = np.broadcast_to(counts, most.shape), np.zeros_like(most)
    between = Bounds(least, most, lowest, highest)
    if exchanges is not None and exchanges.between is not None:
        between = replace(
            between,
            reached_low=exchanges.between.reached_low,
            reached_high=exchanges.between.reached_high,
        )
    worlds = bound_tables(
        people,
        Proofs(least == counts, most == 0, possible),
        is_exact=exchanges is not None,
        between=between,
    )
    certain = worlds.certain_rows
    reasons = {row: IN_ONE_TREE if proved.by_tree[row] else IN_ALL_TREES for row in certain}
    return replace(worlds, reasons=reasons)
