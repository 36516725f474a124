"""One tree of a LightGBM model file: arrays over its splits and over its leaves, children by signed number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ppdm_models import limits
from ppdm_models.formats._boosted_trees import LEAF, Columns, leaf_score, preorder
from ppdm_models.formats._lightgbm_lines import (
    Block,
    Document,
    finite_numbers,
    whole_numbers,
)
from ppdm_models.formats._lightgbm_model import Split, Tests
from ppdm_models.predicate import Always
from ppdm_models.tree import Tree

CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
"""The bits of a decision type; two more above tell how missing values are known."""

MISSING = ("None", "Zero", "NaN")
OF_SPLITS = (
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "internal_value",
    "internal_weight",
    "internal_count",
)
OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")


@dataclass(slots=True)
class Arrays:
    """The nodes of a tree, splits first and then leaves; ``splits`` has one entry per split."""

    lefts: list[int]
    rights: list[int]
    splits: list[Split]
    scores: list[float | None]
    records: list[float | None]
    is_linear: bool

    def name(self, node: int) -> str:
        """Return the name of a node."""
        inner = len(self.splits)
        return f"split {node}" if node < inner else f"leaf {node - inner}"


def arrays_of(document: Document, block: Block) -> Arrays:
    """Return the arrays of a tree.

    Raises:
        TreeFormatError: an array is absent or of another length, or holds something that cannot be.
    """
    leaves = _count(document, block)
    inner = leaves - 1
    values = finite_numbers(document, "leaf_value", block, leaves)
    if not inner:
        counts = _counts(document, "leaf_count", block, 1)
        return Arrays([LEAF], [LEAF], [], [values[0]], counts, False)
    lefts, rights = (
        _children(document, key, block, inner) for key in ("left_child", "right_child")
    )
    is_linear = document.said("is_linear", block.keys) == "1"
    linear = whole_numbers(document, "num_features", block, leaves) if is_linear else [0] * leaves
    inner_values: list[float | None] = [None] * inner
    if "internal_value" in block.keys:
        inner_values = [*finite_numbers(document, "internal_value", block, inner)]
    return Arrays(
        [*lefts, *[LEAF] * leaves],
        [*rights, *[LEAF] * leaves],
        _splits(document, block, inner),
        [
            *inner_values,
            *(None if width else value for width, value in zip(linear, values, strict=True)),
        ],
        [
            *_counts(document, "internal_count", block, inner),
            *_counts(document, "leaf_count", block, leaves),
        ],
        any(linear),
    )


def columns_of(arrays: Arrays, tests: Tests, where: str) -> tuple[Columns, bool]:
    """Return the nodes of a tree, and whether its leaves hold linear models.

    Raises:
        TreeFormatError: the nodes are no tree.
    """
    order = preorder(arrays.lefts, arrays.rights, where)
    position = {node: here for here, node in enumerate(order)}
    inner = len(arrays.splits)
    found = Columns(
        names=[arrays.name(node) for node in order],
        parents=[None] * len(order),
        tests=[Always()] * len(order),
        scores=[arrays.scores[node] for node in order],
        records=[arrays.records[node] for node in order],
        outputs=[None] * len(order),
    )
    for here, node in enumerate(order):
        if node >= inner:
            found.children.append(())
            found.defaults.append(None)
            continue
        left, right = position[arrays.lefts[node]], position[arrays.rights[node]]
        found.tests[left], found.tests[right], missing_left = tests.branches(arrays.splits[node])
        found.parents[left] = found.parents[right] = here
        found.children.append((left, right))
        found.defaults.append(left if missing_left else right)
    return found, arrays.is_linear


def changed_in(document: Document, block: Block, old: Tree, new: Tree) -> None:
    """Change the lines of a tree to those of the changed one.

    Withheld nodes get the count 0, and the weight 0, which is the count where second derivatives are 1.
    """
    _withhold(document, block, old, new)
    if len(new.nodes) < len(old.nodes):
        _prune(document, block, old, new)
    else:
        _rescore(document, block, old, new)


def _count(document: Document, block: Block) -> int:
    said = document.said("num_leaves", block.keys) or ""
    if not (said.isascii() and said.isdecimal() and len(said) < 9):
        raise document.refused(block.start, f"its num_leaves is {said[:40]!r}")
    if not 0 < int(said) <= limits.NODES // 2:
        raise document.refused(block.start, f"{int(said):,} leaves")
    return int(said)


def _counts(document: Document, key: str, block: Block, size: int) -> list[float | None]:
    """Return the counts behind a key; None where there are none, or one is 0 because it is withheld."""
    if not document.said(key, block.keys):
        return [None] * size
    found = whole_numbers(document, key, block, size)
    if any(not 0 <= count < 2**53 for count in found):
        raise document.refused(block.keys[key], f"{key} holds a number that is no count")
    return [float(count) or None for count in found]


def _children(document: Document, key: str, block: Block, inner: int) -> list[int]:
    """Return the children by node: a split by its number, a leaf behind all splits."""
    return [
        child if child >= 0 else inner + ~child
        for child in whole_numbers(document, key, block, inner)
    ]


def _splits(document: Document, block: Block, inner: int) -> list[Split]:
    features = whole_numbers(document, "split_feature", block, inner)
    thresholds = finite_numbers(document, "threshold", block, inner, may_be=math.inf)
    types = whole_numbers(document, "decision_type", block, inner)
    sets = _sets(document, block) if any(kind & CATEGORICAL for kind in types) else []
    found = []
    for feature, threshold, kind in zip(features, thresholds, types, strict=True):
        missing = kind >> MISSING_SHIFT
        if not 0 <= missing < len(MISSING):
            raise document.refused(block.keys["decision_type"], f"the decision type {kind}")
        codes = None
        if kind & CATEGORICAL:
            if not (threshold.is_integer() and 0 <= threshold < len(sets)):
                raise document.refused(block.keys["threshold"], f"{threshold} is none of its sets")
            codes = sets[int(threshold)]
        found.append(Split(feature, threshold, codes, bool(kind & DEFAULT_LEFT), MISSING[missing]))
    return found


def _sets(document: Document, block: Block) -> list[tuple[int, ...]]:
    """Return the categories of each set, which stands as the bits of some 32-bit words."""
    said = document.said("cat_boundaries", block.keys) or ""
    ends = whole_numbers(document, "cat_boundaries", block, len(said.split()))
    said = document.said("cat_threshold", block.keys) or ""
    words = whole_numbers(document, "cat_threshold", block, len(said.split()))
    rising = all(low < high for low, high in zip(ends, ends[1:], strict=False))
    if not ends or ends[0] != 0 or ends[-1] != len(words) or not rising:
        raise document.refused(block.start, "its cat_boundaries do not cut its cat_threshold")
    if any(not 0 <= word < 2**32 for word in words) or 32 * len(words) > limits.CLASS_NUMBERS:
        raise document.refused(block.keys["cat_threshold"], "is no list of 32-bit words")
    found = [
        tuple(
            32 * place + bit
            for place, word in enumerate(words[start:end])
            for bit in range(32)
            if word >> bit & 1
        )
        for start, end in zip(ends, ends[1:], strict=False)
    ]
    if not all(found):
        raise document.refused(block.keys["cat_threshold"], "a set of categories is empty")
    return found


def _parts(name: str) -> tuple[str, int]:
    kind, _, number = name.partition(" ")
    return kind, int(number)


def _edit(document: Document, block: Block, key: str, places: dict[int, str]) -> None:
    """Change some entries of an array, where the tree has it."""
    said = document.said(key, block.keys)
    if said and places:
        entries = said.split(" ")
        for place, value in places.items():
            entries[place] = value
        document.put(key, " ".join(entries), block.keys)


def _withhold(document: Document, block: Block, old: Tree, new: Tree) -> None:
    published = {node.name for node in old.nodes if node.records is not None}
    hidden = [
        _parts(node.name) for node in new.nodes if node.records is None and node.name in published
    ]
    for kind, prefix in (("split", "internal"), ("leaf", "leaf")):
        places = {number: "0" for what, number in hidden if what == kind}
        _edit(document, block, f"{prefix}_count", places)
        _edit(document, block, f"{prefix}_weight", places)


def _rescore(document: Document, block: Block, old: Tree, new: Tree) -> None:
    before = {node.name: node.score for node in old.nodes}
    places = {
        _parts(leaf.name)[1]: repr(leaf_score(new, leaf))
        for leaf in new.leaves
        if leaf.score != before[leaf.name]
    }
    _edit(document, block, "leaf_value", places)


def _prune(document: Document, block: Block, old: Tree, new: Tree) -> None:
    """Keep the splits and leaves of the changed tree, numbered anew in the old order."""
    if document.said("is_linear", block.keys) == "1":
        raise document.refused(block.start, "a tree of linear models is not pruned")
    before = {node.name: node for node in old.nodes}
    first = {
        node.index: min((n.name for n in old.below(node.index) if n.is_leaf), key=_parts)
        for node in old.nodes
    }
    splits = sorted(_parts(node.name)[1] for node in new.nodes if not node.is_leaf)
    leaves = sorted(new.leaves, key=lambda leaf: _parts(first[before[leaf.name].index])[1])
    number = {f"split {old_number}": here for here, old_number in enumerate(splits)}
    number |= {leaf.name: ~here for here, leaf in enumerate(leaves)}
    _keep_leaves(
        document,
        block,
        leaves_of=[(leaf.name, leaf_score(new, leaf), before[leaf.name].score) for leaf in leaves],
    )
    by_name = {node.name: node for node in new.nodes}
    for side, key in enumerate(("left_child", "right_child")):
        children = [
            str(number[new.nodes[by_name[f"split {split}"].children[side]].name])
            for split in splits
        ]
        document.put(key, " ".join(children), block.keys)
    for key in OF_SPLITS:
        if key in block.keys and key not in ("left_child", "right_child"):
            entries = (document.said(key, block.keys) or "").split(" ")
            kept = [entries[split] for split in splits] if len(entries) > 1 or entries[0] else []
            document.put(key, " ".join(kept), block.keys)
    document.put("num_leaves", str(len(leaves)), block.keys)


def _keep_leaves(
    document: Document, block: Block, leaves_of: list[tuple[str, float, object]]
) -> None:
    """Write the arrays of the leaves; one that was a split takes the split's count and weight."""
    for key in OF_LEAVES:
        if not document.said(key, block.keys):
            continue
        own = (document.said(key, block.keys) or "").split(" ")
        inner = (document.said(key.replace("leaf", "internal"), block.keys) or "").split(" ")
        kept = []
        for name, score, was in leaves_of:
            kind, place = _parts(name)
            if key == "leaf_value" and (kind == "split" or score != was):
                kept.append(repr(score))
            elif kind == "split":
                kept.append(inner[place] if len(inner) > place and inner[place] else "0")
            else:
                kept.append(own[place])
        document.put(key, " ".join(kept), block.keys)
