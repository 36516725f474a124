"""What a search for a repair comes to: the changes that were tried, which of them are best, and what is advised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.repairing.cost import Cost
from treewarden.policies.repairing.tradeoff import privacy, unbeaten
from treewarden.policies.verdict import Verdict

NOT_TRIED = "the time was up"
INTERRUPTED = "the search was interrupted"


class Ended(StrEnum):
    """How a search ended: with everything tried that was worth it, or before."""

    DONE = "done"
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Attempt:
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
    def verdict(self) -> Verdict:
        """The verdict on the changed model; never a pass where something could not be audited, or was not."""
        if self.decision is None:
            return Verdict.UNDETERMINED
        least = Verdict.UNDETERMINED if self.problem or self.not_audited else Verdict.PASS
        return max(self.decision.verdict, least)

    @property
    def privacy(self) -> float | None:
        """How far the worst clause is shown to be met (see ``privacy``); None where it is not told."""
        return None if self.decision is None or self.not_audited else privacy(self.decision)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """What keeps it from passing, as far as that was looked at, worst first."""
        if self.decision is None:
            return ()
        failing = self.decision.failing
        return tuple(f for f in failing if f.verdict is Verdict.FAIL or not self.not_audited)

    @property
    def is_tried(self) -> bool:
        """Whether anything was found out about it."""
        return self.decision is not None or not self.not_audited


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything that was tried. ``recommended`` is the cheapest attempt that passes; never one that is undetermined.

    It is None where the original passes already, or nothing passes; ``nearest`` is then the attempt that lacks least.
    ``advice`` is how to grow the model again, where it is a boosted one.
    ``applied`` is the recommended attempt, or the passing one that was chosen instead. ``ended`` says whether the
    search got to its end.
    """

    audit: Audit
    decision: Decision
    attempts: tuple[Attempt, ...]
    refusals: tuple[NoProposal, ...]
    recommended: Attempt | None
    nearest: Attempt | None
    message: str
    applied: Attempt | None
    ended: Ended = Ended.DONE
    advice: tuple[str, ...] = ()

    def exchanging(self, old: Attempt, new: Attempt) -> Repair:
        """Return the same with another record of one attempt, wherever that stands."""

        def now(each: Attempt | None) -> Attempt | None:
            return new if each is old else each

        return replace(
            self,
            attempts=tuple(new if each is old else each for each in self.attempts),
            recommended=now(self.recommended),
            nearest=now(self.nearest),
            applied=now(self.applied),
        )

    @property
    def is_needed(self) -> bool:
        """Whether the original does not pass."""
        return self.decision.verdict is not Verdict.PASS


def order(attempt: Attempt) -> tuple[float, ...]:
    """Return the order of attempts, best first: those that pass by price, then by nearness to a pass.

    Nearest is what breaks fewest clauses, then what leaves fewest undecided, then what costs least.
    """
    if attempt.verdict is Verdict.PASS:
        return (0.0, 0.0, *_price(attempt))
    if attempt.decision is None:
        return (math.inf, float(bool(attempt.not_audited)), *_price(attempt))
    verdicts = [finding.verdict for finding in attempt.decision.failing]
    failed = verdicts.count(Verdict.FAIL)
    undecided = len(verdicts) - failed + bool(attempt.problem)
    return (failed, undecided, *_price(attempt))


def marked(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, those on the Pareto front marked: passing, privacy and every cost count.

    What was not audited is neither on the front nor keeps anything from it.
    """
    audited = [attempt for attempt in attempts if not attempt.not_audited]
    front = iter(unbeaten([_point(attempt) for attempt in audited]))
    return tuple(a if a.not_audited else replace(a, is_unbeaten=next(front)) for a in attempts)


def _point(attempt: Attempt) -> tuple[float, ...]:
    shown = -1.0 if attempt.privacy is None else attempt.privacy
    return (-float(attempt.verdict), shown, *(-each for each in attempt.cost.rank))


def _price(attempt: Attempt) -> tuple[float, ...]:
    """Return the order of recommendation: the cheapest, and of equally cheap ones the most private."""
    return (*attempt.cost.rank, -(attempt.privacy or 0.0))
