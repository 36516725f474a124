"""Published numbers that no row uses fully: an adversary who uses them may prove more."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.node_impurities import node_impurities, unused_kinds
from treewarden.audit.facts.rows import Case, LeftOut
from treewarden.audit.knowledge.levels import LeafLevel


class UnusedNumbers(Constraint):
    """Leaves them out, so that nobody is called possible otherwise who may not be; nothing at other levels."""

    def rows(self, case: Case) -> Iterator[LeftOut]:
        if case.knowledge.leaf is not LeafLevel.AS_PUBLISHED:
            return
        for kind in unused_kinds(case):
            yield LeftOut(0, "", f"{kind}, which {case.tree.source} publishes", is_open=True)
        for node_impurity in node_impurities(case):
            if not node_impurity.is_exhausted:
                why = f"more than the ends of what an impurity in {case.tree.source} allows"
                yield LeftOut(node_impurity.node.index, "", why, is_open=True)


CONSTRAINT = UnusedNumbers()
