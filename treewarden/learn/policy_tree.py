"""Decision trees grown under a policy: a split is taken only if both children meet what the policy requires of a leaf.

The grown tree is pruned as far as cross-validation says, audited under its own learner over the records that it was
grown from, and cut back until it passes (``audit=True``). ``treewarden.ppdm_models.learn.drawn_cuts`` grows it, and
``treewarden.ppdm_models.learn.drawn_cuts`` prunes it. What an adversary who knows all of this can conclude from
the choice of splits is in ``treewarden.audit.constraints.policy_growth``: nothing beyond the counts of the leaves, as
long as the seed is not a fixed number.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree as ArraysOfTree
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state, column_or_1d, validate_data

from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.policies.leaf_requirements import leaf_requirements
from treewarden.policies.pack import Pack, load_pack, pack_of
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.learn.drawn_cuts import (
    GrownNodes,
    GrowthRule,
    HeldOutLoss,
    Impurity,
    Records,
    brier,
    choose_penalty,
    cut_back,
    entropy,
    gini,
    grow,
    prune,
    squared_distance,
    squared_error,
)
from treewarden.ppdm_models.tables.frames import IN_MEMORY
from treewarden.ppdm_models.tables.read_table import table_of_arrow
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Task, Tree

PolicyLike = str | Pack | Mapping[str, object]
KEPT_SHARE = 0.75
"""The share of its leaves that a tree keeps each time that it does not pass."""
IMPURITIES: Mapping[str, Impurity] = {"gini": gini, "entropy": entropy}


class _PolicyTree:
    """What both learners share: checks, growth, the audit, and the arrays that scikit-learn predicts with."""

    policy: PolicyLike
    max_depth: int
    min_samples_leaf: int
    share_drawn: float
    folds: int
    audit: bool
    random_state: Any
    tree_: Any
    verdict_: str
    n_features_in_: int

    def _grow(self, records: Records, task: Task, impurity: Impurity, is_weighed: bool) -> None:
        """Grow, prune, audit and cut back; a tree without a split is warned of, and so is one that does not pass."""
        pack = _pack(self.policy)
        self._check_settings()
        required = leaf_requirements(
            pack,
            task,
            records.people.sum(axis=0),
            records.sums.sum(axis=0) if is_weighed and task is Task.CLASSIFICATION else None,
        )
        fewest = max(self.min_samples_leaf, required.fewest_records)

        def allowed(people: FloatArray, sums: FloatArray) -> BoolArray:
            large = people.sum(axis=1) >= fewest
            if not large.any():
                return np.asarray(large)
            weighed = sums[large] if required.weighed_whole is not None else None
            large[large] = required.are_met(people[large], weighed)
            return np.asarray(large)

        rule = GrowthRule(impurity, allowed, self.max_depth, self.share_drawn)
        draws = _draws(self.random_state)
        nodes = grow(records, rule, draws)
        pruned = nodes
        if self.folds:
            loss: HeldOutLoss = brier if task is Task.CLASSIFICATION else squared_distance
            penalty = choose_penalty(records, nodes, rule, loss, self.folds, draws)
            pruned = prune(nodes, impurity, penalty)
        self._keep(pruned, impurity, task)
        if self.audit:
            self._cut_until_it_passes(records, pruned, pack, impurity, task)
            if self.tree_.node_count == 1 and pruned.leaf_count < nodes.leaf_count:
                self._keep(nodes, impurity, task)  # larger trees may pass where small ones do not
                self._cut_until_it_passes(records, nodes, pack, impurity, task)
        else:
            self.verdict_ = ""
        if self.tree_.node_count == 1:
            problem = f"no tree of these records that has a split meets the policy {pack.name!r}"
            advice = "it has one leaf; give more records or fewer classes, or choose another policy"
            warnings.warn(f"{type(self).__name__}: {problem}; {advice}", stacklevel=3)

    def _cut_until_it_passes(
        self, records: Records, nodes: GrownNodes, pack: Pack, impurity: Impurity, task: Task
    ) -> None:
        while True:
            verdict = verdict_of_fit(self, records, pack, task)
            if verdict is PolicyVerdict.PASS or nodes.leaf_count == 1:
                break
            nodes = cut_back(nodes, int(nodes.leaf_count * KEPT_SHARE), impurity)
            self._keep(nodes, impurity, task)
        is_seeded = self.random_state is not None and task is Task.CLASSIFICATION
        if is_seeded and verdict is PolicyVerdict.PASS:
            verdict = PolicyVerdict.UNDETERMINED  # the seed tells which cuts were drawn
        self.verdict_ = verdict.name

    def _check_settings(self) -> None:
        for name in ("max_depth", "min_samples_leaf"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"{name}: {value!r} is not valid; give a whole number of 1 or more"
                )
        is_count = isinstance(self.folds, int | np.integer) and not isinstance(self.folds, bool)
        if not is_count or self.folds < 0 or self.folds == 1:
            advice = "give a whole number of 2 or more, or 0 for no pruning"
            raise ValueError(f"folds: {self.folds!r} is not valid; {advice}")
        if not 0 < self.share_drawn < 1:
            problem = "give a share between 0 and 1, because some cuts must be left out"
            raise ValueError(f"share_drawn: {self.share_drawn!r}: {problem}")

    def _keep(self, nodes: GrownNodes, impurity: Impurity, task: Task) -> None:
        is_of_classes = task is Task.CLASSIFICATION
        weight = nodes.sums.sum(axis=1) if is_of_classes else nodes.sums[:, 0]
        means = nodes.sums if is_of_classes else nodes.sums[:, 1:2]
        classes = nodes.sums.shape[1] if is_of_classes else 1
        empty = ArraysOfTree(self.n_features_in_, np.array([classes], dtype=np.intp), 1)
        table = np.zeros(len(nodes.left), dtype=empty.__getstate__()["nodes"].dtype)
        table["left_child"], table["right_child"] = nodes.left, nodes.right
        table["feature"], table["threshold"] = nodes.feature, nodes.threshold
        if (
            is_of_classes
        ):  # variances of numbers tell their contributors more than the leaves' totals
            table["impurity"] = impurity(nodes.sums) / weight
        table["n_node_samples"] = nodes.people.sum(axis=1)
        table["weighted_n_node_samples"] = weight
        state = {
            "max_depth": int(nodes.depths.max()),
            "node_count": len(nodes.left),
            "nodes": table,
            "values": np.ascontiguousarray((means / weight[:, None])[:, None, :]),
        }
        empty.__setstate__(state)
        self.tree_ = empty

    def _inputs(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray]:  # noqa: ANN401, N803
        """Return the checked records of some weight: the columns as 32-bit numbers, the target, and the weights."""
        X, y = validate_data(self, X, y, dtype=np.float32, multi_output=True)  # noqa: N806
        y = column_or_1d(y, warn=True)
        weight = np.ones(len(X)) if sample_weight is None else _weights(sample_weight, len(X))
        kept = weight > 0
        if not kept.any():
            raise ValueError(
                "sample_weight: all weights are zero; give at least one positive weight"
            )
        return X[kept], y[kept], weight[kept]

    def _limit_tags(self, tags: Any) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        tags.target_tags.multi_output = False
        return tags


class PolicyTreeClassifier(_PolicyTree, DecisionTreeClassifier):  # type: ignore[misc]  # it has no types
    """A decision tree that is grown under a policy; used as scikit-learn's ``DecisionTreeClassifier`` is.

    Args:
        policy: A built-in policy by name, the path of a TOML file, or what such a file says, as a mapping.
        criterion: What a split lowers most: ``gini`` or ``entropy``.
        max_depth: The most tests on a path.
        min_samples_leaf: The fewest records of a leaf, where the policy does not require more.
        share_drawn: The probability with which a node looks at each of its cuts; below 1, so that what was refused or
            passed over proves nothing.
        folds: The parts that the records are dealt to, to choose by cross-validation how far the tree is pruned; with 0
            it stays as it was grown.
        audit: Whether to audit the tree under the policy, and to cut it back until it passes.
        random_state: None draws from the operating system. With a fixed seed the tree can be grown again, also on
            guessed records: audits of it are UNDETERMINED, so search with one and fit what you publish without.

    ``verdict_`` is that of the audit of the columns as they were given, "" without one. The audit of the whole model,
    pipeline and all, is ``treewarden.audit``.
    """

    splitter = "drawn"
    monotonic_cst = None
    class_weight = None

    def __init__(
        self,
        policy: PolicyLike = "standard",
        *,
        criterion: str = "gini",
        max_depth: int = 8,
        min_samples_leaf: int = 1,
        share_drawn: float = 0.9,
        folds: int = 5,
        audit: bool = True,
        random_state: Any = None,  # noqa: ANN401  # as scikit-learn takes it
    ) -> None:
        self.policy = policy
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.share_drawn = share_drawn
        self.folds = folds
        self.audit = audit
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,  # noqa: N803  # as scikit-learn calls it
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree from records (n, d) and their classes (n,), which may have sampling weights (n,).

        Raises:
            ValueError: a value is missing or no number, or a setting cannot be.
        """
        if self.criterion not in IMPURITIES:
            raise ValueError(
                f"criterion: {self.criterion!r} is not supported; use 'gini' or 'entropy'"
            )
        columns, y, weight = self._inputs(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_, self.n_outputs_ = len(self.classes_), 1
        self.max_features_ = self.n_features_in_
        people = np.eye(self.n_classes_)[codes]
        records = Records(columns, people, people * weight[:, None])
        is_weighed = bool((weight != 1).any())
        self._grow(records, Task.CLASSIFICATION, IMPURITIES[self.criterion], is_weighed)
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = self._limit_tags(super().__sklearn_tags__())
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.poor_score = (
            True  # a policy forbids leaves that are right about everybody
        )
        return tags


class PolicyTreeRegressor(_PolicyTree, DecisionTreeRegressor):  # type: ignore[misc]  # it has no types
    """A regression tree that is grown under a policy; used as scikit-learn's ``DecisionTreeRegressor`` is.

    Its arguments are those of ``PolicyTreeClassifier`` but for the criterion, which is the squared error.
    """

    splitter = "drawn"
    monotonic_cst = None
    criterion = "squared_error"

    def __init__(
        self,
        policy: PolicyLike = "standard",
        *,
        max_depth: int = 8,
        min_samples_leaf: int = 1,
        share_drawn: float = 0.9,
        folds: int = 5,
        audit: bool = True,
        random_state: Any = None,  # noqa: ANN401  # as scikit-learn takes it
    ) -> None:
        self.policy = policy
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.share_drawn = share_drawn
        self.folds = folds
        self.audit = audit
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,  # noqa: N803  # as scikit-learn calls it
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree from records (n, d) and their numbers (n,), which may have sampling weights (n,).

        Raises:
            ValueError: a value is missing or no number, or a setting cannot be.
        """
        columns, y, weight = self._inputs(X, y, sample_weight)
        values = np.asarray(y, dtype=np.float64)
        self.n_outputs_, self.max_features_ = 1, self.n_features_in_
        sums = np.stack([weight, weight * values, weight * values**2], axis=1)
        records = Records(columns, np.ones((len(values), 1)), sums)
        self._grow(records, Task.REGRESSION, squared_error, bool((weight != 1).any()))
        return self

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = self._limit_tags(super().__sklearn_tags__())
        tags.regressor_tags.poor_score = True
        return tags


def _pack(policy: PolicyLike) -> Pack:
    """Return the policy that is meant.

    Raises:
        PolicyError: there is none of this name, or its file is no policy.
    """
    if isinstance(policy, Pack):
        return policy
    return load_pack(policy) if isinstance(policy, str) else pack_of(policy, "policy")


def _draws(random_state: Any) -> np.random.Generator:  # noqa: ANN401  # as scikit-learn takes it
    """Return where draws come from: the operating system, unless a state is given."""
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _weights(sample_weight: Any, records: int) -> FloatArray:  # noqa: ANN401  # whatever was handed in
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (records,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(records,)}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight: negative or infinite; give weights of 0 or more")
    return weight


SECONDS = 20.0
"""For proofs over whole records, each time that the tree is audited."""


def verdict_of_fit(estimator: Any, records: Records, pack: Pack, task: Task) -> PolicyVerdict:  # noqa: ANN401  # of scikit-learn
    """Return the verdict of a policy on a fitted estimator, as if its seed were not known.

    What cannot be audited is undetermined.
    """
    names = getattr(estimator, "feature_names_in_", None)
    width = records.columns.shape[1]
    columns = [f"x{place}" for place in range(width)] if names is None else list(map(str, names))
    target, weight = _unused_name("target", columns), _unused_name("weight", columns)
    weights = records.sums.sum(axis=1) if task is Task.CLASSIFICATION else records.sums[:, 0]
    is_weighed = bool((weights != 1).any())
    table = _table(estimator, records, (columns, target), task)
    if is_weighed:
        table = table.append_column(weight, pa.array(weights))
    options = AuditOptions(
        sensitive=target,
        sampling_weights=weight if is_weighed else None,
        levels=False,
        jobs=1,
        worlds_budget=SECONDS,
    )
    try:
        file = _without_seed(open_fitted(estimator, target=target, names=columns))
        request = Request(file, _read(table), options, policy=pack, fail_on=pack.fail_on)
        return audit_file(request).decision.verdict
    except TreewardenError:
        return PolicyVerdict.UNDETERMINED


def _read(table: pa.Table) -> Table:
    return table_of_arrow(table, "data", (), IN_MEMORY)


def _unused_name(name: str, columns: list[str]) -> str:
    while name in columns:
        name += "_"
    return name


def _table(
    estimator: Any,  # noqa: ANN401  # of scikit-learn
    records: Records,
    names: tuple[list[str], str],
    task: Task,
) -> pa.Table:
    columns, target = names
    arrays = [pa.array(column) for column in records.columns.T.astype(np.float64)]
    if task is Task.CLASSIFICATION:
        labels = [class_label(value) for value in estimator.classes_.tolist()]
        values = pa.array([labels[code] for code in records.people.argmax(axis=1).tolist()])
    else:
        values = pa.array(records.sums[:, 1] / records.sums[:, 0])
    return pa.table([*arrays, values], names=[*columns, target])


def _without_seed(file: OpenedFile) -> OpenedFile:
    assert isinstance(file.model, Tree)
    learner = replace(file.model.learner, unmodelled=())
    return replace(file, model=replace(file.model, learner=learner))
