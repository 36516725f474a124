"""Random settings of XGBoost itself, told as they were, are accepted; what is said to follow from a file does."""

import numpy as np
import pytest

from treewarden.audit.inverters import contradicted, facts_of
from treewarden.ppdm_models.files.load import open_model

xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost itself")

NAMES = ("eta", "lambda", "alpha", "max_delta_step")
CLOSE = 1e-6


def trained(seed):
    """Return a model over a small random table, and the four settings that shrank its leaves."""
    draw = np.random.default_rng(seed)
    rows = int(draw.choice([6, 12, 40, 300]))
    table = draw.integers(0, int(draw.integers(2, 6)), (rows, int(draw.integers(1, 5))))
    objective = str(draw.choice(["binary:logistic", "multi:softprob", "reg:squarederror"]))
    classes = 3 if objective.startswith("multi") else 2
    labels = draw.integers(0, classes, rows)
    labels[:classes] = range(classes)
    settings = {
        "eta": float(draw.choice([0.3, 0.1, 1, 0.05, 0.37, 0.015])),
        "lambda": float(draw.choice([0, 0.5, 1, 2, 10])),
        "alpha": float(draw.choice([0, 0, 0.1, 0.5, 1])),
        "max_delta_step": float(draw.choice([0, 0, 0, 0.3, 1, 5])),
    }
    more = {
        "objective": objective,
        "max_depth": int(draw.integers(1, 5)),
        "min_child_weight": float(draw.choice([0, 1, 5])),
        "tree_method": str(draw.choice(["hist", "exact", "approx"])),
        "num_parallel_tree": int(draw.choice([1, 1, 1, 3])),
        "subsample": float(draw.choice([1, 1, 0.8])),
        "booster": str(draw.choice(["gbtree", "gbtree", "gbtree", "dart"])),
        "nthread": 1,
    }
    if classes == 3:
        more["num_class"] = 3
    elif objective == "binary:logistic":
        more["scale_pos_weight"] = float(draw.choice([1, 1, 3]))
    weights = draw.integers(1, 4, rows) if draw.random() < 0.2 else None
    data = xgboost.DMatrix(table.astype(float), labels, weight=weights)
    booster = xgboost.train({**settings, **more}, data, int(draw.choice([1, 3, 10, 30])))
    return open_model(bytes(booster.save_raw("json")), "random.json").model, settings


@pytest.mark.parametrize("seed", range(60))
def test_true_settings_of_the_library_are_accepted_and_none_but_true_ones_follow(seed):
    model, settings = trained(seed)
    for told in (NAMES, ("eta",), ("eta", "lambda"), ("max_delta_step",)):
        assert contradicted(model, {name: settings[name] for name in told}) == {}
    facts = facts_of(model)
    for name in ("eta", "lambda", "alpha"):
        if name in facts:
            assert facts[name].value == pytest.approx(settings[name], rel=CLOSE, abs=CLOSE)


def test_settings_follow_from_most_models_of_many_trees():
    followed = []
    for seed in range(60):
        model, _ = trained(seed)
        is_large = len(model.members) >= 10 and not model.growth.refused
        followed += [bool(facts_of(model).get("eta"))] if is_large else []
    assert len(followed) > 10
    assert np.mean(followed) > 0.4
