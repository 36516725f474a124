"""Estimators fitted again: for what a model is worth on records it has not seen, and under smaller boosting settings.

A model is fitted again fold by fold, or relabelled. The records that a scikit-learn estimator was fitted on are found
again in the data of a request. Boosting libraries are given larger leaves, shallower trees and fewer rounds. A tree of
scikit-learn is cut back without a fit: the same estimator, some of whose nodes are made leaves.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import itertools
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewarden.api.requests import ArgumentError
from treewarden.policies.pack import Pack
from treewarden.policies.repair.utility import UTILITY_NAMES, UtilityName
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.tables.frames import column_names
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Task, Tree

Utility = UtilityName
UTILITIES = UTILITY_NAMES
FOLDS = 5


def checked_utility(utility: str) -> Utility:
    """Return the name of a utility.

    Raises:
        ArgumentError: there is none of this name.
    """
    for name in UTILITIES:
        if name == utility:
            return name
    raise ArgumentError(
        "utility", f"unknown utility {utility!r}; use one of {', '.join(UTILITIES)}"
    )


def cross_validated(estimator: Any, training: Training, utility: Utility) -> float:  # noqa: ANN401  # of a library that is no dependency
    """Return the mean utility over five folds, fitted again on the other four each time; more is better.

    It is the accuracy, the area under the curve (of several classes: one against the rest), the log loss below 0, or of
    numbers the share of the variance that is explained. NaN where it cannot be told.
    """
    selection = importlib.import_module("sklearn.model_selection")
    classes = getattr(final_of(estimator)[0], "classes_", None)
    scoring = "r2" if classes is None else _scoring(utility, len(classes))
    folds = _folds(training, is_of_classes=classes is not None)
    if folds is None:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fold may lack a class, or a split that is allowed
        scores = selection.cross_val_score(
            importlib.import_module("sklearn.base").clone(estimator),
            training.inputs,
            training.target,
            cv=folds,
            scoring=scoring,
            error_score=math.nan,
        )
    return float(np.mean(scores))


def relabelled(estimator: Any, training: Training, utility: Utility) -> float:  # noqa: ANN401  # see above
    """Return the same of a tree that cannot be fitted again: its splits stay, and four folds say what leaves predict.

    The splits saw all records, so that this is more than new records would give. NaN where it cannot be told.
    """
    metrics = importlib.import_module("sklearn.metrics")
    final = final_of(estimator)[0]
    folds = _folds(training, is_of_classes=True)
    if folds is None or not hasattr(final, "classes_"):
        return math.nan
    inputs = training.inputs if final is estimator else estimator[:-1].transform(training.inputs)
    leaf, classes = final.apply(inputs), final.classes_
    codes = np.searchsorted(classes, training.target)
    scores = []
    for known, rest in folds.split(np.zeros(len(codes)), codes):
        counts = np.ones((int(leaf.max()) + 1, len(classes))) / len(classes)
        np.add.at(counts, (leaf[known], codes[known]), 1.0)
        shares = (counts / counts.sum(axis=1, keepdims=True))[leaf[rest]]
        scores.append(_score(metrics, utility, codes[rest], shares))
    return float(np.mean(scores))


def _scoring(utility: Utility, classes: int) -> str:
    if utility == "auc":
        return "roc_auc" if classes == 2 else "roc_auc_ovr"
    return "neg_log_loss" if utility == "log-loss" else "accuracy"


def _score(metrics: Any, utility: Utility, codes: Any, shares: Any) -> float:  # noqa: ANN401  # arrays, and a module
    labels = np.arange(shares.shape[1])
    if utility == "accuracy":
        return float((shares.argmax(axis=1) == codes).mean())
    if utility == "log-loss":
        return -float(metrics.log_loss(codes, shares, labels=labels))
    try:
        if len(labels) == 2:
            return float(metrics.roc_auc_score(codes, shares[:, 1]))
        return float(metrics.roc_auc_score(codes, shares, multi_class="ovr", labels=labels))
    except ValueError:  # a class that is not in the fold
        return math.nan


def _folds(training: Training, *, is_of_classes: bool) -> Any | None:  # noqa: ANN401  # see above
    """Return how records are parted, each class alike; None where some class has fewer than two."""
    selection = importlib.import_module("sklearn.model_selection")
    if not is_of_classes:
        return selection.KFold(FOLDS, shuffle=True, random_state=0)
    least = int(np.unique(np.asarray(training.target), return_counts=True)[1].min())
    if least < 2:
        return None
    return selection.StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=0)


@dataclass(frozen=True, slots=True)
class Training:
    """The inputs and the target as the estimator takes them, and the table that they are of."""

    inputs: Any
    target: Any
    table: Table

    def agrees(self, estimator: Any, model: Model) -> bool:  # noqa: ANN401  # of a library that is no dependency
        """Return whether an estimator predicts for every record what a model does."""
        try:
            said = estimator.predict(self.inputs)
            columns = {feature.name: self.table.column(feature) for feature in model.features}
            scores = predict(model, columns)
        except (TreewardenError, ValueError, TypeError, KeyError):  # as whichever library says it
            return False
        if model.task is Task.REGRESSION:
            return bool(np.allclose(scores[:, 0], np.asarray(said, dtype=float)))
        return [class_label(each) for each in said] == labels(model, scores)


def innermost(estimator: Any) -> Any:  # noqa: ANN401  # see above
    """Return the estimator that a search for parameters settled on, else itself."""
    found = getattr(estimator, "best_estimator_", None)
    return estimator if found is None else found


def final_of(estimator: Any) -> tuple[Any, str]:  # noqa: ANN401  # see above
    """Return the last step of pipelines within each other, and what stands before the names of its parameters."""
    before = ""
    while getattr(estimator, "steps", None):
        name, estimator = estimator.steps[-1]
        before += f"{name}__"
    return estimator, before


def is_of_scikit(estimator: object) -> bool:
    """Return whether scikit-learn made it, as an estimator or a pipeline around one."""
    return type(final_of(estimator)[0]).__module__.partition(".")[0] == "sklearn"


def training_of(estimator: Any, data: object, table: Table, target: str) -> Training | None:  # noqa: ANN401  # see above
    """Return what an estimator was fitted on, as far as the data say it; None where they do not.

    The inputs are the user's own wherever they are a data frame or an array, else the numbers of the table.
    """
    known = getattr(estimator, "feature_names_in_", None)
    names = None if known is None else [str(name) for name in known]
    try:
        values = _target(final_of(estimator)[0], table, target)
        inputs = _users_inputs(data, names, target)
        if inputs is None:
            inputs = _of_table(
                table, names or [column for column in table.columns if column != target]
            )
    except (TreewardenError, KeyError, ValueError):
        return None
    return Training(inputs, values, table)


def _target(estimator: Any, table: Table, target: str) -> Any:  # noqa: ANN401  # see above
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return table.numbers(target).numbers
    spelled = tuple(class_label(value) for value in classes)
    column = table.categories(target, spelled)
    codes = np.array(
        [spelled.index(name) for name in column.categories]
    )  # ValueError: an unknown class
    if column.missing.any():
        raise ValueError("the target has missing values")
    return np.asarray(classes)[codes[column.codes]]


def _users_inputs(data: Any, names: list[str] | None, target: str) -> Any:  # noqa: ANN401  # whatever was handed in
    """Return the inputs as the user holds them; None where they are no frame and no array."""
    if isinstance(data, tuple):
        return _chosen(data[0], names) if column_names(data[0]) and names else data[0]
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _chosen(data, names or [name for name in column_names(data) if name != target])
    return None


def _chosen(frame: Any, names: Iterable[str]) -> Any:  # noqa: ANN401  # a frame with columns
    place = {str(name): name for name in frame.columns} if hasattr(frame, "columns") else {}
    return frame[[place[name] for name in names]]


def _of_table(table: Table, names: list[str]) -> Any:  # noqa: ANN401  # see above
    numbers = [table.numbers(name).numbers for name in names]
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return pandas.DataFrame(dict(zip(names, numbers, strict=True)))
    return np.column_stack(numbers)


WEIGHTS = (5, 10, 20, 50, 100, 200, 500)
"""The least weight or number of records of a leaf that is tried."""
LEAST_ROUNDS = 5
FEWEST_PARTS = 10
"""A leaf takes at most this part of the records."""


@dataclass(frozen=True, slots=True)
class BoostedKnobs:
    """What a library calls the size of leaves, the depth (and what it is by default), and the number of rounds.

    ``leaves`` sets how many leaves a tree has, "" where the depth alone does.
    """

    size: str
    depth: str
    usual_depth: int
    rounds: str
    usual_rounds: int
    leaves: str = ""


KNOBS_OF_LIBRARY: Mapping[str, BoostedKnobs] = {
    "xgboost": BoostedKnobs("min_child_weight", "max_depth", 6, "n_estimators", 100),
    "lightgbm": BoostedKnobs(
        "min_child_samples", "max_depth", 5, "n_estimators", 100, leaves="num_leaves"
    ),
}
"""By the package. Of CatBoost no repaired file is written, so none is fitted again."""


def boosting_library(estimator: Any) -> str:  # noqa: ANN401  # of a library that is no dependency
    """Return the package of a boosted estimator that can be fitted again, "" where it is none."""
    package = type(estimator).__module__.partition(".")[0]
    return package if package in KNOBS_OF_LIBRARY and hasattr(estimator, "get_params") else ""


def boosted_candidates(estimator: Any, records: int, before: str = "") -> Iterator[dict[str, Any]]:  # noqa: ANN401  # see above
    """Yield settings to fit with, those that change one thing first; ``before`` stands before names of parameters."""
    knobs = KNOBS_OF_LIBRARY[boosting_library(estimator)]
    known = estimator.get_params()
    depth = _number(known, knobs.depth, knobs.usual_depth)
    rounds = _number(known, knobs.rounds, knobs.usual_rounds)
    sizes = [size for size in WEIGHTS if size <= records / FEWEST_PARTS]
    depths = list(range(min(depth - 1, 4), 0, -1))
    fewer = [rounds // part for part in (2, 4, 8) if rounds // part >= LEAST_ROUNDS]

    def named(**values: int) -> dict[str, Any]:
        said = {getattr(knobs, knob): value for knob, value in values.items()}
        if knobs.leaves and "depth" in values:
            most = _number(known, knobs.leaves, 31)
            said[knobs.leaves] = min(most, 2 ** values["depth"])
        return {f"{before}{name}": value for name, value in said.items()}

    yield from (named(size=size) for size in sizes)
    yield from (named(depth=value) for value in depths)
    yield from (named(rounds=value) for value in fewer)
    yield from (named(size=s, depth=d) for s, d in itertools.product(sizes, depths[-2:]))
    yield from (
        named(size=s, depth=d, rounds=r)
        for s, d, r in itertools.product(sizes[-3:], depths[-2:], fewer)
    )


def _number(settings: Mapping[str, Any], name: str, usual: int) -> int:
    """Return a setting as a number; what the library takes where none, or no limit, is set."""
    value = settings.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else usual


Settings = Mapping[str, Any]
KNOBS = ("min_samples_leaf", "ccp_alpha", "max_depth")
STEPS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000)
MOST_ALPHAS = 12


def refit_candidates(estimator: Any, training: Training, policy: object) -> Iterator[Settings]:  # noqa: ANN401  # see above
    """Yield settings to try, those that change one thing first; a random choice is made the same every time."""
    final, before = final_of(estimator)
    if boosting_library(final):
        yield from boosted_candidates(final, len(training.target), before)
        return
    known = final.get_params(deep=False)
    fixed = {f"{before}random_state": 0} if known.get("random_state", 0) is None else {}
    sizes = [size for size in _sizes(policy) if size <= len(training.target) // 2]
    values: dict[str, list[Any]] = {
        "min_samples_leaf": sizes,
        "ccp_alpha": _alphas(estimator, training) if "ccp_alpha" in known else [],
        "max_depth": list(range(min(tree_depth(final) - 1, 12), 0, -1)),
    }
    single = [(name, value) for name in KNOBS if name in known for value in values[name]]
    for name, value in single:
        yield {f"{before}{name}": value, **fixed}
    if {"min_samples_leaf", "max_depth"} <= known.keys():
        for size, depth in itertools.product(sizes[:6], values["max_depth"][-5:]):
            yield {f"{before}min_samples_leaf": size, f"{before}max_depth": depth, **fixed}


def _sizes(policy: object) -> list[int]:
    """Return the smallest leaves to try: what the policy asks for first among them."""
    clauses = policy.clauses if isinstance(policy, Pack) else ()
    atoms = [atom for clause in clauses for atom in clause.demanded]
    wanted = {int(np.ceil(atom.limit)) for atom in atoms if atom.call.measure == "k_anonymity"}
    least = max(wanted, default=2)
    return sorted({size for size in (*STEPS, *wanted) if size >= least})


def _alphas(estimator: Any, training: Training) -> list[float]:  # noqa: ANN401  # see above
    final = final_of(estimator)[0]
    if not hasattr(final, "cost_complexity_pruning_path"):
        return [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
    inputs = training.inputs
    if final is not estimator:
        if any(getattr(step, "steps", None) for _, step in estimator.steps):
            return []
        inputs = estimator[:-1].transform(inputs)
    path = final.cost_complexity_pruning_path(inputs, training.target).ccp_alphas
    found = np.unique(path[path > 0])
    places = np.linspace(0, len(found) - 1, min(MOST_ALPHAS, len(found))).astype(int)
    # Rounded up: an alpha that is exactly where a node goes may or may not take it along.
    return [float(f"{found[place] * 1.0005:.4g}") for place in places]


def tree_depth(final: Any) -> int:  # noqa: ANN401  # see above
    """Return the most tests on a path of a fitted estimator; 8 where it does not say."""
    if hasattr(final, "get_depth"):
        return int(final.get_depth())
    trees = np.ravel(getattr(final, "estimators_", ()))
    return max((int(tree.get_depth()) for tree in trees), default=8)


def with_file(estimator: Any, file: bytes) -> Any | None:  # noqa: ANN401  # see above
    """Return a copy of a boosted estimator, or of a pipeline that ends in one, that predicts what a file of its says.

    None where the library does not read the file.
    """
    found = copy.deepcopy(estimator)
    final = final_of(found)[0]
    try:
        if boosting_library(final) == "xgboost":
            final.load_model(bytearray(file))
        else:
            library = importlib.import_module("lightgbm")
            final._Booster = library.Booster(model_str=file.decode("utf-8"))
    except Exception:  # noqa: BLE001  # each library has its own errors
        return None
    return found


def lost_by(estimator: Any, changed: Any, training: Training, utility: Utility) -> float:  # noqa: ANN401  # see above
    """Return what of its utility on the training records an estimator loses by a change; below 0 where it wins."""
    metrics = importlib.import_module("sklearn.metrics")
    classes = final_of(estimator)[0].classes_
    scorer = metrics.get_scorer(_scoring(utility, len(classes)))
    before, after = (
        float(scorer(model, training.inputs, training.target)) for model in (estimator, changed)
    )
    return before - after


NONE, UNDEFINED = -1, -2
"""What scikit-learn writes for the children of a leaf, and for what a leaf would compare."""


def pruned_copy(estimator: Any, tree: Tree) -> Any | None:  # noqa: ANN401  # of a library that is no dependency
    """Return a copy of an estimator, or of a pipeline that ends in one, cut back to ``tree``.

    Nodes are found by their numbers in the estimator, which name them in the tree. None where the tree is not what
    is left when some nodes become leaves. Its predictions are for the caller to check.
    """
    final = final_of(estimator)[0]
    grown = getattr(final, "tree_", None)
    names = {leaf.name for leaf in tree.leaves}
    if grown is None or not all(name.isdecimal() for name in names):
        return None
    leaves = {int(name) for name in names}
    remaining = _remaining_nodes(grown, leaves)
    ends = {node for node in remaining if node in leaves or grown.children_left[node] == NONE}
    if ends != leaves or len(remaining) != len(tree.nodes):
        return None
    found = copy.deepcopy(estimator)
    final_of(found)[0].tree_ = _cut(grown, remaining, leaves)
    return found


def _remaining_nodes(grown: Any, leaves: set[int]) -> list[int]:  # noqa: ANN401  # see above
    """Return the nodes that stay, each before its children, the left one first."""
    remaining, stack = [], [0]
    while stack:
        node = stack.pop()
        remaining.append(node)
        if node not in leaves and grown.children_left[node] != NONE:
            stack += [int(grown.children_right[node]), int(grown.children_left[node])]
    return remaining


def _cut(grown: Any, remaining: list[int], leaves: set[int]) -> Any:  # noqa: ANN401  # see above
    make, arguments, state = grown.__reduce__()
    place = {node: number for number, node in enumerate(remaining)}
    nodes = state["nodes"][remaining].copy()
    depth = np.zeros(len(remaining), dtype=int)
    for number, node in enumerate(remaining):
        is_leaf = node in leaves or grown.children_left[node] == NONE
        for side in ("left_child", "right_child"):
            nodes[side][number] = NONE if is_leaf else place[int(nodes[side][number])]
        if is_leaf:
            nodes["feature"][number], nodes["threshold"][number] = UNDEFINED, UNDEFINED
            if "missing_go_to_left" in (nodes.dtype.names or ()):
                nodes["missing_go_to_left"][number] = 0
        else:
            below = [int(nodes[side][number]) for side in ("left_child", "right_child")]
            depth[below] = depth[number] + 1
    cut = make(*arguments)
    said = {
        "nodes": nodes,
        "values": state["values"][remaining].copy(),
        "node_count": len(remaining),
    }
    cut.__setstate__({**state, **said, "max_depth": int(depth.max())})
    return cut
