"""Small blocks with a gap to their bound: tried from more starts, once."""

from dataclasses import replace
from importlib import import_module

import pytest

from tests.judges.estimate.cases import sample
from tests.judges.estimate.product import answer
from tests.kit.cases import case_of, multiway_case, multiway_tree, random_table
from tests.kit.tiers import cases
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.entropy.violated import violated
from treewarden.audit.ipopt.backend import LoadedSolver
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.solver.block_solver import _is_enough
from treewarden.audit.solver.task import ELASTIC_TRIES, TRIES
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion

OPTIONS = AuditOptions(rows="real", jobs=1)


def searched(seed):
    """Return the blocks of a case's first round, each as it was solved and as it was searched, and the counts."""
    system = build_system(multiway_case(seed, Knowledge(leaf="rates", split="gini"), records=60))
    search = EntropySearch(system, OPTIONS)
    active = tuple(violated(search, search.closed).worst((), {}))
    before = search.solve(blocks(system, tuple(search.knowledge), active), BEGINNING)
    after = search.searched(before, None)
    pairs = [(one, after.solved[block]) for block, one in before.solved.items()]
    return pairs, system.case.population.counts


@pytest.mark.parametrize("seed", [12, 19, 43])
def test_a_block_below_its_bound_is_searched_once_and_loses_nothing(seed):
    pairs, counts = searched(seed)
    for before, after in pairs:
        assert before.is_open
        assert not after.is_open
        assert after.entropy(counts) >= before.entropy(counts)
        assert after.bound <= before.bound


def test_a_round_depends_on_what_it_is_given_and_on_nothing_done_before():
    system = build_system(multiway_case(19, Knowledge(leaf="rates", split="gini"), records=60))
    search = EntropySearch(system, OPTIONS)
    active = tuple(violated(search, search.closed).worst((), {}))
    last = search.solve(blocks(system, tuple(search.knowledge), active), BEGINNING)
    found = [search.improved(search.searched(last, None)) for _ in range(2)]
    assert last.beside == {}
    assert found[0].beside
    values = [search.placed(each.solved).tobytes() for each in found]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("seed", "first"), cases([(3360, 0.48288925), (4366, 1.25546390)], quick=1, second=1)
)
def test_more_starts_find_estimates_of_more_entropy(seed, first):
    """``first`` is the entropy of the optimum that is found from the closed form alone."""
    _, report = answer(build_system(sample(seed).case))
    assert report.entropy > first + 1e-3


@pytest.mark.parametrize(
    ("objectives", "is_enough"),
    [([], False), ([1.0] * 2, False), ([1.0] * 3, True), ([2.0, 1.0, 1.0, 1.0], False)]
    + [([2.0] + [1.0] * 6, True), ([2.0, 3.0] + [1.0] * 8, False)],
)
def test_the_more_optima_are_seen_the_more_starts_are_tried(objectives, is_enough):
    assert _is_enough(objectives, 1e-6) is is_enough


def test_what_is_searched_ahead_changes_no_answer(monkeypatch):
    table = random_table(1, features=5, records=300)
    tree = multiway_tree(table, Criterion.GINI)
    people = build_population(tree, table, sensitive="class")
    system = build_system(case_of(tree, people, Knowledge(leaf="rates", split="gini")))
    values = estimate(system, OPTIONS)[0].values
    ahead, pooled = [], EntropySearch._pooled

    def none_ahead(search, blocks, start, others):
        ahead.extend(others)
        return pooled(search, blocks, start, ())

    monkeypatch.setattr(EntropySearch, "_pooled", none_ahead)
    assert estimate(system, OPTIONS)[0].values.tobytes() == values.tobytes()
    assert ahead


def test_what_is_done_beside_the_search_changes_no_answer(monkeypatch):
    system = build_system(multiway_case(19, Knowledge(leaf="rates", split="gini"), records=60))
    values, report = estimate(system, OPTIONS)
    beside, both = [], EntropySearch._with_those_beside

    def one_after_the_other(search, tasks, last):
        beside.extend(last.solved if tasks else ())
        return both(search, tasks, replace(last, solved={}) if tasks else last)

    monkeypatch.setattr(EntropySearch, "_with_those_beside", one_after_the_other)
    again, report_again = estimate(system, OPTIONS)
    assert beside
    assert again.values.tobytes() == values.values.tobytes()
    assert report_again == report


@pytest.mark.parametrize(("split", "first"), [("gini", None), ("entropy", 1)])
def test_only_the_first_try_with_entropies_takes_steps_that_the_filter_would_shorten(
    split, first, monkeypatch
):
    asked, solve = [], LoadedSolver.solve

    def noted(solver, start, eps, **options):
        asked.append((eps, options["mu_init"], options.get("accept_after_max_steps")))
        return solve(solver, start, eps, **options)

    monkeypatch.setattr(LoadedSolver, "solve", noted)
    monkeypatch.setattr(
        import_module("treewarden.audit.solver.block_solver"), "KKT_ERROR", -1.0
    )  # so that no try is good enough
    system = build_system(multiway_case(12, Knowledge(leaf="rates", split=split), records=60))
    estimate(system, OPTIONS)
    firsts = {(tries[0][0][0], tries[0][0][1], first) for tries in (TRIES, ELASTIC_TRIES)}
    others = {(*step, None) for tries in (TRIES, ELASTIC_TRIES) for s in tries[1:] for step in s}
    assert firsts <= set(asked)
    assert others <= set(asked)
    assert {number for *_, number in asked} == {None, first}
