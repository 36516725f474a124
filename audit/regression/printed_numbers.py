"""The numbers that leaves publish, and how far printing may have moved them from what was computed."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Tree

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
FULL_DIGITS = 15
"""Numbers with so many digits were not rounded for reading."""


def rounding(numbers: FloatArray) -> FloatArray:
    """Return how far published numbers may lie from what was computed; NaN stands for none.

    Numbers of full length are of 64 bits, or of 32 where all are such; others were rounded to so many decimals, or to
    so many digits, as the longest of them has.
    """
    finite = numbers[np.isfinite(numbers)]
    size = np.abs(np.nan_to_num(numbers))
    room = np.where(_are_single(finite), 2 * SINGLE, 2 * DOUBLE) * size
    digits, decimals = (
        max((each[k] for each in map(_length, finite.tolist())), default=0) for k in (0, 1)
    )
    if digits >= FULL_DIGITS:
        return np.asarray(room)
    # Of a number whose last digits are 0 these need not be printed: whichever way it was cut, the wider one is taken.
    with np.errstate(divide="ignore"):
        first = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    cut = np.maximum(0.5 * 10.0**-decimals, 0.5 * 10.0 ** (first + 1 - digits))
    return np.asarray(room + cut * (1 + 2.0**-40))


def _are_single(numbers: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32).astype(np.float64) == numbers).all())


def _length(number: float) -> tuple[int, int]:
    """Return how many digits and how many decimals a number has."""
    digits, _, exponent = f"{number:.17g}".partition("e")
    digits, _, exponent = repr(float(digits + "e" + (exponent or "0"))).partition("e")
    whole, _, decimals = digits.lstrip("-").partition(".")
    decimals = "" if decimals == "0" else decimals
    shift = int(exponent or 0)
    return len((whole + decimals).strip("0")), max(len(decimals) - shift, 0)


def numbers_said(tree: Tree) -> FloatArray:
    """Return what each node says, NaN where it is no number."""
    scores = (node.score for node in tree.nodes)
    return np.array(
        [one if isinstance(one, int | float) else np.nan for one in scores], dtype=float
    )
