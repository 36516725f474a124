"""What stays the same while the estimate of one system is looked for: its leaves, its closed form, its deadline."""

from __future__ import annotations

import time

import numpy as np

from treewarden.audit.entropy.proved_shares import whole_records
from treewarden.audit.options import AuditOptions, RowStatement
from treewarden.audit.progress import Share
from treewarden.audit.system.system import System, closed_form, leaf_knowledge
from treewarden.ppdm_models.arrays import FloatArray

CASADI = "casadi"
"""The backend that needs nothing but its package, and stands for ``auto``."""


class EntropyProblem:
    """What stays the same while one system is solved: its closed form, the door, the processes, the deadline.

    Raises:
        SolverError: the wanted solver is not there.
    """

    def __init__(self, system: System, options: AuditOptions, share: Share | None = None) -> None:
        self.system, self.share = system, share
        self.door = _door(options.solver)
        self.jobs = options.jobs
        self.deadline = (
            np.inf if options.time_limit is None else time.monotonic() + options.time_limit
        )
        case = system.case
        self.knowledge = leaf_knowledge(system)
        self.whole = whole_records(system) if options.rows == RowStatement.INTEGER else None
        shares = np.zeros((len(case.tree.nodes), len(case.tree.classes)))
        for node, leaf in self.knowledge.items():
            shares[node] = closed_form(leaf)
        self.plain = shares.take(case.population.leaf, axis=0)
        self.closed = self.plain if self.whole is None else self._around(self.whole.shares)

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() >= self.deadline

    def _around(self, proved: FloatArray) -> FloatArray:
        """Return the closed form (P, m) where some profiles' shares are proved: a leaf's others share what is left."""
        values, counts = proved.copy(), self.system.case.population.counts
        for node, leaf in self.knowledge.items():
            inside = self.system.case.members.stops(node)
            rest = inside[np.isnan(proved[inside]).any(axis=1)]
            taken = np.setdiff1d(inside, rest)
            if len(rest):
                left = leaf.known - (proved[taken] * counts[taken, None]).sum(axis=0)
                values[rest] = np.maximum(left, 0.0) / counts[rest].sum()
        return values


def _door(name: str) -> str:
    """Return the backend that a name stands for; CasADi's comes with this package, another has to be there.

    Raises:
        SolverError: there is no such backend, or what it needs is not installed.
    """
    if name in ("auto", CASADI):
        return CASADI
    from treewarden.audit.ipopt.backends import check_door  # heavy: the backends

    return check_door(name)
