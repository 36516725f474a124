"""Files that hold no model that is read: each is named, with a line that writes what is read."""

import gzip
import json

import pytest

from tests.kit import places
from tests.kit.archives import zip_files
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, read_model

UNSUPPORTED = places.DATA / "unsupported"
WRITTEN = {
    "print(partykit::as.party(model))": "partykit_text",
    "print(model, digits = 15)": "rpart_text",
    "jsonlite::write_json(trees,": "r_forest_json",
    "skops.io.dump(model,": "skops_file",
    'save_model("model.json")': "xgboost_model",
    "xgboost::xgb.save(": "xgboost_model",
    "lightgbm::lgb.save(": "lightgbm_text",
    'model.download_mojo("model.zip")': "h2o_mojo",
    'model.write().overwrite().save("model")': "spark_ml",
    "weka.classifiers.trees.J48": "weka_text",
    "/OUTFILE TRAININGMODEL": "pmml",
    "code pmml;": "pmml",
}
"""What a line writes, as the format that reads it."""


def mojo(algorithm):
    ini = f"[info]\nh2o_version = 3.46.0.1\nalgo = {algorithm}\n\n[columns]\nage\n"
    return zip_files({"model.ini": ini.encode(), "experimental/README.md": b""})


def refusal(data, source="model"):
    with pytest.raises(TreeFormatError) as refused:
        load_model(data, source)
    return str(refused.value)


TIDY = "general:\n  model: {}\n  type: tree\n  version: 2.0\ntrees:\n"
ADVISED = {
    "C5.0": (UNSUPPORTED / "c50_print.txt").read_bytes(),
    "a tree file of C5.0": b'id="See5/C5.0 2.07 GPL Edition"\nentries="1"\ntype="2" class="no"\n',
    "R's package tree": (UNSUPPORTED / "r_tree_print.txt").read_bytes(),
    "R model (ranger)": (UNSUPPORTED / "tidypredict_ranger.yml").read_bytes(),
    "R model (randomForest)": TIDY.format("randomForest").encode(),
    "R model (xgboost)": TIDY.format("xgboost").encode(),
    "R model (lightgbm)": TIDY.format("lightgbm").encode(),
    "H2O MOJO of XGBoost": mojo("xgboost"),
    "H2O MOJO of Stacked Ensemble": mojo("stackedensemble"),
    "H2O MOJO of anewone": mojo("anewone"),
    "Yggdrasil": zip_files({"m/data_spec.pb": b"", "m/header.pb": b"", "m/done": b""}),
    "MLeap": zip_files({"bundle.json": b"{}", "root/model.json": b"{}"}),
    "a Java archive": zip_files({"META-INF/MANIFEST.MF": b"", "a.class": b""}),
    "a Core ML": zip_files({"Data/com.apple.CoreML/model.mlmodel": b"", "Manifest.json": b"{}"}),
    "XGBoost's old binary": b"binf" + b"\0" * 40,
    "an array of NumPy": b"\x93NUMPY\1\0",
    "a notebook": json.dumps({"cells": [], "metadata": {}, "nbformat": 4}).encode(),
    "source code": b"import math\n\ndef score(input):\n    if input[0] <= 2.5:\n        return 1\n",
    "SPSS syntax": b"/* Node 3 */.\nDO IF (age LE 45).\nCOMPUTE nod_001 = 3.\nEND IF.\n",
    "SAS score code": b"if age < 45 then do;\n  _NODE_ = 3;\nend;\n",
}
NAMED = {
    "H2O MOJO of GLM": (mojo("glm"), "it has no decision tree"),
    "H2O MOJO of Deep Learning": (mojo("deeplearning"), "it has no decision tree"),
    "H2O MOJO of Word2Vec": (mojo("word2vec"), "it has no decision tree"),
    "H2O MOJO of K-Means": (mojo("kmeans"), "it has no decision tree"),
    "H2O MOJO of Isolation Forest": (mojo("isolationforest"), "predict no column of a table"),
    "a neural network": (
        zip_files({"config.json": b"{}", "model.weights.h5": b"", "metadata.json": b"{}"}),
        "it has no decision tree",
    ),
    "a model of PyTorch": (
        zip_files({"model/data.pkl": b"", "model/version": b"3"}),
        "it has no decision tree",
    ),
    "the rules of RuleFit": (b"rule,type,coef,support\nage <= 3,rule,1,0.5\n", "linear model"),
    "a PDF": (b"%PDF-1.7\n", "give the file of the model"),
    "a picture": (b"\x89PNG\r\n\x1a\n", "give the file of the model"),
    "an HTML page": (b"<!DOCTYPE html><html>", "give the file of the model"),
    "a Word document": (zip_files({"word/document.xml": b""}), "give the file of the model"),
    "a table": (b"age,sex\n1,f\n2,m\n", "a table, not a model; give the file of the model"),
    "a table in Parquet": (b"PAR1", "give it with --data"),
    "a Stata file": (b"<stata_dta>", "a table, not a model; give the file of the model"),
    "packed with Zstandard": (b"\x28\xb5\x2f\xfd", "unpack it"),
    "an R model (cubist)": (TIDY.format("cubist").encode(), "docs/recipes/r.md has the lines"),
    "a serialised Java": (b"\xac\xed\0\5", "java -cp weka.jar"),
    "the file is empty": (b"", "treewarden list formats"),
}


@rows("what", ADVISED)
def test_what_is_not_read_is_named_with_a_line_that_writes_what_is(what):
    said = refusal(ADVISED[what])
    assert what in said
    lines = [line for line in WRITTEN if line in said]
    assert lines
    assert {WRITTEN[line] for line in lines} <= formats().keys()
    assert len(said) < 600


@rows("what", NAMED)
def test_what_holds_no_tree_that_is_read_is_named(what):
    data, advice = NAMED[what]
    said = refusal(data)
    assert what in said
    assert advice in said
    assert "no other format" not in said


def test_a_folder_is_named_as_an_archive_of_it_is():
    with pytest.raises(TreeFormatError, match="Yggdrasil"):
        read_model(UNSUPPORTED / "ydf_forest")


def test_mlflow_names_the_file_of_its_model_or_how_to_export_it(tmp_path):
    (tmp_path / "MLmodel").write_text("flavors:\n  lightgbm:\n    data: model.lgb\n")
    (tmp_path / "model.lgb").write_text("tree\n")
    with pytest.raises(TreeFormatError, match="give the file 'model.lgb' of it"):
        read_model(tmp_path)
    (tmp_path / "MLmodel").write_text("flavors:\n  sklearn:\n    pickled_model: model.pkl\n")
    (tmp_path / "model.pkl").write_bytes(b"\x80\4.")
    with pytest.raises(TreeFormatError, match=r"mlflow.sklearn.load_model.*skops.io.dump"):
        read_model(tmp_path)


def test_a_zip_archive_with_a_model_in_it_names_the_model():
    held = zip_files({"readme.txt": b"hello", "out/tree.pmml": b"<PMML/>"})
    assert "a zip archive; unpack it, and give the file 'out/tree.pmml' of it" in refusal(held)


def test_a_packed_file_that_is_not_read_is_named_too():
    assert "C5.0's printed output, which treewarden cannot read; in R" in refusal(
        gzip.compress(ADVISED["C5.0"]), "tree.txt.gz"
    )


def test_a_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("treewarden.ppdm_models.limits.ARCHIVE_ENTRIES", 10)
    for number in range(12):
        (tmp_path / str(number)).touch()
    with pytest.raises(TreeFormatError, match="holds more than 10 files; give the model file"):
        read_model(tmp_path)


def test_a_folder_that_holds_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    with pytest.raises(TreeFormatError, match="a folder, not the file of a model"):
        read_model(tmp_path)
