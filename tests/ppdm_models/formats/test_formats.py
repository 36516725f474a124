"""What holds for every format: its own good files read, its bad ones are refused with the message beside them."""

import json
import random
from functools import cache
from pathlib import Path

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.schemas import validator_of
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, read_tree, sniffed, writers
from treewarden.ppdm_models.formats.own import _document

DATA = places.DATA / "formats"
GOOD = sorted(path for path in DATA.glob("*/good/*"))
BAD = sorted(path for path in DATA.glob("*/bad/*") if path.suffix != ".txt")


def label(path):
    return f"{path.parent.parent.name}-{path.stem}"


@rows("name", formats())
def test_every_format_has_a_good_and_a_bad_example(name):
    assert any(path.parent.parent.name == name for path in GOOD)
    assert any(path.parent.parent.name == name for path in BAD)


def files_of(paths, name):
    return [path for path in paths if path.parent.parent.name == name]


@rows("name", formats())
def test_a_good_file_is_recognised_by_its_content_and_remembers_its_name(name):
    for path in files_of(GOOD, name):
        model = load_model(path.read_bytes(), f"/some/where/{path.name}.txt")
        assert (model.format, model.source) == (name, f"{path.name}.txt")


@rows("name", formats())
def test_a_bad_file_is_refused_with_the_message_beside_it(name):
    for path in files_of(BAD, name):
        with pytest.raises(TreeFormatError) as refused:
            read_tree(path)
        message = path.with_suffix(".txt").read_text(encoding="utf-8").strip()
        assert str(refused.value) == message, path.name
        assert "; " in message, f"{path.name}: what can a user do?"


@rows("name", formats())
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
    validator = validator_of(_document.schema_text())
    assert list(validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))) == []


def test_written_json_follows_the_schema():
    tree = read_tree(DATA / "pmml/good/golf.pmml")
    written = json.loads(writers()["treewarden_json"].write(tree))
    validator_of(_document.schema_text()).validate(written)
    assert [node["id"] for node in written["nodes"]] == ["1", "2", "3", "4", "5"]


def cut_variants(data):
    """Yield a file and what is left of it after cuts, among them some that are still recognised."""
    yield data
    for mark in (b"\xef\xbb\xbf", b"\n\n", b" "):
        yield mark + data
    draw = random.Random(len(data))
    for _ in range(12):
        start = draw.randrange(len(data) + 1)
        yield data[:start] + data[start + draw.randrange(1, 400) :]
        yield data[: draw.randrange(len(data) + 1)]


@cache
def variants():
    """Return every file with its start alone, and whatever else may be left of it."""
    return [(path, data) for path in (*GOOD, *BAD) for data in cut_variants(path.read_bytes())]


@cache
def may_be_held(room):
    return [room.may_hold(data) for _, data in variants()]


@pytest.mark.parametrize("name", formats())
def test_no_room_is_passed_over_that_holds_a_format_of_the_file(name):
    room, plugin = formats().room(name), formats()[name]
    for (path, data), is_held in zip(variants(), may_be_held(room), strict=True):
        assert is_held or not plugin.sniff(data), path
    assert any(room.may_hold(path.read_bytes()) for path in GOOD)


def test_rooms_of_other_producers_stay_closed():
    data = (DATA / "pmml/good/golf.pmml").read_bytes()
    assert list(sniffed(data)) == ["pmml"]
    assert [name for name in formats() if formats().room(name).may_hold(data)] == ["pmml"]


def test_words_of_other_tools_in_a_pmml_document_open_no_room_of_theirs():
    data = (DATA / "pmml/good/golf.pmml").read_bytes()
    words = b'Decision Stump, J48 and Id3, learner, "tree_", "tree_info", "features_info"'
    told = data.replace(b"<Header", b"<!-- " + words + b" -->\n<Header", 1)
    assert told != data
    assert b"Id3" in told
    assert [name for name in formats() if formats().room(name).may_hold(told)] == ["pmml"]
