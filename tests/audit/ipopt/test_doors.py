"""Both doors to IPOPT, and what each of its answers means."""

import os
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.kit.cases import multiway_case
from tests.kit.tiers import cases
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.ipopt.backend import (
    STATUS,
    STATUS_NAMES,
    Door,
    LoadedSolver,
    Status,
)
from treewarden.audit.ipopt.backends import door, doors
from treewarden.audit.ipopt.model import load_model, small_model
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.errors import SolverError

MUST_HAVE_CYIPOPT = os.environ.get("TREEWARDEN_REQUIRE_CYIPOPT") == "1"
HAS_CYIPOPT = doors()["cyipopt"].probe().works

needs_cyipopt = pytest.mark.skipif(
    not HAS_CYIPOPT and not MUST_HAVE_CYIPOPT,
    reason="cyipopt is not installed: the second door is left out",
)


def test_the_first_door_solves_a_small_problem():
    probe = doors()["casadi"].probe()
    assert probe.works, probe.reason
    assert "IPOPT" in probe.version


@needs_cyipopt
def test_the_second_door_solves_a_small_problem():
    probe = doors()["cyipopt"].probe()
    assert probe.works, probe.reason
    assert "IPOPT" in probe.version


@needs_cyipopt
@pytest.mark.parametrize("split", ["gini", "entropy", "gain-ratio"])
@pytest.mark.parametrize(("seed", "leaf"), [(4, "rates"), (2, "counts"), (6, "rates")])
def test_both_doors_agree_to_a_millionth(seed, leaf, split):
    system = build_system(multiway_case(seed, Knowledge(leaf=leaf, split=split), records=30))
    first, said = estimate(system, AuditOptions(solver="casadi"))
    second, also = estimate(system, AuditOptions(solver="cyipopt"))
    np.testing.assert_allclose(first.values, second.values, atol=1e-6)
    assert said.entropy == pytest.approx(also.entropy, abs=1e-6)


def test_an_unknown_door_is_refused_with_the_ones_there_are():
    with pytest.raises(SolverError, match="have auto, casadi, cyipopt"):
        door("knitro")


def test_every_name_that_ipopt_gives_has_a_status():
    assert {STATUS[code] for code in STATUS_NAMES.values()} <= set(Status)
    assert len(set(STATUS_NAMES.values())) == len(STATUS_NAMES) == len(STATUS)


class _Broken(Door):
    """A door whose answers are useless."""

    def version(self):
        return "broken"

    def __init__(self, code):
        self.code = code

    def opened(self, loaded):
        return _Useless(loaded, self.code)


class _Useless(LoadedSolver):
    """Stays at the start, whatever it says."""

    def __init__(self, loaded, code):
        super().__init__(loaded)
        self.code, self.other = code, doors()["casadi"].opened(loaded)

    def run(self, start, high, eps, options):
        answer = self.other.run(start, high, eps, {**options, "max_iter": 0})
        return replace(answer, x=start, code=self.code, iterations=0)


@cache
def system_with_splits():
    return build_system(multiway_case(4, Knowledge(leaf="rates", split="gini"), records=30))


ONE_OF_EACH = {status: code for code, status in STATUS.items()}.values()


@pytest.mark.parametrize("code", cases(sorted(STATUS), quick=ONE_OF_EACH))
def test_no_status_makes_a_point_that_breaks_its_rows_optimal(code, monkeypatch):
    broken = _Broken(code)
    monkeypatch.setattr(
        import_module("treewarden.audit.solver.block_solver"), "doors", lambda: {"casadi": broken}
    )
    posterior, report = estimate(system_with_splits())
    assert report.status == "stalled"
    assert not posterior.decided.all()


def test_an_unknown_return_code_is_an_error(monkeypatch):
    broken = _Broken(42)
    monkeypatch.setattr(
        import_module("treewarden.audit.solver.block_solver"), "doors", lambda: {"casadi": broken}
    )
    with pytest.raises(SolverError, match="return code 42 is not known"):
        estimate(system_with_splits())


def test_what_a_door_makes_of_a_model_stays_with_its_solver():
    loaded = load_model(small_model())
    held, start = loaded.high.copy(), np.array([0.5, 0.3, 0.2])
    one, other = (doors()["casadi"].opened(loaded) for _ in range(2))
    first = one.solve(start, 0.0, held_count=1)
    assert loaded.derivatives == {}
    np.testing.assert_array_equal(loaded.high, held)
    for solver in (one, other):  # whatever was solved before
        assert solver.solve(start, 0.0).z == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert first.z == pytest.approx([0.5, 0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize("name", ["casadi", "cyipopt"])
def test_more_equalities_than_variables_are_refused_in_silence(name, capfd):
    if name == "cyipopt" and not HAS_CYIPOPT:
        pytest.skip("cyipopt is not installed: the second door is left out")
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(1), bounds=(0.0, 1.0))
    model.eps = pyo.Var(initialize=0.0)
    model.negative_entropy = pyo.Objective(expr=model.z[0] ** 2 + 0 * model.eps)
    model.linear = pyo.ConstraintList()
    model.linear.add(2 * model.z[0] == 1)
    model.linear.add(3 * model.z[0] == 1)
    model.split = pyo.ConstraintList()
    solution = doors()[name].opened(load_model(model)).solve(np.array([0.5]), 0.0)
    assert solution.status is Status.FAILED
    assert capfd.readouterr() == ("", "")
