"""What the files of CatBoost, treelite, ONNX, H2O, BigML, Spark, Elasticsearch and Solr say of the training records."""

import io
import json
import math
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tests.kit import places
from tests.kit.archives import zip_files
from tests.kit.columns import numeric_column
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, read_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, trees_of
from treewarden.ppdm_models.tree.predicate import text
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Tree

DATA = places.DATA / "formats"


def good(name):
    return read_model(DATA / name)


def document(name):
    return json.loads((DATA / name).read_bytes())


def loaded(changed, name="changed.json"):
    return load_model(json.dumps(changed).encode(), name)


def words(*values, known=("Nord", "Süd", "West", "Ost")):
    return CategoricalColumn(
        codes=np.array([known.index(value) if value else -1 for value in values]), categories=known
    )


def stops(tree, columns):
    return [tree.nodes[index].name if index >= 0 else None for index in route(tree, columns)]


def leaks(name):
    path = DATA / name
    return formats()[path.parent.parent.name].open(path.read_bytes(), path.name).leaks


def test_catboost_counts_every_leaf_and_inner_nodes_hold_their_sum():
    for tree in good("catboost_json/good/symmetrictree.json").trees:
        assert tree.quality is Quality.EXACT
        assert tree.root.records == math.fsum(leaf.records for leaf in tree.leaves) == 60


def test_a_leaf_of_catboost_that_no_record_reached_is_there_with_zero_records():
    changed = document("catboost_json/good/symmetrictree.json")
    changed["oblivious_trees"][0]["leaf_weights"] = [60, 0, 0, 0]
    assert [leaf.records for leaf in next(loaded(changed).trees).leaves] == [60, 0, 0, 0]


def test_the_first_split_of_catboost_is_the_lowest_bit_of_the_leaf():
    tree = next(good("catboost_json/good/symmetrictree.json").trees)
    assert [leaf.name for leaf in tree.leaves] == ["leaf 0", "leaf 2", "leaf 1", "leaf 3"]


def test_catboost_with_class_weights_counts_no_people():
    changed = document("catboost_json/good/symmetrictree.json")
    changed["model_info"]["params"]["data_processing_options"]["class_weights"] = [1, 2]
    assert {tree.quality for tree in loaded(changed).trees} == {Quality.WEIGHTED}


def test_catboost_names_a_category_where_the_file_does_and_its_hash_elsewhere():
    named = good("catboost_json/good/symmetrictree.json")
    hashed = good("catboost_json/good/depthwise.json")
    assert [feature.name for feature in named.features] == ["age", "town"]
    assert [feature.name for feature in hashed.features] == ["age", "town", "hash of town"]
    assert "only hashes" in hashed.notes[0]


def test_a_category_known_by_its_hash_only_is_not_predicted_with():
    model = good("catboost_json/good/depthwise.json")
    with pytest.raises(KeyError, match="hash of town"):
        predict(model, {"age": numeric_column(30), "town": words("Nord")})


def test_catboost_settings_that_no_number_of_32_bits_holds_are_unknown():
    changed = document("catboost_json/good/symmetrictree.json")
    known = formats()["catboost_json"].open(json.dumps(changed).encode(), "x").model.growth
    changed["model_info"]["params"]["boosting_options"]["learning_rate"] = 10**400
    found = formats()["catboost_json"].open(json.dumps(changed).encode(), "x").model.growth
    assert set(known.facts) - set(found.facts) == {"learning_rate"}


def test_catboost_tells_the_smallest_cell_of_its_target_statistics():
    changed = document("catboost_json/good/symmetrictree.json")
    rows = ["18446744073709551615", 1, 1, "123", 40, 12, "456", 3, 5]
    changed["ctr_data"] = {'{"type":"Borders"}': {"hash_map": rows, "hash_stride": 3}}
    found = formats()["catboost_json"].open(json.dumps(changed).encode(), "x").leaks
    assert [(leak.records, leak.kind) for leak in found][0] == (3, LeakKind.TARGET_STATISTICS)


@pytest.mark.parametrize(
    ("kind", "told"), [("Borders", LeakKind.EXACT_TARGETS), ("Counter", LeakKind.RARE_VALUES)]
)
def test_counts_of_catboost_of_a_category_of_one_record_speak_of_it(kind, told):
    changed = document("catboost_json/good/symmetrictree.json")
    rows = ["123", 40, 12, "456", 0, 1]
    changed["ctr_data"] = {f'{{"type":"{kind}"}}': {"hash_map": rows, "hash_stride": 3}}
    found = formats()["catboost_json"].open(json.dumps(changed).encode(), "x").leaks
    assert [(leak.records, leak.kind) for leak in found][0] == (1, told)


def test_catboost_tells_when_and_how_it_was_trained():
    kinds = {leak.kind for leak in leaks("catboost_json/good/symmetrictree.json")}
    assert {LeakKind.TIMESTAMP, LeakKind.REPLAY, LeakKind.IDENTIFIER, LeakKind.CATEGORIES} <= kinds


def test_treelite_shares_of_weighted_draws_are_no_counts():
    tree = next(good("treelite_json/good/forest.json").trees)
    assert tree.quality is Quality.EXACT
    assert all(node.class_counts is None and node.class_shares is None for node in tree.nodes)


def test_treelite_shares_times_records_are_counts_where_every_record_counts_once():
    changed = document("treelite_json/good/forest.json")
    for tree in changed["trees"]:
        tree["nodes"] = [
            {**tree["nodes"][0], "left_child": 1, "right_child": 2, "data_count": 8, "sum_hess": 8},
            {"node_id": 1, "leaf_value": [0.75, 0.25], "data_count": 4, "sum_hess": 4},
            {"node_id": 2, "leaf_value": [0.0, 1.0], "data_count": 4, "sum_hess": 4},
        ]
    tree = next(loaded(changed).trees)
    assert tree.quality is Quality.DERIVED
    assert [leaf.class_counts for leaf in tree.leaves] == [(3, 1), (0, 4)]


def test_sums_of_second_derivatives_are_not_read_as_people():
    changed = document("treelite_json/good/forest.json") | {"average_tree_output": False}
    for tree in changed["trees"]:
        for node in tree["nodes"]:
            del node["data_count"]
    tree = next(loaded(changed).trees)
    assert tree.quality is Quality.HESSIAN
    assert all(node.records is None for node in tree.nodes)


def test_treelite_3_lists_the_categories_of_the_right_child():
    model = good("treelite_json/good/version_3.json")
    tree = next(model.trees)
    assert [text(leaf.test) for leaf in tree.leaves] == ["f1 not in {0, 2}", "f1 in {0, 2}"]
    codes = CategoricalColumn(codes=np.array([0, 1, -1]), categories=("0", "1", "2"))
    high, low = (1 / (1 + math.exp(-0.5 * score)) for score in (2.25, -1.25))
    np.testing.assert_allclose(predict(model, {"f1": codes})[:, 1], [high, low, low])


def test_class_weights_of_onnx_are_shares():
    pytest.importorskip("onnx", reason="reading ONNX needs its library")
    tree = good("onnx_ml/good/tree.onnx")
    assert tree.quality is Quality.NORMALISED
    assert tree.classes == ("no", "yes")
    assert all(math.isclose(sum(leaf.class_shares), 1) for leaf in tree.leaves)
    assert all(node.records is None for node in tree.nodes)


def test_h2o_counts_the_records_of_every_node():
    model = good("h2o_json/good/printmojo.json")
    tree = next(model.trees)
    assert tree.quality is Quality.EXACT
    assert [node.records for node in tree.nodes] == [50, 30, 20, 16, 4]
    assert (model.link, model.base) == (Link.LOGISTIC, (-0.25,))


@pytest.mark.parametrize("name", ["printmojo", "h2otree"])
def test_h2o_sends_missing_and_new_categories_one_way(name):
    tree = next(trees_of(good(f"h2o_json/good/{name}.json")))
    table = {
        "age": numeric_column(50, 50.5, math.nan, 60, 60, 60),
        "town": words("Süd", "Nord", "Süd", "Ost", None, "West"),
    }
    assert stops(tree, table) == ["1", "3", "4", "3", "3", "3"]


def test_a_part_of_the_trees_of_h2o_predicts_nothing():
    changed = document("h2o_json/good/printmojo.json")
    changed["params"]["n_tree_groups"] = 2
    model = loaded(changed)
    assert model.link is Link.UNKNOWN
    assert "1 of the model's 2 trees" in model.notes[0]


def test_bigml_counts_each_class_and_a_star_takes_missing_values():
    tree = good("bigml_json/good/tree.json")
    assert (tree.quality, tree.target, tree.classes) == (Quality.EXACT, "ill", ("no", "yes"))
    assert [node.class_counts for node in tree.nodes] == [(30, 20), (5, 15), (25, 5)]
    assert stops(tree, {"age": numeric_column(50.5, 51, math.nan)}) == ["2", "1", "1"]


def test_without_a_star_bigml_stops_where_a_value_is_missing():
    changed = document("bigml_json/good/tree.json")
    changed["object"]["model"]["root"]["children"][0]["predicate"]["operator"] = ">"
    assert stops(loaded(changed), {"age": numeric_column(50.5, 51, math.nan)}) == ["2", "1", "0"]


def test_bigml_tells_histograms_people_and_dates():
    found = {leak.kind: leak for leak in leaks("bigml_json/good/tree.json")}
    assert set(found) == {
        LeakKind.HISTOGRAM,
        LeakKind.EXTREMES,
        LeakKind.AUTHOR,
        LeakKind.TIMESTAMP,
        LeakKind.IDENTIFIER,
    }
    first = leaks("bigml_json/good/tree.json")[0]
    assert (first.where, first.records) == ("/object/model/fields/000000/summary/bins", 1)
    assert "someone" not in found[LeakKind.AUTHOR].what


def test_spark_counts_each_class_at_every_node():
    tree = good("spark_ml/good/tree.zip")
    assert tree.quality is Quality.EXACT
    assert [node.class_counts for node in tree.nodes] == [
        (30, 20),
        (25, 5),
        (5, 15),
        (1, 14),
        (4, 1),
    ]
    assert tree.learner.min_leaf_records == 5


def test_spark_sends_missing_and_new_values_right_or_to_the_larger_side():
    tree = good("spark_ml/good/tree.zip")
    table = {
        "f0": numeric_column(50.5, 51, 51, 51, math.nan),
        "f1": words("0", "0", "1", None, "9", known=("0", "1", "2", "9")),
    }
    assert stops(tree, table) == ["1", "3", "4", "3", "3"]


def spark_files():
    with zipfile.ZipFile(DATA / "spark_ml/good/tree.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_folder_of_spark_is_read_as_its_archive_is(tmp_path):
    for name, data in spark_files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    assert read_model(tmp_path) == good("spark_ml/good/tree.zip")


def test_two_tree_models_in_one_pipeline_are_refused():
    files = spark_files()
    both = {f"stages/{n}/{name}": data for n in "ab" for name, data in files.items()}
    with pytest.raises(TreeFormatError, match="2 tree models"):
        load_model(zip_files(both), "pipeline.zip")


def test_eland_publishes_counts_as_logarithms():
    tree = good("eland_json/good/tree.json")
    assert tree.quality is Quality.DERIVED
    assert [leaf.class_counts for leaf in tree.leaves] == [(29, 1), (0, 20)]


def test_leaf_counts_of_eland_that_do_not_fit_the_node_above_are_inconsistent():
    changed = document("eland_json/good/tree.json")
    changed["tree"]["tree_structure"][0]["number_samples"] = 51
    assert loaded(changed).quality is Quality.INCONSISTENT


def test_a_score_of_eland_that_is_no_logarithm_of_a_count_is_no_count():
    changed = document("eland_json/good/tree.json")
    changed["tree"]["tree_structure"][1]["leaf_value"] = [3.3, 0.1]
    tree = next(loaded(changed).trees)
    assert all(node.class_counts is None for node in tree.nodes)


def test_solr_adds_its_slack_to_a_threshold_and_sends_missing_values_as_told():
    model = good("solr_ltr/good/ranker.json")
    edge = float(np.float32(0.5) + np.float32(1e-6))
    above = float(np.nextafter(np.float32(edge), np.float32(1)))
    table = {"title": numeric_column(edge, above, math.nan), "device": numeric_column(1, 1, 0)}
    assert predict(model, table)[:, 0].tolist() == [-2, 1.5, 1]
    assert {tree.quality for tree in model.trees} == {Quality.ABSENT}


def test_an_ensemble_of_one_tree_that_adds_nothing_is_that_tree():
    changed = document("treelite_json/good/forest.json")
    changed["trees"] = changed["trees"][:1]
    changed |= {"target_id": [-1], "class_id": [-1]}
    assert isinstance(loaded(changed), Tree)


def test_several_trees_are_an_ensemble():
    assert isinstance(good("treelite_json/good/forest.json"), Ensemble)


def test_onnx_without_its_library_names_what_to_install():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from pathlib import Path\n"
        "from treewarden.ppdm_models.formats.onnx.onnx_ml import FORMAT\n"
        "path = Path(sys.argv[1])\n"
        "try: FORMAT.open(path.read_bytes(), path.name)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    path = str(DATA / "onnx_ml" / "good" / "tree.onnx")
    run = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.startswith("TreeFormatError tree.onnx: ")
    assert "pip install 'treewarden[onnx]'" in run.stdout


def test_leaves_of_very_many_outputs_are_refused_before_they_are_made():
    onnx = pytest.importorskip("onnx", reason="makes the model")
    size = 5_001
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1_000,
        nodes_treeids=list(range(size)),
        **{f"nodes_{name}": [0] * size for name in ("nodeids", "featureids")},
        **{f"nodes_{name}ids": [0] * size for name in ("truenode", "falsenode")},
        nodes_modes=["LEAF"] * size,
        nodes_values=[0.0] * size,
        **{f"target_{name}": [0] for name in ("treeids", "nodeids", "ids")},
        target_weights=[1.0],
    )
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "wide", [], []))
    with pytest.raises(TreeFormatError, match="are too many"):
        load_model(model.SerializeToString(), "wide.onnx")


def test_a_table_in_the_folder_of_a_spark_model_is_found():
    data = io.BytesIO((DATA / "spark_ml/good/tree.zip").read_bytes())
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("people.csv", "age,flu\n30,yes\n")
    found = formats()["spark_ml"].open(data.getvalue(), "x").leaks
    unknown = [leak.where for leak in found if leak.kind is LeakKind.UNKNOWN]
    assert unknown == ["people.csv", "anywhere in it"]


def test_a_regression_tree_of_h2o_need_not_say_where_values_go_that_are_missing_further_up():
    path = places.DATA / "formats" / "h2o_json" / "good" / "regression_arrays.json"
    tree = load_model(path.read_bytes(), path.name)
    arrays = json.loads(path.read_bytes())
    silent = [
        node for node, side in enumerate(arrays["nas"]) if arrays["features"][node] and not side
    ]
    assert silent
    columns = {
        feature.name: CategoricalColumn(np.array([-1, 0]), (feature.values or ("no",))[:1])
        for feature in tree.features
    }
    stops = route(tree, columns)
    assert all(tree.nodes[stop].is_leaf for stop in stops)
    ways = {tree.nodes[node.parent].name for node in tree.nodes if node.index in stops}
    assert not ways & {str(node) for node in silent}
