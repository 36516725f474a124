"""Attempts of a search for a repair: the changes tried, what they cost, which of them are best, and what is advised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from treewarden.audit.population.forest import accuracy_of, said_by
from treewarden.audit.population.population import Population, rerouted
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.repair.utility import CrossValidation, Holdout, UtilityName
from treewarden.policies.rules import rules
from treewarden.policies.verdict import NEW_MODEL, PolicyVerdict
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import (
    Node,
    Task,
    Tree,
    completed,
    count_of,
)

# Privacy against utility: how far a decision meets its policy, and which of several trees no other tree dominates.

MOST = 2.0
"""Met twice over: more is not told apart."""


def privacy(decision: Decision) -> float | None:
    """Return how far the worst clause that counts is shown to be met, at most ``MOST``; None if it is not told.

    ``Rule.margin`` says how far that is: 1 at the limit, 0.5 half way. A combination has no one limit: it is met, 1, or
    not at all.
    """
    met = [
        _met(finding)
        for finding in decision.findings
        if decision.counts(finding) and not finding.is_about_evidence
    ]
    told = [each for each in met if each is not None]
    return min(told) if told and len(told) == len(met) else None


def _met(finding: Finding) -> float | None:
    if finding.requirement.limit is None:
        return {PolicyVerdict.PASS: 1.0, PolicyVerdict.FAIL: 0.0}.get(finding.verdict)
    margin = rules()[finding.requirement.rule].margin(finding.reading, finding.requirement.limit)
    return None if margin is None else min(margin, MOST)


def unbeaten(points: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each point whether it is on the Pareto front: none is as good in every number and better in one."""
    if not points:
        return []
    each = np.array(points, dtype=np.float64)
    as_good = (each[:, None] >= each[None, :]).all(axis=2)
    better = (each[:, None] > each[None, :]).any(axis=2)
    beats: BoolArray = np.logical_and(as_good, better)
    return [not bool(beats[:, point].any()) for point in range(len(points))]


# What a change to a model costs: leaves, predictions, training accuracy.

Said = list[str | float | None]
UTILITY_DECIMALS = 3
"""Decimals by which cross-validated utilities are told apart: less is noise of the folds."""
ROUNDED = 12
"""Decimals by which costs are told apart: sums of the same weights in another order are the same cost."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a change costs. ``predictions_changed`` is the share of the table's records that get another prediction.

    Of several trees that is the one they make together, and so it is for the accuracies and losses.

    The accuracies are shares of the table's records, so they are training accuracies. ``numbers_withheld`` is the share
    of the class numbers that an average leaf no longer gives; a number given as a band counts half. ``sizes_withheld``
    is the share of the record counts that are gone. The losses are those expected on records held out (see
    ``Holdout``), None where there are none. The utilities are cross-validated, more is better, None where they cannot
    be (see ``CrossValidation``). ``only_label`` is the class that the change predicts for everybody, "" where it tells
    people apart, or the model did not.
    """

    leaves_before: int
    leaves_after: int
    predictions_changed: float | Undetermined
    accuracy_before: Reading
    accuracy_after: Reading
    withheld: tuple[str, ...]
    numbers_withheld: float
    sizes_withheld: float
    loss_before: Reading | None = None
    loss_after: Reading | None = None
    utility_before: Reading | None = None
    utility_after: Reading | None = None
    only_label: str = ""

    @property
    def utility_lost(self) -> float:
        """What of the cross-validated utility is lost, below 0 where some is won; infinite where it is no longer told.

        Where none can be told, it is the training accuracy that is lost.
        """
        before, after = self.utility_before, self.utility_after
        if before is None or after is None or isinstance(before, Undetermined):
            return self.accuracy_lost
        if isinstance(after, Undetermined):
            return math.inf
        return round(before.low - after.low, UTILITY_DECIMALS)

    @property
    def accuracy_lost(self) -> float:
        """The share of the records that are no longer predicted right; 0 where that is not known, or none is lost."""
        before, after = self.accuracy_before, self.accuracy_after
        if isinstance(before, Undetermined) or isinstance(after, Undetermined):
            return 0.0
        return max(0.0, round(before.low - after.low, ROUNDED))

    @property
    def leaves_lost(self) -> int:
        """How many leaves are gone."""
        return self.leaves_before - self.leaves_after

    @property
    def rank(self) -> tuple[float, float, int, float, float]:
        """The order of costs: utility weighs more than other predictions, then lost leaves, then withheld numbers.

        Class numbers come before record counts, so that what withholds these as well always costs more. Where it
        cannot be told which predictions change, all may.
        """
        told = self.predictions_changed
        changed = 1.0 if isinstance(told, Undetermined) else round(told, ROUNDED)
        withheld = round(self.numbers_withheld, ROUNDED)
        sizes = round(self.sizes_withheld, ROUNDED)
        return (self.utility_lost, changed, self.leaves_lost, withheld, sizes)


def cost_of(
    model: Model,
    people: Population,
    proposal: Proposal,
    holdout: Holdout | None = None,
    validation: CrossValidation | Undetermined | None = None,
) -> Cost:
    """Return what a proposal costs the people's model; ``people`` are those of the model as it is."""
    old, new = model, proposal.model
    before, said_before = _predictions(old, people.leaf, people)
    moved = np.array(proposal.node_map)[people.leaf] if isinstance(new, Tree) else people.leaf
    after, said_after = _predictions(new, moved, people)
    leaves_before, leaves_after = _leaves(old), _leaves(new)
    return Cost(
        leaves_before=len(leaves_before),
        leaves_after=len(leaves_after),
        predictions_changed=_changed(said_before, said_after, people),
        accuracy_before=before,
        accuracy_after=after,
        withheld=proposal.withheld,
        numbers_withheld=_withheld(
            _numbers_per_leaf(leaves_before), _numbers_per_leaf(leaves_after)
        ),
        sizes_withheld=_withheld(_sized(leaves_before), _sized(leaves_after)),
        loss_before=None if holdout is None else holdout.loss(old),
        loss_after=None if holdout is None else holdout.loss(new),
        utility_before=_utility(old, people.leaf, validation),
        utility_after=_utility(new, moved, validation),
        only_label=_only_label(said_before, said_after),
    )


def cost_of_new_model(
    model: Model,
    people: Population,
    new: Model,
    its_people: Population,
    utility: float,
    validation: CrossValidation | Undetermined | None,
) -> Cost:
    """Return what it costs to publish a model that was trained anew, whose own people are these, in place of another.

    Its ``utility`` is cross-validated: it was trained again in each fold. It is told where that of the other is.
    """
    before, said_before = _predictions(model, people.leaf, people)
    try:
        moved = rerouted(new, people) if isinstance(new, Tree) else people
        said_after = _predictions(new, moved.leaf, people)[1]
    except (TreewardenError, KeyError):  # it asks for what does not part these people
        said_after = Undetermined("the new model tests what the old one does not")
    told = _utility(model, people.leaf, validation)
    unknown = Undetermined("some fold could not be scored")
    own = unknown if math.isnan(utility) else exactly(utility)
    return Cost(
        leaves_before=len(_leaves(model)),
        leaves_after=len(_leaves(new)),
        predictions_changed=_changed(said_before, said_after, people),
        accuracy_before=before,
        accuracy_after=_predictions(new, its_people.leaf, its_people)[0],
        withheld=(),
        numbers_withheld=0.0,
        sizes_withheld=0.0,
        utility_before=told,
        utility_after=None if told is None else own,
        only_label=_only_label(said_before, said_after),
    )


def _utility(
    model: Model, leaf: IndexArray, validation: CrossValidation | Undetermined | None
) -> Reading | None:
    if not isinstance(validation, CrossValidation) or not isinstance(model, Tree):
        return None
    return validation.measure(model, leaf)


def _leaves(model: Model) -> list[Node]:
    return [leaf for tree in trees_of(model) for leaf in tree.leaves]


def _changed(
    before: Said | Undetermined, after: Said | Undetermined, people: Population
) -> float | Undetermined:
    if isinstance(before, Undetermined):
        return before
    if isinstance(after, Undetermined):
        return after
    changed = np.array([old != new for old, new in zip(before, after, strict=True)])
    return float(people.counts[changed].sum() / people.records) if people.records else 0.0


def _only_label(before: Said | Undetermined, after: Said | Undetermined) -> str:
    """Return the class that everybody is predicted now, "" where there are several or there were not."""
    if isinstance(before, Undetermined) or isinstance(after, Undetermined):
        return ""
    labels = {*after}
    label = labels.pop() if len(labels) == 1 and len({*before}) > 1 else ""
    return label if isinstance(label, str) else ""


def _withheld(before: float, after: float) -> float:
    return 1 - min(after / before, 1.0) if before else 0.0


def _numbers_per_leaf(leaves: Sequence[Node]) -> float:
    """Return how many class numbers an average leaf gives, those that simple subtraction reveals among them."""
    counts = [completed(leaf.class_counts or (), count_of(leaf)) for leaf in leaves]
    exact = sum(number is not None for numbers in counts for number in numbers)
    shares = sum(len(leaf.class_shares or ()) for leaf in leaves if not leaf.class_counts)
    bands = sum(band is not None for leaf in leaves for band in leaf.bands or ())
    return (exact + shares + bands / 2) / len(leaves)


def _sized(leaves: Sequence[Node]) -> float:
    """Return the share of the leaves that say how many records they hold."""
    return sum(count_of(leaf) is not None for leaf in leaves) / len(leaves)


def _predictions(
    tree: Model, leaf: IndexArray, people: Population
) -> tuple[Reading, Said | Undetermined]:
    """Return the share of records predicted right, and what is predicted for each profile, shape (P,)."""
    if isinstance(tree, Ensemble):
        all_say = said_by(tree, people.columns)
        return accuracy_of(tree, people, all_say), all_say
    if tree.task is Task.REGRESSION:
        said = [tree.nodes[index].score for index in leaf]
        return Undetermined("the tree predicts a number, not a class"), said
    labels = {int(index): label_of(tree, tree.nodes[index]) for index in np.unique(leaf)}
    codes = [labels[int(index)] for index in leaf]
    names = [None if code is None else tree.classes[code] for code in codes]
    if isinstance(people.truth, Undetermined):
        return people.truth, list(names)
    right = sum(people.truth[row, code] for row, code in enumerate(codes) if code is not None)
    return exactly(right / people.truth.sum()), list(names)


NOT_TRIED = "the time was up"
INTERRUPTED = "the search was interrupted"


class SearchEnd(StrEnum):
    """How a search ended: with everything tried that was worth it, or before."""

    DONE = "done"
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """One proposal by its ``name``, its audit and what came of it. ``problem`` says what could not be audited, if any.

    ``not_audited`` is why no full audit was made of it, if none was: it then never passes. Where its leaves alone broke
    a clause, ``audit`` and ``decision`` hold these; else there are none. ``is_unbeaten`` says that it is on the Pareto
    front: no other attempt is as good in privacy and in every cost, and better in one.
    """

    name: str
    proposal: Proposal
    cost: Cost
    audit: Audit | None
    decision: Decision | None
    problem: str = ""
    is_unbeaten: bool = False
    not_audited: str = ""

    @property
    def verdict(self) -> PolicyVerdict:
        """The verdict on the changed model; never a pass where something could not be audited, or was not."""
        if self.decision is None:
            return PolicyVerdict.UNDETERMINED
        least = (
            PolicyVerdict.UNDETERMINED if self.problem or self.not_audited else PolicyVerdict.PASS
        )
        return max(self.decision.verdict, least)

    @property
    def privacy(self) -> float | None:
        """How far the worst clause is shown to be met (see ``privacy``); None where it is not told."""
        return None if self.decision is None or self.not_audited else privacy(self.decision)

    @property
    def title(self) -> str:
        """What is changed, in words, and whether the model then tells nobody apart."""
        label = self.cost.only_label
        return self.proposal.title + (
            f"; “{label}” is then predicted for everybody" if label else ""
        )

    @property
    def is_new_model(self) -> bool:
        """Whether it is no change, but a model that was trained anew."""
        return self.proposal.remedies == (NEW_MODEL,)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """What keeps it from passing, as far as that was looked at, worst first."""
        if self.decision is None:
            return ()
        failing = self.decision.failing
        return tuple(f for f in failing if f.verdict is PolicyVerdict.FAIL or not self.not_audited)

    @property
    def is_tried(self) -> bool:
        """Whether anything was found out about it."""
        return self.decision is not None or not self.not_audited


@dataclass(frozen=True, slots=True)
class RepairSearch:
    """Everything that was tried. ``recommended`` is the cheapest attempt that passes; never one that is undetermined.

    It is None where the original passes already, or nothing passes; ``nearest`` is then the attempt that lacks least.
    ``advice`` is how to grow the model again, where it is a boosted one.
    ``applied`` is the recommended attempt, or the passing one that was chosen instead. ``ended`` says whether the
    search got to its end. ``validation`` is what the ``utility`` was measured with, or why it was not.
    ``search_cut`` says why less is proved of the original than an audit of it proves; "" where as much is.
    ``has_new_model`` says that nothing passes but a tree that was trained anew, which is what is written.
    """

    audit: Audit
    decision: Decision
    attempts: tuple[RepairAttempt, ...]
    refusals: tuple[NoProposal, ...]
    recommended: RepairAttempt | None
    nearest: RepairAttempt | None
    message: str
    applied: RepairAttempt | None
    ended: SearchEnd = SearchEnd.DONE
    advice: tuple[str, ...] = ()
    utility: UtilityName = "accuracy"
    validation: CrossValidation | Undetermined | None = None
    search_cut: str = ""
    has_new_model: bool = False

    def exchanging(self, old: RepairAttempt, new: RepairAttempt) -> RepairSearch:
        """Return the same with another record of one attempt, wherever that stands."""

        def now(attempt: RepairAttempt | None) -> RepairAttempt | None:
            return new if attempt is old else attempt

        return replace(
            self,
            attempts=tuple(new if attempt is old else attempt for attempt in self.attempts),
            recommended=now(self.recommended),
            nearest=now(self.nearest),
            applied=now(self.applied),
        )

    def with_new_model(
        self, message: str, attempt: RepairAttempt | None, *, passes: bool
    ) -> RepairSearch:
        """Return the same with what came of a model that was trained anew; one that passes is the one that is applied.

        A tree with differential privacy is no ``attempt``: nothing is measured of it, as that would cost privacy.
        """
        attempts = self.attempts if attempt is None else marked((*self.attempts, attempt))
        chosen = attempts[-1] if attempt is not None and passes else None
        return replace(
            self,
            message=f"{message} {self.message}",  # summaries cut the end
            attempts=attempts,
            recommended=chosen,
            applied=chosen,
            has_new_model=passes,
        )

    @property
    def is_needed(self) -> bool:
        """Whether the original does not pass."""
        return self.decision.verdict is not PolicyVerdict.PASS


def order(attempt: RepairAttempt) -> tuple[float, ...]:
    """Return the order of attempts, best first: those that pass by price, then by nearness to a pass.

    Nearest is what breaks fewest clauses, then what leaves fewest undecided, then what costs least.
    """
    if attempt.verdict is PolicyVerdict.PASS:
        return (0.0, 0.0, *_price(attempt))
    if attempt.decision is None:
        return (math.inf, float(bool(attempt.not_audited)), *_price(attempt))
    verdicts = [finding.verdict for finding in attempt.decision.failing]
    failed = verdicts.count(PolicyVerdict.FAIL)
    undecided = len(verdicts) - failed + bool(attempt.problem)
    return (failed, undecided, *_price(attempt))


def marked(attempts: Sequence[RepairAttempt]) -> tuple[RepairAttempt, ...]:
    """Return the attempts, those on the Pareto front marked: passing, privacy and every cost count.

    What was not audited is neither on the front nor keeps anything from it.
    """
    audited = [attempt for attempt in attempts if not attempt.not_audited]
    front = iter(unbeaten([_point(attempt) for attempt in audited]))
    return tuple(a if a.not_audited else replace(a, is_unbeaten=next(front)) for a in attempts)


def _point(attempt: RepairAttempt) -> tuple[float, ...]:
    shown = -1.0 if attempt.privacy is None else attempt.privacy
    return (-float(attempt.verdict), shown, *(-each for each in attempt.cost.rank))


def _price(attempt: RepairAttempt) -> tuple[float, ...]:
    """Return the order of recommendation: the cheapest, and of equally cheap ones the most private."""
    return (*attempt.cost.rank, -(attempt.privacy or 0.0))
