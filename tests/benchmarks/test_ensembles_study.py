"""The study of ensembles, on few made-up records: its tables are filled by the libraries that are there."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import ensembles
from benchmarks.studies.ensembles import Size, document
from benchmarks.studies.ensembles_data import data_of

pytest.importorskip("skops")
pytest.importorskip("sklearn")


@pytest.fixture
def folder(tmp_path):
    draw = np.random.default_rng(0)
    columns = {f"c{number}": draw.integers(0, 9, 60) for number in range(3)}
    ill = np.where(columns["c0"] + draw.integers(0, 6, 60) > 7, draw.integers(1, 5, 60), 0)
    table = pd.DataFrame({**columns, "kind": draw.choice(["a", "b", "?"], 60), "num": ill})
    table.to_csv(tmp_path / "heart_cleveland.csv", index=False)
    return tmp_path


def test_categories_are_numbered_and_records_that_lack_a_value_left_out(folder):
    data = data_of("heart", folder)
    assert set(data.columns["kind"]) == {0.0, 1.0}
    assert set(data.labels) == {0, 1}
    assert len(data.columns) == len(data.labels) < 60


def test_every_part_is_filled(folder, monkeypatch):
    monkeypatch.setattr(ensembles, "LEVERS", ensembles.LEVERS[:1] + ensembles.LEVERS[-1:])
    said = document(folder, Size(3, ("heart",), 0.5, 0.5, 1))
    assert "| heart, GradientBoosting | 3 |" in said
    assert "| heart, 3 |" in said
    assert "| heart, 4 | 1 |" in said
    assert "{" not in said
