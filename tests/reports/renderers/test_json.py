"""The document as JSON: valid by its schema, and what others build on is there."""

import json
import math

import pytest

from tests.kit.schemas import validator_of
from treewarden.reports.document import packing
from treewarden.reports.document.document import Document
from treewarden.reports.document.packing import (
    UnreadableReportError,
    json_schema,
    pack,
    pack_tree,
    read_document,
    unpack,
    unpack_tree,
)
from treewarden.reports.document.parts import File, Value, as_json, compact, number
from treewarden.reports.document.schema import SCHEMA_FILE
from treewarden.reports.renderers import renderer


def said(document):
    return unpack(json.loads(renderer("json").render(document)))


def test_the_schema_file_is_current():
    assert SCHEMA_FILE.read_bytes() == json_schema(), (
        "run: python -m treewarden.reports.document.schema"
    )


def test_every_document_is_valid_by_the_schema_as_it_is_printed_and_written_out(any_document):
    validator = validator_of(SCHEMA_FILE.read_bytes())
    printed = json.loads(renderer("json").render(any_document))
    assert list(validator.iter_errors(printed)) == []
    assert list(validator.iter_errors(any_document.model_dump(mode="json", by_alias=True))) == []


def test_the_json_reads_back_as_the_same_document(any_document):
    assert read_document(renderer("json").render(any_document)) == any_document


def test_reports_of_the_first_version_are_read(any_document):
    assert read_document(as_json(any_document)) == any_document


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


def test_each_field_each_item_of_a_list_and_each_row_of_a_table_has_one_line(document):
    text = renderer("json").render(document).decode("ascii")
    values = json.loads(text)
    assert values == pack(document.model_dump(mode="json", by_alias=True))
    lines = text.splitlines()
    for items in (values["findings"], values["places"]["rows"], values["tree"]["rows"]):
        at = [
            lines.index(line)
            for line in lines
            if line.strip().removesuffix(",") == compact(items[0])
        ]
        assert [
            json.loads(line.strip().removesuffix(",")) for line in lines[at[0] :][: len(items)]
        ] == items


# Tables: what follows from the rest is not written.


def node(index, parent, test, path, **other):
    told = {"name": str(index), "line": None, "label": "yes", "records": 1200, "rank": None}
    told |= {"records_text": "1,200", "label_share_text": "", "risk": "none", "clauses": []}
    return {
        "index": index,
        "parent": parent,
        "test": test,
        "path": path,
        "exact": test,
        **told,
        **other,
    }


ODD = [
    node(0, None, "", ""),
    node(1, 0, "age <= 40", "age <= 40"),
    node(2, 1, "age > 20", "20 < age <= 40", exact="age > 20.000001", clauses=["k", "l"]),
    node(3, 2, "sex = f", "20 < age <= 40 and sex = f", name="left", clauses=["k", "l"], rank=0),
    node(4, 2, "age > 30", "30 < age <= 40", records=2.5, records_text="2.5"),
    {**node(5, 9, "sex = f", "elsewhere", records_text="few"), "index": 7},
]


def test_a_tree_is_read_as_it_was_where_names_paths_and_numbers_are_odd():
    assert unpack_tree(json.loads(compact(pack_tree(ODD)))) == ODD
    assert unpack_tree(pack_tree([])) == []
    assert unpack_tree(ODD) == ODD


def test_what_follows_from_the_test_and_the_node_above_is_not_written():
    table = pack_tree(
        [node(0, None, "", ""), node(1, 0, "a = 1", "a = 1"), node(2, 1, "b", "a = 1 and b")]
    )
    assert (
        table["same"].items()
        >= {"index": None, "name": None, "exact": None, "clauses": None}.items()
    )
    assert [row[table["fields"].index("path")] for row in table["rows"]] == ["", None, None]


def test_a_place_of_several_findings_is_told_once(document):
    values = json.loads(renderer("json").render(document))
    places = [place for found in said(document)["findings"] for place in found["where"]]
    keys = ("kind", "tree", "index", "path", "node", "line", "profile", "leaf")
    assert len(values["places"]["rows"]) == len(
        {tuple(place[key] for key in keys) for place in places}
    )
    assert len(values["places"]["rows"]) < len(places)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("places"),
        lambda values: values["places"]["rows"].clear(),
        lambda values: values["tree"]["rows"][1].append(1),
        lambda values: values["tree"].update(fields=7),
        lambda values: values.update(tree=None),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(document, change):
    values = json.loads(renderer("json").render(document))
    change(values)
    with pytest.raises(UnreadableReportError, match="damaged or too large"):
        read_document(compact(values).encode())


def test_a_report_is_read_whatever_order_another_program_gave_its_keys(any_document):
    values = json.loads(renderer("json").render(any_document))
    again = json.dumps(dict(reversed(values.items())), indent=2)
    assert read_document(again.encode()) == any_document


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"{", "line 1"), (b"[1]", "file"), (b'{"schema": "treewarden-report/1"}', "required")],
)
def test_what_is_no_report_is_refused_by_its_first_fault(data, problem):
    with pytest.raises(UnreadableReportError, match=problem):
        read_document(data)


def test_a_few_bytes_that_stand_for_endless_paths_are_refused():
    chain = [node(0, None, "", "")]
    chain += [node(at + 1, at, "a", " and ".join("a" * (at + 1))) for at in range(40)]
    with pytest.raises(ValueError, match="too long"):
        unpack_tree(pack_tree(chain), 1000)


SHARED = {str(number): 0 for number in range(3000)}


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.update(places={"same": SHARED, "fields": [], "rows": [[]] * 90}),
        lambda values: values["tree"].update(
            clauses=[["k"] * 2000], rows=values["tree"]["rows"] * 5
        ),
        lambda values: values["places"]["same"].update(SHARED),
    ],
)
def test_a_few_bytes_that_stand_for_endless_values_are_refused(document, change, monkeypatch):
    values = json.loads(renderer("json").render(document))
    change(values)
    named = values["tree"]["fields"].index("clauses")
    for row in values["tree"]["rows"]:
        row[named] = 0
    monkeypatch.setattr(packing, "MOST_VALUES", 5000)
    with pytest.raises(ValueError, match="more than 5,000 values"):
        unpack(values)


def test_reports_are_read_within_the_room_that_they_have(document, monkeypatch):
    values = json.loads(renderer("json").render(document))
    monkeypatch.setattr(packing, "MOST_VALUES", 5000)
    assert unpack(values)["tree"]
