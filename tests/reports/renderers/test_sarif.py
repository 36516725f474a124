"""SARIF: what the standard and GitHub ask of a log, rules that help, places in the model's file.

The logs were held against the schema that OASIS publishes (docs/outputs.md), which is not part of this project; what
it asks of the parts that are written is asked again below.
"""

import json

import pytest

from tests.reports.gates import fails_in_many_leaves
from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.renderers import renderer
from treewarden.reports.renderers.sarif import EXIT_CODES, artifact
from treewarden.terminal import exits


def sarif_of(gate):
    log = json.loads(renderer("sarif").render_gate(gate))
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    return only


def test_every_result_has_what_the_standard_and_github_ask_for(any_gate):
    said = sarif_of(any_gate)
    rules = said["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in said["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
        assert location["physicalLocation"]["artifactLocation"]["uri"]
        assert all(result["partialFingerprints"].values())
    assert all(rule["help"]["text"] and rule["help"]["markdown"] for rule in rules)
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in rules)


def test_a_leaf_is_marked_at_its_line_and_a_whole_model_at_the_first(gate):
    places = {
        (
            result["properties"]["id"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in sarif_of(gate)["results"]
        if result["properties"]["model"] == "models/loan.pmml"
    }
    assert {line for _, line in places} == {10, 11, 12, 13}
    missing = [r for r in sarif_of(gate)["results"] if r["properties"]["verdict"] == "NO AUDIT"]
    assert missing[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_the_fingerprint_is_the_id_and_that_of_github_tells_models_apart():
    found = sarif_of(fails_in_many_leaves(2, models=2))["results"]
    assert len({each["partialFingerprints"]["treewarden/v1"] for each in found}) == 2
    assert len({each["partialFingerprints"]["primaryLocationLineHash"] for each in found}) == 4


def test_what_was_accepted_is_suppressed_with_its_reason_and_nothing_else_is(gate):
    found = [each for each in sarif_of(gate)["results"] if "suppressions" in each]
    assert {each["suppressions"][0]["kind"] for each in found} == {"external"}
    said = {each["suppressions"][0]["justification"] for each in found}
    assert "waived: the board of 3 May knows; until 2030-01-01" in said
    assert len(found) == 6
    assert not any(each["properties"]["counts"] for each in found)


def test_what_is_not_decided_is_shown_as_what_fails_and_says_so(gate):
    found = [r for r in sarif_of(gate)["results"] if r["properties"]["verdict"] == "UNDETERMINED"]
    assert found
    assert {(each["kind"], each["level"]) for each in found} == {("fail", "error")}
    assert any("not decided" in each["message"]["text"] for each in found)


def test_a_model_without_audit_is_a_notification_and_the_run_not_a_success(gate, passing):
    (invocation,) = sarif_of(gate)["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 4)
    told, *others = invocation["toolExecutionNotifications"]
    assert (told["level"], {each["level"] for each in others}) == ("error", {"note"})
    assert "not a tree; export it" in told["message"]["text"]
    fine = json.loads(renderer("sarif").render(passing))["runs"][0]
    assert (fine["invocations"][0]["executionSuccessful"], fine["results"]) == (True, [])
    assert fine["invocations"][0]["exitCode"] == 0
    assert fine["tool"]["driver"]["rules"]


def test_the_exit_codes_are_those_of_the_command():
    codes = (exits.PASS, exits.UNDETERMINED, exits.FAIL, exits.NO_AUDIT)
    assert tuple(EXIT_CODES[each] for each in ("PASS", "UNDETERMINED", "FAIL", "NO AUDIT")) == codes


@pytest.mark.parametrize(
    ("file", "uri", "is_relative"),
    [
        ("models/loan.pmml", "models/loan.pmml", True),
        ("./a b#1?.pmml", "a%20b%231%3F.pmml", True),
        ("größe.pmml", "gr%C3%B6%C3%9Fe.pmml", True),
        ("100%.pmml", "100%25.pmml", True),
        ("a:b.pmml", "a%3Ab.pmml", True),
        ("../up.pmml", "../up.pmml", True),
        ("/srv/my models/a.pmml", "file:///srv/my%20models/a.pmml", False),
        ("C:\\models\\a.pmml", "file:///C:/models/a.pmml", False),
    ],
)
def test_a_path_becomes_a_uri_relative_where_it_is(file, uri, is_relative):
    said = artifact(file)
    assert said["uri"] == uri
    assert (said.get("uriBaseId") == "%SRCROOT%") is is_relative


def test_no_name_makes_a_link_in_a_message():
    bad = gate_of([unaudited("x", "x", "[click](http://evil)")], "error")
    said = renderer("sarif").render_gate(bad).decode()
    assert "[click]" in said
    assert "](http" not in said


def test_the_help_of_a_rule_says_what_is_asked_why_and_where_it_comes_from():
    (rule,) = sarif_of(fails_in_many_leaves(1))["tool"]["driver"]["rules"]
    assert rule["help"]["text"].splitlines() == [
        "Fewest people in a leaf.",
        "Asked: The policy ours requires at least 10 records.",
        "Why: a small group is easily singled out",
        "Source: a study",
    ]
    assert "**Why:** a small group" in rule["help"]["markdown"]
