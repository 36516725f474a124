"""Makes the files under shrunk/: boosted models for the squared error whose shrinkage the file says, and their table.

Run with xgboost 3.2, lightgbm 4.7 and catboost 1.2: ``python tests/data/make_shrunk_models.py``.
"""

from pathlib import Path

import catboost
import lightgbm
import numpy as np
import xgboost

FOLDER = Path(__file__).parent / "shrunk"
RANDOM = np.random.default_rng(3)
NAMES = ["age", "hours"]
TABLE = np.column_stack([RANDOM.integers(18, 80, 40), RANDOM.integers(10, 90, 40)]).astype(float)
PAY = np.round(TABLE[:, 0] * 2.5 + RANDOM.normal(0, 30, 40), 1)


def main():
    FOLDER.mkdir(exist_ok=True)
    lines = [",".join([*NAMES, "target"])]
    lines += [f"{age:g},{hours:g},{pay:g}" for (age, hours), pay in zip(TABLE, PAY, strict=True)]
    (FOLDER / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = {"eta": 0.3, "lambda": 2.0, "max_depth": 4, "nthread": 1}
    data = xgboost.DMatrix(TABLE, label=PAY, feature_names=NAMES)
    booster = xgboost.train(settings, data, 3)
    (FOLDER / "snapshot.ubj").write_bytes(bytes(booster.__getstate__()["handle"]))
    (FOLDER / "model.ubj").write_bytes(bytes(booster.save_raw("ubj")))
    model = lightgbm.train(
        {
            "learning_rate": 0.2,
            "lambda_l2": 3.0,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "num_threads": 1,
            "verbose": -1,
            "objective": "regression",
        },
        lightgbm.Dataset(TABLE, label=PAY, feature_name=NAMES),
        3,
    )
    model.save_model(FOLDER / "lightgbm.txt")
    forest = catboost.CatBoostRegressor(
        iterations=3,
        depth=4,
        learning_rate=0.3,
        l2_leaf_reg=3,
        thread_count=1,
        random_seed=1,
        verbose=0,
        allow_writing_files=False,
    )
    forest.fit(catboost.Pool(TABLE, PAY, feature_names=NAMES))
    forest.save_model(str(FOLDER / "catboost.json"), format="json")


if __name__ == "__main__":
    main()
