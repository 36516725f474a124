"""What arrays hold, by name: shapes stand in the docstrings of those who take and return them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
"""Counts and other whole numbers."""
IndexArray = NDArray[np.intp]
"""Places in another array."""
NumberArray = NDArray[np.number]
"""Whole numbers or others: what is done with them is the same."""
