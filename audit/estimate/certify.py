"""How good the estimate can be proved to be: an upper bound on its entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treewarden.audit.estimate.blocks import Block
from treewarden.audit.estimate.search import Search
from treewarden.audit.estimate.solved import Solved, entropies
from treewarden.audit.solver.checks import KKT_ERROR
from treewarden.ppdm_models.arrays import FloatArray


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
