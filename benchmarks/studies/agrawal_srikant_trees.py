"""Trees on true and on noisy values as they are, for comparison: scikit-learn's, pruned like those of intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from treewarden.ppdm_models.methods.randomised.growing import leaf_costs, split_costs

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


class Ordinary:
    """A CART tree with thresholds between values, grown to the end and pruned by how long it takes to tell it."""

    def __init__(self, columns: Numbers, classes: Codes) -> None:
        fitted = DecisionTreeClassifier(random_state=0).fit(columns, classes).tree_
        sizes = fitted.n_node_samples.astype(np.int64)
        counts = np.rint(fitted.value[:, 0, :] * sizes[:, None]).astype(np.int64)
        costs = leaf_costs(counts)
        splits = split_costs(columns.shape[1], sizes - 1)
        self._left, self._right = fitted.children_left.copy(), fitted.children_right.copy()
        for node in reversed(range(len(costs))):
            left, right = self._left[node], self._right[node]
            if left >= 0:
                whole = splits[node] + costs[left] + costs[right]
                if whole < costs[node]:
                    costs[node] = whole
                else:
                    self._left[node] = -1
        self._feature, self._threshold = fitted.feature, fitted.threshold
        self._label = counts.argmax(axis=1)

    def predicted(self, columns: Numbers) -> Codes:
        """Return the class of each record; columns have shape (records, attributes)."""
        columns = columns.astype(np.float32)  # as it was learned
        at = np.zeros(len(columns), np.int64)
        moving = np.arange(len(columns))
        while len(moving):
            moving = moving[self._left[at[moving]] >= 0]
            here = at[moving]
            goes_left = columns[moving, self._feature[here]] <= self._threshold[here]
            at[moving] = np.where(goes_left, self._left[here], self._right[here])
        found: Codes = self._label[at]
        return found
