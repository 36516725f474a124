"""The study of records that a file proves, on small tables of no one."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import reconstruction as study
from treewarden.ppdm_models.files.fitted import open_fitted


def table(columns, seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 2, (60, columns)), columns=list("abcdefg"[:columns]))
    kinds = np.eye(3, dtype=int)[random.integers(0, 3, 60)]
    for place, name in enumerate(("x", "y", "z")):
        frame.insert(place, name, kinds[:, place])
    return frame


@pytest.fixture
def folder(tmp_path):
    for seed, name in enumerate(study.TITLES):
        table(4, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_indicators_of_one_attribute_are_found():
    assert study.domain_of(table(4, 0)).one_of == (("x", "y", "z"),)


def test_a_way_of_training_has_a_row_and_the_page_says_why_it_proves_nothing(folder, monkeypatch):
    few = {"n_estimators": 3}
    ways = (("all records", few), ("bootstrap samples", few | {"bootstrap": True}))
    monkeypatch.setattr(study, "SMALLER", ways)
    rows = list(study.measure(folder, 20, 1, ("adult",)))
    by_name = {row.name: row for row in rows if row.table == "adult"}
    assert by_name["all records"].proved[0] > 0
    assert by_name["bootstrap samples"].reasons
    page = study.document(
        rows, [study.DraftRow(50, 10, [0.1], [2.0], [0.0], [0.1], [50])], 1, date(2026, 1, 2)
    )
    assert "Run on 2026-01-02." in page
    assert "| Adult | bootstrap samples | 20 | not decided | - |" in page
    assert "| 50, 10 | 0.1000 | 2.0 | 0 | 0.0000 | 0.1 | 50 |" in page


def test_the_error_is_that_of_the_best_matching():
    sample = np.array([[0, 0], [1, 1]])
    assert study.error_of(sample[::-1], sample) == 0
    assert study.error_of(np.array([[0, 1], [1, 1]]), sample) == 0.25


def test_rounded_values_publish_no_other_sums():
    ensemble = pytest.importorskip("sklearn.ensemble")
    learner = ensemble.GradientBoostingClassifier(n_estimators=2, random_state=0)
    frame = table(3, 1)
    model = open_fitted(learner.fit(frame.iloc[:, :-1], frame.iloc[:, -1])).model
    rounded = study.with_digits(model, 2)
    assert all(tree.hessians is None for tree in rounded.growth.trees)
    values = rounded.growth.trees[0].values
    assert all(value != value or float(f"{value:.2g}") == value for value in values.tolist())
