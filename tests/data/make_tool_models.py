"""Makes the model files of other tools that the tests read; needs catboost, treelite, scikit-learn, skl2onnx, pyarrow.

``python tests/data/make_tool_models.py`` in the root of the repository. Spark's tables are written in its layout by
pyarrow; the files of H2O, BigML, Elasticsearch and Solr are written by hand after real ones.
"""

import io
import json
import zipfile
from pathlib import Path

import catboost
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import treelite
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

FORMATS = Path(__file__).parent / "formats"


def table():
    draw = np.random.default_rng(0)
    ages = draw.integers(18, 80, 60).astype(float)
    ages[::9] = np.nan
    towns = np.array(["Nord", "Süd", "West"])[draw.integers(0, 3, 60)]
    ill = (np.nan_to_num(ages) + 20 * (towns == "West") + draw.normal(0, 9, 60) > 55).astype(int)
    return pd.DataFrame({"age": ages, "town": towns}), ill


def save(name, data):
    path = FORMATS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def from_catboost():
    people, ill = table()
    for policy in ("SymmetricTree", "Depthwise"):
        model = catboost.CatBoostClassifier(
            iterations=3,
            depth=2,
            grow_policy=policy,
            one_hot_max_size=5,
            random_seed=1,
            verbose=0,
            allow_writing_files=False,
        )
        model.fit(people, ill, cat_features=["town"])
        path = FORMATS / "catboost_json" / "good" / f"{policy.lower()}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with_names = policy == "SymmetricTree"  # the names of the categories come from the pool
        pool = catboost.Pool(people, ill, cat_features=["town"]) if with_names else None
        model.save_model(str(path), format="json", pool=pool)


def from_scikit_learn():
    people, ill = table()
    numbers = np.column_stack(
        [people["age"].fillna(0), people["town"].map({"Nord": 0, "Süd": 1, "West": 2})]
    )
    numbers = numbers.astype(np.float32)
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(numbers, ill)
    dumped = treelite.sklearn.import_model(forest).dump_as_json(pretty_print=False)
    save("treelite_json/good/forest.json", dumped.encode())
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        numbers, np.array(["no", "yes"])[ill]
    )
    saved = to_onnx(tree, numbers[:1], options={"zipmap": False})
    save("onnx_ml/good/tree.onnx", saved.SerializeToString())


def node(number, stats, split=None, children=(-1, -1)):
    feature, values, categories = split or (-1, [], -1)
    return {
        "id": number,
        "prediction": float(np.argmax(stats)),
        "impurity": 0.0,
        "impurityStats": [float(count) for count in stats],
        "rawCount": int(sum(stats)),
        "gain": -1.0,
        "leftChild": children[0],
        "rightChild": children[1],
        "split": {
            "featureIndex": feature,
            "leftCategoriesOrThreshold": [float(value) for value in values],
            "numCategories": categories,
        },
    }


def like_spark():
    rows = [
        node(0, (30, 20), (0, [50.5], -1), (1, 2)),
        node(1, (25, 5)),
        node(2, (5, 15), (1, [2, 0], 3), (3, 4)),
        node(3, (1, 14)),
        node(4, (4, 1)),
    ]
    metadata = {
        "class": "org.apache.spark.ml.classification.DecisionTreeClassificationModel",
        "timestamp": 1700000000000,
        "sparkVersion": "4.0.0",
        "uid": "DecisionTreeClassifier_000000000000",
        "paramMap": {"maxDepth": 2},
        "defaultParamMap": {
            "labelCol": "ill",
            "featuresCol": "features",
            "impurity": "gini",
            "minInstancesPerNode": 5,
            "seed": 1,
        },
        "numFeatures": 2,
        "numClasses": 2,
    }
    out, parquet = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), parquet)
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in (
            ("metadata/_SUCCESS", b""),
            ("metadata/part-00000.txt", json.dumps(metadata).encode() + b"\n"),
            ("data/_SUCCESS", b""),
            ("data/part-00000.snappy.parquet", parquet.getvalue()),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
    save("spark_ml/good/tree.zip", out.getvalue())


if __name__ == "__main__":
    from_catboost()
    from_scikit_learn()
    like_spark()
