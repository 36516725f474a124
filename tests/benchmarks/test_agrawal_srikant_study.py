"""The study of Agrawal & Srikant 2000, in its quick form: what has to come out whatever the machine."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the study's ordinary trees are scikit-learn's")

from benchmarks.studies import agrawal_srikant_2000
from benchmarks.studies.agrawal_srikant_findings import findings
from benchmarks.studies.agrawal_srikant_runs import FUNCTIONS, NOISES, Cell
from benchmarks.studies.agrawal_srikant_text import document
from benchmarks.studies.agrawal_srikant_trees import Ordinary


@pytest.fixture(scope="module")
def found():
    """The quick form: 20,000 records, a level of 100 %."""
    return agrawal_srikant_2000.study(1, quick=True)


@pytest.mark.studies
def test_reconstruction_brings_back_what_noise_takes(found):
    first = {noise: found.cells[Cell(1, noise, 1.0)] for noise in NOISES}
    # of seeds 1 to 5, Randomized is right in 69 to 87 %: far below what is reconstructed in most of them, not in all
    assert first["gaussian"]["ByClass"] > 88
    assert first["gaussian"]["ByClass"] > first["gaussian"]["Randomized"] + 3
    assert first["uniform"]["Randomized"] == pytest.approx(50, abs=1)
    assert first["uniform"]["ByClass"] > 94
    for function in (2, 3):
        cell = found.cells[Cell(function, "uniform", 1.0)]
        assert cell["ByClass"] > cell["Randomized"] + 15


@pytest.mark.studies
def test_trees_of_true_values_are_nearly_right(found):
    assert all(found.originals[each] > 96 for each in FUNCTIONS)


@pytest.mark.studies
def test_the_page_has_every_finding_with_a_mark_and_figures(found, tmp_path):
    made = findings(found)
    assert len(made) == 11
    assert {each.mark for each in made} <= {"repeated", "in part", "not repeated", "not run"}
    page = document(found, "the command", "the machine")
    assert all(each.said in page for each in made)
    agrawal_srikant_2000.draw(tmp_path, found)
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn >= {f"agrawal-srikant-2000-{noise}-levels.svg" for noise in NOISES}
    assert all(name in page for name in drawn if "levels" in name)


def test_an_ordinary_tree_is_cut_back_where_there_is_nothing_to_tell():
    random = np.random.default_rng(1)
    columns, coin = random.random((400, 2)), random.integers(0, 2, 400)
    assert len(set(Ordinary(columns, coin).predicted(columns).tolist())) == 1
    told = (columns[:, 1] > 0.5).astype(np.int64)
    assert (Ordinary(columns, told).predicted(columns) == told).all()
