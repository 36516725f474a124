"""What the leaf rows say together about each node where records stop, and the estimate they give on their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class LeafKnowledge:
    """All that is known of the records that stop at one node.

    Their number, each class's mass in [low, high], and which class leads by ``margin``; ``named`` (m,) says which
    classes the rows tell apart.
    """

    node: int
    records: float
    low: FloatArray
    high: FloatArray
    label: int | None
    margin: float
    named: BoolArray

    @property
    def known(self) -> FloatArray:
        """The mass of each class, NaN where it is not known exactly."""
        return np.where(self.low == self.high, self.low, np.nan)


def leaf_knowledge(system: System) -> dict[int, LeafKnowledge]:
    """Return what the leaf rows say together, per node where records stop."""
    population, m = system.case.population, len(system.case.tree.classes)
    sizes = np.bincount(population.leaf, weights=population.counts)
    there = np.flatnonzero(np.bincount(population.leaf))
    low = {node: np.zeros(m) for node in there.tolist()}
    high = {node: np.full(m, sizes[node]) for node in low}
    named = {node: np.zeros(m, dtype=bool) for node in low}
    for node, ends in system.ends.items():
        for end in ends:
            low[node][end.klass] = max(low[node][end.klass], end.low)
            high[node][end.klass] = min(high[node][end.klass], end.high)
            named[node][end.klass] = True
    for node, lead in system.leads.items():
        named[node][lead.label] = True
    found = {}
    for node in low:
        complete(low[node], high[node], float(sizes[node]))
        label = system.leads.get(node)
        found[node] = LeafKnowledge(
            node,
            float(sizes[node]),
            low[node],
            high[node],
            None if label is None else label.label,
            0.0 if label is None else label.margin,
            named[node],
        )
    return found


def complete(low: FloatArray, high: FloatArray, records: float) -> None:
    """Tighten each class's ends by what the others leave of the node's records; exact masses stay exact."""
    rest_high = records - (low.sum() - low)
    rest_low = records - (high.sum() - high)
    open_ends = low < high
    tiny = 1e-9 * max(records, 1.0)
    np.copyto(high, np.maximum(np.minimum(high, rest_high), low), where=open_ends)
    np.copyto(low, np.minimum(np.maximum(low, rest_low), high), where=open_ends)
    np.copyto(low, high, where=open_ends & (high - low <= tiny))


def closed_form(leaf: LeafKnowledge) -> FloatArray:
    """Return the maximum-entropy shares of one leaf from its own rows alone, shape (m,) (Zhu & Du 2010, section 5).

    Known masses stand; what is left is spread evenly over the other classes, within their ends; a strict label leads.
    """
    known = leaf.known
    free = np.isnan(known)
    masses = np.where(free, 0.0, known)
    rest = leaf.records - masses.sum()
    if free.any():
        masses[free] = _even(rest, leaf.low[free], leaf.high[free])
    if leaf.label is not None and free[leaf.label] and leaf.margin > 0:
        masses = _led(leaf, masses, free)
    return np.maximum(masses, 0.0) / leaf.records


def _even(rest: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Spread a mass evenly within ends: the water level at which the clipped values sum to it."""
    level = rest / len(low)
    if (low <= level).all() and (level <= high).all():
        return np.full(len(low), level)
    bottom, top = float(low.min()), float(high.max())
    ends = list(zip(low.tolist(), high.tolist(), strict=True))
    for _ in range(200):
        level = (bottom + top) / 2
        if level in (bottom, top):
            break  # no float lies between
        bottom, top = (level, top) if _filled(level, ends) < rest else (bottom, level)
    spread = np.clip((bottom + top) / 2, low, high)
    inside = (spread > low) & (spread < high)
    if inside.any():
        spread[inside] += (rest - spread.sum()) / inside.sum()
    return np.asarray(spread)


def _filled(level: float, ends: list[tuple[float, float]]) -> float:
    """Return the sum of a level clipped to each pair of ends; for so few of them a loop is the quickest."""
    total = 0.0
    for low, high in ends:
        total += min(max(level, low), high)
    return total


def _led(leaf: LeafKnowledge, masses: FloatArray, free: FloatArray) -> FloatArray:
    """Give the label its lead over the highest other class, the rest even."""
    assert leaf.label is not None
    others = free.astype(bool).copy()
    others[leaf.label] = False
    pool = masses[others].sum() + masses[leaf.label]
    level = (pool - leaf.margin) / (others.sum() + 1)
    led = masses.copy()
    led[others], led[leaf.label] = level, level + leaf.margin
    return led
