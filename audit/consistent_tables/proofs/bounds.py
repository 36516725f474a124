"""What is proved of each cell of a world: the least and the greatest count, and which fact proves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import CellBounds, ContradictionError, StoppingPlace
from treewarden.audit.consistent_tables.facts.facts import Facts

LEAF_TOO = ", and the counts of the leaf leave no other way"


@dataclass(frozen=True, slots=True)
class Proof:
    """``sign * cell`` is at least ``bound`` in every world, and why; ``cell`` is a position and a class."""

    cell: tuple[int, int]
    sign: int
    bound: int
    why: str


def draw_in(facts: Facts, bounds: CellBounds, proof: Proof) -> None:
    """Draw in the ends of a profile's cells by what is proved of one of them, and by what follows of the others.

    Raises:
        ContradictionError: nothing is left for some cell.
    """
    (position, klass), bound, why = proof.cell, proof.bound, proof.why
    count = int(facts.counts[position])
    if proof.sign > 0:
        bounds.raise_low(position, klass, bound, why)
        for other in set(range(facts.classes)) - {klass}:
            bounds.cut_high(position, other, count - bound, why)
        return
    bounds.cut_high(position, klass, -bound, why)
    if facts.classes == 2:
        bounds.raise_low(position, 1 - klass, count + bound, why)


def closed_form(facts: Facts) -> CellBounds:
    """Return what each place's own numbers prove: with known class counts the sharp ends without split rows.

    Raises:
        ContradictionError: a place's numbers cannot be.
    """
    for place in facts.places.values():
        if not place.is_possible:
            where = facts.tree.where(facts.tree.nodes[place.node])
            raise ContradictionError(
                f"{where}: no class counts of {place.records} records fit what it says"
            )
    size, leaf = facts.counts[:, None], facts.leaf_numbers
    least, most = facts.ends
    high = np.minimum(size, most[leaf])
    low = least[leaf] - (np.add.reduceat(size, facts.starts)[leaf] - size)
    rest = size - (high.sum(axis=1, keepdims=True) - high)
    return CellBounds(np.maximum(np.maximum(low, rest), 0), high)


def spread(facts: Facts, bounds: CellBounds) -> bool:
    """Draw in each cell's ends by the others' of its profile and of its place; return whether anything moved.

    Raises:
        ContradictionError: nothing is left for some cell.
    """
    low, high = bounds.low, bounds.high
    size = facts.counts[:, None]
    new_low = size - (high.sum(axis=1, keepdims=True) - high)
    new_high = size - (low.sum(axis=1, keepdims=True) - low)
    leaf, (least, most) = facts.leaf_numbers, facts.ends
    least = least - np.add.reduceat(high, facts.starts, axis=0)
    most = most - np.add.reduceat(low, facts.starts, axis=0)
    np.maximum(new_low, least[leaf] + high, out=new_low)
    np.minimum(new_high, most[leaf] + low, out=new_high)
    moved = False
    for position, klass in np.argwhere(new_low > low).tolist():
        why = _source(bounds, position, _place(facts, position))
        moved |= bounds.raise_low(position, klass, int(new_low[position, klass]), why)
    for position, klass in np.argwhere(new_high < high).tolist():
        why = _source(bounds, position, _place(facts, position))
        moved |= bounds.cut_high(position, klass, int(new_high[position, klass]), why)
    return moved


def _place(facts: Facts, position: int) -> StoppingPlace:
    """Return where the records of a position stop."""
    return facts.places[int(facts.case.population.leaf[facts.order[position]])]


def _source(bounds: CellBounds, position: int, place: StoppingPlace) -> str:
    """Return the fact that proved another cell of the same profile, or of its leaf."""
    if position in bounds.last:
        return bounds.last[position]
    for other in range(place.start, place.end):
        if other in bounds.last:
            said = bounds.last[other]
            return said if said.endswith(LEAF_TOO) else f"{said}{LEAF_TOO}"
    return "the counts of the leaf and the values of the others there"
