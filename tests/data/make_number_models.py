"""Makes the small models of numbers under grown/ and the table that they were trained on.

Run with xgboost 3.2, lightgbm 4.7, scikit-learn 1.9 and skops: ``python tests/data/make_number_models.py``.
"""

from pathlib import Path

import lightgbm
import numpy as np
import skops.io
import xgboost
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

FOLDER = Path(__file__).parent / "grown"
RANDOM = np.random.default_rng(21)
NAMES = ["x0", "x1", "x2"]
"""As scikit-learn's models call columns without names."""
X = np.column_stack(
    [RANDOM.integers(18, 80, 60), RANDOM.integers(10, 90, 60), RANDOM.integers(0, 6, 60)]
).astype(float)
WHOLE = np.rint(X[:, 0] + X[:, 1] / 2 + RANDOM.normal(0, 15, 60))
CENTS = WHOLE + RANDOM.integers(0, 100, 60) / 100
PLAIN = {"objective": "reg:squarederror", "max_depth": 3, "nthread": 1, "seed": 0}
LEAVES = {"objective": "regression", "num_leaves": 6, "min_data_in_leaf": 3, "verbose": -1}


def boosted(name, labels=WHOLE, rounds=3, weights=None, **settings):
    table = xgboost.DMatrix(X, label=labels, feature_names=NAMES, weight=weights)
    booster = xgboost.train({**PLAIN, **settings}, table, rounds)
    booster.save_model(FOLDER / f"numbers_{name}.json")


def watched(name):
    """Watch the error on the training records, whose best is written into the file."""
    table = xgboost.DMatrix(X, label=WHOLE, feature_names=NAMES)
    stops = {"early_stopping_rounds": 2, "verbose_eval": False, "evals": [(table, "train")]}
    booster = xgboost.train(PLAIN, table, 3, **stops)
    booster.save_model(FOLDER / f"numbers_{name}.json")


def lightgbm_text(name, labels=WHOLE, rounds=3, **settings):
    table = lightgbm.Dataset(X, label=labels, feature_name=NAMES)
    settings = {**LEAVES, "num_threads": 1, "deterministic": True, **settings}
    lightgbm.train(settings, table, rounds).save_model(FOLDER / f"numbers_{name}.txt")


def ranking():
    """Rank people of six groups of ten, and tell how well at three places."""
    table = lightgbm.Dataset(X, label=X[:, 2] // 2, group=[10] * 6, feature_name=NAMES)
    settings = {**LEAVES, "objective": "lambdarank", "eval_at": [1, 3, 5], "num_threads": 1}
    lightgbm.train(settings, table, 3).save_model(FOLDER / "lightgbm_ranking.txt")


def dumped(name, estimator, labels=WHOLE):
    skops.io.dump(estimator.fit(X, labels), FOLDER / f"numbers_{name}.skops")


def tables():
    for name, labels in (("whole", WHOLE), ("cents", CENTS)):
        rows = [",".join([*NAMES, "y"])]
        rows += [
            ",".join(f"{value:.6g}" for value in (*x, y)) for x, y in zip(X, labels, strict=True)
        ]
        (FOLDER / f"numbers_{name}.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    tables()
    boosted("xgboost")
    boosted("cents", labels=CENTS)
    boosted("lasso", alpha=3, reg_lambda=0.5, eta=0.1, tree_method="exact")
    boosted("many", rounds=30)
    watched("scored")
    boosted("sampled", subsample=0.7)
    boosted("weighed", weights=np.where(X[:, 2] > 2, 2.0, 1.0))
    boosted("dart", booster="dart", rate_drop=0.5)
    boosted("absolute", objective="reg:absoluteerror")
    lightgbm_text("lightgbm")
    lightgbm_text("ridge", lambda_l2=2.5, boost_from_average=False)
    lightgbm_text("roots", reg_sqrt=True)
    lightgbm_text("bagged", bagging_freq=1, bagging_fraction=0.7)
    ranking()
    few = {"max_depth": 3, "random_state": 0}
    dumped("boosting", GradientBoostingRegressor(n_estimators=3, **few))
    dumped("hist", HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5, **few))
    dumped("tree", DecisionTreeRegressor(min_samples_leaf=6, random_state=0))
    dumped("median", DecisionTreeRegressor(criterion="absolute_error", **few))
    dumped("extra", ExtraTreesRegressor(3, **few))
    dumped("bootstrap", RandomForestRegressor(3, **few))
