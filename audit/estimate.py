"""Finds the maximum-entropy estimate: closed form per leaf, then the split rows that it violates, round by round."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from audit.blocks import Block, Candidate, blocks
from audit.direct import direct_model
from audit.impurity import excess
from audit.leaf_knowledge import LeafKnowledge, closed_form, leaf_knowledge
from audit.model import build_model
from audit.posterior import FloatArray, Posterior, entropy
from audit.program import Program
from audit.reduce import TAU, Reduced, reduce_block
from audit.rows import SplitFamily
from audit.solve import Door, Loaded, Solution, Status, door
from audit.system import System, max_violation

log = logging.getLogger(__name__)

ROUNDS = 40
VIOLATION_SHARE = 1e-6
"""A split row joins when it is violated by more than this share of its node's records; the re-check's limit too."""
LINEAR_ERROR_RECORDS = 1e-6
KKT_ERROR = 1e-6
EPS_PATH = ((1e-3, (10.0, 1.0, 0.1)), (1e-4, (0.1, 0.01, 1.0)))
"""Weights of the term that singles out one optimum where it is flat, each with IPOPT's mu_init in the order tried: part
of the method. Where the last weight does not converge the answer for the one before stands."""
CONVEX_PATH = ((0.0, (0.1, 10.0)),)
"""A convex block has one optimum, so it needs no such term."""
PERTURBED_STARTS = 4
"""Starts, with seeds 0, 1, ..., where the symmetric solution of pooled classes cannot satisfy the rows."""


@dataclass(frozen=True, slots=True)
class SolverReport:
    """How the estimate was found, and how good it is. Entropies in nats per record.

    ``status`` is "closed form", "optimal", "stalled" or "not run"; ``entropy_bound`` is an upper bound on the entropy;
    ``max_violation`` the largest relative violation over all constraints, re-checked outside the solver.
    """

    status: str
    entropy: float | None = None
    entropy_bound: float | None = None
    max_violation: float | None = None
    kkt_error: float | None = None
    iterations: int = 0
    seconds: float = field(default=0.0, compare=False)
    rows: int = 0
    rows_active: int = 0
    blocks: int = 0
    blocks_stalled: int = 0
    is_convex: bool = True
    door: str = "none"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """A block's answer: masses of its profiles, whether it was accepted, and the solver's figures."""

    masses: FloatArray
    accepted: bool
    kkt_error: float
    iterations: int
    is_convex: bool
    negative_entropy: float


@dataclass(frozen=True, slots=True)
class _Point:
    """A solver's answer that satisfies every row, and how far it is from stationary."""

    solution: Solution
    kkt_error: float


def estimate(
    system: System, door_name: str = "auto", *, direct: bool = False
) -> tuple[Posterior, SolverReport]:
    """Return the maximum-entropy posterior under a system of rows, and how it was found.

    With ``direct`` nothing is reduced: all rows and all masses in one model, for comparison.

    Raises:
        SolverError: the wanted solver is not there.
    """
    began = time.perf_counter()
    door_name, way = door(door_name)
    case = system.case
    knowledge = leaf_knowledge(system)
    values = np.zeros((len(case.population.counts), len(case.tree.classes)))
    for node, leaf in knowledge.items():
        values[case.members.stops(node)] = closed_form(leaf)
    if direct:
        return _directly(system, values, (door_name, way), began)
    relaxed = values
    search = _Search(system, knowledge, way)
    found: dict[Block, _Found] = {}
    active: tuple[Candidate, ...] = ()
    for round_number in range(ROUNDS):
        parts = blocks(system, tuple(knowledge), active)
        found = {
            part: found[part] if part in found else search.solve(part, relaxed) for part in parts
        }
        values = search.placed(relaxed, found)
        if round_number == 0 and found:
            relaxed = values
        new = _violated(system, values, active)
        log.info(
            "round %d: %d blocks, %d split rows, %d more violated",
            round_number,
            len(parts),
            len(active),
            len(new),
        )
        if not new:
            break
        active = tuple(sorted((*active, *new), key=lambda c: (c.family, c.position)))
    figures = SolverReport(
        status="",
        seconds=time.perf_counter() - began,
        rows=system.size,
        rows_active=len(active),
        door=door_name if found else "none",
    )
    return _concluded(system, (values, relaxed), found, figures)


class _Search:
    """Solves blocks of one system through one door."""

    def __init__(self, system: System, knowledge: dict[int, LeafKnowledge], way: Door) -> None:
        self.system, self.knowledge, self.way = system, knowledge, way

    def solve(self, block: Block, values: FloatArray) -> _Found:
        """Return a block's answer: pooled first; with all classes and perturbed starts where symmetry must break."""
        pooled = reduce_block(self.system, block, self.knowledge, values)
        found = solve_program(pooled, self.way)
        if found.accepted:
            return found
        whole = reduce_block(self.system, block, self.knowledge, values, pooled=False)
        if whole.program.size == pooled.program.size:
            return found
        tries = [found]
        for seed in range(PERTURBED_STARTS):
            noise = np.random.default_rng(seed).normal(size=whole.program.size)
            tries.append(solve_program(whole, self.way, whole.program.start * np.exp(0.3 * noise)))
        return min(tries, key=lambda one: (not one.accepted, one.negative_entropy))

    def placed(self, values: FloatArray, found: dict[Block, _Found]) -> FloatArray:
        """Return the estimate with the blocks' answers put in."""
        placed = values.copy()
        for block, one in found.items():
            inside = np.sort(
                np.concatenate([self.system.case.members.stops(leaf) for leaf in block.leaves])
            )
            placed[inside] = one.masses / one.masses.sum(axis=1, keepdims=True)
        return placed


def solve_program(reduced: Reduced, way: Door, start: FloatArray | None = None) -> _Found:
    """Solve one program through a door; a function of its arguments alone, so that it can run in any process."""
    program = reduced.program
    begin = program.start if start is None else start
    if not program.size:
        # Everything is fixed, by the rows or by pooling: then the rows hold or pooling must end.
        holds = program.split_error(begin) <= TAU
        return _Found(reduced.masses(begin), holds, 0.0 if holds else np.inf, 0, True, np.inf)
    loaded = Loaded(build_model(program))
    point, iterations = _along(program, loaded, way, begin)
    if point is None:
        return _Found(reduced.masses(begin), False, np.inf, iterations, program.is_convex, np.inf)
    z = point.solution.z
    return _Found(
        masses=reduced.masses(z),
        accepted=point.kkt_error <= KKT_ERROR,
        kkt_error=point.kkt_error,
        iterations=iterations,
        is_convex=program.is_convex,
        negative_entropy=program.objective(z),
    )


def _along(
    program: Program, loaded: Loaded, way: Door, start: FloatArray
) -> tuple[_Point | None, int]:
    """Follow the path of weights; return the last point that satisfies every row and is stationary, and the iterations.

    Where no point is stationary, the last one that satisfies every row; None where there is none.
    """
    best: _Point | None = None
    z, iterations = start, 0
    for eps, mus in CONVEX_PATH if program.is_convex else EPS_PATH:
        for mu in mus:
            solution = way.solve(loaded, z, eps, mu_init=mu)
            iterations += solution.iterations
            if not _is_feasible(program, solution):
                continue
            point = _Point(solution, _kkt(program, solution, eps))
            if best is None or point.kkt_error <= KKT_ERROR:
                best = point
            if point.kkt_error <= KKT_ERROR:
                break
        if best is None:
            break
        z = best.solution.z
    return best, iterations


def _is_feasible(program: Program, solution: Solution) -> bool:
    z = solution.z
    if not np.isfinite(z).all():
        return False
    most = max(LINEAR_ERROR_RECORDS, 1e-10 * float(program.scale.sum()))
    return program.linear_error(z) <= most and program.split_error(z) <= TAU


def _kkt(program: Program, said: Solution, eps: float) -> float:
    return program.kkt_error(said.z, said.linear, said.split, said.bounds, eps)


def _directly(
    system: System, start: FloatArray, way: tuple[str, Door], began: float
) -> tuple[Posterior, SolverReport]:
    """Solve the whole problem as written down, along the same path of weights."""
    counts = system.case.population.counts
    loaded = Loaded(direct_model(system, start))
    z, iterations, solved = (start * counts[:, None]).ravel(), 0, False
    for eps, mus in EPS_PATH if system.families else CONVEX_PATH:
        for mu in mus:
            solution = way[1].solve(loaded, z, eps, mu_init=mu)
            iterations += solution.iterations
            solved = solution.status in (Status.SOLVED, Status.ACCEPTABLE)
            if solved:
                z = solution.z
                break
    values = z.reshape(start.shape) / counts[:, None]
    worst = max_violation(system, values * counts[:, None])
    accepted = solved and worst <= VIOLATION_SHARE
    report = SolverReport(
        status="optimal" if accepted else "stalled",
        entropy=entropy(values, counts),
        entropy_bound=entropy(start, counts),
        max_violation=worst,
        iterations=iterations,
        seconds=time.perf_counter() - began,
        rows=system.size,
        rows_active=system.size,
        blocks=1,
        blocks_stalled=0 if accepted else 1,
        door=way[0],
        reason="" if accepted else f"the unreduced problem was not solved: {solution.status}",
    )
    return Posterior(values, np.full(len(counts), accepted), values, values), report


def _violated(system: System, values: FloatArray, active: Sequence[Candidate]) -> list[Candidate]:
    """Return, for each node, the candidate that the estimate violates most, unless it is active already."""
    mass = values * system.case.population.counts[:, None]
    worst: dict[int, tuple[float, Candidate]] = {}
    taken = set(active)
    for number, family in enumerate(system.rows):
        if not isinstance(family, SplitFamily):
            continue
        over = excess(family, mass)
        for candidate in taken:
            if candidate.family == number:
                over[candidate.position] = -np.inf
        position = int(np.argmax(over))
        if over[position] > VIOLATION_SHARE and over[position] > worst.get(family.node, (0.0,))[0]:
            worst[family.node] = (float(over[position]), Candidate(number, position))
    return [candidate for _, candidate in worst.values()]


def _concluded(
    system: System,
    estimates: tuple[FloatArray, FloatArray],
    found: dict[Block, _Found],
    figures: SolverReport,
) -> tuple[Posterior, SolverReport]:
    """Re-check every row outside the solver and say how good the estimate is."""
    values, relaxed = estimates
    counts = system.case.population.counts
    decided = np.ones(len(counts), dtype=bool)
    for block, one in found.items():
        for leaf in block.leaves if not one.accepted else ():
            decided[system.case.members.stops(leaf)] = False
    worst = max_violation(system, values * counts[:, None])
    stalled = sum(not one.accepted for one in found.values())
    reason = ""
    if stalled:
        reason = f"{stalled} of {len(found)} parts of the problem were not solved"
    elif worst > VIOLATION_SHARE:
        reason = f"the estimate misses a row by {worst:.2g} of its records"
        decided[:] = False
    status = "stalled" if reason else ("optimal" if found else "closed form")
    report = replace(
        figures,
        status=status,
        entropy=entropy(values, counts),
        entropy_bound=entropy(relaxed, counts),
        max_violation=worst,
        kkt_error=max((one.kkt_error for one in found.values()), default=0.0),
        iterations=sum(one.iterations for one in found.values()),
        blocks=len(found),
        blocks_stalled=stalled,
        is_convex=all(one.is_convex for one in found.values()),
        reason=reason,
    )
    return Posterior(values, decided, values, values), report
