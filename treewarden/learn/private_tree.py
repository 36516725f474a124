"""A decision tree with differential privacy, in the manner of scikit-learn, which says in its file what it claims."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree as ArraysOfTree
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.learn.private_growth import (
    PrivacyBudget,
    PrivateNodes,
    grow_private,
    split_budget,
)
from treewarden.ppdm_models.tree.column import cut_grid
from treewarden.ppdm_models.tree.privacy_claim import (
    MOST_LABEL_SHARE,
    BoundsOrigin,
    ClaimUnit,
    LabelMechanism,
    PrivacyClaim,
    SplitOrigin,
)

MOST_DEPTH = 16
Bounds = tuple[Any, Any] | Mapping[str, tuple[float, float]]
"""The least and the largest value of every column, or of each; or by name."""

LEAST_EPSILON = 1e-6
"""Below, the file is noise alone, and rounding hides whether an audit can tell."""


class PrivateTreeClassifier(DecisionTreeClassifier):  # type: ignore[misc]  # it has no types
    """A decision tree with epsilon-differential privacy for one record more or less.

    Args:
        epsilon: The most that the file costs anybody, in nats: cuts and labels together.
        bounds: The least and the largest value that a column can have, known before anybody looked at the table: a pair
            of numbers or of lists, or a mapping by column. Values beyond count as the bound. With None they are read
            from the table, and the claim of the file is void.
        classes: All classes there can be, known likewise; with None the claim is void too.
        max_depth: The number of tests on every path; at most 16. Take 1 or 2 where the number of records times epsilon
            is about 100 or less.
        bins: How many even parts the range of a column is cut into; cuts near the bounds come on top.
        label_share: The share of epsilon that is spent on labels, between 0 and 1.

    Draws come from the operating system, and there is no seed: each fit spends epsilon anew. ``claim_`` is what the
    file says, ``spent_`` what was spent. The tree publishes cuts and labels, and no count.
    """

    criterion = "gini"
    splitter = "drawn"
    monotonic_cst = None
    class_weight = None

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        max_depth: int = 4,
        bins: int = 16,
        label_share: float = 0.2,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.max_depth = max_depth
        self.bins = bins
        self.label_share = label_share

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803  # as scikit-learn calls it
        """Grow the tree from records (n, d) and their classes (n,).

        Raises:
            ValueError: a value is missing, no number or of no class that was given, or a setting cannot be.
        """
        self._check_settings()
        columns, y = validate_data(self, X, y, dtype=np.float32, multi_output=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        codes = self._codes_of(y)
        low, high = self._ends(columns)
        columns = np.clip(columns, low.astype(np.float32), high.astype(np.float32))
        grids = [cut_grid(*ends, self.bins) for ends in zip(low, high, strict=True)]
        levels = self.max_depth if any(map(len, grids)) else 0
        budget = split_budget(float(self.epsilon), self.label_share, levels)
        nodes = grow_private(columns, codes, grids, budget, self.n_classes_)
        self._keep(nodes, levels)
        self._say(budget)
        return self

    def _check_settings(self) -> None:
        if not (_is_number(self.epsilon) and LEAST_EPSILON <= self.epsilon < np.inf):
            raise ValueError(
                f"epsilon: {self.epsilon!r} is not valid; give a number of {LEAST_EPSILON:g} or more"
            )
        is_number = _is_number(self.label_share)
        if is_number and MOST_LABEL_SHARE < self.label_share < 1:
            raise ValueError(
                f"label_share: {self.label_share!r} leaves nothing for the splits; give {MOST_LABEL_SHARE:g} or less"
            )
        if not (is_number and 0 < self.label_share < 1):
            raise ValueError(
                f"label_share: {self.label_share!r} is not valid; give a number between 0 and 1"
            )
        for name, most in (("max_depth", MOST_DEPTH), ("bins", 1024)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool):
                raise ValueError(f"{name}: {value!r}: a whole number is needed")
            if not 1 <= value <= most:
                raise ValueError(
                    f"{name}: {value!r} is not valid; give a whole number from 1 to {most}"
                )

    def _codes_of(self, y: Any) -> Any:  # noqa: ANN401  # labels of any kind
        """Return the place of each class among those that are given, or that occur."""
        if self.classes is None:
            self._warn_void("classes")
            self.classes_, codes = np.unique(y, return_inverse=True)
        else:
            self.classes_ = np.unique(np.asarray(self.classes))
            codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
            if (self.classes_[codes] != y).any():
                raise ValueError("classes: a record has another class; give all possible classes")
        self.n_classes_, self.n_outputs_ = len(self.classes_), 1
        self.max_features_ = self.n_features_in_
        return codes.astype(np.int64)

    def _warn_void(self, parameter: str) -> None:
        """Warn that the claim is void, as a parameter was left to the table."""
        said = (
            f"no {parameter} were given, so they are read from the table: this voids the claim of "
            f"differential privacy. Give {parameter}"
        )
        warnings.warn(f"{type(self).__name__}: {said}", stacklevel=4)

    def _ends(self, columns: Any) -> tuple[FloatArray, FloatArray]:  # noqa: ANN401  # an array
        """Return the least and the largest value of each column, (d,) each.

        Raises:
            ValueError: the bounds are not two for each column, or none lies between them.
        """
        if self.bounds is None:
            self._warn_void("bounds")
            return columns.min(axis=0).astype(np.float64), columns.max(axis=0).astype(np.float64)
        width = self.n_features_in_
        if isinstance(self.bounds, Mapping):
            names = [str(name) for name in getattr(self, "feature_names_in_", ())]
            lacking = [name for name in names if name not in self.bounds]
            if lacking or not names:
                names_of = ", ".join(map(repr, lacking))
                what = f"no bounds of {names_of}" if lacking else "the columns have no names"
                raise ValueError(f"bounds: {what}; give a pair of numbers for each column")
            pair: Any = np.array([self.bounds[name] for name in names], dtype=np.float64).T
        else:
            pair = self.bounds
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), width) for end in pair)
        if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
            raise ValueError(
                "bounds: not valid; give two numbers for each column, the lower one first"
            )
        return low, high

    def _keep(self, nodes: PrivateNodes, levels: int) -> None:
        """Keep the tree in arrays that scikit-learn predicts with: one class a leaf, and no number of records."""
        empty = ArraysOfTree(self.n_features_in_, np.array([self.n_classes_], dtype=np.intp), 1)
        table = np.zeros(len(nodes.left), dtype=empty.__getstate__()["nodes"].dtype)
        table["left_child"], table["right_child"] = nodes.left, nodes.right
        table["feature"] = np.where(nodes.left < 0, -2, nodes.feature)
        table["threshold"] = nodes.threshold
        values = np.zeros((len(nodes.left), 1, self.n_classes_))
        leaves = np.flatnonzero(nodes.label >= 0)
        values[leaves, 0, nodes.label[leaves]] = 1.0
        state = {
            "max_depth": levels,
            "node_count": len(table),
            "nodes": table,
            "values": values,
        }
        empty.__setstate__(state)
        self.tree_ = empty

    def _say(self, budget: PrivacyBudget) -> None:
        is_public = self.bounds is not None and self.classes is not None
        claim = PrivacyClaim(
            epsilon=float(self.epsilon),
            unit=ClaimUnit.RECORD,
            mechanism=LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC,
            label_epsilon=float(budget.label),
            splits=SplitOrigin.PRIVATE if budget.levels else SplitOrigin.INDEPENDENT,
            bounds_origin=BoundsOrigin.PUBLIC if is_public else BoundsOrigin.TABLE,
        )
        self.claim_ = claim.words
        self.spent_ = float(budget.total)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.poor_score = True  # noise may be all that small tables get
        tags.non_deterministic = True
        return tags


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
