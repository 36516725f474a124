"""What an estimate violates: the same whether everything is evaluated again or only what changed."""

import numpy as np

from tests.judges.estimate.cases import sample
from tests.kit.cases import multiway_case
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.entropy.violated import TIE_SHARE, VIOLATION_SHARE, unseen, violated
from treewarden.audit.facts.impurity_rows import excess
from treewarden.audit.facts.rows import branch_of_bins
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import build_system

TIED = 12
"""A case in which several candidates of a node are violated alike from the start."""


def estimates(seed):
    """Return a search and estimates of its profiles that differ in a few rows each, the closed form first."""
    knowledge = Knowledge(leaf="rates", split="gini")
    search = EntropySearch(
        build_system(multiway_case(seed, knowledge, records=60)), AuditOptions(rows="real")
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
        kept = unseen(search)
        for values in found:
            kept = violated(search, values, kept)
            assert kept.worst((), {}) == violated(search, values).worst((), {})


def test_the_worst_candidate_of_each_node_is_named_and_active_ones_are_not():
    search, _ = estimates(0)
    values = np.random.default_rng(0).dirichlet(np.full(3, 0.3), size=len(search.closed))
    mass = values * search.system.case.population.counts[:, None]
    worst: dict[int, float] = {}
    for family in search.system.families:
        over = float(excess(family, mass).max())
        worst[family.node] = max(over, worst.get(family.node, 0.0))
    first = violated(search, values).worst((), {})
    assert first
    assert len(first) == sum(over > VIOLATION_SHARE for over in worst.values())
    for candidate in first:
        family = search.system.families[candidate.family]
        assert excess(family, mass)[candidate.position] == worst[family.node]
    assert not set(first) & set(violated(search, values).worst(first, {}))


def test_candidates_that_are_violated_alike_join_together_once_for_each_way_to_part_the_node():
    search = EntropySearch(build_system(sample(TIED).case), AuditOptions(rows="real"))
    mass = search.closed * search.system.case.population.counts[:, None]
    ways: dict[int, dict[float, set[frozenset[bytes]]]] = {}
    for family in search.system.families:
        for over, code in zip(excess(family, mass), family.admissible.tolist(), strict=True):
            side = branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins]
            parts = frozenset((side == branch).tobytes() for branch in np.unique(side))
            ways.setdefault(family.node, {}).setdefault(float(over), set()).add(parts)
    wanted = 0
    for by_over in ways.values():
        most = max(by_over)
        near = [parts for over, parts in by_over.items() if over > most - TIE_SHARE]
        wanted += len(set().union(*near)) if most > VIOLATION_SHARE else 0
    first = violated(search, search.closed).worst((), {})
    assert len(first) == wanted
    assert wanted > len({search.system.families[one.family].node for one in first})
