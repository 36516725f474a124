"""Small blocks with a gap to their bound: tried from more starts, once."""

import pytest

from audit.block_solver import _is_enough
from audit.blocks import blocks
from audit.estimate import estimate
from audit.knowledge import Knowledge
from audit.population import build_population
from audit.search import Search, SolveOptions
from audit.system import build_system
from audit.violated import Violated
from benchmarks.product import answer
from benchmarks.soundness_cases import sample
from ppdm_models.tree import Criterion
from tests.cases import case_of, multiway_case, multiway_tree, random_table

OPTIONS = SolveOptions(integer_rows=False, jobs=1)


def searched(seed):
    """Return the blocks of a case's first round, each as it was solved and as it was searched, and the counts."""
    system = build_system(multiway_case(seed, Knowledge(leaf="rates", split="gini"), records=60))
    search = Search(system, OPTIONS)
    active = tuple(Violated(search).worst(search.closed, (), {}))
    before = search.solve(blocks(system, tuple(search.knowledge), active), {})
    after = search.searched(before, None)
    return [(before[block], after[block]) for block in before], system.case.population.counts


@pytest.mark.parametrize("seed", [12, 19, 31])
def test_a_block_below_its_bound_is_searched_once_and_loses_nothing(seed):
    pairs, counts = searched(seed)
    for before, after in pairs:
        assert before.is_open
        assert not after.is_open
        assert after.entropy(counts) >= before.entropy(counts)
        assert after.bound <= before.bound


@pytest.mark.parametrize(("seed", "first"), [(3360, 0.48288925), (4366, 1.25546390)])
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
    ahead, pooled = [], Search._pooled

    def none_ahead(search, blocks, start, others):
        ahead.extend(others)
        return pooled(search, blocks, start, ())

    monkeypatch.setattr(Search, "_pooled", none_ahead)
    assert estimate(system, OPTIONS)[0].values.tobytes() == values.tobytes()
    assert ahead
