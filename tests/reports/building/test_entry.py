"""From a report to what a pipeline may say of it: one result a leaf, what is accepted marked, nothing confidential."""

import pytest

from tests.reports.gates import KNOWN, WAIVED, with_leaves
from treewarden.reports.building.entry import entry_of, gate_of, unaudited
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.parts import Accepted, Row


def changed_findings(document, **said):
    findings = tuple(each.model_copy(update=said) for each in document.findings)
    return document.model_copy(update={"findings": findings})


def results_of(document, clause=0):
    wanted = document.findings[clause].clause
    return [each for each in entry_of(document).results if each.clause == wanted]


def test_a_leaf_gives_one_result_whatever_number_of_its_profiles_break_the_clause(document):
    finding = document.findings[0]
    twice = finding.model_copy(update={"where": (*finding.where, *finding.where)})
    told = with_leaves(document.model_copy(update={"findings": (twice,)}))
    assert len(results_of(told)) == len({place.path for place in finding.where})


def test_a_result_has_the_line_the_path_and_the_id_of_its_leaf(document):
    first = results_of(with_leaves(document))[0]
    assert (first.path, first.node, first.line) == ("place = p2", "leaf 3", 12)
    assert first.id == finding_id(document.findings[0].clause, "place = p2")


def test_a_clause_without_places_gives_one_result_of_the_whole_model(document):
    found = results_of(changed_findings(document, where=()))
    assert [(each.leaf, each.line, each.id) for each in found] == [
        ("", None, document.findings[0].id)
    ]


def test_a_leaf_is_accepted_only_where_all_its_places_are(document):
    accepted = with_leaves(document, {0: WAIVED})
    assert [each.accepted for each in results_of(accepted)] == [WAIVED, None]


def test_a_clause_that_is_open_has_an_open_result_though_all_places_it_names_are_accepted(document):
    accepted = with_leaves(document, dict.fromkeys(range(99), WAIVED))
    assert [each.accepted for each in results_of(accepted)][-1] is None


def test_what_is_accepted_as_a_whole_is_accepted_in_each_leaf(document):
    told = changed_findings(with_leaves(document), accepted=WAIVED)
    assert {each.accepted for each in results_of(told)} == {WAIVED}


def test_what_a_baseline_read_is_not_told(document):
    told = entry_of(changed_findings(document, accepted=KNOWN))
    assert "0.987654" not in told.model_dump_json()
    assert {each.accepted.by for each in told.clauses} == {"baseline"}


def test_the_headline_names_what_counts_from_the_mildest_severity_that_does(passing, document):
    failing = document.findings[0].model_copy(update={"severity": "warning"})
    both = {"verdict": "FAIL", "findings": (failing,), "fail_on": "warning"}
    assert entry_of(document.model_copy(update=both)).headline == (
        f"1 required check failed: {failing.clause}"
    )
    assert entry_of(passing).headline == "all required checks passed"


def test_the_headline_tells_what_is_not_met_from_what_is_not_decided(document):
    first, second, *_ = document.findings
    undecided = second.model_copy(update={"verdict": "UNDETERMINED"})
    headline = entry_of(document.model_copy(update={"findings": (first, undecided)})).headline
    assert headline == (
        f"1 required check failed: {first.clause}; 1 required check not decided: {second.clause}"
    )


def test_the_headline_of_a_pass_says_what_was_accepted(document):
    told = changed_findings(document, accepted=WAIVED)
    headline = entry_of(told.model_copy(update={"verdict": "PASS"})).headline
    assert headline == "all other required checks passed; 4 checks accepted"


def test_a_model_of_which_nothing_could_be_judged_says_so(undetermined):
    row = Row(name="of-forests", text="is about forests")
    told = entry_of(undetermined.model_copy(update={"findings": (), "not_judged": (row,)}))
    assert "no required check of the policy applies" in told.headline
    assert told.not_judged == (row,)


@pytest.mark.parametrize(
    ("limit", "asked"), [("", False), ("–", False), ("both of these hold", True)]
)
def test_a_message_says_what_is_asked_also_where_no_single_measure_is(document, limit, asked):
    told = entry_of(changed_findings(document, measure="", limit_text=limit))
    assert ("the policy requires" in told.results[0].message) is asked


def test_a_gate_is_as_bad_as_its_worst_model_and_one_of_none_is_undetermined(passing, document):
    fine, bad = entry_of(passing, file="b"), entry_of(document, file="a")
    assert gate_of([fine], "error").outcome == "PASS"
    assert gate_of([fine, bad], "error").outcome == "FAIL"
    assert gate_of([fine, unaudited("c", "c", "gone"), bad], "error").outcome == "NO AUDIT"
    assert gate_of([], "error").outcome == "UNDETERMINED"


def test_a_model_is_called_as_its_path_where_it_has_no_other_name(document):
    assert entry_of(document).name == document.model.file
    assert entry_of(document, file="models/a.pmml").name == "models/a.pmml"
    named = entry_of(document, "loans", "models/a.pmml")
    assert (named.name, named.file) == ("loans", "models/a.pmml")


def test_the_reason_of_a_waiver_is_told(document):
    told = entry_of(changed_findings(document, accepted=Accepted(by="waiver", reason="the board")))
    assert told.clauses[0].accepted.reason == "the board"


def test_in_a_gate_whatever_does_not_pass_has_a_result_that_says_why(document, passing):
    accepted = entry_of(changed_findings(document, accepted=WAIVED))
    entries = (unaudited("a", "a", "gone."), accepted, entry_of(passing, file="fine"))
    told = {each.name: each for each in gate_of(entries, "error").entries}
    (missing,) = told["a"].results
    assert (missing.clause, missing.message) == ("no-audit", "There was no audit: gone")
    assert told["a"].rules[0].why
    assert told[accepted.name].results[-1].clause == "not-judged"
    assert told["fine"].results == ()
