"""One tree of a LightGBM model file: arrays over its splits and over its leaves, children by signed number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.boosted import (
    LEAF,
    BoostedColumns,
    BoostedSplits,
    TreeShape,
    leaf_score,
    shape_of,
)
from treewarden.ppdm_models.formats.lightgbm._lines import (
    LightgbmLines,
    TreeLines,
    finite_numbers,
    whole_numbers,
)
from treewarden.ppdm_models.formats.lightgbm._model import MISSING, LightgbmSplits
from treewarden.ppdm_models.tree.nodes import Numbers, Wholes
from treewarden.ppdm_models.tree.tree import Tree

CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
"""The bits of a decision type; two more above tell how missing values are known."""

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
BESIDE = (
    "split_gain",
    "internal_value",
    "internal_weight",
    "internal_count",
    "leaf_weight",
    "leaf_count",
)
"""What nodes say that no prediction needs; the library reads files without."""
OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")


@dataclass(frozen=True, slots=True)
class LightgbmNodes:
    """The nodes of a tree, splits first and then leaves; the columns about splits have one entry per split.

    ``codes`` are the sets of categories, by split; ``linear`` says which leaves hold linear models.
    """

    lefts: Wholes
    rights: Wholes
    features: Wholes
    thresholds: Numbers
    types: Wholes
    codes: Mapping[int, tuple[int, ...]]
    scores: Numbers
    records: Numbers
    is_linear: bool


def arrays_of(document: LightgbmLines, block: TreeLines) -> LightgbmNodes:
    """Return the arrays of a tree.

    Raises:
        TreeFormatError: an array is absent or of another length, or holds something that cannot be.
    """
    leaves = _count(document, block)
    inner = leaves - 1
    values = finite_numbers(document, "leaf_value", block, leaves)
    counts = _counts(document, "leaf_count", block, leaves)
    ends = np.full(leaves, LEAF, dtype=np.int64)
    if not inner:
        none = np.zeros(0, dtype=np.int64)
        return LightgbmNodes(
            lefts=ends,
            rights=ends,
            features=none,
            thresholds=np.zeros(0),
            types=none,
            codes={},
            scores=values,
            records=counts,
            is_linear=False,
        )
    lefts, rights = (
        _children(document, key, block, inner) for key in ("left_child", "right_child")
    )
    is_linear = document.value_of("is_linear", block.keys) == "1"
    linear = whole_numbers(document, "num_features", block, leaves) if is_linear else ends == 0
    inner_values = np.full(inner, np.nan)
    if "internal_value" in block.keys:
        inner_values = finite_numbers(document, "internal_value", block, inner)
    types = _types(document, block, inner)
    thresholds = finite_numbers(document, "threshold", block, inner, may_be=math.inf)
    return LightgbmNodes(
        lefts=np.concatenate((lefts, ends)),
        rights=np.concatenate((rights, ends)),
        features=whole_numbers(document, "split_feature", block, inner),
        thresholds=thresholds,
        types=types,
        codes=_codes(document, block, types, thresholds),
        scores=np.concatenate((inner_values, np.where(linear != 0, np.nan, values))),
        records=np.concatenate((_counts(document, "internal_count", block, inner), counts)),
        is_linear=bool(linear.any()),
    )


def shape_and_splits(
    tree_nodes: Sequence[LightgbmNodes], where: Callable[[int], str]
) -> tuple[TreeShape, LightgbmSplits]:
    """Return the order of the nodes of all trees, and what they ask.

    Raises:
        TreeFormatError: the nodes of one are no tree.
    """
    starts = np.concatenate(
        ([0], np.cumsum([len(lightgbm_nodes.lefts) for lightgbm_nodes in tree_nodes]))
    )
    shape = shape_of(
        np.concatenate([lightgbm_nodes.lefts for lightgbm_nodes in tree_nodes]),
        np.concatenate([lightgbm_nodes.rights for lightgbm_nodes in tree_nodes]),
        starts,
        where,
    )
    sizes = [len(lightgbm_nodes.features) for lightgbm_nodes in tree_nodes]
    firsts = np.concatenate(([0], np.cumsum(sizes)))
    types = np.concatenate([lightgbm_nodes.types for lightgbm_nodes in tree_nodes])
    return shape, LightgbmSplits(
        rows=np.arange(firsts[-1]) + np.repeat(starts[:-1] - firsts[:-1], sizes),
        features=np.concatenate([lightgbm_nodes.features for lightgbm_nodes in tree_nodes]),
        thresholds=np.concatenate([lightgbm_nodes.thresholds for lightgbm_nodes in tree_nodes]),
        default_left=(types & DEFAULT_LEFT) != 0,
        missing=types >> MISSING_SHIFT,
        codes={
            first + split: codes
            for first, lightgbm_nodes in zip(firsts.tolist(), tree_nodes, strict=False)
            for split, codes in lightgbm_nodes.codes.items()
        },
    )


def forest_of(
    tree_nodes: Sequence[LightgbmNodes],
    shape: TreeShape,
    splits: BoostedSplits,
    lines: Sequence[int],
) -> BoostedColumns:
    """Return the nodes of all trees, each on the line where the block of its tree begins."""
    inner = np.repeat(
        [len(lightgbm_nodes.features) for lightgbm_nodes in tree_nodes], np.diff(shape.starts)
    ).tolist()
    return BoostedColumns(
        shape,
        [
            f"split {node}" if node < splits else f"leaf {node - splits}"
            for node, splits in zip(shape.numbers.tolist(), inner, strict=True)
        ],
        splits,
        scores=np.concatenate([lightgbm_nodes.scores for lightgbm_nodes in tree_nodes])[shape.rows],
        records=np.concatenate([lightgbm_nodes.records for lightgbm_nodes in tree_nodes])[
            shape.rows
        ],
        lines=lines,
    )


def changed_in(document: LightgbmLines, block: TreeLines, old: Tree, new: Tree) -> None:
    """Change the lines of a tree to those of the changed one.

    Withheld nodes get the count 0, and the weight 0, which is the count where second derivatives are 1.
    """
    _withhold(document, block, old, new)
    if len(new.nodes) < len(old.nodes):
        _prune(document, block, old, new)
    else:
        _rescore(document, block, old, new)


def is_bare(old: Tree, new: Tree) -> bool:
    """Return whether inner nodes of a tree had numbers, and have none any more, and no node tells its records."""
    inner = [node for node in new.nodes if not node.is_leaf]
    if any(node.score is not None for node in inner) or any(
        node.records is not None for node in new.nodes
    ):
        return False
    kept = {node.name for node in inner}
    return any(not n.is_leaf and n.name in kept and n.score is not None for n in old.nodes)


def _count(document: LightgbmLines, block: TreeLines) -> int:
    said = document.value_of("num_leaves", block.keys) or ""
    if not (said.isascii() and said.isdecimal() and len(said) < 9):
        raise document.refused(block.start, f"its num_leaves is {said[:40]!r}, which is not valid")
    if not 0 < int(said) <= limits.NODES // 2:
        raise document.refused(
            block.start, f"num_leaves is {int(said):,}, but must be from 1 to {limits.NODES // 2:,}"
        )
    return int(said)


def _counts(document: LightgbmLines, key: str, block: TreeLines, size: int) -> Numbers:
    """Return the counts behind a key; NaN where there are none, or one is 0 because it is withheld."""
    if not document.value_of(key, block.keys):
        return np.full(size, np.nan)
    found = whole_numbers(document, key, block, size)
    if not ((found >= 0) & (found < 2**53)).all():
        raise document.refused(block.keys[key], f"{key} contains a number that is not a count")
    return np.where(found == 0, np.nan, found)


def _children(document: LightgbmLines, key: str, block: TreeLines, inner: int) -> Wholes:
    """Return the children by node: a split by its number, a leaf behind all splits."""
    found = whole_numbers(document, key, block, inner)
    return np.where(found >= 0, found, inner + ~found)


def _types(document: LightgbmLines, block: TreeLines, inner: int) -> Wholes:
    """Return the decision types."""
    types = whole_numbers(document, "decision_type", block, inner)
    missing = types >> MISSING_SHIFT
    odd = types[(missing < 0) | (missing >= len(MISSING))]
    if len(odd):
        raise document.refused(
            block.keys["decision_type"], f"the decision type {odd[0]} is unknown"
        )
    return types


def _codes(
    document: LightgbmLines, block: TreeLines, types: Wholes, thresholds: Numbers
) -> dict[int, tuple[int, ...]]:
    """Return the categories that each split on a set lists."""
    listed = np.flatnonzero(types & CATEGORICAL).tolist()
    sets = _sets(document, block) if listed else []
    found = {}
    for split in listed:
        place = float(thresholds[split])
        if not (place.is_integer() and 0 <= place < len(sets)):
            raise document.refused(
                block.keys["threshold"], f"{place} is not the number of one of its sets"
            )
        found[split] = sets[int(place)]
    return found


def _sets(document: LightgbmLines, block: TreeLines) -> list[tuple[int, ...]]:
    """Return the categories of each set, which stands as the bits of some 32-bit words."""
    said = document.value_of("cat_boundaries", block.keys) or ""
    ends = whole_numbers(document, "cat_boundaries", block, len(said.split())).tolist()
    said = document.value_of("cat_threshold", block.keys) or ""
    words = whole_numbers(document, "cat_threshold", block, len(said.split())).tolist()
    rising = all(low < high for low, high in zip(ends, ends[1:], strict=False))
    if not ends or ends[0] != 0 or ends[-1] != len(words) or not rising:
        raise document.refused(
            block.start, "cat_boundaries must rise from 0 to the number of values in cat_threshold"
        )
    if any(not 0 <= word < 2**32 for word in words) or 32 * len(words) > limits.CLASS_NUMBERS:
        raise document.refused(block.keys["cat_threshold"], "is not a list of 32-bit words")
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


def _edit(document: LightgbmLines, block: TreeLines, key: str, places: dict[int, str]) -> None:
    """Change some entries of an array, where the tree has it."""
    said = document.value_of(key, block.keys)
    if said and places:
        entries = said.split(" ")
        for place, value in places.items():
            entries[place] = value
        document.put(key, " ".join(entries), block.keys)


def _withhold(document: LightgbmLines, block: TreeLines, old: Tree, new: Tree) -> None:
    published = {node.name for node in old.nodes if node.records is not None}
    hidden = [
        _parts(node.name) for node in new.nodes if node.records is None and node.name in published
    ]
    for kind, prefix in (("split", "internal"), ("leaf", "leaf")):
        places = {number: "0" for what, number in hidden if what == kind}
        _edit(document, block, f"{prefix}_count", places)
        _edit(document, block, f"{prefix}_weight", places)


def _rescore(document: LightgbmLines, block: TreeLines, old: Tree, new: Tree) -> None:
    before = {node.name: node.score for node in old.nodes}
    places = {
        _parts(leaf.name)[1]: repr(leaf_score(new, leaf))
        for leaf in new.leaves
        if leaf.score != before[leaf.name]
    }
    _edit(document, block, "leaf_value", places)


def _prune(document: LightgbmLines, block: TreeLines, old: Tree, new: Tree) -> None:
    """Keep the splits and leaves of the changed tree, numbered anew in the old order."""
    if document.value_of("is_linear", block.keys) == "1":
        raise document.refused(
            block.start, "a tree of linear models cannot be pruned; train the model again"
        )
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
            entries = (document.value_of(key, block.keys) or "").split(" ")
            kept = [entries[split] for split in splits] if len(entries) > 1 or entries[0] else []
            document.put(key, " ".join(kept), block.keys)
    _keep_sets(document, block)
    document.put("num_leaves", str(len(leaves)), block.keys)


def _keep_sets(document: LightgbmLines, block: TreeLines) -> None:
    """Leave out the categories of splits that are gone, and number the sets of the others anew."""
    if "cat_threshold" not in block.keys:
        return
    types = (document.value_of("decision_type", block.keys) or "").split()
    asked = [split for split, kind in enumerate(types) if int(kind) & CATEGORICAL]
    ends = list(map(int, (document.value_of("cat_boundaries", block.keys) or "").split()))
    words = (document.value_of("cat_threshold", block.keys) or "").split()
    thresholds = (document.value_of("threshold", block.keys) or "").split()
    sets = []
    for number, split in enumerate(asked):
        place = int(float(thresholds[split]))
        sets.append(words[ends[place] : ends[place + 1]])
        thresholds[split] = str(number)
    cuts = [0, *accumulate(map(len, sets))] if sets else []
    document.put("threshold", " ".join(thresholds), block.keys)
    document.put("cat_boundaries", " ".join(map(str, cuts)), block.keys)
    document.put("cat_threshold", " ".join(word for each in sets for word in each), block.keys)
    document.put("num_cat", str(len(sets)), block.keys)


def _keep_leaves(
    document: LightgbmLines, block: TreeLines, leaves_of: list[tuple[str, float, object]]
) -> None:
    """Write the arrays of the leaves; one that was a split takes the split's count and weight."""
    for key in OF_LEAVES:
        if not document.value_of(key, block.keys):
            continue
        own = (document.value_of(key, block.keys) or "").split(" ")
        inner = (document.value_of(key.replace("leaf", "internal"), block.keys) or "").split(" ")
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
