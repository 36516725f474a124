"""Which records LightGBM's bagging drew for each tree: it follows from the seed, a share and the number of records.

See ``src/boosting/bagging.hpp`` and ``include/LightGBM/utils/random.h`` of LightGBM 4: every block of 1,024 records has
a generator of its own, of the seed plus the block's number, whose state runs on from one drawing to the next.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.tree.growth import Growth

BLOCK = 1024
FACTOR, STEP = np.uint64(214013), np.uint64(2531011)
LOW_BITS, SHIFT, STEPS = np.uint64(0xFFFFFFFF), np.uint64(16), np.uint64(0x7FFF)
SHARES = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")


def is_bagged(growth: Growth) -> bool:
    """Return whether each round saw a sample of the records."""
    shares = [growth.fact(name).value for name in SHARES]
    is_less = any(share not in (None, 1.0) for share in shares)
    return bool(growth.fact("bagging_freq").value) and is_less


def bagged(case: GrownCase, seed: int) -> IntArray | None:
    """Return how often each tree drew each record, (T, n), 0 or 1; None where the file says another way of drawing."""
    growth = case.growth
    share, every = (growth.fact(name).value for name in ("bagging_fraction", "bagging_freq"))
    by_class = [growth.fact(name).value for name in SHARES[1:]]
    if not share or not every or any(each not in (None, 1.0) for each in by_class):
        return None
    found = np.zeros((len(growth.trees), len(case.people)), dtype=np.int64)
    state = _begun(seed, len(case.people))
    drawn = found[0]
    for number, trees in enumerate(growth.rounds):
        if number % int(every) == 0:
            state, drawn = _drawn(state, len(case.people), share)
        found[list(trees)] = drawn
    return found


def _begun(seed: int, size: int) -> np.ndarray:
    blocks = np.arange((size + BLOCK - 1) // BLOCK, dtype=np.uint64)
    return (blocks + np.uint64(seed % 2**32)) & LOW_BITS


def _drawn(state: np.ndarray, size: int, share: float) -> tuple[np.ndarray, IntArray]:
    """Return the state after one drawing, and whether each record was drawn: all blocks take a step at a time."""
    drawn = np.zeros((len(state), BLOCK), dtype=np.int64)
    starts = np.arange(len(state)) * BLOCK
    for at in range(min(BLOCK, size)):
        stepped = (state * FACTOR + STEP) & LOW_BITS
        state = np.where(starts + at < size, stepped, state)
        drawn[:, at] = ((state >> SHIFT) & STEPS).astype(np.float64) / 32768.0 < share
    return state, drawn.reshape(-1)[:size]
