"""Trees that add up to a score that things are ranked by: what their formats have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.node_order import features_named
from treewarden.ppdm_models.formats.pmml._values import number
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    Task,
    Tree,
)


def summed(
    forest: Sequence[tuple[Node, ...]],
    weights: Sequence[float],
    source: str,
    *,
    single: bool = False,
    notes: tuple[str, ...] = (),
) -> Ensemble:
    """Return the weighted sum of trees; their features are those that they test, in order.

    Raises:
        TreeFormatError: there is no tree, or too many of them or of features.
    """
    if not 0 < len(forest) <= limits.TREES:
        raise TreeFormatError(
            source, f"contains {len(forest):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    tested = [node for nodes in forest for node in nodes]
    names = list(dict.fromkeys(name for node in tested for name in features_of(node.test)))
    if len(names) > limits.FEATURES:
        raise TreeFormatError(
            source,
            f"more than {limits.FEATURES:,} features, which is the limit; train with fewer columns",
        )
    features = features_named(names, tested, source, single=single)
    members = tuple(
        Member(
            with_support(
                Tree(
                    nodes,
                    features,
                    "",
                    task=Task.REGRESSION,
                    missing=Missing.DEFAULT_CHILD,
                    source=source,
                )
            ),
            weight=weight,
            name=str(index),
        )
        for index, (nodes, weight) in enumerate(zip(forest, weights, strict=True))
    )
    return Ensemble(
        members,
        Combination.WEIGHTED_SUM,
        features,
        "",
        task=Task.REGRESSION,
        source=source,
        notes=notes,
    )


def single_number(text: str | None, where: str, what: str) -> float:
    """Return a 32-bit number as text has it.

    Raises:
        TreeFormatError: it is none, or beyond 32 bits.
    """
    said = number(text)
    with np.errstate(over="ignore"):
        value = math.nan if said is None else float(np.float32(said))
    if not math.isfinite(value):
        raise TreeFormatError(
            where,
            f"{what} is {(text or '')[:40]!r}, which is "
            + ("not a number" if said is None else "too large for 32 bits"),
        )
    return value
