"""How good the estimate can be proved to be: an upper bound on the entropy of each block, and which argument gives it.

The elastic form of a block lets every split row be broken at a price of 1 per unit and chain, weighted as
`audit.curvature` says. At its optimum the multipliers satisfy the chain condition, so the Lagrangian is convex there
and the local optimum that IPOPT finds is the global one: no point of the block has more entropy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from audit.block_solver import ELASTIC_EPS, ELASTIC_TRIES, EPS, KKT_ERROR, WARM_TRIES, Answer, Task
from audit.blocks import Block
from audit.posterior import FloatArray
from audit.program import Program
from audit.reduce import Reduced
from audit.search import Search
from audit.solved import Solved, entropies, shares

FLAT_SHARE = 1e-2
"""A chain whose weighted multipliers come this close to 1 has flat directions: other estimates are as good."""
WORTH_A_RESTART = 1e-5
"""Gap to the bound, in nats per record, above which a block is solved once more from its elastic optimum."""
SPREAD_TRIES = (((10 * EPS, 0.1),), ((10 * EPS, 10.0),))


@dataclass(frozen=True, slots=True)
class Certificate:
    """``bound`` on the entropy in nats per record, and the arguments that prove it, most general last."""

    bound: float
    argument: str


@dataclass(frozen=True, slots=True)
class Elastic:
    """A block's form, its elastic program, and the optimum: ``bound`` in nats times records, infinite if none."""

    form: Reduced
    program: Program
    answer: Answer
    bound: float


def elastics(
    search: Search, solved: Mapping[Block, Solved], known: Mapping[Block, Elastic]
) -> dict[Block, Elastic]:
    """Return the elastic optimum of every block that is not convex; those in ``known`` are not solved again."""
    curved = [block for block, one in solved.items() if not _is_its_own_bound(one)]
    new = [block for block in curved if block not in known]
    forms = [_form(search, block) for block in new]
    programs = [elastic(form) for form in forms]
    tasks = [
        Task(one, (one.start,), ELASTIC_TRIES, search.door, search.deadline) for one in programs
    ]
    counts = search.system.case.population.counts
    found = {
        block: Elastic(form, program, answer, _bound(form, program, answer, counts))
        for block, form, program, answer in zip(
            new, forms, programs, search.ask(tasks), strict=True
        )
    }
    return {block: found.get(block) or known[block] for block in curved}


def restarted(
    search: Search, solved: Mapping[Block, Solved], found: Mapping[Block, Elastic]
) -> dict[Block, Solved]:
    """Return the blocks again; those whose elastic optimum has more entropy solved from there, where that is better."""
    counts = search.system.case.population.counts
    again = []
    for block, one in found.items():
        best = solved[block].entropy(counts) if solved[block].answer.is_accepted else -np.inf
        worth = one.bound - best > WORTH_A_RESTART * float(counts[one.form.profiles].sum())
        if one.answer.is_accepted and one.form.program.size and worth:
            again.append(block)
    starts = [found[block].answer.z[: found[block].form.program.size] for block in again]
    tasks = [
        Task(found[block].form.program, (start,), WARM_TRIES[:1], search.door, search.deadline)
        for block, start in zip(again, starts, strict=True)
    ]
    better = dict(solved)
    for block, answer in zip(again, search.ask(tasks), strict=True):
        other, before = Solved(found[block].form, answer, is_symmetric=True), solved[block]
        if answer.is_accepted and not (
            before.answer.is_accepted and before.entropy(counts) >= other.entropy(counts)
        ):
            better[block] = other
    return better


def certificate(
    search: Search,
    solved: Mapping[Block, Solved],
    found: Mapping[Block, Elastic],
    relaxed: FloatArray,
) -> Certificate:
    """Return the best proved upper bound on the entropy of the whole estimate; ``relaxed`` (P, m) knows no split rows.

    Blocks add up. A convex block's optimum is its own bound; another block has the elastic bound, or the relaxation's.
    """
    counts = search.system.case.population.counts
    in_records = entropies(relaxed, counts)
    total = float(in_records.sum())
    arguments = {"closed form"}
    for block, one in solved.items():
        inside = one.reduced.profiles
        relaxation = float(in_records[inside].sum())
        if _is_its_own_bound(one):
            total += one.entropy(counts) - relaxation + KKT_ERROR * float(counts[inside].sum())
            arguments.add("convex")
        else:
            arguments.add("elastic" if found[block].bound < relaxation else "relaxation")
            total += min(found[block].bound - relaxation, 0.0)
    said = [
        name for name in ("closed form", "convex", "elastic", "relaxation") if name in arguments
    ]
    return Certificate(total / float(counts.sum()), ", ".join(said[1:] or said))


def _is_its_own_bound(one: Solved) -> bool:
    return one.answer.is_accepted and one.reduced.program.is_convex


def _bound(form: Reduced, program: Program, answer: Answer, counts: FloatArray) -> float:
    """Return the bound that an elastic optimum proves, in nats times records."""
    if not answer.is_accepted or not program.size:
        return np.inf
    inside = counts[form.profiles]
    start = form.program.start
    fixed = float(entropies(shares(form, start), inside).sum()) + form.program.objective(start)
    # The point is optimal for a convex function that differs by the eps term, whose slope is at most
    # eps * scale / y per mass: no point is lower by more than eps * scale in all.
    slack = ELASTIC_EPS * float(program.scale.sum()) + KKT_ERROR * float(inside.sum())
    return fixed - program.objective(answer.z) + slack


def spread(
    search: Search, solved: Mapping[Block, Solved], values: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """Return ends (P, m) between which equally good estimates lie, and the number of blocks where they differ.

    A flat block is solved once more with ten times the weight of the eps term: another point of the same flat optimum.
    The ends are what these two points span, not a proof that no other point lies outside.
    """
    low, high = values.copy(), values.copy()
    flat = [one for one in solved.values() if one.answer.is_accepted and is_flat(one)]
    tasks = [
        Task(one.reduced.program, (one.answer.z,), SPREAD_TRIES, search.door, search.deadline)
        for one in flat
    ]
    for one, answer in zip(flat, search.ask(tasks), strict=True):
        if answer.is_accepted:
            inside, other = one.reduced.profiles, shares(one.reduced, answer.z)
            low[inside] = np.minimum(low[inside], other)
            high[inside] = np.maximum(high[inside], other)
    return low, high, len(flat)


def elastic(reduced: Reduced) -> Program:
    """Return the elastic form of a block: one more variable per chain, its price in the objective."""
    program, weights = reduced.program, sparse.csr_matrix(reduced.chains)
    extra = weights.shape[1]
    wide = sparse.csr_matrix((program.rows.shape[0], extra))
    return replace(
        program,
        start=np.concatenate([program.start, np.full(extra, 1e-3)]),
        lower=np.concatenate([program.lower, np.zeros(extra)]),
        upper=np.concatenate([program.upper, np.full(extra, np.inf)]),
        rows=sparse.csr_matrix(sparse.hstack([program.rows, wide])),
        cost=np.concatenate([program.cost, np.ones(extra)]),
        split_linear=sparse.csr_matrix(sparse.hstack([program.split_linear, -weights])),
    )


def is_flat(one: Solved) -> bool:
    """Return whether the multipliers of the split rows leave flat directions along some chain."""
    weights = one.reduced.chains
    if one.reduced.program.is_convex or not weights.shape[1]:
        return False
    return bool((np.abs(weights.T @ one.answer.split - 1) <= FLAT_SHARE).any())


def _form(search: Search, block: Block) -> Reduced:
    """Return the pooled form of a block, whose elastic optimum bounds the form with all classes too."""
    pooled = search.reduced(block)
    return search.reduced(block, pooled=False) if pooled.program.is_impossible else pooled
