"""Says in words what a candidate split is, and what a proof rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treewarden.audit.facts.rows import Grouping, SplitFamily
from treewarden.audit.facts.split_families import MISSING
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.facts.splits import Split
from treewarden.ppdm_models.tree.column import number_text

MOST_NAMES = 8
MOST_SPLITS = 2
SPLIT = "would have split"


def candidate_text(split: Split, candidate: int, *, is_single: bool = False) -> str:
    """Return a candidate as people write it: ``chol <= 245``, ``sex in {F}``, ``occupation``.

    ``is_single`` shortens numbers that the learner read with 32 bits to what the table has.
    """
    family, code = split.family, int(split.family.admissible[candidate])
    if family.grouping is Grouping.MULTIWAY:
        return family.attribute
    if family.grouping is Grouping.THRESHOLD:
        return _threshold_text(family, code, is_single)
    if family.grouping is Grouping.ONE_AGAINST_REST:
        return f"{family.attribute} = {family.bin_names[code]}"
    inside = [name for bin_, name in enumerate(family.bin_names) if code >> bin_ & 1]
    said = ", ".join(inside[:MOST_NAMES]) + (", ..." if len(inside) > MOST_NAMES else "")
    return f"{family.attribute} in {{{said}}}"


def _threshold_text(family: SplitFamily, code: int, is_single: bool) -> str:
    first, last = family.bin_names[0] == MISSING, family.bin_names[-1] == MISSING
    name = family.bin_names[code]
    if first and code == 0 or last and code == len(family.bin_names) - 2:
        return f"{family.attribute} missing"
    value = number_text(float(str(np.float32(name)))) if is_single else name
    beside = " or missing" if first else ""
    return f"{family.attribute} <= {value}{beside}"


def _shortened(splits: Sequence[str]) -> Iterator[str]:
    """Yield splits in words, without the node where it is that of the one before."""
    before = ""
    for each in splits:
        node, _, test = each.partition(f" {SPLIT} ")
        yield test if node == before else each
        before = node


def would_have_split(facts: Facts, split: Split, candidate: int) -> str:
    """Return why a world cannot be: the learner would have taken another split."""
    name = facts.tree.nodes[split.node].name
    is_single = any(f.single and f.name == split.family.attribute for f in facts.tree.features)
    return f"node {name} {SPLIT} on {candidate_text(split, candidate, is_single=is_single)}"


def joined(facts: Facts, node: int, says: Sequence[str]) -> str:
    """Return what a proof over the worlds below a node rests on, the strongest row first.

    Every other table breaks one of the rows, so splits are joined by "or".
    """
    splits = [each for each in says if SPLIT in each]
    others = [each for each in says if SPLIT not in each]
    said = ", or ".join(_shortened(splits[:MOST_SPLITS]))
    if len(splits) > MOST_SPLITS:
        more = len(splits) - MOST_SPLITS
        said += f", or {'another split' if more == 1 else f'one of {more} other splits'} would have been taken"
    if others and said:
        said += f" (given also: {'; '.join(others[:MOST_SPLITS])})"
    if not said:
        name = facts.tree.nodes[node].name
        said = "; ".join(others[:MOST_SPLITS]) or f"the counts of the leaves below node {name}"
    return said
