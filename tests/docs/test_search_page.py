"""The page on searching under a policy runs as it stands, its runs of MLflow and Weights & Biases in a folder."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from tests.kit import places

pytestmark = pytest.mark.studies

PAGE = (places.ROOT / "docs" / "search.md").read_text("utf-8")
SEARCH, GRID, MLFLOW, WANDB = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    names = {}
    with contextlib.chdir(tmp_path_factory.mktemp("search")):
        exec(SEARCH, names)
        names["saved"] = Path("x.pmml").read_bytes()
    return names


def test_the_search_of_the_page_ends_at_a_model_that_passes(searched):
    found = searched["found"]
    assert found.result.passed
    assert b"<PMML" in searched["saved"]
    assert found.estimator.get_n_leaves() > 1
    assert 0.5 < found.score <= 1


def test_the_scorer_of_the_page_gives_every_combination_a_score(searched):
    exec(GRID, searched)
    scores = searched["search"].cv_results_["mean_test_score"]
    assert len(scores) == 3
    assert ((scores >= 0) & (scores <= 1)).all()  # not NaN, as of folds that lack records


@pytest.mark.tools
def test_mlflow_keeps_the_verdict_and_a_report_without_people(searched, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", exc_type=ImportError, reason="pip install mlflow-skinny")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    exec(MLFLOW, searched)
    run = mlflow.last_active_run()
    assert run.data.tags["treewarden.verdict"] == "PASS"
    assert run.data.metrics["cv_score"] == searched["found"].score
    (report,) = (tmp_path / "runs").rglob("audit.json")
    assert json.loads(report.read_bytes())["redacted_below"] is not None


@pytest.mark.tools
def test_weights_and_biases_keeps_the_same_offline(searched, tmp_path, monkeypatch):
    pytest.importorskip("wandb", exc_type=ImportError, reason="pip install wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    exec(WANDB, searched)
    assert list((tmp_path / "wandb").glob("offline-run-*"))
