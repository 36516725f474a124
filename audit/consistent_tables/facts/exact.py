"""Exact arithmetic on split rows: whether a candidate split beats the chosen one, decided without rounding errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, NumberArray
from treewarden.ppdm_models.tree.tree import Criterion

SLACK_SHARE = Fraction(1, 10**9)
"""What the learner's own floating point may have missed, as a share of the node's records."""
PRECISIONS = (40, 80, 160, 320)
"""Decimal digits tried in turn; a gain ratio still undecided after the last is called a tie."""

Branches = Sequence[Sequence[int]]


def is_beaten(criterion: Criterion, chosen: Branches, candidate: Branches, strict: bool) -> bool:
    """Return whether the candidate split is better than the chosen one, so that no such table can be.

    Both are whole records per branch and class of the same node. E(chosen) <= E(candidate) + slack must hold, or
    E(chosen) < E(candidate) where ties are known to go the other way (``strict``).
    """
    if criterion is Criterion.GINI:
        gap = _gini(candidate) - _gini(chosen)
        return gap >= 0 if strict else gap > SLACK_SHARE * _size(chosen)
    if criterion is Criterion.ENTROPY:
        return _entropy_beaten(chosen, candidate, strict)
    return _ratio_beaten(chosen, candidate, strict)


def _size(branches: Branches) -> int:
    return sum(sum(branch) for branch in branches)


def _gini(branches: Branches) -> Fraction:
    """Return the sum of squares over branch sizes: the larger, the purer."""
    total = Fraction(0)
    for branch in branches:
        size = sum(branch)
        if size:
            total += Fraction(sum(count * count for count in branch), size)
    return total


def _powers(branches: Branches, sign: int) -> list[tuple[int, int]]:
    """Return -E of a split as sum of weight * ln(base): pairs (base, weight)."""
    found = []
    for branch in branches:
        found += [(count, sign * count) for count in branch if count > 1]
        found.append((max(sum(branch), 1), -sign * sum(branch)))
    return found


def _entropy_beaten(chosen: Branches, candidate: Branches, strict: bool) -> bool:
    """E(chosen) - E(candidate) is the logarithm of a rational number: it is 0 only where that number is 1."""
    weights: dict[int, int] = {}
    for base, weight in _powers(candidate, 1) + _powers(chosen, -1):
        weights[base] = weights.get(base, 0) + weight
    terms = [(base, weight) for base, weight in weights.items() if base > 1 and weight]
    if strict and is_one(terms):
        return True
    limit = Fraction(0) if strict else SLACK_SHARE * _size(chosen)
    if not terms:
        return limit < 0
    digits = PRECISIONS[0]
    while True:
        low, high = _log_of_powers(terms, digits)
        if low > limit:
            return True
        if high < limit or (high == limit and not strict):
            return False
        digits *= 2


def _log_of_powers(terms: Sequence[tuple[int, int]], digits: int) -> tuple[Fraction, Fraction]:
    """Return ends between which the sum of weight * ln(base) lies; Decimal.ln is correctly rounded."""
    context = Context(prec=digits)
    total, error = Fraction(0), Fraction(0)
    for base, weight in terms:
        logarithm = Fraction(context.ln(Decimal(base)))
        total += weight * logarithm
        error += abs(weight) * logarithm / 10 ** (digits - 1)
    return total - error, total + error


def is_one(terms: Sequence[tuple[int, int]]) -> bool:
    """Return whether the product of base ** weight is 1, by splitting the bases into coprime factors."""
    left = [base for base, _ in terms]
    factors: list[int] = []
    while left:
        number = left.pop()
        if number == 1:
            continue
        for place, factor in enumerate(factors):
            shared = math.gcd(number, factor)
            if shared > 1:
                del factors[place]
                left += [number // shared, factor // shared, shared]
                break
        else:
            factors.append(number)
    return all(sum(weight * _times(base, f) for base, weight in terms) == 0 for f in factors)


def _times(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return count


def _ratio_beaten(chosen: Branches, candidate: Branches, strict: bool) -> bool:
    """Compare gain / split information crosswise (Quinlan 1993), with more digits until it is decided."""
    node = [[sum(counts) for counts in zip(*chosen, strict=True)]]
    size = _size(chosen)
    for digits in PRECISIONS:
        impure = _bounds(node, digits), _bounds(chosen, digits), _bounds(candidate, digits)
        sizes = _bounds(_sizes(chosen), digits), _bounds(_sizes(candidate), digits)
        whole, after_chosen, after_candidate = impure
        of_chosen, of_candidate = sizes
        gain_chosen = _minus(whole, after_chosen)
        gain_candidate = _minus(whole, after_candidate)
        # gain(candidate) - gain(chosen) * SI(candidate) / SI(chosen) <= slack, times SI(chosen)
        limit = (Fraction(0), Fraction(0))
        if not strict:
            limit = (SLACK_SHARE * size * of_chosen[0], SLACK_SHARE * size * of_chosen[1])
        gap = _minus(_times_interval(gain_candidate, of_chosen), limit)
        gap = _minus(gap, _times_interval(gain_chosen, of_candidate))
        if gap[0] > 0:
            return True
        if gap[1] < 0:
            return False
    # Equal to the last of the digits: a tie, which a strict learner would not have left standing.
    return strict


def _sizes(branches: Branches) -> list[list[int]]:
    return [[sum(branch) for branch in branches]]


Pair = tuple[Fraction, Fraction]


def _bounds(branches: Branches, digits: int) -> Pair:
    """Return ends for n * E of a split in nats."""
    low, high = _log_of_powers([(b, -w) for b, w in _powers(branches, 1) if b > 1], digits)
    return low, high


def _minus(a: Pair, b: Pair) -> Pair:
    return a[0] - b[1], a[1] - b[0]


def _times_interval(a: Pair, b: Pair) -> Pair:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


# Whether floats find two splits equal: where they compute both from the same numbers.


def part_alike(criterion: Criterion, branches: NumberArray, chosen: NumberArray) -> BoolArray:
    """Return where two splits (T, branches, m) have the same branches, in any order, so that floats find them equal.

    So do they where classes stand in another order: squares of counts are whole, and two terms have one sum.
    """
    if branches.shape[1] != chosen.shape[1]:
        return np.zeros(len(branches), dtype=bool)
    of_two = np.count_nonzero(branches, axis=2).max(axis=1, initial=0) <= 2
    in_any_order = np.sort(branches, axis=2), np.sort(chosen, axis=2)
    same = _are_same(*in_any_order) & (of_two | (criterion is Criterion.GINI))
    return np.asarray(same | _are_same(branches, chosen))


def _are_same(branches: NumberArray, chosen: NumberArray) -> BoolArray:
    if branches.shape[1] == 2:
        same = (branches == chosen).all(axis=(1, 2))
        return np.asarray(same | (branches == chosen[:, ::-1]).all(axis=(1, 2)))
    pairs = zip(branches.tolist(), chosen.tolist(), strict=True)
    return np.array([sorted(one) == sorted(other) for one, other in pairs], dtype=bool)
