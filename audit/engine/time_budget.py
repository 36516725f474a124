"""How the time of an audit is divided: for cheap proofs and the estimate, and for the search for other tables.

Every share of it stands here. Of one tree ``worlds_budget`` is for all that whole records prove: of what is left of it,
the proofs have the first part where something is left out (``PROOFS_SHARE``), tables for reports the last one
(``WITNESS_SHARE``), and running the learner on those what comes after (``GRADES_SHARE``). Of several trees it is for
the search, beside the estimate's own. Several releases share it alike, and one share is for all together; adversaries
who know some columns have a part of their own (``ADVERSARIES_SHARE``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Clock, clock

ESTIMATE_SECONDS = 120.0
"""What the estimate over many trees may take where no limit is set: it then is undetermined, never half done."""
OVER_TREES_SECONDS = 20.0
"""What the first trees tell is a picture for readers, and worked out as far as that suffices."""
PREFIX_SECONDS = 4.0
"""Of that, what each number of first trees may take."""
PROOFS_SHARE = 0.6
"""Of the budget where something may hold that is not known to; the rest is for tables that obey it."""
WITNESS_SHARE = 0.1
"""Of the budget; the last part is for the tables that a report shows."""
GRADES_SHARE = 0.1
"""Of the budget for whole records; the last part is for running the learner again on the tables that reports show."""
ADVERSARIES_SHARE = 0.25
"""Of the budget for whole records: what all adversaries who know some columns have together."""
ADDS_SHARE = 0.3
"""Of the time for each of both parts, so much is for what each release adds; the rest is for all of them together."""


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
    """Return the time that an audit with these options has for what all leaves prove together."""
    return TimeBudget(
        clock(options.time_limit or ESTIMATE_SECONDS),
        options.worlds_budget if options.worlds else 0.0,
    )
