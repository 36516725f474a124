"""Finding the format of a file, and refusing what is none."""

import os
from pathlib import Path

import pytest

from tests.kit.archives import zip_files
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_tree, read_tree


def refusal(data, source="model.pmml"):
    with pytest.raises(TreeFormatError) as refused:
        load_tree(data, source)
    return str(refused.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"hello", "not a model format that treewarden can read"),
        (b"<tree/>", "XML, but not PMML"),
        (b'{"a": 1}', "JSON, but not a model format that treewarden can read"),
        (
            b'{"left":' * 5000,
            "rejected for security: nested 5,000 levels deep, more than any real model",
        ),
        (zip_files({"notes.txt": b"nothing"}), "a zip archive without a model that is read"),
    ],
)
def test_what_no_format_recognises_is_refused_with_where_to_look(data, said):
    where = "for the formats: treewarden list formats; how to export a model: docs/formats.md"
    assert refusal(data) == f"model.pmml: {said}; {where}"


def test_an_absolute_path_does_not_get_into_the_message():
    assert refusal(b"", "/home/someone/secret/model.pmml").startswith("model.pmml: ")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        TreeFormatError, match=r"^none\.pmml: there is no such file; check the path"
    ):
        read_tree(tmp_path / "none.pmml")


def test_a_folder_that_spark_did_not_write_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "model.pmml").write_text("<PMML/>")
    with pytest.raises(
        TreeFormatError,
        match="a folder, not the file of a model; give the model file, "
        "for example 'model.pmml' in it$",
    ):
        read_tree(tmp_path)


def test_the_folder_that_one_stands_in_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TreeFormatError, match=r"^\.: a folder, not the file of a model"):
        read_tree(Path("."))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TreeFormatError, match=r"^pipe: not a file"):
        read_tree(tmp_path / "pipe")


def test_a_name_with_a_null_is_refused(tmp_path):
    with pytest.raises(TreeFormatError):
        read_tree(tmp_path / "null\0byte")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large.pmml"
    with path.open("wb") as file:
        file.truncate(limits.BYTES + 1)
    with pytest.raises(TreeFormatError, match="is more than the [0-9,]+ that are read"):
        read_tree(path)


def test_bytes_that_are_too_many_are_refused():
    assert "is more than" in refusal(b" " * (limits.BYTES + 1))


def model(
    nodes,
    features='<DataField name="x" optype="continuous" dataType="double"/>',
    classes=("a", "b"),
):
    values = "".join(f'<Value value="{label}"/>' for label in classes)
    return (
        f'<PMML version="4.4"><DataDictionary>{features}<DataField name="y" optype="categorical" dataType="string">'
        f'{values}</DataField></DataDictionary><TreeModel functionName="classification"><MiningSchema>'
        f'<MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>{nodes}</TreeModel></PMML>'
    ).encode()


def test_a_hundred_thousand_nested_nodes_are_refused():
    nodes = "<Node><True/>" * 100_000 + "</Node>" * 100_000
    assert refusal(model(nodes)) == (
        "model.pmml:1: elements nest more than 250 deep, as no real tree does; export it again"
    )


def test_nodes_may_nest_as_deep_as_the_limit_and_no_deeper():
    deepest = limits.DEPTH + 1
    assert (
        load_tree(model("<Node><True/>" * deepest + "</Node>" * deepest), "x").depth == limits.DEPTH
    )
    assert "nodes nest more than 200 deep" in refusal(
        model("<Node><True/>" * 210 + "</Node>" * 210)
    )


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "NODES", 1000)
    assert "more than 1,000 nodes" in refusal(
        model(f"<Node><True/>{'<Node><True/></Node>' * 1000}</Node>")
    )


def test_too_many_classes_are_refused():
    labels = [f"c{number}" for number in range(limits.CLASSES + 1)]
    assert "1,001 classes at 0 nodes are too many" in refusal(
        model("<Node><True/></Node>", classes=labels)
    )


def test_predicates_that_nest_too_deep_are_refused():
    deep = limits.TEST_DEPTH + 1
    compound = (
        '<CompoundPredicate booleanOperator="or"><False/>' * deep
        + "<True/>"
        + "</CompoundPredicate>" * deep
    )
    assert "predicates nest more than 16 deep" in refusal(model(f"<Node>{compound}</Node>"))


@pytest.mark.parametrize(
    "nested", ["[" * 100_000, '{"a":' * 100_000, '{"parts":[' * 400 + "]}" * 400]
)
def test_json_that_nests_too_deep_is_refused(nested):
    assert "nests too deep" in refusal(
        b'{"format": "treewarden-tree", "x": ' + nested.encode() + b"}"
    )


def test_json_with_a_number_of_five_thousand_digits_is_refused():
    assert "not valid JSON" in refusal(
        b'{"format": "treewarden-tree", "version": ' + b"9" * 5000 + b"}"
    )


def test_json_that_is_not_utf_8_is_refused():
    assert "not valid JSON" in refusal(b'{"format": "treewarden-tree", "target": "\xff"}')


def wide_and_unclear(children):
    """A node whose children do not split it, each with unclear children of its own: all of it must be looked at."""
    inner = '<Node><SimplePredicate field="x" operator="lessThan" value="{0}"/></Node>' * 2
    outer = '<Node><SimplePredicate field="x" operator="lessThan" value="{0}"/>' + inner + "</Node>"
    return model(
        "<Node><True/>" + "".join(outer.format(number) for number in range(children)) + "</Node>"
    )


def test_a_tree_that_is_hard_to_check_is_read_all_the_same():
    tree = load_tree(wide_and_unclear(10_000), "x")
    assert any("they were not checked" in note for note in tree.notes)
