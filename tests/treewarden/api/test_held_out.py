"""Boosting that keeps records aside to know when to stop: what is said of its counts, and what table fits them."""

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.semantics.describe import describe

ensemble = pytest.importorskip("sklearn.ensemble")

HELD_OUT = "were held out for early stopping"


def table_of(rows=200):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"a": draw.integers(0, 9, rows), "b": draw.integers(0, 9, rows)})
    return frame.assign(y=np.where(frame.a + draw.normal(0, 3, rows) > 4, "yes", "no"))


def stopping():
    return [
        ensemble.HistGradientBoostingClassifier(early_stopping=True, max_iter=9, random_state=0),
        ensemble.GradientBoostingClassifier(n_iter_no_change=2, n_estimators=9, random_state=0),
        ensemble.GradientBoostingClassifier(
            n_iter_no_change=2, n_estimators=9, subsample=0.5, random_state=0
        ),
    ]


@pytest.mark.parametrize("estimator", stopping())
def test_counts_are_said_to_be_of_some_of_the_people_each_once_at_most(estimator):
    table = table_of()
    fitted = estimator.fit(table[["a", "b"]], table.y)
    assert (
        "held out for early stopping"
        in describe(open_fitted(fitted, names=["a", "b"]).model)["support"]["reason"]
    )
    result = tw.audit(fitted, table, sensitive="y")
    said = result.to_json()
    assert HELD_OUT in said
    assert "twice" not in said


@pytest.mark.parametrize("estimator", stopping())
def test_a_table_with_fewer_people_in_a_leaf_is_another_one(estimator):
    table = table_of()
    fitted = estimator.fit(table[["a", "b"]], table.y)
    with pytest.raises(TableError, match="of this table fall there|nobody of this table"):
        tw.audit(fitted, table[:60], sensitive="y")


def test_nothing_is_kept_aside_without_a_share_for_it():
    table = table_of()
    fitted = ensemble.HistGradientBoostingClassifier(
        early_stopping=True, validation_fraction=None, max_iter=5
    ).fit(table[["a", "b"]], table.y)
    assert open_fitted(fitted, names=["a", "b"]).model.sampling.resampled is False
