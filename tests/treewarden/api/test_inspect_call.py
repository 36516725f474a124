"""``treewarden.inspect``: what the command line says of the same model, as plain values and frames."""

import json

import pytest

import treewarden as tw
from tests.kit.run import run_command


def test_it_says_what_the_command_line_says(files):
    asked = ["inspect", str(files.model), "--leaves", "--format", "jsonl"]
    told = json.loads(run_command(*asked).stdout)
    del told["file"]
    for model in (files.model, str(files.model), files.model.read_bytes()):
        assert tw.inspect(model).to_dict() == told


def test_leaves_trees_and_leaks_are_frames(files):
    found = tw.inspect(files.model)
    assert list(found.leaves["node"]) == ["1", "3", "4"]
    assert list(found.leaves["records"]) == [20, 12, 8]
    assert list(found.trees["leaves"]) == [3]
    assert len(found.leaks) == len(found.to_dict()["leaks"])


def test_a_fitted_tree_is_inspected_without_a_table(tree):
    found = tw.inspect(tree)
    assert len(found.leaves) == 5
    assert "5 leaves" in repr(found)
    assert "5 leaves" in found._repr_html_()


def test_a_fitted_tree_becomes_a_file_that_names_its_target(tree, tmp_path):
    path = tw.inspect(tree, target="flu").save_model(tmp_path / "tree.pmml")
    found = tw.inspect(path)
    assert list(found.leaves["records"]) == list(tw.inspect(tree).leaves["records"])
    assert found.to_dict()["target"] == "flu"


def test_a_model_is_not_written_over_itself(files):
    before = files.model.read_bytes()
    with pytest.raises(tw.OutputError):
        tw.inspect(files.model).save_model(files.model)
    assert files.model.read_bytes() == before
