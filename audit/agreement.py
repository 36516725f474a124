"""Whether what a file says of its leaves is true of the table, whatever the adversary is assumed to make of it."""

from __future__ import annotations

from audit.constraints import Case
from audit.evidence import Evidence
from audit.knowledge import Knowledge, LeafLevel, SplitLevel
from audit.members import members
from audit.system import Dropped, build_system

PARTLY_USED = (LeafLevel.LABELS, LeafLevel.RATES)
"""The levels under which an audit's own rows leave out numbers that the file may publish."""


def disagreements(evidence: Evidence) -> tuple[Dropped, ...]:
    """Return the numbers of the file that the true table breaks and that the audit's own rows may have left out."""
    if evidence.knowledge.leaf not in PARTLY_USED or evidence.forest is not None:
        return ()
    tree, population = evidence.tree, evidence.population
    known = Knowledge(split=SplitLevel.NONE)
    system = build_system(Case(tree, population, members(tree, population.leaf), known))
    return tuple(each for each in system.dropped if each.is_published)
