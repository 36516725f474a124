"""Makes the small XGBoost files under grown/ and the tables that they were trained on.

Run with xgboost 3.2: ``python tests/data/make_grown_models.py``.
"""

from pathlib import Path

import numpy as np
import xgboost

FOLDER = Path(__file__).parent / "grown"
RANDOM = np.random.default_rng(20)
FEATURES = ["age", "income", "visits"]
X = np.column_stack(
    [RANDOM.integers(18, 80, 60), RANDOM.integers(10, 90, 60), RANDOM.integers(0, 6, 60)]
).astype(float)
SCORE = X[:, 0] / 30 + X[:, 1] / 40 - X[:, 2] / 2 + RANDOM.normal(size=60)
TWO = (np.median(SCORE) < SCORE).astype(int)
THREE = np.digitize(SCORE, np.quantile(SCORE, [0.4, 0.8]))
PLAIN = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "seed": 0}


def put(name, labels=TWO, rounds=5, weights=None, **settings):
    table = xgboost.DMatrix(X, label=labels, feature_names=FEATURES, weight=weights)
    booster = xgboost.train({**PLAIN, **settings}, table, rounds)
    booster.save_model(FOLDER / f"{name}.json")
    return booster


def tables():
    for name, labels in (("two", TWO), ("three", THREE)):
        rows = [",".join([*FEATURES, "y"])]
        rows += [
            ",".join(f"{value:g}" for value in (*x, y)) for x, y in zip(X, labels, strict=True)
        ]
        (FOLDER / f"{name}.csv").write_text("\n".join(rows) + "\n")


def by_hand():
    table = xgboost.DMatrix(np.array([[0.0], [0], [1], [1]]), [1, 0, 1, 1], feature_names=["x"])
    settings = {**PLAIN, "base_score": 0.5, "min_child_weight": 0, "max_depth": 1}
    xgboost.train(settings, table, 2).save_model(FOLDER / "by_hand.json")


def continued(name, first):
    table = xgboost.DMatrix(X, label=TWO, feature_names=FEATURES)
    more = xgboost.train({**PLAIN, "eta": 0.1}, table, 2, xgb_model=first)
    more.save_model(FOLDER / f"{name}.json")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    tables()
    by_hand()
    continued("continued", put("plain"))
    put("exact", tree_method="exact", eta=0.07, reg_lambda=2.5)
    put("lasso", alpha=0.5)
    put("clipped", max_delta_step=0.4)
    put("sampled", subsample=0.7)
    put("sampled_exact", subsample=0.5, tree_method="exact", rounds=20)
    put("sampled_hist", subsample=0.8, tree_method="hist", rounds=20, seed=7)
    put(
        "sampled_three",
        subsample=0.8,
        labels=THREE,
        objective="multi:softprob",
        num_class=3,
        rounds=6,
    )
    put(
        "sampled_three_exact",
        subsample=0.5,
        labels=THREE,
        objective="multi:softprob",
        num_class=3,
        tree_method="exact",
    )
    put("weighed", weights=np.where(X[:, 2] > 2, 2.0, 1.0))
    put("second_weighs_more", scale_pos_weight=2)
    put("dart", booster="dart", rate_drop=0.5)
    put("side_by_side", num_parallel_tree=2)
    put("three", labels=THREE, objective="multi:softprob", num_class=3, rounds=3)
    put("hinge", objective="binary:hinge", rounds=2)
