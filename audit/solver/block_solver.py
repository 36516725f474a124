"""Solves one program: the tries in order, each judged by its own feasibility and stationarity, never by a status alone.

A function of its task alone, so that it gives the same answer in any process. With the answer comes what its elastic
form proves: a bound that no point of the program passes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import LoadedSolver, Solution, Status
from treewarden.audit.ipopt.backends import AUTO, backend_of, doors
from treewarden.audit.ipopt.model import load
from treewarden.audit.ipopt.program import BlockProgram
from treewarden.audit.solver.barrier_method import BarrierFirst
from treewarden.audit.solver.canonical import (
    canonical,
    elastic,
    floor,
    is_flat,
    is_overloaded,
    restored,
)
from treewarden.audit.solver.interior import interior, is_inside
from treewarden.audit.solver.task import (
    AS_GOOD_NATS,
    BARRIER_PROGRAM,
    BOLD,
    ELASTIC_TRIES,
    ENOUGH,
    KKT_ERROR,
    SAME_SHARE,
    SMALL_PROGRAM,
    SPREAD_TRIES,
    TRIES,
    WORTH_A_RESTART,
    RecordedProgram,
    SolverAnswer,
    SolverTask,
    TaskOutcome,
    TaskPart,
    holds,
    is_optimal,
    no_answer,
)
from treewarden.audit.solver.tilting import tilted
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Criterion

SIGMAS = (0.3, 1.0)
"""Standard deviations of the logarithms of the factors that move a start, in turn."""
INSIDE_FIRST = 1000
"""Variables up to which finding what is forced costs next to nothing."""


def joined(task: SolverTask, answers: Sequence[SolverAnswer]) -> SolverAnswer:
    """Return the answer to a task from those to its parts; where one failed, solve the task as a whole.

    What took its processes along is not tried in this one.
    """
    if len(answers) == 1:
        return answers[0]
    point, bound = answers
    if TaskOutcome.LOST in (point.outcome, bound.outcome):
        return no_answer(task, TaskOutcome.LOST, point.iterations + bound.iterations)
    failed = (TaskOutcome.INFEASIBLE, TaskOutcome.NOT_CONVERGED)
    if point.outcome in failed or bound.outcome in failed or np.isinf(bound.floor):
        return solve_task(task)
    iterations = point.iterations + bound.iterations
    return replace(point, floor=bound.floor, iterations=iterations)


def solve_task(task: SolverTask) -> SolverAnswer:
    """Solve a task from each of its starts and return the best answer, the same whatever order its parts stand in."""
    if task.program.is_impossible:
        return no_answer(task, TaskOutcome.INFEASIBLE)
    form = canonical(task.program)
    starts = [form.begin(start) for start in task.starts]
    if task.perturbed:
        around = starts.pop()
        starts.extend(_moved(around, seed) for seed in range(task.perturbed))
    chains = None if task.chains is None else form.chains(task.chains)
    answer = _solved(replace(task, program=form.program, starts=tuple(starts), chains=chains))
    return replace(
        answer,
        z=restored(answer.z, form.variables),
        split=restored(answer.split, form.splits),
        other=None if answer.other is None else restored(answer.other, form.variables),
        rivals=tuple(restored(z, form.variables) for z in answer.rivals),
        tape=task.tape,
    )


def _moved(start: FloatArray, seed: int) -> FloatArray:
    draw = np.random.default_rng(seed).normal(size=len(start))
    return np.asarray(start * np.exp(SIGMAS[seed % len(SIGMAS)] * draw))


def _solved(task: SolverTask) -> SolverAnswer:
    """Solve a task by its multipliers, as it stands and from inside, one after the other until one settles it.

    Where linear rows leave no interior, IPOPT may not converge, stop a little beside the optimum, or end in any local
    one: a small program is solved from inside first.
    """
    ways = [_from_inside, _as_it_stands] if _is_cramped(task) else [_as_it_stands, _from_inside]
    if task.door == AUTO:
        ways.insert(0, _tilted)
    if task.part is not TaskPart.WHOLE:
        ways = [_as_it_stands]
    answer = no_answer(task, TaskOutcome.INFEASIBLE)
    try:
        for way in ways:
            if not _is_settled(task, answer):
                answer = way(task, answer)
    except MemoryError:
        return no_answer(task, TaskOutcome.OUT_OF_MEMORY)
    return answer


def _tilted(task: SolverTask, before: SolverAnswer) -> SolverAnswer:
    """Return the optimum that follows from multipliers of few linear rows, where the program has no others."""
    solution = tilted(task.program)
    if solution is None:
        return before
    answer = _judged(task.program, solution, 0.0)
    is_proved = answer.is_accepted and is_optimal(task.program, solution, 0.0, 0)
    return replace(answer, iterations=solution.iterations) if is_proved else before


def _is_cramped(task: SolverTask) -> bool:
    """Return whether linear rows may leave a small program no interior: no start lies strictly inside all of them."""
    if not 0 < task.program.size <= INSIDE_FIRST:
        return False
    return not any(is_inside(task.program, start) for start in task.starts)


def _is_settled(task: SolverTask, answer: SolverAnswer) -> bool:
    """Return whether looking again has no point: all went well, or time ran out."""
    if answer.is_accepted:
        is_unbounded = task.chains is not None and np.isinf(answer.floor)
        return task.program.is_convex or not is_unbounded
    return answer.outcome not in (TaskOutcome.INFEASIBLE, TaskOutcome.NOT_CONVERGED)


def _has_rows_to_spare(program: BlockProgram) -> bool:
    """Return whether there are more equalities than variables: some must follow from others, or contradict them."""
    return bool(program.size) and int((program.low == program.high).sum()) > program.size


def _as_it_stands(task: SolverTask, before: SolverAnswer) -> SolverAnswer:
    """Solve the program as it is, unless it cannot be; return the better of that and the answer before."""
    if _has_rows_to_spare(task.program):
        return before
    solver_answer = _best(task)
    best, floor = (
        _ahead(task.program, [solver_answer, before]),
        max(solver_answer.floor, before.floor),
    )
    return replace(best, floor=floor, iterations=before.iterations + solver_answer.iterations)


def _from_inside(task: SolverTask, before: SolverAnswer) -> SolverAnswer:
    """Fix what the linear rows force and solve the rest; the answer must satisfy every row of the whole program."""
    inner = interior(task.program) if task.program.size else None
    if inner is None:
        return before
    starts = tuple(np.maximum(start[inner.free], 1e-3) for start in task.starts)
    chains = None if task.chains is None else inner.chains(task.program, task.chains)
    solver_answer = _best(replace(task, program=inner.program, starts=starts, chains=chains))
    z, iterations = inner.restored(solver_answer.z), before.iterations + solver_answer.iterations
    objective = task.program.objective(z)
    known = before.floor
    if inner.is_bounding:
        known = max(
            known, solver_answer.floor + objective - inner.program.objective(solver_answer.z)
        )
    if not solver_answer.is_accepted or not holds(task.program, z):
        return replace(before, iterations=iterations, floor=known)
    here = replace(
        solver_answer,
        z=z,
        split=inner.multipliers(solver_answer.split, len(task.program.splits)),
        objective=objective,
        other=None if solver_answer.other is None else inner.restored(solver_answer.other),
        rivals=tuple(inner.restored(z) for z in solver_answer.rivals),
    )
    best = _ahead(task.program, [before, here])
    return replace(best, iterations=iterations, floor=known)


def _best(task: SolverTask) -> SolverAnswer:
    if not task.program.size:
        return SolverAnswer(TaskOutcome.SOLVED, task.starts[0], np.zeros(0), 0.0, 0.0)
    if task.chains is not None and not task.program.is_convex:
        return _with_bound(task, task.chains)
    return _of_starts(task, _solver(task, task.program), task.starts)


def _solver(task: SolverTask, program: BlockProgram) -> RecordedProgram:
    """Return what solves a program: the task's door, and before it the barrier method where the choice is free."""

    def opened() -> LoadedSolver:
        return doors()[backend_of(task.door)].opened(load(program))

    is_first = task.door == AUTO and program.size > BARRIER_PROGRAM
    solver = (lambda: BarrierFirst(program, opened)) if is_first else opened
    return RecordedProgram(program, solver, task.tape)


def _of_starts(
    task: SolverTask,
    solver: RecordedProgram,
    starts: tuple[FloatArray, ...],
    before: SolverAnswer | None = None,
) -> SolverAnswer:
    """Return the best answer from the starts, as many as are worth it, or from before."""
    answers = [] if before is None else [before]
    same = WORTH_A_RESTART * float(task.program.scale.sum())
    for start in starts:
        answers.append(_from_start(task, solver, start))
        if _is_enough(
            [solver_answer.objective for solver_answer in answers if solver_answer.is_accepted],
            same,
        ):
            break
    best = _ahead(task.program, answers)
    return replace(best, iterations=sum(solver_answer.iterations for solver_answer in answers))


def _ahead(program: BlockProgram, answers: Sequence[SolverAnswer]) -> SolverAnswer:
    """Return the best answer; the points of the others that are apart from it and as good are its rivals."""
    best = min(answers, key=_rank)
    if program.is_convex or len(answers) < 2:
        return best
    limit = best.objective + AS_GOOD_NATS * float(program.scale.sum())
    rivals: list[FloatArray] = []
    for z in (
        z
        for solver_answer in answers
        if solver_answer.is_accepted
        for z in (solver_answer.z, *solver_answer.rivals)
    ):
        is_new = all(_are_apart(program, z, known) for known in (best.z, *rivals))
        if is_new and program.objective(z) <= limit:
            rivals.append(z)
    return replace(best, rivals=tuple(rivals))


def _are_apart(program: BlockProgram, one: FloatArray, second: FloatArray) -> bool:
    masses = len(program.scale)
    share = np.abs(one[:masses] - second[:masses]) / program.scale
    return bool(share.max(initial=0.0) > SAME_SHARE)


def _is_enough(objectives: list[float], same: float) -> bool:
    """Return whether the best optimum was met often enough: the more there are, the more often it has to be."""
    ordered = np.sort(objectives)
    optima = 1 + int((np.diff(ordered) > same).sum())
    return int((ordered <= ordered[:1] + same).sum()) >= ENOUGH * optima


def _rank(answer: SolverAnswer) -> tuple[bool, float]:
    """Return what the better of two answers has less of."""
    return not answer.is_accepted, answer.objective


def _with_bound(task: SolverTask, chains: sparse.csr_matrix) -> SolverAnswer:
    """Solve a program and its elastic form: one model, whose last variables, one per chain, the program holds at 0."""
    program = task.program
    relaxed = elastic(program, chains, program.start)
    solver = _solver(task, relaxed)
    bound, known = no_answer(task, TaskOutcome.NOT_CONVERGED), -np.inf
    if task.part is not TaskPart.POINT:
        bound, known = _bound(task, chains, relaxed, solver)
    if task.part is TaskPart.BOUND:
        return replace(no_answer(task, bound.outcome, bound.iterations), floor=known)
    best = _of_starts(task, solver, task.starts[:1])
    if not best.is_accepted:
        starts = task.starts[1:] if program.size <= SMALL_PROGRAM else ()
        if bound.is_accepted:
            starts += (bound.z[: program.size],)
        # Where the first start met no point, the program likely has none: others are tried, but not at length.
        again = replace(task, tries=TRIES[:1]) if best.outcome is TaskOutcome.INFEASIBLE else task
        best = _of_starts(again, solver, starts, best)
    iterations = bound.iterations + best.iterations
    if best.is_accepted and is_flat(program, chains, best.split):
        beside = _from_start(replace(task, tries=SPREAD_TRIES), solver, best.z)
        iterations += beside.iterations
        best = replace(best, other=beside.z if beside.is_accepted else None)
    return replace(best, floor=known, iterations=iterations)


def _bound(
    task: SolverTask, chains: sparse.csr_matrix, relaxed: BlockProgram, solver: RecordedProgram
) -> tuple[SolverAnswer, float]:
    """Solve an elastic form; return the answer and the floor it proves.

    Where chains are heavier at its optimum than they were taken to be, it is solved again with what they are there, and
    at last with what they are at most.
    """
    program, iterations = task.program, 0
    bounding = replace(task, program=relaxed, tries=ELASTIC_TRIES)
    bound = _from_start(bounding, solver, relaxed.start)
    for is_last in (False, True):
        z = bound.z[: program.size]
        if not bound.is_accepted or not is_overloaded(program, chains, z, bound.split):
            break
        iterations += bound.iterations
        relaxed = elastic(program, chains, None if is_last else z)
        bounding = replace(bounding, program=relaxed)
        bound = _from_start(bounding, _solver(task, relaxed), relaxed.start)
    bound = replace(bound, iterations=iterations + bound.iterations)
    if not bound.is_accepted:
        return bound, -np.inf
    return bound, floor(program, chains, bound.z[: program.size], bound.linear, bound.split)


def _from_start(task: SolverTask, solver: RecordedProgram, start: FloatArray) -> SolverAnswer:
    held = solver.program.size - task.program.size
    best, iterations, infeasible = no_answer(task, TaskOutcome.INFEASIBLE), 0, 0
    for number, steps in enumerate(task.tries):
        manner = BOLD if number == 0 and task.program.criterion is not Criterion.GINI else {}
        z, answer = start, best
        for eps, mu in steps:
            left = task.deadline - time.monotonic()
            if left <= 0:
                return no_answer(task, TaskOutcome.OUT_OF_TIME, iterations)
            limit = {} if np.isinf(left) else {"max_cpu_time": max(left, 0.01)}
            whole = np.concatenate([z, np.zeros(held)])
            solution = solver.solve(whole, eps, held_count=held, mu_init=mu, **manner, **limit)
            iterations += solution.iterations
            infeasible += solution.status is Status.INFEASIBLE
            answer = _judged(task.program, solution, eps)
            z = answer.z if np.isfinite(answer.z).all() else start
        if answer.outcome is not TaskOutcome.INFEASIBLE and answer.kkt_error < best.kkt_error:
            best = answer
        if best.is_accepted or (infeasible >= 2 and best.outcome is TaskOutcome.INFEASIBLE):
            break
    return replace(best, iterations=iterations)


def _judged(program: BlockProgram, solution: Solution, eps: float) -> SolverAnswer:
    """Re-check a solver's answer against every row and for stationarity; held variables are no part of it."""
    z, bounds = solution.z[: program.size], solution.bounds[: program.size]
    if not holds(program, z):
        return SolverAnswer(TaskOutcome.INFEASIBLE, z, solution.split, linear=solution.linear)
    kkt = program.kkt_error(z, solution.linear, solution.split, bounds, eps)
    outcome = TaskOutcome.SOLVED if kkt <= KKT_ERROR else TaskOutcome.NOT_CONVERGED
    return SolverAnswer(
        outcome, z, solution.split, program.objective(z), kkt, linear=solution.linear
    )
