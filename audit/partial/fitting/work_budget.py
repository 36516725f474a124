"""How much work may be put into an estimate: counted, so that the same input gives the same answer on any machine."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.audit.ipopt.backends import check_door
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.fitting.flows import WORK
from treewarden.audit.progress import FOREVER, Clock, clock


@dataclass(frozen=True, slots=True)
class AdversaryBudget:
    """What may be spent on one adversary.

    ``enforcing`` is so many operations on numbers for each estimate into which the choice of splits is put, some
    minutes; ``flows`` so many arcs that are looked at for how many people have each value, and whether tables are
    shown.
    """

    enforcing: float = 2e11
    flows: int = WORK


FULL = AdversaryBudget()


@dataclass(slots=True)
class Allowance:
    """So many operations on numbers are left to spend, ``until`` a time limit, where one was set.

    ``door`` is that to IPOPT, where it is asked.
    """

    left: float
    until: Clock = FOREVER
    door: str = "casadi"

    def spend(self, operations: float) -> bool:
        """Take away what something costs; return whether there was so much, and is time."""
        self.left -= operations
        return self.left >= 0 and not self.until.is_over


def allowed(options: AuditOptions, operations: float) -> Allowance:
    """Return an allowance that ends with the audit's time limit too, where it has one.

    Raises:
        SolverError: the wanted solver is not there.
    """
    until = FOREVER if options.time_limit is None else clock(options.time_limit)
    return Allowance(operations, until, check_door(options.solver))
