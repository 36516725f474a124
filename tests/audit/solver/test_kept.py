"""What solvers said is kept: taken again after a check, and never at its word."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.kit.cases import curved_tasks, multiway_case
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.program import BlockProgram, no_split_rows
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.checkpoint import keeping, key_of, solve_all
from treewarden.audit.solver.task import SolutionReplay, holds
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.tree.tree import Criterion


@pytest.fixture(scope="module")
def tasks():
    """A convex block, and blocks whose split rows are not."""
    system = build_system(
        multiway_case(0, Knowledge(leaf="rates", split="none", marginal=True), records=40)
    )
    found = []

    class Recorder(EntropySearch):
        def ask(self, asked):
            seen = list(asked)
            found.extend(seen)
            return [solve_task(task) for task in seen]

    search = Recorder(system, AuditOptions(jobs=1))
    search.solve(blocks(system, tuple(search.knowledge), ()), BEGINNING)
    return [*found, *curved_tasks("gini")[:2]]


def solved(tasks, folder):
    with keeping(folder, 0.0) as kept:
        return [said(answer) for answer in solve_all(tasks, 1)], kept


def said(answer):
    whole = (answer.z, answer.split, *answer.rivals)
    return answer.outcome, answer.floor, answer.objective, [part.tobytes() for part in whole]


def test_what_was_solved_is_taken_again_with_the_same_bytes(tasks, tmp_path):
    alone, _ = solved(tasks, None)
    first, kept = solved(tasks, tmp_path / "kept")
    again, taken = solved(tasks, tmp_path / "kept")
    assert first == alone == again
    assert (kept.put, kept.taken) == (len(tasks), 0)
    assert (taken.put, taken.taken, taken.notes) == (0, len(tasks), {})


def test_only_this_user_can_read_what_is_kept_and_it_holds_numbers_alone(tasks, tmp_path):
    solved(tasks[:1], tmp_path / "kept")
    (file,) = (tmp_path / "kept").iterdir()
    head = json.loads(file.read_bytes().split(b"\n")[1])
    assert set(head) == {"schema", "key", "solutions", "lengths"}
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("fault", ["cut", "another's", "no json", "empty", "a pickle"])
def test_a_damaged_or_foreign_file_is_not_used_and_that_is_said(tasks, tmp_path, fault):
    first, _ = solved(tasks[:1], tmp_path / "kept")
    (file,) = (tmp_path / "kept").iterdir()
    data = file.read_bytes()
    other = data.replace(file.stem.encode(), b"0" * 64)
    body = other.split(b"\n", 1)[1]
    file.write_bytes(
        {
            "cut": data[:-8],
            "another's": hashlib.sha256(body).hexdigest().encode() + b"\n" + body,
            "no json": hashlib.sha256(b"x\n").hexdigest().encode() + b"\nx\n",
            "empty": b"",
            "a pickle": b"cos\nsystem\n(S'false'\ntR.",
        }[fault]
    )
    again, kept = solved(tasks[:1], tmp_path / "kept")
    assert again == first
    assert len(kept.notes) == 1
    assert kept.put == 1


def test_a_folder_that_others_can_write_into_is_refused(tmp_path):
    (tmp_path / "kept").mkdir()
    os.chmod(tmp_path / "kept", 0o777)  # noqa: S103, PTH101  # that is the fault
    with pytest.raises(OutputError, match="only you can write into"), keeping(tmp_path / "kept"):
        pass


def heard(task):
    tape = SolutionReplay()
    solve_task(replace(task, tape=tape))
    return tape.heard


FORGED = [
    lambda one: replace(one, z=one.z[:-1]),
    lambda one: replace(one, z=one.z * np.nan),
    lambda one: replace(one, z=one.z + 1.0),
    lambda one: replace(one, z=one.z * (1 + 1e-4)),
    lambda one: replace(one, bounds=one.bounds - 1.0),
    lambda one: replace(one, linear=-one.linear - 1.0, bounds=one.bounds + 1.0),
    lambda one: replace(one, split=one.split - 1.0),
    lambda one: replace(one, iterations=-1),
]


@pytest.mark.parametrize("forge", FORGED)
def test_what_is_no_optimum_is_solved_anew_with_the_same_bytes(tasks, forge):
    task = tasks[-1]
    forged = SolutionReplay([forge(one) for one in heard(task)])
    assert said(solve_task(replace(task, tape=forged))) == said(solve_task(task))
    assert forged.is_refused


def test_multipliers_that_balance_any_point_prove_no_optimum():
    draw = np.random.default_rng(0)
    program = small_program()
    z = program.start + 0.1 * draw.random(program.size)
    z *= 3.0 / z.sum()
    said = Solution(z, np.zeros(1), np.zeros(0), -program.gradient(z, 0.0), Status.SOLVED, 1)
    assert holds(program, z)
    assert program.kkt_error(z, said.linear, said.split, said.bounds, 0.0) == 0.0
    assert SolutionReplay([said]).next(program, 0.0, 0) is None


def test_the_optimum_with_its_multipliers_is_taken():
    program = small_program()
    z = program.start
    said = Solution(z, -program.gradient(z, 0.0)[:1], np.zeros(0), np.zeros(3), Status.SOLVED, 1)
    assert SolutionReplay([said]).next(program, 0.0, 0) is said


def small_program():
    """Return the entropy of three shares of three records: its maximum is one each."""
    three = np.ones(3)
    return BlockProgram(
        criterion=Criterion.GINI,
        scale=3 * three,
        start=three,
        lower=0 * three,
        upper=3 * three,
        rows=sparse.csr_matrix(np.ones((1, 3))),
        low=np.array([3.0]),
        high=np.array([3.0]),
        cost=0 * three,
        splits=no_split_rows(3),
    )


def test_a_told_failure_is_never_a_solution(tasks):
    task = tasks[0]
    told = [replace(one, status=Status.INFEASIBLE) for one in heard(task)]
    answer = solve_task(replace(task, tape=SolutionReplay(told)))
    assert said(answer) == said(solve_task(task)) or not answer.is_accepted


def test_a_key_depends_on_the_numbers_of_a_task_and_on_how_it_is_solved(tasks):
    task = tasks[-1]
    others = [
        replace(task, perturbed=task.perturbed + 1),
        replace(task, tries=task.tries[:1]),
        replace(task, door="cyipopt") if task.door != "cyipopt" else task,
        replace(task, chains=None),
        replace(task, program=replace(task.program, high=task.program.high + 1e-9)),
    ]
    assert key_of(replace(task, deadline=5.0, share=0.5, tape=SolutionReplay())) == key_of(task)
    assert key_of(task) not in [key_of(each) for each in others if each.door == task.door]
