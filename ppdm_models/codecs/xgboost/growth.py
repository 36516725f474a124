"""What an XGBoost model file tells of how its leaves were made: the numbers of all nodes, and few settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models.codecs.xgboost.arrays import Joined
from treewarden.ppdm_models.codecs.xgboost.objective import Objective
from treewarden.ppdm_models.codecs.xgboost.settings import growth_facts
from treewarden.ppdm_models.tree.cuts import Numbers
from treewarden.ppdm_models.tree.growth import Fact, GrownTree, Growth, known

PARALLEL = "several trees of each round were grown side by side, which is not turned back"
DART = "trees were dropped while it grew (dart), and the file does not say which in which round"
VECTORS = "leaves hold the numbers of several outputs"


def growth_of(
    found: Joined,
    objective: Objective,
    outputs: Sequence[int],
    per_round: int,
    document: object,
    learner: Mapping[str, object],
    *,
    is_dart: bool,
) -> Growth:
    """Return what tells how the leaves were made; ``per_round`` is how many trees the first round has."""
    refused = ""
    if is_dart:
        refused = DART
    elif any(one.vectors is not None for one in found.each):
        refused = VECTORS
    elif per_round != objective.outputs or len(outputs) % max(per_round, 1):
        refused = PARALLEL
    rounds = [
        tuple(range(start, min(start + per_round, len(outputs))))
        for start in range(0, len(outputs), max(per_round, 1))
    ]
    base = objective.base
    return Growth(
        "xgboost",
        objective.name,
        objective.outputs,
        tuple(rounds),
        _trees(found, outputs),
        base * objective.outputs if len(base) == 1 else base,
        single=True,
        facts={**_of_objective(learner), **_of_start(learner), **growth_facts(document, learner)},
        refused=refused,
        scored=_is_scored(learner),
    )


def _of_start(learner: Mapping[str, object]) -> dict[str, Fact]:
    """Return whether the start was computed from the labels, as files say from version 2 on."""
    parameters = learner.get("learner_model_param")
    said = parameters.get("boost_from_average") if isinstance(parameters, dict) else None
    return {"boost_from_average": known(float(said))} if said in ("0", "1") else {}


def _is_scored(learner: Mapping[str, object]) -> bool:
    """Whether the file says a score of the training, which may be that of the training records."""
    said = learner.get("attributes")
    return isinstance(said, dict) and "best_score" in said


def _trees(found: Joined, outputs: Sequence[int]) -> tuple[GrownTree, ...]:
    shape = found.shape
    values = np.where(shape.inner, np.nan, found.thresholds[shape.rows])
    hessians, weights, gains = (
        _joined([getattr(one, name) for one in found.each], [len(one.left) for one in found.each])[
            shape.rows
        ]
        for name in ("hessians", "weights", "gains")
    )
    return tuple(
        GrownTree(
            values[start:end],
            output,
            hessians=_published(hessians[start:end]),
            weights=_published(weights[start:end]),
            gains=_published(gains[start:end]),
        )
        for output, (start, end) in zip(outputs, pairwise(shape.starts.tolist()), strict=True)
    )


def _joined(columns: Sequence[Numbers | None], sizes: Sequence[int]) -> Numbers:
    return np.concatenate(
        [
            np.full(size, np.nan) if column is None else column
            for column, size in zip(columns, sizes, strict=True)
        ]
    )


def _published(column: Numbers) -> Numbers | None:
    """Return a column; None where all of it is withheld, which is written as zeros."""
    return column if np.nan_to_num(column).any() else None


def _of_objective(learner: Mapping[str, object]) -> dict[str, Fact]:
    """Return how much more a record of the second class weighs, which the objective says of two classes."""
    said = learner.get("objective")
    parameters = said.get("reg_loss_param") if isinstance(said, dict) else None
    weight = parameters.get("scale_pos_weight") if isinstance(parameters, dict) else None
    try:
        return {"scale_pos_weight": known(float(str(weight)))} if weight is not None else {}
    except ValueError:
        return {}
