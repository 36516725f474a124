"""Trees that scikit-learn keeps in order (monotonic_cst): audited with their own table, they are told what to do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import treewarden as tw

INPUTS = ["age", "kids", "income"]
ORDER = {"ill": [1, 0, 0], "cost": [1, 0, 0]}


@pytest.fixture(scope="module")
def ordered_people():
    draw, size = np.random.default_rng(0), 800
    columns = {"age": draw.integers(20, 70, size), "kids": draw.integers(0, 4, size)}
    frame = pd.DataFrame({**columns, "income": draw.normal(size=size)})
    odds = 0.03 * (frame["age"] - 45) + 0.5 * (frame["kids"] - 1.5) + 0.5 * frame["income"]
    frame["ill"] = np.where(draw.random(size) < 1 / (1 + np.exp(-odds)), "yes", "no")
    frame["cost"] = frame["age"] / 10 + frame["kids"] + 3 * draw.normal(size=size)
    return frame


def has_moved_shares(model, frame, target):
    """Return whether the learner moved a number of some leaf away from its people's."""
    of_leaf = frame[target].groupby(model.apply(frame[INPUTS]))
    shares = (
        of_leaf.mean() if target == "cost" else of_leaf.agg(lambda values: (values == "no").mean())
    )
    return bool(np.abs(shares - model.tree_.value[shares.index, 0, 0]).max() > 1e-6)


@pytest.mark.parametrize("target", ["ill", "cost"])
def test_a_tree_kept_in_order_is_told_to_be_trained_again_not_that_the_table_is_another(
    ordered_people, target
):
    kind = DecisionTreeClassifier if target == "ill" else DecisionTreeRegressor
    model = kind(max_depth=5, min_samples_leaf=15, monotonic_cst=ORDER[target])
    frame = ordered_people[[*INPUTS, target]]
    model.fit(frame[INPUTS], frame[target])
    assert has_moved_shares(model, frame, target)
    result = tw.audit(model, frame, sensitive=target, jobs=1, worlds_budget=1, levels=False)
    assert not result.passed
    told = str(result.to_dict())
    assert "(monotonic_cst)" in told
    assert "without monotonic_cst" in told
    assert "belongs to another table" not in told
    assert "does not match" not in told
    assert "sums of weights" not in told
    assert "audit with the table that the tree was trained on" not in told


def test_a_printed_tree_names_monotonic_cst_as_one_reason_why_it_does_not_fit(
    ordered_people, tmp_path
):
    frame = ordered_people[[*INPUTS, "ill"]]
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=15, monotonic_cst=ORDER["ill"])
    model.fit(frame[INPUTS], frame["ill"])
    assert has_moved_shares(model, frame, "ill")
    path = tmp_path / "tree.txt"
    text = export_text(model, feature_names=INPUTS, decimals=10, show_weights=True)
    path.write_text(text, encoding="utf-8")
    result = tw.audit(path, frame, sensitive="ill", jobs=1, worlds_budget=1, levels=False)
    assert not result.passed
    told = str(result.to_dict())
    assert (
        "scikit-learn moved its class shares (monotonic_cst; if so, train the model again" in told
    )
