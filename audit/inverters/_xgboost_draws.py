"""Which records XGBoost's ``subsample`` drew for each tree: it follows from the seed, 0 unless somebody sets it.

As XGBoost 3.2 draws on processors; see ``src/tree/hist/sampler.h`` (tree methods hist and approx) and
``src/tree/updater_colmaker.cc`` (exact). One generator, ``std::mt19937``, runs on over all trees. For hist its next
number begins a multiplicative generator modulo 2^63 with a step per record, for exact two of its numbers make the 53
bits of each record's; a number of its own goes to the columns, once or per tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from treewarden.audit.inverters import Draws, GrownCase
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.growth import Growth, derived

FACTOR = np.uint64(16807)
BELOW = np.uint64(2**63 - 1)
DIGITS = 4
"""People choose shares with few digits: up to so many are tried."""
MOST_NUMBERS = 20_000_000
"""So many numbers are drawn at most."""
CLOSE = 1e-5
LOGARITHMIC = ("binary:logistic", "multi:softprob", "multi:softmax")


def drawn(case: GrownCase, seed: int) -> Iterator[Draws]:
    """Yield how often each tree may have drawn each record, 0 or 1, for each way of growing that fits."""
    trees, size = len(case.growth.trees), len(case.people)
    if not 0 <= seed < 2**32 or trees * size > MOST_NUMBERS:
        return
    first = drawn_first(case.growth)
    if first is None:
        return
    seen = set[bytes]()
    for numbers in (_of_hist(seed, trees, size), _of_exact(seed, trees, size)):
        for share in _shares(case, numbers[0], first):
            often = (numbers < np.float32(share)).astype(np.int64)
            digest = hashlib.sha256(often.tobytes()).digest()
            if digest in seen:
                continue
            seen.add(digest)
            is_told = case.growth.fact("subsample").value is not None
            yield Draws(often, {} if is_told else {"subsample": derived(share)})


def _of_hist(seed: int, trees: int, size: int) -> FloatArray:
    """Return the number in [0, 1) that decides on each record, for each tree."""
    powers = np.multiply.accumulate(np.full(size, FACTOR))  # modulo 2^64, which 2^63 divides
    begins = _twister(seed, trees + 1)[1:]
    states = (begins[:, None] * powers[None, :]) & BELOW
    return np.asarray((states.astype(np.float64) - 1.0) / 2.0**63)


def _of_exact(seed: int, trees: int, size: int) -> FloatArray:
    """Return the same where trees were grown by the exact method."""
    numbers = _twister(seed, trees * (2 * size + 1)).astype(np.float64)
    pairs = numbers.reshape(trees, -1)[:, : 2 * size]
    return np.asarray((pairs[:, 0::2] + pairs[:, 1::2] * 2.0**32) / 2.0**64)


def _twister(seed: int, size: int) -> np.ndarray:
    """Return the first numbers of the Mersenne Twister."""
    numbers = np.random.RandomState(seed).randint(0, 2**32, size=size, dtype=np.uint32)
    return numbers.astype(np.uint64)


def drawn_first(growth: Growth) -> int | None:
    """Return how many records the first tree drew, all of which had the same second derivative; None if not known."""
    hessians, start = growth.trees[0].hessians, growth.start
    if hessians is None or start is None or np.isnan(hessians[0]):
        return None
    is_weighed = growth.fact("scale_pos_weight").value not in (None, 1.0)
    if is_weighed or growth.objective not in LOGARITHMIC:
        return None
    scores = np.array(start)
    if growth.outputs == 1:
        share, factor = 1 / (1 + np.exp(-scores[0])), 1.0
    else:
        powers = np.exp(scores - scores.max())
        share, factor = powers[growth.trees[0].output] / powers.sum(), 2.0
    each = factor * share * (1 - share)
    found = float(hessians[0] / each) if each > 0 else np.nan
    whole = np.rint(found)
    return (
        int(whole) if np.isfinite(found) and abs(found - whole) <= CLOSE * whole + CLOSE else None
    )


def _shares(case: GrownCase, numbers: FloatArray, first: int) -> Iterator[float]:
    """Yield the shares under which the first tree drew so many records: the one told, else the shortest decimals."""
    told = case.growth.fact("subsample").value
    tried = [told]
    if told is None:
        ordered = np.sort(numbers)
        low = ordered[first - 1] if 0 < first <= len(ordered) else 0.0
        high = ordered[first] if first < len(ordered) else 1.0
        tried = [
            number / 10**digits
            for digits in range(1, DIGITS + 1)
            for number in range(int(low * 10**digits), int(high * 10**digits) + 2)
        ]
    seen = set()
    for share in tried:
        if share is None or not 0 < share < 1 or share in seen:
            continue
        seen.add(share)
        if int((numbers < np.float32(share)).sum()) == first:
            yield share
        if len(seen) > 10**3:
            return
