"""Mirror images of a point: variables that the numbers of a program do not tell apart may change places.

Two classes with equal totals, or two leaves that are alike in everything, play the same part in a problem. An optimum
in which they differ is not the only one: with their places exchanged it is another that is exactly as good.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.ipopt.program import Program
from treewarden.audit.solver.canonical import Hashes, refined, rounded_program
from treewarden.audit.solver.task import SAME_SHARE, SMALL_PROGRAM
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

MOST_EXCHANGES = 40
"""Pairs of variables whose exchange is tried for one point: each takes some milliseconds."""
ERROR_RECORDS = 1e-6
"""By how much more than a point its image may break a row, in records."""
MARK = np.uint64(0x9E3779B97F4A7C15)


def mirror_images(program: Program, z: FloatArray, held: IndexArray) -> Iterator[FloatArray]:
    """Yield points that differ from ``z`` in the places of variables, and are as good; none for a large program.

    Variables with other numbers in ``held`` (variables,) do not change places.
    """
    if program.size > SMALL_PROGRAM:
        return
    program, begin = rounded_program(program), held.astype(np.uint64)
    colours, low, high, tried = refined(program, begin), z.copy(), z.copy(), 0
    for v in range(len(program.scale)):
        slack = SAME_SHARE * program.scale[v]
        for w in np.flatnonzero(colours == colours[v]).tolist():
            if low[w] - slack <= z[v] <= high[w] + slack:
                continue
            if tried == MOST_EXCHANGES:
                return
            tried += 1
            image = _exchanged(program, z, begin, (v, w))
            if _is_as_good(program, image, z):
                low, high = np.minimum(low, image), np.maximum(high, image)
                yield image


def _exchanged(program: Program, z: FloatArray, begin: Hashes, pair: tuple[int, int]) -> FloatArray:
    """Return ``z`` moved such that the second of a pair takes the first's place, the rest as the rows then ask for.

    What they leave open is decided by telling one more variable apart, the same on both sides.
    """
    here, there = begin.copy(), begin.copy()
    here[pair[0]] = there[pair[1]] = MARK
    while True:
        here, there = refined(program, here), refined(program, there)
        before, after = np.argsort(here, kind="stable"), np.argsort(there, kind="stable")
        is_open = (np.diff(here[before]) == 0) & (np.abs(np.diff(z[before])) > ERROR_RECORDS)
        if not is_open.any():
            break
        first = int(np.argmax(is_open))
        here[before[first]] = there[after[first]] = MARK
    image = np.empty_like(z)
    image[after] = z[before]
    return image


def _is_as_good(program: Program, image: FloatArray, z: FloatArray) -> bool:
    """Return whether an image breaks no row more than the point does, and has its objective: then it is one."""
    records = float(program.split_records.max(initial=1.0))
    return (
        program.linear_error(image) <= program.linear_error(z) + ERROR_RECORDS
        and program.split_error(image) <= program.split_error(z) + ERROR_RECORDS / records
        and abs(program.objective(image) - program.objective(z)) <= ERROR_RECORDS
    )
