"""The two shapes of CatBoost's trees: one question per level (symmetric), or nested nodes."""

from __future__ import annotations

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.catboost.splits import Splits
from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, grown, summed
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.tree import Node


def symmetric(part: Part, splits: Splits) -> tuple[Node, ...]:
    """Return the nodes of a symmetric tree: the first split at the root, as it was grown.

    Leaf number ``sum(2**i for each split i that answers yes)``; its values stand together, one per output.

    Raises:
        TreeFormatError: the numbers of splits, values and weights do not fit each other.
    """
    levels = [splits.branches(split, None, None) for split in part.get("splits") or ()]
    if 2 ** (min(len(levels), 40) + 1) - 1 > limits.NODES:
        raise part.refused(f"{len(levels)} splits make more than {limits.NODES:,} nodes")
    size = 2 ** len(levels)
    values = part["leaf_values"].numbers()
    weights = _weights(part)
    if not values or len(values) % size or (weights is not None and len(weights) != size):
        raise part.refused(f"the values or weights are not one per leaf of {len(levels)} splits")
    width = len(values) // size

    def draft_of(handle: tuple[int, int]) -> Draft:
        depth, leaf = handle
        if depth < len(levels):
            no, yes = levels[depth]
            ways = (
                Branch((depth + 1, leaf), no.test, no.takes_missing),
                Branch((depth + 1, leaf + 2**depth), yes.test, yes.takes_missing),
            )
            return Draft(name=f"level {depth}, from leaf {leaf}", branches=ways)
        records = None if weights is None else weights[leaf]
        return _leaf(f"leaf {leaf}", values[leaf * width : (leaf + 1) * width], records)

    return summed(grown((0, 0), draft_of, part.where))


def nested(part: Part, splits: Splits) -> tuple[Node, ...]:
    """Return the nodes of a tree whose splits hold their ``left`` (no) and ``right`` (yes) side.

    Raises:
        TreeFormatError: a node is neither a split nor a leaf, or nests too deep.
    """

    def draft_of(node: Part) -> Draft:
        split = node.get("split")
        if split is not None:
            return Draft(
                name=node.pointer, branches=splits.branches(split, node["left"], node["right"])
            )
        weight = node.get("weight")
        return _leaf(
            node.pointer, node["value"].numbers(), None if weight is None else weight.amount()
        )

    return summed(grown(part, draft_of, part.where))


def _weights(part: Part) -> tuple[float, ...] | None:
    weights = part.get("leaf_weights")
    return None if weights is None else tuple(weight.amount() for weight in weights)


def _leaf(name: str, values: tuple[float, ...], records: float | None) -> Draft:
    if len(values) == 1:
        return Draft(name=name, score=values[0], records=records)
    return Draft(name=name, outputs=values, records=records)
