"""Does a proof by weights of rows again, in fractions and from the rows alone, by listing what each cell may hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from treewarden.audit.engine.counts import Counts
from treewarden.ppdm_models.arrays import IntArray


def proved_again(
    counts: Counts, begin: tuple[IntArray, IntArray], ends: tuple[IntArray, IntArray], d: IntArray
) -> bool:
    """Whether weights prove that numbers within ``begin`` are within ``ends``: all in fractions, from the rows alone.

    With a number beyond its new end, whatever the others are, the weighed rows add up to less than their least.
    """
    weights = [Fraction(int(w), 7) for w in d]
    z = [
        sum((w * int(a) for w, a in zip(weights, column, strict=True)), Fraction(0))
        for column in counts.matrix.toarray().T
    ]
    zs = [z[i : i + counts.width] for i in range(0, len(z), counts.width)]
    ways = [
        [each for each in _within(int(n), low, high) if counts.width == 1 or sum(each) == n]
        for n, low, high in zip(counts.sizes, *(end.tolist() for end in begin), strict=True)
    ]
    sums = [
        [sum((a * b for a, b in zip(of, way, strict=True)), Fraction(0)) for way in each]
        for of, each in zip(zs, ways, strict=True)
    ]
    rows = zip(weights, counts.low.tolist(), counts.high.tolist(), strict=True)
    least = sum((min(w * low, w * high) for w, low, high in rows), Fraction(0))
    best = sum((max(each) for each in sums), Fraction(0))
    for c, (each, totals) in enumerate(zip(ways, sums, strict=True)):
        for way, total in zip(each, totals, strict=True):
            is_inside = all(
                low <= number <= high
                for number, low, high in zip(way, ends[0][c], ends[1][c], strict=True)
            )
            if not is_inside and best - max(totals) + total >= least:
                return False
    return True


def _within(size: int, low: list[int], high: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of a cell in its box, whatever they add up to."""
    yield from itertools.product(
        *(range(a, min(b, size) + 1) for a, b in zip(low, high, strict=True))
    )
