"""The order of the tiers of every problem, and how the time of an audit is divided among them.

Every share of it stands here. Of one tree ``worlds_budget`` is for all that whole records prove: of what is left of it,
the proofs have the first part where something is left out (``PROOFS_SHARE``), tables for reports the last one
(``WITNESS_SHARE``), and running the learner on those what comes after (``GRADES_SHARE``). Of several trees it is for
the search, beside the estimate's own. Several releases share it alike, and one share is for all together; adversaries
who know some columns have a part of their own (``ADVERSARIES_SHARE``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import TYPE_CHECKING, TypeVar

from treewarden.audit.progress import Clock, OutOfTimeError, Share, clock, work_clock

if TYPE_CHECKING:  # who counts work needs no options
    from treewarden.audit.options import AuditOptions

log = logging.getLogger(__name__)


class Tier(IntEnum):
    """Tiers of proofs, and of searches for tables, in the order in which they are run. No kind of problem has all."""

    ALONE = auto()
    """What each row proves by itself."""
    LISTING = auto()
    """All tables, where they are few."""
    PROPAGATION = auto()
    """Row after row, until nothing moves."""
    CHANGES = auto()
    """Tables one change away from one that is known."""
    CERTIFICATES = auto()
    """All rows together in real numbers, each proof made exact: multipliers of the estimate, linear programs."""
    WITNESSES = auto()
    """Independent draws, and exchanges in tables that are known."""
    QUESTIONS = auto()
    """What is still open, put to solvers in whole numbers."""


TierRun = Callable[[], bool | None]
"""Runs one tier of a problem; returns whether that decided everything."""
Known = TypeVar("Known")
ShouldStop = Callable[[Known], bool]
"""Asked of what is known: whether nothing that is open is needed. Once it is so, it stays so if more becomes known."""


def never(bounds: object) -> bool:
    """Go on, whatever is known."""
    return False


def run_tiers(tiers: Mapping[Tier, TierRun]) -> bool:
    """Run tiers in order; return whether no more are to be run, as everything is decided or the time is used up.

    Raises:
        ContradictionError: no table fits.
    """
    for tier in sorted(tiers):
        try:
            if tiers[tier]():
                return True
        except OutOfTimeError:
            log.debug("the time was used up in tier %s", tier.name)
            return True
    return False


ESTIMATE_SECONDS = 120.0
"""Work of the estimate over many trees where no limit is set: beyond, it is undetermined, never half done."""
OVER_TREES_SECONDS = 20.0
"""What the first trees tell is a picture for readers, and worked out as far as that suffices."""
PREFIX_SECONDS = 4.0
"""Of that, what each number of first trees may take."""
PROOFS_SHARE = 0.6
"""Of the budget where something may hold that is not known to; the rest is for tables that obey it."""
LINES_SHARE = 0.5
"""Of the time of one tree, for linear programs over all rows at once, which prove what chains of single rows do not."""
FIRST_PROGRAM_SHARE, FIRST_TABLE_SHARE = 1 / 3, 1 / 2
"""Of the time that is left, for the steps that look for a first table where none is known."""
WITNESS_SHARE = 0.1
"""Of the budget; the last part is for the tables that a report shows."""
GRADES_SHARE = 0.1
"""Of the budget for whole records; the last part is for running the learner again on the tables that reports show."""
ADVERSARIES_SHARE = 0.25
"""Of the budget for whole records: what all adversaries who know some columns have together."""
ADDS_SHARE = 0.3
"""Of the time for each of both parts, so much is for what each release adds; the rest is for all of them together."""

# What work takes on a usual machine, in seconds: by these rates what is done is counted, the same on every machine.

SECONDS_A_LOOK = 5e-9
"""To look at one entry of a row."""
SECONDS_A_PRODUCT = 1e-8
"""To multiply two entries and add that up."""
SECONDS_A_SQUARE_ENTRY = 3e-9
"""The same where a sparse matrix is multiplied by itself."""
SECONDS_A_FLOP = 3e-11
"""For a dense factorisation, by the cube of its rows."""
SECONDS_A_MODEL_ENTRY = 5e-6
"""To make a model for a solver, to copy it or to hand it over, by entry of its rows."""
SECONDS_A_PROGRAM_ENTRY = 2e-5
"""To solve a linear program, by entry of its rows."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Cheap proofs and the estimate are looked for ``until`` then; for other tables ``searching`` seconds more.

    Where ``searching`` is None, these are looked for until then as well.
    """

    until: Clock
    searching: float | None = None

    def search_clock(self) -> Clock:
        """Return the clock of the search, which begins now."""
        if self.searching is None:
            return self.until
        return replace(self.until, end=self.until.now() + self.searching)

    def share(self, share: float) -> TimeBudget:
        """Return the budget of something that may take so much of what is left of each part."""
        searching = None if self.searching is None else self.searching * share
        return TimeBudget(self.until.share(share), searching)

    def told_to(self, share: Share | None) -> TimeBudget:
        """Return this budget; whoever looks at its clocks tells ``share`` how much of all of it is used."""
        return replace(self, until=self.until.told_to(share, self.searching or 0.0))

    def without_search(self) -> TimeBudget:
        """Return the budget of who looks for no other tables."""
        return replace(self, searching=0.0)


def tables_clock(options: AuditOptions) -> Clock:
    """Return the clock of all that whole records of one tree prove, which begins now."""
    return clock(options.worlds_budget)


def proofs_clock(until: Clock) -> Clock:
    """Return how long proofs and tables are looked for, of the time for whole records."""
    return until.share(1 - GRADES_SHARE)


def grades_clock(options: AuditOptions) -> Clock:
    """Return the clock of running the learner again, where that is put off."""
    return clock(GRADES_SHARE * options.worlds_budget)


def adversary_seconds(options: AuditOptions, adversaries: int) -> float:
    """Return how long each of so many adversaries who know some columns is asked about whole records."""
    return ADVERSARIES_SHARE * options.worlds_budget / adversaries


def release_options(options: AuditOptions, releases: int) -> AuditOptions:
    """Return the options with the part of the time for tables that one of so many releases, and all, have."""
    return replace(options, worlds_budget=options.worlds_budget / (1 + releases))


def budget_of(options: AuditOptions) -> TimeBudget:
    """Return the work that an audit with these options may do for what all leaves prove together.

    It is counted and not timed, so that a report is the same on slow and fast machines. The limit of
    wall time holds too.
    """
    return TimeBudget(
        work_clock(options.time_limit or ESTIMATE_SECONDS, options.time_limit),
        options.worlds_budget if options.worlds else 0.0,
    )
