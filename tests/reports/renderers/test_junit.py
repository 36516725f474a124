"""JUnit: a suite a model, a case a clause; what could not be audited is an error, what does not count is skipped."""

import pytest
from lxml import etree

from tests.reports.gates import WAIVED
from treewarden.reports.building.entry import entry_of, gate_of
from treewarden.reports.renderers import renderer


def suites(gate):
    root = etree.fromstring(renderer("junit").render_gate(gate))
    for total in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(total)) == sum(int(suite.get(total)) for suite in root)
    return {suite.get("name"): suite for suite in root}


def outcomes(suite):
    return [[each.tag for each in case] for case in suite.findall("testcase")]


def test_every_clause_is_a_case_and_the_totals_are_right(any_gate):
    for name, suite in suites(any_gate).items():
        found = [tag for case in outcomes(suite) for tag in case]
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        for total, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(total)) == found.count(tag), name


def test_what_passes_is_a_bare_case_and_what_is_not_decided_a_failure(gate):
    assert outcomes(suites(gate)["models/fine.pmml"]) == [[]]
    undecided = suites(gate)["odd/größe #1.txt"]
    assert outcomes(undecided) == [["failure"]] * 3 + [["skipped"]]
    assert undecided.find("testcase")[0].get("type") == "UNDETERMINED"
    assert undecided.findall("testcase")[3][0].get("message") == "is about forests"


def test_a_model_without_audit_is_an_error(gate):
    (case,) = suites(gate)["broken"]
    assert case[0].tag == "error"
    assert "not a tree; export it" in case[0].get("message")


def test_a_model_that_does_not_pass_has_a_failure_even_where_no_clause_says_why(gate):
    assert outcomes(suites(gate)["empty"]) == [["failure"]]


def test_the_places_of_a_failure_are_lines_of_its_text(gate):
    failure = suites(gate)["models/loan.pmml"].find("testcase")[0]
    lines = failure.text.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "models/loan.pmml:11",
        "models/loan.pmml:12",
    ]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"accepted": WAIVED}, "waived: the board of 3 May knows"),
        ({"severity": "warning"}, "does not count: a warning"),
    ],
)
def test_what_was_accepted_or_does_not_count_is_skipped_and_says_why(document, said, why):
    findings = tuple(each.model_copy(update=said) for each in document.findings)
    told = document.model_copy(update={"verdict": "PASS", "findings": findings})
    (suite,) = suites(gate_of([entry_of(told)], "error")).values()
    assert outcomes(suite) == [["skipped"]] * len(document.findings)
    assert why in suite.find("testcase")[0].get("message")


def test_a_warning_is_a_failure_where_warnings_count(document):
    findings = tuple(each.model_copy(update={"severity": "warning"}) for each in document.findings)
    told = document.model_copy(update={"findings": findings})
    (suite,) = suites(gate_of([entry_of(told)], "warning")).values()
    assert outcomes(suite) == [["failure"]] * len(document.findings)
