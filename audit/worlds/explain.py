"""Says in words what a candidate split is, and what a proof rests on."""

from __future__ import annotations

from audit.rows import Grouping
from audit.worlds.facts import Facts
from audit.worlds.splits import Split

MOST_NAMES = 8


def candidate_text(split: Split, candidate: int) -> str:
    """Return a candidate as people write it: ``chol <= 245``, ``sex in {F}``, ``occupation``."""
    family, code = split.family, int(split.family.admissible[candidate])
    if family.grouping is Grouping.MULTIWAY:
        return family.attribute
    if family.grouping is Grouping.THRESHOLD:
        return f"{family.attribute} <= {family.bin_names[code]}"
    if family.grouping is Grouping.ONE_AGAINST_REST:
        return f"{family.attribute} = {family.bin_names[code]}"
    inside = [name for bin_, name in enumerate(family.bin_names) if code >> bin_ & 1]
    said = ", ".join(inside[:MOST_NAMES]) + (", ..." if len(inside) > MOST_NAMES else "")
    return f"{family.attribute} in {{{said}}}"


def would_have_split(facts: Facts, split: Split, candidate: int) -> str:
    """Return why a world cannot be: the learner would have taken another split."""
    name = facts.tree.nodes[split.node].name
    return f"node {name} would have split on {candidate_text(split, candidate)}"


def below(facts: Facts, node: int, candidates: list[str]) -> str:
    """Return what a proof over a whole subtree rests on."""
    name = facts.tree.nodes[node].name
    said = "; ".join(candidates[:4])
    more = f" and {len(candidates) - 4} more" if len(candidates) > 4 else ""
    if not said:
        return f"the counts of the leaves below node {name}"
    return f"taken together, the splits below node {name} leave no other table: {said}{more}"
