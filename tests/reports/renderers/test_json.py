"""The document as JSON: valid by its schema, and what others build on is there."""

import json
import math

import pytest

from tests.kit.schemas import validator_of
from treewarden.reports.document.document import Document, json_schema
from treewarden.reports.document.parts import File, Value, as_json, number
from treewarden.reports.document.schema import SCHEMA_FILE
from treewarden.reports.renderers import renderer


def said(document):
    return json.loads(renderer("json").render(document))


def test_the_schema_file_is_current():
    assert SCHEMA_FILE.read_bytes() == json_schema(), (
        "run: python -m treewarden.reports.document.schema"
    )


def test_every_document_is_valid_by_the_schema(any_document):
    validator = validator_of(SCHEMA_FILE.read_bytes())
    assert list(validator.iter_errors(said(any_document))) == []


def test_the_json_reads_back_as_the_same_document(any_document):
    assert Document.model_validate(said(any_document)) == any_document


def test_the_keys_that_others_build_on_are_there(document):
    found = said(document)
    assert found["schema"] == "treewarden-report/1"
    assert found["verdict"] == "FAIL"
    assert {"low", "high", "unit"} <= found["readings"]["k_anonymity"].keys()
    assert found["readings"]["k_anonymity"]["low"] == 3
    wanted = "status entropy entropy_bound max_violation iterations seconds rows dropped"
    assert set(wanted.split()) <= found["solver"].keys()
    assert found["solver"]["dropped"] == len(found["dropped"]) == 1
    assert (found["population"]["records"], found["population"]["classes"]) == (45, 2)
    assert {"model", "knowledge", "provenance"} <= found.keys()


def test_a_finding_says_where_it_was_found(document):
    finding = said(document)["findings"][0]
    assert (finding["measure"], finding["rule"], finding["limit"]) == ("k_anonymity", "at_least", 5)
    assert (finding["verdict"], finding["severity"]) == ("FAIL", "error")
    assert finding["value"]["low"] == finding["value"]["high"] == 3
    first = finding["where"][0]
    assert (first["path"], first["node"], first["line"]) == ("place = p2", "leaf 3", 12)


def test_what_could_not_be_told_is_null_with_its_reason(undetermined):
    found = said(undetermined)
    assert found["verdict"] == "UNDETERMINED"
    for name in ("disclosure", "guess_accuracy", "kl_overall"):
        reading = found["readings"][name]
        assert reading["low"] is None
        assert reading["high"] is None
        assert "has no column 'illness'" in reading["reason"]


def test_a_reading_with_other_parameters_has_a_key_of_its_own(document):
    assert "guess_accuracy" in said(document)["readings"]
    assert said(document)["readings"]["guess_accuracy"]["parameters"] == {"over": "nothing"}


@pytest.mark.parametrize(
    ("value", "kept"), [(math.inf, "inf"), (-math.inf, "-inf"), (3.0, 3), (0.25, 0.25)]
)
def test_infinite_numbers_become_text_and_whole_ones_stay_whole(value, kept):
    assert number(value) == kept
    assert Value(low=kept, high=kept, text="").low == kept


def test_no_number_is_no_value():
    with pytest.raises(ValueError, match="not a number"):
        number(math.nan)


def test_an_unknown_value_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="a reason"):
        Value(low=None, high=None, text="could not tell")


def test_a_file_name_with_its_folder_is_refused():
    with pytest.raises(ValueError, match="without its folders"):
        File(name="/home/me/tree.pmml", sha256="")


def test_unknown_keys_are_refused(document):
    with pytest.raises(ValueError, match="extra"):
        Document.model_validate({**said(document), "more": 1})


def test_each_field_and_each_item_of_a_list_has_one_line(document):
    text = as_json(document).decode("ascii")
    values = json.loads(text)
    assert values == document.model_dump(mode="json", by_alias=True)
    items = sum(len(value) + 1 for value in values.values() if isinstance(value, list) and value)
    assert text.count("\n") == 2 + len(values) + items
    lines = iter(text.splitlines())
    assert next(lines) == "{"
    for name, value in values.items():
        start = next(lines).removeprefix(f'  "{name}": ')
        if start == "[":
            told = [json.loads(next(lines).strip().removesuffix(",")) for _ in value]
            assert next(lines) in ("  ]", "  ],")
        else:
            told = json.loads(start.removesuffix(","))
        assert told == value
    assert list(lines) == ["}"]
