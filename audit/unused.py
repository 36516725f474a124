"""What a file prints at its nodes and an audit does not use: a pass holds only for who does not use it either."""

from __future__ import annotations

from audit.constraints import Case
from audit.knowledge import LeafLevel
from audit.node_impurities import node_impurities, uses_impurities


def unused(case: Case) -> tuple[str, ...]:
    """Return the kinds of published numbers that no row uses, or uses only in part, in words; empty: none is left.

    They can exclude tables that the rows allow. What a level of knowledge leaves out is said by ``understated``.
    """
    found = list(case.tree.unused)
    if case.knowledge.leaf is LeafLevel.AS_PUBLISHED:
        printed = sum(node.impurity is not None for node in case.tree.nodes)
        if printed and not uses_impurities(case):
            found.append("the impurities of its nodes, which are of weights")
        partly = sum(not each.is_exhausted for each in node_impurities(case))
        if partly:
            found.append(
                f"the impurities of {partly} of its nodes, of which only the ends are used"
            )
    return tuple(found)


def unused_warnings(case: Case) -> tuple[str, ...]:
    """Return what to say about them; nothing where none is left."""
    found = unused(case)
    if not found:
        return ()
    source = case.tree.source
    return (
        f"{source} also publishes {' and '.join(found)}; the audit does not use that, so a pass holds only for an "
        "adversary who does not use it either",
    )
