"""Leaf values of trees that saw a sample of the records: what they say of a leaf's people, and which were drawn.

Of m people k were drawn. Whatever is added up over those drawn lies between the sum of the k smallest and that of the k
largest. So the labels of the drawn lie between whole numbers a and b, and the labels of all between a and b + m - k.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import Draws, GrownCase
from treewarden.audit.inverters._bounds import TINY, NumberBounds
from treewarden.audit.inverters._rounds import Gathered, Leafs
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, derived

NOT_FROM_HERE = (
    "no sample of this table gives the model's numbers: it was trained on another table, "
    "with weights, or with unpublished settings"
)
NO_COUNTS = (
    "each tree used a sample of the records, and the file contains neither record counts "
    "nor sums of second derivatives of leaves. So the training table cannot be confirmed"
)


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """The least and the greatest sum over k of the people of each leaf, for every k: ``of(leaf)[...][k]``.

    ``low`` and ``high`` have the sums of all leaves one after the other, from ``starts[leaf]`` on.
    """

    low: FloatArray
    high: FloatArray
    starts: IndexArray

    def at(self, drawn: FloatArray) -> NumberBounds:
        """Return the sums over so many people of each leaf, (L,)."""
        places = self.starts[:-1] + drawn.astype(np.intp)
        return NumberBounds(self.low[places], self.high[places])

    def sums_of(self, leaf: int) -> NumberBounds:
        """Return the sums over 0, 1, 2 and so on people of one leaf."""
        part = slice(self.starts[leaf], self.starts[leaf + 1])
        return NumberBounds(self.low[part], self.high[part])


def extremes(case: GrownCase, leaves: Leafs, numbers: NumberBounds) -> Extremes:
    """Return the extremes of the sums of what each person of a profile adds, (P,)."""
    people = np.rint(case.people).astype(np.intp)
    place = np.repeat(leaves.place, people)
    low = _partial(place, np.repeat(numbers.low, people), len(leaves.nodes))
    high = -_partial(place, -np.repeat(numbers.high, people), len(leaves.nodes))
    sizes = np.bincount(place, minlength=len(leaves.nodes)) + 1
    room = TINY * len(place) * (np.abs(low) + np.abs(high) + 1.0)
    return Extremes(low - room, high + room, np.concatenate(([0], np.cumsum(sizes))))


def _partial(place: IndexArray, numbers: FloatArray, leaves: int) -> FloatArray:
    """Return the sums of the 0, 1, 2 and so on smallest numbers of each leaf, leaf by leaf."""
    order = np.lexsort((numbers, place))
    parts = np.split(numbers[order], np.cumsum(np.bincount(place, minlength=leaves))[:-1])
    return np.concatenate([np.concatenate(([0.0], np.cumsum(part))) for part in parts])


def is_from_sample(leaves: Leafs, drawn: FloatArray) -> bool:
    """Whether no leaf drew more people than it has, or nobody."""
    is_whole = (drawn == np.rint(drawn)) & (drawn >= 1)
    return bool((is_whole & (drawn <= leaves.members)).all())


def add_sampled(
    gathered: Gathered, leaves: Leafs, output: int, sums: NumberBounds, drawn: FloatArray
) -> Undetermined | None:
    """Take the sums over the drawn people of a tree's leaves; return why they cannot be had."""
    low = np.maximum(np.ceil(sums.low), 0.0)
    high = np.minimum(np.floor(sums.high), drawn)
    if (low > high).any():
        return Undetermined(NOT_FROM_HERE)
    missing = leaves.members - drawn
    gathered.parts.append(
        (leaves, output, NumberBounds(low, high + missing), sums.high - sums.low + missing)
    )
    return None


# The records that LightGBM's bagging drew for each tree: they follow from the seed, a share and the record count.
#
# See ``src/boosting/bagging.hpp`` and ``include/LightGBM/utils/random.h`` of LightGBM 4: every block of 1,024 records
# has a generator of its own, of the seed plus the block's number, whose state runs on from one drawing to the next.

BLOCK = 1024
FACTOR, STEP = np.uint64(214013), np.uint64(2531011)
LOW_BITS, SHIFT, STEPS = np.uint64(0xFFFFFFFF), np.uint64(16), np.uint64(0x7FFF)
SHARES = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")


def is_bagged(growth: EnsembleGrowth) -> bool:
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


# The records that XGBoost's ``subsample`` drew for each tree: they follow from the seed, which is 0 by default.
#
# As XGBoost 3.2 draws on processors; see ``src/tree/hist/sampler.h`` (tree methods hist and approx) and
# ``src/tree/updater_colmaker.cc`` (exact). One generator, ``std::mt19937``, runs on over all trees. For hist its next
# number begins a multiplicative generator modulo 2^63 with a step per record, for exact two of its numbers make the 53
# bits of each record's; a number of its own goes to the columns, once or per tree.

XGBOOST_FACTOR = np.uint64(16807)
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
    powers = np.multiply.accumulate(
        np.full(size, XGBOOST_FACTOR)
    )  # modulo 2^64, which 2^63 divides
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


def drawn_first(growth: EnsembleGrowth) -> int | None:
    """Return how many records the first tree drew, all of which had the same second derivative; None if not known."""
    hessians, start = growth.trees[0].hessians, growth.start
    if hessians is None or start is None or np.isnan(hessians[0]):
        return None
    is_weighed = growth.fact("scale_pos_weight").value not in (None, 1.0)
    is_weighed |= bool(growth.fact("is_unbalance").value)
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
