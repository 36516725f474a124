"""Solves the blocks of one system, many at a time: pooled first, with all classes where symmetry must break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigh

from treewarden.audit.entropy.problem import Block, EntropyProblem
from treewarden.audit.entropy.reduce import Reduced, SolvedBlock, proved_bound, reduce_block
from treewarden.audit.ipopt.program import BlockProgram
from treewarden.audit.solver.canonical import is_convex_at
from treewarden.audit.solver.checkpoint import solve_all
from treewarden.audit.solver.task import (
    BESIDE_TRIES,
    CONVEX_TRIES,
    EPS,
    SMALL_PROGRAM,
    TRIES,
    WARM_TRIES,
    SolverAnswer,
    SolverTask,
    Steps,
    TaskOutcome,
)
from treewarden.audit.workers.pool import default_jobs
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Criterion

# Whether the symmetric point of pooled classes is a maximum, or a saddle that letting the classes differ improves.

SADDLE_EIGENVALUE = 1e-2
"""How negative the second-order form must be, relative to the entropy's own curvature, to count."""
SHIFT = 1.0


def saddle(one: SolvedBlock) -> FloatArray | None:
    """Return how pooled classes would have to differ to raise a block's entropy, or None: a second-order test.

    Take mass from one pooled class and give it to another: to first order nothing changes. The second-order change is
    a quadratic form over the lumps; a negative eigenvalue means that the symmetric point is no maximum among all
    classes. Caps on single classes that bind there are not looked at, so a saddle is a suspicion, its absence is not.
    """
    form, program = one.reduced, one.reduced.program
    pooled = np.flatnonzero(form.kappa >= 2)
    if not one.is_symmetric or program.is_convex or not len(pooled):
        return None
    if is_convex_at(form.program, form.chains, one.answer.split):
        return None
    y, kappa = one.answer.z[pooled], form.kappa[pooled]
    records = program.scale[pooled] / kappa
    curvature = np.diag(kappa / y + EPS * records * (kappa / y) ** 2)
    terms = program.splits.terms
    inside = form.members[:, pooled][terms.variable].toarray()
    size, u = float(kappa[0]), one.answer.z[terms.variable]
    is_gini = program.criterion is Criterion.GINI
    bend = -2 * size / terms.scale if is_gini else -size / u
    weight = one.answer.split[terms.row] * terms.coefficient * bend
    curvature += inside.T @ (weight[:, None] * inside)
    scaled = curvature / np.sqrt(np.outer(kappa / y, kappa / y))
    try:
        cholesky(scaled + SADDLE_EIGENVALUE * np.eye(len(scaled)), check_finite=False)
    except LinAlgError:
        pass
    else:
        return None  # positive definite, which costs a tenth of the eigenvalue to find out
    eigenvalues, directions = eigh(scaled, subset_by_index=(0, 0))
    if eigenvalues[0] >= -SADDLE_EIGENVALUE:
        return None
    shift = np.zeros(program.size)
    # Relative to each mass, and with a sign that does not depend on the linear algebra used.
    shift[pooled] = directions[:, 0] / np.sqrt(y)
    largest = int(np.argmax(np.abs(shift)))
    return np.asarray(shift / shift[largest])


def shifted(form: Reduced, shift: FloatArray, values: FloatArray) -> FloatArray:
    """Return an estimate (P, m) in which two pooled classes differ along a direction of `saddle`."""
    first, second = np.flatnonzero(form.kappa_of_class >= 2)[:2]
    moved = values.copy()
    number = form.cell[:, first]
    amount = np.where(number >= 0, SHIFT * shift[number], 0.0)
    moved[form.profiles, first] *= np.exp(amount)
    moved[form.profiles, second] *= np.exp(-amount)
    return moved


PERTURBED_STARTS = 4
"""Starts, with seeds 0, 1, ..., where the symmetric solution of pooled classes cannot satisfy the rows."""
MANY_STARTS = 8
"""Starts of a small block that may have a better optimum than was found."""
LAST_STARTS = 16
"""Starts of a small block that its symmetric solution does not solve: after these it is not solved at all."""


@dataclass(frozen=True, slots=True)
class UnpooledAnswer:
    """What was found from beside a block's answer ``of`` with all classes; nothing where that is no saddle."""

    of: SolverAnswer
    form: Reduced | None = None
    answer: SolverAnswer | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """Every block's answer, and what was found on the side, for the rounds to come.

    ``found`` are the answers of blocks that were tried from many starts ahead of time; ``beside`` is what lies beside
    the answers.
    """

    solved: Mapping[Block, SolvedBlock]
    found: Mapping[Block, SolverAnswer]
    beside: Mapping[Block, UnpooledAnswer]


BEGINNING = Round({}, {}, {})
"""What is known before the first round: nothing."""


class EntropySearch(EntropyProblem):
    """Solves the blocks of a problem, and looks for better optima than were found.

    Raises:
        SolverError: the wanted solver is not there.
    """

    @classmethod
    def from_problem(cls, problem: EntropyProblem) -> EntropySearch:
        """Return the search that goes on from a problem."""
        search = cls.__new__(cls)
        vars(search).update(vars(problem))
        return search

    def reduced(
        self, block: Block, values: FloatArray | None = None, *, pooled: bool = True
    ) -> Reduced:
        """Return a block's program, started at an estimate (P, m), or at the closed form."""
        start = self.closed if values is None else values
        return reduce_block(self.system, block, self.knowledge, start, self.whole, pooled=pooled)

    def ask(self, tasks: Iterable[SolverTask]) -> list[SolverAnswer]:
        """Return the answer to each task, in their order."""
        jobs = default_jobs() if self.jobs is None else self.jobs
        return solve_all(tasks, jobs, share=self.share)

    def solve(self, blocks: Sequence[Block], last: Round) -> Round:
        """Return every block's answer: the ones known already, and those of the blocks that are new.

        Blocks that `searched` will try from many starts unless their rows change are tried beside the new ones.
        """
        before = last.solved
        new = [block for block in blocks if block not in before]
        open_ones = [block for block in blocks if block in before and before[block].is_open]
        ahead = [block for block in open_ones if block not in last.found]
        solved, solver_answers = self._pooled(new, self.placed(before), ahead)
        failed = {
            block: solved_block
            for block, solved_block in solved.items()
            if solved_block.answer.outcome in (TaskOutcome.INFEASIBLE, TaskOutcome.NOT_CONVERGED)
        }
        solved.update(self._with_all_classes(failed))
        return Round(
            {block: solved.get(block) or before[block] for block in blocks},
            {**last.found, **solver_answers},
            last.beside,
        )

    def searched(self, last: Round, settled: FloatArray | None) -> Round:
        """Return the blocks again, small ones that may have a better optimum tried from many starts, each once.

        Among the starts is the estimate (P, m) that was ``settled`` on before more rows joined. What `improved` asks
        for if nothing changes is done in the meantime.
        """
        again = {
            block: solved_block
            for block, solved_block in last.solved.items()
            if solved_block.is_open
        }
        forms = {block: self.reduced(block) for block in again}
        solver_answers = dict(last.found) if settled is None else {}
        blocks = [block for block in again if block not in solver_answers]
        tasks = []
        for block in blocks:
            held = () if settled is None else (self.reduced(block, settled).program.start,)
            tasks.append(self._many(forms[block].program, TRIES[:1], held))
        answers, beside = self._with_those_beside(tasks, last)
        solver_answers.update(zip(blocks, answers, strict=True))
        bounded = {}
        for block, one in again.items():
            if one.is_beaten_by(answer := solver_answers[block]):
                form = forms[block]
                bounded[block] = self._task(form.program, (answer.z,), WARM_TRIES, form.chains)
        answers = self.ask(bounded.values())
        better = self._solved(list(bounded), [forms[block] for block in bounded], answers)
        for block, one in again.items():
            new = better.get(block)
            if new is not None:
                if new.is_beaten_by(
                    solver_answers[block]
                ):  # solved once more for its bound, it went back
                    solver_answer = replace(solver_answers[block], floor=new.answer.floor)
                    new = replace(new, answer=solver_answer)
                one = one.followed_by(replace(new, bound=min(new.bound, one.bound)))
            again[block] = replace(
                one.beside(forms[block], solver_answers[block]), is_searched=True
            )
        return Round({**last.solved, **again}, last.found, beside)

    def _task(
        self,
        program: BlockProgram,
        starts: tuple[FloatArray, ...],
        tries: tuple[Steps, ...],
        chains: sparse.csr_matrix | None = None,
        perturbed: int = 0,
    ) -> SolverTask:
        """Return the task of solving a program from these starts, and from so many around the last of them."""
        return SolverTask(
            program, starts, tries, self.door, self.deadline, chains=chains, perturbed=perturbed
        )

    def _many(
        self,
        program: BlockProgram,
        tries: tuple[Steps, ...],
        float_arrays: tuple[FloatArray, ...] = (),
    ) -> SolverTask:
        """Return the task of solving a program from what is held, from its start and from many around that."""
        starts = (*float_arrays, program.start, program.start)
        return self._task(program, starts, tries, perturbed=MANY_STARTS)

    def improved(self, last: Round) -> Round:
        """Return the blocks again; those at a saddle with all classes, from a point beside it, where that is better."""
        counts = self.system.case.population.counts
        _, unpooled_answers = self._with_those_beside([], last)
        better = dict(last.solved)
        for block, one in last.solved.items():
            beside = unpooled_answers[block]
            if beside.form is None or beside.answer is None:
                continue
            other = SolvedBlock(beside.form, beside.answer, is_symmetric=False, bound=one.bound)
            if other.answer.is_accepted and other.entropy(counts) > one.entropy(counts):
                better[block] = one.followed_by(other)
            else:
                better[block] = replace(one.beside(beside.form, beside.answer), is_saddle=True)
        return Round(better, last.found, unpooled_answers)

    def _with_those_beside(
        self, tasks: Sequence[SolverTask], last: Round
    ) -> tuple[list[SolverAnswer], dict[Block, UnpooledAnswer]]:
        """Return the answers to tasks, and what lies beside each block's answer.

        A block that is at a saddle is solved from beside it, unless that is done.
        """
        unpooled_answers, values = dict(last.beside), self.placed(last.solved)
        forms: dict[Block, Reduced] = {}
        for block, solved_block in last.solved.items():
            if (
                block not in unpooled_answers
                or unpooled_answers[block].of is not solved_block.answer
            ):
                unpooled_answers[block] = UnpooledAnswer(solved_block.answer)
                shift = saddle(solved_block) if solved_block.answer.is_accepted else None
                if shift is not None:
                    point = shifted(solved_block.reduced, shift, values)
                    forms[block] = self.reduced(block, point, pooled=False)
        programs = [(block, form.program) for block, form in forms.items()]
        answers = self.ask([*tasks, *(self._beside_task(*program) for program in programs)])
        for (block, form), answer in zip(forms.items(), answers[len(tasks) :], strict=True):
            unpooled_answers[block] = UnpooledAnswer(last.solved[block].answer, form, answer)
        return answers[: len(tasks)], unpooled_answers

    def _beside_task(self, block: Block, program: BlockProgram) -> SolverTask:
        """Return the task of solving a program from beside a saddle; a small one from around the closed form too.

        What lies beside a saddle need not lead to the best of the optima in which classes differ.
        """
        if program.size <= SMALL_PROGRAM:
            plain = self.reduced(block, pooled=False).program
            return self._many(plain, BESIDE_TRIES, (program.start,))
        return self._task(program, (program.start,), BESIDE_TRIES)

    def placed(self, solved: Mapping[Block, SolvedBlock]) -> FloatArray:
        """Return the estimate of every profile: the closed form with the blocks' answers put in, shape (P, m)."""
        values = self.closed.copy()
        for solved_block in solved.values():
            values[solved_block.reduced.profiles] = solved_block.values()
        return values

    def _pooled(
        self, blocks: Sequence[Block], values: FloatArray, ahead: Sequence[Block]
    ) -> tuple[dict[Block, SolvedBlock], dict[Block, SolverAnswer]]:
        """Solve blocks in their pooled form, from the estimate so far where it is not the closed form.

        Those ``ahead`` are tried from many starts in the meantime; what is found of them comes second.
        """
        stops = self.system.case.members.stops
        sizes = {block: sum(len(stops(leaf)) for leaf in block.leaves) for block in blocks}
        largest_first = sorted(blocks, key=lambda block: -sizes[block])
        forms: list[Reduced] = []

        def tasks() -> Iterator[SolverTask]:
            for block in largest_first:
                form, task = self._pooled_task(block, values)
                forms.append(form)
                yield replace(task, share=sizes[block] / sum(sizes.values()))
            for block in ahead:
                yield self._many(self.reduced(block).program, TRIES[:1])

        answers = self.ask(tasks())
        solver_answers = dict(zip(ahead, answers[len(forms) :], strict=True))
        return self._solved(largest_first, forms, answers[: len(forms)]), solver_answers

    def _pooled_task(self, block: Block, values: FloatArray) -> tuple[Reduced, SolverTask]:
        form = self.reduced(block, values)
        is_warm = (values[form.profiles] != self.closed[form.profiles]).any()
        tries = WARM_TRIES if is_warm else TRIES
        if form.program.is_convex:
            tries = CONVEX_TRIES
        around = form.program.start
        starts: tuple[FloatArray, ...] = (around,)
        if is_warm and form.program.size <= SMALL_PROGRAM:
            around = self.reduced(block).program.start
            starts += (around,)
        more = 0 if form.program.is_convex else PERTURBED_STARTS
        starts += (around,) if more else ()
        return form, self._task(form.program, starts, tries, form.chains, more)

    def _with_all_classes(self, before: Mapping[Block, SolvedBlock]) -> dict[Block, SolvedBlock]:
        """Solve blocks without pooling, from perturbed starts; return those that this solves."""
        forms = [self.reduced(block, pooled=False) for block in before]
        tasks = []
        for form, pooled in zip(forms, before.values(), strict=True):
            tries = CONVEX_TRIES if form.program.is_convex else TRIES
            # The pooled form's bound holds for all classes; a form that rows rule out has none.
            chains = form.chains if pooled.reduced.program.is_impossible else None
            more = LAST_STARTS if form.program.size <= SMALL_PROGRAM else PERTURBED_STARTS
            starts = (form.program.start,)
            tasks.append(self._task(form.program, starts, tries, chains, more))
        solved_blocks = self._solved(list(before), forms, self.ask(tasks))
        return {
            block: replace(
                solved_block, is_symmetric=False, bound=min(solved_block.bound, before[block].bound)
            )
            for block, solved_block in solved_blocks.items()
            if solved_block.answer.is_accepted
        }

    def _solved(
        self, blocks: Sequence[Block], forms: Sequence[Reduced], answers: Sequence[SolverAnswer]
    ) -> dict[Block, SolvedBlock]:
        counts = self.system.case.population.counts
        return {
            block: SolvedBlock(
                form, answer, is_symmetric=True, bound=proved_bound(form, answer, counts)
            )
            for block, form, answer in zip(blocks, forms, answers, strict=True)
        }
