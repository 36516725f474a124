"""The rows of a scikit-learn tree's state, as files hold them: by field name where there are names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.codecs.sklearn.arrays import TreeArrays
from treewarden.ppdm_models.errors import TreeFormatError

FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)

Columns = Mapping[str, NDArray[np.generic]]


def arrays_of(
    columns: Columns, values: NDArray[np.generic], where: str, features: int
) -> TreeArrays:
    """Return the checked arrays of a tree from its columns and its nodes x outputs x classes values.

    Raises:
        TreeFormatError: a column is missing or no number, or it predicts several outputs.
    """
    absent = [name for name in FIELDS if name not in columns]
    if absent:
        raise TreeFormatError(where, f"its nodes have no {absent[0]}")
    kinds = {name: columns[name].dtype.kind for name in columns}
    if any(kinds[name] not in "biuf" for name in columns) or values.dtype.kind not in "iuf":
        raise TreeFormatError(where, "a node holds something that is no number")
    if values.ndim != 3 or values.shape[2] < 1:
        raise TreeFormatError(where, "its values are not nodes x outputs x classes")
    if values.shape[1] != 1:
        raise TreeFormatError(where, f"predicts {values.shape[1]} outputs; give a tree with one")
    to_left = columns.get("missing_go_to_left")
    arrays = TreeArrays(
        children_left=_whole(columns["left_child"], where),
        children_right=_whole(columns["right_child"], where),
        feature=_whole(columns["feature"], where),
        threshold=columns["threshold"].astype(np.float64),
        samples=_whole(columns["n_node_samples"], where),
        weighted=columns["weighted_n_node_samples"].astype(np.float64),
        value=values[:, 0, :].astype(np.float64),
        missing_left=None if to_left is None else to_left.astype(bool),
        impurity=columns["impurity"].astype(np.float64),
    )
    arrays.check(where, features)
    return arrays


def _whole(column: NDArray[np.generic], where: str) -> IntArray:
    numbers = column.astype(np.float64)
    if not (np.abs(numbers) < 2**53).all() or (numbers != np.round(numbers)).any():
        raise TreeFormatError(where, "a node holds a fraction where a whole number should be")
    return numbers.astype(np.int64)
