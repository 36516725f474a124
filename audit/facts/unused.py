"""What a file prints at its nodes and an audit does not use: a pass holds only for who does not use it either."""

from __future__ import annotations

from treewarden.audit.adversary.knowledge import LeafLevel
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.node_impurities import uses_impurities


def unused_kinds(case: Case) -> tuple[str, ...]:
    """Return the kinds of published numbers that no row uses, in words; empty: none is left.

    They can exclude tables that the rows allow. What a level of knowledge leaves out is said by ``understated``.
    """
    found = list(case.tree.unused)
    if case.knowledge.leaf is LeafLevel.AS_PUBLISHED:
        printed = sum(node.impurity is not None for node in case.tree.nodes)
        if printed and not uses_impurities(case):
            found.append("the impurities of its nodes, which are of weights")
    return tuple(found)


def unused_warnings(case: Case) -> tuple[str, ...]:
    """Return what to say of them at levels below as published; there they are left out of what is proved, and said."""
    found = unused_kinds(case)
    if not found or case.knowledge.leaf is LeafLevel.AS_PUBLISHED:
        return ()
    source = case.tree.source
    return (
        f"{source} also publishes {' and '.join(found)}; the audit does not use that, so a pass holds only for an "
        "adversary who does not use it either",
    )
