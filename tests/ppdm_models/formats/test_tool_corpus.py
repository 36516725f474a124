"""Real files of eight tools that publish no PMML are read, or refused with the reason."""

import csv
from pathlib import Path

import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.predicate import text
from treewarden.ppdm_models.tree.tree import Quality

MODELS = places.SHARED / "models"
pytestmark = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)
FOLDERS = (
    *("bigml", "catboost", "elastic-eland", "h2o", "h2o-wild", "onnx", "solr-ltr"),
    *("spark-4.3.0", "spark-wild", "treelite"),
)
REFUSED = {
    "h2o/*.model_details.json": "it contains no tree",
    "spark-4.3.0/*.treesMetadata.jsonl": "it contains no tree",
    "spark-wild/*.json": "it contains no tree",
}


def index():
    if not MODELS.is_dir():
        return {}
    with (MODELS / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            row["file"]: row
            for row in rows
            if row["file"].split("/")[0] in FOLDERS and not row["file"].endswith(".pmml")
        }


INDEX = index()
REASONS = {
    name: reason
    for name in INDEX
    for pattern, reason in REFUSED.items()
    if Path(name).match(pattern)
}


@pytest.mark.parametrize("name", sorted(INDEX.keys() - REASONS.keys()))
def test_a_real_model_has_the_trees_nodes_and_leaves_of_the_file(name):
    if name.startswith("onnx"):
        pytest.importorskip("onnx", reason="reading ONNX needs its library")
    trees = list(trees_of(read_model(MODELS / name)))
    said = INDEX[name.removesuffix(".json") + ".json"] if name.startswith("onnx") else INDEX[name]
    counts = {
        "#trees": len(trees),
        "#nodes": sum(len(tree.nodes) for tree in trees),
        "#leaves": sum(len(tree.leaves) for tree in trees),
    }
    told = {key: int(said[key]) for key in counts if said[key]}  # of a MOJO only the trees are
    assert told == {key: counts[key] for key in told}
    assert told


@pytest.mark.parametrize("name", sorted(REASONS))
def test_a_real_file_without_a_readable_tree_is_refused_with_the_reason(name):
    with pytest.raises(TreeFormatError, match=REASONS[name]):
        read_model(MODELS / name)


@pytest.mark.parametrize(
    ("name", "qualities"),
    [
        ("bigml/bigmlcom_w_regression.json", {Quality.EXACT}),
        ("catboost/breastcancer_lossguide_nonsymmetric.json", {Quality.EXACT}),
        ("elastic-eland/dtc_iris.trained_model.json", {Quality.DERIVED}),
        ("h2o/drf_iris.printmojo.json", {Quality.EXACT, Quality.INCONSISTENT}),
        ("h2o/gbm_vote_categorical.printmojo.json", {Quality.EXACT}),
        ("solr-ltr/multipleadditivetreesmodel_with_missing_branch.json", {Quality.ABSENT}),
        ("spark-4.3.0/gbtc_vote_3.model.zip", {Quality.EXACT}),
        ("treelite/bc_lgb_binary_categorical.json", {Quality.EXACT}),
        ("treelite/iris_xgb.json", {Quality.HESSIAN}),
    ],
)
def test_what_the_numbers_of_a_tool_mean_is_understood(name, qualities):
    assert {tree.quality for tree in trees_of(read_model(MODELS / name))} == qualities


def test_both_exports_of_h2o_tell_the_same_tree():
    mojo, arrays = (
        next(trees_of(read_model(MODELS / f"h2o/gbm_vote_categorical.{name}.json")))
        for name in ("printmojo", "H2OTree")
    )
    told = [
        sorted((text(node.test), node.score) for node in tree.leaves) for tree in (mojo, arrays)
    ]
    assert told[0] == told[1]


def test_a_pipeline_of_spark_names_features_and_classes():
    tree = read_model(MODELS / "spark-wild/DecisionTreeIris.zip")
    assert tree.classes == ("setosa", "versicolor", "virginica")
    assert tree.features[0].name == "StandardScalerModel of Sepal_Length"
