"""The plain text of additive trees that the Elasticsearch learning-to-rank plug-in is tested with.

A tree begins with ``- tree:weight``; a line ``- split:feature:threshold:left:right:missing`` is followed by what stands
on the right, then by what stands on the left; ``- output:number`` is a leaf. How far a line is moved in means nothing.
A record goes left where its value is less than the threshold, both in 32 bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    bounded,
    compared,
    grown,
    simplest,
)
from treewarden.ppdm_models.formats.rare._ranking import single_number, summed
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Node

TREE = re.compile(r"- tree:(\S{1,40})")
SPLIT = re.compile(r" *- split:(.{1,200}):([^:\s]{1,40}):(\d{1,9}):(\d{1,9}):(\d{1,9})")
OLD_SPLIT = re.compile(r" *- split:([^:]{1,200}):([^:\s]{1,40})")
OUTPUT = re.compile(r" *- output:(\S{1,40})")


@dataclass(slots=True)
class LtrNode:
    """One node: where it stands, its draft and test; ``below`` are its right side and its left one."""

    where: str
    draft: Draft
    test: tuple[str, float, bool] | None = None
    below: list[int] | None = None


class LtrText(Format):
    """Reads the weighted sum of such trees; comments begin with #."""

    def sniff(self, data: bytes) -> bool:
        lines = [line for line in data[:8192].split(b"\n") if line[:1] not in (b"#", b"")]
        return bool(lines) and re.match(rb"- tree:[-+.\d]", lines[0]) is not None

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Model:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TreeFormatError(source, "this is not UTF-8 text") from error
    weights: list[float] = []
    groups: list[list[LtrNode]] = []
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{source}:{number}"
        line = line.rstrip()
        if not line or line.startswith("#"):
            continue
        found = TREE.fullmatch(line)
        if found is not None:
            weights.append(single_number(found[1], where, "the weight"))
            groups.append([])
        elif not groups:
            raise TreeFormatError(where, "a node comes before the first tree")
        else:
            groups[-1].append(_line(line, where))
        if len(groups) > limits.TREES:
            raise TreeFormatError(
                where,
                f"more than {limits.TREES:,} trees, which is the limit; train a "
                "model with fewer trees",
            )
    forest = bounded((_nodes(group, source) for group in groups), source)
    return simplest(summed(forest, weights, source, single=True))


def _line(line: str, where: str) -> LtrNode:
    leaf = OUTPUT.fullmatch(line)
    if leaf is not None:
        score = single_number(leaf[1], where, "the output")
        return LtrNode(where, Draft("", score=score))
    split = SPLIT.fullmatch(line) or OLD_SPLIT.fullmatch(line)
    if split is None:
        raise TreeFormatError(where, f"{line.strip()[:80]!r} is neither a split nor an output")
    numbers = split.groups()[2:]
    missing_left = False
    if numbers:
        if numbers[2] not in numbers[:2] or numbers[0] == numbers[1]:
            raise TreeFormatError(where, "the direction of missing values is not given")
        missing_left = numbers[2] == numbers[0]
    test = split[1], single_number(split[2], where, "the threshold"), missing_left
    return LtrNode(where, Draft(""), test, [])


def _nodes(lines: Sequence[LtrNode], source: str) -> tuple[Node, ...]:
    """Return the nodes of a tree, the left side of each first."""
    open_splits: list[int] = []
    for place, line in enumerate(lines):
        if place and not open_splits:
            raise TreeFormatError(line.where, "this line follows the end of the tree")
        if open_splits:
            below = lines[open_splits[-1]].below
            assert below is not None
            below.append(place)
        if line.below is not None:
            open_splits.append(place)
            if len(open_splits) > limits.DEPTH:
                raise TreeFormatError(
                    line.where,
                    f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                    "train shallower trees",
                )
        while open_splits and len(lines[open_splits[-1]].below or ()) == 2:
            open_splits.pop()
    if not lines or open_splits:
        raise TreeFormatError(source, "a tree is incomplete")

    def draft_of(place: int) -> Draft:
        line = lines[place]
        draft = replace(line.draft, name=f"n{place}")
        if line.test is None or line.below is None:
            return draft
        name, threshold, missing_left = line.test
        below, above = compared(name, "<", threshold)
        right, left = line.below
        branches = (Branch(left, below, missing_left), Branch(right, above, not missing_left))
        return replace(draft, branches=branches)

    return grown(0, draft_of, source)


FORMAT = LtrText()
