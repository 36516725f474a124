"""Maximum entropy by multipliers: the optimum that IPOPT finds, under survey weights, labels and class totals."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from tests.audit.weighed_trees import people_of, weighed_tree
from tests.kit.cases import multiway_case
from tests.kit.tiers import seeds
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.facts.rows import Case
from treewarden.audit.ipopt.program import (
    SMALLEST_MASS,
    BlockProgram,
    DualGroups,
    DualRows,
    SplitRows,
    SplitTerms,
    no_split_rows,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT
from treewarden.audit.population.target import members
from treewarden.audit.solver.block_solver import _as_it_stands, _from_inside, _judged, solve_task
from treewarden.audit.solver.dual_newton import curvature_of, find_multipliers
from treewarden.audit.solver.task import CONVEX_TRIES, SolverTask, TaskOutcome, no_answer
from treewarden.audit.solver.tilting import (
    _reach_of_few,
    _reach_of_full,
    likely_multipliers,
    tilted,
)
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
    in_reach = [program for program in programs_of(case) if tilted(program) is not None]
    assert in_reach
    for program in in_reach:
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


def drawn_program(seed, groups=40, rows=12):
    """Return a program of groups of 2 or 3 masses under equalities, intervals and caps that some point satisfies."""
    draw = np.random.default_rng(seed)
    sizes, width = draw.integers(1, 30, groups).astype(float), int(draw.integers(2, 4))
    group = np.repeat(np.arange(groups), width)
    inside = draw.dirichlet(np.ones(width), groups) * sizes[:, None]
    more = draw.integers(0, 4, (rows, groups * width)) * (draw.random((rows, len(group))) < 0.5)
    value = more @ inside.ravel()
    slack = draw.choice([0.0, 2.0, np.inf], rows)
    told = np.vstack([np.arange(groups)[:, None] == group, more]).astype(float)
    is_capped = draw.random(len(group)) < 0.2
    upper = np.where(is_capped, inside.ravel() * 1.2 + 0.1, np.inf)
    return BlockProgram(
        criterion=Criterion.GINI,
        scale=sizes[group],
        start=(sizes / width)[group],
        lower=np.full(len(group), SMALLEST_MASS),
        upper=upper,
        rows=sparse.csr_matrix(told),
        low=np.concatenate([sizes, value - slack]),
        high=np.concatenate([sizes, value + np.where(np.isfinite(slack), slack, 1.0)]),
        cost=np.zeros(len(group)),
        splits=no_split_rows(len(group)),
    )


@pytest.mark.parametrize("seed", seeds(60, quick=8))
def test_equalities_intervals_and_caps_over_all_groups_have_the_optimum_that_ipopt_finds(seed):
    assert_same(drawn_program(seed))


def test_hundreds_of_sparse_rows_and_class_totals_over_them_are_solved_too():
    """Each leaf of four groups has the total of its first class known, and so has each class over all leaves."""
    draw = np.random.default_rng(5)
    leaves, classes = 120, 6
    sizes = draw.integers(1, 20, 4 * leaves).astype(float)
    inside = draw.dirichlet(np.ones(classes), len(sizes)) * sizes[:, None]
    group = np.repeat(np.arange(len(sizes)), classes)
    klass = np.tile(np.arange(classes), len(sizes))
    told = [
        np.arange(len(sizes))[:, None] == group,
        (np.arange(leaves)[:, None] == group // 4) & (klass == 0),
        np.arange(1, classes)[:, None] == klass,
    ]
    rows = np.vstack(told).astype(float)
    value = rows @ inside.ravel()
    program = BlockProgram(
        criterion=Criterion.GINI,
        scale=sizes[group],
        start=(sizes / classes)[group],
        lower=np.full(len(group), SMALLEST_MASS),
        upper=np.full(len(group), np.inf),
        rows=sparse.csr_matrix(rows),
        low=value,
        high=value,
        cost=np.zeros(len(group)),
        splits=no_split_rows(len(group)),
    )
    assert_same(program)


@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
def test_a_convex_split_row_is_met_by_its_tangents(criterion):
    """The share of the first class on one branch is held near a half, which a total of 6 of 8 records pulls up."""
    program = two_groups([[1.0, 0.0, 1.0, 0.0]], [6.0], [6.0])
    places = np.arange(2)
    terms = SplitTerms(
        row=np.zeros(2, dtype=np.intp),
        variable=places.astype(np.intp),
        coefficient=-np.ones(2),
        scale=np.full(2, 3.0),
        known=np.zeros(2),
        most=np.full(2, 3.0),
    )
    limit = 0.55 * 3.0 if criterion is Criterion.GINI else -0.65 * 3.0
    rows = SplitRows(
        terms,
        constant=np.zeros(1),
        limit=np.array([limit]),
        records=np.array([3.0]),
        linear=sparse.csr_matrix((1, 4)),
    )
    split = replace(program, criterion=criterion, splits=rows)
    assert_same(split)
    assert tilted(split).split[0] > 0
    assert tilted(program).z[0] > tilted(split).z[0] + 0.1


def test_the_multipliers_are_asked_only_where_no_backend_is_named(monkeypatch):
    module = import_module("treewarden.audit.solver.block_solver")
    asked = []
    monkeypatch.setattr(module, "tilted", lambda program: asked.append(1))
    program = two_groups([[1.0, 0.0, 1.0, 0.0]], [2.0], [2.0])
    objectives = []
    for door in ("auto", "casadi"):
        answer = solve_task(SolverTask(program, (program.start,), CONVEX_TRIES, door))
        objectives.append(answer.objective)
    assert len(asked) == 1
    assert objectives[0] == objectives[1] == pytest.approx(_objective_of(program), abs=1e-6)


def _objective_of(program):
    return program.objective(tilted(program).z)


def test_a_mass_in_no_group_is_another_program():
    free = two_groups([], [], [])
    rows = sparse.csr_matrix(np.array([[1.0, 1.0, 0.0, 0.0]]))
    others = (free.criterion, free.scale, free.start, free.lower, free.upper)
    assert (
        tilted(BlockProgram(*others, rows, *([np.array([3.0])] * 2), free.cost, free.splits))
        is None
    )


def pairs_of_rows(seed, groups=30):
    """Return rows over groups of two masses in any order: some about all, some about few; the groups, and masses."""
    draw = np.random.default_rng(seed)
    group = draw.permutation(np.repeat(np.arange(groups), 2))
    full = draw.normal(size=(3, 2 * groups))
    few = np.where(group[None, :] == np.arange(4)[:, None] * 2, 1.0, 0.0)
    few = few * draw.normal(size=few.shape)
    rows = np.vstack([full[:1], few[:2], full[1:], few[2:]])
    z = draw.gamma(2.0, size=2 * groups)
    records = np.bincount(group, weights=z)
    return rows, group, records, z


@pytest.mark.parametrize("seed", range(5))
def test_rows_about_few_groups_meet_others_as_the_formula_of_the_curvature_says(seed):
    rows, group, records, z = pairs_of_rows(seed)
    found = curvature_of(sparse.csr_matrix(rows), group, records)
    mean = np.stack([np.bincount(group, weights=row * z) for row in rows])
    wanted = (rows * z) @ rows.T - (mean / records) @ mean.T
    for binding in (np.arange(len(rows)), np.array([1, 3]), np.array([2, 6]), np.array([0, 4])):
        matrix = found.of_rows(z, binding)
        np.testing.assert_allclose(
            matrix @ np.eye(len(binding)), wanted[np.ix_(binding, binding)], atol=1e-12
        )


@pytest.mark.parametrize("known", range(8))
def test_a_curvature_is_the_same_where_that_of_the_first_rows_is_known(known):
    rows, group, records, z = pairs_of_rows(known)
    every, binding = np.arange(len(rows)), np.array([1, 3, 5, 6])
    first = curvature_of(sparse.csr_matrix(rows[:known]), group, records)
    found = curvature_of(sparse.csr_matrix(rows), group, records, first)
    wanted = curvature_of(sparse.csr_matrix(rows), group, records)
    for chosen in (every, binding):
        one, other = found.of_rows(z, chosen), wanted.of_rows(z, chosen)
        np.testing.assert_allclose(
            one @ np.eye(len(chosen)), other @ np.eye(len(chosen)), atol=1e-12
        )
        np.testing.assert_allclose(one.size, other.size, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_multipliers_follow_from_the_masses_that_they_make(seed):
    rows, group, records, _ = pairs_of_rows(seed)
    weights = sparse.csr_matrix(rows)
    draw = np.random.default_rng(seed)
    scale = draw.gamma(2.0, size=len(group))
    groups = DualGroups(
        scale, group, records, np.arange(30), sparse.csr_matrix((0, 60)), np.zeros(0), np.zeros(0)
    )
    price = draw.normal(size=len(rows)) * np.array([1, 1, 1, 1, 0, 0, 1])
    y, _ = groups.masses(-(weights.T @ price))
    value = weights @ y
    # The fourth and the last are intervals, at the end that their multipliers hold; two have room.
    low, high = value - np.array([0, 0, 0, 1, 1, 1, 1]), value + np.array([0, 0, 0, 1, 1, 1, 1])
    for row in (3, 6):
        (high if price[row] > 0 else low)[row] = value[row]
    of = DualRows(
        weights, low, high, np.arange(7), np.zeros(7, dtype=bool), np.zeros(0, dtype=np.intp)
    )
    found = likely_multipliers(groups, of, y, curvature_of(weights, group, records))
    np.testing.assert_allclose(found, price, atol=1e-8)
    solved = find_multipliers(groups, of, found)
    assert solved is not None
    assert solved[1] <= 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [2, 3])
def test_rows_about_many_masses_reach_as_far_as_each_of_them_by_itself(seed, width):
    draw = np.random.default_rng(seed)
    group = draw.permutation(np.repeat(np.arange(20), width))
    weights = sparse.csr_matrix(
        draw.normal(size=(6, len(group))) * (draw.random((6, len(group))) < 0.6)
    )
    records = draw.gamma(2.0, size=20)
    groups = DualGroups(
        scale=np.ones(len(group)),
        group=group,
        records=records,
        row=np.zeros(0, dtype=np.intp),
        sums=sparse.csr_matrix((0, len(group))),
        constant=np.zeros(0),
        of_total=np.zeros(0, dtype=np.intp),
    )
    for found, wanted in zip(
        _reach_of_full(weights, groups), _reach_of_few(weights, groups), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_narrow_intervals_that_nearly_follow_from_each_other_have_multipliers(seed):
    """As coefficients of a regression have them, each a sum over all people in a band of its rounding."""
    draw = np.random.default_rng(seed)
    size, count = 120, 6
    group = np.repeat(np.arange(size), 2)
    columns = draw.integers(0, 4, (count, size)).astype(float)
    columns[3] = columns[0] + columns[1]
    columns[4:] = columns[4:] * 1000.0
    rows = np.zeros((count, 2 * size))
    rows[:, 1::2] = columns / columns.max(axis=1, keepdims=True)
    truth = draw.random(size) < 0.3 + 0.4 * (columns[0] > 1)
    value = rows[:, 1::2] @ truth
    width = 10.0 ** draw.uniform(-5, -3, count)
    at = draw.random(count)
    groups = DualGroups(
        np.ones(2 * size),
        group,
        np.ones(size),
        np.arange(size),
        sparse.csr_matrix((0, 2 * size)),
        np.zeros(0),
        np.zeros(0, dtype=np.intp),
    )
    low, high = value - at * width, value + (1 - at) * width
    weights = sparse.csr_matrix(rows)
    of = DualRows(
        weights,
        low,
        high,
        np.arange(count),
        np.zeros(count, dtype=bool),
        np.zeros(0, dtype=np.intp),
    )
    found = find_multipliers(groups, of, np.zeros(count))
    assert found is not None
    there = weights @ groups.masses(-(weights.T @ found[0]))[0]
    close = 1e-6
    assert (there >= low - close).all()
    assert (there <= high + close).all()
    assert (there[found[0] > 1e-9] >= high[found[0] > 1e-9] - close).all()
    assert (there[found[0] < -1e-9] <= low[found[0] < -1e-9] + close).all()


def printed_rows(seed):
    """Return 8 to 59 people, and sums over them in bands of rounding, of which one is the sum of two others."""
    draw = np.random.default_rng(seed + 10**6)
    size = int(draw.integers(8, 60))
    count = int(draw.integers(2, max(3, min(12, size // 3))))
    columns = draw.integers(0, draw.choice([2, 4, 30, 80]), (count, size)).astype(float)
    if count > 3:
        columns[3] = columns[0] + columns[1]
    leaves = int(draw.integers(0, 4))
    if leaves:
        leaf = draw.integers(0, leaves, size)
        columns = np.vstack([columns, [(leaf == each).astype(float) for each in range(leaves)]])
    columns = columns[columns.max(axis=1) > 0]
    count = len(columns)
    rows = np.zeros((count, 2 * size))
    rows[:, 1::2] = columns / columns.max(axis=1, keepdims=True)
    truth = draw.random(size) < 0.3 + 0.4 * (columns[0] > 1)
    value = rows[:, 1::2] @ truth
    width = 10.0 ** draw.uniform(-5, -1, count)
    width[draw.random(count) < 0.2] = 0
    at = draw.random(count)
    group, none = np.repeat(np.arange(size), 2), np.zeros(0, dtype=np.intp)
    totals = sparse.csr_matrix((0, 2 * size))
    groups = DualGroups(
        np.ones(2 * size), group, np.ones(size), np.arange(size), totals, np.zeros(0), none
    )
    low, high, own = value - at * width, value + (1 - at) * width, np.arange(count)
    return groups, DualRows(
        sparse.csr_matrix(rows), low, high, own, np.zeros(count, dtype=bool), none
    )


CAME_TO_NO_END = [231, 282, 469, 496, 584, 653, 681, 762, 831, 985, 1014]


@pytest.mark.parametrize("seed", CAME_TO_NO_END)
def test_steps_far_along_rows_that_nearly_follow_from_each_other_are_held_back(seed):
    groups, rows = printed_rows(seed)
    found = find_multipliers(groups, rows, np.zeros(len(rows.low)))
    assert found is not None
    price, close = found[0], 1e-6
    value = rows.weights @ groups.masses(-(rows.weights.T @ price))[0]
    assert (value >= rows.low - close).all()
    assert (value <= rows.high + close).all()
    assert (value[price > 1e-9] >= rows.high[price > 1e-9] - close).all()
    assert (value[price < -1e-9] <= rows.low[price < -1e-9] + close).all()
