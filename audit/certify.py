"""How good the estimate can be proved to be: an upper bound on its entropy, and what a flat optimum leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from audit.block_solver import KKT_ERROR
from audit.blocks import Block
from audit.elastic import is_flat
from audit.posterior import FloatArray
from audit.search import Search
from audit.solved import Solved, entropies, shares


@dataclass(frozen=True, slots=True)
class Certificate:
    """``bound`` on the entropy in nats per record, and the arguments that prove it, most general last."""

    bound: float
    argument: str


def certificate(search: Search, solved: Mapping[Block, Solved], relaxed: FloatArray) -> Certificate:
    """Return the best proved upper bound on the entropy of the whole estimate; ``relaxed`` (P, m) knows no split rows.

    Blocks add up. A convex block's optimum is its own bound; another block has the elastic bound, or the relaxation's.
    """
    counts = search.system.case.population.counts
    in_records = entropies(relaxed, counts)
    total = float(in_records.sum())
    arguments = {"closed form"}
    for one in solved.values():
        inside = one.reduced.profiles
        relaxation = float(in_records[inside].sum())
        if one.answer.is_accepted and one.reduced.program.is_convex:
            total += one.entropy(counts) - relaxation + KKT_ERROR * float(counts[inside].sum())
            arguments.add("convex")
        else:
            arguments.add("elastic" if one.bound < relaxation else "relaxation")
            total += min(one.bound - relaxation, 0.0)
    said = [
        name for name in ("closed form", "convex", "elastic", "relaxation") if name in arguments
    ]
    return Certificate(total / float(counts.sum()), ", ".join(said[1:] or said))


def spread(
    solved: Mapping[Block, Solved], values: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """Return ends (P, m) between which equally good estimates lie, and the number of blocks where they differ.

    A flat block was solved once more with ten times the weight of the eps term: another point of the same flat optimum.
    The ends are what these two points span, not a proof that no other point lies outside.
    """
    low, high = values.copy(), values.copy()
    flat = [one for one in solved.values() if _has_flat_directions(one)]
    for one in flat:
        if one.answer.other is not None:
            inside, other = one.reduced.profiles, shares(one.reduced, one.answer.other)
            low[inside] = np.minimum(low[inside], other)
            high[inside] = np.maximum(high[inside], other)
    return low, high, len(flat)


def _has_flat_directions(one: Solved) -> bool:
    form = one.reduced
    if not one.answer.is_accepted or form.program.is_convex:
        return False
    return is_flat(form.program, form.chains, one.answer.split)
