"""Spreads of greatest entropy: steps solved for directly and by conjugate gradients lead to the same table."""

import numpy as np
import pytest
from scipy import sparse

from treewarden.audit.partial.fitting import margin_fitting
from treewarden.audit.partial.fitting.flows import network
from treewarden.audit.partial.fitting.margin_fitting import GAP, fit_margins, weighed


def drawn(seed, size, share):
    """Return a network in which people can be in this share of leaves, or a band of them."""
    rng = np.random.default_rng(seed)
    arcs = rng.random((size, size)) < share
    arcs |= np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 1
    world = arcs * rng.integers(0, 5, size=arcs.shape) + np.eye(size)
    return network(sparse.csr_array(arcs.astype(float)), sparse.csr_array(world))


@pytest.mark.parametrize(("seed", "share"), [(0, 0.0), (1, 0.02), (2, 0.2), (3, 0.6)])
@pytest.mark.parametrize(("name", "limit"), [("DIRECT", 10**6), ("GRADIENTS", 1)])
def test_direct_steps_and_conjugate_gradients_lead_to_the_same_table(
    monkeypatch, seed, share, name, limit
):
    net = drawn(seed, 90, share)
    found = fit_margins(net)
    monkeypatch.setattr(margin_fitting, name, limit)
    direct = fit_margins(net)
    assert found.gap.max() <= GAP
    assert direct.gap.max() <= GAP
    assert found.people.toarray() == pytest.approx(direct.people.toarray(), abs=1e-7)
    assert found.people.sum(axis=1) == pytest.approx(net.supply)
    assert found.people.sum(axis=0) == pytest.approx(net.demand)


def test_a_large_block_is_scaled_by_conjugate_gradients(monkeypatch):
    def direct(*_):
        raise AssertionError("a step was solved for directly")

    monkeypatch.setattr(margin_fitting, "SWEEPS", 1)
    monkeypatch.setattr(margin_fitting._BlockDual, "_direct", direct)
    found = fit_margins(drawn(4, 200, 0.3))
    assert found.steps > 1
    assert found.gap.max() <= GAP


def test_where_no_step_is_found_nothing_is_decided(monkeypatch):
    def singular(_):
        raise RuntimeError("Factor is exactly singular")

    monkeypatch.setattr(margin_fitting, "SWEEPS", 1)
    monkeypatch.setattr(margin_fitting, "GRADIENTS", 1)
    monkeypatch.setattr(margin_fitting, "splu", singular)
    found = fit_margins(drawn(0, 90, 0.0))
    assert found.steps == 0
    assert found.gap.max() > GAP


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_scaled_in_rows_and_columns(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((80, 70)) * (rng.random((80, 70)) < 0.5) + 1e-3
    supply, demand = weights.sum(axis=1) * 2, weights.sum(axis=0) * 2
    moved = rng.random(70)
    demand = demand + moved - moved.mean()
    table, gap = weighed(sparse.csr_array(weights), supply, demand)
    scale = np.log(table.toarray() / weights)
    assert gap <= GAP
    assert scale - scale[:1] - scale[:, :1] + scale[0, 0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 7, 13, 15, 81, 93])
def test_few_people_beside_very_many_are_spread_where_steps_would_lead_far_away(seed):
    rng = np.random.default_rng(seed)
    size, width = 80, int(rng.integers(1, 4))
    arcs = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= width
    world = np.zeros((size, size))
    for lump in range(size):
        two = rng.choice(np.flatnonzero(arcs[lump]), 2, replace=False)
        many = rng.random() < 0.2
        people = int(10 ** rng.uniform(0, 6)) if many else int(rng.integers(1, 4))
        world[lump, two] = rng.multinomial(people, rng.dirichlet([0.3, 0.3]))
    found = fit_margins(network(sparse.csr_array(arcs.astype(float)), sparse.csr_array(world)))
    assert found.gap.max() <= GAP
    assert found.people.sum(axis=0) == pytest.approx(world.sum(axis=0))


@pytest.mark.parametrize("largest", [0, 1, 16])
@pytest.mark.parametrize("seed", range(20))
def test_the_tree_of_the_largest_cells_is_that_of_all(monkeypatch, seed, largest):
    monkeypatch.setattr(margin_fitting, "LARGEST", largest)
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 40, 2)
    cells = np.exp(rng.normal(0, 8, (rows, columns))) * (rng.random((rows, columns)) < 0.4)
    cells[0], cells[:, 0] = np.maximum(cells[0], 1e-9), np.maximum(cells[:, 0], 1e-9)
    order, above = margin_fitting._tree_of_largest(sparse.csr_array(cells))
    assert sorted(order.tolist()) == list(range(rows + columns))
    ends = np.sort(np.stack([order[1:], above[order[1:]]]), axis=0)
    own = cells[ends[0], ends[1] - rows]
    able = np.divide(1.0, cells, out=np.zeros_like(cells), where=cells > 0)
    whole = np.zeros((rows + columns, rows + columns))
    whole[:rows, rows:] = able
    best = sparse.csgraph.minimum_spanning_tree(sparse.csr_array(whole))
    assert np.sort(1 / own) == pytest.approx(np.sort(best.data))


def test_of_a_table_in_parts_the_tree_is_of_the_first_part():
    order, _ = margin_fitting._tree_of_largest(sparse.csr_array(np.diag([1.0, 2.0, 3.0])))
    assert sorted(order.tolist()) == [0, 3]
