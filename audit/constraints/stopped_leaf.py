"""Leaves that were not split: consequences of the settings at which training stopped.

A leaf that could be split is pure, unless ``min_impurity_decrease``, ``max_leaf_nodes`` or ``ccp_alpha`` explain it.
Where the class counts of all leaves are known, the first two say that no candidate gains more than a known amount.
So much of scikit-learn. Why rpart (``cp``) and Spark stopped at a leaf that is not pure is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.grower import is_known_learner
from treewarden.audit.facts.rows import Case, LeftOut, Row, WholeRecords


class StoppedLeaf(Constraint):
    """Yields that leaves are pure, or how much the best split of a leaf may gain; what is not modelled is left out.

    Where the true table shows that the settings do not tell why the tree stopped, as when it was pruned afterwards,
    leaves need not be pure, and what they gain is left out. The estimate uses that leaves are pure only where it uses
    how splits were chosen.
    """

    def rows(self, case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
        if not is_known_learner(case):
            return
        from treewarden.audit.facts.stopped_leaves import unsplit_leaf_rows  # heavy

        yield from unsplit_leaf_rows(case)


CONSTRAINT = StoppedLeaf()
