"""What leaves say of how many of their records have a class, as rows over cells of people that no leaf tells apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.joint.scaled import Scaled
from treewarden.ppdm_models.arrays import IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class JointRows:
    """Rows over cells: in every table that fits, ``low <= sum of x[cells of a row, class of the row] <= high``.

    A cell is all people who stop in the same leaf of every tree; C cells have ``sizes`` people, shape (C,), and x[c, k]
    of them have class k, of ``classes`` many. ``matrix`` is sparse (CSR), shape (R, C), of zeros and ones; where rows
    are of draws, of how often each person of a cell was drawn. ``low`` and ``high`` are whole numbers, shape (R,),
    proved of the number of people, or of draws; ``output`` (R,) is the class that a row counts. ``trees`` and
    ``nodes`` (R,) say which leaf a row is of; a tree below 0 is that of all people, or of those who are new in a
    release. Of two classes only the second one is counted. ``scaled`` are rows over the same numbers whose coefficients
    are others.
    """

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray
    trees: IndexArray
    nodes: IndexArray
    sizes: IntArray
    classes: int
    scaled: Scaled | None = None

    def __post_init__(self) -> None:
        if self.matrix.shape != (len(self.low), len(self.sizes)):
            raise ValueError("rows and cells do not fit the matrix")
        if (self.low > self.high).any():
            raise ValueError("a row that nothing can fulfil")

    @property
    def people(self) -> IntArray:
        """How many people each row is about, or draws of people, shape (R,)."""
        return np.asarray(self.matrix @ self.sizes)
