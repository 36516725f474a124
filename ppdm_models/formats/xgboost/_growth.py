"""What an XGBoost model file tells of how its leaves were made: the numbers of all nodes, and few settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.formats.xgboost._arrays import JoinedColumns
from treewarden.ppdm_models.tree.ensemble import (
    EnsembleGrowth,
    Fact,
    GrownTree,
    Link,
    Shrinkage,
    shrinkage_of,
    stated_fact,
)
from treewarden.ppdm_models.tree.nodes import Numbers
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim, ProducerFacts
from treewarden.ppdm_models.tree.tree import Quality, Task

LOGS = "privacy_logs"
"""The key of a tree; trees that were grown without privacy have an empty list there."""
BINS, LEAF, SPLIT = "Histogram", "Laplace", "Exponential"
SHARE_OF_BINS = 0.5
MOST_EPSILON = 1e6
"""A log of more is none of the fork's."""
EXACT = ("sum_hessian", "loss_changes", "base_weights")
UNPROTECTED = (
    "the file publishes numbers of its nodes without noise ({columns}), but DP-XGBoost adds noise only to bins, "
    "splits and leaf values"
)
UNEVALUATED = (
    "the claim is of DP-XGBoost, which treewarden recognises and does not evaluate; its noise comes from a generator "
    "that is started with the time of training in seconds, so an adversary can try all of them"
)


def has_logs(trees: Sequence[Mapping[str, object]]) -> bool:
    """Return whether some tree says that it was grown with privacy."""
    return any(tree.get(LOGS) for tree in trees)


def are_plain_logs(tree: Mapping[str, object]) -> bool:
    """Return whether the logs of a tree are such as the fork writes: of its nodes, with one epsilon for each kind."""
    logs = tree.get(LOGS, [])
    if not isinstance(logs, list) or not all(map(_is_entry, logs)):
        return False
    epsilons = {(entry["type"] == BINS, entry["epsilon"]) for entry in logs}
    bins = sum(entry["type"] == BINS for entry in logs)
    left = tree.get("left_children", [])
    nodes = len(left) if isinstance(left, list) else 0
    return not logs or (len(epsilons) == 2 and 0 < bins == len(logs) - nodes)


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() == {"type", "epsilon"}
        and entry["type"] in (BINS, LEAF, SPLIT)
        and type(entry["epsilon"]) in (int, float)
        and 0 <= entry["epsilon"] < MOST_EPSILON
    )


def read_logged_claim(trees: Sequence[Mapping[str, object]]) -> PrivacyClaim | None:
    """Return the claim of a file; None where some tree has no logs that are understood, or no noise."""
    total = 0.0
    for tree in trees:
        logs = tree.get(LOGS)
        if not isinstance(logs, list) or not logs or not are_plain_logs(tree):
            return None
        bins = sum(float(entry["epsilon"]) for entry in logs if entry["type"] == BINS)
        total += bins / SHARE_OF_BINS
    if not 0 < total < math.inf:
        return None
    exact = [name for name in EXACT if any(_any_number(tree.get(name)) for tree in trees)]
    reason = UNPROTECTED.format(columns=", ".join(exact))
    return PrivacyClaim(
        epsilon=float(f"{total:.6g}"),  # of numbers of 32 bits
        producer=ProducerFacts((reason,) if exact else (), (UNEVALUATED,)),
    )


def _any_number(column: object) -> bool:
    return isinstance(column, list) and any(column)


# The settings of the training that some XGBoost files hold: how the numbers of leaves were shrunk.

SQUARED = ("reg:squarederror", "reg:linear")
SNAPSHOT = ("Config", "learner", "gradient_booster", "tree_train_param")
GENERIC = ("Config", "learner", "generic_param")
RATE, RIDGE = ("eta", "learning_rate"), ("lambda", "reg_lambda")
OTHERWISE = (("alpha", "reg_alpha"), ("max_delta_step",))
"""What, unless 0, makes the number of a leaf in a way that cannot be undone: an L1 penalty, a limit to the step."""

WRAPPER = ("attributes", "scikit_learn")
"""Where older versions of its scikit-learn wrapper keep the settings, as JSON inside a text."""


GROWTH = {
    "eta": RATE,
    "lambda": RIDGE,
    "alpha": OTHERWISE[0],
    "max_delta_step": OTHERWISE[1],
    "subsample": ("subsample",),
    "seed": ("seed", "random_state"),
}
"""What decides the numbers of leaves, by the name that the library gives it."""


def growth_facts(document: object, learner: Mapping[str, object]) -> dict[str, Fact]:
    """Return the settings that the file says of those that decide the numbers of leaves; most files say none."""
    facts: dict[str, Fact] = {}
    for settings in _settings(document, learner, GENERIC):
        for name, keys in GROWTH.items():
            value = _number(settings, *keys)
            if value is not None:
                facts.setdefault(name, stated_fact(value))
    return facts


def shrinkage_in(document: object, learner: Mapping[str, object]) -> Shrinkage | None:
    """Return the shrinkage of a model for the squared error; None where the file does not say all that matters."""
    for settings in _settings(document, learner):
        rate, ridge = _number(settings, *RATE), _number(settings, *RIDGE)
        others = [_number(settings, *names) for names in OTHERWISE]
        if rate is not None and ridge is not None and others == [0.0, 0.0]:
            return shrinkage_of(rate, ridge)
    return None


def _settings(
    document: object, learner: Mapping[str, object], *more: tuple[str, ...]
) -> Iterator[dict[str, object]]:
    """Yield each place of a file that holds settings; ``more`` are places in a snapshot beside that of its trees."""
    for top, path in (
        (document, SNAPSHOT),
        (learner, WRAPPER),
        *((document, each) for each in more),
    ):
        found: object = top
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            found = _parsed(found)
        if isinstance(found, dict):
            yield found


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if len(text) < 100_000 else None
    except (ValueError, RecursionError):
        return None


def _number(settings: Mapping[str, object], *names: str) -> float | None:
    said = next((settings[name] for name in names if name in settings), None)
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return None
    try:
        value = float(said)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


# What an objective of XGBoost makes of the sum of its trees, and how many people a second derivative stands for.

LOGISTIC = ("binary:logistic", "reg:logistic")
SOFTMAX = ("multi:softprob", "multi:softmax")
LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
PLAIN = (
    "reg:squarederror",
    "reg:linear",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
    "reg:quantileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
)
ONE_EACH = ("reg:squarederror", "reg:linear", "reg:absoluteerror")
"""Where the second derivative of a record is 1 (its weight), in every tree."""

RELATIVE_SLACK = 1e-5
ABSOLUTE_SLACK = 0.05
"""How far a count from 32-bit sums may lie from a whole number."""


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective with what the file says beside it: outputs, and the base score in the space of its predictions.

    ``targets`` are how many targets it predicts: of several, each output is that of one (a number or a share).
    """

    name: str
    outputs: int
    base_score: tuple[float, ...]
    major: int = 3
    targets: int = 1

    @property
    def task(self) -> Task:
        """What the ensemble predicts."""
        classes = self.targets == 1 and self.name.startswith(("binary:", "multi:"))
        return Task.CLASSIFICATION if classes else Task.REGRESSION

    @property
    def classes(self) -> tuple[str, ...]:
        """The numbers of the classes, which have no names in the file."""
        if self.task is Task.REGRESSION:
            return ()
        return tuple(map(str, range(max(2, self.outputs))))

    @property
    def link(self) -> Link:
        """What turns the sum into a prediction; unknown for a function of the user's own."""
        if self.name in LOGISTIC:
            return Link.LOGISTIC
        if self.name in SOFTMAX:
            return Link.SOFTMAX
        if self.name in LOG:
            return Link.EXP
        plain = self.name in PLAIN or (self.name == "binary:logitraw" and self.major >= 3)
        return Link.IDENTITY if plain else Link.UNKNOWN

    @property
    def base(self) -> tuple[float, ...]:
        """What is added to the sum: the base score, seen through the link.

        Raises:
            ValueError: the base score cannot be that of the link, such as a probability of 2.
        """
        if self.link is Link.LOGISTIC:
            return tuple(math.log(score) - math.log1p(-score) for score in self.base_score)
        if self.link is Link.EXP:
            return tuple(math.log(score) for score in self.base_score)
        return self.base_score

    def per_record(self, output: int, width: int, is_first: bool) -> float | None:
        """Return the second derivative that each record adds to a node; None where records differ."""
        if self.name in ONE_EACH:
            return float(width)
        if not is_first or width > 1:
            return None
        if self.name in LOGISTIC:
            score = _at(self.base_score, output)
            return score * (1.0 - score) if 0.0 < score < 1.0 else None
        if self.name in SOFTMAX:
            share = _softmax_share(self.base_score, output, self.outputs)
            return 2.0 * share * (1.0 - share) or None
        return None

    def people(self, sums: FloatArray, per_record: float | None) -> tuple[FloatArray, Quality]:
        """Return the counts behind sums of second derivatives, or the sums, and what they are."""
        if per_record is None:
            return sums, Quality.HESSIAN
        with np.errstate(over="ignore", invalid="ignore"):  # an absurd base score: not whole
            counts = sums / per_record
            rounded = np.rint(counts)
            slack = np.minimum(ABSOLUTE_SLACK, RELATIVE_SLACK * np.maximum(100.0, counts))
            is_whole = bool((np.abs(counts - rounded) <= slack).all())
        if is_whole:
            return rounded, Quality.DERIVED
        return sums, Quality.WEIGHTED if self.name in ONE_EACH else Quality.HESSIAN


def _at(scores: Sequence[float], output: int) -> float:
    return scores[output] if len(scores) > 1 else scores[0]


def _softmax_share(scores: Sequence[float], output: int, outputs: int) -> float:
    if len(scores) == 1:
        return 1.0 / outputs
    top = max(scores)
    return math.exp(scores[output] - top) / math.fsum(math.exp(score - top) for score in scores)


PARALLEL = "several trees of each round were trained in parallel, which is not inverted"
DART = "training dropped trees (dart), and the file does not contain which tree in which round"
VECTORS = "leaves hold the numbers of several outputs"


def growth_of(
    columns: JoinedColumns,
    objective: Objective,
    outputs: Sequence[int],
    per_round: int,
    document: object,
    learner: Mapping[str, object],
    *,
    is_dart: bool,
) -> EnsembleGrowth:
    """Return what tells how the leaves were made; ``per_round`` is how many trees the first round has."""
    refused = ""
    if is_dart:
        refused = DART
    elif any(xgboost_nodes.vectors is not None for xgboost_nodes in columns.each):
        refused = VECTORS
    elif per_round != objective.outputs or len(outputs) % max(per_round, 1):
        refused = PARALLEL
    rounds = [
        tuple(range(start, min(start + per_round, len(outputs))))
        for start in range(0, len(outputs), max(per_round, 1))
    ]
    base = objective.base
    return EnsembleGrowth(
        "xgboost",
        objective.name,
        objective.outputs,
        tuple(rounds),
        _trees(columns, outputs),
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
    return {"boost_from_average": stated_fact(float(said))} if said in ("0", "1") else {}


def _is_scored(learner: Mapping[str, object]) -> bool:
    """Whether the file says a score of the training, which may be that of the training records."""
    said = learner.get("attributes")
    return isinstance(said, dict) and "best_score" in said


def _trees(columns: JoinedColumns, outputs: Sequence[int]) -> tuple[GrownTree, ...]:
    shape = columns.shape
    values = np.where(shape.inner, np.nan, columns.thresholds[shape.rows])
    hessians, weights, gains = (
        _joined(
            [getattr(xgboost_nodes, name) for xgboost_nodes in columns.each],
            [len(xgboost_nodes.left) for xgboost_nodes in columns.each],
        )[shape.rows]
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
        return {"scale_pos_weight": stated_fact(float(str(weight)))} if weight is not None else {}
    except ValueError:
        return {}
