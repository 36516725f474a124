"""Columns of a table, made of their values."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.tree.column import NumericColumn


def numeric_column(*values: float) -> NumericColumn:
    """Return a column of numbers; NaN is missing."""
    return NumericColumn(np.array(values, dtype=float))
