"""What all leaves prove of each goes back into the reading of values that were cut to few digits."""

from dataclasses import replace

import numpy as np

from tests.audit.inverters.test_cut_lightgbm import read_case, written
from tests.kit.grown_models import FOLDER, truth
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import LeafSums, leaf_sums
from treewarden.audit.joint.cells import cells_of
from treewarden.audit.joint.ensemble_inference import join_trees
from treewarden.audit.joint.leaf_facts import narrow_sums
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.jobs.inputs import read
from treewarden.ppdm_models.files.load import open_model

STOPS = np.array([[1, 1, 2, 2], [1, 2, 1, 2]])


def sums_of(low, high):
    places = np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2])
    return LeafSums(*places, np.ones(4, dtype=np.intp), low, high, np.zeros(4), {})


def test_boxes_of_people_narrow_the_leaves_that_hold_them():
    cells = cells_of(STOPS, np.ones(4))
    low, high = np.array([0, 0, 0, 0]), np.array([2, 2, 2, 2])
    least, most = (
        np.array([[0, 1], [0, 0], [0, 0], [1, 0]]),
        np.array([[0, 1], [1, 1], [1, 1], [1, 0]]),
    )
    found = narrow_sums(sums_of(low, high), (least, most), cells, STOPS)
    assert [each.tolist() for each in found] == [[1, 0, 1, 0], [2, 1, 2, 1]]
    assert narrow_sums(sums_of(*found), (least, most), cells, STOPS) is None


def test_known_ends_of_one_tree_narrow_the_next():
    case, people = read_case(written("three", "three", 1), "three")
    alone = leaf_sums(case)
    true = truth(case, people, alone).astype(np.int64)
    is_first = alone.trees < 3
    ends = np.where(is_first, true, alone.low), np.where(is_first, true, alone.high)
    again = leaf_sums(replace(case, ends=ends))
    assert ((alone.low <= again.low) & (again.low <= true)).all()
    assert ((alone.high >= again.high) & (again.high >= true)).all()
    later = ~is_first
    assert (again.high - again.low)[later].sum() < (alone.high - alone.low)[later].sum()


def test_the_whole_reasoning_goes_round_and_holds():
    file = open_model(written("three", "three", 1).encode(), "m.txt")
    people = build_population(file.model, read(FOLDER / "three.csv"), sensitive="y")
    case, _ = read_case(written("three", "three", 1), "three")
    alone = leaf_sums(case)
    joined = join_trees(forest_of(file.model, people), people, TimeBudget(clock(20.0), 2.0))
    assert joined.inference.recovered >= int((alone.low == alone.high).sum())
    true = joined.cells.summed(people.truth)
    assert ((joined.bounds.low <= true) & (true <= joined.bounds.high)).all()
