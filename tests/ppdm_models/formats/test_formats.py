"""What holds for every format: its own good files read, its bad ones are refused with the message beside them."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, read_tree, writers
from treewarden.ppdm_models.formats.own import _document

DATA = places.DATA / "formats"
GOOD = sorted(path for path in DATA.glob("*/good/*"))
BAD = sorted(path for path in DATA.glob("*/bad/*") if path.suffix != ".txt")


def label(path):
    return f"{path.parent.parent.name}-{path.stem}"


@pytest.mark.parametrize("name", formats())
def test_every_format_has_a_good_and_a_bad_example(name):
    assert any(path.parent.parent.name == name for path in GOOD)
    assert any(path.parent.parent.name == name for path in BAD)


@pytest.mark.parametrize("path", GOOD, ids=label)
def test_a_good_file_is_recognised_by_its_content_and_remembers_its_name(path):
    model = load_model(path.read_bytes(), f"/some/where/{path.name}.txt")
    assert (model.format, model.source) == (path.parent.parent.name, f"{path.name}.txt")


@pytest.mark.parametrize("path", BAD, ids=label)
def test_a_bad_file_is_refused_with_the_message_beside_it(path):
    with pytest.raises(TreeFormatError) as refused:
        read_tree(path)
    assert str(refused.value) == path.with_suffix(".txt").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", formats())
def test_sniffing_never_raises(name):
    for data in (b"", b"\0", b"<", b"{", b"\xff\xfe<\0", bytes(range(256))):
        assert formats()[name].sniff(data) is False


def test_both_formats_tell_the_same_tree():
    pmml, own = (
        read_tree(DATA / path) for path in ("pmml/good/golf.pmml", "treewarden_json/good/golf.json")
    )
    assert [node.score for node in pmml.nodes] == [node.score for node in own.nodes]
    assert [node.class_counts for node in pmml.nodes] == [node.class_counts for node in own.nodes]


def test_the_committed_schema_is_the_one_of_the_code():
    beside = Path(_document.__file__).with_name("treewarden.schema.json")
    assert beside.read_text(encoding="utf-8") == _document.schema_text()


@pytest.mark.parametrize("path", sorted(DATA.glob("treewarden_json/good/*")), ids=label)
def test_good_json_follows_the_schema(path):
    validator = jsonschema.Draft202012Validator(json.loads(_document.schema_text()))
    assert list(validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))) == []


def test_written_json_follows_the_schema():
    tree = read_tree(DATA / "pmml/good/golf.pmml")
    written = json.loads(writers()["treewarden_json"].write(tree))
    jsonschema.validate(written, json.loads(_document.schema_text()))
    assert [node["id"] for node in written["nodes"]] == ["1", "2", "3", "4", "5"]
