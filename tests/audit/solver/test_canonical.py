"""Programs in an order that depends on their numbers alone: solved alike, however their parts were ordered."""

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse

from tests.kit.cases import multiway_case
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.reduce import Reduced
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.entropy.violated import violated
from treewarden.audit.ipopt.program import SplitRows
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.canonical import _rounded, canonical, restored
from treewarden.audit.solver.task import TRIES, SolverTask
from treewarden.audit.system.system import build_system


def block(seed: int) -> Reduced:
    """Return the program of some block with split rows."""
    system = build_system(multiway_case(seed, Knowledge(leaf="rates", split="gini"), records=60))
    search = EntropySearch(system, AuditOptions(rows="real"))
    values = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(search.closed))
    active = tuple(violated(search, values).worst((), {}))
    return search.reduced(blocks(system, tuple(search.knowledge), active)[0])


def shuffled(form: Reduced, seed: int) -> tuple[Reduced, np.ndarray, np.ndarray]:
    """Return the program with its parts in another order, and the orders of its variables and split rows."""
    draw, program = np.random.default_rng(seed), form.program
    n_mass = len(program.scale)
    order = np.concatenate(
        [draw.permutation(n_mass), n_mass + draw.permutation(program.size - n_mass)]
    )
    rows, splits = (
        draw.permutation(len(program.low)),
        draw.permutation(len(program.splits)),
    )
    terms = draw.permutation(len(program.splits.terms))
    other = replace(
        program,
        scale=program.scale[order[:n_mass]],
        start=program.start[order],
        lower=program.lower[order],
        upper=program.upper[order],
        rows=sparse.csr_matrix(program.rows[rows][:, order]),
        low=program.low[rows],
        high=program.high[rows],
        splits=SplitRows(
            replace(
                program.splits.terms,
                row=np.argsort(splits)[program.splits.terms.row],
                variable=np.argsort(order)[program.splits.terms.variable],
            ).only(terms),
            constant=program.splits.constant[splits],
            limit=program.splits.limit[splits],
            records=program.splits.records[splits],
            linear=sparse.csr_matrix(program.splits.linear[splits][:, order]),
        ),
    )
    chains = sparse.csr_matrix(form.chains[terms][:, order[:n_mass]])
    return replace(form, program=other, chains=chains), order, splits


@pytest.mark.parametrize("seed", range(4))
def test_a_program_in_another_order_has_the_same_canonical_form(seed):
    form = block(seed)
    assert len(form.program.splits)
    one = canonical(form.program)
    for again in range(3):
        mixed, *_ = shuffled(form, again)
        two = canonical(mixed.program)
        names = (
            "scale",
            "start",
            "upper",
            "low",
            "high",
            "splits.terms.coefficient",
            "splits.limit",
        )
        for name in names:
            wanted, got = attrgetter(name)(one.program), attrgetter(name)(two.program)
            np.testing.assert_allclose(got, wanted, rtol=1e-12)
        assert (one.program.rows != two.program.rows).nnz == 0
        assert (one.chains(form.chains) != two.chains(mixed.chains)).nnz == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_last_digits_of_a_start_do_not_change_the_order(seed):
    program = block(seed).program
    noise = 1e-8 * np.random.default_rng(seed).normal(size=program.size)
    moved = replace(program, start=program.start * (1 + noise))
    assert canonical(moved).variables.tolist() == canonical(program).variables.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_numbers_that_differ_by_rounding_alone_are_the_same_in_canonical_form(seed):
    program = block(seed).program
    numbers = ("scale", "start", "low", "high", "upper")
    up = {name: np.nextafter(getattr(program, name), np.inf) for name in numbers}
    terms = program.splits.terms
    splits = replace(
        program.splits,
        terms=replace(terms, scale=np.nextafter(terms.scale, np.inf)),
        constant=np.nextafter(program.splits.constant, np.inf),
    )
    one, two = canonical(program).program, canonical(replace(program, splits=splits, **up)).program
    for name in (*numbers, "splits.terms.scale", "splits.constant"):
        assert attrgetter(name)(one).tolist() == attrgetter(name)(two).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_its_parts_does_not_change_an_answer(seed):
    form = block(seed)
    mixed, order, splits = shuffled(form, seed)
    one, two = (
        solve_task(
            SolverTask(f.program, (f.program.start,), TRIES, "casadi", chains=f.chains, perturbed=4)
        )
        for f in (form, mixed)
    )
    assert one.is_accepted
    assert one.iterations == two.iterations
    assert two.objective == pytest.approx(one.objective, abs=1e-9)
    np.testing.assert_allclose(restored(two.split, splits), one.split, atol=1e-6)
    # Variables that nothing tells apart may stand for each other.
    np.testing.assert_allclose(np.sort(restored(two.z, order)), np.sort(one.z), atol=1e-6)


def test_what_is_put_back_stands_where_it_stood():
    order = np.array([2, 0, 1])
    values = np.array([10.0, 20.0, 30.0])
    assert restored(values[order], order).tolist() == values.tolist()


@pytest.mark.parametrize("bits", [12, 30, 44])
def test_numbers_are_rounded_half_to_even_and_ends_stay(bits):
    draw = np.random.default_rng(bits)
    ties = np.ldexp(draw.integers(0, 2**bits, 200) + 0.5, -7)
    numbers = np.concatenate(
        [draw.normal(size=500) * 10.0 ** draw.integers(-200, 200, 500), ties, -ties]
    )
    mantissa, exponent = np.frexp(numbers)
    wanted = np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)
    assert _rounded(numbers, bits).tolist() == wanted.tolist()
    ends = _rounded(np.array([np.inf, -np.inf, 0.0, -0.0]), bits)
    assert ends.tolist() == [np.inf, -np.inf, 0.0, 0.0]
    assert not np.signbit(ends[3])
