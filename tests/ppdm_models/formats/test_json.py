"""JSON from strangers is read in full or refused with its place; nothing recurses, nothing is guessed."""

import json
import math

import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import (
    CONTAINERS,
    DEPTH,
    as_number,
    as_whole,
    opens_json,
    pointer,
    read_json,
    refused,
    written_json,
)


def refusal(data, **options):
    with pytest.raises(TreeFormatError) as error:
        read_json(data, "m.json", **options)
    return str(error.value)


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, null, true, "x"]}', '"[[[["', r'["\\", "[\"[", "\\\"["]', "\ufeff[1]"]
)
def test_json_is_read_as_it_is(text):
    assert read_json(text.encode(), "m.json") == json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"[" * 100_000, "nests too deep"),
        (b'{"a":' * 100_000, "nests too deep"),
        (b'["\\\\",' + b"[" * 100_000, "nests too deep"),
        (b"[" + b"[]," * CONTAINERS + b"1]", "objects and lists"),
        (b'{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        (b"[NaN]", "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"[" + b"9" * 5000 + b"]", "not valid JSON"),
        (b'["\xff"]', "not valid JSON"),
        (b'["\\"', "not valid JSON"),
        (b"", "not valid JSON"),
    ],
)
def test_what_is_no_honest_json_is_refused(data, problem):
    assert problem in refusal(data)


def test_the_deepest_nesting_allowed_is_read_and_one_more_is_not():
    assert read_json(b"[" * DEPTH + b"]" * DEPTH, "m.json")
    assert f"{DEPTH + 1} levels" in refusal(b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1))


def test_brackets_inside_text_do_not_nest():
    assert read_json(b'["' + b"[" * 5000 + b'\\"' + b"{" * 5000 + b'"]', "m.json")


def test_nan_is_read_only_where_it_is_allowed():
    value = read_json(b"[NaN]", "m.json", allow_nan=True)
    assert math.isnan(value[0])


@pytest.mark.parametrize("value", [math.inf, math.nan, True, "1", None, [], 10**400])
def test_what_is_no_finite_number_is_refused_with_its_place(value):
    with pytest.raises(TreeFormatError, match="m.json: /a/0: .*finite number"):
        as_number(value, "m.json", ["a", 0])


@pytest.mark.parametrize("value", [-1, 8, 1.0, True, "1"])
def test_what_is_no_whole_number_in_range_is_refused(value):
    with pytest.raises(TreeFormatError, match="whole number from 0 to 7"):
        as_whole(value, "m.json", [], high=7)


def test_a_place_is_a_json_pointer():
    assert pointer(["a/b", 3, "~"]) == "/a~1b/3/~0"
    assert str(refused("m.json", [], "no tree")) == "m.json: no tree"


@pytest.mark.parametrize("text", ['{"ä":[1.5,NaN]}', '{\n  "a": 1\n}\n'])
def test_a_document_is_written_in_the_manner_of_its_file(text):
    data = text.encode()
    assert written_json(read_json(data, "m.json", allow_nan=True), data) == data


def test_json_is_recognised_by_its_first_byte():
    assert [opens_json(data) for data in (b"\xef\xbb\xbf {", b"\n[", b"", b"<")] == [
        b"{",
        b"[",
        b"",
        b"<",
    ]
