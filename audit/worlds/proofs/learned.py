"""Which candidates tables broke before, by the node below which: their rows are there at once the next time.

They are named by numbers, so that what one process learned another can use. Rows that only come near what a candidate
says are good where they were met, and not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.facts.splits import Split
from treewarden.audit.worlds.proofs.linear import Rows
from treewarden.audit.worlds.proofs.rows import fact_rows

Ref = tuple[int, int, int]
"""A candidate: the node whose split was chosen, the number of its rows' split there, its own number among them."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """``lines`` are for linear programs, ``met`` for CP-SAT, by the node below which they were broken, in that order.

    ``plain`` holds the rows of the facts alone below a node, once they were asked for: the same whoever asks.
    """

    lines: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    met: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    plain: dict[int, Rows] = field(default_factory=dict)

    def rows_of_facts(self, facts: Facts, node: int) -> Rows:
        """Return the rows of the facts below a node, to be copied before any are added."""
        if node not in self.plain:
            span = facts.span(node)
            rows = Rows(facts.classes, span.start, facts.counts[span])
            rows.add(fact_rows(facts, node))
            self.plain[node] = rows
        return self.plain[node]


def split_at(facts: Facts, ref: Ref) -> tuple[Split, int]:
    """Return a candidate's split and its number."""
    node, number, candidate = ref
    return facts.splits[node][number], candidate
