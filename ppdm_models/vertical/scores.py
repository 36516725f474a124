"""How good a split is for ID3, in whole numbers: the same on every machine and for every order of records.

The score is records times conditional entropy, n H(class | attribute), in steps of 2^-20 bits; smaller is better.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

STEPS_PER_BIT = 2**20
FINE = 2**40
"""Each n log2 n is kept in this many steps for one step of the score, so that sums hardly ever round otherwise."""
_PRECISE = Context(prec=60)
Counts = NDArray[np.int64]


def score(counts: Counts) -> int:
    """Return records times conditional entropy of a split; ``counts`` has shape (branches, classes)."""
    sizes = sum(_n_log_n(int(size)) for size in counts.sum(axis=1))
    cells = sum(_n_log_n(int(cell)) for cell in counts.ravel())
    return (sizes - cells + FINE // 2) // FINE


@lru_cache(maxsize=1 << 16)
def _n_log_n(count: int) -> int:
    """Return n log2 n in steps of 2^-60 bits, rounded; 0 of 0."""
    if count < 2:
        return 0
    bits = _PRECISE.divide(_PRECISE.ln(Decimal(count)), _PRECISE.ln(Decimal(2)))
    return int(_PRECISE.multiply(bits, Decimal(count * STEPS_PER_BIT * FINE)).to_integral_value())


def majority(totals: Counts) -> int:
    """Return the most frequent class, the first of several."""
    return int(np.argmax(totals))
