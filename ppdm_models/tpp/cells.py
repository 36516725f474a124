"""One value per cell of a number between thresholds, so that every threshold is still the middle of its neighbours.

A cell lies between two consecutive thresholds of the attribute, over all trees. For each split, the values of the cells
that hold its nearest records left and right add up to twice its threshold. Cells that such equations join have one
free number between them; it is put near the middle of what keeps each value inside its own cell. Where there is no
such number, the cells keep the true values next to their splits (anchors), and each other value goes to the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.learn.attributes import threshold
from treewarden.ppdm_models.tpp.splits import Cut

FINEST = 60
"""The finest grid, in binary places, that a free number is looked for on."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The new value of each distinct value, shape (U,), and how many cells keep true values as anchors."""

    values: FloatArray
    anchored: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A cell's value as a function of its component's free number: ``sign * free + shift``."""

    sign: int
    shift: Fraction


def one_per_cell(distinct: FloatArray, cuts: Sequence[Cut], single: bool = False) -> Cells:
    """Return what stands for each of the ascending ``distinct`` values; ``single``: as numbers of 32 bits."""
    thresholds = np.unique([cut.threshold for cut in cuts])
    cell = np.searchsorted(thresholds, distinct)
    places = {value: int(where) for value, where in zip(distinct.tolist(), cell, strict=True)}
    joined = [(places[cut.left], places[cut.right], cut.threshold) for cut in cuts]
    ends = [-np.inf, *thresholds.tolist(), np.inf]
    bounds = {
        index: (max(ends[index], float(inside[0])), min(ends[index + 1], float(inside[-1])))
        if index in (0, len(thresholds))
        else (ends[index], ends[index + 1])
        for index in sorted(set(places.values()))
        for inside in [distinct[cell == index]]
    }
    values = distinct.copy()
    anchored = 0
    for component in _components(list(bounds), joined):
        own = [each for each in joined if each[0] in component]
        chosen = _solved(component, own, bounds, single)
        for index in component:
            here = np.flatnonzero(cell == index)
            if chosen is not None:
                values[here] = chosen[index]
            else:
                anchored += 1
                near = {value for cut in cuts for value in (cut.left, cut.right)}
                values[here] = _nearest(
                    distinct[here], [value for value in sorted(near) if places[value] == index]
                )
    return Cells(values, anchored)


def _components(cells: Sequence[int], joined: Sequence[tuple[int, int, float]]) -> list[list[int]]:
    """Return the cells that equations join, each group with its lowest cell first."""
    group = {index: index for index in cells}
    for left, right, _ in joined:
        old, new = group[right], group[left]
        group = {index: new if own == old else own for index, own in group.items()}
    found: dict[int, list[int]] = {}
    for index in cells:
        found.setdefault(group[index], []).append(index)
    return list(found.values())


def _solved(
    component: Sequence[int],
    joined: Sequence[tuple[int, int, float]],
    bounds: dict[int, tuple[float, float]],
    single: bool,
) -> dict[int, float] | None:
    """Return a value per cell that keeps every threshold to the last bit, or None where none was found."""
    solution = _lines(component[0], joined)
    if solution is None:
        return None
    lines, fixed = solution
    if len(component) == 1 and bounds[component[0]][0] == bounds[component[0]][1]:
        return {component[0]: bounds[component[0]][0]}
    low, high = _range(lines, bounds)
    if low >= high:
        return None
    free = _coarsest(low, high) if fixed is None else fixed
    if not low < free < high:
        return None
    exact = {index: line.sign * free + line.shift for index, line in lines.items()}
    values = {index: float(value) for index, value in exact.items()}
    if any(Fraction(values[index]) != value for index, value in exact.items()):
        return None
    if single and any(float(np.float32(value)) != value for value in values.values()):
        return None
    kept = all(threshold(values[left], values[right]) == at for left, right, at in joined)
    return values if kept else None


def _lines(
    root: int, joined: Sequence[tuple[int, int, float]]
) -> tuple[dict[int, _Line], Fraction | None] | None:
    """Return each cell's line and the free number where a cycle settles it; None where a cycle contradicts itself."""
    lines = {root: _Line(1, Fraction(0))}
    fixed: Fraction | None = None
    left_over = [*joined]
    while left_over:
        left, right, at = next(each for each in left_over if each[0] in lines or each[1] in lines)
        left_over.remove((left, right, at))
        known, other = (left, right) if left in lines else (right, left)
        line = _Line(-lines[known].sign, 2 * Fraction(at) - lines[known].shift)
        found = lines.setdefault(other, line)
        if found == line:
            continue
        if found.sign == line.sign:
            return None
        settled = (line.shift - found.shift) / (found.sign - line.sign)
        if fixed not in (None, settled):
            return None
        fixed = settled
    return lines, fixed


def _range(
    lines: dict[int, _Line], bounds: dict[int, tuple[float, float]]
) -> tuple[Fraction, Fraction]:
    """Return the open range of the free number in which every value is inside its cell."""
    lows, highs = [], []
    for index, line in lines.items():
        ends = [(Fraction(end) - line.shift) * line.sign for end in bounds[index]]
        lows.append(min(ends))
        highs.append(max(ends))
    return max(lows), min(highs)


def _coarsest(low: Fraction, high: Fraction) -> Fraction:
    """Return the number with the fewest binary places in the middle half of an open range."""
    middle, margin = (low + high) / 2, (high - low) / 4
    for places in range(FINEST):
        number = Fraction(round(middle * 2**places), 2**places)
        if abs(number - middle) <= margin:
            return number
    return middle


def _nearest(values: FloatArray, anchors: Sequence[float]) -> FloatArray:
    """Return the nearest anchor of each value, the lower of two."""
    known = np.array(anchors)
    above = np.clip(np.searchsorted(known, values), 0, len(known) - 1)
    below = np.maximum(above - 1, 0)
    is_below = values - known[below] <= known[above] - values
    nearest: FloatArray = np.where(is_below, known[below], known[above])
    return nearest
