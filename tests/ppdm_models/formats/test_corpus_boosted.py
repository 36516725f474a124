"""Boosted trees as XGBoost and LightGBM really publish them are read in full, or refused with the true reason."""

import csv

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import formats, load_model
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link
from treewarden.ppdm_models.tree.tree import Quality

MODELS = places.SHARED / "models"
FOLDERS = ("xgboost", "xgboost-wild", "lightgbm", "lightgbm-wild")
OURS = ("xgboost_model", "xgboost_dump", "xgboost_text", "lightgbm_text", "lightgbm_dump")
pytestmark = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)


def index():
    if not MODELS.is_dir():
        return {}
    with (MODELS / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["file"]: row for row in rows if row["file"].startswith(FOLDERS)}


INDEX = index()
READ = sorted(INDEX)
WRITTEN = [name for name in READ if not name.endswith(".dump.txt")]
COUNTED = [name for name in READ if INDEX[name]["#nodes"].isdecimal()]


def model_of(name):
    return load_model((MODELS / name).read_bytes(), name)


@pytest.mark.parametrize("name", READ)
def test_a_real_file_is_read_as_an_ensemble_of_its_format(name):
    model = model_of(name)
    assert isinstance(model, Ensemble)
    assert model.format in OURS


@pytest.mark.parametrize("name", COUNTED)
def test_a_real_file_has_the_nodes_and_leaves_that_were_counted(name):
    trees = list(model_of(name).trees)
    nodes, leaves = (
        sum(len(part) for part in parts)
        for parts in ([t.nodes for t in trees], [t.leaves for t in trees])
    )
    assert (nodes, leaves) == (int(INDEX[name]["#nodes"]), int(INDEX[name]["#leaves"]))


@pytest.mark.parametrize("name", WRITTEN)
def test_a_real_file_is_written_back_as_it_was(name):
    raw = (MODELS / name).read_bytes()
    model = model_of(name)
    plugin = formats()[model.format]
    written = plugin.open(raw, name).rewrite(model)
    assert plugin.open(written, name).model == model
    if not name.endswith(".json"):
        assert written == raw


@pytest.mark.parametrize("name", READ)
def test_each_removable_leak_of_a_real_file_can_be_removed(name):
    raw = (MODELS / name).read_bytes()
    plugin = formats()[model_of(name).format]
    opened = plugin.open(raw, name)
    kinds = frozenset(leak.kind for leak in opened.leaks if leak.removable)
    clean = opened.without(kinds) if kinds else raw
    assert not any(leak.removable for leak in plugin.open(clean, name).leaks)


@pytest.mark.parametrize(
    ("name", "quality"),
    [
        ("xgboost/diabetes_rf_reg.save_model.json", Quality.DERIVED),
        ("xgboost/diabetes_multi_output_tree.save_model.json", Quality.DERIVED),
        ("xgboost/soybean_categorical_multiclass.save_model.json", Quality.DERIVED),
        ("xgboost/diabetes_rf_reg.dump_stats.json", Quality.HESSIAN),
        ("xgboost-wild/jpmml_AFTLungNA.json", Quality.HESSIAN),
        ("xgboost-wild/vespa_xgboost.test.json", Quality.ABSENT),
        ("lightgbm/iris_rf_weighted.dump_model.json", Quality.EXACT),
        ("lightgbm-wild/leaves_lg_1tree.json", Quality.INCONSISTENT),
    ],
)
def test_what_the_numbers_of_a_producer_mean_is_understood(name, quality):
    assert {tree.quality for tree in model_of(name).trees} == {quality}


@pytest.mark.parametrize(
    "name",
    [
        "lightgbm/wine_linear_tree.dump_model.json",
        "lightgbm-wild/jpmml_LinearTreeRegressionAuto.txt",
    ],
)
def test_linear_leaves_are_noted(name):
    model = model_of(name)
    assert model.link is Link.UNKNOWN
    assert any("linear model" in note for note in model.notes)
