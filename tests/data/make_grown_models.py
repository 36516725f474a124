"""Makes the small model files under grown/ and the tables that they were trained on.

Run with xgboost 3.2, lightgbm 4.7, catboost 1.2, pandas, pyspark 4.3 and Java 17:
``python tests/data/make_grown_models.py``.
"""

import json
import tempfile
import zipfile
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from pyspark.ml import Pipeline
from pyspark.ml.classification import GBTClassifier
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

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


def of_large_leaves():
    """A model whose leaves hold so many people that few binary digits no longer tell how many have which value."""
    random, people = np.random.default_rng(21), 600
    columns = ((18, 80), (10, 90), (0, 6))
    table = np.column_stack([random.integers(*ends, people) for ends in columns]).astype(float)
    score = table[:, 0] / 30 + table[:, 1] / 40 - table[:, 2] / 2 + random.normal(size=people)
    labels = (np.median(score) < score).astype(int)
    settings = {**PLAIN, "max_depth": 2, "min_child_weight": 10}
    data = xgboost.DMatrix(table, label=labels, feature_names=FEATURES)
    xgboost.train(settings, data, 8).save_model(FOLDER / "large.json")
    rows = [",".join([*FEATURES, "y"])]
    rows += [
        ",".join(f"{value:g}" for value in (*x, y)) for x, y in zip(table, labels, strict=True)
    ]
    (FOLDER / "many.csv").write_text("\n".join(rows) + "\n")


def continued(name, first):
    table = xgboost.DMatrix(X, label=TWO, feature_names=FEATURES)
    more = xgboost.train({**PLAIN, "eta": 0.1}, table, 2, xgb_model=first)
    more.save_model(FOLDER / f"{name}.json")


def put_catboost(name, table=X, labels=TWO, features=FEATURES, weights=None, **settings):
    given = {"iterations": 4, "depth": 2, "random_seed": 0, "thread_count": 1, **settings}
    fitted = catboost.CatBoostClassifier(**given, allow_writing_files=False, verbose=False)
    named = pd.DataFrame(table, columns=features)
    fitted.fit(named, labels, sample_weight=weights)
    pool = catboost.Pool(named, labels, cat_features=settings.get("cat_features"))
    path = FOLDER / f"catboost_{name}.json"
    fitted.save_model(str(path), format="json", pool=pool)
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")


def of_catboost():
    put_catboost("plain")
    put_catboost("steps", leaf_estimation_iterations=10, l2_leaf_reg=0.731)
    put_catboost("gradient", leaf_estimation_method="Gradient", leaf_estimation_iterations=5)
    put_catboost(
        "halved", leaf_estimation_method="Gradient", leaf_estimation_iterations=6, l2_leaf_reg=0.0
    )
    put_catboost("bernoulli", bootstrap_type="Bernoulli", subsample=0.5)
    put_catboost("mvs", bootstrap_type="MVS", subsample=0.8)
    put_catboost("bayesian", bootstrap_type="Bayesian")
    put_catboost("ordered", boosting_type="Ordered", approx_on_full_history=True)
    put_catboost("leaves", grow_policy="Lossguide", max_leaves=4)
    put_catboost("average", boost_from_average=True)
    put_catboost("weighed", weights=np.where(X[:, 2] > 2, 2.0, 1.0))
    put_catboost("class_weights", scale_pos_weight=3)
    put_catboost("balanced", auto_class_weights="Balanced")
    put_catboost("langevin", langevin=True)
    put_catboost("shrunk", model_shrink_rate=0.1)
    put_catboost("monotone", monotone_constraints=[1, 0, 0], model_shrink_rate=0)
    put_catboost("cross_entropy", loss_function="CrossEntropy")
    put_catboost("three", labels=THREE, loss_function="MultiClass")
    towns = np.array([f"town {each:g}" for each in X[:, 2]], dtype=object)
    table = np.column_stack([X[:, :2].astype(object), towns])
    put_catboost("statistics", table, cat_features=[2], one_hot_max_size=2)
    put_catboost("one_hot", table, cat_features=[2], one_hot_max_size=10, iterations=8)
    rows = [",".join([*FEATURES, "y"])]
    rows += [f"{a:g},{b:g},{town},{y}" for (a, b, town), y in zip(table, TWO, strict=True)]
    (FOLDER / "towns.csv").write_text("\n".join(rows) + "\n")
    four = np.array([[0.0], [0], [1], [1]])
    put_catboost(
        "by_hand", four, np.array([1, 0, 1, 1]), ["x"], iterations=1, learning_rate=0.1, depth=1
    )


def put_lightgbm(name, table=X, labels=TWO, features=FEATURES, rounds=5, **settings):
    plain = {"objective": "binary", "num_leaves": 5, "min_data_in_leaf": 4, "min_data_in_bin": 1}
    given = {**plain, "num_threads": 1, "verbose": -1, "seed": 1, **settings}
    data = lightgbm.Dataset(table, labels, feature_name=features, params={"verbose": -1})
    text = lightgbm.train(given, data, rounds).model_to_string()
    (FOLDER / f"lightgbm_{name}.txt").write_text(text)


def of_lightgbm():
    put_lightgbm("two")
    put_lightgbm(
        "three", labels=THREE, rounds=3, objective="multiclass", num_class=3, lambda_l2=1.0
    )
    eight = np.array([[each // 2, each % 2] for each in range(8)], dtype=float)
    labels = np.array([0, 1, 0, 0, 1, 0, 1, 0])
    tiny = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0, "num_leaves": 3}
    put_lightgbm("eight", eight, labels, ["x0", "x1"], 3, learning_rate=0.5, lambda_l2=1.0, **tiny)
    rows = ["x0,x1,y", *(f"{a:g},{b:g},{y}" for (a, b), y in zip(eight, labels, strict=True))]
    (FOLDER / "eight.csv").write_text("\n".join(rows) + "\n")


def of_spark():
    session = SparkSession.builder.master("local[1]").getOrCreate()
    frame = session.createDataFrame(
        pd.DataFrame(X, columns=FEATURES).assign(
            y=TWO.astype(float), held=np.arange(60) % 5 == 0, heavy=1.0 + X[:, 2]
        )
    )
    vector = VectorAssembler(inputCols=FEATURES, outputCol="features")
    for name, settings in {
        "plain": {},
        "sampled": {"subsamplingRate": 0.7},
        "stopped": {"validationIndicatorCol": "held"},
        "weighed": {"weightCol": "heavy"},
    }.items():
        learner = GBTClassifier(
            labelCol="y", seed=0, maxIter=4, maxDepth=2, stepSize=0.3, **settings
        )
        fitted = Pipeline(stages=[vector, learner]).fit(frame)
        with tempfile.TemporaryDirectory() as folder:
            fitted.write().overwrite().save(folder)
            with zipfile.ZipFile(
                FOLDER / f"spark_{name}.zip", "w", zipfile.ZIP_DEFLATED
            ) as archive:
                for path in sorted(Path(folder).rglob("*")):
                    if path.is_file() and not path.name.startswith((".", "_")):
                        archive.write(path, path.relative_to(folder))
    session.stop()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    tables()
    by_hand()
    of_large_leaves()
    of_catboost()
    of_lightgbm()
    of_spark()
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
