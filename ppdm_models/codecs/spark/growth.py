"""What a saved Spark model of boosted trees tells of how its leaves were made: sums at each node, and the settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.codecs.spark.files import Stage
from treewarden.ppdm_models.codecs.spark.nodes import are_weighed
from treewarden.ppdm_models.tree.growth import Fact, GrownTree, Growth, known
from treewarden.ppdm_models.tree.tree import Tree

SAMPLED = "each round saw a sample of the records (subsamplingRate)"
STOPPED = "some of the records were kept aside to know when to stop (validationIndicatorCol)"
WEIGHED = "its records were given weights (weightCol)"


def growth_of(
    stage: Stage,
    trees: Sequence[Tree],
    rows: Sequence[Sequence[Part]],
    weights: Sequence[float],
    factor: float,
) -> Growth:
    """Return what tells how the leaves were made; ``rows`` are those of each tree's nodes, in any order.

    What a tree says counts ``factor`` times its weight.
    """
    refused = ""
    rate = stage.setting("subsamplingRate")
    if rate is not None and rate.number() != 1:
        refused = SAMPLED
    elif stage.text("validationIndicatorCol"):
        refused = STOPPED
    elif stage.text("weightCol") or any(are_weighed(each, ()) for each in rows):
        refused = WEIGHED
    step = stage.setting("stepSize")
    facts: dict[str, Fact] = {} if step is None else {"stepSize": known(step.number())}
    return Growth(
        "spark",
        stage.text("lossType")[:60],
        1,
        tuple((index,) for index in range(len(trees))),
        tuple(
            _tree(tree, given, factor * weight)
            for tree, given, weight in zip(trees, rows, weights, strict=True)
        ),
        (0.0,),
        facts=facts,
        refused=refused,
    )


def _tree(tree: Tree, rows: Sequence[Part], rate: float) -> GrownTree:
    stats = {str(row["id"].whole()): row["impurityStats"].numbers() for row in rows}
    said = {str(row["id"].whole()): row["prediction"].number() for row in rows}
    names = [node.name for node in tree.nodes]
    values = np.array([said[node.name] if node.is_leaf else np.nan for node in tree.nodes])
    counts, sums, squares = (
        np.array([stats[name][place] for name in names], dtype=np.float64) for place in range(3)
    )
    return GrownTree(values * rate, counts=counts, weights=sums, second=squares, rate=rate)
