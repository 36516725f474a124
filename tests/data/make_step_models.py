"""Makes CatBoost's and Spark's small models of numbers and of several classes under grown/.

They are grown on the tables there. Run with catboost 1.2: ``python tests/data/make_step_models.py catboost``,
and with pyspark 4.3 and Java 17: ``python tests/data/make_step_models.py spark``.
"""

import json
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent / "grown"


def table(name):
    found = pd.read_csv(FOLDER / f"{name}.csv")
    return found.drop(columns="y").astype(float), found["y"]


def put_catboost(kind, name, on, **settings):
    rows, labels = table(on)
    given = {"iterations": 4, "depth": 2, "random_seed": 0, "thread_count": 1, **settings}
    fitted = kind(**given, allow_writing_files=False, verbose=False)
    fitted.fit(rows, labels)
    path = FOLDER / f"{name}.json"
    fitted.save_model(str(path), format="json")
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")


def of_catboost():
    import catboost

    several, number = catboost.CatBoostClassifier, catboost.CatBoostRegressor
    three = {"loss_function": "MultiClass"}
    slow = {"leaf_estimation_method": "Gradient", "learning_rate": 0.3}
    put_catboost(several, "catboost_three_gradient", "three", **three, **slow)
    put_catboost(several, "catboost_three_unbound", "three", **three, l2_leaf_reg=0)
    put_catboost(several, "catboost_three_steps", "three", **three, leaf_estimation_iterations=3)
    put_catboost(several, "catboost_two_softmax", "two", **three, grow_policy="Lossguide")
    put_catboost(number, "numbers_catboost", "numbers_whole")
    put_catboost(
        number,
        "numbers_catboost_steps",
        "numbers_cents",
        boost_from_average=False,
        leaf_estimation_iterations=4,
        leaf_estimation_backtracking="No",
        l2_leaf_reg=0.7,
    )
    put_catboost(number, "numbers_catboost_halved", "numbers_whole", leaf_estimation_iterations=4)
    put_catboost(number, "numbers_catboost_absolute", "numbers_whole", loss_function="MAE")


def of_spark():
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import GBTRegressor
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").getOrCreate()
    rows, labels = table("numbers_whole")
    frame = session.createDataFrame(rows.assign(y=labels.astype(float)))
    vector = VectorAssembler(inputCols=list(rows.columns), outputCol="features")
    for name, settings in {
        "spark": {},
        "spark_absolute": {"lossType": "absolute"},
        "spark_sampled": {"subsamplingRate": 0.7},
    }.items():
        learner = GBTRegressor(
            labelCol="y", seed=0, maxIter=4, maxDepth=2, stepSize=0.3, **settings
        )
        fitted = Pipeline(stages=[vector, learner]).fit(frame)
        path = FOLDER / f"numbers_{name}.zip"
        with tempfile.TemporaryDirectory() as folder:
            fitted.write().overwrite().save(folder)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for each in sorted(Path(folder).rglob("*")):
                    if each.is_file() and not each.name.startswith((".", "_")):
                        archive.write(each, each.relative_to(folder))
    session.stop()


if __name__ == "__main__":
    {"catboost": of_catboost, "spark": of_spark}[sys.argv[1]]()
