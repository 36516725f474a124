"""What R's ``summary()`` prints of an rpart tree: counts of each class at every node, and surrogate splits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import (
    NUMBERS_SPREAD,
    lines_of,
    named_classes,
)
from treewarden.ppdm_models.formats.rare._rpart_object import (
    OTHER_SPLITS,
    SummaryBlock,
    SummaryBranches,
    blocks_of,
)
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.predicate import Never, Predicate, Surrogate
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Learner,
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
)

MARK = b"\nNode number 1: "
MOST_NAMED = 12
NAMING = (
    "summary() does not name the levels of factors; write in R what print() shows, which does: "
    'writeLines(capture.output(print(model, digits = 15)), "model.txt")'
)
PATHS = b"\n node number: "
ROUNDED = 6e-4
"""How far a printed share may be from that of the counts: three digits are printed."""

PRIORS = "rpart chose them under priors or losses"


class RpartSummary(Format):
    """One tree; its thresholds are rounded, and the levels of its factors have numbers and no names."""

    how_to_export = "print the summary again in R"

    def sniff(self, data: bytes) -> bool:
        if b"node), split, n, " in data:
            return False
        return MARK in b"\n" + data or PATHS in b"\n" + data

    def open(self, data: bytes, source: str) -> Opened:
        return Opened(_read(data, source))


def _read(data: bytes, source: str) -> Tree:
    if MARK not in b"\n" + data:
        raise TreeFormatError(
            source,
            "it contains no tree, only the paths to leaves without labels and counts; give the output "
            "of print()",
        )
    blocks = blocks_of(lines_of(data, source), source)
    is_class = _is_class(blocks, source)
    classes, notes = _classes(blocks, source) if is_class else ((), [])
    _check_levels(blocks, source)
    stays = any(_stays(block) for block in blocks.values())
    nodes = grown(1, lambda number: _draft(number, blocks, stays, source), source)
    if len(nodes) < len(blocks):
        raise TreeFormatError(source, "a node has no parent")
    are_named = not notes  # whose counts they are
    notes_losses = bool(notes)
    nodes = tuple(
        _node_of_block(node, blocks[int(node.name)], classes, are_named) for node in nodes
    )
    splits = [way for block in blocks.values() for way in (*block.primary, *block.surrogate)]
    names = list(dict.fromkeys(way.feature for way in splits))
    if any(way.levels for way in splits):
        factors = dict.fromkeys(repr(way.feature) for way in splits if way.levels)
        which = ", ".join(list(factors)[:MOST_NAMED])
        notes.append(
            f"levels of the factors {which} are not named, so they are numbered in their order"
        )
    ties = any(len({records for _, records in block.sons}) == 1 for block in blocks.values())
    tree = Tree(
        nodes=nodes,
        features=tuple(
            replace(feature, naming="" if feature.numeric else NAMING)
            for feature in features_named(names, nodes, source, values=_values(splits))
        ),
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if is_class else Task.REGRESSION,
        learner=Learner(tool=Tool.RPART),
        quality=_quality(blocks),
        missing=Missing.LAST_PREDICTION if stays else Missing.DEFAULT_CHILD,
        no_true_child=NoTrueChild.LAST_PREDICTION if ties else NoTrueChild.NULL_PREDICTION,
        source=source,
        notes=(
            f"{source}: thresholds are rounded in the text, so the regions are approximate",
            *(f"{source}: {note}" for note in notes),
        ),
        unused=_unused(blocks) if is_class else NUMBERS_SPREAD,
        label_reason=PRIORS if notes_losses or any(node.class_shares for node in nodes) else "",
    )
    return checked(tree)


def _unused(blocks: Mapping[int, SummaryBlock]) -> tuple[str, ...]:
    return (OTHER_SPLITS,) if any(len(block.primary) > 1 for block in blocks.values()) else ()


def _is_class(blocks: Mapping[int, SummaryBlock], source: str) -> bool:
    """Return whether classes are predicted; every node must say the same."""
    if 1 not in blocks:
        raise TreeFormatError(source, "node 1 is missing")
    kinds = {(block.label is None, block.value is None) for block in blocks.values()}
    if kinds not in ({(False, True)}, {(True, False)}):
        raise TreeFormatError(source, "its nodes must all predict classes or all predict numbers")
    return kinds == {(False, True)}


def _classes(blocks: Mapping[int, SummaryBlock], source: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the classes, in the order of their counts where the labels tell whose they are."""
    widths = {len(block.counts) for block in blocks.values()} | {
        len(block.shares) for block in blocks.values() if block.shares
    }
    if len(widths) != 1 or 0 in widths:
        raise TreeFormatError(source, "its nodes have different numbers of classes")
    seen = [(block.shares or block.counts, block.label or "") for block in blocks.values()]
    names = named_classes(widths.pop(), seen)
    if names is not None:
        return unique(names, "classes", source, limits.CLASSES), []
    labels = dict.fromkeys(block.label or "" for block in blocks.values())
    note = "labels do not follow the largest share (a loss matrix), so it is unknown which classes the counts belong to"
    return unique(labels, "classes", source, limits.CLASSES), [note]


def _check_levels(blocks: Mapping[int, SummaryBlock], source: str) -> None:
    known: dict[str, int] = {}
    for block in blocks.values():
        for way in (*block.primary, *block.surrogate):
            if known.setdefault(way.feature, way.levels) != way.levels:
                raise TreeFormatError(
                    block.where, f"{way.feature[:60]!r} has levels that differ from those above"
                )


def _values(splits: Sequence[SummaryBranches]) -> dict[str, tuple[str, ...]]:
    return {
        way.feature: tuple(str(level) for level in range(1, way.levels + 1))
        for way in splits
        if way.levels
    }


def _stays(block: SummaryBlock) -> bool:
    """Whether records stop at a node, for want of a value: so rpart does with usesurrogate below 2."""
    return bool(block.sons) and sum(records for _, records in block.sons) < block.records


def _draft(number: int, blocks: Mapping[int, SummaryBlock], stays: bool, source: str) -> Draft:
    block = blocks.get(number)
    if block is None:
        raise TreeFormatError(
            source, f'node {number} is named as a child ("son"), but has no section of its own'
        )
    if not block.sons:
        if block.primary:
            raise TreeFormatError(block.where, "a leaf has splits")
        return Draft(str(number), records=block.records, line=block.line)
    if not block.primary:
        raise TreeFormatError(block.where, "the node has children, but no split")
    if [son for son, _ in block.sons] != [2 * number, 2 * number + 1]:
        raise TreeFormatError(
            block.where,
            f'the children ("sons") must be the nodes {2 * number} and {2 * number + 1}',
        )
    for son, records in block.sons:
        if son in blocks and blocks[son].records != records:
            raise TreeFormatError(
                block.where,
                f"the numbers of records of the children of node {son} contradict the parent",
            )
    return Draft(str(number), _branches(block, stays), records=block.records, line=block.line)


def _branches(block: SummaryBlock, stays: bool) -> tuple[Branch, Branch]:
    """Return the split with its surrogates; what they do not decide goes with the majority (rpart's default)."""
    ways = [block.primary[0], *block.surrogate]
    sides: list[tuple[Predicate, ...]] = [
        tuple(way.left for way in ways),
        tuple(way.right for way in ways),
    ]
    (left, in_left), (right, in_right) = block.sons
    if not stays and in_left == in_right:  # then rpart goes with neither
        sides = [(*side, Never()) for side in sides]
    tests = [Surrogate(side) if len(side) > 1 else side[0] for side in sides]
    return (
        Branch(left, tests[0], not stays and in_left > in_right),
        Branch(right, tests[1], not stays and in_left < in_right),
    )


def _node_of_block(
    node: Node, block: SummaryBlock, classes: tuple[str, ...], are_named: bool
) -> Node:
    if not classes:
        return replace(node, score=block.value)
    if not are_named or block.label not in classes:
        return replace(node, score=block.label)
    total = math.fsum(block.counts)
    expected = [count / total if total else 0.0 for count in block.counts]
    differ = block.shares and any(
        abs(share - of_counts) > ROUNDED
        for share, of_counts in zip(block.shares, expected, strict=True)
    )
    scale = math.fsum(block.shares) or 1.0
    shares = tuple(share / scale for share in block.shares) if differ else None
    return replace(node, score=block.label, class_counts=block.counts, class_shares=shares)


def _quality(blocks: Mapping[int, SummaryBlock]) -> Quality:
    """Return whether the counts are people: with weights those of the classes are not the observations."""
    weighed = any(
        block.counts
        and not (
            all(map(is_whole, block.counts)) and abs(math.fsum(block.counts) - block.records) < 0.5
        )
        for block in blocks.values()
    )
    return Quality.WEIGHTED if weighed else Quality.EXACT


FORMAT = RpartSummary()
