"""People of a leaf who exchange steps by their survey weights: what they reach, against all tables, listed."""

import itertools

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeRegressor

from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.regression import inference
from treewarden.audit.regression.inference import values_of
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes


def grown(table):
    """Return the model in a skops file of a tree of two leaves without variances."""
    tree = DecisionTreeRegressor(max_depth=1).fit(table[["x"]], table.y, sample_weight=table.w)
    state = tree.tree_.__getstate__()
    state["nodes"]["impurity"] = 0
    tree.tree_.__setstate__(state)
    return open_model(skops.io.dumps(tree), "tree.skops").model


def bounds_of(table):
    model = grown(table)
    data = read_table_bytes(table.to_csv(index=False).encode(), "people.csv")
    people = build_population(model, data, sensitive="y", qi=("x", "person"), sampling_weights="w")
    bounds = values_of(forest_of(model, people), people, TimeBudget(FOREVER, 1.0))
    return bounds, people.contributions.profiles


def tables_with_the_same_means(table, step):
    """Return every table of steps in the range, with both ends, that has the same weighted sum in each leaf."""
    ends = int(table.y.min()), int(table.y.max())
    steps = itertools.product(range(ends[0], ends[1] + 1, int(step)), repeat=len(table))
    rows = np.array([row for row in steps if (min(row), max(row)) == ends], dtype=float)
    for leaf in (1, 2):
        here = (table.x == leaf).to_numpy()
        sums = rows[:, here] @ table.w[here].to_numpy()
        truth = float(table.y[here] @ table.w[here])
        rows = rows[np.abs(sums - truth) < 1e-9]
    return rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("partners", [1, 2, 32])
def test_what_is_reached_is_reached_in_a_table_and_what_is_proved_holds_in_all(
    monkeypatch, seed, partners
):
    monkeypatch.setattr(inference, "MOST_PARTNERS", partners)
    draws = np.random.default_rng([seed, partners])
    wider = 0
    for _ in range(4):
        table = pd.DataFrame({"x": [1] * 4 + [2] * 2, "person": range(6)})
        table["y"] = draws.permutation([0, 4, *draws.integers(0, 5, 4)]).astype(float)
        table["w"] = draws.choice([1, 2, 3, 1.5, 0.25], 6)
        if np.ptp(table.groupby("x").apply(lambda leaf: leaf.y @ leaf.w / leaf.w.sum())) < 1e-6:
            continue
        bounds, profiles = bounds_of(table)
        tables = tables_with_the_same_means(table, bounds.step)
        low, high = tables.min(axis=0), tables.max(axis=0)
        assert (bounds.low[profiles] <= low + 1e-6).all()
        assert (bounds.high[profiles] >= high - 1e-6).all()
        assert (bounds.reached_low[profiles] >= low - 1e-6).all()
        assert (bounds.reached_high[profiles] <= high + 1e-6).all()
        wider += int((bounds.reached > 0).sum())
    assert wider


def test_a_weighted_tree_of_large_leaves_leaves_nobody_open():
    draws = np.random.default_rng(3)
    table = pd.DataFrame({"x": np.repeat([1, 2], 200), "person": range(400)})
    table["y"] = np.round(table.x * draws.lognormal(9, 0.8, 400))
    table["w"] = np.round(draws.uniform(1, 9, 400), 2)
    bounds, _ = bounds_of(table)
    assert (bounds.reached > 0.05 * bounds.span).all()
