"""How the time of an audit is divided: for cheap proofs and the estimate, and for the search for other tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from treewarden.audit.clock import Clock, clock
from treewarden.audit.options import AuditOptions

ESTIMATE_SECONDS = 120.0
"""What the estimate over many trees may take where no limit is set: it then is undetermined, never half done."""
OVER_TREES_SECONDS = 20.0
"""What the first trees tell is a picture for readers, and worked out as far as that suffices."""
PREFIX_SECONDS = 4.0
"""Of that, what each number of first trees may take."""
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


def budget_of(options: AuditOptions) -> TimeBudget:
    """Return the time that an audit with these options has for what all leaves prove together."""
    return TimeBudget(
        clock(options.time_limit or ESTIMATE_SECONDS),
        options.worlds_budget if options.worlds else 0.0,
    )
