"""Maximum entropy by multipliers: the optimum that IPOPT finds, under survey weights, labels and class totals."""

import numpy as np
import pytest
from scipy import sparse

from tests.audit.weighed_trees import people_of, weighed_tree
from tests.kit.cases import multiway_case
from tests.kit.tiers import seeds
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.facts.rows import Case
from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, no_split_rows
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT
from treewarden.audit.population.target import members
from treewarden.audit.solver.block_solver import _as_it_stands, _from_inside, _judged, solve_task
from treewarden.audit.solver.task import CONVEX_TRIES, SolverTask, TaskOutcome, no_answer
from treewarden.audit.solver.tilting import tilted
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion


def programs_of(case):
    search = EntropySearch(build_system(case), DEFAULT)
    parts = blocks(search.system, tuple(search.knowledge), ())
    return [search.reduced(block).program for block in parts]


def weighed_programs(seed, leaf, people=120):
    """Return the programs of a tree that was grown with weights of two decimals."""
    draw = np.random.default_rng(seed)
    ages = draw.integers(20, 60, people).astype(float).tolist()
    ill = draw.choice(["no", "some", "yes"], people, p=[0.5, 0.3, 0.2]).tolist()
    weights = draw.gamma(4, 2.5, people).round(2).tolist()
    tree, table = weighed_tree(ages, ill, weights, max_leaf_nodes=4, min_samples_leaf=15)
    population = people_of(tree, table)
    knowledge = Knowledge(leaf=leaf, split="none")
    return programs_of(Case(tree, population, members(tree, population.leaf), knowledge))


def by_ipopt(program):
    """Return what IPOPT says of a program."""
    task = SolverTask(program, (program.start,), CONVEX_TRIES, "casadi")
    first = _as_it_stands(task, no_answer(task, TaskOutcome.INFEASIBLE))
    return first if first.is_accepted else _from_inside(task, first)


def assert_same(program):
    """Assert that an answer by multipliers is an optimum, and the one that IPOPT finds."""
    solution = tilted(program)
    assert solution is not None
    answer, other = _judged(program, solution, 0.0), by_ipopt(program)
    assert answer.is_accepted
    assert other.is_accepted
    assert answer.objective == pytest.approx(other.objective, abs=1e-5)
    masses = len(program.scale)
    np.testing.assert_allclose(answer.z[:masses], other.z[:masses], atol=2e-4)


@pytest.mark.parametrize("leaf", ["counts", "rates", "labels"])
@pytest.mark.parametrize("seed", seeds(12, quick=2))
def test_leaves_under_survey_weights_have_the_optimum_that_ipopt_finds(seed, leaf):
    programs = [program for program in weighed_programs(seed, leaf) if program.size]
    in_reach = [program for program in programs if tilted(program) is not None]
    assert len(in_reach) > len(programs) / 2  # the others have a class that a row forces to nothing
    for program in in_reach:
        assert_same(program)


@pytest.mark.parametrize("seed", seeds(12, quick=3))
def test_class_totals_over_all_leaves_have_it_too(seed):
    case = multiway_case(seed, Knowledge(leaf="labels", split="none", marginal=True))
    for program in programs_of(case):
        if tilted(program) is not None:
            assert_same(program)


def two_groups(rows, low, high):
    """Return a program of two groups of 3 and 5 records in two classes each, under further rows."""
    told = [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], *rows]
    return BlockProgram(
        criterion=Criterion.GINI,
        scale=np.array([3.0, 3.0, 5.0, 5.0]),
        start=np.array([1.5, 1.5, 2.5, 2.5]),
        lower=np.full(4, SMALLEST_MASS),
        upper=np.full(4, np.inf),
        rows=sparse.csr_matrix(np.array(told)),
        low=np.array([3.0, 5.0, *low]),
        high=np.array([3.0, 5.0, *high]),
        cost=np.zeros(4),
        splits=no_split_rows(4),
    )


def test_equal_weights_share_a_sum_by_records():
    solution = tilted(two_groups([[1.0, 0.0, 1.0, 0.0]], [2.0], [2.0]))
    np.testing.assert_allclose(solution.z, [0.75, 2.25, 1.25, 3.75], rtol=1e-9)


def test_an_inequality_that_does_not_bind_changes_nothing_and_one_that_does_is_met_at_its_end():
    row = [[1.0, 0.0, 1.0, 0.0]]
    np.testing.assert_allclose(tilted(two_groups(row, [1.0], [4.5])).z, [1.5, 1.5, 2.5, 2.5])
    np.testing.assert_allclose(tilted(two_groups(row, [6.0], [8.0])).z.take([0, 2]).sum(), 6.0)


@pytest.mark.parametrize("total", [0.0, 8.0, 9.0])
def test_rows_that_leave_no_room_or_no_point_are_left_to_ipopt(total):
    program = two_groups([[1.0, 0.0, 1.0, 0.0]], [total], [total])
    assert tilted(program) is None
    task = SolverTask(program, (program.start,), CONVEX_TRIES, "casadi")
    assert solve_task(task).is_accepted == (total <= 8.0)


def test_a_program_with_split_rows_or_a_mass_in_no_group_is_another():
    free = two_groups([], [], [])
    rows = sparse.csr_matrix(np.array([[1.0, 1.0, 0.0, 0.0]]))
    others = (free.criterion, free.scale, free.start, free.lower, free.upper)
    assert (
        tilted(BlockProgram(*others, rows, *([np.array([3.0])] * 2), free.cost, free.splits))
        is None
    )
