"""Every class occurs: scikit-learn names the classes that it found in the table, and no others.

Of whole records only: one record of a class is enough, which the estimate cannot tell from none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.adversary.knowledge import SplitLevel
from audit.constraints import Constraint
from audit.facts.case import Case
from audit.facts.grower import grower
from audit.facts.leaf_facts import leaf_facts
from audit.facts.rows import Linear, Origin, WholeRecords
from ppdm_models.tree.tree import Tool


class ClassesOccur(Constraint):
    """Yields per class that some record has it, unless a leaf is known to hold one."""

    def rows(self, case: Case) -> Iterator[WholeRecords]:
        if case.knowledge.split is SplitLevel.NONE or grower(case).tool is not Tool.SCIKIT_LEARN:
            return
        seen = np.zeros(len(case.tree.classes), dtype=bool)
        for facts in leaf_facts(case):
            seen |= [mass is not None and mass > 0 for mass in facts.masses]
        everyone = np.arange(len(case.population.counts), dtype=np.intp)
        for klass in np.flatnonzero(~seen).tolist():
            said = f"some record has class {case.tree.classes[klass]!r}, as scikit-learn names it"
            classes = np.full(len(everyone), klass, dtype=np.intp)
            ones = np.ones(len(everyone))
            most = case.population.records
            row = Linear(everyone, classes, ones, 1.0, most, Origin("classes_occur", said))
            yield WholeRecords(row)


CONSTRAINT = ClassesOccur()
