"""What an estimate violates: the same whether everything is evaluated again or only what changed."""

import numpy as np

from audit.impurity import excess
from audit.knowledge import Knowledge
from audit.rows import SplitFamily
from audit.search import Search, SolveOptions
from audit.system import build_system
from audit.violated import VIOLATION_SHARE, Violated
from tests.cases import multiway_case


def estimates(seed):
    """Return a search and estimates of its profiles that differ in a few rows each, the closed form first."""
    knowledge = Knowledge(leaf="rates", split="gini")
    search = Search(
        build_system(multiway_case(seed, knowledge, records=60)), SolveOptions(integer_rows=False)
    )
    draw, found = np.random.default_rng(seed), [search.closed]
    for _ in range(4):
        values = found[-1].copy()
        changed = draw.integers(len(values), size=2)
        values[changed] = draw.dirichlet(np.ones(values.shape[1]), size=2)
        found.append(values)
    return search, found


def test_families_left_alone_keep_what_was_found_of_them():
    for seed in range(6):
        search, found = estimates(seed)
        kept = Violated(search)
        for values in found:
            assert kept.worst(values, (), {}) == Violated(search).worst(values, (), {})


def test_the_worst_candidate_of_each_node_is_named_and_active_ones_are_not():
    search, _ = estimates(0)
    values = np.random.default_rng(0).dirichlet(np.full(3, 0.3), size=len(search.closed))
    mass = values * search.system.case.population.counts[:, None]
    worst: dict[int, float] = {}
    for family in search.system.families:
        over = float(excess(family, mass).max())
        worst[family.node] = max(over, worst.get(family.node, 0.0))
    first = Violated(search).worst(values, (), {})
    assert first
    assert len(first) == sum(over > VIOLATION_SHARE for over in worst.values())
    for candidate in first:
        family = search.system.rows[candidate.family]
        assert isinstance(family, SplitFamily)
        assert excess(family, mass)[candidate.position] == worst[family.node]
    assert not set(first) & set(Violated(search).worst(values, first, {}))
