"""Where the Lagrangian lies above its tangent: what every bound rests on."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from tests.judges.estimate import direct
from tests.judges.estimate.cases import sample
from tests.judges.estimate.product import answer
from tests.kit.cases import case_of, multiway_tree, random_table
from tests.kit.tiers import cases
from treewarden.audit.entropy.masses import ProgramBuilder
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.reduce import shares
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.entropy.violated import violated
from treewarden.audit.ipopt.program import SplitTerms
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.solver.canonical import weights
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion

EMPTY = ProgramBuilder().program(Criterion.GINI)


def divergence(v, w):
    return v * np.log(v / w) - v + w


@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
@given(
    known=st.floats(0, 100),
    free=st.floats(1, 100),
    share=st.floats(1e-6, 1),
    more=st.floats(1e-6, 1),
)
def test_no_term_falls_by_more_than_its_weight_of_what_the_entropy_rises(
    criterion, known, free, share, more
):
    scale, w, v = 150.0, share * free, more * free
    program = replace(
        EMPTY,
        criterion=criterion,
        scale=np.array([scale]),
        splits=replace(
            EMPTY.splits,
            terms=SplitTerms(
                row=np.array([0]),
                variable=np.array([1]),
                coefficient=np.array([1.0]),
                scale=np.array([scale]),
                known=np.array([known]),
                most=np.array([known + free]),
            ),
            limit=np.zeros(1),
        ),
    )
    point = np.array([w, w + known])
    weight = weights(program, sparse.csr_matrix([[1.0]]), point).toarray().max(initial=0.0)
    most = weights(program, sparse.csr_matrix([[1.0]])).toarray().max(initial=0.0)
    is_gini = criterion is Criterion.GINI
    fall = (v - w) ** 2 / scale if is_gini else divergence(v + known, w + known)
    assert fall <= weight * divergence(v, w) + 1e-9
    assert weight <= most + 1e-9


@cache
def pooled_forms(split):
    """The first blocks of some audits: pooled, with all classes, and the same point of both."""
    found = []
    for seed in range(6):
        table = random_table(seed, classes=6, records=90, leading=2)
        tree = multiway_tree(table, Criterion(split))
        people = build_population(tree, table, sensitive="class")
        system = build_system(case_of(tree, people, Knowledge(leaf="rates", split=split)))
        search = EntropySearch(system, AuditOptions(rows="real", jobs=1))
        values = np.random.default_rng(seed).dirichlet(np.ones(6), size=len(search.closed))
        active = tuple(violated(search, values).worst((), {}))
        for block in blocks(system, tuple(search.knowledge), active):
            pooled = search.reduced(block)
            if pooled.program.is_convex or not (pooled.kappa > 1).any():
                continue
            values = search.closed.copy()
            values[pooled.profiles] = shares(pooled, pooled.program.start)
            found.append((pooled, search.reduced(block, values, pooled=False)))
    return found


def corners(program, count):
    """Corners of what the linear rows allow: some random ones, and some with much in one term of a chosen split."""
    draw = np.random.default_rng(0)
    assert (program.low == program.high).all()
    tops = np.where(np.isfinite(program.upper), program.upper, program.scale.sum())
    ends = np.stack([program.lower, tops], axis=1)
    terms = draw.permutation(program.splits.terms.variable[program.splits.terms.coefficient > 0])[
        :count
    ]
    wanted = [*draw.normal(size=(count, program.size)), *-np.eye(program.size)[terms]]
    for cost in wanted:
        answer = linprog(cost, A_eq=program.rows, b_eq=program.low, bounds=ends)
        yield np.maximum(answer.x, program.lower)


def rises(pooled, whole, load):
    """How far the Lagrangian with all classes is above its tangent at a pooled point, at some corners."""
    point, program = whole.program.start, whole.program
    draw = np.random.default_rng(1)
    prices = draw.random(len(program.splits))
    seen = weights(pooled.program, pooled.chains, pooled.program.start)
    prices *= load / (seen.T @ prices).max()
    slope = program.gradient(point, 0.0) + program.split_jacobian(point).T @ prices
    for corner in corners(program, 20):
        at, begin = (
            program.objective(z) + prices @ program.split_values(z) for z in (corner, point)
        )
        yield at - begin - slope @ (corner - point)


@pytest.mark.parametrize("split", cases(["gini", "entropy", "gain-ratio"], quick=1))
def test_with_all_classes_the_lagrangian_is_above_its_tangent_at_a_pooled_point(split):
    forms = pooled_forms(split)
    assert len(forms) > 5
    assert min(rise for form in forms for rise in rises(*form, 1.0)) > -1e-6


def test_with_eight_times_the_load_it_is_not():
    assert min(rise for form in pooled_forms("gini") for rise in rises(*form, 8.0)) < -1


@pytest.mark.parametrize("split", ["gini", "gain-ratio"])
def test_pooled_chains_weigh_no_less_than_those_of_all_classes(split):
    for pooled, whole in pooled_forms(split):
        for point, other in ((None, None), (pooled.program.start, whole.program.start)):
            heavy = weights(pooled.program, pooled.chains, point).toarray()
            light = weights(whole.program, whole.chains, other).toarray()
            for column in light.T:
                assert (heavy >= column[:, None] - 1e-6).all(axis=0).any()


def test_classes_of_a_pool_are_free_to_differ_where_their_total_is_known():
    """One label in all leaves, two classes beside it: what the two have together is known, what each has is not."""
    system = build_system(sample(54085).case)
    _, report = answer(system)
    _, unreduced = direct.solve(system)
    assert unreduced.status == "optimal"
    assert unreduced.entropy == pytest.approx(0.425249, abs=1e-5)
    assert report.entropy >= unreduced.entropy - 1e-6
    assert report.entropy_bound >= unreduced.entropy
    assert not report.is_convex
    assert not report.is_unique
