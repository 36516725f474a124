"""Inner nodes are mixed: no learner splits the records of a node that all have one class.

So says the shape of the tree alone. Of whole records only: one record of another class is enough, which the estimate
cannot tell from none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.adversary.knowledge import SplitLevel
from audit.constraints import Constraint
from audit.facts.case import Case
from audit.facts.inner_facts import inner_facts
from audit.facts.rows import Linear, Origin, WholeRecords


class InnerMixed(Constraint):
    """Yields per inner node and class that some record has another one, unless the classes' records are known."""

    def rows(self, case: Case) -> Iterator[WholeRecords]:
        if case.knowledge.split is SplitLevel.NONE:
            return
        for facts in inner_facts(case):
            inside = facts.inside
            if not len(inside) or all(mass is not None for mass in facts.masses):
                continue
            most = float(case.population.counts[inside].sum()) - 1.0
            said = f"{case.tree.where(facts.node)} was split, so that its records do not all have one class"
            origin = Origin("inner_mixed", said, facts.node.index)
            for klass in range(len(case.tree.classes)):
                classes = np.full(len(inside), klass, dtype=np.intp)
                row = Linear(inside, classes, np.ones(len(inside)), 0.0, most, origin)
                yield WholeRecords(row)


CONSTRAINT = InnerMixed()
