"""Scalers before a tree: a threshold on the scaled value, as the largest raw value on its left."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ppdm_models.codecs.skops.schema import Part
from ppdm_models.tree.predicate import NumericTest, Predicate
from ppdm_models.tree.tree import Feature, Node, Tree


@dataclass(frozen=True, slots=True)
class Scaler:
    """What is done to each feature, in order: (operation, operand) pairs on 64-bit numbers."""

    columns: tuple[tuple[tuple[str, float], ...], ...]

    def of(self, column: int, value: float) -> float:
        """Return a raw value as the tree sees it: scaled, then rounded to 32 bits."""
        number = np.float64(value)
        with np.errstate(all="ignore"):
            for operation, operand in self.columns[column]:
                if operation == "-":
                    number = number - operand
                elif operation == "+":
                    number = number + operand
                elif operation == "*":
                    number = number * operand
                else:
                    number = number / operand
            return float(np.float32(number))


def scaler_of(step: Part, features: int) -> Scaler | None:
    """Return what a StandardScaler or MinMaxScaler does, None where it is another step or does more than that."""
    known = step.attributes()
    if step.kind == "StandardScaler":
        wanted = [("-", "mean_", "with_mean"), ("/", "scale_", "with_std")]
    elif step.kind == "MinMaxScaler" and not _is_on(known, "clip", False):
        wanted = [("*", "scale_", ""), ("+", "min_", "")]
    else:
        return None
    columns: list[list[tuple[str, float]]] = [[] for _ in range(features)]
    for operation, name, switch in wanted:
        if switch and not _is_on(known, switch, True):
            continue
        if name not in known or known[name].loader != "NdArrayNode":
            return None
        operands = known[name].array()
        usable = operands.shape == (features,) and operands.dtype.kind == "f"
        if not usable or not np.isfinite(operands.astype(np.float64)).all():
            return None
        if name == "scale_" and (operands.astype(np.float64) <= 0).any():
            return None
        for column, operand in zip(columns, operands.tolist(), strict=True):
            column.append((operation, float(operand)))
    return Scaler(tuple(map(tuple, columns)))


def chained(first: Scaler, second: Scaler) -> Scaler:
    """Return both scalers, one after the other."""
    pairs = zip(first.columns, second.columns, strict=True)
    return Scaler(tuple((*before, *after) for before, after in pairs))


def unscaled(tree: Tree, scaler: Scaler) -> Tree:
    """Return the tree with its tests on raw 64-bit values: exact, since scaling and rounding keep the order."""
    places = {feature.name: place for place, feature in enumerate(tree.features)}
    ends: dict[tuple[int, float], float] = {}
    nodes = []
    for node in tree.nodes:
        nodes.append(_unscaled(node, scaler, places, ends))
    features = tuple(Feature(feature.name, numeric=True) for feature in tree.features)
    return replace(tree, nodes=tuple(nodes), features=features)


def _unscaled(
    node: Node, scaler: Scaler, places: Mapping[str, int], ends: dict[tuple[int, float], float]
) -> Node:
    test = node.test
    if not isinstance(test, NumericTest):
        return node
    threshold = test.high if math.isfinite(test.high) else test.low
    key = places[test.feature], threshold
    if key not in ends:
        ends[key] = largest(lambda value: scaler.of(key[0], value) <= threshold)
    end = ends[key]
    is_left = math.isfinite(test.high)
    raw: Predicate = (
        NumericTest(test.feature, high=end, high_closed=True)
        if is_left
        else NumericTest(test.feature, low=end)
    )
    return replace(node, test=raw)


def largest(holds: Callable[[float], bool]) -> float:
    """Return the largest finite number for which a condition holds that no larger number can meet again.

    The lowest finite number where it holds for none: then no record is left of it.
    """
    low, high = _rank(-1.7976931348623157e308), _rank(1.7976931348623157e308)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(_number(middle)):
            low = middle
        else:
            high = middle - 1
    return _number(low)


def _rank(value: float) -> int:
    """Return the place of a number among all 64-bit numbers, in their order."""
    bits = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _number(rank: int) -> float:
    bits = rank if rank >= 0 else (-rank) | (1 << 63)
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _is_on(known: Mapping[str, Part], name: str, default: bool) -> bool:
    return bool(known[name].plain()) if name in known else default
